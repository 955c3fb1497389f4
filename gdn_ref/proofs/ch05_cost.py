"""Checks of chapter 5: what a step of the delta rule costs."""

from itertools import product

import numpy as np

from gdn_ref import delta_rule

from .ch01_cost import Counted
from .registry import verifies


class Subtracted(Counted):
    """A number that counts multiplications and can be subtracted."""

    def __sub__(self, other):
        return self


def multiplications_of_a_step(d_v, d_k):
    """How many scalar multiplications the package's own step does."""
    shapes = ((d_v, d_k), (d_k,), (d_k,), (d_v,), ())
    arrays = [np.full(shape, Subtracted(), dtype=object) for shape in shapes]
    Counted.total = 0
    delta_rule.step(*arrays)
    return Counted.total


@verifies(
    "eq-delta-multiplications",
    method="polynomial",
    covers="counted, d_k, d_v to 6",
    mutants={
        "no read before the write": {"claim": lambda m, n: 2 * m * n},
        "beta times the key": {"claim": lambda m, n: 3 * m * n + m},
        "beta times the write": {"claim": lambda m, n: 4 * m * n},
    },
)
def multiplications_per_token(claim=lambda m, n: 3 * m * n + n):
    """Read, scale by beta, write, read out; counted while the code runs."""
    return [
        multiplications_of_a_step(n, m) - claim(m, n) for m, n in product(range(1, 7), repeat=2)
    ]
