r"""Chapter 17: packed rows, a state handed on, the bytes of a call, roundings of a state.

States come from the token loop, which knows nothing of packed rows; bytes are counted.
"""

from fractions import Fraction
from functools import cache

import numpy as np

from ..ch17_decode import counted, token_flops
from .ch17_states import drift, handed_on, packed, race, rounded
from .check import printed
from .values import Depends, Family, listed
from .world import World

LOOP = "the token loop"


def padded(draw):
    """Rows of a padded batch, one row too, and those that hold no token."""
    lengths = draw.numbers((2, 3, 1, 4, 5, 6, 7)[draw.seed % 7], 1, 9)
    batch = np.arange(max(lengths)) < np.array(lengths)[:, None]  # True: a token
    letters = {
        "padding": Fraction(int((~batch).sum()), batch.size), "L_": listed(lengths),
        "N": len(lengths), r"\bar L": Fraction(int(batch.sum()), len(batch)),
    }  # fmt: skip
    return World(letters, {"n": range(1, len(lengths) + 1)})


def slots(draw):
    """Lengths for which some sizes of a chunk leave no program idle, and others one a sequence."""
    N = (3, 1, 5, 2, 6, 4, 7)[draw.seed % 7]
    wide = draw.one_of(*(x for x in ((5, 4), (7, 3), (9, 2), (8, 5)) if x[0] > N))
    first = next(n for n in range(wide[1], 99, wide[1]) if n % wide[0] == 1)
    lengths = [first + wide[0] * wide[1] * k for k in draw.numbers(N, 0, 2)]

    def of(at):
        """Chunks of other sizes leave programs idle anyhow: for these a sequence is empty."""
        return lengths if at["C"] in wide else [0, *lengths[1:]]

    letters = {
        "L_": Family(lambda n: Depends(lambda at: listed(of(at))[(n,)])), "N": N,
        "T": Depends(lambda at: sum(of(at))),
    }  # fmt: skip
    return World(letters, {"n": range(1, N + 1), "C": range(2 - draw.seed % 2, 10)})


flops = cache(token_flops)


@cache
def call(draw):
    """Bytes of a call; and how many fewer a token they are than with copies for value heads."""
    N, n, H_k, r, d_k, d_v, b, b_S = draw.numbers(8, 1, 5)
    b, b_S = draw.widths(b, b_S)
    given = (n, H_k, H_k * r, d_k, d_v, b, b_S)
    found = counted(N, *given)
    spared = Fraction(counted(1, *given, copies=r) - counted(1, *given), n)
    letters = {
        "N": N,
        "n": n,
        "H_k": H_k,
        "H_v": H_k * r,
        "d_k": d_k,
        "d_v": d_v,
        "b": b,
        "b_S": b_S,
    }
    return World(letters | {"value": found}), World(letters | {"value": spared})


HEADS = [(70 + 10 * (n % 6), 70 + 10 * (n * n // 3 % 6)) for n in range(18)]
HEADS[1] = (290, 270)  # wider than those in use


def intensity(draw):
    """FLOPs over bytes, both counted; heads are wide, so that for few tokens the roof is near."""
    (n, r, b), (b_S,) = draw.numbers(3), draw.numbers(1, 6, 9)
    b, b_S = draw.widths(b, b_S)
    d_k, d_v = HEADS[draw.seed % len(HEADS)]

    found = {
        m: Fraction(m * r * flops(d_k, d_v), counted(1, m, 1, r, d_k, d_v, b, b_S))
        for m in (n, 4 * n)
    }
    letters = {
        r"I_\text{decode}": Depends(lambda at: found[at["n"]]), "r": r, "d_k": d_k, "d_v": d_v,
        "b": b, "b_S": b_S,
    }  # fmt: skip
    return World(letters, {"n": list(found)}, near=0.12)


def nearest(p, tie):
    """Rounding to p significant bits; `tie` decides between two that are just as near."""

    def fl(x):
        size, spacing = abs(Fraction(x)), Fraction(1)
        if size == 0:
            return Fraction(0)
        while size / spacing >= 2**p:
            spacing *= 2
        while size / spacing < 2 ** (p - 1):
            spacing /= 2
        m, rest = divmod(size / spacing, 1)
        m += rest > Fraction(1, 2) or (rest == Fraction(1, 2) and tie(m))
        return m * spacing * (1 if x > 0 else -1)

    return fl


def stalls(draw):
    """All significands, both signs; decays around the bound, and far below; whichever way ties
    go."""
    p = 2 + draw.seed % 5
    bound = Fraction(1, 2 ** (p + 1))
    shares = [Fraction(n, 1000) for n in (500, 700, 999, 1000, 1001, 1400, 2000)]
    ties = [lambda m: m % 2 == 1, lambda m: False]  # to even, down
    return World(
        {"p": p},
        {
            "x": [m * e for m in range(2 ** (p - 1), 2**p) for e in (1, Fraction(-1, 64))],
            r"\alpha": [1 - bound * share for share in shares] + [Fraction(1, 2), bound / 2],
            r"\mathrm{fl}": [cache(nearest(p, tie)) for tie in ties],
        },
    )


COUNTED = {"arithmetic": "counted"}

printed("eq-packed-mask eq-packed-leak", packed, against=LOOP)
printed("eq-padding-share", padded, against="rows of a padded batch, counted", **COUNTED)
printed("eq-packed-slots", slots, against="lengths and chunks of many sizes", **COUNTED)
printed("eq-prefill-decode", handed_on, against="the token loop and the chunk form")
printed("eq-decode-bytes", lambda draw: call(draw)[0], against="bytes, counted", **COUNTED)
printed("eq-grouped-bytes", lambda draw: call(draw)[1], against="bytes, counted", **COUNTED)
printed("eq-decode-intensity", intensity, against="counted FLOPs over counted bytes", **COUNTED)
SECOND, BY_ITS_MAP = r"\mathbf{S}_{2}", r"\mathbf{S}\mathbf{F}_{2} + \mathbf{G}_{2}"
printed(
    "eq-slot-race",
    race,
    against=LOOP,
    equal=dict.fromkeys(
        [f"{SECOND} for {BY_ITS_MAP}", f"{BY_ITS_MAP} for {SECOND}"],
        "what the second set of tokens makes of S alone",
    ),
)
printed("eq-drift-sum", rounded, against=LOOP)
printed(
    "eq-drift-mean",
    drift,
    against="every case of keys and roundings, computed",
    no_value={r"1 - \lambda^{n}": "the text: below one"},
)
printed(
    "eq-decay-stalls",
    stalls,
    against="rounding of exact fractions",
    arithmetic="counted",
    equal={r"without \alpha": "a number of p significant bits is its own rounding"},
    few={"p": "all numbers of p bits are rounded"},
)
