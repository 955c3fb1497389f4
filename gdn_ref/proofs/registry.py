"""The registry of machine checks: which function proves which equation, and what it must reject.

A check is a function that returns a residual: zero for the exact methods (a sympy expression or
matrix, an integer, an array of integers), a relative error for "float64". Its keyword arguments
are the parts of the claim that a mutant may replace:

    @verifies("eq-sum-first", method="algebra", covers="every n",
              mutants={"stops one early": {"last": n - 1}})
    def sum_of_the_first(last=n):
        return summation(i, (i, 1, last)) - n * (n + 1) / 2

`run` calls the check once as it stands and once per mutant. A mutant whose residual passes has
survived, and that is a failure. A mutant is a mistake in the equation; data on which the equation
does not hold are no mutant, they go under `inputs`. Where a check writes down what the page
prints, it says so with `on_page` (see `page`), and it fails if the page prints something else. A
check that covers only a part of its equation says which, in a sentence under `part`. An equation
that only introduces a name is a `definition`.
"""

import importlib
import inspect
import math
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from traceback import extract_tb
from typing import Any, TypeVar

from . import left_out, page
from .report import METHODS, Report, absent, printed_complaints, printed_summary, summary

Function = TypeVar("Function", bound=Callable[..., Any])

FLOAT64_PASS = 1e-12  # a float64 check's residual is at most this ...
FLOAT64_FAIL = 1e-6  # ... and a mutant's at least this


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


class NothingToProve(ValueError):
    """`prove` was asked for what has no check: the caller's mistake, no verdict."""


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


def magnitude(residual, method):
    """The size of a residual: a float for "float64", else 0 for exactly zero and 1 otherwise."""
    if method == "float64":
        return float(residual)
    if isinstance(residual, list | tuple):
        return max((magnitude(part, method) for part in residual), default=0)
    dtype = getattr(residual, "dtype", None)
    if isinstance(residual, float) or getattr(dtype, "kind", "i") in "fc":
        raise TypeError(f"a check by {method!r} must return an exact residual, got a float")
    if dtype is not None:  # an array of integers
        return int(bool((residual != 0).any()))
    if hasattr(residual, "doit"):  # sympy: expressions, matrices, matrix expressions
        from .symbols import nonzero_somewhere  # sympy is imported with the first check

        residual = residual.doit()
        residual = residual.expand() if hasattr(residual, "expand") else residual
        zero = getattr(residual, "is_ZeroMatrix", False) or getattr(
            residual, "is_zero_matrix", None
        )
        if zero is None:
            zero = residual == 0 or not nonzero_somewhere(residual) and residual.simplify() == 0
        return int(not zero)
    return int(residual != 0)


def passes(size, method):
    return size <= FLOAT64_PASS if method == "float64" else size == 0


def rejected(size, method):
    return not (size < FLOAT64_FAIL) if method == "float64" else size != 0


def run(check):
    """Run a check, its mutants and its wrong inputs; returns a dict that JSON can hold.

    An exception on the way is no verdict: `crashed` then says what was raised, and where, and
    `lacks` names the library if one that only some checks need was not there.
    """
    result = {
        "label": check.label,
        "name": check.name,
        "method": check.method,
        "covers": check.covers,
        "part": check.part,
        "about": inspect.getdoc(check.function) or "",
        "residual": "crashed",
        "passed": False,
        "crashed": "",
        "lacks": "",
        "mutants": [],
        "inputs": [],
        "page": [],
        "source": inspect.getsource(check.function),
    }
    start, at = time.process_time(), "as it stands"  # not the clock's: others may work beside it
    try:
        with page.listening() as claims:
            size = magnitude(check.function(), check.method)
        result["page"] = off_the_page(claim for claim in claims if claim.label == check.label)
        for kind in ("mutants", "inputs"):
            for name, replaced in getattr(check, kind).items():
                at = f"with {name!r}"
                found = magnitude(check.function(**replaced), check.method)
                result[kind].append(_attempt(name, found, check.method))
        passed = passes(size, check.method) and not result["page"]
        result |= {"residual": _finite(size), "passed": passed}
    except Exception as error:
        result["crashed"] = f"{_crash(error)}, {at}"
        result["lacks"] = left_out.library(error)
    return result | {"seconds": time.process_time() - start}


