"""What makes the build fail. Each rule logs a warning, and the book is built with `-W`."""

import re
from pathlib import Path

from sphinx.util import logging

from gdn_ref.proofs.sources import digests

from . import results

logger = logging.getLogger(__name__)
LABEL = re.compile(r"(?<![\w-])eq-[a-z0-9]+(?:-[a-z0-9]+)*")
RUN = "run `python -m gdn_ref.proofs --json {}`"


def connect(app):
    app.connect("env-check-consistency", check_book)


def check_book(app, env):
    """Every rule, once all pages are read."""
    found = results.of(app)
    labels = env.get_domain("math").equations
    _check_results(app, found)
    _check_equations(env, found, labels)
    _check_claims(found, labels)
    _check_citations(app, labels)


def _warn(message, *details, location=None):
    logger.warning(message, *details, location=location, type="gdn")


def _check_results(app, found):
    """The results are there, pass, and belong to the code as it stands."""
    run = RUN.format(app.config.gdn_proofs_json)
    if not found.data:
        _warn("%s is missing or empty: %s first", app.config.gdn_proofs_json, run)
        return
    for line in found.failures():
        _warn("%s", line)
    recorded = found.data.get("sources_sha256", {})
    current = digests(Path(app.srcdir) / app.config.gdn_package)
    changed = sorted(
        name for name in recorded.keys() | current.keys() if recorded.get(name) != current.get(name)
    )
    if changed:
        _warn("%s is stale, it was not made by this code (%s): %s",
              app.config.gdn_proofs_json, ", ".join(changed), run)  # fmt: skip


def _check_equations(env, found, labels):
    """Every labelled equation is checked or is a definition, and has a well-formed label."""
    for label, (docname, _) in sorted(labels.items()):
        if not LABEL.fullmatch(label):
            _warn("the equation label %s is not of the form eq-words-with-hyphens",
                  label, location=docname)  # fmt: skip
        if label not in found.by_label and label not in found.definitions:
            _warn("the equation %s has neither a check nor a definition in gdn_ref.proofs",
                  label, location=docname)  # fmt: skip
        if label in found.by_label and label in found.definitions:
            _warn("the equation %s is both checked and called a definition",
                  label, location=docname)  # fmt: skip


def _check_claims(found, labels):
    """Every check, definition and erratum is about an equation that some page has."""
    claims = [(c["label"], f"the check {c['name']}") for c in found.checks]
    claims += [(label, "a definition") for label in found.definitions]
    claims += [(e["label"], f"the erratum {e['key']}") for e in found.errata]
    for label, who in claims:
        if label not in labels:
            _warn("%s is about %s, but no page has an equation of that label", who, label)


def _check_citations(app, labels):
    """Every label that the code cites exists."""
    places = {}
    for path, line, label in citations(Path(app.srcdir), app.config.gdn_code):
        places.setdefault(label, []).append(f"{path}:{line}")
    for label, where in sorted(places.items()):
        if label not in labels:
            _warn("the code cites %s, but no page has an equation of that label: %s",
                  label, ", ".join(where))  # fmt: skip


def citations(root, folders):
    """`(path, line number, label)` for each equation label in the code and its Markdown.

    The proof modules are left out: the labels that they register are in the results.
    """
    for folder in folders:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root)
            if path.suffix not in {".py", ".md"} or "proofs" in name.parts:
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                for label in LABEL.findall(line):
                    yield name.as_posix(), number, label
