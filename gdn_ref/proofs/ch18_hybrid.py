"""Chapter 18: shards in a hybrid model. What causal attention costs a rank, zig-zag, the halo.

Pairs of a query and a key are counted token by token; messages and bytes by the package's own
layout of the shards.
"""

from unittest.mock import Mock, patch

import torch
from sympy import ceiling, log, symbols

from ..distributed import CPContext, convolution, cost, messages
from .page import on_page
from .registry import verifies

R, T, m, W, b = symbols("R T m W b", positive=True)
i, p = symbols("i p", nonnegative=True)
d_k, d_v, H_k, H_v = symbols("d_k d_v H_k H_v", positive=True)


def pairs_in(tokens):
    """Pairs of a query among these tokens, counted from 0, with a key not after it."""
    return sum(1 for query in tokens for key in range(query + 1))


def shard_work(tokens, shards):
    """Pairs of each of so many equal shards."""
    size = tokens // shards
    return [pairs_in(range(n * size, (n + 1) * size)) for n in range(shards)]


def zigzag_work(tokens, ranks):
    """Pairs of each rank, by the package's zig-zag layout."""
    cu_seqlens = torch.tensor([0, tokens])
    contexts = (CPContext.alone(cu_seqlens, n, ranks, "zigzag") for n in range(ranks))
    return [pairs_in(cp.tokens().tolist()) for cp in contexts]


WORK = T / (2 * m) * (T / m * (2 * i + 1) + 1)


@verifies(
    "eq-causal-work",
    method="enumeration",
    covers="pairs counted one by one, 1 to 6 shards of 1 to 4 tokens",
    mutants={
        "as much for every shard": {"claim": T * (T + 1) / (2 * m) + 0 * i},
        "in proportion to i": {"claim": T / (2 * m) * (T / m * 2 * i + 1)},
        "a query does not meet its own key": {"claim": T / (2 * m) * (T / m * (2 * i + 1) - 1)},
        "shards count from 1": {"claim": WORK.subs(i, i - 1)},
    },
)
def work_is_counted(claim=WORK):
    """Each shard's own pairs."""
    on_page("eq-causal-work", claim)
    return [
        found - claim.subs({T: size * shards, m: shards, i: n})
        for shards in range(1, 7)
        for size in range(1, 5)
        for n, found in enumerate(shard_work(size * shards, shards))
    ]


@verifies(
    "eq-zigzag-work",
    method="enumeration",
    covers="pairs counted one by one in the package's shards, 1 to 6 ranks",
    mutants={
        "more for later ranks": {"claim": T * (T + 1) / (2 * R) + p},
        "of one of the two shards": {"claim": T * (T + 1) / (4 * R)},
        "no pair of a token with itself": {"claim": T * (T - 1) / (2 * R)},
    },
)
def zigzag_is_counted(claim=T * (T + 1) / (2 * R)):
    """Each rank's pairs."""
    on_page("eq-zigzag-work", claim)
    return [
        found - claim.subs({T: 2 * size * ranks, R: ranks, p: n})
        for ranks in range(1, 7)
        for size in range(1, 4)
        for n, found in enumerate(zigzag_work(2 * size * ranks, ranks))
    ]


def steps_of(ranks, layout="zigzag"):
    """Messages that one sequence's state takes along a ring, and rounds of a tree."""
    cp = CPContext.alone(torch.tensor([0, 2 * ranks]), 0, ranks, layout)
    return cost.crossed(cp.chains[0]), len(list(cost.tree_rounds(cp, False)))


STEPS = 2 * R - 2, ceiling(log(R, 2)) + 1


@verifies(
    "eq-zigzag-steps",
    method="enumeration",
    covers="the package's messages, 2 to 17 ranks",
    mutants={
        "each border is one of ranks": {"claim": (2 * R - 1, STEPS[1])},
        "one shard a rank": {"claim": (R - 1, STEPS[1])},
        "twice as many rounds": {"claim": (STEPS[0], 2 * ceiling(log(R, 2)))},
        "no more rounds": {"claim": (STEPS[0], ceiling(log(R, 2)))},
    },
)
def steps_are_counted(claim=STEPS):
    """A chain of two shards a rank."""
    for number, formula in enumerate(claim):
        on_page("eq-zigzag-steps", formula, of=number)
    return [
        found - formula.subs(R, ranks)
        for ranks in range(2, 18)
        for found, formula in zip(steps_of(ranks), claim, strict=True)
    ]


DTYPES = {
    1: torch.int8,
    2: torch.bfloat16,
    4: torch.float32,
    8: torch.float64,
    16: torch.complex128,
}


def halo_bytes(width, W, D):
    """What the package's convolution sends over the first border; no one listens."""
    cp = CPContext.alone(torch.tensor([0, 2 * W]), 0, 2)
    x = torch.zeros(1, cp.length, D, dtype=DTYPES[width])

    sent = {"P2POp": Mock(), "batch_isend_irecv": lambda ops: [Mock() for _ in ops]}
    with patch.multiple(messages.dist, **sent):
        convolution.Halo.apply(cp, x, None, W)
    return cp.bytes_sent


HALO = b * (W - 1) * (2 * H_k * d_k + H_v * d_v)


@verifies(
    "eq-halo-bytes",
    method="enumeration",
    covers="counted by the package, W from 2 to 5",
    mutants={
        "W inputs": {"claim": HALO * W / (W - 1)},
        "values alone": {"claim": b * (W - 1) * H_v * d_v},
        "keys, no queries": {"claim": b * (W - 1) * (H_k * d_k + H_v * d_v)},
        "in float32": {"claim": HALO.subs(b, 4)},
    },
)
def halo_is_counted(claim=HALO):
    """Queries, keys and values go through the convolution."""
    residuals = []
    for width in DTYPES:
        for size in range(2, 6):
            at = {b: width, W: size, H_k: 2, H_v: 4, d_k: 3, d_v: 5}
            residuals.append(halo_bytes(width, size, 2 * 2 * 3 + 4 * 5) - claim.subs(at))
    on_page("eq-halo-bytes", claim, letters={W: "W"})
    return residuals
