(* The token loop backwards, and what it leaves of the gradient at every state. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices rule.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Reverse.
Variable R : comUnitRingType.
Variables dk dv n : nat.
Variables (a b : nat -> R) (q k : nat -> 'rV[R]_dk).
(* the gradients of the n outputs, as rows, and of the last state *)
Variables (dout : nat -> 'rV[R]_dv) (dlast : 'M[R]_(dv, dk)).

(* eq-grad-token: the gradient of the state after t tokens, when m tokens follow *)
Fixpoint grad (m t : nat) : 'M[R]_(dv, dk) :=
  if m is m'.+1 then
    let L := grad m' t.+1 + (dout t)^T *m q t in
    a t *: (L - b t *: ((k t *m L^T)^T *m k t))
  else dlast.

Definition dS (t : nat) : 'M[R]_(dv, dk) := grad (n - t) t.
Definition Lambda (t : nat) : 'M[R]_(dv, dk) := dS t.+1 + (dout t)^T *m q t.
Definition z (t : nat) : 'rV[R]_dv := k t *m (Lambda t)^T.

Lemma dS_last : dS n = dlast.
Proof. by rewrite /dS subnn. Qed.

Lemma dS_step t : (t < n)%N -> dS t = a t *: (Lambda t - b t *: ((z t)^T *m k t)).
Proof. by move=> lt_tn; rewrite {1}/dS -(subnSK lt_tn). Qed.

(* the decay over the tokens s, ..., t - 1 *)
Definition stretch (s t : nat) : R := \prod_(s <= j < t) a j.

Lemma stretchS s t : (s < t)%N -> stretch s t = a s * stretch s.+1 t.
Proof. by move=> lt_st; rewrite /stretch big_ltn. Qed.

Lemma stretch_own s : stretch s s = 1.
Proof. by rewrite /stretch big_geq. Qed.

(* eq-grad-unrolled: what the tokens from r on ask of the state before them, for every r *)
Theorem grad_unrolled r : (r <= n)%N ->
  dS r = stretch r n *: dlast
         + \sum_(r <= i < n) stretch r i.+1 *: ((dout i)^T *m q i)
         - \sum_(r <= i < n) (stretch r i.+1 * b i) *: ((z i)^T *m k i).
Proof.
move=> le_rn; have [m] := ubnP (n - r); elim: m r le_rn => // m IH r le_rn le_m.
move: le_rn; rewrite leq_eqVlt => /predU1P [->|lt_rn].
  by rewrite dS_last stretch_own !big_geq // scale1r addr0 subr0.
have lt_m : (n - r.+1 < m)%N by rewrite -ltnS (leq_trans _ le_m) // ltnS ltn_sub2l.
rewrite dS_step // /Lambda (IH r.+1) // ![\sum_(r <= i < n) _]big_ltn //.
have fade (c c' : nat -> R) (X : nat -> 'M[R]_(dv, dk)) :
    (forall i, (r < i)%N -> a r * c i = c' i) ->
    a r *: (\sum_(r.+1 <= i < n) c i *: X i) = \sum_(r.+1 <= i < n) c' i *: X i.
  move=> cc'; rewrite scaler_sumr big_nat [RHS]big_nat.
  by apply: eq_bigr => i /andP [lt_ri _]; rewrite scalerA cc'.
rewrite !(scalerBr, scalerDr) scalerA -stretchS // !scalerA.
rewrite (fade _ (fun i => stretch r i.+1)) => [|i lt_ri]; last by rewrite -stretchS // ltnW.
rewrite (fade _ (fun i => stretch r i.+1 * b i)) => [|i lt_ri]; last first.
  by rewrite mulrA -stretchS // ltnW.
rewrite (stretchS (ltnSn r)) stretch_own mulr1 opprD !addrA.
by rewrite [X in X - _ = _]addrAC [X in X - _ - _ = _]addrAC addrAC.
Qed.
End Reverse.
