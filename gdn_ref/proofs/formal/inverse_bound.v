(* With keys of unit length no entry of the inverse grows, however long the chunk is. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices rule products chunk decay inverse_entry.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import Order.TTheory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section InverseBound.
Variables (R : realDomainType) (dk : nat) (b : nat -> R) (k : nat -> 'rV[R]_dk).
Hypothesis unit_keys : forall t, (k t *m (k t)^T) 0 0 = 1.
Hypothesis strengths : forall t, 0 <= b t <= 2.
Local Notation P := (P b k).

(* the inner product of two rows, and the square of a row's length *)
Definition dot (x y : 'rV[R]_dk) : R := (x *m y^T) 0 0.
Definition sq (x : 'rV[R]_dk) : R := dot x x.

Lemma sq_ge0 x : 0 <= sq x.
Proof. by rewrite /sq /dot mxE sumr_ge0 // => i _; rewrite mxE -expr2 sqr_ge0. Qed.

Lemma dotC x y : dot x y = dot y x.
Proof. by rewrite /dot !mxE; apply: eq_bigr => i _; rewrite !mxE mulrC. Qed.

Lemma dot_less x y (c : R) z : dot (x - c *: y) z = dot x z - c * dot y z.
Proof. by rewrite /dot mulmxBl -scalemxAl !mxE. Qed.

(* what a step along the unit row y takes off the length *)
Lemma sq_step x y (c : R) : sq y = 1 ->
  sq (x - (c * dot x y) *: y) = sq x - c * (2 - c) * dot x y ^+ 2.
Proof.
rewrite {1 2}/sq => unit_y.
rewrite dot_less (dotC x) (dotC y) !dot_less unit_y (dotC y) mulr1 -/(sq x) -addrA.
congr (_ + _); rewrite -opprD; congr (- _); set p := dot x y.
rewrite -mulrDr addrA (_ : p + p - c * p = (2 - c) * p); last by rewrite mulrBl mulr_natl.
by rewrite expr2 -!mulrA; congr (_ * _); rewrite mulrCA.
Qed.

(* Cauchy and Schwarz, for a row of length at most one and one of length one *)
Lemma dot_le1 x y : sq y = 1 -> sq x <= 1 -> `|dot x y| <= 1.
Proof.
move=> unit_y le_x1; have := sq_ge0 (x - (1 * dot x y) *: y).
rewrite sq_step // mul1r (_ : 2 - 1 = 1) ?mul1r; last by rewrite (addrK 1 1).
rewrite subr_ge0 -real_normK ?num_real // => le_px.
by rewrite -(@expr_le1 _ 2) ?normr_ge0 // (le_trans le_px).
Qed.

Lemma row_factor x t : x *m factor b k t = x - (b t * dot x (k t)) *: k t.
Proof.
by rewrite mulmxBr mulmx1 -scalemxAr mulmxA mul_mx11 scalerA.
Qed.

(* no factor lengthens a row *)
Lemma sq_factor x t : sq (x *m factor b k t) <= sq x.
Proof.
have /andP [le_0b le_b2] := strengths t.
rewrite row_factor sq_step ?ler_subl_addr; last exact: unit_keys.
by rewrite ler_addl mulr_ge0 ?sqr_ge0 // mulr_ge0 ?subr_ge0.
Qed.

Lemma sq_product x s r : (s <= r)%N -> sq (x *m P s r) <= sq x.
Proof.
elim: r => [|r IH]; first by rewrite leqn0 => /eqP ->; rewrite P0 mulmx1.
rewrite leq_eqVlt => /predU1P [->|]; first by rewrite P0 mulmx1.
by rewrite ltnS => le_sr; rewrite PS // mulmxA (le_trans (sq_factor _ _)) // IH.
Qed.

(* eq-inverse-bound: for keys of unit length and write strengths from 0 to 2, over any ordered
   integral domain, so over the real numbers *)
Theorem inverse_bound n (r i : 'I_n) : (i < r)%N -> `|invmx (1%:M + A b k n) r i| <= b r.
Proof.
move=> lt_ir; have /andP [le_0b _] := strengths r.
rewrite inverse_entry // normrM normrN (ger0_norm le_0b) ler_pimulr //.
apply: dot_le1; first exact: unit_keys.
by rewrite (le_trans (sq_product _ _)) // /sq /dot unit_keys.
Qed.

(* eq-gdn-inverse: the second line, for keys of unit length, write strengths from 0 to 2 and decays
   that are not negative, over any ordered integral domain, so over the real numbers *)
Theorem gated_inverse_bound (a : nat -> R) n (r i : 'I_n) :
  (forall t, 0 <= a t) -> (i < r)%N ->
  `|invmx (1%:M + At a b k n) r i| <= b r * Gamma a n r i.
Proof.
move=> decays lt_ir; rewrite decay_thins_the_inverse mxE normrM mulrC.
have le_0Gamma : 0 <= Gamma a n r i by rewrite mxE ltnW // prodr_ge0.
by rewrite (ger0_norm le_0Gamma) ler_wpmul2r // inverse_bound.
Qed.
End InverseBound.
