"""Pack the built book so that it opens from its files, without a server.

    python book/site/zip.py SITE ARCHIVE

Python in the browser needs a web server, so it is left out, and a page says so in its place. The
same site gives the same bytes.
"""

import sys
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

FOLDER = "gated-deltanet"
LITE = "lite/"
INSTEAD = "lite/notebooks/index.html"
MESSAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Not in this archive</title>
<p>The notebooks that run in the browser need a web server, so this archive leaves them out.
The site itself has them, and so does a checkout after <code>make book</code> and
<code>make serve</code>.</p>
<p><a href="../../index.html">Back to the book</a></p></html>
"""


def pack(site, archive):
    """Write `archive` from the files under `site`; returns the number of files."""
    site = Path(site)
    if not (site / "index.html").is_file():
        raise SystemExit(f"{site} has no index.html: run `make book` first")
    files = {path.relative_to(site).as_posix(): path for path in site.rglob("*") if path.is_file()}
    contents = {
        name: path.read_bytes() for name, path in files.items() if not name.startswith(LITE)
    }
    contents[INSTEAD] = MESSAGE.encode()
    with ZipFile(archive, "w") as packed:
        for name in sorted(contents):
            entry = ZipInfo(f"{FOLDER}/{name}")  # dated 1980, so that only the contents count
            entry.external_attr = 0o644 << 16
            packed.writestr(entry, contents[name], ZIP_DEFLATED)
    return len(contents)


if __name__ == "__main__":
    number = pack(*sys.argv[1:])
    size = Path(sys.argv[2]).stat().st_size / 1e6
    print(f"{sys.argv[2]}: {number} files, {size:.0f} MB")
