"""Chapter 17: what is left of the roundings of a state, and the decay that rounding undoes."""

from fractions import Fraction
from functools import reduce
from operator import matmul

import numpy as np
import sympy as sp

from . import modular
from .ch17_packed import part, transitions
from .page import on_page
from .registry import verifies
from .token_forms import modular_tokens, recurrence

CALLS = 7


@verifies(
    "eq-drift-sum",
    method="modular",
    covers="7 calls of 3 tokens, any roundings, d_k = 8, d_v = 6",
    mutants={
        "nothing fades": {"later": lambda j: CALLS},
        "its own call counts, too": {"later": lambda j: j - 1},
        "the last rounding is forgotten": {"calls": CALLS - 1},
    },
)
def roundings_travel(later=lambda j: j, calls=CALLS):
    """State rounded after each call minus the state that never was; the sum over roundings."""

    def travelled(R, F):
        """Each rounding, through the maps of the calls after its own."""
        total = 0 * R[0]
        for j, rounding in enumerate(R[:calls], 1):
            total = total + reduce(matmul, F[later(j) :], rounding)
        return total

    def printed(at):
        names = r"\mathbf{{R}}_{{{}}}", r"\mathbf{{F}}_{{({})}}"
        until = range(1, at("J") + 1)
        return travelled(*([at(name.format(j)) for j in until] for name in names))

    on_page("eq-drift-sum", printed)
    x = modular_tokens(C=3 * CALLS, d_k=8, d_v=6, number_of_chunks=1)
    rng = np.random.default_rng(5)
    roundings = [modular.random(rng, 6, 8) for _ in range(CALLS)]
    S = x.S
    for j in range(CALLS):
        S = recurrence(part(x, 3 * j, 3 * j + 3, S))[2] + roundings[j]
    maps = [transitions(part(x, 3 * j, 3 * j + 3, 0), 3) for j in range(CALLS)]
    return (S - recurrence(x)[2] - travelled(roundings, maps)).residues


alpha, beta, d, rho, lam = sp.symbols("alpha beta d rho lambda", positive=True)


def shrink(width, factor):
    """Mean of |x F|^2 over the keys of a basis, minus factor |x|^2, for F = alpha (I - beta k k^T).

    A basis has the same mean as all directions: the mean of k k^T is I / d for both.
    """
    x = sp.Matrix(1, width, sp.symbols(f"x:{width}"))
    total = 0
    for i in range(width):
        k = sp.eye(width)[:, i]
        y = alpha * x * (sp.eye(width) - beta * k * k.T)
        total += (y * y.T)[0]
    return sp.expand(total / width - factor.subs(d, width) * (x * x.T)[0])


LAMBDA = alpha**2 * (1 - beta * (2 - beta) / d)


@verifies(
    "eq-drift-mean",
    method="polynomial",
    covers="d_k = 2 and 3, every decay and strength; the sum for 1 to 4 calls of 1 and 2 tokens",
    mutants={
        "the decay not squared": {"factor": LAMBDA / alpha},
        "every direction is erased": {"factor": alpha**2 * (1 - beta) ** 2},
        "one call more": {"total": lambda J, n: rho**2 * (1 - lam ** (n * (J + 1))) / (1 - lam**n)},
        "a call shrinks it like one token": {
            "total": lambda J, n: rho**2 * (1 - lam**J) / (1 - lam)
        },
        "roundings add up like the worst": {
            "total": lambda J, n: (rho * (1 - lam ** (n * J)) / (1 - lam**n)) ** 2
        },
    },
)
def mean_of_the_drift(
    factor=LAMBDA, total=lambda J, n: rho**2 * (1 - lam ** (n * J)) / (1 - lam**n)
):
    """One token's shrinkage, and the mean square after J calls of n tokens that shrink by lam."""
    residuals = [shrink(width, factor) for width in (2, 3)]
    for n in (1, 2):
        square = sp.Integer(0)
        for J in range(1, 5):
            square = lam**n * square + rho**2
            residuals.append(sp.cancel(square - total(J, n)))
    letters = {rho: r"\epsilon", lam: r"\lambda", alpha: r"\alpha", beta: r"\beta", d: "d_k"}
    J, n = sp.symbols("J n")
    on_page("eq-drift-mean", total(J, n), letters=letters)
    on_page("eq-drift-mean", factor, of=1, letters=letters)
    return residuals


def rounded(x, bits):
    """A positive fraction to the nearest number of `bits` significant bits, ties to even."""
    spacing = Fraction(1)
    while x / spacing >= 2**bits:
        spacing *= 2
    while x / spacing < 2 ** (bits - 1):
        spacing /= 2
    return round(x / spacing) * spacing


def truncated(x, bits):
    spacing = Fraction(1)
    while x / spacing >= 2**bits:
        spacing *= 2
    while x / spacing < 2 ** (bits - 1):
        spacing /= 2
    return (x / spacing).__floor__() * spacing


@verifies(
    "eq-decay-stalls",
    method="enumeration",
    covers="all significands of bfloat16 and float16, in exact fractions",
    mutants={
        "below u": {"below": Fraction(1)},
        "a little above u / 2": {"below": Fraction(1, 2) + Fraction(1, 200)},
    },
    inputs={"cut off, not rounded": {"fl": truncated}},
)
def nothing_fades(below=Fraction(1, 2), fl=rounded):
    """How many numbers change, decayed by a little less than the bound; all powers of two alike."""
    p = lambda at: int(at("p"))
    decayed = lambda at: fl(abs(Fraction(at(r"\alpha x"))), p(at)) * (1 if at("x") > 0 else -1)
    on_page("eq-decay-stalls", decayed, lambda at: at("x"))
    changed = 0
    for bits in (8, 11):
        loss = below * Fraction(1, 2**bits) * Fraction(999, 1000)
        for m in range(2 ** (bits - 1), 2**bits):
            changed += fl(m * (1 - loss), bits) != m
    return changed
