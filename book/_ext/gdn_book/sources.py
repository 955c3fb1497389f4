"""A page for each chapter's checks with their source, outside the contents, as viewcode does."""

from html import escape

from . import addresses, results
from .plain import prose


def connect(app):
    app.connect("html-collect-pages", pages)


def pages(app):
    """`(page, context, template)` for each chapter that has checks."""
    found, shown = results.of(app), {}
    for entry in [*found.checks, *found.errata]:
        by_name = shown.setdefault(addresses.sources_page(entry["name"]), {})
        by_name.setdefault(entry["name"], []).append(entry)
    for page, by_name in sorted(shown.items()):
        title = f"The checks of chapter {page[-2:].lstrip('0')}"
        blocks = "".join(_block(app, page, *item) for item in sorted(by_name.items()))
        yield page, {"title": title, "body": f"<h1>{title}</h1>{blocks}"}, "page.html"


def _block(app, page, name, entries):
    code = app.builder.highlighter.highlight_block(entries[0]["source"], "python")
    about = "".join(_about(app, page, entry) for entry in entries)
    return (
        f'<section class="gdn-check" id="{addresses.check_id(name)}"><h2>{escape(name)}</h2>'
        f'{about}<div class="highlight-python notranslate">{code}</div></section>'
    )


def _about(app, page, entry):
    """What a check covers, or which erratum it is, with a link back."""
    method = results.SHORT.get(entry["method"], entry["method"])
    if "mutants" not in entry:
        return f"<p>Erratum <code>{entry['key']}</code>, by {method}.</p>"
    row = addresses.row_link(app, page, entry["label"], f"<code>{entry['label']}</code>")
    return f"<p>{row}, by {method}: {prose(entry['covers'])}. {entry['seconds']:.2f} s.</p>"
