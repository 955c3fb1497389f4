"""The switchboard in each badge: every slip of an equation, and the test data that would hide it.

The rows come from the results of the checks (`gdn_ref.proofs.printed.slips`). They are many, so a
page only has the line that opens them; `_static/slips/<label>.js` holds the rows of one equation,
and `_static/slips/table.js` shows them.
"""

import json
import re
from pathlib import Path

from . import results, signs

FOLDER = "_static/slips"
SHAPE = re.compile(r"(a shape |shapes? )?\(((?:\d+(?:, ?)?)*)\)")


def connect(app):
    app.connect("build-finished", write)


def fold(page):
    """The line in a badge that opens the rows; nothing for an equation without any."""
    if not page.get("slips", {}).get("rows"):
        return ""
    return (
        f'<details class="gdn-slips" data-of="{page["label"]}">'
        "<summary>Slip by slip, and the data that hide it</summary></details>"
    )


def write(app, exception):
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir) / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    for label, page in results.of(app).printed.items():
        if fold(page):
            told = json.dumps(told_of(page["slips"]), ensure_ascii=False, separators=(",", ":"))
            script = f'GDN_SLIPS.tell("{label}",{told});\n'
            (folder / f"{label}.js").write_text(script, encoding="utf-8")


def told_of(slips):
    """What the table shows, as HTML; a row says by number which data hide it."""
    rows = []
    for row in slips["rows"]:
        what = signs.html(row["form"])
        if "place" in row:
            what += f" (place {row['place']})"
        if "right" in row:
            off = "" if row["off"] is None else signs.number(row["off"])
            cells = [signs.number(row["right"]), signs.number(row["wrong"]), off]
        else:
            cells = [f"no value: {_words(row['refused'])}" if "refused" in row else "false"]
        hidden = [slips["data"].index(name) for name in row["hidden"]]
        rows.append([what, signs.html(row.get("at", "")), cells, hidden])
    return {"data": slips["data"], "rows": rows}


def _words(reason):
    """`shapes () and (3, 4)` are a number and a matrix of 3 × 4."""
    return SHAPE.sub(_shape, signs.html(reason.replace("'", "")))


def _shape(match):
    sizes = [size for size in re.split(", ?", match[2]) if size]
    if not sizes and not match[1] and "(" != match[0][0]:
        return match[0]
    said = " × ".join(sizes) if sizes else "a number"
    return f"{(match[1] or '')}{said}".replace("a shape a number", "a number")


def totals(found):
    """The sentence of the verification page that counts what easy data would hide."""
    pages = [page["slips"] for page in found.values() if page.get("slips", {}).get("rows")]
    rows = [row for slips in pages for row in slips["rows"]]
    names = dict.fromkeys(name for slips in pages for name in slips["data"])
    counts = [
        f"{name} {sum(name in row['hidden'] for row in rows):,} of "
        f"{sum(len(slips['rows']) for slips in pages if name in slips['data']):,}"
        for name in names
    ]
    if not counts:
        return ""
    return (
        f"A line in the badge of {len(pages)} equations opens their altered forms one by one, each "
        "with the right and the wrong value in one draw, and with the test data that would hide "
        f"it. Where an equation has such data, they hide: {'; '.join(counts)}."
    )
