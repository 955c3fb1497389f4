"""The table of all equations: how each is checked, what the checks reject, and a filter."""

from html import escape

from docutils import nodes

from . import addresses, printed, results, tables
from .plain import prose


class equation_table(nodes.General, nodes.Element):
    """Holds the place of the table until the equations' numbers are known."""


PRINTED = {  # what was done to the printed form, in the words of the filter
    "modular": "float64 and modulo a prime",
    "rational": "exact fractions",
    "counted": "counted",
    "float64": "float64",
    "read": "read, not evaluated",
}
HEAD = ["equation", "as printed, and its checks", "rejected", "seconds"]


def connect(app):
    app.add_node(equation_table)
    app.connect("doctree-resolved", fill)
    app.connect("html-page-context", load_script)


def fill(app, doctree, docname):
    for place in list(doctree.findall(equation_table)):
        place.replace_self([_form(app), _table(app, docname)])


def load_script(app, pagename, templatename, context, doctree):
    """The filter works without a library, from file:// too; without it all rows are shown."""
    if 'id="gdn-filter"' in context.get("body", ""):
        app.add_js_file("table-filter.js", defer="defer")


def _form(app):
    """The filter: hidden until its script shows it, so that no reader meets a dead control."""
    found = results.of(app)
    methods = {name: results.SHORT.get(name, name) for name in found.methods}
    chapters = {page: _plain_title(app.env, page) for page, _ in _by_page(app)}
    fields = (
        '<label>Find <input type="search" name="text" placeholder="label, mutant, size"></label>'
        + _select("chapter", "every chapter", chapters)
        + _select("printed", "every form", PRINTED)
        + _select("method", "every method", methods | {"definition": "definition"})
        + _select("coverage", "every coverage", results.COVERAGE)
    )
    return tables.html(
        f'<form id="gdn-filter" class="gdn-filter" role="search" aria-label="Filter the equations" '
        f'hidden>{fields}<button type="reset">Show all</button>'
        '<output aria-live="polite"></output></form>'
    )


def _select(name, everything, options):
    listed = "".join(
        f'<option value="{escape(value)}">{escape(words)}</option>'
        for value, words in options.items()
    )
    return (
        f"<label>{name.capitalize()} "
        f'<select name="{name}"><option value="">{everything}</option>{listed}</select></label>'
    )


def _plain_title(env, page):
    """Number and title as text: an option of a list holds no formula."""
    if not page:
        return "on no page"
    title = env.titles[page]
    number = "".join(f"{n}. " for n in title.get("secnumber", ()))
    return number + tables.without_tex(title.astext())


def _by_page(app):
    """`(page, labels)` in the order of the book; the labels in that of the page."""
    found, known = results.of(app), app.env.get_domain("math").equations
    pages = {}
    for label in sorted([*found.by_label, *found.definitions]):
        page, serial = known.get(label, ("", 0))
        pages.setdefault(page, []).append((serial, label))
    order = tables.in_book_order(app.env)
    return [
        (page, [label for _, label in sorted(pages[page])])
        for page in sorted(pages, key=order)
    ]  # fmt: skip


def _table(app, docname):
    """One row for each label, under a heading row for each page."""
    found, rows = results.of(app), []
    for page, labels in _by_page(app):
        title = tables.page(app, docname, page) if page else nodes.strong("", "On no page")
        rows.append(tables.row([title], len(HEAD), classes=[f"in-{page}"]))
        rows += [_row(app, docname, found, label) for label in labels]
    return tables.table(HEAD, rows, "gdn-equations")


def _row(app, docname, found, label):
    """The classes say what the row may be filtered by: `is-<method>-<coverage>` for each check,
    `as-<arithmetic>` for the printed form."""
    number = tables.equation(app, docname, label)
    name = nodes.inline("", "", number, tables.html(f" <code>{label}</code>"))
    checks, page = found.by_label.get(label, []), found.printed.get(label, {"kind": ""})
    kinds = {f"is-{c['method']}-{results.coverage(c)}" for c in checks} or {"is-definition-"}
    kinds.add(f"as-{page.get('arithmetic', page['kind'])}")
    attributes = {"ids": [addresses.row_id(label)], "classes": sorted(kinds)}
    cells = _cells(app, docname, page, checks, found.definitions.get(label))
    return tables.row([name, *cells], len(HEAD), **attributes)


def _cells(app, docname, page, checks, meaning):
    """What was done to the printed form in the open, and all checks in the fold. What was altered
    stands in the badge under the equation, which the number leads to."""
    known = page["kind"] in ("evaluated", "read")
    first = printed.summary(page) if known else "not on a page"
    more = {0: "", 1: " One check."}.get(len(checks), f" {len(checks)} checks.")
    inside = [f"<p>{prose(meaning)}</p>"] if meaning else []
    inside += [f"<p>{prose(page['why'])}</p>"] if page["kind"] == "read" else []
    inside += [f"<p>Sizes: {printed.position(page)}.</p>"] if page.get("position") else []
    inside += [_one(app, docname, check) for check in checks]
    rejected, mutants = results.rejected(checks)
    count = f"{printed.altered(page)} + {rejected}" if checks else f"{printed.altered(page)}"
    seconds = page.get("seconds", 0) + sum(check["seconds"] for check in checks)
    return [
        tables.html(
            f"<details><summary>{prose(first)}.{more}</summary>{''.join(inside)}</details>"
        ),
        tables.text(count),
        tables.text(f"{seconds:.2f}"),
    ]


def _claim(check):
    method = results.SHORT.get(check["method"], check["method"])
    part = f" ({prose(check['part'])})" if check.get("part") else ""
    return f"{method}: {prose(check['covers'])}{part}"


def _one(app, docname, check):
    """A residual of zero is not told: an exact method passes with no other."""
    mutants = "; ".join(
        f"{prose(mutant['name'])}{'' if mutant['rejected'] else ' (survived)'}"
        for mutant in check["mutants"]
    )
    residual = check["residual"]
    told = results.residual_text(residual, check["method"]) if residual else ""
    return (
        f"<p>{addresses.source_link(app, docname, check['name'])} by {_claim(check)}."
        f"{f' Residual {told}.' if told else ''} Rejects: {mutants}.</p>"
    )
