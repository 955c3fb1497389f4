"""Exercises of chapter 7: one more row, two blocks, the state the other way up, nothing at all."""

import numpy as np

from .. import delta_rule, wy
from ..proofs.data import hard_inputs, relative_error
from . import TOLERANCE, Wrong, exercise
from .traced import largest, operations


def expect_shape(name, array, shape):
    array = np.asarray(array, dtype=float)
    if array.shape != shape:
        raise Wrong(f"{name} should have shape {shape}, yours has {array.shape}")
    return array


@exercise("07-one-more-row", keeps={0: "the old W", 1: "the old K"})
def one_more_row(answer):
    """`answer(W, K, k, beta)` is the pair `W, K` with one more token."""
    _, K, _, _, beta, _ = hard_inputs(9, 6)
    W = wy.w(K, beta)
    for r in (1, 4, 8):
        grown_W, grown_K = answer(W[:r], K[:r], K[r], beta[r])
        grown_K = expect_shape("the new K", grown_K, (r + 1, 6))
        grown_W = expect_shape("the new W", grown_W, (r + 1, 6))
        if not relative_error(grown_K, K[: r + 1]) <= TOLERANCE:
            raise Wrong("K holds the keys as they come, oldest first")
        if not relative_error(grown_W[:r], W[:r]) <= TOLERANCE:
            raise Wrong("the rows of the earlier tokens do not change")
        if not relative_error(grown_W[r], W[r]) <= TOLERANCE:
            left = relative_error(grown_W[r], W[r])
            raise Wrong(f"after {r} tokens the new row of W is off by {left:.0%}")


@exercise("07-merge")
def merge(answer):
    """`answer(first, then)` merges two blocks `(W, U, K)` into one."""
    _, K, V, _, beta, _ = hard_inputs(12, 6, 4)
    right = wy.w(K, beta), wy.u(K, V, beta), K
    for cut in (1, 5, 10):
        parts = (slice(None, cut), slice(cut, None))
        blocks = [(wy.w(K[p], beta[p]), wy.u(K[p], V[p], beta[p]), K[p]) for p in parts]
        for name, found, wanted in zip("WUK", answer(*blocks), right, strict=True):
            found = expect_shape(name, found, wanted.shape)
            if not relative_error(found[:cut], wanted[:cut]) <= TOLERANCE:
                raise Wrong(f"{name}: the rows of the first block come first, as they are")
            error = relative_error(found[cut:], wanted[cut:])
            if not error <= TOLERANCE:
                raise Wrong(
                    f"{name}, cut after {cut}: the second block's rows are off by {error:.0%}"
                )


@exercise("07-transposed")
def transposed(answer):
    """`answer(St, W, U, K)` is the state after the chunk, stored `d_k x d_v`."""
    q, K, V, _, beta, S = hard_inputs(10, 6, 6)
    St = expect_shape("the state", answer(S.T, wy.w(K, beta), wy.u(K, V, beta), K), (6, 6))
    right = delta_rule.recurrent(q, K, V, beta, S)[1].T
    if relative_error(St, right) < TOLERANCE:
        q, K, V, _, beta, S = hard_inputs(5, 40, 3)
        if largest(operations(answer, S.T, wy.w(K, beta), wy.u(K, V, beta), K)) >= 40 * 40:
            raise Wrong("right, but at d_k = 40 it makes a matrix of 40 x 40; which product first?")
        return
    if relative_error(St.T, right) < TOLERANCE:
        raise Wrong("right, but it is d_v x d_k; d_k = d_v = 6 hides it from a test of shapes")
    empty = answer(0 * S.T, wy.w(K, beta), wy.u(K, V, beta), K)
    if relative_error(empty, delta_rule.recurrent(q, K, V, beta, 0 * S)[1].T) < TOLERANCE:
        raise Wrong("from an empty state it is right; which factor meets the old state first?")
    raise Wrong("even from an empty state it is off; check what is written")


@exercise("07-nothing")
def nothing(answer):
    """Four keys in the plane, no two parallel, and strengths of at least 0.5, that do nothing."""
    K, beta = answer
    K = expect_shape("the keys", K, (4, 2))
    beta = expect_shape("the strengths", beta, (4,))
    if np.abs(np.linalg.norm(K, axis=1) - 1).max() > TOLERANCE:
        raise Wrong("every key should have length 1")
    if beta.min() < 0.5 or beta.max() > 2:
        raise Wrong("every strength should lie between 0.5 and 2")
    for i in range(4):
        for j in range(i):
            if abs(K[i, 0] * K[j, 1] - K[i, 1] * K[j, 0]) < 1e-3:
                raise Wrong(f"keys {j + 1} and {i + 1} are parallel")
    P = np.eye(2) - wy.w(K, beta).T @ K
    if np.abs(P - np.eye(2)).max() > TOLERANCE:
        size = np.linalg.det(P)
        if abs(size - 1) > TOLERANCE:
            raise Wrong(f"the determinant of P is {size:.3g}; which strengths keep it at 1?")
        turn = np.degrees(np.arctan2(P[1, 0], P[0, 0]))
        raise Wrong(
            f"the strengths may stay; the four tokens turn the plane by {abs(turn):.0f} degrees"
        )
