"""Symbols lead to the notation page: rows get anchors, badges name them, formulas answer.

Each row of a table headed "symbol" gets an anchor. A badge lists the symbols of its equation, as
links, and `_static/previews/symbols.js` tells `previews.js` which row explains a letter, so that
one can point at a symbol in any formula. Letters are known by the code point that MathJax draws.
"""

import json
import re
from html import escape
from pathlib import Path

from docutils import nodes

from . import previews
from .maths import NAMED

HEAD = "symbol"
GREEK = [
    "alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "iota", "kappa",
    "lambda", "mu", "nu", "xi", "omicron", "pi", "rho", "varsigma", "sigma", "tau", "upsilon",
    "phi", "chi", "psi", "omega",
]  # fmt: skip
TOKEN = re.compile(
    r"\\(?:mathrm|text|operatorname|begin|end|label|color|tag)\{[^}]*\}"  # words, not symbols
    r"|\\(?P<font>boldsymbol|mathbf)\{\\?(?P<inside>[A-Za-z]+)\}"
    r"|\\(?P<command>[A-Za-z]+)|(?P<letter>[A-Za-z])"
)
LATIN = {"boldsymbol": (0x1D468, 0x1D482), "mathbf": (0x1D400, 0x1D41A), None: (0x1D434, 0x1D44E)}
SMALL_GREEK = {"boldsymbol": 0x1D736, "mathbf": 0x1D6C2, None: 0x1D6FC}
CAPITAL_GREEK = {"boldsymbol": 0x1D6A8, "mathbf": 0x1D6A8, None: 0x391}

SHOWN = 2  # rows for one letter
ENTRIES = {"393": "1d6aa"}  # the entries of a matrix: Gamma_ri


def connect(app):
    app.add_config_value("gdn_notation", "book/notation", "env", types=[str])
    app.connect("doctree-read", anchor_rows)
    app.connect("build-finished", write_symbols)


def anchor_rows(app, doctree):
    """`symbol-1d48c-1d461`, the letters of the first cell, is the anchor of its row."""
    if app.env.docname != app.config.gdn_notation:
        return
    for table in doctree.findall(nodes.table):
        heads = [entry.astext().strip() for entry in table.findall(_is_head_cell)]
        if not heads or heads[0] != HEAD:
            continue
        for row in next(table.findall(nodes.tbody)).findall(nodes.row):
            letters = [code for tex in _formulas(row) for code in codes(tex)]
            name = "symbol-" + "-".join(letters)
            if letters and name not in doctree.ids:
                row["ids"].append(name)
                doctree.ids[name] = row


def _is_head_cell(node):
    return isinstance(node, nodes.entry) and isinstance(node.parent.parent, nodes.thead)


def _formulas(row):
    return [formula.astext() for formula in row[0].findall(nodes.math)]


def codes(tex):
    """The code points, in hexadecimal, of the letters of a formula, in order."""
    found = (_code(match) for match in TOKEN.finditer(tex))
    return [f"{code:X}".lower() for code in found if code]


def _code(match):
    name = match["inside"] or match["command"] or match["letter"]
    font = match["font"]
    if name is None:
        return None
    if len(name) == 1:
        capital, small = LATIN[font]
        return capital + ord(name) - 65 if name.isupper() else small + ord(name) - 97
    if name in GREEK:
        return SMALL_GREEK[font] + GREEK.index(name)
    if name.lower() in GREEK:
        return CAPITAL_GREEK[font] + GREEK.index(name.lower())
    return None


def rows(env):
    """Letter -> the rows that explain it: their anchor, the formula, what it means."""
    found = {}
    page = env.config.gdn_notation
    if page not in env.found_docs:
        return found
    for row in env.get_doctree(page).findall(nodes.row):
        anchor = next((name for name in row["ids"] if name.startswith("symbol-")), None)
        for tex in _formulas(row) if anchor else ():
            for code in codes(tex)[:1]:
                found.setdefault(code, []).append((anchor, tex, row[1].astext()))
    for entry, matrix in ENTRIES.items():
        found.setdefault(entry, found.get(matrix, []))
    return found


def links(app, docname, tex):
    """The symbols of an equation as links to the notation page, or an empty text."""
    if getattr(app, "gdn_symbols", None) is None:
        app.gdn_symbols = rows(app.env)
    page = app.config.gdn_notation
    if not app.gdn_symbols:
        return ""
    home = app.builder.get_relative_uri(docname, page)
    told = {}
    for code in codes(tex):
        for anchor, formula, meaning in app.gdn_symbols.get(code, ())[:1]:
            told[anchor] = (
                f'<a href="{escape(home)}#{anchor}" aria-label="{escape(_plain(meaning))}">'
                f'<span class="math notranslate nohighlight"{NAMED}>\\({escape(formula)}\\)</span>'
                "</a>"
            )
    return " ".join(told.values())


def _plain(meaning):
    """What a symbol means, up to its first formula: a name for those who listen."""
    words = re.split(r"[\\,;:^_]", " ".join(meaning.split()))[0].strip()
    return words or "symbol"


def write_symbols(app, exception):
    """The script that tells which row of the notation page explains a letter."""
    if exception or app.builder.format != "html":
        return
    found = {code: list(dict.fromkeys(anchor for anchor, _, _ in there))[:SHOWN]
             for code, there in rows(app.env).items()}  # fmt: skip
    folder = Path(app.outdir) / previews.FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    told = json.dumps({"page": app.config.gdn_notation, "rows": found})
    (folder / "symbols.js").write_text(f"GDN_SYMBOLS({told});\n", encoding="utf-8")
