(* Two gates, one for what is erased and one for what is written, and a decay in every channel. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices general_rule general_chunk.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section TwoGates.
Variable R : comUnitRingType.
Variables dk dv : nat.
(* of each token: the decays, the erase gate and the write gate *)
Variables (d erase : nat -> 'rV[R]_dk) (write : nat -> 'rV[R]_dv).
Variables (q k : nat -> 'rV[R]_dk) (v : nat -> 'rV[R]_dv).
Variable S0 : 'M[R]_(dv, dk).

Definition erased (t : nat) : 'rV[R]_dk := had (erase t) (k t).
Definition written (t : nat) : 'rV[R]_dv := had (write t) (v t).

(* eq-family-two-gates *)
Fixpoint gated (t : nat) : 'M[R]_(dv, dk) :=
  if t is t'.+1 then
    gated t' *m diag_mx (d t') *m (1%:M - (erased t')^T *m k t') + (written t')^T *m k t'
  else S0.

(* the row that reads the state before it fades, the correction of the token loop, and its output *)
Definition reader (t : nat) : 'rV[R]_dk := erased t *m diag_mx (d t).
Definition gated_delta (t : nat) : 'rV[R]_dv := written t - reader t *m (gated t)^T.
Definition gated_out (t : nat) : 'rV[R]_dv := q t *m (gated t.+1)^T.

(* eq-family-two-gates: this is the general rule, with a = D (e . k), b = k and u = w . v *)
Theorem two_gates t : gated t = state d reader k k written S0 t.
Proof.
elim: t => //= t <-; congr (_ + _); rewrite mulmxBr mulmx1 mulmxBr !mulmxA; congr (_ - _ *m _).
by rewrite trmx_mul tr_diag_mx mulmxA.
Qed.

Variable n : nat. (* tokens of the chunk: any number, 0 included *)
Definition A_gated : 'M[R]_n :=
  strict (\matrix_(r, i) common d i.+1 r.+1 (erased r) (k i)).
Definition readers_gated : 'M[R]_(n, dk) := \matrix_(r < n) (erased r *m D d 0 r.+1).

Lemma A_gatedE : A_gated = A d reader n k.
Proof.
apply/matrixP => r i; rewrite !mxE; case: ltnP => // lt_ir.
by rewrite -!commonE DS // diag_mxC /reader !mulmxA.
Qed.

(* eq-family-two-gates: the chunk form, for every length, size, gate and decay, zero included *)
Theorem two_gates_chunk :
  let Delta := \matrix_(r < n) gated_delta r in
  (1%:M + A_gated) *m Delta = \matrix_(r < n) written r - readers_gated *m S0^T /\
  \matrix_(r < n) gated_out r = queries d q n *m S0^T + P d q n k *m Delta /\
  gated n = S0 *m D d 0 n + Delta^T *m to_end d n k.
Proof.
have -> : \matrix_(r < n) gated_delta r = correction d reader k written S0 n.
  by apply/row_matrixP => r; rewrite linearB /= !rowK /gated_delta two_gates.
have -> : \matrix_(r < n) gated_out r = \matrix_(r < n) output d reader k k written S0 q r.
  by apply/row_matrixP => r; rewrite !rowK /gated_out two_gates.
have -> : readers_gated = readers d reader n.
  by apply/row_matrixP => r; rewrite !rowK DS // diag_mxC mulmxA.
rewrite A_gatedE two_gates; exact: correction_chunk.
Qed.
End TwoGates.
