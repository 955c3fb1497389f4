r"""The altered forms of a display: which are made, and what is said of those that hold."""

import numpy as np
import pytest

from gdn_ref.proofs.printed import Draw, World, columns, entries
from gdn_ref.proofs.printed.altered import EQUAL
from gdn_ref.proofs.printed.evaluate import Evaluator
from gdn_ref.proofs.printed.gaps import gap
from gdn_ref.proofs.printed.mutate import KINDS, mutants
from gdn_ref.proofs.printed.statements import statements
from gdn_ref.proofs.printed.tree import render

DRAW = Draw(False, 0)
LETTERS = {
    "a": 6, "b": 3, "c": 2, "f": lambda x: x, "x_": entries([1, 2, 4]), "y_": entries([1, 3, 7]),
    "p_": entries(DRAW.array(3, 3)), **{rf"\mathbf{{{x}}}": DRAW.array(2, 2) for x in "SF"},
    r"\boldsymbol{k}_": columns(DRAW.array(3, 2)), r"\boldsymbol{q}_": columns(DRAW.array(3, 2)),
}  # fmt: skip


def altered(tex, known=LETTERS):
    """`kind: what` of each altered form, and the altered statements."""
    world = World({**known}, {letter: range(1, 4) for letter in "irj"})
    evaluator, stated = Evaluator(world), statements(tex)
    assert gap(stated, world, evaluator) == 0
    return [(f"{edit.kind}: {edit.what}", forms) for edit, forms in mutants(stated, evaluator)]


def listed(tex, *letters):
    known = {key: value for key, value in LETTERS.items() if key.rstrip("_") in letters}
    return [what for what, _ in altered(tex, known)]


def test_numbers_and_signs():
    assert listed("a = 2b", "a", "b") == [
        "letter: b for a",
        "factor: without 2",
        "factor: without b",
        "number: 3 for 2",
        "letter: a for b",
    ]
    assert listed("a - c = 4", "a", "c") == [
        "sign: sign of a",
        "term: without a",
        "sign: sign of c",
        "term: without c",
        "letter: c for a",
        "letter: a for c",
        "number: 5 for 4",
    ]


def test_fractions_powers_and_functions():
    assert listed(r"\frac{a}{b} = 2", "a", "b") == [
        "factor: not divided by b",
        r"form: \frac{a}{b} turned",
        "letter: b for a",
        "letter: a for b",
        "number: 3 for 2",
    ]
    assert listed("b^2 = 9", "b") == [
        "power: no power: b^{2}",
        "number: 3 for 2",
        "number: 10 for 9",
    ]
    assert listed("a/b = 2", "a", "b")[0] == "factor: not divided by b"
    assert listed(r"\max(a, b) = f(6)", "a", "b", "f") == [
        r"form: a for \max(a, b)",
        r"form: b for \max(a, b)",
        "form: min for max",
        "letter: b for a",
        "letter: a for b",
        "number: 7 for 6",
    ]
    assert listed(r"\lceil b/c \rceil = \lfloor b \rfloor - |1|", "b", "c")[0].startswith(
        "form: rounded the other way"
    )
    assert "form: no modulus of |c - b|" in listed("|c - b| = 1", "b", "c")


def test_matrices():
    tex = r"\mathbf{S}\,\mathbf{F}^\top = (\mathbf{F}\,\mathbf{S}^\top)^\top"
    assert listed(tex, r"\mathbf{S}", r"\mathbf{F}") == [
        r"factor: without \mathbf{S}",
        r"factor: without \mathbf{F}^{\top}",
        r"order: \mathbf{S} and \mathbf{F}^{\top} swapped",
        r"letter: \mathbf{F} for \mathbf{S}",
        r"transpose: \mathbf{S} transposed",
        r"letter: \mathbf{S}^{\top} for \mathbf{F}^{\top}",
        r"transpose: \mathbf{F}^{\top} not transposed",
        r"transpose: (\mathbf{F}\mathbf{S}^{\top})^{\top} not transposed",
        r"factor: without \mathbf{F}",
        r"factor: without \mathbf{S}^{\top}",
        r"order: \mathbf{F} and \mathbf{S}^{\top} swapped",
        r"letter: \mathbf{S} for \mathbf{F}",
        r"transpose: \mathbf{F} transposed",
        r"letter: \mathbf{F}^{\top} for \mathbf{S}^{\top}",
        r"transpose: \mathbf{S}^{\top} not transposed",
    ]
    tex = r"\mathbf{S} \odot \mathbf{F} = \mathbf{F} \odot \mathbf{S}"
    assert listed(tex, r"\mathbf{S}", r"\mathbf{F}")[:3] == [
        r"form: a product for \mathbf{S} \odot \mathbf{F}",
        r"factor: without \mathbf{S}",
        r"factor: without \mathbf{F}",
    ]


