"""What stands in a page's head: its description and card, and only the scripts that it needs."""

import re
from html import escape
from pathlib import Path

from docutils import nodes

from .front import Plan
from .numbers import chapter_of

CARD = "card.png"
# The theme takes light or dark only once the page is read, and without either no border has a
# colour, nor a width: text would move.
MODE = """{
    const {dataset} = document.documentElement;
    const dark = matchMedia("(prefers-color-scheme: dark)").matches;
    if (!["light", "dark"].includes(dataset.theme)) dataset.theme = dark ? "dark" : "light";
}"""
# The faces of gdn.css come with the style sheet and not after it, so that no line is set twice.
# A link in the page would do, but a page that is opened from its file may not ask in that way.
FACES = """<script>
if (location.protocol !== "file:") {
    for (const face of ["text-regular", "text-semibold", "text-italic", "mono-regular"]) {
        const link = document.createElement("link");
        const root = document.documentElement.dataset.content_root;
        const href = `${root}_static/vendor/type/${face}.woff2`;
        Object.assign(link, {rel: "preload", as: "font", crossOrigin: "", href});
        document.head.append(link);
    }
}
</script>"""
LENGTH = 200  # search engines show about this many characters


def connect(app):
    app.connect("html-page-context", finish_head, priority=900)  # after those that add scripts
    app.connect("build-finished", draw_card)


def finish_head(app, pagename, templatename, context, doctree):
    if app.builder.format != "html":
        return
    body = context.get("body", "")
    app.add_js_file(None, body=MODE, priority=100)
    for script in ("previews.js", "scroll.js", "maths.js", "slips.js"):
        app.add_js_file(script, defer="defer")
    if "gdn-map" in body:
        app.add_js_file("chapter-map.js", defer="defer")
    # The state of the notebook's sliders, which no page shows.
    context["script_files"] = [
        script
        for script in context["script_files"]
        if "widget-state" not in str(script.attributes.get("type"))
    ]
    context["metatags"] = context.get("metatags", "") + FACES
    if doctree is not None:
        context["metatags"] += _meta(app, pagename, context, doctree)


def _meta(app, pagename, context, doctree):
    """Description and social card; the card's address only if the site's own is known."""
    tags = {"description": _description(app, pagename, doctree)}
    named = {
        "og:title": context.get("title", ""),
        "og:description": tags["description"],
        "og:site_name": app.config.project,
        "og:type": "article",
    }
    if app.config.html_baseurl:
        home = app.config.html_baseurl.rstrip("/")
        named["og:url"] = f"{home}/{app.builder.get_target_uri(pagename)}"
        named["og:image"] = f"{home}/_static/{CARD}"
        tags["twitter:card"] = "summary_large_image"
    return "".join(
        f'\n<meta {kind}="{name}" content="{escape(_plain(text))}" />'
        for kind, group in (("name", tags), ("property", named))
        for name, text in group.items()
        if text
    )


def _description(app, pagename, doctree):
    """A chapter's question and what it teaches; of another page, the first paragraph."""
    chapter = chapter_of(pagename)
    if chapter is None:
        first = next(iter(doctree.findall(nodes.paragraph)), None)
        return _cut(first.astext() if first is not None else "")
    asks = Plan(app).chapters.get(chapter, {}).get("asks", "")
    goals = next(iter(doctree.findall(nodes.admonition)), None)
    if goals is None:
        return _cut(asks)
    title, *rest = (part.astext() for part in goals.findall(_is_line))
    return _cut(f"{asks} {title} {' '.join(rest)}")


def _is_line(node):
    return isinstance(node, nodes.title | nodes.paragraph)


def _cut(text):
    """The text in one line, up to `LENGTH` characters, ending with a whole word."""
    line = " ".join(text.split())
    return line if len(line) <= LENGTH else line[:LENGTH].rsplit(" ", 1)[0].rstrip(",;:") + "\u2026"


def _plain(text):
    return re.sub(r"<[^>]+>", "", text)


def draw_card(app, exception):
    """The picture that a link to the book shows elsewhere: 1200 by 630, drawn with its colours."""
    if exception or app.builder.format != "html":
        return
    import matplotlib.pyplot as plt

    from gdn_ref.figures.style import COLOUR, cells, look

    with look(**{"savefig.transparent": False}):
        card = plt.figure(figsize=(12, 6.3), dpi=100, facecolor="white")
        card.text(0.07, 0.72, app.config.project, fontsize=38, weight="bold", color=COLOUR["ink"])
        card.text(0.07, 0.60, "From softmax attention to a GPU kernel,", fontsize=22)
        card.text(0.07, 0.53, "with every equation checked by a program", fontsize=22)
        rule = r"$\mathbf{S}_t = \alpha_t \mathbf{S}_{t-1} (\mathbf{I} - \beta_t k_t k_t^\top)"
        card.text(0.07, 0.24, rule + r" + \beta_t v_t k_t^\top$", fontsize=34)
        state = card.add_axes((0.76, 0.42, 0.18, 0.42))
        state.axis("off")
        key, value = [0.3, 0.8, -0.5], [1, -0.6, 0.4, 0.9]
        cells(state, _outer(value, key), 0, 4, 1)
        state.set(xlim=(-0.1, 3.1), ylim=(-0.1, 4.1), aspect="equal")
        card.savefig(Path(app.outdir) / "_static" / CARD)
        plt.close(card)


def _outer(rows, columns):
    import numpy as np

    return np.outer(rows, columns)
