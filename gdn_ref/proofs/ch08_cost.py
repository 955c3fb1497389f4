"""Chapter 8: how many products a triangular solve and a triangular inverse take."""

from itertools import combinations

import numpy as np
from sympy import expand, summation, symbols

from .counting import known, multiplications
from .page import on_page, side
from .registry import verifies
from .token_forms import solve

C, d, i, s = symbols("C d i s", integer=True, positive=True)
PRODUCTS_FOR_INVERSE = side("eq-inverse-cost", "inverse", otherwise=C * (C - 1) * (C - 2) / 6, C=C)


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


@verifies(
    "eq-inverse-cost",
    method="enumeration",
    covers="C = 2 to 12, three right-hand sides, counted as they happen",
    mutants={
        "one product too many": {"inverse": lambda C: C * (C - 1) * (C - 2) // 6 + 1},
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
        inverted = multiplications(lambda A: solve(A, known(np.eye(len(A)))), (size, size))
        solved = multiplications(solve, (size, size), (size, 3))
        residual += [inverted - inverse(size), solved - solution(size, 3)]
    on_page("eq-inverse-cost", lambda at: solution(at("C"), at("d")))
    on_page("eq-inverse-cost", lambda at: inverse(at("C")), of=1)
    return residual
