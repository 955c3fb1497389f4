"""Chapter 18: messages between ranks, on clocks, and the bytes of each exchange.

What goes round is a word of the ranks whose tokens it has seen: `(2, 3)` is the map of the ranks 2
and 3, and a word that begins with rank 0 is a state, since the first state is known there. So a run
shows that every rank was given the right state, and when.
"""

from fractions import Fraction
from itertools import product
from unittest.mock import patch

import numpy as np
from sympy import Min, Rational, ceiling, log, symbols

from .page import on_page
from .registry import verifies

R, T = symbols("R T", positive=True)
ell, w, B_S, B_F = symbols("ell w B_S B_F", positive=True)
p = symbols("p", nonnegative=True)
b, d_k, d_v, H_k, H_v, H_c, d_a = symbols("b d_k d_v H_k H_v H_c d_a", positive=True)
ROUNDS = ceiling(log(R, 2))


class Network:
    """Ranks with clocks. A message takes a latency and its bytes over the bandwidth, and keeps
    both of its ends busy; a rank may send one and receive another at the same time."""

    def __init__(self, ranks, latency, bandwidth, state, F):
        self.clock, self.latency, self.bandwidth = [0] * ranks, latency, bandwidth
        self.sizes = state, F

    def send(self, *messages):
        """`(source, target, words)` side by side; a state has no F."""
        before = list(self.clock)
        for source, target, words in messages:
            size = sum(self.sizes[0] + (word[0] != 0) * self.sizes[1] for word in words)
            end = max(before[source], before[target]) + self.latency + size / self.bandwidth
            for at in (source, target):
                self.clock[at] = max(self.clock[at], end)


def ring(ranks, net):
    """The state goes from rank to rank; what each has been given, as a word."""
    given = [()]
    for p in range(ranks - 1):
        given.append((*given[p], p))
        net.send((p, p + 1, [given[p + 1]]))
    return given


def all_gather(ranks, net):
    """All maps to all ranks, whose number doubles each round; whoever sends, sends whole maps."""
    have = [[p] for p in range(ranks)]  # the ranks whose maps are there: one's own and those after
    while len(have[0]) < ranks:
        count, known = min(len(have[0]), ranks - len(have[0])), len(have[0])
        sent = [[(q, q) if q else (1, 1) for q in mine[:count]] for mine in have]
        net.send(*((p, (p - known) % ranks, sent[p]) for p in range(ranks)))
        have = [mine + have[(p + known) % ranks][:count] for p, mine in enumerate(have)]
    return [tuple(sorted(q for q in mine if q < p)) for p, mine in enumerate(have)]


def tree(ranks, net):
    """Each rank sends the map of the longest stretch that ends with it, twice as far each time."""
    through, given, far = [(p,) for p in range(ranks)], [()] * ranks, 1
    while far < ranks:
        reached = range(far, ranks)
        net.send(*((p - far, p, [through[p - far]]) for p in reached))
        given = [through[p - far] + given[p] if p in reached else given[p] for p in range(ranks)]
        through = [through[p - far] + through[p] if p in reached else x for p, x in
                   enumerate(through)]  # fmt: skip
        far *= 2
    return given


EXCHANGES = {"ring": ring, "all-gather": all_gather, "tree": tree}


def exchange_time(how, ranks, latency, bandwidth, state, F):
    """When the last rank has its state; every rank must have the right one."""
    net = Network(ranks, latency, bandwidth, state, F)
    given = EXCHANGES[how](ranks, net)
    assert given == [tuple(range(p)) for p in range(ranks)]
    return max(net.clock)


TIMES = {
    "ring": (R - 1) * (ell + B_S / w),
    "all-gather": ROUNDS * ell + (R - 1) * (B_S + B_F) / w,
    "tree": ROUNDS * (ell + B_S / w) + (ROUNDS - 1) * B_F / w,
}


