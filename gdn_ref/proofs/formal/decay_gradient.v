(* The gradient of every decay, from three inner products a token. *)
From mathcomp Require Import all_ssreflect all_algebra.
From GDN Require Import matrices rule reverse gradient.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section DecayGradient.
Variable R : comUnitRingType.
Variables dk dv n : nat.
Variables (a b : nat -> R) (q k : nat -> 'rV[R]_dk) (v : nat -> 'rV[R]_dv).
Variable S0 : 'M[R]_(dv, dk).
Variables (dout : nat -> 'rV[R]_dv) (dlast : 'M[R]_(dv, dk)).
Local Notation St := (St a b k v S0).
Local Notation delta := (delta a b k v S0).
Local Notation Lambda := (Lambda n a b q k dout dlast).
Local Notation z := (z n a b q k dout dlast).
Local Notation dS := (dS n a b q k dout dlast).
Local Notation gq := (gq a b k v S0 dout).
Local Notation gk_reads := (gk_reads n a b q k v S0 dout dlast).
Local Notation gk_is_read := (gk_is_read n a b q k v S0 dout dlast).
Local Notation gg := (gg n a b q k v S0 dout dlast).

(* what token t adds: as a reader, less what is read of it *)
Definition gc (t : nat) : R :=
  ip (q t) (gq t) + ip (k t) (gk_reads t) - ip (k t) (gk_is_read t).

Lemma over_one_token t : (t < n)%N -> ip (St t) (dS t) = gc t + ip (St t.+1) (dS t.+1).
Proof.
move=> lt_tn; rewrite dS_step // ipZ ipB ipZ mulrBr.
have -> : ip (St t.+1) (dS t.+1) = ip (St t.+1) (Lambda t) - ip (q t) (gq t).
  by rewrite /reverse.Lambda ipD ip_outer [ip (q t) _]ip_mulr addrK.
have -> : ip (St t.+1) (Lambda t) = a t * ip (St t) (Lambda t) + ip (k t) (gk_is_read t).
  by rewrite St_step ipC ipD ipZ ip_mull trmxK [ip (k t) _]ipC [ip (St t) _]ipC.
have reads : ip (k t) (gk_reads t) = - (a t * (b t * ip (St t) ((z t)^T *m k t))).
  by rewrite ipZ -scalemxAr ipZ mulNr mulrCA ip_outer ip_mulr.
rewrite /gc reads; set x := ip (q t) _; set y := ip (k t) _; set f := a t * ip _ _.
by rewrite [RHS]addrC -!addrA addKr [- _ - y]addrC addNKr.
Qed.

(* eq-grad-decay: the gradient of every log-decay of the chunk *)
Theorem grad_decay r : (r <= n)%N ->
  gg r = \sum_(r <= s < n) gc s + ip (St n) dlast.
Proof.
have [m] := ubnP (n - r); elim: m r => // m IH r le_m; rewrite leq_eqVlt => /predU1P [->|lt_rn].
  by rewrite big_geq // add0r /gradient.gg dS_last.
rewrite big_ltn // -addrA -IH //; first exact: over_one_token.
by rewrite -ltnS (leq_trans _ le_m) // ltnS ltn_sub2l.
Qed.
End DecayGradient.
