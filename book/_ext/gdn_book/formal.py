"""The fold under an equation that has a formal proof: statement, file, and what is covered.

The record of the last run of `python -m gdn_ref.proofs.formal` is all that the book reads, so it
builds where no Rocq is. It must be the record of the `.v` files as they are.
"""

import hashlib
import json
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx.util import logging

from gdn_ref.proofs import formal

from .plain import prose

logger = logging.getLogger(__name__)
FOLDER = "gdn_ref/proofs/formal"
READING = "Tokens are counted from 0 and vectors are rows; the file says what each name stands for"
BEFORE_THE_BADGES = 400  # what comes later lands right under the equation


def connect(app):
    app.add_config_value("gdn_formal_json", "book/_data/formal.json", "env", types=[str])
    app.add_config_value("gdn_formal_digest", "", "env", types=[str])
    app.connect("config-inited", fingerprint)
    app.connect("env-check-consistency", check_record)
    app.connect("doctree-resolved", add_folds, priority=BEFORE_THE_BADGES)
    app.connect("html-collect-pages", pages)


def record_path(app):
    return Path(app.srcdir) / app.config.gdn_formal_json


def record(app):
    """The record as it was written; empty where there is none."""
    path = record_path(app)
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def fingerprint(app, config):
    """A new record rebuilds every page: the digest is a configuration value."""
    path = record_path(app)
    config.gdn_formal_digest = (
        hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    )


def check_record(app, env):
    """The record is that of the files, and every label in it is on a page."""
    found, labels = record(app), env.get_domain("math").equations
    stale = formal.differences(found, Path(app.srcdir) / FOLDER)
    for line in stale:
        logger.warning("%s is stale (`make formal RECORD=1`): %s",
                       app.config.gdn_formal_json, line, type="gdn")  # fmt: skip
    for theorem in found.get("theorems", []):
        for label in theorem["labels"]:
            if label not in labels:
                logger.warning("the theorem %s is about %s, but no page has an equation of that "
                               "label", theorem["name"], label, type="gdn")  # fmt: skip


def add_folds(app, doctree, docname):
    """Put a fold after each equation that has a formal proof."""
    if app.builder.format != "html":
        return
    found = record(app)
    by_label = {}
    for theorem in found.get("theorems", []):
        for label in theorem["labels"]:
            by_label.setdefault(label, []).append(theorem)
    for equation in list(doctree.findall(nodes.math_block)):
        if theorems := by_label.get(equation.get("label")):
            text = fold(app, docname, theorems, found)
            at = equation.parent.index(equation) + 1
            equation.parent.insert(at, nodes.raw("", text, format="html"))


def fold(app, docname, theorems, found):
    """The fold of one equation; `theorems` has one entry for each statement that proves it."""
    versions = found["versions"]
    tools = f"Rocq {versions['coq']}, MathComp {versions['mathcomp']}, on {found['date']}"
    inside = "".join(_one(app, docname, theorem, tools) for theorem in theorems)
    return (
        '<details class="gdn-badge gdn-formal"><summary>Proved formally, in Rocq</summary>'
        f'<div class="gdn-badge-body">{inside}</div></details>'
    )


def _one(app, docname, theorem, tools):
    address = app.builder.get_relative_uri(docname, _page(theorem["file"]))
    about = prose(theorem["about"])
    stated = "\n".join([*theorem["context"], theorem["statement"]])
    rows = [
        ("Covers", f"{about[0].upper()}{about[1:]}."),
        ("Statement", f"<pre>{escape(stated, quote=False)}</pre>{READING}."),
        ("File", f'<a href="{escape(address)}"><code>{FOLDER}/{theorem["file"]}</code></a>'),
        ("Checked by", f"{tools}; it rests on no axiom"),
    ]
    return "<dl>" + "".join(f"<dt>{name}</dt><dd>{text}</dd>" for name, text in rows) + "</dl>"


def _page(file):
    """The page that shows a `.v` file: `chunk.v` -> `formal/chunk`."""
    return f"formal/{Path(file).stem}"


def pages(app):
    """`(page, context, template)` for each file of the formal proofs, outside the contents."""
    for path in formal.sources(Path(app.srcdir) / FOLDER):
        code = app.builder.highlighter.highlight_block(formal.read(path), "coq")
        body = f'<h1>{path.name}</h1><div class="highlight-coq notranslate">{code}</div>'
        yield _page(path.name), {"title": path.name, "body": body}, "page.html"
