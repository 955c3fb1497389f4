"""The directives of the verification page and the errata page, filled from the results."""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from . import badges, results


class equation_table(nodes.General, nodes.Element):
    """Holds the place of the table of equations until their numbers are known."""


class erratum_links(nodes.General, nodes.Element):
    """Holds the place of an erratum's links until the numbers are known."""


def connect(app):
    app.add_node(equation_table)
    app.add_node(erratum_links)
    app.add_directive("gdn-totals", Totals)
    app.add_directive("gdn-equations", Equations)
    app.add_directive("gdn-methods", Methods)
    app.add_directive("gdn-checks", Checks)
    app.add_directive("gdn-errata", Errata)
    app.connect("doctree-resolved", fill_places)


class _FromResults(SphinxDirective):
    """A directive without arguments that shows a part of the results."""

    def run(self):
        self.found = results.of(self.env.app)
        self.env.note_dependency(str(self.found.path))
        return self.show()

    def show(self):
        raise NotImplementedError

    def parse(self, text):
        """The nodes of some Markdown."""
        holder = nodes.container()
        lines = StringList(text.splitlines(), self.get_source_info()[0])
        self.state.nested_parse(lines, self.content_offset, holder)
        return holder.children


class Totals(_FromResults):
    """How many equations, checks and mutants; when, and with what."""

    def show(self):
        mutants = [m for check in self.found.checks for m in check["mutants"]]
        rejected = sum(m["rejected"] for m in mutants)
        seconds = sum(check["seconds"] for check in self.found.checks)
        versions = ", ".join(f"{k} {v}" for k, v in self.found.data.get("versions", {}).items())
        return self.parse(
            f"**{len(self.found.by_label)} equations are checked by {len(self.found.checks)} "
            f"checks; {len(self.found.definitions)} more are definitions. The checks reject "
            f"{rejected} of {len(mutants)} mutants and take {seconds:.0f} seconds.** "
            f"Run on {self.found.data.get('date', 'no date')} with {versions}."
        )


class Methods(_FromResults):
    """What each method does, and how many equations rest on it."""

    def show(self):
        best = [checks[0]["method"] for checks in self.found.by_label.values()]
        rows = [
            [_text(results.SHORT.get(method, method)), _text(meaning), _text(best.count(method))]
            for method, meaning in self.found.methods.items()
        ]
        return [table(["method", "what it is", "equations that rest on it"], rows)]


class Equations(_FromResults):
    """One row for each labelled equation, in the order of the book."""

    def show(self):
        return [equation_table()]


class Checks(_FromResults):
    """Each check and each erratum with its source, its coverage and its mutants."""

    def show(self):
        self.env.gdn_verification_page = self.env.docname
        shown = {}
        for entry in [*self.found.checks, *self.found.errata]:
            shown.setdefault(entry["name"], []).append(entry)
        return [self.one(name, entries) for name, entries in sorted(shown.items())]

    def one(self, name, entries):
        block = nodes.container(classes=["gdn-check"], ids=[results.check_id(name)])
        block += nodes.rubric("", name)
        for entry in entries:
            block += nodes.raw("", _summary(entry), format="html")
        block += nodes.literal_block(entries[0]["source"], entries[0]["source"], language="python")
        return block


class Errata(_FromResults):
    """Each published slip: where, both forms, what goes wrong, and both residuals."""

    def show(self):
        return [self.one(entry) for entry in self.found.errata]

    def one(self, entry):
        section = nodes.container(classes=["gdn-erratum"], ids=[f"erratum-{entry['key']}"])
        residual = {
            form: results.residual_text(entry[f"{form}_residual"], entry["method"])
            for form in ("printed", "corrected")
        }
        section += self.parse(
            f"**{entry['source_text']}**\n\n"
            f"Printed (residual {residual['printed']}):\n\n$$\n{entry['printed']}\n$$\n\n"
            f"Corrected (residual {residual['corrected']}):\n\n$$\n{entry['corrected']}\n$$\n\n"
            f"{entry['consequence']}\n"
        )
        section += erratum_links(label=entry["label"], check=entry["name"])
        return section


