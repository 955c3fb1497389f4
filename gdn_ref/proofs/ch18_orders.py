"""Chapter 18: orders of work. What a run with more rows costs, the relay, shards of unequal length.

FLOPs are counted while the products run; runs of the ranks are played on clocks.
"""

from fractions import Fraction
from itertools import product

import numpy as np
from sympy import Rational, symbols

from .ch14_kernels import scan
from .counting import multiplications
from .page import on_page
from .registry import verifies

R, n, x, C, d_k, d_v = symbols("R n x C d_k d_v", positive=True)


def row_flops(size, K, V):
    """FLOPs a token that a run with K more rows of values does beyond the run, and to correct."""
    tokens = 2 * size

    def run(width):
        shapes = [(1, tokens, K)] * 2 + [(1, tokens, width), (1, tokens, size), (1, width, K)]

        def work(q, k, v, UT, S):
            scan(q, k, v, np.zeros((1, tokens)), UT, S, C=size)

        return multiplications(work, *shapes)

    correction = multiplications(lambda O_F, S: O_F @ S.T, (tokens, K), (V, K))
    return Fraction(2 * (run(V + K) - run(V) + correction), tokens)


ROW_FLOPS = 6 * d_k**2 + 4 * C * d_k + 2 * d_k * d_v


@verifies(
    "eq-shard-flops",
    method="enumeration",
    covers="counted, 2 chunks of 1 to 3 tokens",
    mutants={
        "no outputs of the rows": {"claim": 4 * d_k**2 + 2 * C * d_k},
        "no correction": {"claim": ROW_FLOPS - 2 * d_k * d_v},
        "scores once more": {"claim": ROW_FLOPS + 2 * C * d_k},
        "as many rows as values": {"claim": ROW_FLOPS.subs(d_k**2, d_k * d_v)},
    },
)
def rows_are_counted(claim=ROW_FLOPS):
    """The K rows that find O_F and F, through the products of the scan, and the correction."""
    cases = product((1, 2, 3), (1, 2), (1, 3))
    on_page("eq-shard-flops", claim)
    return [Rational(row_flops(c, K, V)) - claim.subs({C: c, d_k: K, d_v: V}) for c, K, V in cases]


def relay_time(ranks, groups):
    """When the last rank has run its last group of heads, one card with all of it taking 1."""
    free, run = [Fraction(0)] * ranks, Fraction(1, ranks * groups)
    for _ in range(groups):
        end = Fraction(0)
        for p in range(ranks):
            end = free[p] = max(free[p], end) + run
    return free[-1]


@verifies(
    "eq-relay-speedup",
    method="enumeration",
    covers="runs on clocks, 1 to 6 ranks, 1 to 5 groups",
    mutants={
        "as many ranks": {"claim": R},
        "every rank waits once more": {"claim": R * n / (n + R)},
        "groups alone": {"claim": n * R / (n + 1)},
    },
)
def relay_is_counted(claim=R * n / (n + R - 1)):
    """A rank runs a group when the rank before it has, and when it is free."""
    cases = product(range(1, 7), range(1, 6))
    on_page("eq-relay-speedup", claim)
    return [
        1 / Rational(relay_time(ranks, groups)) - (claim + 0 * R).subs({R: ranks, n: groups})
        for ranks, groups in cases
    ]


def shard_times(ranks, beyond, tokens):
    """Times of the slowest rank, one card taking 1: for equal shards, and for the best ones."""
    per_token = Fraction(1, tokens)

    def slowest(first):
        rest = Fraction(tokens - first, ranks - 1)
        return per_token * max(first, (1 + beyond) * rest)

    equal = per_token * Fraction(tokens, ranks) * (1 + beyond if ranks > 1 else 1)
    return equal, min(map(slowest, range(tokens + 1)))


SPEEDUPS = R / (1 + x), (R + x) / (1 + x)


@verifies(
    "eq-shard-speedup",
    method="enumeration",
    covers="2 to 5 ranks, all lengths of the first shard",
    mutants={
        "all ranks pay": {"claim": (R / (1 + x), R / (1 + x))},
        "the first rank takes all": {"claim": (R / (1 + x), R - x)},
        "nobody pays": {"claim": (R + 0 * x, (R + x) / (1 + x))},
    },
)
def speedups_are_counted(claim=SPEEDUPS):
    """Ranks that a state enters take 1 + x times as long for a token."""
    residuals = []
    for ranks, beyond in product((2, 3, 4, 5), (Fraction(1, 2), Fraction(1), Fraction(2, 5))):
        tokens = int((ranks + beyond) * beyond.denominator) * ranks
        found = shard_times(ranks, beyond, tokens)
        at = {R: ranks, x: Rational(beyond)}
        residuals += [1 / Rational(t) - c.subs(at) for t, c in zip(found, claim, strict=True)]
    for number, formula in enumerate(claim):
        on_page("eq-shard-speedup", formula, of=number)
    return residuals
