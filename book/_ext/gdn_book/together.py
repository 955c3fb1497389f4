"""One style sheet and one script for all pages, in place of thirty files.

Each file costs a page a request, and a style sheet holds back the first line of text. Once the
pages are written, what all of them load is put together in its order, as `book.css` and `book.js`;
the script runs when the page is read. What a page alone needs stays beside it.
"""

import hashlib
import posixpath
import re
from pathlib import Path

STYLE = re.compile(r'\s*<link\b(?=[^>]*rel="stylesheet")(?=[^>]*href="([^"?:]*)[^":]*")[^>]*>')
SCRIPT = re.compile(r'\s*<script\b(?=[^>]*\bsrc="([^"?:]*)[^":]*")[^>]*></script>')
PRELOAD = re.compile(r'\s*<link rel="preload" as="script"[^>]*>')
IMPORT = re.compile(r'@import\s+"([^"]+)";')
URL = re.compile(r"url\((?!['\"]?(?:data:|#))['\"]?([^'\")]+)['\"]?\)")
NOTES = re.compile(
    r'@charset "[^"]*";|/\*# sourceMappingURL=.*?\*/|^//# sourceMappingURL=.*$', re.M
)
# Comments but those of a licence, and white space beside signs, but not in strings; of a script,
# only lines of comment and indentation.
STRING = r""""[^"\n]*"|'[^'\n]*'|url\([^"')]*\)|/\*!.*?\*/"""
TALK = {
    ".css": re.compile(rf"({STRING})|/\*.*?\*/|[\s;]*(}})\s*|\s*([{{;,])\s*", re.S),
    ".js": re.compile(r"^[ \t]*(?://[^\n]*\n|/\*(?!!)(?:(?!\*/).)*\*/[ \t]*\n)?", re.M | re.S),
}
SEARCH = ("searchindex.js", "_static/searchtools.js", "_static/language_data.js")
OPTIONS = "_static/documentation_options.js"  # short, and scripts in the head add to it


def connect(app):
    app.connect("build-finished", put_together, priority=950)  # after slim


def put_together(app, exception):
    if exception or app.builder.format != "html":
        return
    root = Path(app.outdir)
    pages = {
        path.relative_to(root).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(root.rglob("*.html"))
        if path.relative_to(root).parts[0] not in ("_static", "lite")
    }
    styles, scripts = (shared(root, pages, pattern) for pattern in (STYLE, SCRIPT))
    if not styles or "_static/book.css" in styles:
        return  # some pages are of an earlier build, and have been put together
    css = "".join(sheet(root, name, media) for name, media in styles.items())
    # The first mark keeps a "use strict" at the head of one script from ruling the others.
    js = "".join(f";\n{text(root, name)}" for name in scripts if name != OPTIONS)
    options = text(root, OPTIONS) if OPTIONS in scripts else ""
    for page, html in pages.items():
        html = PRELOAD.sub("", html)
        link = f'<link rel="stylesheet" href="{address(page, "book.css", css)}" />'
        html = replaced(html, page, STYLE, styles, link)
        script = f'<script defer src="{address(page, "book.js", js)}"></script>'
        html = replaced(html, page, SCRIPT, scripts, f"<script>{options}</script>{script}")
        (root / page).write_text(html, encoding="utf-8")
    (root / "_static" / "book.css").write_text(css, encoding="utf-8")
    (root / "_static" / "book.js").write_text(js, encoding="utf-8")
    for name in {*styles, *scripts}:
        (root / name).unlink()
    for path in (root / "_static").rglob("*.map"):
        path.unlink()  # of the theme's sources, 3.5 MB


def place(page, address):
    """The file that an address on a page leads to."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(page), address))


def shared(root, pages, pattern):
    """File -> its medium, of those that every page loads that loads any, in their order."""
    found = [
        {
            place(page, match[1]): "print" if 'media="print"' in match[0] else ""
            for match in pattern.finditer(html)
        }
        for page, html in pages.items()
    ]
    found = [files for files in found if files]
    return {
        name: medium
        for name, medium in (found[0] if found else {}).items()
        if name not in SEARCH and (root / name).is_file() and all(name in files for files in found)
    }


def text(root, name):
    content = NOTES.sub("", (root / name).read_text(encoding="utf-8"))
    short = TALK[Path(name).suffix].sub(lambda one: "".join(filter(None, one.groups())), content)
    return short.strip()


def sheet(root, name, medium):
    """A style sheet with those that it imports, its addresses as seen from `_static`."""
    css = URL.sub(
        lambda found: f'url("{posixpath.relpath(place(name, found[1]), "_static")}")',
        text(root, name),
    )
    css = IMPORT.sub(lambda found: sheet(root, place(name, found[1]), ""), css)
    return f"@media {medium} {{\n{css}\n}}\n" if medium else f"{css}\n"


def address(page, name, content):
    """The address of a file in `_static`, with its digest, so that a browser takes a new one."""
    digest = hashlib.sha256(content.encode()).hexdigest()[:8]
    return f"{posixpath.relpath('_static', posixpath.dirname(page) or '.')}/{name}?v={digest}"


def replaced(html, page, pattern, shared, instead):
    """The page with one tag instead of those of the shared files; other scripts come after it."""
    first = True

    def replace(match):
        nonlocal first
        if place(page, match[1]) not in shared:
            deferred = "<script" not in match[0] or "defer" in match[0]
            return match[0] if deferred else match[0].replace("<script", "<script defer", 1)
        first, here = False, first
        return f"\n    {instead}" if here else ""

    return pattern.sub(replace, html)