def test_indices_and_bounds():
    assert listed(r"y_r = \sum_{i=1}^{r} x_i", "x", "y") == [
        "letter: x_{r} for y_{r}",
        "index: y_{r + 1} for y_{r}",
        "index: y_{r - 1} for y_{r}",
        r"bound: first term left out of \sum_{i = 1}^{r}x_{i}",
        r"bound: last term left out of \sum_{i = 1}^{r}x_{i}",
        "letter: y_{i} for x_{i}",
        "index: x_{i + 1} for x_{i}",
        "index: x_{i - 1} for x_{i}",
    ]
    assert listed(r"y_r = \sum_{i \le r} x_i", "x", "y")[3:5] == [
        r"bound: < for \le",
        r"bound: \ge for \le",
    ]
    assert [what for what in listed("0 = p_{ri} - p_{ri}", "p") if "index" in what][:5] == [
        "index: p_{r + 1, i} for p_{ri}",
        "index: p_{r - 1, i} for p_{ri}",
        "index: p_{r, i + 1} for p_{ri}",
        "index: p_{r, i - 1} for p_{ri}",
        "index: p_{ir} for p_{ri}",
    ]


def test_bounds_and_conditions():
    found = listed(r"x_i \le y_i \quad (i < 3)", "x", "y")
    assert found[:2] == [r"bound: < for \le", r"bound: \ge for \le"]
    assert found[-4:] == [
        r"bound: \le for <",
        "bound: > for <",
        "number: 4 for 3",
        "condition: not only where i < 3",
    ]
    implied = listed(r"i = 1 \ \Longrightarrow\ x_i = 1", "x")
    assert "condition: not only where i = 1" in implied
    assert "condition: where x_{i} = 1: i = 1" in implied  # the converse


def test_letters_that_look_alike():
    """The other letter need not stand in the display, but the world has to know it."""
    tex = r"\boldsymbol{k}_1^\top\boldsymbol{k}_1 = \boldsymbol{k}_1^\top\boldsymbol{k}_1 + 0"
    other = r"letter: \boldsymbol{q}_{1} for \boldsymbol{k}_{1}"
    assert other in listed(tex, r"\boldsymbol{k}", r"\boldsymbol{q}")
    assert other not in listed(tex, r"\boldsymbol{k}")


def test_each_form_is_made_once_and_differs():
    tex = r"\mathbf{S}\,(\mathbf{F} + \mathbf{F}) = 2\,\mathbf{S}\mathbf{F}"
    texts = [tuple(render(s.claim) for s in forms) for _, forms in altered(tex)]
    assert len(texts) == len(set(texts)) and render(statements(tex)[0].claim) not in sum(texts, ())


def test_every_kind_has_a_name_on_the_page():
    made = {
        what.partition(":")[0]
        for tex in (
            r"\mathbf{S}\mathbf{F}^\top = \mathbf{S}\mathbf{F}^\top + \mathbf{0}",
            r"x_i \le y_i \quad (i < 3)",
            r"\frac{b^2}{b} = b",
        )
        for what, _ in altered(tex)
    }
    assert made == set(KINDS)


# What becomes of those that hold.

GENERIC = {"a": 6, "b": 3, "c": 2}


def test_all_rejected(page):
    found = page("a = bc", GENERIC)
    assert found["problems"] == [] and found["mutants"]["survived"] == []
    tried = found["mutants"]
    assert tried["by_number"] + tried["refused"] == sum(tried["kinds"].values()) > 0


def test_a_survivor_is_a_problem(page):
    """Here c = 1: the data do not tell whether it is a factor."""
    found = page("a = bc", {"a": 3, "b": 3, "c": 1})
    assert "survives: without c" in found["problems"]


def test_a_refused_form_is_counted_apart(page):
    K = np.array([[1.0, 2.0], [3.0, 4.0], [5.0, 7.0]])
    tex, known = (
        r"\mathbf{S} = \mathbf{K}^\top\mathbf{K}",
        {r"\mathbf{K}": K, r"\mathbf{S}": K.T @ K},
    )
    tried = page(tex, known, arithmetic="float64")["mutants"]
    assert tried["refused"] > 0 and tried["survived"] == []


def test_refused_in_one_draw_is_not_rejected(page):
    def world(draw):
        return World({"a": 0, "b": 0, "c": 5} if draw.seed == 2 else {"a": 1, "b": 5, "c": 5})

    tex, form = r"a = \frac{b}{c}", r"\frac{b}{c} turned"
    assert f"survives: {form}" in page(tex, world)["problems"]
    said = page(tex, world, equal={form: "so they say"})["problems"]
    assert {f"survives: {form}", f"no such altered form: {form}"} <= set(said)


@pytest.mark.parametrize("exact", [True, False])
def test_symmetric_matrices_and_factors_that_commute(page, exact):
    """The values show it, in exact arithmetic; transposes also in float64."""

    def world(draw):
        x = draw.anew().array(3, 2)
        return World({r"\mathbf{D}": np.diag(x[:, 0]), r"\mathbf{E}": np.diag(x[:, 1]),
                      r"\mathbf{G}": np.diag(x[:, 0] * x[:, 1])})  # fmt: skip

    arithmetic = "modular" if exact else "float64"
    found = page(r"\mathbf{G} = \mathbf{D}\mathbf{E}", world, arithmetic=arithmetic)
    why = {e["form"]: e["why"] for e in found["mutants"]["equal"]}
    swapped = r"\mathbf{D} and \mathbf{E} swapped"
    assert why[r"\mathbf{D} transposed"] == why[r"\mathbf{G} transposed"] == "a symmetric matrix"
    assert why.get(swapped) == ("the two commute" if exact else None)
    assert found["problems"] == ([] if exact else [f"survives: {swapped}"])


