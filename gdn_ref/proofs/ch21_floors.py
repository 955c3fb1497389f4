"""Chapter 21: what no keys and no rule can do, and keys from a table."""

from functools import partial
from itertools import combinations, product, starmap

import numpy as np

from .ch21_recall import printed_mean, relative_crosstalk, weights_of
from .data import unit
from .page import on_page
from .registry import verifies

# What no keys can do.


def bound(n, d_k):
    return n / d_k - 1


def tight(n, d):
    """n unit keys in d < n dimensions that prefer no direction: waves of different frequencies.

    Their Gram matrix is n/d times a projector.
    """
    turns = 2 * np.pi * np.outer(np.arange(n), np.arange(1, d // 2 + 1)) / n
    waves = np.concatenate([np.cos(turns), np.sin(turns)], axis=1) * np.sqrt(2 / d)
    return np.concatenate([waves, np.full((n, d % 2), np.sqrt(1 / d))], axis=1)


def mean_crosstalk(weights):
    return relative_crosstalk(weights).mean()


@verifies(
    "eq-recall-floor",
    method="float64",
    covers="3 to 9 tight keys in 1 to 8 dimensions, which attain it; 400 runs of the gated rule",
    mutants={
        "n over d_k": {"floor": lambda n, d: n / d},
        "of n - 1": {"floor": lambda n, d: (n - 1) / d - 1},
        "twice the width": {"floor": lambda n, d: n / (2 * d) - 1},
        "random keys' value": {"floor": lambda n, d: (n - 1) / d},
    },
)
def no_rule_is_below(floor=bound):
    """How far the attained case is off the floor, and how far any draw is below it."""
    sizes = [(n, d) for n in range(3, 10) for d in range(1, n) if d // 2 < n / 2]
    off = [abs(mean_crosstalk(K @ K.T) - floor(*K.shape)) for K in starmap(tight, sizes)]
    rng = np.random.default_rng(21)
    for _ in range(400):
        n, d = rng.integers(3, 9), rng.integers(1, 4)
        K, Q = unit(rng.normal(size=(2, n, d)))
        g, beta = -rng.uniform(0, 0.3, n), rng.uniform(0.1, 1.9, n)
        off.append(max(0.0, floor(n, d) - mean_crosstalk(weights_of(Q, K, g, beta))))
    on_page("eq-recall-floor", printed_mean, lambda at: floor(at("n"), at("d_k")))
    return max(off)


@verifies(
    "eq-recall-floor",
    method="float64",
    covers="the step of the proof: 500 matrices of rank 1 to 4, and projectors, which attain it",
    mutants={
        "the rank squared": {"limit": lambda r, W: r**2 * (W**2).sum()},
        "without the rank": {"limit": lambda r, W: (W**2).sum()},
    },
    part="a trace squared is at most the rank times the squared norm",
)
def a_trace_of_low_rank(limit=lambda r, W: r * (W**2).sum()):
    rng, off = np.random.default_rng(22), []
    for _ in range(500):
        n, r = rng.integers(4, 9), rng.integers(1, 5)
        W = rng.normal(size=(n, r)) @ rng.normal(size=(r, n))
        off.append(max(0.0, np.trace(W) ** 2 - limit(r, W)))
        P = np.linalg.qr(rng.normal(size=(n, r)))[0]
        off.append(abs(np.trace(P @ P.T) ** 2 - limit(r, P @ P.T)))
    return max(off)


def over_subsets(table, n):
    """The mean of x over all choices of n keys of a table of weights."""
    found = [table[np.ix_(c, c)] for c in combinations(range(len(table)), n)]
    return np.mean([mean_crosstalk(W) for W in found])


@verifies(
    "eq-recall-vocabulary",
    method="float64",
    covers="tables of 4 to 7 symbols, every choice of 2 to 4 of them; attained by tight ones",
    mutants={
        "all of the table": {"floor": lambda n, N, d: N / d - 1},
        "n over N": {"floor": lambda n, N, d: n / N * (N / d - 1)},
        "the floor of n keys": {"floor": lambda n, N, d: n / d - 1},
        "random keys' value": {"floor": lambda n, N, d: (n - 1) / d},
    },
)
def keys_from_a_table(floor=lambda n, N, d: (n - 1) / (N - 1) * (N / d - 1)):
    off, rng = [], np.random.default_rng(23)
    for N, n, d in product(range(4, 8), range(2, 5), (2, 3)):
        K = tight(N, d)
        off.append(abs(over_subsets(K @ K.T, n) - floor(n, N, d)))
        K, Q = unit(rng.normal(size=(2, N, d)))
        off.append(max(0.0, floor(n, N, d) - over_subsets(Q @ K.T, n)))
    left = partial(printed_mean, of=r"\mathbb{E}\,")
    on_page("eq-recall-vocabulary", left, lambda at: floor(at("n"), at("N_k"), at("d_k")))
    return max(off)
