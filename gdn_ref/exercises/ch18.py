"""Exercises of chapter 18: a pair, a gradient from the right, a tree, shares, when it pays."""

import math
from fractions import Fraction

import numpy as np

from .. import affine, backward
from ..proofs.data import hard_inputs
from . import TOLERANCE, Wrong, exercise


@exercise("18-pair")
def pair(answer):
    """`answer(k, v, alpha, beta)`: F and G of a shard, which may have no token."""
    for T in (0, 1, 7):
        _, k, v, g, beta, _ = hard_inputs(max(T, 1), d_k=5, d_v=3, seed=T)
        found = answer(k[:T], v[:T], np.exp(g[:T]), beta[:T])
        right = np.eye(5), np.zeros((3, 5))
        if T:
            right = affine.chunk_map(k, v, g, beta)
        if len(found) != 2:
            raise Wrong(f"expected two matrices, got {len(found)}")
        for name, mine, true in zip("FG", found, right, strict=True):
            if np.shape(mine) != true.shape:
                raise Wrong(f"{name}: expected shape {true.shape}, got {np.shape(mine)}")
            if np.abs(mine - true).max() > TOLERANCE:
                raise Wrong(f"{name} is not that of {T} tokens; which factor stands on the right?")


@exercise("18-back")
def back(answer):
    """`answer(F, O_F, dO, dS_out)`: the gradient of the state before a shard."""
    q, k, v, g, beta, S = hard_inputs(9, d_k=5, d_v=3)
    rng = np.random.default_rng(0)
    dO, dS = rng.normal(size=v.shape), rng.normal(size=S.shape)
    right = backward.gradients(q, k, v, g, beta, S, dO, dS)[-1]
    F, _ = affine.chunk_map(k, v, g, beta)
    O_F = np.array(
        [q[t] @ affine.chunk_map(*(x[: t + 1] for x in (k, v, g, beta)))[0].T for t in range(9)]
    )
    found = np.asarray(answer(F, O_F, dO, dS))
    if found.shape != right.shape:
        raise Wrong(f"expected the shape {right.shape} of a state, got {found.shape}")
    if np.abs(found - dS @ F.T).max() < TOLERANCE:
        raise Wrong("that is what comes from the right; the shard's own outputs ask for more")
    if np.abs(found - right).max() > TOLERANCE:
        raise Wrong("not the gradient of the state before the shard; try the shapes")


@exercise("18-tree")
def tree(answer):
    """`answer(R)`: rounds of messages after which every rank knows all before it."""
    for R in (2, 3, 5, 8, 13):
        found, least = answer(R), math.ceil(math.log2(R))
        if len(found) > least:
            raise Wrong(f"{R} ranks: {len(found)} rounds, where {least} suffice")
        have = [{p} for p in range(R)]
        for n, messages in enumerate(found):
            before = [set(x) for x in have]
            for side, ranks in zip(("sends", "receives"), zip(*messages, strict=True), strict=True):
                if len(set(ranks)) < len(ranks):
                    raise Wrong(f"{R} ranks, round {n}: a rank {side} two messages")
            for source, target in messages:
                if not (0 <= source < R and 0 <= target < R):
                    raise Wrong(f"{R} ranks, round {n}: there is no rank {max(source, target)}")
                have[target] |= before[source]
        for p in range(R):
            if not have[p] >= set(range(p)):
                raise Wrong(f"{R} ranks: rank {p} does not know all ranks before it")


@exercise("18-shares")
def shares(answer):
    """`answer(T, R, x)`: lengths of shards that end together."""
    for T, R, x in ((1200, 2, 1.0), (1700, 16, 1.0), (2300, 4, 0.6), (500, 3, 0.0)):
        found = list(answer(T, R, x))
        if len(found) != R or sum(found) != T:
            raise Wrong(f"expected {R} lengths with the sum {T}, got {found}")
        if any(n != int(n) or n < 0 for n in found):
            raise Wrong(f"expected whole numbers of at least 0, got {found}")
        slowest = max(found[0], (1 + x) * max(found[1:]))
        if slowest > (1 + x) * T / (R + x) + R:  # whole numbers
            raise Wrong(f"T = {T}, R = {R}, x = {x}: the slowest rank could be done earlier")


@exercise("18-crossover")
def crossover(answer):
    """`answer(R, H_v, d_k, d_v, H_c, d_a, b)`: tokens from which on ring attention sends more."""
    for given in ((2, 32, 128, 128, 2, 256, 2), (8, 16, 64, 128, 4, 128, 2), (3, 4, 8, 6, 1, 5, 4)):
        R, H_v, d_k, d_v, H_c, d_a, b = given
        right = Fraction(4 * H_v * d_k * d_v * R, (R - 1) * 2 * b * H_c * d_a)
        found = answer(*given)
        if not abs(found / float(right) - 1) <= TOLERANCE:
            side = "earlier" if found > right else "later"
            raise Wrong(f"{R} ranks: ring attention sends more from {side} on than {found:,.1f}")
