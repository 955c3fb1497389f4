"""What a registered check gives: itself, each of its mutants and wrong inputs, and the page.

    run(check)            a dict that JSON can hold: residual, mutants, what the page prints instead
    run_erratum(entry)    the same of a published slip, as it is printed and corrected

An exact residual must be zero. The error of a float64 check must be tiny, and a mutant's large.
"""

import inspect
import math
import time
from pathlib import Path
from traceback import extract_tb

from . import left_out, page

FLOAT64_PASS = 1e-12  # a float64 check's residual is at most this ...
FLOAT64_FAIL = 1e-6  # ... and a mutant's at least this


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
