(* Two forms found in print are false: two tokens and numbers are enough to see it. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices rule products chunk decay affine delta_rule inverse_entry.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Local Notation one := (fun _ : nat => 1%:M : 'rV[int]_1).
Local Notation ones := (fun _ : nat => 1 : int).
Local Notation zeros := (fun _ : nat => 0 : int).
Local Notation twos := (fun _ : nat => 2 : int).

Lemma dot1 : ((1%:M : 'rV[int]_1) *m (1%:M : 'rV[int]_1)^T) 0 0 = 1.
Proof. by rewrite trmx1 mulmx1 mxE. Qed.

(* with a decay of zero each token writes one, whatever was there before *)
Lemma writes_one t : delta zeros ones one one 0 t = 1%:M.
Proof. by rewrite /delta scale0r subr0 scale1r. Qed.

Lemma puts_out_one t : out zeros ones one one one 0 t = 1%:M.
Proof. by rewrite /out St_step scale0r add0r writes_one !(trmx1, mulmx1). Qed.

(* eq-gdn-chunk-output: with the causal mask in place of Gamma it is false; let every query, key,
   value and write strength be one and every decay zero *)
Theorem mask_refuted :
  \matrix_(r < 2) out zeros ones one one one 0 r
  <> Dgamma zeros 2 *m Q one 2 *m (0 : 'M[int]_1)^T
     + had (M _ 2) (Q one 2 *m (K one 2)^T) *m Delta zeros ones one one 0 2.
Proof.
move=> /(congr1 (row 1)); rewrite trmx0 mulmx0 add0r rowK puts_out_one row_mul mulmx_sum_row.
rewrite !big_ord_recl big_ord0 !rowK !writes_one.
have score i : had (M _ 2) (Q one 2 *m (K one 2)^T) 1 i = 1.
  by rewrite mxE (gramE _ (fun _ => 1%:M)) dot1 mxE -ltnS ltn_ord.
by rewrite ![row _ _ _ _]mxE !score !scale1r addr0 => /matrixP /(_ 0 0); rewrite !mxE.
Qed.

(* eq-gdn-w-gated: mixed, as the solve with decay and its rows scaled after it, it is false;
   let every key and write strength be one and every decay two *)
Theorem mixed_w_refuted :
  Dgamma twos 2 *m W ones one 2
  <> Dgamma twos 2 *m (invmx (1%:M + At twos ones one 2) *m (B ones 2 *m K one 2)).
Proof.
move=> /(congr1 (row 1)); rewrite !row_diag /W !row_mul !mulmx_sum_row.
rewrite !big_ord_recl big_ord0 !row_diag !rowK decay_thins_the_inverse.
move=> /matrixP /(_ 0 0); rewrite !addr0 ![row 1 _ _ _]mxE.
rewrite ![had _ _ _ _]mxE inverse_entry // P0 mulmx1 dot1.
have -> : Gamma twos 2 1 0 = 2 by rewrite mxE /from_to big_nat1.
have -> : Gamma twos 2 1 (lift 0 0) = 1 by rewrite mxE from_to_own.
rewrite big_ord0 addr0; set x := invmx _ _ _.
have four : upto twos 2 = 4 by rewrite /upto !big_nat_recr //= big_geq.
rewrite !mxE four eqxx !mulr1 mul1r => /(mulfI (isT : 4 != 0 :> int)) /addIr.
by [].
Qed.
