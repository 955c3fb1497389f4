(* The chunk form of the general rule equals its token loop, for every length and every decay. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices general_rule.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section GeneralChunk.
Variable R : comUnitRingType.
Variables dk dv : nat.
Variables (d a b k q : nat -> 'rV[R]_dk) (u : nat -> 'rV[R]_dv).
Variable S0 : 'M[R]_(dv, dk).
Variable n : nat. (* tokens of the chunk: any number, 0 included *)
Local Notation state := (state d a b k u S0).
Local Notation output := (output d a b k u S0 q).
Local Notation D := (D d).
Local Notation common := (common d).

(* token r reads what token i wrote along x, faded by the tokens between them; its output, after
   its own decay *)
Definition A (x : nat -> 'rV[R]_dk) : 'M[R]_n :=
  strict (\matrix_(r, i) common i.+1 r (a r) (x i)).
Definition P (x : nat -> 'rV[R]_dk) : 'M[R]_n :=
  \matrix_(r, i) if (i < r.+1)%N then common i.+1 r.+1 (q r) (x i) else 0.
Definition U : 'M[R]_(n, dv) := \matrix_(r < n) u r.
Definition Reads : 'M[R]_(n, dv) := \matrix_(r < n) read d a b k u S0 r.
(* rows that meet the first state, and rows that reach the last *)
Definition readers : 'M[R]_(n, dk) := \matrix_(r < n) (a r *m D 0 r).
Definition queries : 'M[R]_(n, dk) := \matrix_(r < n) (q r *m D 0 r.+1).
Definition to_end (x : nat -> 'rV[R]_dk) : 'M[R]_(n, dk) := \matrix_(i < n) (x i *m D i.+1 n).

(* eq-family-interaction: the entries, as products with the decays between *)
Theorem interaction_entry x (r i : 'I_n) :
  A x r i = (if (i < r)%N then (a r *m D i.+1 r *m (x i)^T) 0 0 else 0) /\
  P x r i = (if (i <= r)%N then (q r *m D i.+1 r.+1 *m (x i)^T) 0 0 else 0).
Proof. by rewrite !commonE !mxE ltnS. Qed.

(* a matrix that sees the rows before s alone *)
Lemma row_before (X : 'M[R]_n) (c : nat -> R) (f : nat -> 'rV[R]_dv) r s : (s <= n)%N ->
  (forall i, X r i = if (i < s)%N then c i else 0) ->
  row r (X *m \matrix_(i < n) f i) = \sum_(i < s) c i *: f i.
Proof.
move=> le_sn Xr; rewrite (big_ord_widen n (fun i => c i *: f i) le_sn) big_mkcond /=.
rewrite row_mul mulmx_sum_row; apply: eq_bigr => i _.
by rewrite rowK mxE Xr; case: ifP => _; rewrite ?scale0r.
Qed.

Lemma A_row x (f : nat -> 'rV[R]_dv) (r : 'I_n) :
  row r (A x *m \matrix_(i < n) f i) = \sum_(i < r) common i.+1 r (a r) (x i) *: f i.
Proof.
apply: (row_before (c := fun i => common i.+1 r (a r) (x i))) => [|i]; last by rewrite !mxE.
exact: ltnW.
Qed.

Lemma P_row x (f : nat -> 'rV[R]_dv) (r : 'I_n) :
  row r (P x *m \matrix_(i < n) f i) = \sum_(i < r.+1) common i.+1 r.+1 (q r) (x i) *: f i.
Proof.
by apply: (row_before (c := fun i => common i.+1 r.+1 (q r) (x i))) => // i; rewrite mxE.
Qed.

(* eq-family-read: what the tokens of the token loop read solves one triangular system, and nothing
   else does, for it is invertible; for every length, size and decay, zero included *)
Theorem general_read :
  (1%:M + A b) *m Reads = readers *m S0^T + A k *m U /\ 1%:M + A b \in unitmx.
Proof.
split; last exact: unit_strict.
apply/row_matrixP => r; rewrite mulmxDl mul1mx !linearD /= !A_row row_mul !rowK.
by rewrite {1}/read read_state -addrA subrK.
Qed.

(* eq-family-output: row r is what the token loop puts out at token r, for every length, size and
   decay, zero included *)
Theorem general_output :
  \matrix_(r < n) output r = queries *m S0^T + P k *m U - P b *m Reads.
Proof.
apply/row_matrixP => r; rewrite linearB linearD /= !P_row row_mul !rowK.
by rewrite /general_rule.output read_state addrA.
Qed.

(* eq-family-state: the state of the token loop after the chunk, for every length, size and decay,
   zero included *)
Theorem general_state : state n = S0 *m D 0 n + U^T *m to_end k - Reads^T *m to_end b.
Proof.
have write (x : nat -> 'rV[R]_dv) (y : nat -> 'rV[R]_dk) :
    \sum_(i < n) (x i)^T *m y i *m D i.+1 n = (\matrix_(i < n) x i)^T *m to_end y.
  by rewrite -(outer_sum _ x (fun i => y i *m D i.+1 n)); apply: eq_bigr => i _; rewrite mulmxA.
rewrite general_unrolled -addrA -!write -sumrB; congr (_ + _).
by apply: eq_bigr => i _; rewrite mulmxBl.
Qed.
End GeneralChunk.

(* What erases is what is written along: the two writes are one. *)
Section Correction.
Variable R : comUnitRingType.
Variables dk dv : nat.
Variables (d a k q : nat -> 'rV[R]_dk) (u : nat -> 'rV[R]_dv).
Variable S0 : 'M[R]_(dv, dk).
Variable n : nat.
Local Notation state := (state d a k k u S0).
Local Notation output := (output d a k k u S0 q).
Definition correction : 'M[R]_(n, dv) := U u n - Reads d a k k u S0 n.

(* eq-family-merged: with b = k, from the corrections, u less what is read; for every length, size
   and decay, zero included *)
Theorem correction_chunk :
  (1%:M + A d a n k) *m correction = U u n - readers d a n *m S0^T /\
  \matrix_(r < n) output r = queries d q n *m S0^T + P d q n k *m correction /\
  state n = S0 *m D d 0 n + correction^T *m to_end d n k.
Proof.
have [solve _] := general_read d a k k u S0 n.
split; first by rewrite /correction mulmxBr solve mulmxDl mul1mx opprD addrA addrAC addrK.
rewrite general_output general_state /correction [(_ - _)^T]linearB /= mulmxBr mulmxBl.
by rewrite !addrA.
Qed.
End Correction.

(* The chunk cut at a border: m tokens before it and p after it. *)
Section Split.
Variables (R : comUnitRingType) (dk m p : nat).
Variables (d a q x : nat -> 'rV[R]_dk).
Local Notation d2 := (after m d).
Local Notation x2 := (after m x).

(* eq-family-split: the decays split at every border between, for every decay, zero included *)
Theorem common_split s t (y z : 'rV[R]_dk) : (s <= m)%N -> (m <= t)%N ->
  common d s t y z = ((y *m D d m t) *m (z *m D d s m)^T) 0 0.
Proof.
move=> le_sm le_mt; have -> : (z *m D d s m)^T = D d s m *m z^T by rewrite trmx_mul tr_diag_mx.
rewrite mulmxA -(mulmxA y) (diag_mxC (\row_c stretch d m t c)).
by rewrite -(D_join d le_sm le_mt) commonE.
Qed.

Lemma common_after s t (y z : 'rV[R]_dk) : common d2 s t y z = common d (m + s) (m + t) y z.
Proof. by rewrite -!commonE D_after. Qed.

Lemma across (i : 'I_m) t (y z : 'rV[R]_dk) :
  ((y *m D d2 0 t) *m (z *m D d i.+1 m)^T) 0 0 = common d i.+1 (m + t) y z.
Proof. by rewrite D_after addn0 common_split ?leq_addr. Qed.

Lemma rows_split (f g : nat -> 'rV[R]_dk) (r : 'I_p) (i : 'I_m) :
  ((\matrix_(r < p) f r) *m (\matrix_(i < m) g i)^T) r i = (f r *m (g i)^T) 0 0.
Proof. by rewrite !mxE; apply: eq_bigr => c _; rewrite !mxE. Qed.

(* eq-family-split: by blocks, what is read across the border is a product of two matrices *)
Theorem split_chunk :
  A d a (m + p) x = block_mx (A d a m x) 0
    (readers d2 (after m a) p *m (to_end d m x)^T) (A d2 (after m a) p x2) /\
  P d q (m + p) x = block_mx (P d q m x) 0
    (queries d2 (after m q) p *m (to_end d m x)^T) (P d2 (after m q) p x2).
Proof.
split; rewrite -[LHS]submxK; congr block_mx; apply/matrixP => r i.
- by rewrite !mxE.
- by rewrite !mxE /= ltnNge (leq_trans (ltnW (ltn_ord r)) (leq_addr _ _)).
- rewrite (rows_split (fun r => after m a r *m D d2 0 r) (fun i => x i *m D d i.+1 m)).
  by rewrite across !mxE /= (leq_trans (ltn_ord i)) ?leq_addr.
- by rewrite !mxE /= ltn_add2l common_after addnS.
- by rewrite !mxE.
- by rewrite !mxE /= ltnNge (leq_trans (ltn_ord r) (leq_addr _ _)).
- rewrite (rows_split (fun r => after m q r *m D d2 0 r.+1) (fun i => x i *m D d i.+1 m)).
  by rewrite across !mxE /= addnS (leq_trans (ltn_ord i)) // leqW ?leq_addr.
- by rewrite !mxE /= !ltnS leq_add2l common_after !addnS.
Qed.
End Split.
