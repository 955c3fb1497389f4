(* The chunk form without decays: the delta rule. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices rule products chunk decay affine.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section DeltaRule.
Variable R : comUnitRingType.
Variables dk dv : nat.
Variables (b : nat -> R) (q k : nat -> 'rV[R]_dk) (v : nat -> 'rV[R]_dv).
Variable S0 : 'M[R]_(dv, dk).
Variable n : nat.
Local Notation one := (fun _ : nat => 1 : R).
Local Notation St := (St one b k v S0).
Local Notation out := (out one b q k v S0).
Local Notation Q := (Q q n).
Local Notation K := (K k n).
Local Notation V := (V v n).
Local Notation B := (B b n).
Local Notation A := (A b k n).
Local Notation E := (Delta one b k v S0 n).
Local Notation W := (W b k n).

(* the causal mask, with its diagonal, and the writing vectors *)
Definition M : 'M[R]_n := \matrix_(r, i) if (i <= r)%N then 1 else 0.
Definition U : 'M[R]_(n, dv) := invmx (1%:M + A) *m (B *m V).

Lemma upto1 r : upto one r = 1.
Proof. by rewrite /upto big1. Qed.

Lemma from_to1 i r : from_to one i r = 1.
Proof. by rewrite /from_to big1. Qed.

Lemma Dgamma1 : Dgamma one n = 1%:M.
Proof. by apply/matrixP => r i; rewrite !mxE upto1. Qed.

Lemma Dend1 : Dend one n = 1%:M.
Proof. by apply/matrixP => r i; rewrite !mxE from_to1. Qed.

Lemma Gamma1 : Gamma one n = M.
Proof. by apply/matrixP => r i; rewrite !mxE from_to1. Qed.

Lemma At1 : At one b k n = A.
Proof. by apply/matrixP => r i; rewrite AtE AE from_to1 mul1r. Qed.

Lemma U1 : affine.U one b k v n = U.
Proof. by rewrite /affine.U At1. Qed.

(* eq-delta-solve: the corrections that the token loop writes solve one triangular system *)
Theorem delta_rule_solve : (1%:M + A) *m E = B *m (V - K *m S0^T).
Proof. by rewrite -At1 chunk_delta Dgamma1 mul1mx. Qed.

(* eq-delta-split: the corrections, from what is solved before the state is known *)
Theorem delta_rule_split : E = U - W *m S0^T.
Proof. by rewrite delta_split Dgamma1 mul1mx U1. Qed.

(* eq-delta-rule-chunk: the state after the chunk, and all outputs of the token loop *)
Theorem delta_rule_chunk :
  St n = S0 + E^T *m K /\
  \matrix_(r < n) out r = Q *m S0^T + had M (Q *m K^T) *m E.
Proof.
split; first by rewrite chunk_state upto1 scale1r Dend1 mulmx1.
by rewrite chunk_output Dgamma1 mul1mx Gamma1.
Qed.

(* eq-delta-chunk-map: the whole chunk is one affine map of the state *)
Theorem delta_rule_map : St n = S0 *m (1%:M - W^T *m K) + U^T *m K.
Proof. by rewrite chunk_map upto1 scale1r Dend1 mulmx1 U1. Qed.
End DeltaRule.