def off_the_page(claims):
    """In what a check's claims about the page fail; nothing where no chapter can be read, for want
    of chapters or of what reads them: what is left out then is said elsewhere (`left_out`)."""
    try:
        from .printed import tied

        return [why for why in map(tied.problem, claims) if why]
    except ModuleNotFoundError:
        return []


def _attempt(name, size, method):
    return {"name": name, "residual": _finite(size), "rejected": rejected(size, method)}


def _crash(error):
    """What was raised, and the last line of the proofs that led to it."""
    frames = extract_tb(error.__traceback__)
    ours = [frame for frame in frames if Path(__file__).parent in Path(frame.filename).parents]
    place = (ours or frames)[-1]
    return f"{type(error).__name__}: {error} ({Path(place.filename).name}, line {place.lineno})"


def run_erratum(entry):
    """Run both forms of a published slip; passes if the printed fails and the corrected holds."""
    result = {
        "key": entry.key,
        "name": entry.name,
        "source_text": entry.source,
        "printed": entry.printed,
        "corrected": entry.corrected,
        "consequence": entry.consequence,
        "label": entry.label,
        "method": entry.method,
        "printed_residual": "crashed",
        "corrected_residual": "crashed",
        "passed": False,
        "crashed": "",
        "source": inspect.getsource(entry.function),
    }
    try:
        printed = magnitude(entry.function(form="printed"), entry.method)
        corrected = magnitude(entry.function(form="corrected"), entry.method)
    except Exception as error:
        return result | {"crashed": _crash(error)}
    return result | {
        "printed_residual": _finite(printed),
        "corrected_residual": _finite(corrected),
        "passed": passes(corrected, entry.method) and rejected(printed, entry.method),
    }


def _finite(size):
    return size if math.isfinite(size) else "not finite"


def prove(label: str, method: str | None = None) -> Report:
    """Evaluate the equation `label` as it is printed, and run every check of it.

    Parameters
    ----------
    label : str
        As under the equation, `"eq-gdn-chunk-state"`.
    method : str, optional
        "algebra", "polynomial", "enumeration", "modular" or "float64": the checks by this method
        alone. Default: the printed form, where the chapters are at hand, and every check.

    Returns
    -------
    Report
        True if every check passes and every mutant is rejected; printed, it says what was done.
        A check that raises is reported as crashed.

    Raises
    ------
    TypeError, ValueError
        `label` is no string, or the equation has no check, or none by this method.
    """
    if not isinstance(label, str):
        raise TypeError(f"label: expected a string, got {type(label).__name__}")
    load(label)
    checks = [check for check in CHECKS if check.label == label]
    as_printed = None if method else run_printed(label)
    if not checks and as_printed is None:
        if label in DEFINITIONS:
            raise NothingToProve(f"label: {label} is a definition, which claims nothing to check")
        near = get_close_matches(label, labels())
        hint = f"did you mean {' or '.join(near)}?" if near else "the verification page lists all"
        raise NothingToProve(f"label: no check is registered for {label!r}; {hint}")
    methods = {check.method for check in checks}
    if method is not None and method not in methods:
        raise NothingToProve(f"method: {label} has {', '.join(sorted(methods))}, got {method!r}")
    results = [run(check) for check in checks if method in (None, check.method)]
    return Report(results, as_printed)


def run_printed(label):
    """What the equation gives as a chapter prints it; None where there are no chapters, as in an
    installed package, or where none prints this label."""
    try:
        from . import printed

        if label not in printed.displays():
            return None
        printed.load(label)
        return printed.run(label)
    except ModuleNotFoundError as error:  # as in a browser, which has no torch and no lark
        return absent(label, str(error))


def proved(*labels):
    """Print for each equation what holds as it is printed, then two lines per check."""
    for label in labels:
        report = prove(label)
        if report.printed:
            lines = printed_complaints(report.printed)
            print(*(lines or [f"{label} {printed_summary(report.printed)}"]), sep="\n")
        for result in report.results:
            print(summary(result))
