(* What a decay does to the inverse of the triangular system. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices rule chunk.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Decay.
Variables (R : comUnitRingType) (dk n : nat) (a b : nat -> R) (k : nat -> 'rV[R]_dk).
Local Notation Dgamma := (Dgamma a n).
Local Notation Gamma := (Gamma a n).
Local Notation A := (A b k n).
Local Notation At := (At a b k n).

Lemma shuffle (x y z w : R) : x * (y * z) * w = y * w * (x * z).
Proof. by rewrite mulrCA -!mulrA (mulrC w) -!mulrA. Qed.

(* without dividing, so that a decay may be zero *)
Lemma At_Dgamma : At *m Dgamma = Dgamma *m A.
Proof.
apply/matrixP => r i; rewrite mul_mx_diag diagE [LHS]mxE AtE AE !mxE.
case: ltnP => [lt_ir|_]; last by rewrite mul0r mulr0.
by rewrite -(stretches_join a (leqW lt_ir)) shuffle.
Qed.

(* eq-gdn-similarity: for decays that can be divided by; the first half divides by nothing and holds
   for every decay *)
Theorem similarity :
  At *m Dgamma = Dgamma *m A /\
  (Dgamma \in unitmx -> At = Dgamma *m A *m invmx Dgamma).
Proof. by split=> [|unit_Dgamma]; rewrite -At_Dgamma // mulmxK. Qed.

(* eq-gdn-inverse: the first line, for every size and every decay, zero included *)
Theorem decay_thins_the_inverse :
  invmx (1%:M + At) = had Gamma (invmx (1%:M + A)).
Proof.
have uA : 1%:M + A \in unitmx := unit_strict _.
have uAt : 1%:M + At \in unitmx := unit_strict _.
apply: (can_inj (mulKmx uAt)); rewrite (mulmxV uAt).
apply/matrixP => r i; rewrite [RHS]mxE.
transitivity (Gamma r i * ((1%:M + A) *m invmx (1%:M + A)) r i).
  rewrite (mulmxV uA) !mxE; case: eqP => [->|_]; last by rewrite mulr0.
  by rewrite leqnn from_to_own mulr1.
rewrite [X in _ * X]mxE mulr_sumr; apply: eq_bigr => s _.
have [lt_si|le_is] := ltnP s i; first by rewrite [had _ _ _ _]mxE inv_lower // !mulr0.
have [lt_rs|le_sr] := ltnP r s.
  have z X : (1%:M + strict X) r s = 0.
    by rewrite !mxE ltnNge ltnW //= addr0 -val_eqE ltn_eqF.
  by rewrite !z !mul0r mulr0.
rewrite [had _ _ _ _]mxE mulrA [RHS]mulrA; congr (_ * _).
rewrite [Gamma _ _]mxE [Gamma s i]mxE le_is (leq_trans le_is le_sr).
rewrite [(1%:M + A) _ _]mxE [(1%:M + At) _ _]mxE AE AtE [1%:M _ _]mxE.
have [eq_rs|lt_sr] := eqVneq r s.
  by rewrite eq_rs ltnn !addr0 mulr1 mul1r.
have {}lt_sr : (s < r)%N by rewrite ltn_neqAle eq_sym lt_sr.
rewrite lt_sr !add0r mulrCA mulrAC -(from_to_join a le_is lt_sr).
by rewrite -!mulrA; congr (_ * _); rewrite mulrCA.
Qed.

End Decay.