@verifies(
    "eq-exchange-times",
    method="enumeration",
    covers="messages on clocks, 2 to 9 and 33 ranks, and which state each rank was given",
    mutants={
        "the first rank waits too": {"claim": TIMES | {"ring": R * (ell + B_S / w)}},
        "maps go round the ring": {"claim": TIMES | {"ring": (R - 1) * (ell + (B_S + B_F) / w)}},
        "a latency a rank": {"claim": TIMES | {"all-gather": (R - 1) * (ell + (B_S + B_F) / w)}},
        "states are gathered, no maps": {
            "claim": TIMES | {"all-gather": ROUNDS * ell + (R - 1) * B_S / w}
        },
        "F in the last round of the tree": {
            "claim": TIMES | {"tree": ROUNDS * (ell + (B_S + B_F) / w)}
        },
        "a tree for powers of two": {
            "claim": TIMES | {"tree": (TIMES["tree"]).subs(ROUNDS, log(R, 2))}
        },
    },
)
def times_are_counted(claim=TIMES):
    """The clock of the last rank, by each exchange."""
    residuals = []
    for ranks in (2, 3, 4, 5, 6, 7, 8, 9, 33):
        sizes = Fraction(7), Fraction(3), Fraction(50), Fraction(11)
        at = dict(zip((ell, w, B_S, B_F), map(Rational, sizes), strict=True)) | {R: ranks}
        for how, formula in claim.items():
            residuals.append(Rational(exchange_time(how, ranks, *sizes)) - formula.subs(at))
    for number, formula in enumerate(claim.values()):
        on_page("eq-exchange-times", formula, of=number, letters={ell: r"\ell"})
    return residuals


def rank_bytes(how, ranks, HV, K, V):
    """Of states and maps in float32: what each rank sends, by the package's own count."""
    import torch  # here and below: the clocks need none

    from ..distributed import CPContext
    from ..distributed.cost import bytes_of_pass

    cu_seqlens = torch.tensor([0, 3 * ranks])
    contexts = [CPContext.alone(cu_seqlens, p, ranks, exchange=how) for p in range(ranks)]
    return [bytes_of_pass(cp, HV, K, V, 4) for cp in contexts]


def most_bytes(how, ranks, HV, K, V):
    """The busiest rank's."""
    return max(rank_bytes(how, ranks, HV, K, V))


TREE = B_S * ceiling(log(R - p, 2)) + B_F * ceiling(log(Min(p + 1, R - p), 2))


@verifies(
    "eq-tree-bytes",
    method="enumeration",
    covers="counted by the package for every rank of 2 to 9, 16, 17 and 33",
    mutants={
        "every rank sends in all rounds": {"claim": TREE.subs(log(R - p, 2), log(R, 2))},
        "F in every message": {"claim": (B_S + B_F) * ceiling(log(R - p, 2))},
        "no F": {"claim": B_S * ceiling(log(R - p, 2))},
        "F as long as there are ranks before": {
            "claim": B_S * ceiling(log(R - p, 2)) + B_F * ceiling(log(p + 1, 2))
        },
        "rank 0 sends an F": {
            "claim": TREE.subs(Min(p + 1, R - p), Min(p + 2, R - p)),
        },
    },
)
def tree_bytes_are_counted(claim=TREE):
    """What each rank sends in a forward pass."""
    residuals, (HV, K, V) = [], (2, 3, 5)
    for ranks in (2, 3, 4, 5, 6, 7, 8, 9, 16, 17, 33):
        for rank, sent in enumerate(rank_bytes("tree", ranks, HV, K, V)):
            at = {B_S: 4 * HV * K * V, B_F: 4 * HV * K * K, R: ranks, p: rank}
            residuals.append(sent - claim.subs(at))
    on_page("eq-tree-bytes", claim)
    return residuals


DTYPES = {1: "int8", 2: "bfloat16", 4: "float32", 8: "float64", 16: "complex128"}  # by bytes


