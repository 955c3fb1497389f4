"""Tables of nodes, and links to equations and pages by their numbers, for the appendices."""

import re

from docutils import nodes


def table(head, rows, *classes):
    """A table that scrolls sideways where it is too wide; `rows` are lists of cells or rows."""
    group = nodes.tgroup("", *(nodes.colspec(colwidth=1) for _ in head), cols=len(head))
    group += nodes.thead("", row([text(name) for name in head], len(head)))
    rows = [r if isinstance(r, nodes.row) else row(r, len(head)) for r in rows]
    group += nodes.tbody("", *rows)
    whole = nodes.table("", group, classes=["gdn-table", "colwidths-auto", *classes])
    return nodes.container("", whole, classes=["gdn-scroll"])


def row(cells, width, **attributes):
    """A row of a table of `width` columns; a single cell spans it."""
    span = {"morecols": width - 1, "classes": ["gdn-span"]} if len(cells) == 1 else {}
    entries = (nodes.entry("", nodes.paragraph("", "", cell), **span) for cell in cells)
    return nodes.row("", *entries, **attributes)


def text(words):
    return nodes.Text(str(words))


def html(source):
    return nodes.raw("", source, format="html")


def equation(app, docname, label):
    """A link that shows the equation's number; its label if no page has it."""
    contents = nodes.literal("", label)
    link = app.env.get_domain("math").resolve_xref(
        app.env, docname, app.builder, "eq", label, None, contents
    )
    return link or contents


def page(app, docname, name):
    """A link from `docname` to the page `name` by its number and title."""
    title = app.env.titles[name]
    number = "".join(f"{n}. " for n in title.get("secnumber", ()))
    uri = app.builder.get_relative_uri(docname, name)
    words = [nodes.Text(number), *(word.deepcopy() for word in title.children)]
    return nodes.reference("", "", *words, refuri=uri, internal=True)


def without_tex(title):
    """A title as plain text, for places that hold no formula."""
    title = re.sub(r"\\(?:mathbf|boldsymbol|mathrm)\b\s*|\\[(),]|[{}]", "", title)
    for tex, sign in ((r"\alpha", "α"), (r"\beta", "β"), (r"^\top", "ᵀ")):
        title = title.replace(tex, sign)
    return title


def in_book_order(env):
    """Sort key of pages: their place in the table of contents."""
    places = {name: place for place, name in enumerate(env.toctree_includes[env.config.root_doc])}
    return lambda name: (places.get(name, len(places)), name)
