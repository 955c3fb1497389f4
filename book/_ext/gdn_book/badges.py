"""The note under each labelled equation: what was done to it as it is printed, and its checks."""

from docutils import nodes

from . import addresses, printed, rests, results, slips, symbols
from .plain import prose


def connect(app):
    app.connect("doctree-resolved", add_badges)


def add_badges(app, doctree, docname):
    """Put a badge after each labelled equation."""
    if app.builder.format != "html":
        return
    found = results.of(app)
    for equation in list(doctree.findall(nodes.math_block)):
        label = equation.get("label")
        if label is None:
            continue
        legend = _legend(symbols.links(app, docname, equation.astext()))
        if text := badge(app, docname, label, found, legend):
            equation.parent.insert(
                equation.parent.index(equation) + 1, nodes.raw("", text, format="html")
            )


def _legend(links):
    return f"<dl><dt>Symbols</dt><dd class=gdn-letters>{links}</dd></dl>" if links else ""


def badge(app, docname, label, found, legend=""):
    """What was done to the equation as it is printed, then its other checks, then its letters."""
    page, checks = found.printed.get(label), found.by_label.get(label, [])
    meaning = found.definitions.get(label)
    if page is None or page["kind"] not in ("evaluated", "read"):
        return ""
    kind = "definition" if page.get("defines") or (meaning and not checks) else "checked"
    kind = "read" if page["kind"] == "read" else kind
    inside = [f"<p>{prose(meaning)}</p>"] if meaning else []
    inside += [
        printed.details(page),
        slips.fold(page),
        *(_one_check(app, docname, c) for c in checks),
    ]
    inside += [
        legend,
        rests.badge(app, docname, label),
        _row(app, docname, label),
    ]
    return _details(kind, prose(printed.summary(page)), "".join(inside))


def _row(app, docname, label):
    return f"<p>{addresses.row_link(app, docname, label, 'In the table of all equations')}</p>"


def _one_check(app, docname, check):
    method = check["method"]
    rows = [
        ("Method", prose(results.of(app).methods.get(method, method))),
        ("Covers", prose(check["covers"])),
        *([("Its part", prose(check["part"]))] if check.get("part") else []),
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
