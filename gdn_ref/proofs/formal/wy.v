(* The WY form: products of factors and sums of writes as few outer products; the merge of runs. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices rule products chunk decay affine delta_rule.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section WY.
Variable R : comUnitRingType.
Variables dk dv : nat.
Variables (b : nat -> R) (k : nat -> 'rV[R]_dk) (v : nat -> 'rV[R]_dv).
Local Notation P := (P b k).
Local Notation H := (H b k v).

(* the erasing and the writing vector of token r, as rows *)
Definition w (r : nat) : 'rV[R]_dk := b r *: (k r *m (P 0 r)^T).
Definition u (r : nat) : 'rV[R]_dv := b r *: (v r - k r *m (H r)^T).

Lemma HS r : H r.+1 = H r *m factor b k r + b r *: ((v r)^T *m k r).
Proof.
rewrite /H big_ord_recr /= P0 mulmx1 mulmx_suml; congr (_ + _).
by apply: eq_bigr => i _; rewrite PS // mulmxA.
Qed.

Lemma mul_factor m (X : 'M[R]_(m, dk)) r :
  X *m factor b k r = X - (b r *: (k r *m X^T))^T *m k r.
Proof.
by rewrite mulmxBr mulmx1 -scalemxAr [(b r *: _)^T]linearZ /= trmx_mul trmxK -scalemxAl mulmxA.
Qed.

Lemma P_sum r : P 0 r = 1%:M - \sum_(i < r) (w i)^T *m k i.
Proof.
elim: r => [|r IH]; first by rewrite P0 big_ord0 subr0.
by rewrite PS // mul_factor big_ord_recr /= opprD addrA -IH.
Qed.

Lemma H_sum r : H r = \sum_(i < r) (u i)^T *m k i.
Proof.
elim: r => [|r IH]; first by rewrite /H !big_ord0.
rewrite HS mul_factor big_ord_recr /= -IH -addrA; congr (_ + _).
by rewrite /u !linearZ linearB /= scalerBr mulmxBl addrC -!scalemxAl.
Qed.

(* eq-wy-product: the product of r factors, and the recursion of the erasing vectors *)
Theorem wy_product r :
  P 0 r = 1%:M - \sum_(i < r) (w i)^T *m k i /\
  w r = b r *: (k r - \sum_(i < r) (k r *m (k i)^T) 0 0 *: w i).
Proof.
split; first exact: P_sum.
rewrite /w {1}P_sum linearB /= trmx1 mulmxBr mulmx1 linear_sum /= mulmx_sumr.
by congr (_ *: (_ - _)); apply: eq_bigr => i _; rewrite read_outer.
Qed.

(* eq-wy-sum: the sum of r writes, and the recursion of the writing vectors *)
Theorem wy_sum r :
  H r = \sum_(i < r) (u i)^T *m k i /\
  u r = b r *: (v r - \sum_(i < r) (k r *m (k i)^T) 0 0 *: u i).
Proof.
split; first exact: H_sum.
rewrite {1}/u H_sum linear_sum /= mulmx_sumr.
by congr (_ *: (_ - _)); apply: eq_bigr => i _; rewrite read_outer.
Qed.

(* eq-wy-state: the state of the delta rule after r tokens *)
Theorem wy_state S0 r :
  St (fun _ => 1) b k v S0 r = S0 + \sum_(i < r) ((u i)^T - S0 *m (w i)^T) *m k i.
Proof.
rewrite delta_unrolled P_sum H_sum mulmxBr mulmx1 mulmx_sumr -addrA; congr (_ + _).
rewrite addrC -sumrB; apply: eq_bigr => i _; by rewrite mulmxBl mulmxA.
Qed.

Section Stacked.
Variable n : nat.
Local Notation K := (K k n).
Local Notation one := (fun _ : nat => 1 : R).

Lemma u_is_delta r : u r = delta one b k v 0 r.
Proof. by rewrite /delta scale1r delta_unrolled mul0mx add0r. Qed.

Lemma stacked_u : \matrix_(r < n) u r = U b k v n.
Proof.
have := delta_rule_split b k v 0 n; rewrite trmx0 mulmx0 subr0 => <-.
by apply/row_matrixP => r; rewrite !rowK u_is_delta.
Qed.

Lemma stacked_w : \matrix_(r < n) w r = W b k n.
Proof.
have := delta_rule_split b k (fun _ => 0 : 'rV[R]_dk) 1%:M n.
have -> : U b k (fun _ => 0 : 'rV[R]_dk) n = 0.
  by rewrite /U (_ : V _ _ = 0) ?mulmx0 //; apply/matrixP => i j; rewrite !mxE.
rewrite trmx1 mulmx1 sub0r => /(congr1 -%R); rewrite opprK => <-.
apply/row_matrixP => r; rewrite linearN /= !rowK /delta scale1r sub0r scalerN opprK.
rewrite delta_unrolled mul1mx /products.H big1 ?addr0 // => i _.
by rewrite trmx0 mul0mx scaler0 mul0mx.
Qed.

(* eq-wy-w: the erasing vectors, as rows, solve the triangular system *)
Theorem wy_w : (1%:M + A b k n) *m (\matrix_(r < n) w r) = B b n *m K.
Proof. by rewrite stacked_w /W mulKVmx ?unit_strict. Qed.

(* eq-wy-matrix: both outer sums, stacked *)
Theorem wy_matrix : P 0 n = 1%:M - (W b k n)^T *m K /\ H n = (U b k v n)^T *m K.
Proof. by rewrite P_sum H_sum !outer_sum stacked_w stacked_u. Qed.
End Stacked.
End WY.

(* By the rows themselves: I - W^T K does not determine W where the keys are dependent. *)
Section Merge.
Variable R : comUnitRingType.
Variables dk dv m : nat.
Variables (b : nat -> R) (k : nat -> 'rV[R]_dk) (v : nat -> 'rV[R]_dv).
Let b2 t := b (m + t)%N.
Let k2 t := k (m + t)%N.
Let v2 t := v (m + t)%N.

Lemma P_follow r : P b k 0 (m + r) = P b k 0 m *m P b2 k2 0 r.
Proof.
by elim: r => [|r IH]; rewrite ?addn0 ?P0 ?mulmx1 // addnS !PS // IH mulmxA.
Qed.

Lemma H_follow r : H b k v (m + r) = H b k v m *m P b2 k2 0 r + H b2 k2 v2 r.
Proof.
elim: r => [|r IH]; first by rewrite addn0 P0 mulmx1 {3}/H big_ord0 addr0.
by rewrite addnS !HS IH PS // mulmxDl mulmxA addrA.
Qed.

Lemma merge_w r : w b k (m + r) = w b2 k2 r - w b2 k2 r *m (K k m)^T *m W b k m.
Proof.
rewrite {1}/w P_follow trmx_mul mulmxA scalemxAl -/(w b2 k2 r) P_sum outer_sum stacked_w.
by rewrite linearB /= trmx1 trmx_mul trmxK mulmxBr mulmx1 mulmxA.
Qed.

Lemma merge_u r :
  u b k v (m + r) = u b2 k2 v2 r - w b2 k2 r *m (K k m)^T *m U b k v m.
Proof.
rewrite {1}/u H_follow [(_ + _)^T]linearD /= [(_ *m P _ _ _ _)^T]trmx_mul mulmxDr opprD.
rewrite addrCA scalerDr addrC -/(u b2 k2 v2 r) scalerN mulmxA scalemxAl -/(w b2 k2 r).
by rewrite H_sum outer_sum stacked_u [(_ *m K _ _)^T]trmx_mul trmxK mulmxA.
Qed.

(* eq-wy-merge: the rows of the second run in the joint one, from both runs alone; any lengths *)
Theorem merge n :
  let W2 := W b2 k2 n in
  \matrix_(r < n) w b k (m + r) = W2 - W2 *m (K k m)^T *m W b k m /\
  \matrix_(r < n) u b k v (m + r)
    = U b2 k2 v2 n - W2 *m (K k m)^T *m U b k v m.
Proof.
rewrite /= -[W b2 k2 n]stacked_w -[U b2 k2 v2 n]stacked_u.
split; apply/row_matrixP => r; rewrite linearB /= !row_mul !rowK.
  exact: merge_w.
exact: merge_u.
Qed.
End Merge.
