"""Plain text from the results as HTML, for badges, tables and folds."""

import re
from html import escape


def prose(text):
    """Plain text as HTML: `code` in backticks, d_k with a subscript, signs for <= and so on."""
    html = re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text, quote=False))
    html = re.sub(r"\bd_([kv])\b", r"<i>d</i><sub>\1</sub>", html)
    for typed, sign in (("&lt;=", "\u2264"), ("&gt;=", "\u2265"), ("!=", "\u2260")):
        html = html.replace(typed, sign)
    return html
