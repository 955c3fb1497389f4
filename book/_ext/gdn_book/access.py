"""Repairs of the HTML that Sphinx and its extensions write, where a screen reader would stumble."""

import re

REPAIRS = [
    # a heading cell without a heading is a plain cell
    (re.compile(r'<th class="head(?: stub)?">(?:\s|<p>\s*</p>)*</th>'), "<td></td>"),
    # the role of an entry in a bibliography is deprecated, and its list is no list to begin with
    (re.compile(r' role="doc-biblioentry"| role="list"(?= class="citation-list")'), ""),
]


def connect(app):
    app.connect("html-page-context", repair, priority=800)


def repair(app, pagename, templatename, context, doctree):
    if app.builder.format == "html" and "body" in context:
        for pattern, better in REPAIRS:
            context["body"] = pattern.sub(better, context["body"])
