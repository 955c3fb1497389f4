(* The reverse token loop is the gradient of the token loop, in all its inputs at once. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices rule reverse.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Gradient.
Variable R : comUnitRingType.
Variables dk dv n : nat.
Variables (a b : nat -> R) (q k : nat -> 'rV[R]_dk) (v : nat -> 'rV[R]_dv).
Variable S0 : 'M[R]_(dv, dk).
Variables (dout : nat -> 'rV[R]_dv) (dlast : 'M[R]_(dv, dk)).
Local Notation St := (St a b k v S0).
Local Notation delta := (delta a b k v S0).
Local Notation Lambda := (Lambda n a b q k dout dlast).
Local Notation dS := (dS n a b q k dout dlast).
Local Notation z := (z n a b q k dout dlast).

(* the gradients of the inputs of token t, as the reverse loop has them *)
Definition gq (t : nat) : 'rV[R]_dk := dout t *m St t.+1.
Definition gv (t : nat) : 'rV[R]_dv := b t *: z t.
Definition gbeta (t : nat) : R := ip (z t) (v t - a t *: (k t *m (St t)^T)).
Definition gk_reads (t : nat) : 'rV[R]_dk := - b t *: (z t *m (a t *: St t)).
Definition gk_is_read (t : nat) : 'rV[R]_dk := delta t *m Lambda t.
Definition gk (t : nat) : 'rV[R]_dk := gk_reads t + gk_is_read t.
Definition gg (t : nat) : R := ip (St t) (dS t).

(* any small change of the inputs, the log-decays g among them: a' = a g' *)
Variables (g' b' : nat -> R) (q' k' : nat -> 'rV[R]_dk) (v' : nat -> 'rV[R]_dv).
Variable S0' : 'M[R]_(dv, dk).

(* the change of the decayed state, of the correction, of the state and of the output, by the
   product rule *)
Definition faded' (t : nat) (X : 'M[R]_(dv, dk)) := a t *: (X + g' t *: St t).
Definition delta' (t : nat) (X : 'M[R]_(dv, dk)) : 'rV[R]_dv :=
  b' t *: (v t - a t *: (k t *m (St t)^T))
  + b t *: (v' t - k t *m (faded' t X)^T - k' t *m (a t *: St t)^T).
Fixpoint St' (t : nat) : 'M[R]_(dv, dk) :=
  if t is s.+1 then
    faded' s (St' s) + (delta' s (St' s))^T *m k s + (delta s)^T *m k' s
  else S0'.
Definition out' (t : nat) : 'rV[R]_dv := q' t *m (St t.+1)^T + q t *m (St' t.+1)^T.

Lemma one_step t : (t < n)%N ->
  ip (Lambda t) (St' t.+1)
  = ip (dS t) (St' t) + (gg t * g' t + ip (gk t) (k' t) + ip (gv t) (v' t) + gbeta t * b' t).
Proof.
move=> lt_tn; rewrite /= !ipD ip_outer -/(z t) ip_mull trmxK -/(gk_is_read t).
rewrite /delta' ipD ipZ [b' t * _]mulrC -/(gbeta t) ipZ !ipB.
have -> : ip (z t) (k t *m (faded' t (St' t))^T) = ip ((z t)^T *m k t) (faded' t (St' t)).
  by rewrite [RHS]ipC ip_outer ipC.
have -> : ip (z t) (k' t *m (a t *: St t)^T) = ip (z t *m (a t *: St t)) (k' t).
  by rewrite ip_mulr trmxK.
rewrite /gk [ip (_ + _) (k' t)]ipC ipD ![ip (k' t) _]ipC.
have ip_reads : ip (gk_reads t) (k' t) = - (b t * ip (z t *m (a t *: St t)) (k' t)).
  by rewrite ipC /gk_reads ipZ mulNr ipC.
have ip_gv : ip (gv t) (v' t) = b t * ip (z t) (v' t) by rewrite ipC ipZ ipC.
have fade : ip (dS t) (St' t) + gg t * g' t
    = ip (Lambda t) (faded' t (St' t)) - b t * ip ((z t)^T *m k t) (faded' t (St' t)).
  rewrite [gg t * _]mulrC /gg [ip (St t) _]ipC -[g' t * _]ipZ -ipD dS_step //.
  rewrite /faded' ![ip _ (a t *: _)]ipZ.
  rewrite ipC ipZ ipB mulrBr; congr (_ - _); first by rewrite ipC.
  by rewrite ipZ mulrCA ipC.
rewrite !mulrBr ip_reads ip_gv !addrA fade -!addrA; congr (_ + _).
by rewrite addrA [gbeta t * _ + _]addrC [LHS]addrC -!addrA.
Qed.

(* eq-grad-token, eq-grad-token-inputs, eq-grad-token-decay: whatever the small change of all
   inputs, the loss moves by its inner products with what the reverse loop returns; the changes of states
   and outputs follow the product rule *)
Theorem reverse_loop_is_the_gradient :
  \sum_(t < n) ip (dout t) (out' t) + ip dlast (St' n)
  = ip (dS 0) S0'
    + \sum_(t < n) (ip (gq t) (q' t) + ip (gk t) (k' t) + ip (gv t) (v' t)
                    + gbeta t * b' t + gg t * g' t).
Proof.
have back m : (m <= n)%N ->
  \sum_(t < m) ip (dout t) (out' t) + ip (dS m) (St' m)
  = ip (dS 0) S0'
    + \sum_(t < m) (ip (gq t) (q' t) + ip (gk t) (k' t) + ip (gv t) (v' t)
                    + gbeta t * b' t + gg t * g' t); last first.
  by have := back n (leqnn n); rewrite dS_last.
elim: m => [|m IH] lt_mn; first by rewrite !big_ord0 add0r addr0.
rewrite !big_ord_recr /= -/(St' m.+1) [RHS]addrA -IH ?(ltnW lt_mn) // -!addrA; congr (_ + _).
have -> : ip (dout m) (out' m) + ip (dS m.+1) (St' m.+1)
    = ip (gq m) (q' m) + ip (Lambda m) (St' m.+1).
  rewrite /out' ipD ip_mulr trmxK -/(gq m) -addrA; congr (_ + _).
  rewrite [RHS]ipC [X in _ = ip _ X]/reverse.Lambda ipD ip_outer addrC.
  by congr (_ + _); exact: ipC.
rewrite one_step // addrCA; congr (_ + _); rewrite -!addrA addrC.
by rewrite -!addrA [RHS]addrC -!addrA [LHS]addrC -!addrA [gg m * _ + _]addrC.
Qed.
End Gradient.
