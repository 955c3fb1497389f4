(* The general rule: each channel has its own decay, and what reads, what erases and what is written
   are three different rows. Over any commutative ring with units; nothing is divided. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(* the sequence without its first m tokens *)
Definition after (T : Type) (m : nat) (x : nat -> T) : nat -> T := fun t => x (m + t)%N.

Section GeneralRule.
Variable R : comUnitRingType.
Variables dk dv : nat.
(* of each token: the decays d of the channels, the row a that reads, b that erases, k that is
   written along, u that is written *)
Variables (d a b k : nat -> 'rV[R]_dk) (u : nat -> 'rV[R]_dv).
Variable S0 : 'M[R]_(dv, dk).

(* eq-family-recurrence *)
Fixpoint state (t : nat) : 'M[R]_(dv, dk) :=
  if t is t'.+1 then
    state t' *m (diag_mx (d t') - (a t')^T *m b t') + (u t')^T *m k t'
  else S0.

(* what token t reads, and its output *)
Definition read (t : nat) : 'rV[R]_dv := a t *m (state t)^T.
Definition output (q : nat -> 'rV[R]_dk) (t : nat) : 'rV[R]_dv := q t *m (state t.+1)^T.

(* eq-family-recurrence: fading, then writing u along k and taking what is read off along b, leaves
   the state of the recurrence *)
Theorem general_step t :
  state t.+1 = state t *m diag_mx (d t) + ((u t)^T *m k t - (read t)^T *m b t).
Proof. by rewrite /= trmx_mul trmxK mulmxBr mulmxA -addrA [- _ + _]addrC. Qed.

(* the decay of channel c over the tokens s, ..., t - 1, and of all channels *)
Definition stretch (s t : nat) (c : 'I_dk) : R := \prod_(s <= j < t) d j 0 c.
Definition D (s t : nat) : 'M[R]_dk := diag_mx (\row_c stretch s t c).

(* what two rows have in common, each channel faded over a stretch *)
Definition common (s t : nat) (x y : 'rV[R]_dk) : R := \sum_c x 0 c * stretch s t c * y 0 c.

Lemma D_own s : D s s = 1%:M.
Proof. by apply/matrixP => c c'; rewrite !mxE /stretch big_geq. Qed.

(* eq-family-join: stretches join at every border, for every decay, zero included *)
Theorem D_join s m t : (s <= m)%N -> (m <= t)%N -> D s t = D s m *m D m t.
Proof.
move=> le_sm le_mt; rewrite mulmx_diag; congr diag_mx; apply/rowP => c.
by rewrite !mxE /stretch -big_cat_nat.
Qed.

Lemma DS s t : (s <= t)%N -> D s t.+1 = D s t *m diag_mx (d t).
Proof.
move=> le_st; rewrite (D_join le_st (leqnSn t)); congr (_ *m diag_mx _).
by apply/rowP => c; rewrite mxE /stretch big_nat1.
Qed.

Lemma commonE s t x y : (x *m D s t *m y^T) 0 0 = common s t x y.
Proof. by rewrite mul_mx_diag mxE; apply: eq_bigr => c _; rewrite !mxE. Qed.

(* eq-family-unrolled: the first state, and all that was written since, each channel faded from the
   token after the write on; for every length, size and decay, zero included *)
Theorem general_unrolled n :
  state n = S0 *m D 0 n
            + \sum_(i < n) ((u i)^T *m k i - (read i)^T *m b i) *m D i.+1 n.
Proof.
elim: n => [|n IH]; first by rewrite D_own mulmx1 big_ord0 addr0.
rewrite general_step {1}IH mulmxDl -mulmxA -DS // big_ord_recr /= D_own mulmx1 -addrA.
congr (_ + (_ + _)); rewrite mulmx_suml; apply: eq_bigr => i _.
by rewrite -mulmxA -DS.
Qed.

(* a read of the state after n tokens *)
Lemma read_state n (x : 'rV[R]_dk) :
  x *m (state n)^T = x *m D 0 n *m S0^T
    + (\sum_(i < n) common i.+1 n x (k i) *: u i - \sum_(i < n) common i.+1 n x (b i) *: read i).
Proof.
rewrite general_unrolled linearD /= trmx_mul tr_diag_mx mulmxDr mulmxA; congr (_ + _).
rewrite linear_sum /= mulmx_sumr -sumrB; apply: eq_bigr => i _.
by rewrite mulmxBl linearB mulmxBr /= -!mulmxA !read_outer !trmx_mul !tr_diag_mx !mulmxA !commonE.
Qed.
End GeneralRule.

(* The sequence cut after m tokens. *)
Section GeneralCut.
Variable R : comUnitRingType.
Variables dk dv m : nat.
Variables (d a b k : nat -> 'rV[R]_dk) (u : nat -> 'rV[R]_dv).
Variable S0 : 'M[R]_(dv, dk).

Lemma D_after s t : D (after m d) s t = D d (m + s) (m + t).
Proof.
congr diag_mx; apply/rowP => c; rewrite !mxE /stretch [(m + s)%N]addnC big_addn addKn.
by apply: eq_bigr => j _; rewrite /after addnC.
Qed.

(* the state after m + n tokens, by two runs, wherever the sequence is cut *)
Theorem general_cut n :
  let S1 := state d a b k u S0 m in
  state d a b k u S0 (m + n)
  = state (after m d) (after m a) (after m b) (after m k) (after m u) S1 n.
Proof. by elim: n => [|n IH]; rewrite ?addn0 ?addnS //= IH. Qed.
End GeneralCut.
