"""Chapter 14: programs that share a sequence, silent up to their own chunks: where each speaks."""

import numpy as np
import sympy as sp

from .ch14_kernels import heads, scan, transform
from .ch14_segments import last_state
from .data import worst
from .page import side
from .registry import verifies

P, p = sp.symbols("P p", integer=True, positive=True)
eta = sp.symbols("eta", positive=True)
x, HALF = 1 - eta, sp.Rational(1, 2)
BY = {"x": x, "P": P, "p": p, "eta": eta}
SHARE = side("eq-share-of-chunks", "a_p", otherwise=(1 - x**p) / (1 - x**P), **BY)  # of the chunks
WALK = side("eq-share-of-chunks", "t", otherwise=eta / (1 - x**P), **BY)  # of one program's time


@verifies(
    "eq-share-of-chunks",
    method="algebra",
    covers="every P, p and eta; the limit of many programs at eta = 1/2 and 3/8",
    mutants={
        "one program too early": {"share": SHARE.subs(p, p - 1)},
        "one program too many": {"share": SHARE.subs(P, P + 1), "walk": WALK.subs(P, P + 1)},
        "eta and 1 - eta swapped": {
            "share": SHARE.subs(eta, 1 - eta),
            "walk": WALK.subs(eta, 1 - eta),
        },
        "the same share for each": {"share": p / P},
        "silence costs nothing": {"walk": 1 / P},
        "one program is slower": {"walk": WALK / eta},
    },
)
def all_end_together(share=SHARE, walk=WALK):
    """Silent for the first share, then outputs up to the next: each program takes `walk`.

    All chunks are shared out. One program takes 1; where a silent chunk takes as long as any
    other, so do many; and the more programs, the nearer to eta.
    """
    own = share.subs(p, p + 1) - share
    many = [sp.limit(walk.subs(eta, part), P, sp.oo) - part for part in (HALF, 3 * HALF / 4)]
    return [
        eta * share + own - walk,
        share.subs(p, 0),
        share.subs(p, P) - 1,
        walk.subs(P, 1) - 1,
        walk.subs(eta, 1) - 1,
        *many,
    ]


@verifies(
    "eq-share-of-chunks",
    method="algebra",
    covers="1 to 6 programs, any division among them and any eta",
    part="no division of the chunks is faster",
    mutants={
        "the same weight for each": {"weight": sp.Integer(1)},
        "later programs weigh more": {"weight": x**p},
        "the walk of one program more": {"walk": WALK.subs(P, P + 1)},
    },
)
def no_division_is_faster(weight=x ** (P - 1 - p), walk=WALK):
    """The programs' times, weighted, add up to 1, however chunks are divided; so the longest
    cannot be less than 1 over the sum of the weights."""
    residuals = []
    for programs in range(1, 7):
        ends = [0, *sp.symbols(f"b1:{programs}"), 1]  # of each program's share
        times = [eta * a + (b - a) for a, b in zip(ends, ends[1:], strict=False)]
        weights = [weight.subs(p, j).subs(P, programs) for j in range(programs)]
        total = sum(a * b for a, b in zip(weights, times, strict=True))
        residuals.append(sp.expand(total - 1))
        residuals.append(sp.cancel(walk.subs(P, programs) * sum(weights) - 1))
    return residuals


def start(S, k, v, c, UT, silent, C):
    """The state before the first chunk with outputs, as a silent program finds it."""
    return last_state(*(y[:, : silent * C] for y in (k, v, c, UT)), S, C) if silent else S


@verifies(
    "eq-share-of-chunks",
    method="float64",
    covers="2 key and 4 value heads, 6 chunks, 1 to 3 programs",
    part="no times: programs that are silent at first give what one scan gives",
    mutants={
        "silent programs without decay": {
            "begin": lambda S, k, v, c, *rest: start(S, k, v, 0 * c, *rest)
        },
        "each starts from the first state": {"begin": lambda S, *rest: S},
    },
)
def shares_are_exact(begin=start):
    """Every program walks from the first chunk; together they give what one scan gives."""
    C, inputs = 4, heads(24, 2, 4, 6, 5)
    made = transform(inputs["k"], inputs["g"], inputs["beta"], C=C)
    k, v, c, UT = inputs["k"].repeat(2, axis=0), inputs["v"], made["c"], made["UT"]
    right = scan(*(inputs[y] for y in "qkv"), **made, S=inputs["S"], C=C)
    errors = []
    for ends in ((0, 6), (0, 4, 6), (0, 3, 5, 6)):
        O = []
        for a, b in zip(ends, ends[1:], strict=False):
            S = begin(inputs["S"], k, v, c, UT, a, C)
            own = slice(a * C, b * C)
            parts = (y[:, own] for y in (inputs["q"], inputs["k"], v, c, UT))
            found = scan(*parts, S, C=C)
            O.append(found["o"])
        errors.append(worst((np.concatenate(O, axis=1), found["S_last"]), tuple(right.values())))
    return max(errors)
