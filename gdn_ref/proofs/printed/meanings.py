r"""Edits of meaning: what a number, a relation, a function or a sum says is changed in its place.

A fraction, a rounding, a modulus, a maximum, a case; `<` for `\le`; a bound of a sum; a numeral.
`mutate` has the edits of shape, and makes the altered forms.
"""

from dataclasses import dataclass, replace

from . import values as v
from .symbolic import closed, squared
from .tree import Node, braced, render

NEAR_RELATION = {
    "<": [r"\le"], r"\le": ["<"], ">": [r"\ge"], r"\ge": [">"], r"\ne": ["="],
}  # fmt: skip
TURNED = {"<": ">", r"\le": r"\ge", ">": "<", r"\ge": r"\le"}
TWINS = {"max": "min", "min": "max", "sin": "cos", "cos": "sin"}
SATURATED = {"softplus", "silu"}  # what they are given, where that is large
ROUNDED = {"floor": "ceil", "ceil": "floor"}


@dataclass(frozen=True)
class Edit:
    """One slip: its kind, what it does, and the parts of the equation that it concerns."""

    kind: str
    what: str
    parts: tuple = ()


class Meanings:
    """The edits of one equation by kind of node, for a class with `last`, the values of nodes, and
    `number`, whether a node is one."""

    def edit_fraction(self, node):
        top, bottom = node.parts
        yield Edit("factor", f"not divided by {render(bottom)}"), braced(top)
        yield Edit("form", f"{render(node)} turned"), replace(node, parts=(bottom, top))

    def edit_quotient(self, node):
        yield (
            Edit("factor", f"not divided by {render(node.parts[-1])}"),
            replace(node, parts=node.parts[:-1]),
        )

    def edit_number(self, node):
        yield (
            Edit("number", f"{int(node.info) + 1} for {node.info}"),
            replace(node, info=str(int(node.info) + 1)),
        )

    def edit_floor(self, node):
        yield (
            Edit("form", f"rounded the other way: {render(node)}"),
            replace(node, kind=ROUNDED[node.kind]),
        )

    edit_ceil = edit_floor

    def edit_bar(self, node):
        yield from self.signed(node, node.parts[0])

    def edit_norm(self, node):
        if self.number(node.parts[0]):
            yield from self.signed(node, node.parts[0])

    def edit_root(self, node):
        if (base := squared(node.parts[0])) is not None:
            yield from self.signed(node, base)

    def raised(self, node, exponent):
        """A power that is not whole, of a square: `(x^2)^{1/2}` is a modulus, too."""
        base, value = node.parts[:-1], self.last.get(id(exponent))
        base = base[0] if len(base) == 1 else replace(node, parts=base)
        if value is None or v.counts(value) or (root := squared(base)) is None:
            return
        twice = Node("product", (numeral(2), Node("group", (exponent,), "(")))
        root = Node("group", (root,), "(")
        yield from self.signed(node, Node("scripted", (root, Node("up", (twice,)))))

    def of_square(self, node):
        """A logarithm of a square is twice that of what is squared, or of minus that."""
        *base, argument = node.parts
        if node.info in ("ln", "log") and (root := squared(argument)) is not None:
            for edit, x in self.signed(argument, root):
                once = replace(node, parts=(*base, x))
                what = f"{edit.what}, twice its logarithm"
                yield Edit("form", what), Node("product", (numeral(2), once))

    def signed(self, node, inside):
        """What has no sign is what stands in it, or minus that: were one always so, a bend beyond
        the data would pass."""
        inside = braced(inside)
        yield Edit("form", f"no modulus of {render(node)}"), inside
        minus = braced(Node("sum", (inside,), ("-",)))
        yield Edit("form", f"minus what is in {render(node)}"), minus

    def edit_table(self, node):
        if node.info == "cases" and len(node.parts) > 1:
            for row in node.parts:
                yield Edit("form", f"always {render(row.parts[0])}"), row.parts[0].parts[0]

    def edit_remainder(self, node):
        yield Edit("form", f"no remainder: {render(node)}"), braced(node.parts[0])

    def edit_apply(self, node):
        yield from self.of_square(node)
        if node.info in SATURATED:
            what = f"{render(node.parts[-1])} for {render(node)}"
            yield Edit("form", what), braced(node.parts[-1])
        if node.info in ("max", "min") and len(node.parts) == 1:
            inside = node.parts[0].parts[0] if node.parts[0].kind == "group" else node.parts[0]
            for part in inside.parts if inside.kind == "tuple" else ():
                yield Edit("form", f"{render(part)} for {render(node)}"), braced(part)
        if node.info in TWINS:
            yield (
                Edit("form", f"{TWINS[node.info]} for {node.info}"),
                replace(node, info=TWINS[node.info]),
            )

    def edit_chain(self, node):
        for i, relation in enumerate(node.info):
            for other in (*NEAR_RELATION.get(relation, ()), *filter(None, [TURNED.get(relation)])):
                changed = (*node.info[:i], other, *node.info[i + 1 :])
                yield Edit("bound", f"{other} for {relation}"), replace(node, info=changed)

    def edit_big(self, node):
        *scripts, body = node.parts
        up = next((s for s in scripts if s.kind == "up"), None)
        if up is None or node.info == r"\mathbb{E}":
            return
        if (found := closed(node)) is not None:
            yield Edit("form", f"no sum: {render(node)}"), braced(found)
        down = next(s for s in scripts if s.kind == "down")
        condition = down.parts[0]
        later = replace(
            down,
            parts=(replace(condition, parts=(condition.parts[0], plus(condition.parts[1], 1))),),
        )
        for what, old, new in (
            ("first term left out", down, later),
            ("last term left out", up, replace(up, parts=(plus(up.parts[0], -1),))),
        ):
            parts = tuple(new if p is old else p for p in scripts)
            yield Edit("bound", f"{what} of {render(node)}"), replace(node, parts=(*parts, body))


def plus(node, d):
    """The index, `d` further."""
    if node.kind == "sum" and node.parts[-1].kind == "number":
        number = int(node.parts[-1].info) * (1 if node.info[-1] == "+" else -1) + d
        parts, info = node.parts[:-1], node.info[:-1]
        if number == 0:
            return parts[0] if info == ("+",) else replace(node, parts=parts, info=info)
        return Node("sum", (*parts, numeral(abs(number))), (*info, "+" if number > 0 else "-"))
    if node.kind == "number" and int(node.info) + d >= 0:
        return numeral(int(node.info) + d)
    parts, info = (node.parts, node.info) if node.kind == "sum" else ((node,), ("+",))
    return Node("sum", (*parts, numeral(abs(d))), (*info, "+" if d > 0 else "-"))


def numeral(n):
    return Node("number", (), str(n))
