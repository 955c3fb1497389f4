(* Rows, diagonal matrices, entrywise products, and the systems with ones on their diagonal. *)
From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Matrices.
Variable R : comUnitRingType.

Lemma mul_mx11 m (y : 'M[R]_1) (w : 'rV[R]_m) : y *m w = y 0 0 *: w.
Proof. by rewrite {1}[y]mx11_scalar mul_scalar_mx. Qed.

(* a read of an outer product of rows *)
Lemma read_outer m n (x z : 'rV[R]_n) (y : 'rV[R]_m) : x *m (y^T *m z)^T = (x *m z^T) 0 0 *: y.
Proof. by rewrite trmx_mul trmxK mulmxA mul_mx11. Qed.

(* a sum of outer products, stacked *)
Lemma outer_sum m n p (x : nat -> 'rV[R]_m) (y : nat -> 'rV[R]_p) :
  \sum_(i < n) (x i)^T *m y i = (\matrix_(i < n) x i)^T *m \matrix_(i < n) y i.
Proof.
apply/matrixP => s t; rewrite summxE mxE; apply: eq_bigr => i _.
by rewrite !mxE big_ord1 !mxE.
Qed.

(* products of square matrices in one order, written \big[mulmx/1%:M] *)
Canonical mulmx_monoid (n : nat) :=
  Monoid.Law (@mulmxA R n n n n) (@mul1mx R n n) (@mulmx1 R n n).

(* <X, Y>, the sum of all X_ij Y_ij *)
Definition ip m n (X Y : 'M[R]_(m, n)) : R := \sum_(i < m) \sum_(j < n) X i j * Y i j.

Lemma ip_trace m n (X Y : 'M[R]_(m, n)) : ip X Y = \tr (X *m Y^T).
Proof. by apply: eq_bigr => i _; rewrite mxE; apply: eq_bigr => j _; rewrite mxE. Qed.

Lemma ipC m n (X Y : 'M[R]_(m, n)) : ip X Y = ip Y X.
Proof. by apply: eq_bigr => i _; apply: eq_bigr => j _; rewrite mulrC. Qed.

Lemma ip_mull m n p (X : 'M[R]_(m, p)) (Y : 'M[R]_(m, n)) (Z : 'M[R]_(n, p)) :
  ip X (Y *m Z) = ip (Y^T *m X) Z.
Proof. by rewrite !ip_trace trmx_mul mulmxA mxtrace_mulC mulmxA. Qed.

Lemma ip_mulr m n p (X : 'M[R]_(m, p)) (Y : 'M[R]_(m, n)) (Z : 'M[R]_(n, p)) :
  ip X (Y *m Z) = ip (X *m Z^T) Y.
Proof. by rewrite !ip_trace trmx_mul mulmxA. Qed.

Lemma ipD m n (X Y Z : 'M[R]_(m, n)) : ip X (Y + Z) = ip X Y + ip X Z.
Proof.
rewrite /ip -big_split /=; apply: eq_bigr => i _; rewrite -big_split /=.
by apply: eq_bigr => j _; rewrite mxE mulrDr.
Qed.

Lemma ipN m n (X Y : 'M[R]_(m, n)) : ip X (- Y) = - ip X Y.
Proof.
rewrite /ip -sumrN; apply: eq_bigr => i _; rewrite -sumrN.
by apply: eq_bigr => j _; rewrite mxE mulrN.
Qed.

Lemma ipB m n (X Y Z : 'M[R]_(m, n)) : ip X (Y - Z) = ip X Y - ip X Z.
Proof. by rewrite ipD ipN. Qed.

Lemma ipZ m n (c : R) (X Y : 'M[R]_(m, n)) : ip X (c *: Y) = c * ip X Y.
Proof.
by rewrite /ip mulr_sumr; apply: eq_bigr => i _; rewrite mulr_sumr; apply: eq_bigr => j _;
  rewrite mxE mulrCA.
Qed.

Lemma ip_rows n (x y : 'rV[R]_n) : ip x y = (x *m y^T) 0 0.
Proof. by rewrite ip_trace /mxtrace big_ord1. Qed.

(* the inner product with the outer product of two rows *)
Lemma ip_outer m n (X : 'M[R]_(m, n)) (x : 'rV[R]_m) (y : 'rV[R]_n) :
  ip X (x^T *m y) = ip (y *m X^T) x.
Proof.
rewrite ip_mulr !ip_trace trmxK -[RHS]mxtrace_tr !trmx_mul !trmxK.
by rewrite mxtrace_mulC mulmxA.
Qed.

Definition had m n (X Y : 'M[R]_(m, n)) : 'M[R]_(m, n) := \matrix_(r, i) (X r i * Y r i).

Lemma had_const m n c (X : 'M[R]_(m, n)) : had (const_mx c) X = c *: X.
Proof. by apply/matrixP => r i; rewrite !mxE. Qed.

Variable n : nat.
Definition strict (X : 'M[R]_n) : 'M[R]_n := \matrix_(r, i) if (i < r)%N then X r i else 0.

Lemma row_diag m (d : 'rV[R]_n) (X : 'M[R]_(n, m)) r : row r (diag_mx d *m X) = d 0 r *: row r X.
Proof. by apply/rowP => j; rewrite mul_diag_mx !mxE. Qed.

Lemma diagE (d : 'rV[R]_n) (X : 'M[R]_n) r i : (diag_mx d *m X) r i = d 0 r * X r i.
Proof. by rewrite mul_diag_mx mxE. Qed.

(* a system with ones on its diagonal and zeros above it always has one solution *)
Lemma unit_strict X : 1%:M + strict X \in unitmx.
Proof.
rewrite unitmxE det_trig; last first.
  apply/is_trig_mxP => i j lt_ij; rewrite !mxE ltnNge ltnW //= addr0.
  by rewrite -val_eqE ltn_eqF.
by rewrite big1 ?unitr1 // => i _; rewrite !mxE eqxx ltnn addr0.
Qed.

(* the inverse of a unit lower triangular matrix is lower triangular *)
Lemma inv_lower X (s i : 'I_n) : (s < i)%N -> invmx (1%:M + strict X) s i = 0.
Proof.
have [p] := ubnP s; elim: p s => // p IH s; rewrite ltnS => le_sp lt_si.
have /matrixP/(_ s i) := mulmxV (unit_strict X).
rewrite mulmxDl mul1mx mxE [X in _ + X]mxE [1%:M _ _]mxE big1 => [|j _].
  by rewrite addr0 => ->; rewrite -val_eqE ltn_eqF.
rewrite mxE; case: ltnP => [lt_js|_]; last by rewrite mul0r.
by rewrite IH ?mulr0 //; [exact: leq_trans lt_js le_sp | exact: ltn_trans lt_js lt_si].
Qed.

Lemma ip_strict (X Y : 'M[R]_n) : ip X (strict Y) = ip (strict X) Y.
Proof.
apply: eq_bigr => i _; apply: eq_bigr => j _; rewrite !mxE.
by case: ltnP => _; rewrite ?mulr0 ?mul0r.
Qed.
End Matrices.
