"""What a link leads to, shown beside it: equations, theorems, figures, citations, terms, symbols.

A page may not read another from file://, so the build writes what is linked on each page into one
small script, `_static/previews/<page>.js`. `previews.js` loads it when a reader first points at a
link to that page; what is on the page itself, it takes from there. With it come the outlines of
the signs in its formulas, which the reader's page may lack.
"""

import json
import re
from pathlib import Path, PurePosixPath
from posixpath import normpath, relpath
from urllib.parse import unquote, urldefrag, urlsplit

from bs4 import BeautifulSoup

from . import maths

# what deserves a preview, as CSS; `previews.js` has the same list for targets on its own page
TARGETS = "div.math, div.proof, div.exercise, figure, div.citation, dl.glossary dt, tr[id^=symbol]"
FOLDER = "_static/previews"
MADE = ("*.html", "_modules/**/*.html", "checks/*.html", "formal/*.html")  # no source of their own


def connect(app):
    app.connect("build-finished", find_previews, priority=50)  # while formulas are short
    app.connect("build-finished", write_previews)


def find_previews(app, exception):
    """Page -> anchor -> what is shown beside a link to it, of all that other pages link to."""
    if exception or app.builder.format != "html":
        return
    root = Path(app.outdir)
    pages = {
        path.relative_to(root).with_suffix("").as_posix(): BeautifulSoup(
            path.read_text(encoding="utf-8"), "html.parser"
        )
        for path in [*_written(app), *(path for made in MADE for path in root.glob(made))]
    }
    app.gdn_previews = {}
    for page, anchors in sorted(linked(pages).items()):
        places = {node["id"]: node for node in pages[page].find_all(id=True)}
        found = {anchor: preview(places.get(anchor), page) for anchor in sorted(anchors)}
        app.gdn_previews[page] = {anchor: html for anchor, html in found.items() if html}


def write_previews(app, exception):
    """One script for each page that others link into."""
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for page, found in app.gdn_previews.items():
        found = {anchor: maths.with_formulas(app, html) for anchor, html in found.items()}
        outlines = maths.outlines(Path(app.outdir) / f"{page}.html")
        signs = {name: outlines[name] for name in maths.signs("".join(found.values()))}
        told = ", ".join(json.dumps(x, ensure_ascii=False) for x in (page, found, signs))
        script = f"GDN_PREVIEWS({told});\n"
        (folder / f"{page.replace('/', '-')}.js").write_text(script, encoding="utf-8")


def _written(app):
    paths = (Path(app.outdir) / f"{page}.html" for page in app.env.found_docs)
    return [path for path in paths if path.is_file()]


def linked(pages):
    """Page -> the anchors on it that other pages link to, and every symbol's."""
    found = {
        page: symbols
        for page, soup in pages.items()
        if (symbols := {row["id"] for row in soup.select("tr[id^=symbol]")})
    }
    for page, soup in pages.items():
        for link in soup.select("article a[href*='#']"):
            address, anchor = urldefrag(link["href"])
            if urlsplit(address).scheme or not address:
                continue
            target = normpath(str(PurePosixPath(page).parent / unquote(address)))
            target = target.removesuffix(".html")
            if target in pages and target != page:
                found.setdefault(target, set()).add(unquote(anchor))
    return found


def preview(target, page):
    """The HTML of what stands at an anchor, its addresses seen from the root; None if nothing."""
    if target is None:
        return None
    target = next((one for one in [target, *target.parents][:3] if _is_target(one)), None)
    if target is None:
        return None
    parts = [target]
    if target.name == "dt":
        described = target.find_next_sibling("dd")
        parts += described.find_all("p", recursive=False) if described else []
    return "".join(_clean(part, page) for part in parts)


def _is_target(node):
    return node.name != "[document]" and node.css.match(TARGETS)


def _clean(node, page):
    """The node's HTML without ids and heading links; addresses relative to the site's root."""
    copy = BeautifulSoup(str(node), "html.parser")
    for link in copy.select("a.headerlink, details, script, button"):
        link.decompose()
    for one in copy.select("dt, tr"):
        one["class"] = "gdn-symbol" if one.name == "tr" else one.get("class", "")
        one.name = "div"
    for one in copy.select("td"):
        one.name = "span"
        if not one.get_text(strip=True):
            one.decompose()
    for one in copy.find_all(True):
        del one["id"], one["role"]
        for name in ("href", "src"):
            if one.name != "use" and one.get(name) and not re.match(r"[a-z]+:|//", one[name]):
                address, anchor = urldefrag(one[name])
                path = normpath(str(PurePosixPath(page).parent / address)) if address else (
                    f"{page}.html")  # fmt: skip
                one[name] = relpath(path, ".") + (f"#{anchor}" if anchor else "")
    return str(copy)
