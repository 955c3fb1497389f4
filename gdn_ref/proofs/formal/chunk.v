(* The chunk form equals the token loop, for every length of the chunk and every decay. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices rule.
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

(* what token r reads of the writes before it in the chunk *)
Lemma At_row (r : 'I_n) :
  \sum_(i < n) At r i *: delta i
  = \sum_(i < r) (b r * (a r * (from_to i r * (k r *m (k i)^T) 0 0))) *: delta i.
Proof.
rewrite (big_ord_widen n (fun i =>
  (b r * (a r * (from_to i r * (k r *m (k i)^T) 0 0))) *: delta i)) ?(ltnW (ltn_ord r)) //.
rewrite (bigID (fun i : 'I_n => (i < r)%N)) /= [X in _ + X]big1 ?addr0.
  apply: eq_bigr => i lt_ir; rewrite mxE lt_ir diagE mxE [had _ _ _ _]mxE [Gamma _ _]mxE.
  by rewrite (ltnW lt_ir) gramE from_toS // -!mulrA.
by move=> i; rewrite -leqNgt => le_ri; rewrite !mxE ltnNge le_ri scale0r.
Qed.

(* eq-gdn-chunk-delta: the corrections that the token loop writes solve one triangular system, for
   every length of the chunk, every size and every decay, zero included *)
Theorem chunk_delta : (1%:M + At) *m Delta = B *m (V - Dgamma *m K *m S0^T).
Proof.
apply/row_matrixP => r; rewrite mulmxDl mul1mx linearD /= row_mul rowK.
rewrite row_diag mxE linearB /= rowK -mulmxA row_diag mxE row_mul rowK mulmx_sum_row.
rewrite (eq_bigr (fun i => At r i *: delta i)) => [|i _]; last by rewrite rowK mxE.
rewrite At_row {1}/delta read scalerDr scalerA -uptoS opprD addrA scalerBr -addrA.
rewrite -[RHS]addr0; congr (_ + _); apply/eqP; rewrite addrC subr_eq0; apply/eqP.
by rewrite !scaler_sumr; apply: eq_bigr => i _; rewrite !scalerA !mulrA.
Qed.

Lemma chunk_delta_solved :
  Delta = invmx (1%:M + At) *m (B *m (V - Dgamma *m K *m S0^T)).
Proof. by rewrite -chunk_delta mulKmx ?unit_strict. Qed.

(* eq-gdn-chunk-state: the state of the token loop after the chunk, for every length of the chunk,
   every size and every decay, zero included *)
Theorem chunk_state : St n = upto n *: S0 + Delta^T *m Dend *m K.
Proof.
rewrite St_unrolled; congr (_ + _); apply/matrixP => x y.
rewrite -mulmxA summxE mxE; apply: eq_bigr => i _.
by rewrite /Dend mul_diag_mx !mxE big_ord1 !mxE mulrCA.
Qed.

(* eq-gdn-chunk-output: row r is what the token loop puts out at token r, for every length of the
   chunk, every size and every decay, zero included *)
Theorem chunk_output :
  \matrix_(r < n) out r = Dgamma *m Q *m S0^T + had Gamma (Q *m K^T) *m Delta.
Proof.
apply/row_matrixP => r; rewrite rowK linearD /= -mulmxA row_diag mxE row_mul rowK.
rewrite /out read; congr (_ + _); rewrite row_mul mulmx_sum_row.
rewrite (big_ord_widen n (fun i => (from_to i r.+1 * (q r *m (k i)^T) 0 0) *: delta i)) //.
rewrite [RHS](bigID (fun i : 'I_n => (i < r.+1)%N)) /= [X in _ = _ + X]big1 ?addr0.
  apply: eq_bigr => i le_ir; rewrite rowK; congr (_ *: _).
  by rewrite [row _ _ _ _]mxE [had _ _ _ _]mxE [Gamma _ _]mxE -ltnS le_ir gramE.
by move=> i; rewrite ltnS => /negbTE le_ri; rewrite !mxE le_ri mul0r scale0r.
Qed.

Lemma AtE (r i : 'I_n) :
  At r i = if (i < r)%N then b r * (from_to i r.+1 * (k r *m (k i)^T) 0 0) else 0.
Proof.
rewrite mxE; case: ltnP => // lt_ir.
by rewrite diagE mxE [had _ _ _ _]mxE [Gamma _ _]mxE (ltnW lt_ir) gramE.
Qed.

Lemma AE (r i : 'I_n) : A r i = if (i < r)%N then b r * (k r *m (k i)^T) 0 0 else 0.
Proof. by rewrite mxE; case: ltnP => // lt_ir; rewrite diagE mxE gramE. Qed.

End Chunk.
