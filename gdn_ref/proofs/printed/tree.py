r"""Tokens to trees, and trees to TeX.

parse(tokens)    the tree of one claim, by the grammar in `grammar.lark`
render(node)     a tree as TeX again, for messages and for names
"""

from dataclasses import dataclass
from functools import cache, cached_property
from itertools import pairwise
from pathlib import Path

from .lexer import ENDS_OPERAND, OPENS, NotRead
from .strict import strict


@dataclass(frozen=True)
class Node:
    """A part of a claim: its kind, the parts it consists of, and what else distinguishes it."""

    kind: str
    parts: tuple = ()
    info: object = None

    @cached_property
    def text(self):
        return _text(self)

    @cached_property
    def _hash(self):
        return hash((self.kind, self.parts, self.info))

    @cached_property
    def names(self):
        """The names that a letter with scripts may be, the longest first, and what each leaves."""
        base, *scripts = self.parts or (self,)
        name = base.info + "'" * sum(s.kind == "prime" for s in scripts)
        scripts = [s for s in scripts if s.kind != "prime"]
        down = next((s for s in scripts if s.kind == "down"), None)
        up = next((s for s in scripts if s.kind == "up"), None)
        return [
            (
                name + "".join(s.text for s in taken),
                [s for s in scripts if not any(s is other for other in taken)],
            )
            for taken in ((down, up), (down,), (up,), ())
            if None not in taken
        ]

    @cached_property
    def mentions(self):
        """The names of all letters in it: what does not mention a running letter is the same for
        each of its values."""
        own = set()
        if self.kind == "letter" or self.kind == "scripted" and self.parts[0].kind == "letter":
            own = {self.text, *(name for name, _ in self.names)}
        return frozenset(own.union(*(part.mentions for part in self.parts)))

    def __hash__(self):  # once: trees are looked up for every value
        return self._hash

    def walk(self):
        yield self
        for part in self.parts:
            yield from part.walk()


def braced(node):
    """A term as it may stand anywhere: braces are no brackets."""
    return Node("group", (node,), "{")


def bracket(node):
    """What opens the brackets of an index or of an exponent, if it has any."""
    return node.info if node.kind == "group" and node.info != "{" else ""


# The grammar.


@cache
def _parser():
    from lark import Lark, Token, Transformer
    from lark.lexer import Lexer

    class Given(Lexer):
        """The tokens are read already."""

        def __init__(self, conf):
            pass

        def lex(self, found):
            for token in found:
                yield Token(token.kind, token.text, start_pos=token.at)

    def _apart(children):
        """The factors; what a dot parts from a letter is not its argument."""
        for before, child in zip([None, *children], children, strict=False):
            dotted = getattr(before, "type", "") == "CDOT"
            if isinstance(child, Node):
                yield braced(child) if dotted and is_argument(child) else child

    class Build(Transformer):
        """Nodes from the rules of the grammar; a rule with a single part is that part."""

        def __default__(self, rule, children, meta):
            named = {c.type for c in children if isinstance(c, Token)}
            parts = tuple(c for c in children if isinstance(c, Node))
            operators = tuple(
                str(c) for c in children if isinstance(c, Token) and c.type in ("RELATION", "SIGN")
            )
            if rule == "sum":
                signs = operators if len(operators) == len(parts) else ("+", *operators)
                return parts[0] if signs == ("+",) else Node("sum", parts, signs)
            if rule == "chain":
                return Node("chain", parts, operators) if operators else parts[0]
            if rule == "quotient" and len(named & {"MOD", "TIMES", "SLASH"}) > 1:
                return Node("mixed", parts)
            if rule == "quotient" and named & {"MOD", "TIMES"}:
                return Node("remainder" if "MOD" in named else "times", parts)
            if rule == "product":
                parts = tuple(_apart(children))
            if rule in ("product", "hadamard", "quotient", "factor", "side", "tuple"):
                if len(parts) == 1:
                    return parts[0]
                return Node({"factor": "scripted"}.get(rule, rule), parts)
            if rule in ("letter", "number"):
                return Node(rule, (), str(children[0]))
            if rule in ("up", "down") and not parts:
                inside = next(c for c in children if c.type in ("TOP", "MARK"))
                return Node(rule, (Node("mark", (), str(inside)),))
            if rule == "slice":
                colon = next(i for i, c in enumerate(children) if isinstance(c, Token))
                return Node(rule, parts, (colon > 0, colon + 1 < len(children)))
            if rule in ("big", "apply"):
                return self.headed(rule, children, parts)
            if rule == "group":
                return Node(rule, parts, str(children[0]))
            if rule == "table":
                return Node(rule, parts, str(children[0]))
            return Node(rule, parts)

        def headed(self, rule, children, parts):
            """A sum, a product, an expectation, a function: its name, scripts and argument."""
            number = next((c for c in children if getattr(c, "type", "") == "NUMBER"), None)
            if number is not None:
                factor = Node("product", (Node("number", (), str(number)), parts[-1]))
                parts = (*parts[:-1], factor)
            return Node(rule, parts, str(children[0]))

    path = Path(__file__).with_name("grammar.lark")
    grammar = Lark(path.read_text("utf-8"), parser="lalr", start="chain", lexer=Given)
    return grammar, Build()


