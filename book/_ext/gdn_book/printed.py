"""What was done to each equation as it is printed: in its badge, in the table, and as a rule.

The results hold a fingerprint of the TeX that was evaluated. The build fails where a page prints
another one, so what a reader sees is what was checked.
"""

from pathlib import Path

from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from gdn_ref.proofs.printed.inline import COUNTED, fingerprint_of
from gdn_ref.proofs.printed.mutate import KINDS
from gdn_ref.proofs.printed.source import fingerprint

from . import results, tables
from .plain import prose

logger = logging.getLogger(__name__)
SHORT = {
    "modular": "float64 and exactly modulo a prime",
    "rational": "exact fractions",
    "counted": "whole numbers",
    "float64": "float64",
}
BRIEF = SHORT | {"modular": "float64 and exact"}


def connect(app):
    app.add_directive("gdn-read", ReadList)
    app.connect("env-check-consistency", check_pages)


def check_pages(app, env):
    """Every labelled equation was evaluated, or read, as its page prints it."""
    found = results.of(app).printed
    labels = env.get_domain("math").equations
    for docname in sorted({docname for docname, _ in labels.values()}):
        for equation in env.get_doctree(docname).findall(nodes.math_block):
            if equation.get("label") in labels:
                _check(equation, found.get(equation["label"]), docname)
    for label in sorted(found.keys() - labels.keys()):
        _warn("the printed form of %s was evaluated, but no page has it", label)
    _check_sentences(env, results.of(app).sentences)


def _check(equation, result, docname):
    label = equation["label"]
    if result is None:
        _warn("the printed form of %s was neither evaluated nor read", label, location=docname)
    elif result.get("fingerprint") != fingerprint(equation.astext()):
        _warn(
            "the page prints %s otherwise than it was evaluated (%s)",
            label, result.get("place"), location=docname,
        )  # fmt: skip


def _check_sentences(env, chapters):
    """The formulas in the sentences of each chapter are those that were evaluated or listed."""
    paths = {Path(env.doc2path(docname)).name: docname for docname in env.found_docs}
    for chapter in chapters:
        docname = paths.get(chapter["notebook"])
        if docname and fingerprint_of(env.doc2path(docname)) != chapter["fingerprint"]:
            _warn("the sentences of %s have other formulas than were evaluated",
                  chapter["notebook"], location=docname)  # fmt: skip


def _warn(message, *details, location=None):
    logger.warning(message, *details, location=location, type="gdn")


# In words.


def summary(result):
    """One line that is true: what was done to the printed form."""
    if result["kind"] == "read":
        return "read beside its check, not evaluated"
    count = altered(result)
    forms = "altered form" if count == 1 else "altered forms"
    how = f"{BRIEF[result['arithmetic']]}; {count} {forms} rejected"
    if result["defines"]:
        return f"definition: as printed it gives {result['against']}: {how}"
    return f"evaluated as printed against {result['against']}: {how}"


def altered(result):
    """How many altered forms were rejected."""
    found = result.get("mutants", {})
    return found.get("by_number", 0) + found.get("refused", 0)


def details(result):
    """The badge's first list: the printed form, and what was tried on it."""
    if result["kind"] == "read":
        rows = [("As printed", f"not evaluated: {prose(result['why'])}"),
                ("Read beside", prose(result["against"]))]  # fmt: skip
        return _list(rows)
    found = result["mutants"]
    kinds = "; ".join(f"{KINDS[kind]}: {n}" for kind, n in sorted(found["kinds"].items()))
    doubles, alike = result["doubles"], result["alike"]
    equal = [e for tried in (found, doubles, alike) for e in tried["equal"]]
    same = "; ".join(f"<code>{prose(e['form'])}</code>: {prose(e['why'])}" for e in equal)
    rows = [
        ("As printed", f"both sides from the TeX, in {SHORT[result['arithmetic']]}"),
        ("Against", prose(result["against"])),
        ("Error", f"{result['residual']:.0e}" if result["residual"] else "none"),
        ("Altered", f"{found['by_number']} false, {found['refused']} without a value"),
        ("Slips", kinds),
        ("Two at once", f"{doubles['by_number']} false, {doubles['refused']} without a value"),
        ("Equal terms", f"{alike['by_number']} false, {alike['refused']} without a value"),
        *([("Data", prose("; ".join(result["data"])))] if result["data"] else []),
        *([("Needs", prose("; ".join(result["needs"])))] if result["needs"] else []),
        *([("Equal", same)] if same else []),
        *([("Sizes", position(result))] if result.get("position") else []),
    ]
    return _list(rows)


