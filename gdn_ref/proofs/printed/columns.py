r"""Where the marks of columns may stand: what a mark parts is not multiplied.

    marked(tokens)    the tokens; `NotRead` where a mark stands between two things

`x &= a && b` says that x is a, and b stands beside it; `x &= a \\ + b &= c` are two equations.
A mark begins a row, or stands before a relation, before a remark, behind a comma or behind words;
once in a row it may stand before a sign, as in `x = a &+ b`. A row that goes on begins with it.
"""

from .lexer import CLOSES, OPENS, NotRead

BEHIND = ("COMMA", "COLON", "TEXT")
BEFORE = ("RELATION", "TEXT", "STOP")
GOES_ON = ("SIGN", "CDOT", "ODOT")


def marked(found):
    """The tokens of a display, if each of its marks has a meaning."""
    inside, last = 0, None
    for row in _rows(found):
        if content := _content(row):
            if last is not None and _goes_on(content[0], last, inside) and not _as_one(row, inside):
                raise NotRead("a row that goes on, and begins left of its mark")
            _read(row)
            last = content[-1]
        inside += sum((t.kind in OPENS) - (t.kind in CLOSES) for t in row)
    return found


def _rows(found):
    """Each row as it is printed, without the marks of the tables in it."""
    rows, depth = [[]], 0
    for token in found:
        depth += (token.kind == "BEGIN") - (token.kind == "END")
        if token.kind == "ROW" and not depth:
            rows.append([])
        elif not (depth and token.kind in ("CELL", "ROW")):
            rows[-1].append(token)
    return rows


def _goes_on(first, last, inside):
    """Whether a row goes on that begins so, after one that ended so."""
    return bool(inside) or first.kind in GOES_ON or last.kind in (*GOES_ON, "RELATION")


def _as_one(row, inside):
    """Whether a row that goes on begins with the mark, or has neither one nor a relation."""
    marks = _marks(row)
    if marks:
        return not _content(row[: marks[0]])
    return bool(inside) or not _relates(row)


def _relates(row):
    depth = 0
    for token in row:
        depth += (token.kind in OPENS) - (token.kind in CLOSES)
        if depth == 0 and token.kind in ("RELATION", "TEXT"):
            return token.kind == "RELATION"
    return False


def _read(row):
    """Refuse a mark that parts two things."""
    for n, place in enumerate(_marks(row)):
        before, behind = _content(row[:place]), _content(row[place:])
        if not before or not behind or before[-1].kind in BEHIND or behind[0].kind in BEFORE:
            continue
        if n or behind[0].kind != "SIGN" and before[0].kind != "FUNCTION":  # `\min_x &(...)`
            raise NotRead(f"a mark between {before[-1].text} and {behind[0].text}")


def _marks(row):
    return [place for place, token in enumerate(row) if token.kind == "CELL"]


def _content(row):
    return [token for token in row if token.kind not in ("CELL", "QUAD")]
