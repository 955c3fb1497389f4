"""Chapter 3: the chunk form of linear attention and what it costs, as it is printed."""

from fractions import Fraction
from functools import cache
from math import prod
from statistics import harmonic_mean

import numpy as np

from ..ch03_cost import flops, traffic
from .check import printed
from .memory import chunks
from .values import Depends, Family, Refused
from .world import World

LOOP = "gdn_ref.linear_attention.step, token by token"
COUNT = {"arithmetic": "counted"}


def masks(draw):
    """Token t sees token i if i <= t."""
    letters = {
        r"\mathbf{M}_": Family(lambda T: np.less_equal.outer(np.arange(T), np.arange(T)).T + 0),
        r"\mathbf{1}": Depends(lambda at: np.ones((at["C"], at["C"]), dtype=int)),
    }
    return World(letters, ranges={"C": range(1, 9)})


printed("eq-mask-blocks", masks, against="which tokens see which", **COUNT)
printed("eq-chunk-states eq-linear-attention-chunk", chunks, against=LOOP)


def mean_width(d_k, d_v):
    return harmonic_mean([Fraction(d_k), Fraction(d_v)])


@cache
def costs(draw):
    """FLOPs of the package's code on numbers that count, bytes of its arguments and results."""
    draw = draw.anew()
    C, N, d_k, d_v = draw.sizes(4, 2, 7)
    b, b_S = draw.widths(*draw.sizes(2, 1, 9))
    T = N * C

    def moved(state_bytes):
        return traffic(T, d_k, d_v, C, b, state_bytes)

    chunked = Fraction(flops("chunk", T, d_k, d_v, C))
    letters = {
        "T": T, "C": C, "d_k": d_k, "d_v": d_v, "b": b, "b_S": b_S, r"\bar d": mean_width(d_k, d_v),
        r"F_\text{rec}": flops("recurrent", T, d_k, d_v), r"F_\text{chunk}": chunked,
        r"F_\text{par}": flops("parallel", T, d_k, d_v), "bytes": moved(b_S),
        r"I_\text{memory}": chunked / moved(2 * b), r"I_\text{chip}": chunked / moved(0),
    }  # fmt: skip
    return World(letters)


FLOPS, BYTES = "counted products of the code", "counted arguments and results of each chunk"
printed("eq-flops-recurrent eq-flops-parallel", costs, against=FLOPS, **COUNT)
LOOP = {r"F_{rec} for 4Td_{k}d_{v}": "that is the work of the loop: eq-flops-recurrent"}
printed("eq-flops-chunk", costs, against=FLOPS, equal=LOOP, **COUNT)
TIED = r"d_k F_\text{rec} F_\text{chunk} F_\text{par}"  # by the harmonic mean, and the FLOPs
SOME = dict.fromkeys([r"\bar{d}", r"F_{chunk}"], "sizes and work are positive")
printed("eq-flops-crossover", costs, against=FLOPS, tied=TIED, no_value=SOME, **COUNT)
printed("eq-bytes-chunk", costs, against=BYTES, **COUNT)
printed(
    "eq-arithmetic-intensity",
    costs,
    against="counted FLOPs over counted bytes",
    tied="d_k",
    **COUNT,
)


@cache
def chunk_sizes(draw):
    """The time of a token at every chunk size that divides T, counted, at others by the curve
    through what is counted, and the size that is best.

    `\rho` is such that the best size is rational; in one of three draws it is no whole number.
    """
    draw = draw.anew()
    d_k, d_v, b, b_S = draw.sizes(4, 1, 8)
    best = draw.one_of(*(C for C in range(2, 8) if C != mean_width(d_k, d_v)))
    b, b_S, best = draw.widths(b, b_S, best)
    T, rho = 12, best**2 / (mean_width(d_k, d_v) * b_S / 2)
    divisors = [C for C in range(1, T + 1) if T % C == 0]
    work = {C: flops("chunk", T, d_k, d_v, C) for C in divisors}
    time = {C: Fraction(work[C] + rho * traffic(T, d_k, d_v, C, b, b_S), T) for C in divisors}
    others = [*(best + Fraction(n, 8) for n in range(-7, 8)), best * 9]
    time |= dict(zip(others, curve(time, others), strict=True))

    def tau(C):
        if C not in time:
            raise Refused(f"no chunks of {C}")
        return time[C]

    letters = {
        r"C_\ast": of_its_kind(min(time, key=time.get)), r"\tau": tau, r"\rho": rho,
        "b": b, "b_S": b_S, "d_k": d_k, "d_v": d_v, r"\bar d": mean_width(d_k, d_v),
    }  # fmt: skip
    return World(letters, ranges={"C": [*divisors, best, best * 9]})


def of_its_kind(x):
    """A whole number as one."""
    return int(x) if x == int(x) else x


def curve(time, sizes):
    """The times at these sizes, by `x C + y + z / C` through all that are counted: C times it is a
    parabola."""
    at = list(time)[:3]

    def through(C):
        shares = ((x, prod(Fraction(C - y, x - y) for y in at if y != x)) for x in at)
        return sum(share * x * time[x] for x, share in shares) / C

    if any(through(x) != time[x] for x in time):
        raise ValueError("no such curve")
    return [through(C) for C in sizes]


SIZE_BY_SIZE = "FLOPs and bytes, counted size by size, and a curve through them"
printed(
    "eq-best-chunk-size",
    chunk_sizes,
    against=SIZE_BY_SIZE,
    tied="d_k",
    no_value={r"\frac{1}{2}\rho b_{S}\bar{d}": "a ratio of two speeds, and a mean of sizes"},
    **COUNT,
)


def numbers(draw):
    """Any positive numbers."""
    draw = draw.anew()
    return World({letter: draw.number() for letter in ("x", "y", "C", "d_k", "d_v")})


REALS = {"against": "both sides multiplied out", "arithmetic": "float64"}
POSITIVE = "the text: for positive numbers"
printed(
    "eq-complete-square",
    numbers,
    anything="x y C",
    no_value=dict.fromkeys(["C", "xy", "y/x", "x"], POSITIVE),
    **REALS,
)
printed(
    "eq-chunk-storage",
    numbers,
    anything="C d_k d_v",
    no_value=dict.fromkeys(["C", "d_{k}d_{v}"], POSITIVE),
    **REALS,
)
