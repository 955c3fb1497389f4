r"""What a chapter prints, for the checks: none has a formula of its own that could differ from it.

    side("eq-state-bytes", otherwise=...)   the printed formula itself, for a check that counts
    on_page("eq-gdn-chunk-state", after)    the check's expression is what is printed there

A page that prints another formula turns the check red: `running.run` compares what `on_page` was
told with the printed sides, in the worlds where these are evaluated (`printed.tied`). Where
chapters and figures have a function for a formula, the check holds both to what it counts.
"""

from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

TAKEN: dict[tuple, tuple] = {}  # the sides that checks have: the letters, what stands for each


def value(label, of="", *, otherwise, **sizes):
    """The number that this side gives for sizes by their names: `otherwise` as in `side`."""
    found = side(label, of, otherwise=None)
    if found is None:
        return otherwise
    return found.subs({letter: sizes[str(letter)] for letter in found.free_symbols})


@cache
def side(label, of="", at=1, *, otherwise, **letters):
    """The side of `label` that is equal to `of`, or that stands alone, as an expression.

    `at` counts the sides of a longer chain: 2 is a bound behind an equation.

    `otherwise` stands for it where there are no chapters or nothing to read them with, as in an
    installed package and in a browser.
    """
    TAKEN[label, of, at] = letters, otherwise
    try:
        from .printed import formula

        found = formula.side(label, of, at, **letters)
    except ModuleNotFoundError:
        return otherwise
    return otherwise if found is None else found


@dataclass(frozen=True)
class Claim:
    """What a check says of the page: `sides` stand in statement `of` of `label`."""

    label: str
    sides: tuple
    of: int = 0
    letters: dict[str, Any] = field(default_factory=dict)
    row: str = ""
    last: str = r"\mathbf{K}"
    condition: bool = False
    floats: bool = False


_heard: list[Claim] | None = None


@contextmanager
def listening():
    """The claims that checks make meanwhile."""
    global _heard
    before, _heard = _heard, []
    try:
        yield _heard
    finally:
        _heard = before


def on_page(
    label, *sides, of=0, letters=None, row="", last=r"\mathbf{K}", condition=False, floats=False
):
    r"""Say what the page prints: a check calls this with the expressions that it is about to use.

    Parameters
    ----------
    sides : expression
        One: each of the sides that the statement calls equal. Several: its sides one by one; None
        for a side that the check does not have.
    of : int
        Which statement of the display, counted from 0.
    letters : dict, optional
        Symbol -> what it is called on the page: TeX, evaluated where the statement is, or a
        function of the place (`printed.tied.At`). What is not in it is in `ONE_MORE`, or is called
        on the page what it is called here; `k^T` is the transpose of `k`.
    row : str or True
        The sides are row n of the printed matrices, for each n; a matrix whose rows are counted.
    last : str
        The matrix whose last row is the token that is added, where it is not K.
    condition : bool
        The sides are those of the statement's first condition.
    floats : bool
        The sides are code that runs in float64 alone, such as the package's, which takes logarithms
        of decays: the draws in exact arithmetic are left out.
    """
    names = {str(symbol): meaning for symbol, meaning in (letters or {}).items()}
    row = r"\mathbf{K}" if row is True else row
    claim(Claim(label, sides, of, names, row, last, condition, floats))


def claim(made):
    """Let whoever listens hear a claim, once."""
    if _heard is not None and made not in _heard:
        _heard.append(made)


def rows_of(*names):
    """The rows of a matrix before row n: the tokens so far."""
    return lambda at: at.first(*names)[: at.n - 1]


def row_of(*names):
    """Row n, as a column: the token that is added."""
    return lambda at: at.first(*names)[at.n - 1 : at.n].T


ONE_MORE = {  # the letters of `symbols`: some tokens, in capitals, and one more
    "S": lambda at: at.first(r"\mathbf{S}", r"\mathbf{S}_0"),
    "K": rows_of(r"\mathbf{K}"), "V": rows_of(r"\mathbf{V}"), "E": rows_of(r"\mathbf{E}"),
    "W": rows_of(r"\mathbf{W}"), "U": rows_of(r"\tilde{\mathbf{U}}", r"\mathbf{U}"),
    "D": lambda at: at.decays(at.n - 1), "gamma": lambda at: at(rf"\gamma_{{{at.n - 1}}}"),
    "k": row_of(r"\mathbf{K}"), "q": row_of(r"\mathbf{Q}"), "v": row_of(r"\mathbf{V}"),
    "alpha": lambda at: at(rf"\alpha_{{{at.n}}}"), "beta": lambda at: at(rf"\beta_{{{at.n}}}"),
}  # fmt: skip
TOKEN = {  # the letters of one token, and the state before it
    "S": r"\mathbf{S}_{t-1}", "k": r"\boldsymbol{k}_t", "q": r"\boldsymbol{q}_t",
    "v": r"\boldsymbol{v}_t", "alpha": r"\alpha_t", "beta": r"\beta_t",
    "n": r"\|\boldsymbol{k}_t\|^2", "y": r"\boldsymbol{y}", "y_across": r"\boldsymbol{y}",
}  # fmt: skip
ALL = {x: rf"\mathbf{{{x}}}" for x in "SQKVOEWU"}  # the matrices of a whole chunk
