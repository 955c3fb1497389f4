"""Exercises of chapter 9: deltas by hand, a late state, an attention matrix, a chunk size."""

import numpy as np

from .. import delta_rule, wy
from ..proofs.data import hard_inputs, relative_error
from . import TOLERANCE, Wrong, exercise


@exercise("09-deltas")
def deltas(answer):
    """The two deltas of the example by hand when both tokens have the key (1, 0)."""
    E = np.asarray(answer, dtype=float)
    if E.shape != (2, 2):
        raise Wrong(f"E has one row a token and one column an entry of v; yours is {E.shape}")
    S, key = np.eye(2), np.array([1.0, 0])
    right = []
    for value, beta in (((2.0, 1.0), 1.0), ((1.0, 3.0), 0.5)):
        delta = beta * (np.array(value) - S @ key)
        S = S + np.outer(delta, key)
        right.append(delta)
    if abs(E[0] - right[0]).max() > TOLERANCE:
        raise Wrong("row 1: nothing comes before it; compare its value with what S holds there")
    if abs(E[1] - right[1]).max() > TOLERANCE:
        raise Wrong("row 2: which entry has A now, with beta_2 = 0.5, and what does it subtract?")


@exercise("09-early")
def early(answer):
    """`answer(S, w, u, q, k)` gives O and S' of a chunk whose W and U are there already."""
    q, k, v, _, beta, S = hard_inputs(T=16)
    right = delta_rule.chunk(S, q, k, v, beta)
    w, u = wy.w(k, beta), wy.u(k, v, beta)
    O, S_next = answer(S, w, u, q, k)
    for name, got, expected in (("the new state", S_next, right[1]), ("the outputs", O, right[0])):
        if np.shape(got) != expected.shape:
            raise Wrong(f"{name}: expected shape {expected.shape}, got {np.shape(got)}")
        if not relative_error(got, expected) <= TOLERANCE:
            empty = delta_rule.chunk(0 * S, q, k, v, beta)[name == "the new state"]
            got_empty = answer(0 * S, w, u, q, k)[name == "the new state"]
            if relative_error(got_empty, empty) < TOLERANCE:
                raise Wrong(f"{name}: right for an empty state, wrong for any other")
            raise Wrong(f"{name}: off by {relative_error(got, expected):.0%}")


@exercise("09-attention")
def attention(answer):
    """`answer(q, k, beta)` is the T x T matrix that maps V to O from an empty state."""
    for seed, T in ((0, 9), (1, 1), (2, 40)):
        q, k, v, _, beta, _ = hard_inputs(T=T, seed=seed)
        matrix = np.asarray(answer(q, k, beta))
        if matrix.shape != (T, T):
            raise Wrong(f"for {T} tokens the matrix is {T} x {T}; yours is {matrix.shape}")
        if np.abs(np.triu(matrix, 1)).max(initial=0) > TOLERANCE:
            raise Wrong("a token sees a later one")
        right, _ = delta_rule.recurrent(q, k, v, beta)
        error = relative_error(matrix @ v, right)
        if not error <= TOLERANCE:
            first = abs((matrix @ v)[0] - right[0]).max() > TOLERANCE
            where = "already the first token's" if first else "the first token is right, later"
            raise Wrong(f"{where} output is off; all together by {error:.0%}")


@exercise("09-chunk-size")
def chunk_size(answer):
    """`answer(T)` divides T, is at least 2, and has the shortest chain 2 T / C + C + 1."""
    for T in (4096, 512, 64, 60, 1000, 26, 57, 99, 13, 2):
        C = answer(T)
        if C != int(C) or C < 2 or T % C:
            raise Wrong(f"for T = {T}: {C} is no whole number from 2 on that divides T")
        best = min(2 * T / c + c + 1 for c in range(2, T + 1) if T % c == 0)
        found = 2 * T / C + C + 1
        if found > best:
            raise Wrong(f"for T = {T}: {found:.0f} products in a row; another size has fewer")
