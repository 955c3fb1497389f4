"""Repairs of the HTML that Sphinx and its extensions write, where a screen reader would stumble."""

import re

from .numbers import in_words

MATHS_HEAD = re.compile(
    r'<th class="head">\s*<p>(<span class="math[^>]*>)\\\((.*?)\\\)</span></p></th>'
)
REPAIRS = [
    # a heading cell without a heading is a plain cell
    (re.compile(r'<th class="head(?: stub)?">(?:\s|<p>\s*</p>)*</th>'), "<td></td>"),
    # what sphinx-proof and sphinx-exercise call every proof and exercise without a label
    (
        re.compile(
            r'(<section(?: class="[a-z]+-content")?|<div class="proof admonition")'
            r' id="(?:[a-z]+-content|proof)"'
        ),
        r"\1",
    ),
    # the role of an entry in a bibliography is deprecated, and its list is no list to begin with
    (re.compile(r' role="doc-biblioentry"| role="list"(?= class="citation-list")'), ""),
]


def connect(app):
    app.connect("html-page-context", repair, priority=800)


def repair(app, pagename, templatename, context, doctree):
    if app.builder.format == "html" and "body" in context:
        for pattern, better in REPAIRS:
            context["body"] = pattern.sub(better, context["body"])
        context["body"] = MATHS_HEAD.sub(_named_head, context["body"])


def _named_head(match):
    """A heading that is a formula alone is read as its letters: not every reader knows MathML."""
    span, tex = match.groups()
    return (
        f'<th class="head"><p>{span.replace(">", " aria-hidden=true>")}\\({tex}\\)</span>'
        f'<span class="visually-hidden">{in_words(tex)}</span></p></th>'
    )
