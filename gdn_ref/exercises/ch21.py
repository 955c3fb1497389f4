"""Exercises of chapter 21: a width for a crosstalk, weights, order, seeds that are pairs."""

import math
from collections import Counter
from itertools import product

import numpy as np

from .. import gated_delta_rule
from ..experiments.training import T_975
from ..proofs.data import hard_inputs
from . import TOLERANCE, Wrong, exercise


@exercise("21-width")
def width(answer):
    """`answer(n, x)`: the least d_k with which the floor allows the mean crosstalk x."""
    for n, x in ((32, 0.5), (32, 1.0), (100, 0.0), (7, 2.5), (50, 0.01), (3, 9.0)):
        right = max(1, math.ceil(n / (1 + x) - 1e-9))
        found = answer(n, x)
        if found != int(found):
            raise Wrong(f"expected a whole number of columns, got {found}")
        if found < right:
            raise Wrong(f"n = {n}, x = {x}: with {found} columns the floor is above x")
        if found > right:
            raise Wrong(f"n = {n}, x = {x}: fewer than {found} columns would do")


@exercise("21-weights", keeps={0: "q", 1: "k", 2: "g", 3: "beta"})
def weights(answer):
    """`answer(q, k, g, beta)`: what the last state returns of each value, at each query."""
    for T, d in ((6, 4), (3, 5), (1, 2)):
        q, k, _, g, beta, _ = hard_inputs(T=T, d_k=d, d_v=2, seed=21 + T)
        state = gated_delta_rule.recurrent(k, k, np.eye(T), g, beta)[1]
        right, found = q @ state.T, np.asarray(answer(q, k, g, beta))
        if found.shape != right.shape:
            raise Wrong(f"expected shape {right.shape}, got {found.shape}")
        off = np.abs(found - right).max() / np.abs(right).max()
        if off > 1e-9 and T > 1 and np.abs(found - right.T).max() < 1e-9:
            raise Wrong("rows are reads and columns are values; yours are the other way round")
        if off > 1e-9:
            raise Wrong(f"{T} pairs: off by {off:.0%}; which values would show one weight each?")


@exercise("21-blind")
def blind(answer):
    """`answer(r, N)`: the best share right of a name with r values in an unknown order."""
    for r, N in ((2, 2), (2, 64), (3, 2), (3, 5), (1, 7), (4, 3)):
        lists = product(range(N), repeat=r)
        right = sum(max(Counter(values).values()) for values in lists) / (r * N**r)
        found = float(answer(r, N))
        if r > 1 and abs(found - 1 / r) < TOLERANCE:
            raise Wrong(f"r = {r}, N = {N}: two of the values may be equal")
        if not abs(found - right) <= TOLERANCE:
            size = "small" if found < right else "large"
            raise Wrong(f"r = {r}, N = {N}: {found:.4f} is too {size}")


@exercise("21-seeds", keeps={0: "one", 1: "other"})
def seeds(answer):
    """`answer(one, other)`: the 95 % interval of the mean difference, seed by seed."""
    rng = np.random.default_rng(21)
    for n in (5, 3, 8):
        one = rng.uniform(0.5, 0.9, n)
        other = one - 0.03 + 0.01 * rng.normal(size=n)
        apart = one - other
        half = T_975[n - 2] * apart.std(ddof=1) / math.sqrt(n)
        found = tuple(float(x) for x in answer(one, other))
        if len(found) != 2 or not found[0] <= found[1]:
            raise Wrong("expected two numbers, the lower one first")
        middle, mine = sum(found) / 2, (found[1] - found[0]) / 2
        if abs(middle - apart.mean()) > 1e-9:
            raise Wrong(f"{n} seeds: the interval is not about the mean difference one - other")
        if mine > 1.5 * half:
            raise Wrong(f"{n} seeds: too wide; both models of a seed saw the same batches")
        if mine < half * (1 - 1e-6):
            raise Wrong(f"{n} seeds: too narrow for so few seeds")
        if mine > half * (1 + 1e-6):
            raise Wrong(f"{n} seeds: too wide; how many degrees of freedom are there?")
