"""Chapter 12: what the backward pass costs, counted while the code runs."""

from itertools import product

import numpy as np
import sympy as sp

from ..chunking import zero_state
from ..gated_delta_rule import chunk as chunk_forward
from .ch12_form import BACKWARD
from .counting import multiplications
from .page import side
from .registry import verifies
from .token_forms import Chunk

C, d_k, d_v, N, m = sp.symbols("C d_k d_v N m", positive=True)
BACK = side(
    "eq-grad-flops",
    r"\mathrm{FLOPs}_{\text{back}}",
    otherwise=(
        16 * C * d_k * d_v
        + 2 * C**2 * (6 * d_k + 5 * d_v + 6)
        + 12 * C * (d_k + d_v)
        + 6 * d_k * d_v
    ),
)
FORTH = side(
    "eq-grad-flops",
    r"\mathrm{FLOPs}_{\text{forth}}",
    otherwise=6 * C * d_k * d_v
    + C**2 * (4 * d_k + 3 * d_v + 6)
    + C * (2 * d_k + 5 * d_v)
    + 2 * d_k * d_v,
)
KEPT = side("eq-grad-memory", otherwise=N / m + m - 1)
LEAST = side("eq-grad-memory", at=2, otherwise=2 * sp.sqrt(N) - 1)
AGAIN = 2 * C * d_k * d_v + C**2 * (4 * d_k + d_v + 6) + 3 * C * d_v  # scores and E
ROOT = sp.sqrt(N)
SIZES = list(product((1, 2, 3, 5), (1, 2, 3), (1, 2, 4)))  # C, d_k, d_v
BACK_LINES = ("dQ", "dK", "dV", "dbeta", "dS", "dg")
FORTH_LINES = ("O", "S_next")
AGAIN_LINES = ("scores", "E")


def flops(lines, length, keys, values):
    """Twice the products that `lines` of a chunk take, the decays given."""
    names = ("S", "Q", "K", "V", "beta", "gamma", "Gamma", "dO", "dS_next")
    state, wide, narrow = (values, keys), (length, keys), (length, values)
    square, row = (length, length), (length,)
    shapes = (state, wide, wide, narrow, row, row, square, narrow, state)

    def work(*arrays):
        x = Chunk(BACKWARD, **dict(zip(names, arrays, strict=True)))
        for line in lines:
            getattr(x, line)

    return 2 * multiplications(work, *shapes)


@verifies(
    "eq-grad-flops",
    method="enumeration",
    covers="counted, C to 5, d_k to 3, d_v to 4",
    mutants={
        "one product with the state missed": {"back": BACK - 2 * C * d_k * d_v},
        "the transposed solve left out": {"back": BACK - C * (C - 1) * d_v},
        "twice the forward pass": {"back": 2 * FORTH},
        "forward without the decays": {"forth": FORTH - 4 * C**2},
    },
)
def products_of_a_chunk(back=BACK, forth=FORTH, again=AGAIN):
    """Twice the products of the lines backwards, forwards and in both, against the formulas."""
    return [
        flops(lines, *size) - claim.subs(dict(zip((C, d_k, d_v), size, strict=True)))
        for lines, claim in ((BACK_LINES, back), (FORTH_LINES, forth), (AGAIN_LINES, again))
        for size in SIZES
    ]


class Shelf:
    """States that are kept, and the most there were at a time."""

    def __init__(self):
        self.kept, self.most = {}, 0

    def put(self, number, state):
        self.kept[number] = state
        self.most = max(self.most, len(self.kept))

    def take(self, number):
        return self.kept.pop(number)


def visit_backwards(S, parts, forward, segment):
    """Yield the number of each chunk, the last first, the state that it receives, and the shelf.

    The first pass keeps one state in `segment`. The second computes the others again, a segment at
    a time. `forward(S, part)` is the next state.
    """
    shelf = Shelf()
    for n, part in enumerate(parts):
        if n % segment == 0:
            shelf.put(n, S)
        S = forward(S, part)
    for start in reversed(range(0, len(parts), segment)):
        inside = range(start, min(start + segment, len(parts)))
        S = shelf.kept[start]
        for n in inside[1:]:
            S = forward(S, parts[n - 1])
            shelf.put(n, S)
        for n in reversed(inside):
            yield n, shelf.take(n), shelf


def most_states(chunks, segment):
    """The most states at a time on a walk back over `chunks` chunks of one token."""
    tokens = np.random.default_rng(0).normal(size=(3, chunks, 1, 2))
    zeros = np.zeros(1)

    def forward(S, part):
        q, k, v = part
        return chunk_forward(S, q, k, v, zeros, zeros + 0.5)[1]

    parts = list(zip(*tokens, strict=True))
    S, received = zero_state(tokens[1, 0], tokens[2, 0]), []
    for part in parts:
        received.append(S)
        S = forward(S, part)
    most = 0
    for n, state, shelf in visit_backwards(received[0], parts, forward, segment):
        assert (state == received[n]).all()
        most = shelf.most
    return most


@verifies(
    "eq-grad-memory",
    method="enumeration",
    covers="walks over up to 36 chunks, counted",
    mutants={
        "checkpoints alone": {"claim": N / m},
        "the checkpoint counted twice": {"claim": N / m + m},
        "a segment alone": {"claim": m},
    },
)
def states_at_a_time(claim=KEPT):
    """The most states kept on the way back, one checkpoint in m chunks."""
    return [
        most_states(chunks, segment) - claim.subs({N: chunks, m: segment})
        for chunks in (1, 2, 6, 16, 36)
        for segment in range(1, chunks + 1)
        if chunks % segment == 0
    ]


@verifies(
    "eq-grad-memory",
    method="algebra",
    covers="every N",
    part="the least over all m",
    mutants={
        "half of the chunks": {"best": N / 2},
        "the cube root": {"best": N ** sp.Rational(1, 3)},
        "the last state of a segment counted twice": {"least": LEAST + 1},
    },
)
def the_best_segment(best=ROOT, least=LEAST):
    """N/m + m - 1 has slope 0 at m = sqrt N, where it is 2 sqrt N - 1."""
    return [sp.diff(KEPT, m).subs(m, best), KEPT.subs(m, best) - least]
