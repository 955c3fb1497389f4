"""Exercises of chapter 1: bytes, the recurrent step, a faulty mask, memories that add up."""

import numpy as np

from .. import linear_attention
from ..proofs.data import hard_inputs, relative_error
from . import Wrong, exercise

LLAMA = {"kv_heads": 8, "d": 128, "cache_bytes": 2, "heads": 8, "d_k": 128, "d_v": 128,
         "state_bytes": 4}  # fmt: skip
TOLERANCE = 1e-10


def expect_pair(result, what):
    if not isinstance(result, tuple | list) or len(result) != 2 or any(x is None for x in result):
        raise Wrong(f"return two things: {what}")


@exercise("01-crossover")
def crossover(answer):
    """`answer(kv_heads, d, cache_bytes, heads, d_k, d_v, state_bytes)` gives a token count."""
    known = answer(*LLAMA.values())
    if abs(known - 128) > TOLERANCE:
        raise Wrong(
            f"for the Llama shapes of the text it gives {known} tokens; the chapter finds 128 there"
        )
    for change in ({"heads": 32}, {"kv_heads": 2}, {"d": 256}, {"d_k": 64}, {"d_v": 256},
                   {"cache_bytes": 1}, {"state_bytes": 2}):  # fmt: skip
        shape = LLAMA | change
        tokens = answer(*shape.values())
        cache = 2 * tokens * shape["kv_heads"] * shape["d"] * shape["cache_bytes"]
        state = shape["heads"] * shape["d_k"] * shape["d_v"] * shape["state_bytes"]
        if abs(cache - state) > TOLERANCE * state:
            name = next(iter(change))
            raise Wrong(
                f"with {name} = {change[name]} the cache of {tokens} tokens does not fill the"
                " bytes of the state; is that argument in your formula, and on the right side?"
            )


@exercise("01-recurrent-step")
def recurrent_step(answer):
    """`answer(S, q, k, v)` gives `(o, S)` after one token."""
    Q, K, V, _, _, S = hard_inputs(T=3, d_k=5, d_v=2)
    result = answer(S, Q[0], K[0], V[0])
    expect_pair(result, "the read-out o and the new state S")
    o, new = (np.asarray(part) for part in result)
    if new.shape == S.T.shape:
        raise Wrong("your state is d_k x d_v; in this book it is d_v x d_k, so that it reads S q")
    if new.shape != S.shape or o.shape != V[0].shape:
        raise Wrong(
            f"for d_k = 5, d_v = 2: expected o {V[0].shape}, S {S.shape}; "
            f"got o {o.shape}, S {new.shape}"
        )
    right_o, right_S = linear_attention.step(S, Q[0], K[0], V[0])
    if not relative_error(new, right_S) <= TOLERANCE:
        if relative_error(new - right_S, -S) < TOLERANCE:
            raise Wrong("the state forgets everything it held before this token")
        raise Wrong("the shapes are right, the new state is not; what does one token add to it?")
    if not relative_error(o, right_o) <= TOLERANCE:
        if relative_error(o, S @ Q[0]) < TOLERANCE:
            raise Wrong("the token reads before it writes, so it cannot see itself")
        raise Wrong("the new state is right, the read-out is not; which vector asks?")


@exercise("01-faulty-mask")
def faulty_mask(answer):
    """`answer(Q, K, V, S)` gives the outputs of every token at once."""
    Q, K, V, _, _, S = hard_inputs(T=8, d_k=5, d_v=3)
    O = np.asarray(answer(Q, K, V, S))
    if O.shape != V.shape:
        raise Wrong(f"expected outputs of shape {V.shape}, got {O.shape}")
    if not np.isfinite(O).all():
        raise Wrong("some outputs are not finite")
    changed = V.copy()
    changed[5] += 1
    moved = np.abs(np.asarray(answer(Q, K, changed, S)) - O).max(axis=-1) > TOLERANCE
    if moved[:5].any():
        raise Wrong("after a change of token 6, the output of an earlier token changes")
    if not moved[5]:
        raise Wrong("after a change of token 6, its own output stays as it was")
    if not moved[6:].all():
        raise Wrong("after a change of token 6, the output of some later token stays as it was")
    if np.abs(np.asarray(answer(Q, K, V, S + 1)) - O).max() < TOLERANCE:
        raise Wrong("the outputs do not depend on the initial state")
    right = linear_attention.recurrent(Q, K, V, S)[0]
    if not relative_error(O, right) <= TOLERANCE:
        raise Wrong("who sees whom is right now, but the numbers differ from the recurrent form")


@exercise("01-pieces")
def pieces(answer):
    """`answer(pieces)`, from `(Q, O_local, S_local)` of each piece, gives `(O, S)` of them all."""
    Q, K, V, *_ = hard_inputs(T=24, d_k=6, d_v=4)
    right, last = linear_attention.recurrent(Q, K, V)
    for cuts in ((24,), (8, 16, 24), (5, 6, 17, 24)):
        local = []
        for start, stop in zip((0, *cuts), cuts, strict=False):
            rows = slice(start, stop)
            local.append((Q[rows], *linear_attention.parallel(Q[rows], K[rows], V[rows])))
        result = answer(local)
        expect_pair(result, "all outputs O and the final state S")
        O, S = map(np.asarray, result)
        if np.shape(O) != right.shape:
            raise Wrong(f"expected outputs of shape {right.shape}, got {np.shape(O)}")
        if not relative_error(S, last) <= TOLERANCE:
            raise Wrong(f"with {len(local)} piece(s) the final state is not that of the sequence")
        if not relative_error(O, right) <= TOLERANCE:
            first = int(np.argmax(np.abs(O - right).max(axis=-1) > TOLERANCE))
            raise Wrong(
                f"with {len(local)} piece(s) the final state is right, but from token {first + 1} "
                "on the outputs are not; what does a piece not know when it starts empty?"
            )
