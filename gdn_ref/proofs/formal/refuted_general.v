(* Two slips in the general rule: a few tokens and numbers are enough to see that they are false. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices general_rule general_chunk two_gates.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Local Notation ones := (fun _ : nat => const_mx 1 : 'rV[int]_1).
Local Notation zeros := (fun _ : nat => const_mx 0 : 'rV[int]_1).

(* eq-family-read: with a decay too many, that of the token that reads, it is false; let every
   row be one and every decay zero *)
Theorem own_decay_refuted :
  let A' := strict (\matrix_(r < 2, i < 2) common zeros i.+1 r.+1 (ones r) (ones i)) in
  (1%:M + A') *m Reads zeros ones ones ones ones 0 2
  <> readers zeros ones 2 *m (0 : 'M[int]_1)^T + A' *m U ones 2.
Proof.
rewrite /= (_ : strict _ = 0) => [|]; last first.
  apply/matrixP => r i; rewrite !mxE; case: ltnP => // lt_ir.
  by rewrite /common big_ord1 /stretch big_nat_recr //= !mxE !mulr0 mul0r.
rewrite addr0 mul1mx trmx0 mulmx0 mul0mx addr0 => /(congr1 (row 1)).
rewrite rowK linear0 /read /= mul0mx add0r => /matrixP /(_ 0 0).
by rewrite !mxE !big_ord1 !mxE big_ord1 !mxE.
Qed.

Local Notation first := (fun _ : nat => delta_mx 0 0 : 'rV[int]_2).
Local Notation both := (fun _ : nat => const_mx 1 : 'rV[int]_2).

(* eq-family-two-gates: with the decay after the erase it is false; let one of two channels forget
   all and the other nothing, and the key and the erase gate be one *)
Theorem decay_after_erase_refuted (S0 := delta_mx 0 0 : 'M[int]_(1, 2)) :
  gated first both zeros both ones S0 1
  <> S0 *m (1%:M - (erased both both 0)^T *m both 0%N) *m diag_mx (first 0%N)
     + (written zeros ones 0)^T *m both 0%N.
Proof.
rewrite /= => /addIr /matrixP /(_ 0 1).
by rewrite !mxE !big_ord_recl !big_ord0 !mxE !big_ord_recl !big_ord0 !mxE !big_ord1 !mxE.
Qed.
