"""Where things are: anchors that last, so that badges, tables and readers can point at them."""

from html import escape


def row_id(label):
    """The anchor of an equation in the table of all: `eq-wy-w` -> `verified-eq-wy-w`."""
    return f"verified-{label}"


def erratum_id(key):
    """The anchor of an erratum on its page."""
    return f"erratum-{key}"


def check_id(name):
    """The anchor of a check or erratum function: `ch11_x.f` -> `check-ch11-x-f`."""
    return "check-" + name.replace("_", "-").replace(".", "-")


def sources_page(name):
    """The page that shows a check or erratum function: `ch11_x.f` -> `checks/ch11`."""
    return f"checks/{name.partition('.')[0].partition('_')[0]}"


def source_link(app, docname, name):
    """A link from the page `docname` to the source of a check or an erratum, as HTML."""
    address = app.builder.get_relative_uri(docname, sources_page(name))
    return f'<a href="{escape(address)}#{check_id(name)}"><code>{escape(name)}</code></a>'


def row_link(app, docname, label, words):
    """A link from `docname` to the row of an equation, as HTML; only the words if the book has no
    table of all equations."""
    page = getattr(app.env, "gdn_verification_page", None)
    if page is None:
        return words
    address = app.builder.get_relative_uri(docname, page)
    return f'<a href="{escape(address)}#{row_id(label)}">{words}</a>'
