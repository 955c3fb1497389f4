r"""Constants of many digits, and conditions that hardly any value of the draws meets."""

from fractions import Fraction

import numpy as np
import pytest

from gdn_ref.proofs.printed import World
from gdn_ref.proofs.printed.evaluate import Evaluator
from gdn_ref.proofs.printed.gaps import gap
from gdn_ref.proofs.printed.special import (
    constants,
    ends,
    intervals,
    matrices,
    powers,
    unsolved,
)
from gdn_ref.proofs.printed.statements import statements

EIGHTHS = [Fraction(n, 8) for n in range(-8, 25)]
WORLD = World({"a": 1}, {r"\beta": EIGHTHS, "n": range(9)})


@pytest.mark.parametrize(
    "side, special",
    [
        (r"\frac{25469}{36744}", True),
        (r"\frac{2^{-160}}{\ln 2}", False),
        (r"10^{-6}", False),
        (r"-\cos 355", True),
        (r"\cos 2a", False),
        (r"\sqrt{\ln94}+\frac{\ln61}{(\ln73)^2}", True),
        (r"\frac{77}{7\cdot 77\cdot 777}", True),
        (r"1-a^{400}", True),
        (r"a^{-2n}", False),
        (r"\frac{2^{-p}}{\sqrt{8\ln2}}", False),
    ],
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


@pytest.mark.parametrize(
    "side, special",
    [(r"A^3A", True), (r"(I - A)(I + A^2)", False), (r"(A^2)^2", True), (r"\frac{a^5}{2}A", False)],
)
def test_many_powers_of_a_matrix(side, special):
    world = World({"a": 2.0, "A": np.tri(3, k=-1), "I": np.eye(3)})
    ev, stated = Evaluator(world), statements(f"{side} = 2A")
    gap(stated, world, ev)
    assert bool(list(powers(stated, ev))) == special


@pytest.mark.parametrize(
    "side, special",
    [
        (r"\sum_{j=n}^{9} \frac{1}{j^2}", True),
        (r"\prod_{j=1}^{n} j", False),
        (r"\sum_{j=n}^{m} j", False),
    ],
)
def test_a_sum_that_ends_at_a_number(side, special):
    assert bool(list(ends(statements(f"a = {side}")))) == special


@pytest.mark.parametrize(
    "condition, special",
    [
        (r"n^2 = 4", True),
        (r"n = n^2", True),
        (r"|n - 1| = |n - 3|", True),
        (r"a + 1 = n", False),
        (r"a = 1", False),
        (r"A^2 = A", False),
        (r"x \perp Ax", True),
        (r"Ax \perp -Ax", True),
        (r"x \perp Ay", False),
    ],
)
def test_a_condition_says_what_a_letter_is(condition, special):
    """Of numbers, or of what is across what; matrices are asked of the data alone."""
    world = WORLD.with_letters({"A": np.eye(3), "x": np.zeros((3, 1)), "y": np.ones((3, 1))})
    ev, stated = Evaluator(world), statements(rf"a = 1 \quad \text{{if }} {condition}")
    gap(stated, world, ev)
    assert bool(list(unsolved(stated, ev))) == special


@pytest.mark.parametrize(
    "claim, special",
    [
        (r"a = \mathbf{I}", True),
        (r"n = \begin{cases} n & n > 0 \\ \mathbf{0} & n = 0 \end{cases}", True),
        (r"A = \mathbf{I}", False),
        (r"a = \frac{\mathbf{I}}{a}", True),
        (r"a, A = \mathbf{I}, \mathbf{I}", True),
        (r"A, a = \mathbf{I}, 1", False),
        (r"a = |\mathbf{I}|", True),
        (r"A = a\,\mathbf{I}", False),
        (r"Ax = \boldsymbol{0}", False),
    ],
)
def test_a_matrix_stands_for_no_number(claim, special):
    world = WORLD.with_letters({"A": np.eye(3), "x": np.zeros((3, 1))})
    ev, stated = Evaluator(world), statements(claim)
    gap(stated, world, ev)
    assert bool(list(matrices(stated, ev))) == special