def _summary(entry):
    """What a check covers and rejects, or what an erratum compares, as HTML."""
    method = results.SHORT.get(entry["method"], entry["method"])
    if "mutants" not in entry:
        return f"<p>Erratum <code>{entry['key']}</code>, by {method}.</p>"
    mutants = "".join(
        f"<li>{badges.prose(m['name'])}{'' if m['rejected'] else ' (survived)'}</li>"
        for m in entry["mutants"]
    )
    return (
        f"<p><code>{entry['label']}</code>, by {method}: {badges.prose(entry['covers'])}. "
        f"Residual {results.residual_text(entry['residual'], entry['method'])}, "
        f"{entry['seconds']:.2f} s. Rejects:</p><ul>{mutants}</ul>"
    )


def fill_places(app, doctree, docname):
    """Put in what needs the equations' numbers."""
    for place in list(doctree.findall(equation_table)):
        place.replace_self(_equation_table(app, docname))
    for place in list(doctree.findall(erratum_links)):
        line = nodes.paragraph("", "Derived in ")
        line += _equation(app, docname, place["label"])
        home = badges.verification_page(app, docname)
        if home is not None:
            line += nodes.Text("; checked by ")
            line += nodes.raw("", badges.source_link(place["check"], home), format="html")
        place.replace_self(line)


def _equation_table(app, docname):
    """One row for each label, under a heading row for each page."""
    found = results.of(app)
    rows, heading = [], None
    for label in sorted([*found.by_label, *found.definitions], key=_in_book_order(app.env)):
        page = app.env.get_domain("math").equations.get(label, ("",))[0]
        if page != heading:
            heading = page
            rows.append([_page(app, docname, page)])
        rows.append(
            [
                _numbered(app, docname, label),
                *(_checked(found.by_label[label]) if label in found.by_label
                  else _defined(found.definitions[label])),
            ]
        )  # fmt: skip
    return table(["equation", "checked by", "mutants rejected", "seconds"], rows)


def _numbered(app, docname, label):
    """The equation's number, a link, and its label."""
    number = _equation(app, docname, label)
    return nodes.inline("", "", number, nodes.Text(" "), nodes.literal("", label))


def _checked(checks):
    mutants = [m for check in checks for m in check["mutants"]]
    method = results.SHORT.get(checks[0]["method"], checks[0]["method"])
    return [
        _html(f"{method}: {badges.prose(checks[0]['covers'])}"),
        _text(f"{sum(m['rejected'] for m in mutants)} of {len(mutants)}"),
        _text(f"{sum(check['seconds'] for check in checks):.2f}"),
    ]


def _defined(meaning):
    return [_html(f"definition: {badges.prose(meaning)}"), _text(""), _text("")]


def _page(app, docname, page):
    """A link to a page by its number and title."""
    if not page:
        return nodes.strong("", "On no page")
    title = app.env.titles[page]
    number = "".join(f"{n}. " for n in title.get("secnumber", ()))
    uri = app.builder.get_relative_uri(docname, page)
    words = [nodes.Text(number), *(word.deepcopy() for word in title.children)]
    return nodes.reference("", "", *words, refuri=uri, internal=True)


def _in_book_order(env):
    """Sort key: pages in the order of the table of contents, then the place on the page."""
    pages = {page: place for place, page in enumerate(env.toctree_includes[env.config.root_doc])}

    def key(label):
        page, serial = env.get_domain("math").equations.get(label, ("", 0))
        return pages.get(page, len(pages)), serial, label

    return key


def _equation(app, docname, label):
    """A link that shows the equation's number; its label if no page has it."""
    contents = nodes.literal("", label)
    link = app.env.get_domain("math").resolve_xref(
        app.env, docname, app.builder, "eq", label, None, contents
    )
    return link or contents


def table(head, rows):
    """A table of nodes that scrolls sideways where it is too wide."""
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in head), cols=len(head))
    group += nodes.thead("", _row([_text(name) for name in head], len(head)))
    group += nodes.tbody("", *(_row(row, len(head)) for row in rows))
    whole = nodes.table("", group, classes=["gdn-table", "colwidths-auto"])
    return nodes.container("", whole, classes=["gdn-scroll"])


def _row(cells, width):
    """A row; a single cell spans it."""
    span = {"morecols": width - 1, "classes": ["gdn-span"]} if len(cells) == 1 else {}
    entries = (nodes.entry("", nodes.paragraph("", "", cell), **span) for cell in cells)
    return nodes.row("", *entries)


def _text(text):
    return nodes.Text(str(text))


def _html(text):
    return nodes.raw("", text, format="html")
