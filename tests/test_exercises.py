"""Every exercise says no to its untouched stub and yes to its solution."""

import ast
import contextlib
import importlib
import io
import json
import linecache
import pkgutil
import re
from functools import partial
from itertools import chain
from pathlib import Path

import matplotlib
import numpy as np
import pytest
from IPython.display import display

from gdn_ref import exercises

ROOT = Path(__file__).parents[1]
NOTEBOOKS = sorted(ROOT.glob("chapters/*.ipynb"))


def cells(path, kind):
    """The cells of one kind, in order: (source, tags)."""
    for cell in json.loads(path.read_text())["cells"]:
        if cell["cell_type"] == kind:
            yield "".join(cell["source"]), cell["metadata"].get("tags", [])


def code(path):
    """The code cells without their magics, which only IPython knows."""
    for source, tags in cells(path, "code"):
        lines = ["" if line.startswith("%") else line for line in source.splitlines()]
        yield "\n".join(lines), tags


def names_checked(path, tag):
    """The exercises that the cells with this tag check, in order."""
    for source, tags in code(path):
        if tag in tags:
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "check":
                    yield node.args[0].value


def stem(path):
    return path.stem


each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=stem)


def only_shows(source):
    """Whether a cell gives no name a value: a figure, a proof, a table. The book runs it."""
    return all(isinstance(node, ast.Expr) for node in ast.parse(source).body)


@each_notebook
def test_stubs_fail_and_solutions_pass(path, monkeypatch):
    """The notebook's cells in order, in one namespace, but those that only show something."""
    monkeypatch.chdir(path.parent)
    matplotlib.use("Agg")
    namespace = {"__name__": "__main__", "display": display}
    for number, (source, tags) in enumerate(code(path)):
        if only_shows(source) and not {"exercise", "solution"} & set(tags):
            continue
        monkeypatch.setattr(exercises, "VERDICTS", [])
        with contextlib.redirect_stdout(io.StringIO()):
            cell = f"{path.name}, code cell {number}"
            # where Triton looks for the source of a kernel that a cell defines
            linecache.cache[cell] = (len(source), None, source.splitlines(True), cell)
            exec(compile(source, cell, "exec"), namespace)
        verdicts = exercises.VERDICTS
        if "exercise" in tags:
            assert verdicts, f"code cell {number}: an exercise that checks nothing"
            assert not any(right for _, right in verdicts), f"the stub passes: {verdicts}"
        elif "solution" in tags:
            assert verdicts, f"code cell {number}: a solution that checks nothing"
            assert all(right for _, right in verdicts), f"the solution fails: {verdicts}"


@each_notebook
def test_three_to_five_exercises_each_with_a_solution(path):
    stubs, solutions = (list(names_checked(path, tag)) for tag in ("exercise", "solution"))
    assert 3 <= len(stubs) <= 5
    assert stubs == solutions
    assert all(name.startswith(path.stem[:2] + "-") for name in stubs)
    text = "\n".join(source for source, _ in cells(path, "markdown"))
    for directive in ("{exercise-start}", "{exercise-end}", "{solution-start}", "{solution-end}"):
        assert text.count(directive) == len(stubs), directive
    labels = re.findall(r"\{exercise-start\}[^\n]*\n:label: ex-(\S+)", text)
    assert labels == stubs


def test_every_checker_is_used():
    for module in pkgutil.iter_modules(exercises.__path__):
        importlib.import_module(f"{exercises.__name__}.{module.name}")
    used = chain.from_iterable(names_checked(path, "exercise") for path in NOTEBOOKS)
    assert sorted(used) == sorted(exercises.CHECKERS)


@pytest.fixture
def checker(monkeypatch):
    monkeypatch.setattr(exercises, "CHECKERS", dict(exercises.CHECKERS))
    monkeypatch.setattr(exercises, "ARGUMENTS", dict(exercises.ARGUMENTS))
    monkeypatch.setattr(exercises, "VERDICTS", [])

    @exercises.exercise("test-double")
    def double(answer):
        if answer(3) != 6:
            raise exercises.Wrong("it should be twice as much.")

    return "test-double"


def test_a_verdict_gives_the_reason(checker):
    right = exercises.check(checker, lambda n: 2 * n)
    wrong = exercises.check(checker, lambda n: n)
    assert right and repr(right) == "Right. (test-double)"
    assert not wrong and repr(wrong) == "Not yet: it should be twice as much. (test-double)"
    assert exercises.VERDICTS == [(checker, True), (checker, False)]


def test_an_answer_that_raises_is_wrong(checker):
    verdict = exercises.check(checker, lambda n: n["x"])
    assert not verdict and "raised TypeError: 'int' object is not subscript" in repr(verdict)
    verdict = exercises.check(checker, lambda n: n())
    assert not verdict and "raised TypeError: 'int' object is not callable" in repr(verdict)


def test_a_result_in_place_of_the_function_is_told(checker):
    verdict = exercises.check(checker, 6)
    assert repr(verdict) == "Not yet: expected a function, got int (test-double)"


