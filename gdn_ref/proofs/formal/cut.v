(* Chunk after chunk is token after token, wherever the sequence is cut. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import general_rule rule products.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Cut.
Variable R : comUnitRingType.
Variables dk dv m : nat.
Variables (a b : nat -> R) (q k : nat -> 'rV[R]_dk) (v : nat -> 'rV[R]_dv).
Variable S0 : 'M[R]_(dv, dk).
Let a2 := after m a.
Let b2 := after m b.
Let q2 := after m q.
Let k2 := after m k.
Let v2 := after m v.
Let S1 := St a b k v S0 m.

(* the state after m + n tokens, by two runs, wherever the sequence is cut *)
Theorem states_follow n : St a b k v S0 (m + n) = St a2 b2 k2 v2 S1 n.
Proof. by elim: n => [|n IH]; rewrite ?addn0 ?addnS //= IH. Qed.

(* the outputs of the second run *)
Theorem outputs_follow r : out a b q k v S0 (m + r) = out a2 b2 q2 k2 v2 S1 r.
Proof. by rewrite /out -addnS states_follow. Qed.

(* eq-affine-compose: the maps of two runs, one after the other, are the map of the joint run *)
Theorem maps_compose n :
  F a b k (m + n) = F a b k m *m F a2 b2 k2 n /\
  G a b k v (m + n) = G a b k v m *m F a2 b2 k2 n + G a2 b2 k2 v2 n.
Proof.
elim: n => [|n [IHF IHG]].
  by rewrite addn0 [F a2 _ _ 0]F0 [G a2 _ _ _ 0]G0 !mulmx1 addr0.
by rewrite addnS !FS !GS IHF IHG mulmxDl !mulmxA addrA.
Qed.
End Cut.
