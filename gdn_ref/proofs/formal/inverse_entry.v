(* Every entry of the inverse is one product of factors between two keys. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices rule products chunk.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section InverseEntry.
Variables (R : comUnitRingType) (dk n : nat) (b : nat -> R) (k : nat -> 'rV[R]_dk).
Local Notation P := (P b k).
Local Notation A := (A b k n).

(* what the keys i and r have to do with each other after the tokens between them *)
Definition through (i r : nat) : R := (k i *m P i.+1 r *m (k r)^T) 0 0.

Lemma P_tail s r : (s <= r)%N ->
  P s r = 1%:M - \sum_(s <= j < r) b j *: (P s j *m (k j)^T *m k j).
Proof.
elim: r => [|r IH]; first by rewrite leqn0 => /eqP ->; rewrite P0 big_geq // subr0.
rewrite leq_eqVlt => /predU1P [->|]; first by rewrite P0 big_geq // subr0.
rewrite ltnS => le_sr; rewrite PS // big_nat_recr //= opprD addrA -IH //.
by rewrite mulmxBr mulmx1 -scalemxAr mulmxA.
Qed.

Lemma through_sum i r : (i < r)%N ->
  through i r = (k i *m (k r)^T) 0 0
                - \sum_(i.+1 <= j < r) b j * through i j * (k j *m (k r)^T) 0 0.
Proof.
move=> lt_ir; rewrite {1}/through P_tail // mulmxBr mulmx1 mulmxBl [LHS]mxE; congr (_ + _).
rewrite mxE mulmx_sumr mulmx_suml summxE; congr (- _); apply: eq_bigr => j _.
rewrite -scalemxAr -scalemxAl mxE -mulrA; congr (_ * _).
by rewrite !mulmxA -[_ *m k j *m _]mulmxA mul_mx11 [LHS]mxE.
Qed.

Definition X : 'M[R]_n :=
  \matrix_(r, i) if (i < r)%N then - (b r * through i r) else (r == i)%:R.

Lemma solves : (1%:M + A) *m X = 1%:M.
Proof.
apply/matrixP => r i; rewrite mulmxDl mul1mx !mxE.
pose term (j : nat) : R := b j * through i j * (k j *m (k r)^T) 0 0.
have sum_rest : \sum_(j < n) A r j * X j i
    = if (i < r)%N then b r * (through i r) else 0.
  transitivity (\sum_(j < n) ((if (j < r)%N && (j == i) then b r * (k r *m (k i)^T) 0 0 else 0)
      - if (i < j < r)%N then b r * term j else 0)).
    apply: eq_bigr => j _; rewrite AE [X _ _]mxE; case: (ltnP j r) => [lt_jr|_]; last first.
      by rewrite andbF subr0 mul0r.
    rewrite andbT /=; case: (ltnP i j) => [lt_ij|_].
      rewrite -val_eqE /= (gtn_eqF lt_ij) sub0r mulrN -!mulrA; congr (- (_ * _)).
      rewrite /term mulrC; congr (_ * _).
      by rewrite !mxE; apply: eq_bigr => x _; rewrite !mxE mulrC.
    by rewrite subr0; case: eqP => [->|_]; rewrite ?mulr1 ?mulr0.
  rewrite sumrB -!big_mkcond /=; case: (ltnP i r) => [lt_ir|le_ri].
    rewrite (big_pred1 i) => [|j]; last by rewrite andb_idl // => /eqP ->.
    rewrite through_sum // mulrBr mulr_sumr; congr (_ - _).
      by congr (_ * _); rewrite !mxE; apply: eq_bigr => x _; rewrite !mxE mulrC.
    rewrite (big_nat_widen _ _ n) ?(ltnW (ltn_ord r)) // (big_nat_widenl i.+1 0%N) //=.
    by rewrite big_mkord; apply: eq_bigl => j; rewrite andbC.
  rewrite !big1 ?subr0 // => j /andP [lt1 lt2].
    by move: (leq_ltn_trans le_ri (ltn_trans lt1 lt2)); rewrite ltnn.
  by move: lt1; rewrite (eqP lt2) ltnNge le_ri.
rewrite sum_rest; case: (ltnP i r) => [lt_ir|_]; last by rewrite addr0.
by rewrite addNr -val_eqE /= (gtn_eqF lt_ir).
Qed.

Lemma inverse_is_X : invmx (1%:M + A) = X.
Proof.
have unit_A : 1%:M + A \in unitmx := unit_strict _.
by apply: (can_inj (mulKmx unit_A)); rewrite mulmxV // solves.
Qed.

(* eq-inverse-entry: every entry below the diagonal, for every size and every write strength *)
Theorem inverse_entry (r i : 'I_n) : (i < r)%N ->
  invmx (1%:M + A) r i = - b r * (k i *m P i.+1 r *m (k r)^T) 0 0.
Proof. by move=> lt_ir; rewrite inverse_is_X mxE lt_ir mulNr. Qed.
End InverseEntry.
