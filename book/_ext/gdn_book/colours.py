"""Letters that wear the colour of their role, for readers who ask for it.

A page gets the button beside light and dark if a numbered equation of it has such a letter
(`_templates/theme-switcher.html`); `_static/colours.js` presses it and remembers, and the style
sheet does the rest: it knows a letter by the name of its sign, the code point that MathJax draws,
so that no formula has to say anything.
"""

import re
from html import unescape

from .symbols import codes

LETTERS = {  # role -> code points: bold k and K, and so on
    "key": ("1d48c", "1d40a"),
    "value": ("1d497", "1d415"),
    "query": ("1d492", "1d410"),
    "state": ("1d412",),
    "decay": ("1d6fc", "1d454", "1d6fe", "393", "1d6aa"),
    "error": ("1d739", "1d404", "1d6fd"),
}
ROLES = {code: role for role, letters in LETTERS.items() for code in letters}
SAYS = (
    "Letters in colour: k and K are keys, v and V values, q and Q queries, S states, "
    "α, g, γ, Γ decays, δ and E corrections, β their strength"
)
NUMBERED = re.compile(r'<div class="[^"]*\bmath\b[^"]*" id="equation-.*?</div>', re.S)
# Before the first line of text: a page must not change its colours while one reads.
REMEMBERED = """try {
    if (localStorage.gdnColours) document.documentElement.dataset.gdnColours = "";
} catch { /* a browser that remembers nothing */ }"""


def connect(app):
    app.connect("html-page-context", offer_colours)


def offer_colours(app, pagename, templatename, context, doctree):
    if app.builder.format != "html":
        return
    app.add_js_file(None, body=REMEMBERED, priority=100)
    app.add_js_file("colours.js", defer="defer")
    if any(ROLES.keys() & codes(tex) for tex in numbered(context.get("body", ""))):
        context["gdn_colours"] = SAYS


def numbered(html):
    """The TeX of the numbered equations of a page that is not set yet."""
    for equation in NUMBERED.findall(html):
        yield unescape(re.sub(r"<[^>]*>", "", equation))