def parse(found):
    """One claim, from its tokens."""
    from lark.exceptions import UnexpectedInput

    _no_two_side_by_side(found)
    found = [t for i, t in enumerate(found) if t.kind != "QUAD" and not _ends_cell(found, i)]
    grammar, build = _parser()
    try:
        return strict(build.transform(grammar.parse(found)))
    except UnexpectedInput as error:
        at = getattr(error, "pos_in_stream", None)
        token = getattr(error, "token", None)
        near = " ".join(t.text for t in found)
        what = "the end" if token is None or token.type == "$END" else f"{str(token)!r}"
        where = "" if at is None or what == "the end" else f" at character {at}"
        raise NotRead(f"did not expect {what}{where} of: {near}") from None


STARTS = {"NAME", "NUMBER", "FRAC", "BINOM", "SQRT", "FUNCTION", "SUM", "PROD", "EXPECT"} | OPENS


def _no_two_side_by_side(found):
    """Two things with a wide space between them, or two numbers, are no product."""
    for before, after in pairwise(found):
        if before.kind == after.kind == "NUMBER":
            raise NotRead(f"two numbers side by side: {before.text} and {after.text}")
    for before, space, after in zip(found, found[1:], found[2:], strict=False):
        apart = space.kind == "QUAD" and after.kind in STARTS
        if apart and before.kind in ENDS_OPERAND:
            raise NotRead(f"two things side by side: {before.text} and {after.text}")


def _ends_cell(found, i):
    """A comma that only ends a cell of a table."""
    after = next((t.kind for t in found[i + 1 :] if t.kind != "QUAD"), "")
    return found[i].kind == "COMMA" and after in ("CELL", "ROW", "END")


def is_argument(node):
    """Whether a letter before it may be applied to it: `(x)`, or a power of that."""
    first = node.parts[0] if node.kind == "scripted" else node
    return first.kind == "group" and first.info == "("


# TeX again.

_BRACKETS = {
    "norm": (r"\|", r"\|"), "bar": ("|", "|"), "floor": (r"\lfloor ", r"\rfloor "),
    "ceil": (r"\lceil ", r"\rceil "), "root": (r"\sqrt{", "}"),
}  # fmt: skip
_OPERATORS = {
    "product": "",
    "hadamard": r" \odot ",
    "quotient": "/",
    "remainder": r"\bmod ",
    "times": r" \times ",
    "mixed": " ? ",
}
_CLOSED = {"(": ")", "[": "]", "{": "}"}


def render(node):
    """The node as TeX: canonical, so that two ways to write one name are one."""
    return node.text


def _text(node):
    kind, parts, info = node.kind, [render(p) for p in node.parts], node.info
    if kind in ("letter", "number", "mark"):
        return info
    if kind == "dots":
        return r"\cdots "
    if kind == "sum":
        text = "".join(f" {s} {p}" for s, p in zip(info, parts, strict=True))
        return text.removeprefix(" + ").lstrip()
    if kind == "chain":
        return parts[0] + "".join(f" {r} {p}" for r, p in zip(info, parts[1:], strict=True))
    if kind in _OPERATORS:
        return _joined(parts) if kind == "product" else _OPERATORS[kind].join(parts)
    if kind == "scripted":
        return "".join(parts)
    if kind == "prime":
        return "'"
    if kind in ("up", "down"):
        return f"{'^' if kind == 'up' else '_'}{{{parts[0]}}}"
    if kind in _BRACKETS:
        return parts[0].join(_BRACKETS[kind])
    if kind == "group":
        return info + parts[0] + _CLOSED[info]
    if kind == "fraction":
        return rf"\frac{{{parts[0]}}}{{{parts[1]}}}"
    if kind == "binomial":
        return rf"\binom{{{parts[0]}}}{{{parts[1]}}}"
    if kind == "inner":
        return rf"\langle {parts[0]}, {parts[1]}\rangle "
    if kind == "tuple":
        return ", ".join(parts)
    if kind == "slice":
        left = parts[0] if info[0] else ""
        return f"{left}:{parts[-1] if info[1] else ''}"
    if kind in ("big", "apply"):
        return _joined([info if kind == "big" else rf"\{info}", *parts])
    rows = r" \\ ".join(parts) if kind == "table" else " & ".join(parts)
    return rf"\begin{{{info}}}{rows}\end{{{info}}}" if kind == "table" else rows


def _joined(parts):
    """Side by side, with a space where a command would swallow the next letter."""
    text = ""
    for part in parts:
        tail = text.rpartition("\\")[2]
        text += " " if "\\" in text and tail.isalpha() and part[:1].isalpha() else ""
        text += " " if text[-1:].isdigit() and part[:1].isdigit() else ""
        text += part
    return text
