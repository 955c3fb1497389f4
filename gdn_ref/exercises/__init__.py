"""Checkers for the chapters' exercises, one module per chapter.

A checker takes the reader's answer and raises `Wrong("reason")` when it is not right; the reason
helps and never gives the answer away. In a chapter:

    check("01-pieces", combine)

An answer that is a function gets copies, so it may work in place and spoils nothing that the
checker still needs. `gdn_ref.exercises.traced` says what an answer computes on its way.
"""

import importlib
from functools import wraps
from pathlib import Path

import numpy as np

__all__ = ["TOLERANCE", "Wrong", "check", "exercise"]

CHECKERS = {}
ARGUMENTS = {}  # name -> what its answers may do to their arguments, see `exercise`
TOLERANCE = 1e-9  # how far off a right answer may be
VERDICTS = []  # (name, right) of every check of this session, in order; the tests read it


class Wrong(Exception):
    """The answer is not right, and why."""


class Verdict:
    """True when the answer is right; prints the reason when it is not."""

    def __init__(self, name, reason=None):
        self.name, self.reason = name, reason

    def __bool__(self):
        return self.reason is None

    def __repr__(self):
        return f"Right. ({self.name})" if self else f"Not yet: {self.reason} ({self.name})"


def exercise(name, keeps=None, in_place=False):
    """Register the decorated function as the checker of exercise `name`.

    `keeps`, `{position: what it is}`, are the arguments that the text asks an answer to leave as
    they are. With `in_place` an answer gets its arguments themselves: changing them is the task.
    """

    def register(checker):
        CHECKERS[name] = checker
        ARGUMENTS[name] = {"keeps": keeps or {}, "in_place": in_place}
        return checker

    return register


def check(name, answer):
    """Check the reader's answer to exercise `name`; returns a `Verdict` to display."""
    for path in sorted(Path(__file__).parent.glob("ch*.py")):
        if f'"{name}"' in path.read_text(encoding="utf-8"):
            importlib.import_module(f"{__name__}.{path.stem}")
    if name not in CHECKERS:
        raise ValueError(f"name: no exercise is called {name!r}")
    results = []
    try:
        CHECKERS[name](watched(answer, results, **ARGUMENTS[name]))
        verdict = Verdict(name)
    except Wrong as wrong:
        verdict = Verdict(name, str(wrong))
    except Exception as error:
        verdict = Verdict(name, what_went_wrong(error, answer, results))
    VERDICTS.append((name, bool(verdict)))
    return verdict


def watched(answer, results, keeps, in_place):
    """The answer, a function's results kept; NaN is wrong, for it passes many comparisons."""
    if is_function(answer):

        @wraps(answer)
        def asked(*arguments):
            given = arguments if in_place else copied(arguments)
            try:
                results.append(copied(answer(*given)))
            except Exception as error:
                raise Wrong(f"your function raised {type(error).__name__}: {error}") from error
            for position, what in keeps.items():
                if not np.array_equal(given[position], arguments[position], equal_nan=True):
                    raise Wrong(f"{what} is to stay as it is, and your function changed it")
            if holds_nan(results[-1]) and not in_place:
                raise Wrong("your function returned NaN, which is not a number")
            return results[-1]

        return asked
    if holds_nan(answer):
        raise Wrong("your answer holds NaN, which is not a number")
    return answer


def is_function(answer):
    """A function, a method, a partial; a kernel is none: it takes a grid in brackets first."""
    return callable(answer) and not hasattr(answer, "__getitem__")


def copied(x):
    """A copy of the arrays, tensors, lists and dictionaries in `x`."""
    if type(x) in (list, tuple):
        return type(x)(map(copied, x))
    if type(x) is dict:
        return {key: copied(value) for key, value in x.items()}
    copy = getattr(x, "clone", None) or getattr(x, "copy", None)  # a tensor's, an array's
    return copy() if hasattr(x, "shape") and copy else x


def what_went_wrong(error, answer, results):
    """Why a checker could make nothing of the answer, or of what the function returned last."""
    kind = type(answer).__name__
    if str(error) == f"{kind!r} object is not callable":  # the result in place of the function
        return f"expected a function, got {kind}"
    if callable(answer) and not results:
        if is_function(answer):  # the function in place of the result
            return f"expected a result, got a {kind}; call it"
        return f"your answer raised {type(error).__name__}: {error}"
    what, found = ("function returned", results[-1]) if results else ("answer is", answer)
    if found is None or found is ...:
        return f"your {what} {found}: is there something to fill in, or a `return` to add?"
    return f"your {what} something of type {type(found).__name__}, which does not fit: {error}"


def holds_nan(x):
    """Is there a number in `x` that is not equal to itself?"""
    if isinstance(x, tuple | list):
        return any(map(holds_nan, x))
    differs = x != x
    return bool(differs.any()) if hasattr(differs, "any") else bool(differs)
