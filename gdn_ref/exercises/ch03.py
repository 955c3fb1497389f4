"""Checkers for chapter 3: a lost tail, two passes, a ragged count, a power of two."""

import numpy as np

from .. import linear_attention
from ..proofs.data import hard_inputs, relative_error
from . import TOLERANCE, Wrong, exercise
from .traced import operations


@exercise("03-tail")
def _tail(chunkwise):
    for T, C in ((48, 16), (50, 16), (7, 16), (33, 8), (5, 1)):
        q, k, v, _, _, S = hard_inputs(T=T)
        O, last = map(np.asarray, chunkwise(q, k, v, S, C))
        right, state = linear_attention.recurrent(q, k, v, S)
        if np.shape(O) != right.shape:
            raise Wrong(f"T = {T}, C = {C}: expected outputs {right.shape}, got {np.shape(O)}")
        error = relative_error(O, right)
        if not error <= TOLERANCE:
            wrong = np.flatnonzero(np.abs(O - right).max(axis=1) > TOLERANCE)
            raise Wrong(f"T = {T}, C = {C}: token {wrong[0] + 1} is the first whose output is off")
        if not relative_error(last, state) <= TOLERANCE:
            raise Wrong(f"T = {T}, C = {C}: the outputs are right, the last state is not")


@exercise("03-two-passes")
def _two_passes(all_chunks):
    for N, C in ((1, 8), (4, 6), (9, 3)):
        q, k, v, _, _, S = hard_inputs(T=N * C)
        right, state = linear_attention.recurrent(q, k, v, S)
        O, last = map(np.asarray, all_chunks(*_chunks(N, C)))
        if np.shape(O) != (N, C, v.shape[1]):
            raise Wrong(f"expected outputs {(N, C, v.shape[1])}, got {np.shape(O)}")
        off = np.abs(O.reshape(right.shape) - right).max(axis=1) > TOLERANCE
        if off.any():
            first = int(np.flatnonzero(off)[0])
            wrote = v[:C].T @ k[:C]
            for given, reason in (
                (0 * S, "the first chunk never reads the state that it was given"),
                (wrote, "the first chunk reads its own writes in place of the given state"),
                (S + wrote, "the first chunk reads its own writes twice, once in its state"),
            ):
                guess, _ = linear_attention.parallel(q[:C], k[:C], v[:C], given)
                if relative_error(O[0], guess) < TOLERANCE:
                    raise Wrong(reason)
            raise Wrong(f"N = {N}, C = {C}: token {first + 1} is the first that is off")
        if not relative_error(last, state) <= TOLERANCE:
            raise Wrong("the outputs are right; the last state is not")
    few, many = (len(operations(all_chunks, *_chunks(N))) for N in (3, 12))
    if few != many:
        raise Wrong(
            f"right, but not without a loop: {few} array operations for 3 chunks, {many} for 12"
        )


def _chunks(N, C=4):
    """Inputs of `03-two-passes`: queries, keys and values in N chunks, and a state."""
    *vectors, _, _, S = hard_inputs(T=N * C)
    return *(x.reshape(N, C, -1) for x in vectors), S


@exercise("03-ragged-count")
def _ragged_count(count):
    for T, C, d_k, d_v in ((128, 64, 16, 16), (96, 96, 8, 4), (100, 64, 16, 16), (5, 8, 3, 2)):
        sizes = [min(C, T - start) for start in range(0, T, C)]
        right = sum(2 * size * d_k * d_v + size**2 * (d_k + d_v) for size in sizes)
        found = count(T, C, d_k, d_v)
        if found == right:
            continue
        case = f"T = {T}, C = {C}, d_k = {d_k}, d_v = {d_v}"
        if found == 2 * right:
            raise Wrong(f"{case}: twice too many; are you counting the additions too?")
        if T % C and found > right:
            raise Wrong(f"{case}: too many. How many tokens has the last chunk?")
        if T % C and found < right:
            raise Wrong(f"{case}: too few. Who computes the last {T % C} tokens?")
        raise Wrong(f"{case}: got {found}, although C divides T")


@exercise("03-power-of-two")
def _power_of_two(best):
    cases = ((128, 128, 4, 295.0), (128, 64, 4, 295.0), (64, 64, 2, 295.0), (128, 128, 4, 20.0),
             (256, 256, 4, 160.0), (64, 64, 4, 65.0), (128, 128, 2, 1.0),
             (4, 4, 1, 0.1))  # fmt: skip

    def cost(C, d_k, d_v, state_bytes, ridge):
        return 2 * C * (d_k + d_v) + ridge * 2 * state_bytes * d_k * d_v / C

    for case in cases:
        found = best(*case)
        name = "d_k = {}, d_v = {}, {}-byte states, ridge {:g}".format(*case)
        if found < 1 or 2 ** round(np.log2(found)) != found:
            raise Wrong(f"{name}: {found} is not a power of two from 1 on")
        for other, way in ((2 * found, "larger"), (found / 2, "smaller")):
            if other >= 1 and cost(other, *case) < cost(found, *case) * (1 - TOLERANCE):
                more = cost(found, *case) / cost(other, *case) - 1
                raise Wrong(
                    f"{name}: a {way} power of two is better; in what depends on C, "
                    f"{found:g} costs {more:.0%} more"
                )
