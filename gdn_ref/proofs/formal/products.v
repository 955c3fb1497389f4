(* The token loop unrolled: one product of transitions, one sum of writes. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices rule.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Products.
Variable R : comUnitRingType.
Variables dk dv : nat.
Variables (a b : nat -> R) (k : nat -> 'rV[R]_dk) (v : nat -> 'rV[R]_dv).

(* I - beta_t k_t k_t^T, and the product of the factors s, ..., r - 1 in this order *)
Definition factor (t : nat) : 'M[R]_dk := 1%:M - b t *: ((k t)^T *m k t).
Definition P (s r : nat) : 'M[R]_dk := \big[mulmx/1%:M]_(s <= j < r) factor j.

(* eq-delta-products, eq-gdn-products *)
Definition H (r : nat) : 'M[R]_(dv, dk) := \sum_(i < r) b i *: ((v i)^T *m k i) *m P i.+1 r.
Definition F (r : nat) : 'M[R]_dk := \big[mulmx/1%:M]_(0 <= j < r) (a j *: factor j).
Definition G (r : nat) : 'M[R]_(dv, dk) :=
  \sum_(i < r) b i *: ((v i)^T *m k i) *m \big[mulmx/1%:M]_(i.+1 <= j < r) (a j *: factor j).

Lemma PS s r : (s <= r)%N -> P s r.+1 = P s r *m factor r.
Proof. by move=> le_sr; rewrite /P big_nat_recr. Qed.

Lemma P0 s : P s s = 1%:M.
Proof. by rewrite /P big_geq. Qed.

Lemma F0 : F 0 = 1%:M.
Proof. by rewrite /F big_geq. Qed.

Lemma G0 : G 0 = 0.
Proof. by rewrite /G big_ord0. Qed.

Lemma FS r : F r.+1 = F r *m (a r *: factor r).
Proof. by rewrite /F big_nat_recr. Qed.

Lemma GS r : G r.+1 = G r *m (a r *: factor r) + b r *: ((v r)^T *m k r).
Proof.
rewrite /G big_ord_recr /= big_geq // mulmx1 mulmx_suml; congr (_ + _).
by apply: eq_bigr => i _; rewrite big_nat_recr //= mulmxA.
Qed.

(* eq-gdn-unrolled: the gated token loop after r tokens, for every r, every size and every decay *)
Theorem gated_unrolled (S0 : 'M[R]_(dv, dk)) r : St a b k v S0 r = S0 *m F r + G r.
Proof.
elim: r => [|r IH]; first by rewrite /F /G big_geq // big_ord0 mulmx1 addr0.
by rewrite /= IH FS GS mulmxA addrA -mulmxDl scalemxAr.
Qed.

(* eq-gdn-transition: the decays leave the product as one number, for every decay, zero included *)
Theorem gated_product r : F r = upto a r *: P 0 r.
Proof.
elim: r => [|r IH]; first by rewrite /F /P /upto !big_geq // scale1r.
by rewrite FS IH uptoS PS // -scalemxAl -scalemxAr scalerA mulrC.
Qed.

(* the writing vectors: the corrections of the loop that starts from an empty memory *)
Definition utilde (r : nat) : 'rV[R]_dv := rule.delta a b k v 0 r.

(* eq-gdn-writes: the sum of r writes, each faded, and the recursion of the writing vectors *)
Theorem gated_writes r :
  G r = \sum_(i < r) from_to a i r *: ((utilde i)^T *m k i) /\
  utilde r = b r *: (v r - \sum_(i < r) (from_to a i r.+1 * (k r *m (k i)^T) 0 0) *: utilde i).
Proof.
split; first by have := St_unrolled a b k v 0 r; rewrite scaler0 add0r => <-;
  rewrite (gated_unrolled) mul0mx add0r.
rewrite {1}/utilde /delta read trmx0 mulmx0 scaler0 add0r scaler_sumr.
congr (_ *: (_ - _)); apply: eq_bigr => i _.
by rewrite scalerA mulrA -from_toS ?ltn_ord.
Qed.
End Products.

(* eq-delta-unrolled: the token loop of the delta rule after r tokens, for every r and every size *)
Theorem delta_unrolled (R : comUnitRingType) dk dv (b : nat -> R) (k : nat -> 'rV[R]_dk)
    (v : nat -> 'rV[R]_dv) S0 r :
  St (fun _ => 1) b k v S0 r = S0 *m P b k 0 r + H b k v r.
Proof.
rewrite gated_unrolled gated_product /upto big1 // scale1r; congr (_ + _).
by apply: eq_bigr => i _; congr (_ *m _); apply: eq_bigr => j _; rewrite scale1r.
Qed.
