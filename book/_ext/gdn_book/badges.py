"""The note under each labelled equation: how it was checked, and what the check rejects."""

import re
from html import escape

from docutils import nodes

from . import addresses, results, symbols


def connect(app):
    app.connect("doctree-resolved", add_badges)


def add_badges(app, doctree, docname):
    """Put a badge after each equation whose label has a check or a definition."""
    if app.builder.format != "html":
        return
    found = results.of(app)
    for equation in list(doctree.findall(nodes.math_block)):
        label = equation.get("label")
        text = None
        legend = _legend(symbols.links(app, docname, equation.astext()))
        if label in found.by_label:
            text = checked(app, docname, found.by_label[label], legend)
        elif label in found.definitions:
            text = defined(app, docname, label, found.definitions[label], legend)
        if text:
            equation.parent.insert(
                equation.parent.index(equation) + 1, nodes.raw("", text, format="html")
            )


def _legend(links):
    return f"<dl><dt>Symbols</dt><dd>{links}</dd></dl>" if links else ""


def checked(app, docname, checks, legend=""):
    """The badge of a checked equation; `checks` are sorted, the strongest first."""
    best = checks[0]
    rejected = sum(m["rejected"] for check in checks for m in check["mutants"])
    plural = "mutant" if rejected == 1 else "mutants"
    method, covers = results.method(best), prose(best["covers"])
    summary = f"checked: {method}, {covers}; {rejected} {plural} rejected"
    inside = "".join(_one_check(app, docname, check) for check in checks)
    return _details("checked", summary, inside + legend + _row(app, docname, best["label"]))


def defined(app, docname, label, meaning, legend=""):
    """The badge of a definition: it names something and claims nothing."""
    inside = f"<p>{prose(meaning)}</p>{legend}{_row(app, docname, label)}"
    return _details("definition", "definition", inside)


def _row(app, docname, label):
    return f"<p>{addresses.row_link(app, docname, label, 'In the table of all equations')}</p>"


def _one_check(app, docname, check):
    method = check["method"]
    rows = [
        ("Method", prose(results.of(app).methods.get(method, method))),
        ("Covers", prose(check["covers"])),
        ("Residual", results.residual_text(check["residual"], method)),
        ("Rejects", "; ".join(_mutant(m, method) for m in check["mutants"])),
        ("Source", addresses.source_link(app, docname, check["name"])),
    ]
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows) + "</dl>"


def _mutant(mutant, method):
    size = f" ({mutant['residual']:.1e})" if _is_number(mutant, method) else ""
    return f"{prose(mutant['name'])}{size}"


def _is_number(mutant, method):
    return method == "float64" and not isinstance(mutant["residual"], str)


def _details(kind, summary, inside):
    return (
        f'<details class="gdn-badge gdn-{kind}"><summary>{summary}</summary>'
        f'<div class="gdn-badge-body">{inside}</div></details>'
    )


def prose(text):
    """Plain text as HTML: `code` in backticks, d_k with a subscript, signs for <= and so on."""
    html = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
    html = re.sub(r"\bd_([kv])\b", r"<i>d</i><sub>\1</sub>", html)
    for typed, sign in (("&lt;=", "\u2264"), ("&gt;=", "\u2265"), ("!=", "\u2260")):
        html = html.replace(typed, sign)
    return html
