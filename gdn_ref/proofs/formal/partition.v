(* A sequence cut into shards: any number of them, of any lengths, empty ones too. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices general_rule rule products cut reverse.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Shard.
Variable R : comUnitRingType.
Variables dk dv m : nat.
Variables (a b : nat -> R) (q k : nat -> 'rV[R]_dk) (v : nat -> 'rV[R]_dv).
Variable S0 : 'M[R]_(dv, dk).
(* the tokens from m on, as a sequence of their own *)
Let a2 := after m a.
Let b2 := after m b.
Let q2 := after m q.
Let k2 := after m k.
Let v2 := after m v.

(* eq-shard-map: the pair of the n tokens from m on, and the queries carried to the state before *)
Definition Fs (n : nat) : 'M[R]_dk := F a2 b2 k2 n.
Definition Gs (n : nat) : 'M[R]_(dv, dk) := G a2 b2 k2 v2 n.
Definition carried (r : nat) : 'rV[R]_dk := q2 r *m (Fs r.+1)^T.

(* eq-shard-state: the state after the shard and the outputs in it, from the state before it *)
Theorem shard_state n r :
  St a b k v S0 (m + n) = St a b k v S0 m *m Fs n + Gs n /\
  out a b q k v S0 (m + r) = out a2 b2 q2 k2 v2 0 r + carried r *m (St a b k v S0 m)^T.
Proof.
split; first by rewrite states_follow gated_unrolled.
rewrite outputs_follow /out !gated_unrolled mul0mx add0r linearD /= trmx_mul mulmxDr mulmxA.
by rewrite addrC.
Qed.

(* eq-shard-rows: dk rows more, of values zero, from the identity: one run finds all four *)
Theorem shard_rows n r :
  let tall := fun t => row_mx (v2 t) (0 : 'rV[R]_dk) in
  let start := col_mx (0 : 'M[R]_(dv, dk)) 1%:M in
  St a2 b2 k2 tall start n = col_mx (Gs n) (Fs n) /\
  out a2 b2 q2 k2 tall start r = row_mx (out a2 b2 q2 k2 v2 0 r) (carried r).
Proof.
move=> tall start.
have state i : St a2 b2 k2 tall start i = col_mx (Gs i) (Fs i).
  elim: i => [|i IH]; first by rewrite /Gs /Fs F0 G0.
  rewrite /= IH /Gs /Fs FS GS mul_col_mx scale_col_mx tr_row_mx trmx0 mul_col_mx mul0mx.
  by rewrite scale_col_mx scaler0 add_col_mx addr0 -!scalemxAr.
split; first exact: state.
by rewrite /out state tr_col_mx mul_mx_row gated_unrolled mul0mx add0r.
Qed.
End Shard.

Section Partition.
Variable R : comUnitRingType.
Variables dk dv : nat.
Variables (a b : nat -> R) (q k : nat -> 'rV[R]_dk) (v : nat -> 'rV[R]_dv).
Variable S0 : 'M[R]_(dv, dk).
Variable len : nat -> nat.  (* tokens of each shard *)
Definition border (p : nat) : nat := \sum_(j < p) len j.
Definition Fp (p : nat) : 'M[R]_dk := Fs (border p) a b k (len p).
Definition Gp (p : nat) : 'M[R]_(dv, dk) := Gs (border p) a b k v (len p).

Lemma borderS p : border p.+1 = (border p + len p)%N.
Proof. by rewrite /border big_ord_recr. Qed.

(* eq-shard-unrolled: the state before shard p from the pairs of all shards before it, whatever
   their number and lengths *)
Theorem any_partition p :
  St a b k v S0 (border p)
  = S0 *m \big[mulmx/1%:M]_(0 <= j < p) Fp j
    + \sum_(j < p) Gp j *m \big[mulmx/1%:M]_(j.+1 <= i < p) Fp i.
Proof.
elim: p => [|p IH]; first by rewrite /border !big_ord0 big_geq // mulmx1 addr0.
rewrite borderS (shard_state _ a b q k v S0 _ 0).1 IH.
rewrite big_nat_recr //= big_ord_recr /=.
rewrite [X in _ + (_ + _ *m X)]big_geq // mulmx1 mulmxDl mulmxA mulmx_suml -addrA.
congr (_ + (_ + _)).
by apply: eq_bigr => j _; rewrite big_nat_recr //= mulmxA.
Qed.
End Partition.

Section Backward.
Variable R : comUnitRingType.
Variables dk dv n : nat.
Variables (a b : nat -> R) (q k : nat -> 'rV[R]_dk).
Variables (dout : nat -> 'rV[R]_dv) (dlast : 'M[R]_(dv, dk)).
Local Notation dS := (dS n a b q k dout dlast).

(* what the outputs of the l tokens from m on ask of the state before them: dO^T O_F *)
Definition asked (m l : nat) : 'M[R]_(dv, dk) :=
  \sum_(r < l) (dout (m + r))^T *m carried m a b q k r.

Lemma factor_sym t : (factor b k t)^T = factor b k t.
Proof. by rewrite /factor linearB /= trmx1 linearZ /= trmx_mul trmxK. Qed.

(* one token of the reverse loop, as its factor *)
Lemma dS_factor t : (t < n)%N ->
  dS t = (dS t.+1 + (dout t)^T *m q t) *m (a t *: factor b k t)^T.
Proof.
move=> lt_tn; rewrite dS_step // [(_ *: _)^T]linearZ /= factor_sym -scalemxAr; congr (_ *: _).
rewrite mulmxBr mulmx1 -scalemxAr; congr (_ - _ *: _).
by rewrite /z trmx_mul trmxK mulmxA.
Qed.

(* eq-shard-backward: the gradient of the state before a shard from that of the state after it *)
Theorem shard_backward m l : (m + l <= n)%N ->
  dS m = dS (m + l) *m (Fs m a b k l)^T + asked m l.
Proof.
elim: l => [|l IH] le_n; first by rewrite addn0 /Fs F0 trmx1 mulmx1 /asked big_ord0 addr0.
have lt_n : (m + l < n)%N by rewrite -addnS.
rewrite (IH (ltnW lt_n)) dS_factor // /asked big_ord_recr /= addnS /Fs FS.
rewrite mulmxDl mulmxDl -!mulmxA -trmx_mul -addrA; congr (_ + _).
by rewrite addrC /carried /Fs FS.
Qed.

Variable len : nat -> nat.
Variable shards : nat.
Hypothesis all_tokens : border len shards = n.
Local Notation Fp := (Fp a b k len).
Definition Mp (p : nat) : 'M[R]_(dv, dk) := asked (border len p) (len p).

(* eq-shard-backward-unrolled: the gradient of the state before shard p from all shards that
   follow, whatever their number and lengths *)
Theorem any_partition_backward p : (p <= shards)%N ->
  dS (border len p)
  = dlast *m (\big[mulmx/1%:M]_(p <= j < shards) Fp j)^T
    + \sum_(p <= j < shards) Mp j *m (\big[mulmx/1%:M]_(p <= i < j) Fp i)^T.
Proof.
move=> le_p; rewrite -(subKn le_p); elim: (shards - p)%N (leq_subr p shards) => [|d IH] le_d.
  by rewrite subn0 all_tokens dS_last !big_geq // trmx1 mulmx1 addr0.
have lt_s : (shards - d.+1 < shards)%N by rewrite ltn_subrL (leq_trans _ le_d).
have next : (shards - d)%N = (shards - d.+1).+1 by rewrite -subSn.
move: (IH (ltnW le_d)); rewrite next; set s := (shards - d.+1)%N => IHs.
have le_n : (border len s + len s <= n)%N.
  rewrite -borderS -all_tokens /border -!(big_mkord xpredT len).
  by rewrite (big_cat_nat _ _ _ (leq0n s.+1) lt_s) /= leq_addr.
rewrite (shard_backward le_n) -borderS IHs mulmxDl -mulmxA -trmx_mul -/(Fp s) -big_ltn //.
rewrite -addrA; congr (_ + _); rewrite [RHS]big_ltn // [X in _ *m X^T]big_geq // trmx1 mulmx1.
rewrite addrC; congr (_ + _); rewrite mulmx_suml; apply: eq_big_nat => j /andP[lt_sj _].
by rewrite -mulmxA -trmx_mul [in RHS]big_ltn.
Qed.
End Backward.

(* eq-shard-backward: inside of a shard the reverse loop is that of its own tokens, begun from the
   gradient of the state that the shard hands on; with it each gradient is found in the shard *)
Theorem shard_reverse (R : comUnitRingType) dk dv n (a b : nat -> R) (q k : nat -> 'rV[R]_dk)
    (dout : nat -> 'rV[R]_dv) (dlast : 'M[R]_(dv, dk)) m l r : (r <= l)%N -> (m + l <= n)%N ->
  dS l (after m a) (after m b) (after m q) (after m k) (after m dout)
     (dS n a b q k dout dlast (m + l)) r
  = dS n a b q k dout dlast (m + r).
Proof.
move=> le_rl le_n; rewrite -(subKn le_rl).
elim: (l - r)%N (leq_subr r l) => [|d IH] le_d; first by rewrite subn0 dS_last.
have lt_l : (l - d.+1 < l)%N by rewrite ltn_subrL (leq_trans _ le_d).
have next : (l - d)%N = (l - d.+1).+1 by rewrite -subSn.
move: (IH (ltnW le_d)); rewrite next; set s := (l - d.+1)%N => IHs.
have lt_n : (m + s < n)%N by apply: leq_trans le_n; rewrite ltn_add2l.
by rewrite [LHS]dS_factor // IHs [RHS]dS_factor // addnS.
Qed.
