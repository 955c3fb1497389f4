"""The registry of machine checks: which function proves which equation, and what it must reject.

A check is a function that returns a residual: zero for the exact methods (a sympy expression or
matrix, an integer, an array of integers), a relative error for "float64". Its keyword arguments
are the parts of the claim that a mutant may replace:

    @verifies("eq-sum-first", method="algebra", covers="every n",
              mutants={"stops one early": {"last": n - 1}})
    def sum_of_the_first(last=n):
        return summation(i, (i, 1, last)) - n * (n + 1) / 2

`run` calls the check once as it stands and once per mutant. A mutant whose residual passes has
survived, and that is a failure. An equation that only introduces a name is a `definition`.
"""

import importlib
import inspect
import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

METHODS = {
    "algebra": "computer algebra, symbolic sizes",
    "polynomial": "exact identity, of polynomials or of counts",
    "modular": "exact arithmetic modulo 2^61 - 1 on random elements",
    "float64": "float64, relative Frobenius error at most 1e-12",
}
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

    @property
    def name(self):
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"

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
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"


CHECKS: list[Check] = []
DEFINITIONS: dict[str, str] = {}
ERRATA: list[Erratum] = []


def verifies(label, *, method, covers, mutants):
    """Register the decorated function as a check of the equation `label`."""
    if method not in METHODS:
        raise ValueError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
    if not mutants:
        raise ValueError(f"mutants: {label} has none; a check that rejects nothing proves nothing")

    def register(function):
        CHECKS.append(Check(label, method, covers, function, dict(mutants)))
        return function

    return register


def definition(label, meaning):
    """Register the equation `label` as a definition: it names something and claims nothing."""
    if label in DEFINITIONS:
        raise ValueError(f"label: {label} is defined twice")
    DEFINITIONS[label] = meaning


def erratum(key, *, source, printed, corrected, consequence, label, method):
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
    """Import the chapters' proofs, or only the modules whose source holds `text`, say a label."""
    for path in sorted(Path(__file__).parent.glob("ch*.py")):
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
        residual = residual.doit()
        residual = residual.expand() if hasattr(residual, "expand") else residual
        zero = getattr(residual, "is_ZeroMatrix", False) or getattr(
            residual, "is_zero_matrix", None
        )
        if zero is None:
            zero = residual == 0 or residual.simplify() == 0
        return int(not zero)
    return int(residual != 0)


def passes(size, method):
    return size <= FLOAT64_PASS if method == "float64" else size == 0


def rejected(size, method):
    return not (size < FLOAT64_FAIL) if method == "float64" else size != 0


def run(check):
    """Run a check and its mutants; returns a dict that JSON can hold."""
    start = time.process_time()  # not the clock's: others may work beside it
    size = magnitude(check.function(), check.method)
    mutants = []
    for name, replaced in check.mutants.items():
        mutant = magnitude(check.function(**replaced), check.method)
        mutants.append(
            {"name": name, "residual": _finite(mutant), "rejected": rejected(mutant, check.method)}
        )
    return {
        "label": check.label,
        "name": check.name,
        "method": check.method,
        "covers": check.covers,
        "about": inspect.getdoc(check.function) or "",
        "residual": _finite(size),
        "passed": passes(size, check.method),
        "mutants": mutants,
        "seconds": time.process_time() - start,
        "source": inspect.getsource(check.function),
    }


def run_erratum(entry):
    """Run both forms of a published slip; passes if the printed fails and the corrected holds."""
    printed = magnitude(entry.function(form="printed"), entry.method)
    corrected = magnitude(entry.function(form="corrected"), entry.method)
    return {
        "key": entry.key,
        "name": entry.name,
        "source_text": entry.source,
        "printed": entry.printed,
        "corrected": entry.corrected,
        "consequence": entry.consequence,
        "label": entry.label,
        "method": entry.method,
        "printed_residual": _finite(printed),
        "corrected_residual": _finite(corrected),
        "passed": passes(corrected, entry.method) and rejected(printed, entry.method),
        "source": inspect.getsource(entry.function),
    }


def _finite(size):
    return size if math.isfinite(size) else "not finite"


class Report:
    """What `prove` returns: printed in a notebook, it shows each check and what it rejected."""

    def __init__(self, results):
        self.results = results

    def __bool__(self):
        return all(r["passed"] and all(m["rejected"] for m in r["mutants"]) for r in self.results)

    def __repr__(self):
        return "\n\n".join(self._lines(r) for r in self.results)

    @staticmethod
    def _lines(r):
        residual = r["residual"]
        residual = f"{residual:.1e}" if isinstance(residual, float) else residual
        head = [
            f"{r['label']} {'holds' if r['passed'] else 'FAILS'}: residual {residual}",
            f"  by {METHODS[r['method']]}",
            f"  for {r['covers']}",
        ]
        mutants = [
            f"  {'rejects ' if m['rejected'] else 'SURVIVED'} {m['name']}" for m in r["mutants"]
        ]
        return "\n".join(head + mutants)


def prove(label, method=None):
    """Run every check of the equation `label`, or those by one method, mutants included.

    Parameters
    ----------
    label : str
        As under the equation, `"eq-gdn-chunk-state"`.
    method : str, optional
        "algebra", "polynomial", "modular" or "float64". Default: all that the equation has.

    Returns
    -------
    Report
        True if every check passes and every mutant is rejected; printed, it says what was done.

    Raises
    ------
    TypeError, ValueError
        `label` is no string, or the equation has no check, or none by this method.
    """
    if not isinstance(label, str):
        raise TypeError(f"label: expected a string, got {type(label).__name__}")
    load(label)
    checks = [check for check in CHECKS if check.label == label]
    if not checks and label in DEFINITIONS:
        raise ValueError(f"label: {label} is a definition, which claims nothing to check")
    if not checks:
        near = get_close_matches(label, labels())
        hint = f"did you mean {' or '.join(near)}?" if near else "the verification page lists all"
        raise ValueError(f"label: no check is registered for {label!r}; {hint}")
    methods = {check.method for check in checks}
    if method is not None and method not in methods:
        raise ValueError(f"method: {label} has {', '.join(sorted(methods))}, got {method!r}")
    results = [run(check) for check in checks if method in (None, check.method)]
    return Report(results)


def proved(*labels):
    """Print two lines for each check of the equations `labels`: verdict and coverage."""
    for label in labels:
        for r in prove(label).results:
            verdict = "holds" if r["passed"] else "FAILS"
            rejected = sum(mutant["rejected"] for mutant in r["mutants"])
            print(
                f"{label} {verdict} ({r['method']}), rejects {rejected} of {len(r['mutants'])} "
                f"mutants\n    for {r['covers']}"
            )
