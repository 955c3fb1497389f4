"""Every checker, tried on answers other than the folded solution: `tests/exercises/chNN.py`.

RIGHT holds other ways to the same result, in place or by another formula; WRONG what a reader
would naturally try, or what the text forbids, with a part of the hint that comes back.
"""

import ast
import contextlib
import importlib
import re
from pathlib import Path

import pytest

from gdn_ref import exercises
from gdn_ref.exercises import check

NOTEBOOKS = sorted(Path(__file__).parents[1].glob("chapters/*.ipynb"))
CODED = re.compile(r'\{exercise-start\}.*\n\s*":label: ex-([\w-]+)')  # not those on paper
NAMES = [name for path in NOTEBOOKS for name in CODED.findall(path.read_text())]

CHAPTERS = sorted({name[:2] for name in NAMES})

each_exercise = pytest.mark.parametrize("name", NAMES)


def answers(name):
    """The other right answers and the wrong ones: [answer], [(answer, hint)]."""
    chapter = importlib.import_module(f"exercises.ch{name[:2]}")
    return chapter.RIGHT[name], chapter.WRONG[name]


@each_exercise
def test_the_checker_says_yes_to_other_right_answers(name):
    right, _ = answers(name)
    assert len(right) >= 2
    for answer in right:
        assert (verdict := check(name, answer)), f"{answer}: {verdict}"


@each_exercise
@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # some wrong answers are infinite
def test_the_checker_says_no_to_wrong_answers_and_why(name):
    _, wrong = answers(name)
    assert len(wrong) >= 3
    for answer, hint in wrong:
        verdict = check(name, answer)
        assert not verdict, answer
        assert hint in repr(verdict), f"{answer}: {verdict}"


@pytest.mark.parametrize("number", CHAPTERS)
def test_no_answers_without_an_exercise(number):
    chapter = importlib.import_module(f"exercises.ch{number}")
    names = [name for name in NAMES if name.startswith(number)]
    assert list(chapter.RIGHT) == list(chapter.WRONG) == names


def line_of_refusal(name, answer):
    """The line of the checker that refuses the answer, None where it can make nothing of it."""
    try:
        with contextlib.suppress(ArithmeticError, AttributeError, TypeError, ValueError):
            exercises.CHECKERS[name](exercises.watched(answer, [], **exercises.ARGUMENTS[name]))
    except exercises.Wrong as wrong:
        here, lines = wrong.__traceback__, []
        while here:
            lines += [here.tb_lineno] * ("exercises/ch" in here.tb_frame.f_code.co_filename)
            here = here.tb_next
        return lines[-1] if lines else None


@pytest.mark.parametrize("number", CHAPTERS)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_hint_of_a_checker_is_given_to_some_wrong_answer(number):
    checkers = importlib.import_module(f"gdn_ref.exercises.ch{number}")
    tree = ast.parse(Path(checkers.__file__).read_text())
    hints = {node.lineno for node in ast.walk(tree) if isinstance(node, ast.Raise)}
    wrong = importlib.import_module(f"exercises.ch{number}").WRONG
    met = {line_of_refusal(name, answer) for name in wrong for answer, _ in wrong[name]}
    assert hints <= met, f"never given: lines {sorted(hints - met)} of {checkers.__file__}"