@pytest.mark.parametrize("unfinished", [None, ...])
def test_an_unfinished_answer_is_told_from_one_that_raises(unfinished):
    """What the checker stumbles over is not laid at the reader's door."""
    for name, answer, what in (
        ("05-clear", lambda S, k: unfinished, "your function returned"),
        ("16-twice", unfinished, "your answer is"),
    ):
        reason = f"{what} {unfinished}: is there something to fill in, or a `return` to add?"
        assert repr(exercises.check(name, answer)) == f"Not yet: {reason} ({name})"
    verdict = exercises.check("05-clear", lambda S, k: 0)
    reason = "your function returned something of type int, which does not fit: cannot unpack"
    assert repr(verdict).startswith(f"Not yet: {reason}")


@pytest.fixture
def register(monkeypatch):
    """Registers a checker for one test; returns `check` for it."""
    for name, empty in (("CHECKERS", {}), ("ARGUMENTS", {}), ("VERDICTS", [])):
        monkeypatch.setattr(exercises, name, empty)

    def register(checker, **options):
        exercises.exercise("test", **options)(checker)
        return lambda answer: exercises.check("test", answer)

    return register


def test_an_answer_gets_copies_and_gives_one(register):
    """Neither what it is given nor what it returned can change behind the checker's back."""
    given, buffer = [np.ones(2), {"x": np.ones(2)}], np.zeros(2)

    def doubled(x, named):
        x *= 2
        named["x"] *= 2
        named["y"] = 0
        buffer[:] = x
        return buffer

    def checker(answer):
        first = answer(*given)
        buffer[:] = 7
        np.testing.assert_array_equal(first, [2, 2])
        np.testing.assert_equal(given, [np.ones(2), {"x": np.ones(2)}])

    assert register(checker)(doubled)


def test_what_the_text_asks_to_keep_is_kept(register):
    x, y = np.array([1.0, np.nan]), np.ones(2)
    check = register(lambda answer: answer(x, y), keeps={1: "the state"})
    assert check(lambda x, y: x.fill(0))
    assert check(lambda x, y: y.copy().fill(0))
    reason = "the state is to stay as it is, and your function changed it"
    assert repr(check(lambda x, y: y.fill(0))) == f"Not yet: {reason} (test)"


def test_where_changing_is_the_task_the_thing_itself_is_handed_over(register):
    def checker(answer):
        x = np.full(2, np.nan)
        answer(x)
        np.testing.assert_array_equal(x, [0, np.nan])

    def first_to_zero(x):
        x[0] = 0
        return x  # NaN and all: nobody asked for a result

    assert register(checker, in_place=True)(first_to_zero)
    assert not register(checker)(first_to_zero)


def test_any_kind_of_function_will_do(register):
    class Added:
        def __call__(self, a, b):
            return a + b

    def checker(answer):
        if answer(1.0, 2.0) != 3:
            raise exercises.Wrong("not the sum")

    check = register(checker)
    for answer in (partial(lambda c, a, b: a + b + c, 0), Added(), np.add, (1.0).__class__.__add__):
        assert check(answer), check(answer)
    assert "your function raised ZeroDivisionError" in repr(
        check(partial(lambda a, b, c: a / 0, 1))
    )
    assert "not the sum" in repr(check(np.subtract))
    data = register(lambda answer: len(answer))
    assert "expected a result, got a function; call it" in repr(data(lambda: 0))


def test_an_unknown_exercise_is_an_error():
    with pytest.raises(ValueError, match="no exercise is called '00-nothing'"):
        exercises.check("00-nothing", None)


NAN = float("nan")
NOT_NUMBERS = {
    "12-token": ([[NAN, NAN], [NAN, NAN]], NAN),
    "12-solve": lambda A, E, dE: (NAN * dE, NAN * A),
    "12-border": lambda J, a, b, old: NAN * a,
    "16-strength": lambda Z, *rest: NAN * Z[:, 0],
    "16-twice": (NAN, {"dk", "dv", "dg", "dbeta"}),
    "17-leak": [[NAN, NAN], [NAN, NAN]],
    "17-drafts": lambda q, k, v, g, beta, S, accepted: NAN * S,
    "17-safe": lambda bits, n: NAN,
    "20-equal": lambda *sizes: NAN,
    "20-experts": lambda E, k, n: NAN,
}


NOT_NUMBERS |= {
    name: lambda *inputs, **options: (NAN * np.ones((2, 2)), [NAN])
    for name in ("01-recurrent-step", "03-two-passes", "05-faulty", "07-merge", "11-join")
}


@pytest.mark.parametrize("name", NOT_NUMBERS)
def test_nan_is_no_answer(name):
    """NaN is not above a tolerance and not below it: a checker asks for at most, not for more."""
    verdict = exercises.check(name, NOT_NUMBERS[name])
    assert not verdict and "raised" not in repr(verdict)
