r"""What a display says: `statements(tex)`, a `Statement` each.

A statement is a chain of sides with its relations, the conditions under which it is claimed
(`\quad (i < r)`, `\text{if } ...`) and its premises (before `\Longrightarrow`, or `\beta = 1:`).
A side alone is a statement about the value of the equation, or of its words: `\text{inverse:}`.
"""

from dataclasses import dataclass, replace
from functools import cache

from .columns import marked
from .lexer import CLOSES, OPENS, NotRead, tokens
from .tree import Node, parse


@dataclass(frozen=True)
class Statement:
    claim: Node
    conditions: tuple = ()
    premises: tuple = ()
    words: str = ""  # the words before it, `\text{inverse:}`
    remarks: tuple = ()  # words behind it, or under a brace: nothing evaluates them
    last_only: bool = False  # the conditions are those of the last of several relations

    @property
    def nodes(self):
        return (self.claim, *self.conditions, *self.premises)

    @property
    def mentions(self):
        return frozenset().union(*(node.mentions for node in self.nodes))


@cache
def statements(tex):
    """The statements of a display; raises `NotRead` where the notation has no meaning."""
    found = [s for row in _rows(marked(tokens(tex))) for s in _row(row)]
    if not found:
        raise NotRead("nothing is stated")
    return tuple(found)


# Rows and what parts them.

CONTINUES = ("RELATION", "SIGN", "CDOT", "ODOT", "IMPLIES")


def _rows(found):
    """The display's rows; a row that begins with an operator, or inside brackets, goes on."""
    rows, depth = [[]], 0
    for token in found:
        depth += (token.kind in OPENS) - (token.kind in CLOSES)
        if token.kind == "ROW" and not _in_table(rows[-1]):
            rows.append([]) if depth == 0 else None
        else:
            rows[-1].append(token)
    joined = [[]]
    for row in rows:
        first = next((t for t in row if t.kind not in ("CELL", "QUAD")), None)
        last = next((t for t in reversed(joined[-1]) if t.kind not in ("CELL", "QUAD")), None)
        goes_on = last is None
        goes_on |= first is not None and (first.kind in CONTINUES or _sets_a_condition(first))
        goes_on |= last is not None and (
            last.kind in ("RELATION", "SIGN", "IMPLIES") or _names_a_row(last)
        )
        joined[-1].extend(row) if goes_on else joined.append(row)
    return joined


def _in_table(row):
    return sum((t.kind == "BEGIN") - (t.kind == "END") for t in row) > 0


def _sets_a_condition(token):
    return token.kind == "TEXT" and token.text in ("if", "for")


def _names_a_row(token):
    return token.kind == "TEXT" and token.text.endswith(":")


def _row(row):
    """The statements of one row: premises, words, claims parted by commas, conditions."""
    words, premises = "", ()
    row = _quantities(_without_columns(row))
    lead = next((i for i, t in enumerate(row) if t.kind != "QUAD"), 0)
    if row and _names_a_row(row[lead]):
        words, row = row[lead].text[:-1], row[lead + 1 :]
    for mark in ("IMPLIES", "COLON"):
        at = _outside(row, mark)
        if at:
            premises = tuple(parse(part) for part in _parted(row[: at[0]]))
            row = row[at[0] + 1 :]
    for part in _parted(row):
        remarks = [t for t in part if t.kind == "REMARK"]
        part = [t for t in part if t.kind != "REMARK"]
        claim, conditions, behind = _conditions(part)
        if not claim:
            raise NotRead("a condition of nothing")
        remarks, claim = tuple(t.text for t in (*remarks, *behind)), parse(claim)
        if words and claim.kind == "chain":
            raise NotRead(f"words before an equation: {words!r}")
        last = _said_last(part) and claim.kind == "chain" and len(claim.parts) > 2
        yield Statement(claim, conditions, premises, words, remarks, last)


def _said_last(part):
    """Whether a condition in words stands behind a claim: `\\text{if } x`."""
    return any(_sets_a_condition(part[at]) for at in _outside(part, "TEXT"))


def _without_columns(row):
    """Without the marks of columns, but in tables; after a comma such a mark parts two claims."""
    kept = []
    for i, token in enumerate(row):
        if token.kind == "CELL" and not _in_table(row[:i]):
            if not (kept and kept[-1].kind == "COMMA"):
                continue
            token = replace(token, kind="QUAD")
        kept.append(token)
    return kept


def _quantities(row):
    """Words beside an operator name a quantity: `\\text{bytes} = ...`."""
    operators = ("RELATION", "SIGN", "CDOT")
    around = [
        {t.kind for t in (*row[max(i - 1, 0) : i], *row[i + 1 : i + 2])} for i in range(len(row))
    ]
    return [
        replace(t, kind="NAME") if t.kind == "TEXT" and near.intersection(operators) else t
        for t, near in zip(row, around, strict=True)
    ]


def _outside(row, kind):
    """Where tokens of this kind stand outside of all brackets."""
    depth, found = 0, []
    for i, token in enumerate(row):
        depth += (token.kind in OPENS) - (token.kind in CLOSES)
        if depth == 0 and token.kind == kind:
            found.append(i)
    return found


def _parted(row):
    """Cut at each comma that a wide space or the end of the row follows."""
    cuts = [i for i in _outside(row, "COMMA") if i + 1 == len(row) or row[i + 1].kind == "QUAD"]
    starts, ends = [0, *(i + 1 for i in cuts)], [*cuts, len(row)]
    return [part for a, b in zip(starts, ends, strict=True) if (part := _trim(row[a:b]))]


def _trim(row):
    while row and row[0].kind == "QUAD":
        row = row[1:]
    while row and row[-1].kind in ("QUAD", "STOP", "COMMA"):
        row = row[:-1]
    return row


def _conditions(part):
    """`(claim, conditions, remarks)`: `\\text{if } x` and, after a wide space, `(x)`; other words,
    at the end, are remarks."""
    conditions, remarks = [], []
    for at in reversed(_outside(part, "TEXT")):
        if _sets_a_condition(part[at]):
            conditions += map(parse, _parted(part[at + 1 :]))
        elif _trim(part[at + 1 :]):
            raise NotRead(f"words in the middle of a claim: {part[at].text!r}")
        else:
            remarks.insert(0, part[at])
        part = _trim(part[:at])
    for at in reversed(_outside(part, "QUAD")):
        rest = _trim(part[at:])
        if rest[0].kind == "LPAR" and rest[-1].kind == "RPAR" and _outside(rest[1:-1], "RELATION"):
            conditions.append(parse(rest[1:-1]))
            part = _trim(part[:at])
    return part, tuple(conditions), remarks
