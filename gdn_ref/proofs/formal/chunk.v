(* The chunk form equals the token loop, for every length of the chunk and every decay: the general
   rule's, with one decay for all channels and one gate for both. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices general_rule general_chunk two_gates rule.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Chunk.
Variable R : comUnitRingType.
Variables dk dv : nat.
Variables (a b : nat -> R) (q k : nat -> 'rV[R]_dk) (v : nat -> 'rV[R]_dv).
Variable S0 : 'M[R]_(dv, dk).
Variable n : nat. (* tokens of the chunk: any number, 0 included *)
Local Notation upto := (upto a).
Local Notation from_to := (from_to a).
Local Notation St := (St a b k v S0).
Local Notation delta := (delta a b k v S0).
Local Notation out := (out a b q k v S0).
(* the decay, the erase gate and the write gate of token t, the same in every channel *)
Local Notation decay := (fun t => const_mx (a t) : 'rV[R]_dk).
Local Notation erase := (fun t => const_mx (b t) : 'rV[R]_dk).
Local Notation write := (fun t => const_mx (b t) : 'rV[R]_dv).
Local Notation gated := (gated decay erase write k v S0).

Definition Q : 'M[R]_(n, dk) := \matrix_(r < n) q r.
Definition K : 'M[R]_(n, dk) := \matrix_(r < n) k r.
Definition V : 'M[R]_(n, dv) := \matrix_(r < n) v r.
Definition B : 'M[R]_n := diag_mx (\row_r b r).
Definition Dgamma : 'M[R]_n := diag_mx (\row_r upto r.+1).
Definition Dend : 'M[R]_n := diag_mx (\row_r from_to r n).
Definition Gamma : 'M[R]_n := \matrix_(r, i) if (i <= r)%N then from_to i r.+1 else 0.
Definition A := strict (B *m (K *m K^T)).                 (* eq-interaction *)
Definition At := strict (B *m had Gamma (K *m K^T)).      (* eq-gdn-interaction *)
Definition Delta : 'M[R]_(n, dv) := \matrix_(r < n) delta r.

Lemma gramE (X : nat -> 'rV[R]_dk) (r i : 'I_n) :
  ((\matrix_(r < n) X r) *m K^T) r i = (X r *m (k i)^T) 0 0.
Proof. by rewrite !mxE; apply: eq_bigr => j _; rewrite !mxE. Qed.

Lemma AE (r i : 'I_n) : A r i = if (i < r)%N then b r * (k r *m (k i)^T) 0 0 else 0.
Proof. by rewrite mxE; case: ltnP => // lt_ir; rewrite diagE mxE gramE. Qed.

Lemma AtE (r i : 'I_n) :
  At r i = if (i < r)%N then b r * (from_to i r.+1 * (k r *m (k i)^T) 0 0) else 0.
Proof.
rewrite mxE; case: ltnP => // lt_ir.
by rewrite diagE mxE [had _ _ _ _]mxE [Gamma _ _]mxE (ltnW lt_ir) gramE.
Qed.

(* this is the rule with two gates *)
Lemma St_gated t : St t = gated t.
Proof.
have out_of m (c : R) (x : 'rV[R]_m) i : (had (const_mx c) x)^T *m k i = c *: (x^T *m k i).
  by rewrite had_const linearZ /= scalemxAl.
elim: t => //= t <-; rewrite /erased /written !out_of diag_const_mx mul_mx_scalar.
by rewrite -scalemxAl.
Qed.

Lemma D_scalar s t : D decay s t = (\prod_(s <= j < t) a j)%:M.
Proof.
rewrite -diag_const_mx; congr diag_mx; apply/rowP => c; rewrite !mxE.
by apply: eq_bigr => j _; rewrite mxE.
Qed.

Lemma At_gated : At = A_gated decay erase k n.
Proof.
apply/matrixP => r i; rewrite AtE !mxE; case: ltnP => // _.
by rewrite -commonE D_scalar mul_mx_scalar /erased had_const -!scalemxAl !mxE mulrCA.
Qed.

(* eq-family-gdn: with one decay and one strength for all channels, the general rule's matrix is
   that of the gated delta rule *)
Theorem gdn_interaction : general_chunk.A decay (reader decay erase k) n k = At.
Proof. by rewrite At_gated A_gatedE. Qed.

Lemma P_scalar : P decay q n k = had Gamma (Q *m K^T).
Proof.
apply/matrixP => r i; rewrite [LHS]mxE [RHS]mxE ltnS [Gamma _ _]mxE gramE.
case: leqP => _; last by rewrite mul0r.
by rewrite -commonE D_scalar mul_mx_scalar -scalemxAl mxE.
Qed.

Lemma Delta_gated : Delta = \matrix_(r < n) gated_delta decay erase write k v S0 r.
Proof.
apply/row_matrixP => r; rewrite !rowK /gated_delta -St_gated /reader /erased /written !had_const.
by rewrite diag_const_mx mul_mx_scalar -!scalemxAl scalerA mulrC -scalerA -scalerBr.
Qed.

Lemma queries_scalar : queries decay q n = Dgamma *m Q.
Proof. by apply/row_matrixP => r; rewrite row_diag !rowK D_scalar mul_mx_scalar mxE. Qed.

Lemma to_end_scalar : to_end decay n k = Dend *m K.
Proof. by apply/row_matrixP => r; rewrite row_diag !rowK D_scalar mul_mx_scalar mxE. Qed.

Lemma right_side : B *m (V - Dgamma *m K *m S0^T)
  = \matrix_(r < n) written write v r - readers_gated decay erase k n *m S0^T.
Proof.
apply/row_matrixP => r; rewrite row_diag !linearB /= -mulmxA row_diag !row_mul !rowK !mxE.
rewrite /written /erased !had_const D_scalar mul_mx_scalar -!scalemxAl.
by rewrite scalerA mulrC -scalerA.
Qed.

(* eq-gdn-chunk-delta: the corrections that the token loop writes solve one triangular system, for
   every length of the chunk, every size and every decay, zero included *)
Theorem chunk_delta : (1%:M + At) *m Delta = B *m (V - Dgamma *m K *m S0^T).
Proof.
have [solve _] := two_gates_chunk decay erase write k k v S0 n. (* whatever is asked *)
by rewrite At_gated Delta_gated right_side.
Qed.

Lemma chunk_delta_solved :
  Delta = invmx (1%:M + At) *m (B *m (V - Dgamma *m K *m S0^T)).
Proof. by rewrite -chunk_delta mulKmx ?unit_strict. Qed.

(* eq-gdn-chunk-state: the state of the token loop after the chunk, for every length of the chunk,
   every size and every decay, zero included *)
Theorem chunk_state : St n = upto n *: S0 + Delta^T *m Dend *m K.
Proof.
have [_ [_ state]] := two_gates_chunk decay erase write k k v S0 n.
by rewrite St_gated Delta_gated state D_scalar mul_mx_scalar to_end_scalar mulmxA.
Qed.

(* eq-gdn-chunk-output: row r is what the token loop puts out at token r, for every length of the
   chunk, every size and every decay, zero included *)
Theorem chunk_output :
  \matrix_(r < n) out r = Dgamma *m Q *m S0^T + had Gamma (Q *m K^T) *m Delta.
Proof.
have [_ [output _]] := two_gates_chunk decay erase write q k v S0 n.
rewrite Delta_gated -queries_scalar -P_scalar -output.
by apply/row_matrixP => r; rewrite !rowK /out St_gated.
Qed.
End Chunk.
