"""The errata page: each published slip, both forms, what goes wrong, and both residuals."""

from docutils import nodes

from . import addresses, report, results, tables
from .pages import FromResults


class erratum_links(nodes.General, nodes.Element):
    """Holds the place of an erratum's links until the numbers are known."""


def connect(app):
    app.add_node(erratum_links)
    app.add_directive("gdn-errata", Errata)
    app.connect("doctree-resolved", fill)


class Errata(FromResults):
    """An overview with links, then every slip under its anchor."""

    def show(self):
        overview = tables.table(["slip", "where"], [self.row(e) for e in self.found.errata])
        return [overview, *(self.one(entry) for entry in self.found.errata)]

    def row(self, entry):
        key, where = entry["key"], self.parse(entry["source_text"])[0].children
        link = f'<a href="#{addresses.erratum_id(key)}"><code>{key}</code></a>'
        return [tables.html(link), nodes.inline("", "", *where)]

    def one(self, entry):
        key, anchor = entry["key"], addresses.erratum_id(entry["key"])
        section = nodes.container(classes=["gdn-erratum"], ids=[anchor])
        residual = {
            form: results.residual_text(entry[f"{form}_residual"], entry["method"])
            for form in ("printed", "corrected")
        }
        section += tables.html(
            f'<p class="gdn-erratum-name"><code>{key}</code>'
            f'<a class="headerlink" href="#{anchor}" title="Link to this erratum">#</a></p>'
        )
        section += self.parse(
            f"**{entry['source_text']}**\n\n"
            f"Printed (residual {residual['printed']}):\n\n$$\n{entry['printed']}\n$$\n\n"
            f"Corrected (residual {residual['corrected']}):\n\n$$\n{entry['corrected']}\n$$\n\n"
            f"{entry['consequence']}\n"
        )
        section += erratum_links(label=entry["label"], check=entry["name"], key=key)
        return section


def fill(app, doctree, docname):
    """The equation that derives the right form, the check, and a way to object."""
    for place in list(doctree.findall(erratum_links)):
        line = nodes.paragraph("", "Derived in ")
        line += tables.equation(app, docname, place["label"])
        line += nodes.Text("; checked by ")
        line += tables.html(addresses.source_link(app, docname, place["check"]))
        line += nodes.Text(".")
        objection = report.link(app, f"Erratum {place['key']}", "Object to this entry")
        if objection:
            line += tables.html(f" {objection}.")
        place.replace_self(line)
