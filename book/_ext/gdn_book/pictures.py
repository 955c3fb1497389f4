"""Each drawing says its size, so that its place is kept until it has come, which it does when near.

A drawing of matplotlib has its size in points; a page has pixels, of which 96 are as long as 72
points. `gdn.css` lets a drawing that is wider than its column shrink, except on a phone, where its
letters would be too small to read: there it scrolls in a box of its own.
"""

import re
from functools import cache
from pathlib import Path

IMAGE = re.compile(r'<img\b[^>]*\bsrc="([^":]+\.svg)"[^>]*>')
SIZE = re.compile(r'<svg\b[^>]*?\bwidth="([\d.]+)pt" height="([\d.]+)pt"')


def connect(app):
    app.connect("build-finished", size_pictures)


def size_pictures(app, exception):
    """Write width and height into the pages, where they say none; all but a page's first wait."""
    if exception or app.builder.format != "html":
        return
    root = Path(app.outdir)

    @cache
    def size(path):
        found = SIZE.search(path.read_text(encoding="utf-8")[:2000])
        return found and tuple(round(float(x) * 96 / 72) for x in found.groups())

    for page in root.rglob("*.html"):
        if page.relative_to(root).parts[0] in ("_static", "lite"):
            continue

        html = page.read_text(encoding="utf-8")
        first = IMAGE.search(html)

        def sized(image):
            found = size((page.parent / image[1]).resolve())  # noqa: B023
            if not found or " height=" in image[0]:
                return image[0]
            wait = "" if image.start() == first.start() else ' loading="lazy"'  # noqa: B023
            drawing = f'<img width="{found[0]}" height="{found[1]}"{wait}{image[0][4:]}'
            return f'<span class="gdn-still">{drawing}</span>'

        if (other := IMAGE.sub(sized, html)) != html:
            page.write_text(other, encoding="utf-8")
