"""The registry of machine checks: which function proves which equation, and what it must reject.

A check is a function that returns a residual: zero for the exact methods (a sympy expression or
matrix, an integer, an array of integers), a relative error for "float64". Its keyword arguments
are the parts of the claim that a mutant may replace:

    @verifies("eq-sum-first", method="algebra", covers="every n",
              mutants={"stops one early": {"last": n - 1}})
    def sum_of_the_first(last=n):
        return summation(i, (i, 1, last)) - n * (n + 1) / 2

`running` calls the check once as it stands and once per mutant. A mutant whose residual passes has
survived, and that is a failure. A mutant is a mistake in the equation; data on which the equation
does not hold are no mutant, they go under `inputs`. Where a check writes down what the page
prints, it says so with `on_page` (see `page`), and it fails if the page prints something else. A
check that covers only a part of its equation says which, in a sentence under `part`. An equation
that only introduces a name is a `definition`.
"""

import importlib
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from . import left_out
from .report import METHODS

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Check:
    """One function that checks one equation, and the mutants it must reject."""

    label: str
    method: str
    covers: str
    function: Callable
    mutants: dict = field(default_factory=dict)
    inputs: dict = field(default_factory=dict)
    part: str = ""

    @property
    def name(self):
        return name_of(self.function)

    @property
    def key(self):
        """What tells a check from all others, in whichever order the modules were imported."""
        return self.label, self.name, self.method, self.covers


@dataclass(frozen=True)
class Erratum:
    """A published slip: its printed form must leave a residual, its corrected form none."""

    key: str
    source: str
    printed: str
    corrected: str
    consequence: str
    label: str
    method: str
    function: Callable

    @property
    def name(self):
        return name_of(self.function)


def name_of(function):
    """`module.function`, the module without its package."""
    return f"{function.__module__.rpartition('.')[2]}.{function.__name__}"


CHECKS: list[Check] = []
DEFINITIONS: dict[str, str] = {}
ERRATA: list[Erratum] = []


def verifies(
    label: str, *, method: str, covers: str, mutants: Mapping[str, dict[str, Any]],
    inputs: Mapping[str, dict[str, Any]] | None = None, part: str = "",
) -> Callable[[Function], Function]:  # fmt: skip
    """Register the decorated function as a check of the equation `label`.

    Parameters
    ----------
    method, covers : str
        One of `METHODS`, and the sizes or data for which it was checked.
    mutants : dict
        Name -> keyword arguments of the function: the equation with a mistake, to be rejected.
    inputs : dict, optional
        The same for wrong inputs: the equation is right, but claims nothing about such data.
    part : str, optional
        What the check covers, if that is not the whole equation.
    """
    if method not in METHODS:
        raise ValueError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    if not mutants:
        raise ValueError(f"mutants: {label} has none; a check that rejects nothing proves nothing")

    def register(function):
        CHECKS.append(Check(label, method, covers, function, dict(mutants), inputs or {}, part))
        return function

    return register


def definition(label: str, meaning: str) -> None:
    """Register the equation `label` as a definition: it names something and claims nothing."""
    if label in DEFINITIONS:
        raise ValueError(f"label: {label} is defined twice")
    DEFINITIONS[label] = meaning


def erratum(
    key: str, *, source: str, printed: str, corrected: str, consequence: str, label: str,
    method: str,
) -> Callable[[Function], Function]:  # fmt: skip
    """Register a published slip; the function takes `form`, "corrected" or "printed".

    `printed` and `corrected` are TeX, `label` is the equation that derives the right form,
    `consequence` is Markdown: what goes wrong, and by how much.
    """

    def register(function):
        ERRATA.append(
            Erratum(key, source, printed, corrected, consequence, label, method, function)
        )
        return function

    return register


def load(text=""):
    """Import the chapters' proofs, or only the modules whose source holds `text`, say a label.

    All of them: what needs a library that is not installed is left out (`left_out`).
    """
    paths = sorted(Path(__file__).parent.glob("ch*.py"))
    if not text:
        return left_out.import_modules(__package__, paths)
    for path in paths:
        if text in path.read_text(encoding="utf-8"):
            importlib.import_module(f"{__package__}.{path.stem}")


def labels():
    """The labels that the proofs' sources name; nothing is imported."""
    paths = Path(__file__).parent.glob("ch*.py")
    return set(re.findall(r'"(eq-[a-z0-9-]+)"', "".join(p.read_text("utf-8") for p in paths)))
