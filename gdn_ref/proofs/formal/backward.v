(* The backward pass of a chunk equals the reverse token loop, for every length and every decay. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices rule chunk reverse gradient.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Backward.
Variable R : comUnitRingType.
Variables dk dv n : nat.
Variables (a b : nat -> R) (q k : nat -> 'rV[R]_dk) (v : nat -> 'rV[R]_dv).
Variable S0 : 'M[R]_(dv, dk).
Variables (dout : nat -> 'rV[R]_dv) (dlast : 'M[R]_(dv, dk)).
Local Notation St := (St a b k v S0).
Local Notation delta := (delta a b k v S0).
Local Notation upto := (upto a).
Local Notation from_to := (from_to a).
Local Notation Lambda := (Lambda n a b q k dout dlast).
Local Notation dS := (dS n a b q k dout dlast).
Local Notation z := (z n a b q k dout dlast).
Local Notation gq := (gq a b k v S0 dout).
Local Notation gv := (gv n a b q k dout dlast).
Local Notation gbeta := (gbeta n a b q k v S0 dout dlast).
Local Notation gk_reads := (gk_reads n a b q k v S0 dout dlast).
Local Notation gk_is_read := (gk_is_read n a b q k v S0 dout dlast).
Local Notation Q := (Q q n).
Local Notation K := (K k n).
Local Notation V := (V v n).
Local Notation B := (B b n).
Local Notation Dgamma := (Dgamma a n).
Local Notation Dend := (Dend a n).
Local Notation Gamma := (Gamma a n).
Local Notation At := (At a b k n).
Local Notation E := (Delta a b k v S0 n).
Definition dO : 'M[R]_(n, dv) := \matrix_(r < n) dout r.
Definition Z : 'M[R]_(n, dv) := \matrix_(r < n) z r.

(* sums over a stretch of tokens, as sums over the chunk *)
Lemma sum_from (M : zmodType) (f : nat -> M) s :
  \sum_(s <= i < n) f i = \sum_(i < n) if (s <= i)%N then f i else 0.
Proof. by rewrite (big_nat_widenl s 0%N) // big_mkord [LHS]big_mkcond. Qed.

Lemma sum_upto (M : zmodType) (f : nat -> M) s : (s <= n)%N ->
  \sum_(i < s) f i = \sum_(i < n) if (i < s)%N then f i else 0.
Proof. by move=> le_sn; rewrite (big_ord_widen n f le_sn) [LHS]big_mkcond. Qed.

Lemma Gamma_E (r i : 'I_n) : Gamma r i = if (i <= r)%N then from_to i r.+1 else 0.
Proof. by rewrite mxE. Qed.

Lemma strict_Gamma_E (r i : 'I_n) : strict Gamma r i = if (i < r)%N then from_to i r.+1 else 0.
Proof. by rewrite mxE Gamma_E; case: ltnP => // /ltnW ->. Qed.

Lemma scale_if (c : bool) (x : R) m p (X : 'M[R]_(m, p)) :
  (if c then x *: X else 0) = (if c then x else 0) *: X.
Proof. by case: c; rewrite ?scale0r. Qed.

(* the state after token r of the chunk, and the decayed state that token r reads *)
Lemma state_after (r : 'I_n) :
  St r.+1 = upto r.+1 *: S0 + \sum_(i < n) Gamma r i *: ((delta i)^T *m k i).
Proof.
rewrite St_unrolled (sum_upto (fun i => from_to i r.+1 *: ((delta i)^T *m k i))) //; congr (_ + _).
by apply: eq_bigr => i _; rewrite scale_if Gamma_E ltnS.
Qed.

Lemma state_read (r : 'I_n) :
  a r *: St r = upto r.+1 *: S0 + \sum_(i < n) strict Gamma r i *: ((delta i)^T *m k i).
Proof.
have le_rn : (r <= n)%N by rewrite ltnW.
rewrite St_unrolled (sum_upto (fun i => from_to i r *: ((delta i)^T *m k i))) //.
rewrite scalerDr scalerA -uptoS scaler_sumr; congr (_ + _); apply: eq_bigr => i _.
by rewrite scale_if scalerA strict_Gamma_E; case: ltnP => [lt_ir|_]; rewrite ?from_toS ?mulr0.
Qed.

(* all of the gradient of the state after token r of the chunk *)
Lemma Lambda_after (r : 'I_n) :
  Lambda r = from_to r n *: dlast + \sum_(i < n) Gamma i r *: ((dout i)^T *m q i)
             - \sum_(i < n) (strict Gamma i r * b i) *: ((z i)^T *m k i).
Proof.
rewrite /reverse.Lambda grad_unrolled // [LHS]addrAC; congr (_ - _).
  rewrite -addrA; congr (_ + _); rewrite addrC -[X in X + _]scale1r -{1}(from_to_own a r).
  rewrite -(big_ltn (F := fun i => from_to r i.+1 *: ((dout i)^T *m q i))) // sum_from.
  by apply: eq_bigr => i _; rewrite scale_if Gamma_E.
rewrite (sum_from (fun i => (stretch a r.+1 i.+1 * b i) *: ((z i)^T *m k i))).
apply: eq_bigr => i _; rewrite scale_if strict_Gamma_E; congr (_ *: _).
by case: ltnP => _; rewrite ?mul0r.
Qed.

(* a row times an outer product of rows *)
Lemma row_outer m p (x y : 'rV[R]_m) (w : 'rV[R]_p) : x *m (y^T *m w) = (x *m y^T) 0 0 *: w.
Proof. by rewrite mulmxA mul_mx11. Qed.

Lemma dotC m (x y : 'rV[R]_m) : (x *m y^T) 0 0 = (y *m x^T) 0 0.
Proof. by rewrite !mxE; apply: eq_bigr => i _; rewrite !mxE mulrC. Qed.

Lemma dotE m (x y : nat -> 'rV[R]_m) (r i : 'I_n) :
  ((\matrix_(r < n) x r) *m (\matrix_(r < n) y r)^T) r i = (x r *m (y i)^T) 0 0.
Proof. by rewrite !mxE; apply: eq_bigr => j _; rewrite !mxE. Qed.

Lemma row_combination p (X : 'M[R]_n) (f : nat -> 'rV[R]_p) (r : 'I_n) :
  row r (X *m \matrix_(i < n) f i) = \sum_(i < n) X r i *: f i.
Proof. by rewrite row_mul mulmx_sum_row; apply: eq_bigr => i _; rewrite rowK mxE. Qed.

(* reads of a sum of outer products, from either side *)
Lemma read_sum m p (x : 'rV[R]_p) (c : 'I_n -> R) (w : nat -> 'rV[R]_m) (y : nat -> 'rV[R]_p) :
  x *m (\sum_(i < n) c i *: ((w i)^T *m y i))^T = \sum_(i < n) (c i * (x *m (y i)^T) 0 0) *: w i.
Proof.
rewrite linear_sum /= mulmx_sumr; apply: eq_bigr => i _.
by rewrite linearZ /= -scalemxAr read_outer scalerA.
Qed.

Lemma sum_read m p (x : 'rV[R]_m) (c : 'I_n -> R) (w : nat -> 'rV[R]_m) (y : nat -> 'rV[R]_p) :
  x *m (\sum_(i < n) c i *: ((w i)^T *m y i)) = \sum_(i < n) (c i * (x *m (w i)^T) 0 0) *: y i.
Proof.
rewrite mulmx_sumr; apply: eq_bigr => i _.
by rewrite -scalemxAr row_outer scalerA.
Qed.

Lemma stacked_sum m p (c : nat -> R) (w : nat -> 'rV[R]_m) (y : nat -> 'rV[R]_p) :
  \sum_(i < n) c i *: ((w i)^T *m y i)
  = (diag_mx (\row_i c i) *m \matrix_(i < n) w i)^T *m \matrix_(i < n) y i.
Proof.
apply/matrixP => s t; rewrite summxE mxE; apply: eq_bigr => i _.
by rewrite mul_diag_mx !mxE big_ord1 !mxE mulrA.
Qed.

(* eq-grad-solve: the rows Lambda_r k_r of the reverse loop solve the transposed system of the
   chunk, and no others do, for it is invertible; every length and every decay *)
Theorem grad_solve :
  (1%:M + At)^T *m Z = (had Gamma (Q *m K^T))^T *m dO + Dend *m K *m dlast^T /\
  (1%:M + At)^T \in unitmx.
Proof.
split; last by rewrite unitmx_tr unit_strict.
apply/row_matrixP => r; rewrite linearD /= trmx1 mulmxDl mul1mx !linearD /= rowK.
rewrite /Z !row_combination -mulmxA row_diag mxE row_mul rowK.
rewrite {1}/reverse.z Lambda_after linearB linearD /= mulmxBr mulmxDr !read_sum.
rewrite linearZ /= -scalemxAr addrAC [RHS]addrC -[RHS]addr0 -addrA; congr (_ + _).
  congr (_ + _); apply: eq_bigr => i _.
  by rewrite [_^T _ _]mxE [had _ _ _ _]mxE dotE dotC.
rewrite -sumrB big1 // => i _; rewrite [_^T _ _]mxE AtE strict_Gamma_E.
by case: ltnP => _; rewrite ?mul0r ?subrr // dotC [from_to _ _ * b _]mulrC -mulrA subrr.
Qed.

(* eq-grad-query: the gradients of all queries and all values of the chunk *)
Theorem grad_query :
  \matrix_(r < n) gq r = Dgamma *m dO *m S0 + had Gamma (dO *m E^T) *m K /\
  \matrix_(r < n) gv r = B *m Z.
Proof.
split; apply/row_matrixP => r; last by rewrite row_diag !rowK mxE.
rewrite rowK linearD /= row_combination -mulmxA row_diag mxE row_mul rowK.
rewrite /gradient.gq state_after mulmxDr -scalemxAr sum_read; congr (_ + _).
by apply: eq_bigr => i _; rewrite [had _ _ _ _]mxE dotE.
Qed.

(* the products of keys with keys: strictly lower, because a key does not see its own write *)
Definition N : 'M[R]_n := - (B *m strict (had Gamma (Z *m E^T))).

Lemma NE (r i : 'I_n) : N r i = - b r * (strict Gamma r i * (z r *m (delta i)^T) 0 0).
Proof.
rewrite mxE diagE mxE [strict _ _ _]mxE [strict _ _ _]mxE [had _ _ _ _]mxE dotE mulNr.
by case: ltnP => _; rewrite ?mul0r.
Qed.

(* eq-grad-key: the gradients of all keys of the chunk, as readers and as what is read, which the
   reverse loop adds up *)
Theorem grad_key :
  \matrix_(r < n) gk_reads r = N *m K - B *m Dgamma *m Z *m S0 /\
  \matrix_(r < n) gk_is_read r
    = N^T *m K + (had Gamma (dO *m E^T))^T *m Q + Dend *m E *m dlast.
Proof.
split; apply/row_matrixP => r; rewrite rowK.
  rewrite linearB /= row_combination -!mulmxA !row_diag !mxE row_mul rowK.
  rewrite /gradient.gk_reads state_read.
  rewrite mulmxDr -scalemxAr sum_read scalerDr addrC scaler_sumr; congr (_ + _).
    by apply: eq_bigr => i _; rewrite scalerA NE.
  by rewrite scaleNr.
rewrite !linearD /= !row_combination -mulmxA row_diag mxE row_mul rowK /gradient.gk_is_read.
rewrite Lambda_after mulmxBr mulmxDr -scalemxAr !sum_read.
rewrite [RHS]addrC [X in _ = _ + X]addrC [RHS]addrA; congr (_ + _ + _).
  by apply: eq_bigr => i _; rewrite [_^T _ _]mxE [had _ _ _ _]mxE dotE dotC.
rewrite -sumrN; apply: eq_bigr => i _.
by rewrite [_^T _ _]mxE NE dotC mulNr scaleNr mulrA [b i * _]mulrC.
Qed.

(* what token r has to correct, before the write strength *)
Lemma correction_row (r : 'I_n) :
  v r - a r *: (k r *m (St r)^T)
  = row r (V - Dgamma *m K *m S0^T - strict (had Gamma (K *m K^T)) *m E).
Proof.
rewrite !linearB /= row_combination rowK -mulmxA row_diag mxE row_mul rowK.
rewrite scalemxAr -linearZ /= state_read linearD /= mulmxDr read_sum.
rewrite linearZ /= -scalemxAr opprD addrA; congr (_ - _); apply: eq_bigr => i _.
rewrite strict_Gamma_E [strict _ _ _]mxE [had _ _ _ _]mxE dotE Gamma_E.
by case: ltnP => [/ltnW ->|_] //; rewrite mul0r.
Qed.

(* eq-grad-beta: the gradient of every write strength, also where it is zero *)
Theorem grad_beta (r : 'I_n) :
  gbeta r = ip (row r Z) (row r (V - Dgamma *m K *m S0^T
                                 - strict (had Gamma (K *m K^T)) *m E)).
Proof. by rewrite -correction_row rowK. Qed.

(* eq-grad-state: the gradient of the state before the chunk *)
Theorem grad_state :
  dS 0 = upto n *: dlast + (Dgamma *m dO)^T *m Q - (B *m Dgamma *m Z)^T *m K.
Proof.
have -> : B *m Dgamma = diag_mx (\row_i (upto i.+1 * b i)).
  by apply/matrixP => r i; rewrite diagE !mxE mulrnAr mulrC.
rewrite grad_unrolled // !big_mkord (stacked_sum (fun i => upto i.+1) dout q).
by rewrite (stacked_sum (fun i => upto i.+1 * b i) z k).
Qed.
End Backward.