def test_a_transpose_is_no_symmetry(page):
    """The trace does not change, but the matrix is not symmetric: a reason has to be given."""
    known = {r"\mathbf{F}": np.array([[1, 2], [4, 5]]), "a": 6}
    form = r"\mathbf{F} transposed"
    assert f"survives: {form}" in page(r"\mathrm{tr}\,\mathbf{F} = a", known)["problems"]


def test_a_narrower_condition_is_the_same_claim_of_fewer_cases(page):
    known = World({"x_": entries([1, 4, 0]), "y_": entries([1, 2, 3])}, {"i": range(1, 4)})
    found = page(r"x_i = y_i^2 \quad (i \le 2)", known)
    assert {"form": r"< for \le", "why": "the same claim, of fewer cases"} in found["mutants"][
        "equal"
    ]
    assert found["problems"] == []


def test_a_wider_condition_that_holds_is_a_problem(page):
    known = World({"x_": entries([1, 4, 9]), "y_": entries([1, 2, 3])}, {"i": range(1, 4)})
    found = page(r"x_i = y_i^2 \quad (i \le 2)", known)
    assert r"survives: not only where i \le 2" in found["problems"]


def test_what_is_equal_is_said_and_holds(page):
    known = {"a": 0, "b": 3, "c": 0}
    survivors = page("a = bc", known)["problems"]
    assert "survives: without b" in survivors
    said = page("a = bc", known, equal={"without b": "c is zero"})
    assert "survives: without b" not in said["problems"]
    assert {"form": "without b", "why": "c is zero"} in said["mutants"]["equal"]


@pytest.mark.parametrize("form", ["without b", "without q"])
def test_what_is_not_equal_or_not_made_is_a_problem(page, form):
    found = page("a = bc", GENERIC, equal={form: "so they say"})
    assert found["problems"] == [f"no such altered form: {form}"]


def test_float64_decides_nothing_that_is_only_close(page):
    """An altered form that is off by little is neither rejected nor equal."""
    known, form = {"a": 1.0, "b": 2.0 + 1e-8, "c": 1.0 + 1e-8}, "a for c"
    found = page("b = a + c", known, arithmetic="float64", equal={form: "nearly"})
    assert {f"survives: {form}", f"no such altered form: {form}"} <= set(found["problems"])


BENDS = {
    r"a = 5 - |b - 5|": "minus what is in |b - 5|",
    r"a = 5 - \sqrt{b^2 - 10 b + 25}": r"no modulus of \sqrt{b^{2} - 10b + 25}",
    r"a = 5 - \|b - 5\|": r"minus what is in \|b - 5\|",
    r"a = ((b^3)^2)^{\frac{1}{6}}": r"no modulus of ((b^{3})^{2})^{\frac{1}{6}}",
    r"a = \exp(\frac12 \ln b^2)": "no modulus of b^{2}, twice its logarithm",
    r"a = \min(b, 5)": r"b for \min(b, 5)",
    r"a = b \bmod 8": r"no remainder: b\bmod 8",
    r"a = \mathrm{softplus}(40 + b) - 40": r"(40 + b) for \softplus(40 + b)",
    r"a = -\ln(\sigma(-40 - b)) - 40": r"exp for \sigma of (- 40 - b)",
    r"a = 9 - \sum_{n=b+1}^{9} 1": r"no sum: \sum_{n = b + 1}^{9}1",
    r"a = 6 - \sum_{n=b}^{5} (n - b)": r"no sum: \sum_{n = b}^{5}(n - b)",
    r"a = \prod_{n=b-2}^{b-2} b": r"no sum: \prod_{n = b - 2}^{b - 2}b",
    r"a = \begin{cases} b & b < 5 \\ 5 & b \ge 5 \end{cases}": "always b",
}


@pytest.mark.parametrize("tex, form", BENDS.items())
def test_what_bends_beyond_the_data_survives(tex, form):
    """A modulus of one sign, a minimum of one side, a remainder of what is small, an idle case."""
    world = World({"a": 3, "b": 3, r"\sigma": lambda x: 1 / (1 + np.exp(-float(x)))})
    evaluator, stated = Evaluator(world), statements(tex)
    assert gap(stated, world, evaluator) < EQUAL
    found = {edit.what: gap(forms, world) for edit, forms in mutants(stated, evaluator)
             if edit.what == form}  # fmt: skip
    if "sqrt" in tex:  # of either sign, as computer algebra writes it: one of them is equal
        minus = form.replace("no modulus of", "minus what is in")
        found |= {edit.what: gap(forms, world) for edit, forms in mutants(stated, evaluator)
                  if edit.what == minus}  # fmt: skip
    assert min(found.values()) < EQUAL
