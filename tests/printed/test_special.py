r"""Constants of many digits, and conditions that hardly any value of the draws meets."""

from fractions import Fraction

import pytest

from gdn_ref.proofs.printed import World
from gdn_ref.proofs.printed.evaluate import Evaluator
from gdn_ref.proofs.printed.special import constants, intervals
from gdn_ref.proofs.printed.statements import statements

EIGHTHS = [Fraction(n, 8) for n in range(-8, 25)]
WORLD = World({"a": 1}, {r"\beta": EIGHTHS, "n": range(9)})


@pytest.mark.parametrize(
    "side, special",
    [(r"\frac{25469}{36744}", True), (r"\frac{2^{-160}}{\ln 2}", False), (r"10^{-6}", False)],
)
def test_constants_of_many_digits(side, special):
    assert bool(list(constants(statements(f"a = {side}")))) == special


@pytest.mark.parametrize(
    "condition, special",
    [
        (r"2 \le \beta < \tfrac{17}{8}", True),
        (r"\beta > \tfrac{23}{8}", True),
        (r"1 \le \beta < 2", False),
        (r"\beta = 2", False),
        (r"n > 7", False),
    ],
)
def test_an_interval_contains_more_than_its_ends(condition, special):
    stated = statements(rf"a = 1 \quad \text{{if }} {condition}")
    assert bool(list(intervals(stated, [Evaluator(WORLD)]))) == special
