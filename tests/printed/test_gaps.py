r"""How far printed statements are from holding: equalities, bounds, conditions, premises."""

from fractions import Fraction

import numpy as np
import pytest

from gdn_ref.proofs.printed import Depends, Refused, World, entries, listed
from gdn_ref.proofs.printed.evaluate import Evaluator
from gdn_ref.proofs.printed.gaps import FAIL, PASS, gap
from gdn_ref.proofs.printed.numbers import Residue
from gdn_ref.proofs.printed.statements import statements
from gdn_ref.proofs.printed.values import NotExact

S = [np.array([[1.0, 2.0], [3.0, 4.0]]) * 2**t for t in range(4)]
LETTERS = {
    "a": 2, "b": 3, "x_": entries([1, 4, 9]), "y_": entries([1, 2, 3]), "z": 2 + 1e-4,
    r"\mathbf{S}_": listed(S, 0), r"\boldsymbol{k}": np.array([[1], [-2]]),
    r"\boldsymbol{q}": np.array([[2], [1]]), "s": Depends(lambda at: at["t"] ** 2), "value": 6,
    "one": 2, "other": 3, "value 1": 2, "value 2": 3, "f": lambda x: 3 * x, "d_k": 2, "n": 2,
}  # fmt: skip
WORLD = World(LETTERS, {letter: range(1, 4) for letter in "ijt"})


def off(tex, world=WORLD):
    return gap(statements(tex), world)


@pytest.mark.parametrize(
    "tex",
    [
        "ab = 6",
        "ab = 6 = 2b",
        "y_i^2 = x_i",
        "s = x_t",
        r"\mathbf{S}_t = 2\,\mathbf{S}_{t-1}",
        r"\mathbf{S}_t \in \mathbb{R}^{d_k\times n}",
        r"\mathbf{S}_t, \mathbf{S}_0 \in \mathbb{R}^{d_k\times n}",
        r"\boldsymbol{k} \in \mathbb{R}^a",
        r"(a,\ \mathbf{S}_1) = (2,\ 2\,\mathbf{S}_0)",
        r"\boldsymbol{k}\boldsymbol{k}^\top = \begin{pmatrix} 1 & -2 \\ -2 & 4 \end{pmatrix}",
        "y_i y_j = y_j y_i",
        r"y_i \le x_i",
        r"y_i \le x_i \le 9",
        r"x_3 \ge x_i",
        r"x_i = 1 \quad (i < 2)",
        r"i = 2 \ \Longrightarrow\ x_i = 4",
        r"i = 2:\quad x_i = 4, \quad y_i = 2",
        r"\|\boldsymbol{k}\|^2 = 5 \quad \text{if } \boldsymbol{k} \perp \boldsymbol{q}",
        r"a \approx z",
        "ab",
        r"\text{one:}\quad a \\ \text{other:}\quad b",
        "a, \\quad b",
        "f(a + 1) = 9",
    ],
)
def test_what_holds(tex):
    assert off(tex, World(LETTERS, WORLD.ranges, about=1e-3)) == 0


@pytest.mark.parametrize(
    "tex",
    [
        "ab = 5",
        "ab = 6 = 2a",
        "y_i^3 = x_i",
        "s = y_t",
        r"\mathbf{S}_t = \mathbf{S}_t^\top",
        r"\mathbf{S}_t \in \mathbb{R}^{d_k\times b}",
        r"\mathbf{S}_t, \boldsymbol{k} \in \mathbb{R}^{d_k\times n}",
        r"\boldsymbol{k} \in \mathbb{R}^b",
        r"x_i \le y_i",
        r"y_i < x_i",
        r"x_i = 1 \quad (i \le 2)",
        r"i \ne 2 \ \Longrightarrow\ x_i = 4",
        r"a = z",
        "a + b",
        r"\text{one:}\quad b \\ \text{other:}\quad a",
        "b, \\quad a",
        "f(a) = 7",
        r"a + 1 = b, \quad a = b",
    ],
)
def test_what_fails_by_number(tex):
    assert off(tex) > FAIL