def position(result):
    """How general the sizes were that a formula was held to."""
    ranks = ", ".join(f"{x['rank']} of {x['monomials']}" for x in result["position"])
    return f"{result['draws']} draws; independent monomials: {ranks}"


def _list(rows):
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows) + "</dl>"


class ReadList(SphinxDirective):
    """The equations that are read and not evaluated, each with its reason."""

    def run(self):
        found = results.of(self.env.app).printed
        self.env.note_dependency(str(results.of(self.env.app).path))
        rows = [
            [
                nodes.literal("", label),
                tables.html(prose(r["why"])),
                nodes.literal("", r["against"]),
            ]
            for label, r in sorted(found.items())
            if r["kind"] == "read"
        ]
        return [tables.table(["equation", "why it is not evaluated", "read beside"], rows)]


def totals(found):
    """The sentences of the verification page that count printed forms."""
    evaluated = [r for r in found.values() if r["kind"] == "evaluated"]
    by = {name: sum(r["arithmetic"] == name for r in evaluated) for name in SHORT}
    how = ", ".join(f"{n} in {SHORT[name]}" for name, n in by.items() if n)
    tried = [r["mutants"] for r in evaluated]
    number, refused = (sum(m[key] for m in tried) for key in ("by_number", "refused"))
    equal = sum(len(m["equal"]) for m in tried)
    defined = sum(r["defines"] for r in evaluated)
    return (
        f"**{len(evaluated)} of {len(found)} labelled equations are evaluated as they are "
        f"printed** ({how}); {defined} of these are definitions. Read beside a check: "
        f"{len(found) - len(evaluated)}. Of {number + refused + equal:,} altered forms, each one "
        f"edit of the printed TeX, {number:,} come out false, {refused:,} have no value, and "
        f"{equal:,} are shown equal; none is left over. "
        f"{_beyond(evaluated)} {sum(len(r['needs']) for r in evaluated)} premises that a page "
        "states in words are left out, each alone: the equation is false without it."
    )


def _beyond(evaluated):
    """The same for two edits at a time, and for terms exchanged that have one value."""
    said = []
    for kind, words in (
        ("doubles", "pairs of edits, each of which is refused alone,"),
        ("alike", "exchanges of a term for another one of equal value in the first draw,"),
    ):
        found = [r[kind] for r in evaluated]
        number, refused = (sum(m[key] for m in found) for key in ("by_number", "refused"))
        equal = sum(len(m["equal"]) for m in found)
        said.append(
            f"Of {number + refused + equal:,} {words} {number:,} come out false, {refused:,} have "
            f"no value, and {equal:,} are shown equal."
        )
    return " ".join(said)


def sentence_totals(chapters):
    """The sentences of the verification page that count the formulas inside of sentences."""
    by = {key: sum(chapter[key] for chapter in chapters) for key in COUNTED}
    number = by["evaluated"] + by["listed"]
    return (
        f"Of {number} formulas inside of sentences that do more than set a size or an index, "
        f"**{by['evaluated']} are evaluated**, and {by['rejected']:,} altered forms of them come "
        f"out false or have no value; the other {by['listed']} are listed, not evaluated."
    )