def heads_bytes(ranks, tokens, H, HV, K, V, width):
    """What the package's all-to-all sends of one rank's q, k, v, g, beta and o; no one listens."""
    import torch

    from ..distributed import CPContext, heads

    dtype = getattr(torch, DTYPES[width])
    cp = CPContext.alone(torch.tensor([0, tokens]), 0, ranks)
    held = [len(cp.tokens(p)) for p in range(ranks)]
    there = [(H, K, dtype), (H, K, dtype), (HV, V, dtype)] + 2 * [(HV, 1, torch.float32)]
    with patch.object(heads.dist, "all_to_all_single", lambda *given, **options: None):
        for h, size, kind in there:
            heads.exchange(cp, torch.zeros(held[0], h, size, dtype=kind), held, True)
        o = torch.zeros(tokens, HV // ranks, V, dtype=dtype)
        heads.exchange(cp, o, held, False)
    return cp.bytes_sent


def ring_attention_bytes(ranks, tokens, H, d, width):
    """Keys and values go once round, block after block: what one rank sends."""
    blocks = [np.zeros((2, tokens // ranks, H, d, width), np.int8) for _ in range(ranks)]
    sent, seen = [0] * ranks, [{p} for p in range(ranks)]
    for hop in range(1, ranks):
        for p in range(ranks):
            origin = (p - hop + 1) % ranks  # the block that rank p holds now
            sent[p] += blocks[origin].nbytes
            seen[(p + 1) % ranks].add(origin)
    assert all(len(origins) == ranks for origins in seen)
    return max(sent)


BYTES = {
    "ring": 4 * H_v * d_k * d_v,
    "all-gather": 4 * (R - 1) * H_v * d_k * (d_v + d_k),
    "heads": (R - 1) * T / R**2 * (2 * b * (H_k * d_k + H_v * d_v) + 8 * H_v),
    "ring attention": (R - 1) * T / R * 2 * b * H_c * d_a,
}


@verifies(
    "eq-exchange-bytes",
    method="enumeration",
    covers="counted by the package, and block by block; 2 to 4 ranks",
    mutants={
        "a state for each token": {"claim": BYTES | {"ring": BYTES["ring"] * T}},
        "a state to every other rank": {"claim": BYTES | {"ring": BYTES["ring"] * (R - 1)}},
        "no F": {"claim": BYTES | {"all-gather": 4 * (R - 1) * H_v * d_k * d_v}},
        "F for key heads": {
            "claim": BYTES | {"all-gather": 4 * (R - 1) * d_k * (H_v * d_v + H_k * d_k)}
        },
        "all of one's tokens": {"claim": BYTES | {"heads": BYTES["heads"] * R / (R - 1)}},
        "no way back": {
            "claim": BYTES | {"heads": BYTES["heads"] - (R - 1) * T / R**2 * b * H_v * d_v}
        },
        "keys alone": {"claim": BYTES | {"ring attention": BYTES["ring attention"] / 2}},
        "all blocks": {"claim": BYTES | {"ring attention": 2 * b * T * H_c * d_a}},
    },
)
def bytes_are_counted(claim=BYTES):
    """What the busiest rank sends in a forward pass."""
    residuals = []
    for ranks, width, K, V in product((2, 3, 4), (1, 2, 4), (3, 5), (2, 6)):
        tokens, H, HV = 6 * ranks, ranks, 2 * ranks
        at = {R: ranks, b: width, d_k: K, d_v: V, H_k: H, H_v: HV, T: tokens, H_c: 3, d_a: V + 1}
        found = {
            "ring": most_bytes("ring", ranks, HV, K, V),
            "all-gather": most_bytes("all_gather", ranks, HV, K, V),
            "heads": heads_bytes(ranks, tokens, H, HV, K, V, width),
            "ring attention": ring_attention_bytes(ranks, tokens, 3, V + 1, width),
        }
        residuals += [found[how] - formula.subs(at) for how, formula in claim.items()]
    for number, formula in enumerate(claim.values()):
        on_page("eq-exchange-bytes", formula, of=number)
    return residuals
