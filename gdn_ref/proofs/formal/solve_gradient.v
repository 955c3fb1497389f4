(* The gradient of a solve needs two vectors a token, and no inverse. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section SolveGradient.
Variable R : comUnitRingType.

(* eq-grad-matrix: whatever small change A', R' of the system, the change E' of its solution moves
   the loss by <dR, R'> + <dA, A'> with dR = Z and dA = - tril(Z E^T, -1) *)
Theorem solve_gradient n m (A A' : 'M[R]_n) (E E' R' Z dE : 'M[R]_(n, m)) :
  (1%:M + strict A) *m E' + strict A' *m E = R' ->
  (1%:M + strict A)^T *m Z = dE ->
  ip dE E' = ip Z R' + ip (- strict (Z *m E^T)) A'.
Proof.
move=> change <-; rewrite -ip_mull -[_ *m E'](addrK (strict A' *m E)) change ipB.
by congr (_ + _); rewrite ip_mulr ip_strict [RHS]ipC ipN ipC.
Qed.
End SolveGradient.