@pytest.mark.parametrize(
    "tex, message",
    [
        ("a = q", "no value for q"),
        (r"\mathbf{S}_t = \mathbf{S}_{t+1} - \mathbf{S}_t", "no index 4"),
        (r"\mathbf{S}_t = \boldsymbol{k}", "sides of shapes"),
        (r"\mathbf{S}_1 \le \mathbf{S}_2", "an order of what is no number"),
        ("x_i = x_{i}", "both sides are the same"),
        (r"a + 1 = b, \quad a = a", "both sides are the same"),
        (r"x_i = 7 \quad (i > 3)", "nothing is claimed"),
        (r"a = b \quad \text{if } b \ne 3", "nothing is claimed"),
        (r"a = 3 \ \Longrightarrow\ b = 4", "nothing is claimed"),
        (r"\text{inverse:}\quad a", "no value 'inverse'"),
        ("a, \\quad b, \\quad a", "no value 'value 3'"),
        (r"a \perp b", "no claim is made by"),
        (r"a \ne b", "no claim is made by"),
        (r"a = 2 \quad \text{if } a \approx 2", "no condition is made by"),
    ],
)
def test_what_is_refused(tex, message):
    with pytest.raises(Refused, match=message):
        off(tex)


@pytest.mark.parametrize(
    "tex, near, holds",
    [
        (r"x_i \le 9", 0, True),
        (r"x_i \le 10", 0.5, False),  # true, and never close
        (r"x_i \ge 1", 0, True),
        (r"x_i \ge 0", 0.5, False),
        (r"x_i < 10", 0.11, True),
        (r"x_i < 10", 0.09, False),
        (r"x_i < 9", 0.5, False),
        (r"10 > x_i", 0.11, True),
        (r"a \approx b", 0.5, False),  # no bound
    ],
)
def test_a_bound_is_attained_or_comes_near(tex, near, holds):
    assert (off(tex, World(LETTERS, WORLD.ranges, near=near)) <= FAIL) is holds


@pytest.mark.parametrize("tex, about, holds", [("b", 0.4, True), ("b", 0.3, False), ("2", 0, True)])
def test_an_approximation_is_one_in_each_case(tex, about, holds):
    world = World(LETTERS, WORLD.ranges, about=about)
    assert (off(rf"a \approx {tex}", world) <= FAIL) is holds


def test_one_statement_of_several():
    stated = statements("a = b, \\quad a = 2")
    assert gap(stated, WORLD) > FAIL and gap(stated, WORLD, only={0}) > FAIL
    assert gap(stated, WORLD, only={1}) == 0


def test_the_cases_that_a_claim_speaks_of():
    evaluator = Evaluator(WORLD)
    gap(statements(r"y_i y_j = y_j y_i \quad (i < j)"), WORLD, evaluator)
    assert len(evaluator.cases[0]) == 3


def test_small_errors_count_over_all_cases():
    """Float64 cancels: an error counts relative to the size of the sides over all cases."""
    values = World({"x_": entries([1.0, 1e-3]), "y_": entries([1.0, 1e-3 + 5e-10])}, {"i": [1, 2]})
    assert off("x_i = y_i", values) < PASS < off("x_i = y_i \\quad (i > 1)", values)
    values = World({"x_": entries([1e12, 1.0]), "y_": entries([1e12, 2.0])}, {"i": [1, 2]})
    assert off("x_i = y_i", values) > FAIL


def test_exact_numbers_are_equal_or_not():
    tiny = Fraction(1, 10**40)
    assert off("x = y", World({"x": 1 + tiny, "y": Fraction(1)})) == 1
    assert off("x = 3y", World({"x": Residue(6), "y": Residue(2)})) == 0
    with pytest.raises(NotExact):
        off(r"x \le y", World({"x": Residue(6), "y": Residue(2)}))
