"""Checks of chapter 5: what a step of the delta rule costs."""

from itertools import product

from sympy import symbols

from gdn_ref import delta_rule

from .counting import multiplications
from .page import side
from .registry import verifies

d_k, d_v = symbols("d_k d_v", positive=True)
DELTA = side("eq-delta-multiplications", otherwise=3 * d_k * d_v + d_v)


def multiplications_of_a_step(d_v, d_k):
    """How many scalar multiplications the package's own step does."""
    return multiplications(delta_rule.step, (d_v, d_k), (d_k,), (d_k,), (d_v,), ())


@verifies(
    "eq-delta-multiplications",
    method="enumeration",
    covers="counted, d_k, d_v to 6",
    mutants={
        "no read before the write": {"claim": 2 * d_k * d_v},
        "beta times the key": {"claim": DELTA - d_v + d_k},
        "beta times the write": {"claim": DELTA - d_v + d_k * d_v},
    },
)
def multiplications_per_token(claim=DELTA):
    """Read, scale by beta, write, read out; counted while the code runs."""
    return [
        multiplications_of_a_step(n, m) - claim.subs({d_k: m, d_v: n})
        for m, n in product(range(1, 7), repeat=2)
    ]
