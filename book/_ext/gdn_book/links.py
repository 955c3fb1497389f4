"""Equation labels in code become links, and each page loads the scripts of its figures."""

import re
from html import escape
from itertools import groupby
from pathlib import Path

from sphinx.util import logging

from . import tables
from .rules import LABEL

logger = logging.getLogger(__name__)
CITED = re.compile(rf"\(({LABEL.pattern}(?:,\s+{LABEL.pattern})*)\)")
HIGHLIGHTED = re.compile(r'<div class="highlight">.*?</div>', re.DOTALL)
NAMED = re.compile(rf'<code class="gdn-eq">({LABEL.pattern})</code>')
FIGURE = re.compile(r'class="gdn-figure"[^>]*data-figure="([^"]+)"')

# From file:// a page may not read the others, so a search there lists titles without excerpts.
SEARCH_IN_FILES = (
    'if (location.protocol === "file:") DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = false;'
)


def connect(app):
    app.set_html_assets_policy("always")  # titles hold formulas, and the sidebar is on every page
    app.connect("autodoc-process-docstring", link_docstring, priority=400)  # before napoleon
    app.connect("html-page-context", finish_page)


def link_docstring(app, what, name, obj, options, lines):
    """In a docstring, `(eq-wy-w)` refers to the equation, and a formula set in is displayed.

    Text set in by four columns after a blank line, before the first section of the docstring, is
    a formula; `finish_page` links the labels in it.
    """
    written, in_section, in_formula = [], False, False
    for line in lines:
        in_section = in_section or set(line.strip()) == {"-"}
        set_in = line.startswith("    ") and not in_section
        if set_in and not in_formula and written and not written[-1][1]:
            in_formula = True
            written += [(True, ".. code-block:: text"), (True, "")]
        elif line and not line.startswith("    "):
            in_formula = False
        written.append((in_formula, line))
    lines.clear()
    for is_formula, part in groupby(written, key=lambda entry: entry[0]):
        text = "\n".join(line for _, line in part)
        lines += (text if is_formula else CITED.sub(_references, text)).split("\n")


def _references(match):
    return LABEL.sub(r":eq:`\g<0>`", match[1])


def finish_page(app, pagename, templatename, context, doctree):
    """Link the labels in highlighted code and in what cells show; load the figures' scripts."""
    if app.builder.format != "html":
        return
    if pagename == "search":
        app.add_js_file(None, body=SEARCH_IN_FILES)
        app.add_js_file("search.js", defer="defer")
    if "body" not in context:
        return
    link_to = {
        label: f"{app.builder.get_relative_uri(pagename, docname)}#equation-{label}"
        for label, (docname, _) in app.env.get_domain("math").equations.items()
    }

    def linked(code):
        def link(match):
            label = match[0]
            if label not in link_to:
                return label
            return f'<a class="gdn-cite" href="{escape(link_to[label])}">{label}</a>'

        return LABEL.sub(link, code[0])

    figures = sorted(set(FIGURE.findall(context["body"])))
    context["body"] = HIGHLIGHTED.sub(linked, context["body"])
    context["body"] = NAMED.sub(
        lambda named: (
            f'<a href="{escape(link_to[named[1]])}">'
            f"{tables.equation(app, pagename, named[1]).astext()}</a>"
        ),
        context["body"],
    )
    if figures:
        _load_scripts(app, pagename, figures)


def _load_scripts(app, pagename, figures):
    """`data-figure="decay-mask"` needs figures/decay-mask.js, and what all figures share."""
    static = [Path(app.confdir) / folder for folder in app.config.html_static_path]
    for name in ["figure", *figures]:
        script = f"figures/{name}.js"
        if any((folder / script).is_file() for folder in static):
            app.add_js_file(script, defer="defer")
        else:
            logger.warning("the page asks for the figure %s, but there is no %s",
                           name, script, location=pagename, type="gdn")  # fmt: skip
