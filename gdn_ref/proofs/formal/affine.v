(* Both right ways to W with decay, and the chunk as one affine map of the state. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices rule products chunk decay.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Affine.
Variable R : comUnitRingType.
Variables dk dv : nat.
Variables (a b : nat -> R) (k : nat -> 'rV[R]_dk) (v : nat -> 'rV[R]_dv).
Variable S0 : 'M[R]_(dv, dk).
Variable n : nat.
Local Notation K := (K k n).
Local Notation V := (V v n).
Local Notation B := (B b n).
Local Notation Dgamma := (Dgamma a n).
Local Notation Dend := (Dend a n).
Local Notation A := (A b k n).
Local Notation At := (At a b k n).
Local Notation Delta := (Delta a b k v S0 n).
Local Notation St := (St a b k v S0).
Local Notation upto := (upto a).

Definition W : 'M[R]_(n, dk) := invmx (1%:M + A) *m (B *m K).      (* eq-wy-w *)
Definition U : 'M[R]_(n, dv) := invmx (1%:M + At) *m (B *m V).     (* eq-wy-u *)

(* eq-gdn-w-gated: the solve without decay, its rows scaled after it, is the solve with decay, its
   rows scaled before it, for every decay, zero included *)
Theorem gated_w : Dgamma *m W = invmx (1%:M + At) *m (B *m Dgamma *m K).
Proof.
have uA : 1%:M + A \in unitmx := unit_strict _.
have uAt : 1%:M + At \in unitmx := unit_strict _.
apply: (can_inj (mulKmx uAt)); rewrite (mulKVmx uAt) mulmxA mulmxDl mul1mx At_Dgamma.
rewrite -{1}[Dgamma]mulmx1 -mulmxDr -mulmxA (mulKVmx uA) mulmxA; congr (_ *m _).
exact: diag_mxC.
Qed.

(* eq-gdn-delta-split: the corrections, from what is solved before the state is known *)
Theorem delta_split : Delta = U - Dgamma *m W *m S0^T.
Proof. by rewrite gated_w chunk_delta_solved /U !mulmxBr !mulmxA. Qed.

(* eq-affine-chunk: the whole chunk, as the token loop runs it, is one affine map of the state *)
Theorem chunk_map :
  St n = S0 *m (upto n *: (1%:M - W^T *m K)) + U^T *m Dend *m K.
Proof.
have Djoin : Dgamma *m Dend = (upto n)%:M.
  apply/matrixP => r i; rewrite diagE !mxE mulrnAr mulrC.
  by rewrite (stretches_join a).
have tr_split : (Dgamma *m W *m S0^T)^T = S0 *m W^T *m Dgamma.
  by rewrite trmx_mul trmxK trmx_mul [Dgamma^T]tr_diag_mx mulmxA.
rewrite chunk_state delta_split linearB /= tr_split !mulmxBl -!mulmxA [Dgamma *m _]mulmxA.
rewrite Djoin mul_scalar_mx -!scalemxAr mulmxBr mulmx1 scalerBr.
by rewrite addrA addrAC.
Qed.

(* eq-gdn-ut-transform: one matrix gives the writing vectors and the corrections *)
Theorem ut_transform :
  let T := invmx (1%:M + At) *m B in
  U = T *m V /\ Delta = T *m (V - Dgamma *m K *m S0^T).
Proof. by rewrite /= chunk_delta_solved /U !mulmxA. Qed.

(* eq-wy-u: the writing vectors, as rows, solve the gated system *)
Theorem wy_u : (1%:M + At) *m (\matrix_(r < n) utilde a b k v r) = B *m V.
Proof.
rewrite -[\matrix_(r < n) _]/(chunk.Delta a b k v 0 n) chunk_delta.
by rewrite trmx0 mulmx0 subr0.
Qed.
End Affine.
