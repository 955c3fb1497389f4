"""The results of the machine checks, as `python -m gdn_ref.proofs --json` wrote them."""

import hashlib
import json
import re
from functools import cached_property
from pathlib import Path

from gdn_ref.proofs.report import distinct, printed_complaints, sentence_complaints

SHORT = {  # how a badge names a method
    "algebra": "computer algebra",
    "polynomial": "exact polynomials",
    "enumeration": "exact, case by case",
    "modular": "exact arithmetic modulo a prime",
    "float64": "float64",
}

COVERAGE = {  # what a check covers, in the words of the filter
    "every": "every size",
    "package": "the package's own code",
    "counted": "operations counted",
    "stated": "stated sizes or data",
}


def coverage(check):
    """Which of `COVERAGE` a check is, read from what it says it covers."""
    covers = check["covers"]
    if re.search(r"\bcounted\b", covers):
        return "counted"
    if re.search(r"package|gdn_ref|(?:rule|decay|attention)\.[a-z]", covers):
        return "package"
    return "every" if check["method"] == "algebra" and "every" in covers else "stated"


def method(check):
    """How a badge names the method of a check."""
    return SHORT.get(check["method"], check["method"])


def digest(path):
    """A fingerprint of the results file, empty if there is none."""
    return hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""


class Results:
    """The results file, by label. A missing file reads as one without any check."""

    def __init__(self, path):
        self.path = Path(path)

    @cached_property
    def data(self):
        if not self.path.is_file():
            return {}
        return json.loads(self.path.read_text(encoding="utf-8"))

    @property
    def checks(self):
        return self.data.get("checks", [])

    @cached_property
    def printed(self):
        """Label -> what its printed form gave."""
        return {result["label"]: result for result in self.data.get("printed", [])}

    @property
    def sentences(self):
        """What the formulas in each chapter's sentences gave."""
        return self.data.get("sentences", [])

    @property
    def definitions(self):
        return self.data.get("definitions", {})

    @property
    def errata(self):
        return self.data.get("errata", [])

    @property
    def methods(self):
        """Method name -> explanation, the strongest method first."""
        return self.data.get("methods", {})

    @cached_property
    def by_label(self):
        """Label -> its checks, the strongest first."""
        order = list(self.methods)
        grouped = {}
        for check in sorted(self.checks, key=lambda c: order.index(c["method"])):
            grouped.setdefault(check["label"], []).append(check)
        return grouped

    def failures(self):
        """One line for each printed form or sentence that does not hold, check that crashed or
        fails, mutant that survives, wrong inputs that pass, erratum not confirmed."""
        lines = [line for r in self.printed.values() for line in printed_complaints(r)]
        lines += [line for chapter in self.sentences for line in sentence_complaints(chapter)]
        lines += [
            f"the check {c['name']} of {c['label']} crashed: {c['crashed']}"
            if c.get("crashed")
            else f"the check {c['name']} of {c['label']} fails: residual {c['residual']}"
            for c in self.checks
            if not c["passed"]
        ]
        lines += [
            f"the check {c['name']} of {c['label']} accepts the wrong inputs {x['name']!r}"
            for c in self.checks
            for x in c.get("inputs", ())
            if not x["rejected"]
        ]
        lines += [
            f"the check {c['name']} of {c['label']} lets the mutant {m['name']!r} survive"
            for c in self.checks
            for m in c["mutants"]
            if not m["rejected"]
        ]
        lines += [
            f"the erratum {e['key']} ({e['name']}) does not tell the printed form from the "
            "corrected one"
            for e in self.errata
            if not e["passed"]
        ]
        return lines


def of(app):
    """The results of this build, read once."""
    path = Path(app.srcdir) / app.config.gdn_proofs_json
    if getattr(app, "gdn_results", None) is None:
        app.gdn_results = Results(path)
    return app.gdn_results


def rejected(checks):
    """How many distinct mutants the checks reject, and of how many."""
    mutants = distinct(checks)
    return sum(mutants.values()), len(mutants)


def residual_text(residual, method):
    """A residual in words: exact methods say zero or not, float64 says how much."""
    if method == "float64":
        return residual if isinstance(residual, str) else f"{residual:.1e}"
    return "exactly zero" if residual == 0 else "not zero"
