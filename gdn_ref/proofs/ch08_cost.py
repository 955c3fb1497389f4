"""Chapter 8: how many products a triangular solve and a triangular inverse take."""

from itertools import combinations

import numpy as np
from sympy import expand, summation, symbols

from .registry import verifies
from .token_forms import ones_below, solve

C, d, i, s = symbols("C d i s", integer=True, positive=True)
PRODUCTS_FOR_INVERSE = C * (C - 1) * (C - 2) / 6


@verifies(
    "eq-inverse-cost",
    method="algebra",
    covers="every C, d",
    mutants={
        "C^2": {"inverse": C**2},
        "C^3/3": {"inverse": C**3 / 3},
        "diagonal counted in the solve": {"solution": C * (C + 1) / 2 * d},
    },
)
def products_summed(inverse=PRODUCTS_FOR_INVERSE, solution=C * (C - 1) / 2 * d):
    """Entry (r, i) of the inverse takes r - i - 1 products; row r of a solve takes (r - 1) d."""
    found = summation(summation(s - i - 1, (i, 1, s - 1)), (s, 1, C))
    found_solution = summation((s - 1) * d, (s, 1, C))
    return [expand(found - inverse), expand(found_solution - solution)]


class Counted:
    """A number that is known to be 0 or 1, or some other number; products of others are counted."""

    products = 0

    def __init__(self, known=None):
        self.known = known

    def __mul__(self, other):
        if 0 in (self.known, other.known):
            return Counted(0)
        if self.known == 1 or other.known == 1:
            return other if self.known == 1 else self
        Counted.products += 1
        return Counted()

    def __add__(self, other):
        if 0 in (self.known, other.known):
            return other if self.known == 0 else self
        return Counted()

    __sub__ = __add__  # zero or not is all that matters here


def counted(known):
    """An array of counted numbers: 0 and 1 are known, anything else is not."""
    return np.vectorize(lambda x: Counted(x if x in (0, 1) else None), otypes=[object])(known)


@verifies(
    "eq-inverse-cost",
    method="polynomial",
    covers="C = 2 to 12, three right-hand sides, counted as they happen",
    mutants={
        "one triple too many": {"inverse": lambda C: C * (C - 1) * (C - 2) // 6 + 1},
        "C^2": {"inverse": lambda C: C * C},
        "one right-hand side": {"solution": lambda C, d: C * (C - 1) // 2},
    },
)
def products_counted(
    inverse=lambda C: len(list(combinations(range(C), 3))),
    solution=lambda C, d: C * (C - 1) // 2 * d,
):
    """Forward substitution, run on numbers that count their own products."""
    residual = []
    for size in range(2, 13):
        A = counted(7 * ones_below(size, -1))
        for right, claim in ((np.eye(size), inverse(size)), (7 + np.zeros((size, 3)), None)):
            Counted.products = 0
            solve(A, counted(right))
            expected = solution(size, 3) if claim is None else claim
            residual.append(Counted.products - expected)
    return residual
