"""Prove an equation by its label: as a chapter prints it, and by every check of it.

prove("eq-gdn-step")     a report, true if all holds
proved("eq-...", ...)    the same of several, printed in two lines a check
"""

from difflib import get_close_matches

from . import registry
from .report import Report, absent, printed_complaints, printed_summary, summary
from .running import run


class NothingToProve(ValueError):
    """`prove` was asked for what has no check: the caller's mistake, no verdict."""


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
    registry.load(label)
    checks = [check for check in registry.CHECKS if check.label == label]
    as_printed = None if method else run_printed(label)
    if not checks and as_printed is None:
        if label in registry.DEFINITIONS:
            raise NothingToProve(f"label: {label} is a definition, which claims nothing to check")
        near = get_close_matches(label, registry.labels())
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
