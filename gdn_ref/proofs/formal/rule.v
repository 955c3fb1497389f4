(* The token loop, over any commutative ring with units. Tokens are counted from 0, and queries,
   keys and values are rows. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section TokenLoop.
Variable R : comUnitRingType.
Variables dk dv : nat.
Variables (a b : nat -> R) (q k : nat -> 'rV[R]_dk) (v : nat -> 'rV[R]_dv).
Variable S0 : 'M[R]_(dv, dk).

(* eq-gdn-recurrence *)
Fixpoint St (t : nat) : 'M[R]_(dv, dk) :=
  if t is t'.+1 then
    a t' *: (St t' *m (1%:M - b t' *: ((k t')^T *m k t'))) + b t' *: ((v t')^T *m k t')
  else S0.

(* the correction of the token loop, and its output *)
Definition delta (t : nat) : 'rV[R]_dv := b t *: (v t - a t *: (k t *m (St t)^T)).
Definition out (t : nat) : 'rV[R]_dv := q t *m (St t.+1)^T.

Lemma trmx_delta t : (delta t)^T = b t *: ((v t)^T - a t *: (St t *m (k t)^T)).
Proof. by rewrite /delta linearZ /= linearB /= linearZ /= trmx_mul trmxK. Qed.

(* eq-gdn-step: decay, read, correct and write leave the state of the recurrence *)
Theorem St_step t : St t.+1 = a t *: St t + (delta t)^T *m k t.
Proof.
rewrite /= trmx_delta -scalemxAl mulmxBl -scalemxAl scalerBr mulmxBr mulmx1 -scalemxAr.
rewrite scalerBr -!addrA; congr (_ + _); rewrite addrC; congr (_ - _).
by rewrite -mulmxA !scalerA mulrC.
Qed.

(* decay from the state before the chunk to the state after n tokens; from token i to it *)
Definition upto (n : nat) : R := \prod_(0 <= j < n) a j.
Definition from_to (i n : nat) : R := \prod_(i.+1 <= j < n) a j.

Lemma uptoS n : upto n.+1 = a n * upto n.
Proof. by rewrite /upto big_nat_recr //= mulrC. Qed.

Lemma from_toS i n : (i < n)%N -> from_to i n.+1 = a n * from_to i n.
Proof. by move=> lt_in; rewrite /from_to big_nat_recr //= mulrC. Qed.

Lemma from_to_own i : from_to i i.+1 = 1.
Proof. by rewrite /from_to big_geq. Qed.

Lemma stretches_join i n : (i < n)%N -> from_to i n * upto i.+1 = upto n.
Proof. by move=> lt_in; rewrite mulrC /upto /from_to -big_cat_nat. Qed.

Lemma from_to_join i s r : (i <= s)%N -> (s < r)%N ->
  from_to s r.+1 * from_to i s.+1 = from_to i r.+1.
Proof.
by move=> le_is lt_sr; rewrite mulrC /from_to -big_cat_nat //=; exact: leqW.
Qed.

(* each write fades from its own token on *)
Lemma St_unrolled n : St n = upto n *: S0 + \sum_(i < n) from_to i n *: ((delta i)^T *m k i).
Proof.
elim: n => [|n IH]; first by rewrite /upto big_nil scale1r big_ord0 addr0.
rewrite St_step IH scalerDr scalerA scaler_sumr big_ord_recr /= -uptoS -addrA.
rewrite from_to_own scale1r; congr (_ + (_ + _)).
by apply: eq_bigr => i _; rewrite scalerA -from_toS ?ltn_ord.
Qed.

(* a read of the state after n tokens *)
Lemma read n (x : 'rV[R]_dk) :
  x *m (St n)^T = upto n *: (x *m S0^T)
                  + \sum_(i < n) (from_to i n * (x *m (k i)^T) 0 0) *: delta i.
Proof.
rewrite St_unrolled linearD /= linearZ /= mulmxDr -scalemxAr; congr (_ + _).
rewrite linear_sum /= mulmx_sumr; apply: eq_bigr => i _.
by rewrite linearZ /= trmx_mul trmxK -scalemxAr mulmxA mul_mx11 scalerA.
Qed.
End TokenLoop.
