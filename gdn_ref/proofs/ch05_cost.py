"""Checks of chapter 5: what a step of the delta rule costs."""

from itertools import product

from gdn_ref import delta_rule

from .counting import multiplications
from .registry import verifies


def multiplications_of_a_step(d_v, d_k):
    """How many scalar multiplications the package's own step does."""
    return multiplications(delta_rule.step, (d_v, d_k), (d_k,), (d_k,), (d_v,), ())


@verifies(
    "eq-delta-multiplications",
    method="enumeration",
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
