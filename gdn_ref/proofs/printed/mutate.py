r"""Every altered form of a printed equation: one edit of its tree each, made by rule.

    mutants(statements, evaluator)    an `Edit` and the altered statements, each a likely slip

A sign, a term, a factor, a square, a transpose or an inverse dropped or added; two factors
swapped; an index shifted or two of them swapped; another letter of the same shape; a bound of a
sum, `<` for `\le`; a condition left out, a premise that is to follow from the claim. What only
changes the order of two numbers is no slip.
"""

from dataclasses import replace

from .letters import TRANSPOSE
from .meanings import Edit, Meanings, plus
from .tree import Node, render
from .values import shape_of
from .world import LETTERS, canonical

LOOK_ALIKE = [
    (r"\boldsymbol{\Gamma}", r"\mathbf{M}"), (r"\mathbf{A}", r"\tilde{\mathbf{A}}"),
    (r"\mathbf{U}", r"\tilde{\mathbf{U}}"), (r"\mathbf{T}", r"\tilde{\mathbf{T}}"),
    (r"\mathbf{D}_\gamma", r"\mathbf{D}_\rightarrow"), (r"\mathbf{K}", r"\mathbf{Q}"),
    (r"\boldsymbol{k}_", r"\boldsymbol{q}_"), (r"\boldsymbol{v}_", r"\boldsymbol{u}_"),
    (r"\mathbf{V}", r"\mathbf{U}"), (r"\mathbf{W}", r"\mathbf{U}"), (r"\alpha_", r"\beta_"),
    (r"\mathbf{S}", r"\mathbf{S}'"), ("d_k", "d_v"), (r"\alpha", r"\beta"), ("C", "T"),
    (r"\mathbf{W}", r"\mathbf{W}_\leftarrow"), (r"\mathbf{P}^", r"\mathbf{F}^"), ("b", "b_S"),
    (r"\mathbf{H}^", r"\mathbf{G}^"), (r"\boldsymbol{u}_", r"\tilde{\boldsymbol{u}}_"),
    (r"\mathbf{V}", r"\mathbf{E}"), (r"\mathbf{S}", r"\mathrm{d}\mathbf{S}"), ("H_k", "H_v"),
    (r"\mathrm{d}\mathbf{S}", r"\mathrm{d}\mathbf{S}'"), (r"\gamma_", r"\alpha_"),
]  # fmt: skip
KINDS = {
    "sign": "a sign", "term": "a term left out", "factor": "a factor left out",
    "order": "two factors swapped", "transpose": "a transpose", "power": "a power or an inverse",
    "index": "an index", "letter": "another letter", "number": "another number",
    "bound": "a bound or a relation", "condition": "a condition left out", "form": "another form",
}  # fmt: skip


def mutants(statements, evaluator):
    """`(edit, statements)` for each slip; `evaluator` has evaluated the true form."""
    seen = {_text(statements)}
    edits = _Edits(evaluator)
    for n, statement in enumerate(statements):
        for edit, new in _converses(statement):
            yield edit, (*statements[:n], new, *statements[n + 1 :])
        for name in ("claim", "conditions", "premises"):
            nodes = getattr(statement, name)
            nodes = (nodes,) if name == "claim" else nodes
            for i, node in enumerate(nodes):
                changed = [(w, (*nodes[:i], new, *nodes[i + 1 :])) for w, new in edits.of(node)]
                if name != "claim":
                    edit = Edit("condition", f"not only where {render(node)}")
                    changed.append((edit, (*nodes[:i], *nodes[i + 1 :])))
                for edit, new in changed:
                    new = new[0] if name == "claim" else new
                    altered = (
                        *statements[:n], replace(statement, **{name: new}), *statements[n + 1 :]
                    )  # fmt: skip
                    text = _text(altered)
                    if text not in seen:
                        seen.add(text)
                        yield edit, altered


def _converses(statement):
    """The claim where one of its premises stood, or of its conditions an equation, and that for
    the claim."""
    for name in ("premises",) if statement.last_only else ("premises", "conditions"):
        given = getattr(statement, name)
        for i, one in enumerate(given):
            if name == "premises" or one.kind == "chain" and set(one.info) == {"="}:
                edit = Edit("condition", f"where {render(statement.claim)}: {render(one)}")
                rest = {name: (*_without(given, i), statement.claim)}
                yield edit, replace(statement, claim=one, **rest)


def _text(statements):
    return tuple(tuple(render(node) for node in s.nodes) + (len(s.conditions),) for s in statements)


class _Edits(Meanings):
    """The edits of one equation, which know the shapes and names of its parts."""

    def __init__(self, evaluator):
        self.last, self.names = evaluator.last, evaluator.names
        self.kinds, self.known = evaluator.kinds, evaluator.world.letters
        self.pairs = {}
        for a, b in LOOK_ALIKE:
            a, b = canonical(a), canonical(b)
            self.pairs.setdefault(a, []).append(b)
            self.pairs.setdefault(b, []).append(a)

    def of(self, node):
        """`(edit, node)` for each edit of the node or of a part of it."""
        yield from getattr(self, f"edit_{node.kind}", _nothing)(node)
        for i, part in enumerate(node.parts):
            if node.kind in ("letter", "scripted") and self.in_name(node, part):
                continue
            for edit, new in self.of(part):
                yield edit, replace(node, parts=(*node.parts[:i], new, *node.parts[i + 1 :]))

    def in_name(self, node, part):
        """A part of a letter's name; the base of a letter with scripts is edited with them."""
        if node.parts[0].kind != "letter":
            return False
        if part is node.parts[0] or part.kind == "prime":
            return True
        key = self.names.get(id(node), "").rstrip("_^") if id(node) in self.names else ""
        return render(part) in key

    def number(self, node):
        """Whether the node's value is a number: two of them commute."""
        return id(node) in self.last and shape_of(self.last[id(node)]) == ()

    # By kind of node.

    def edit_sum(self, node):
        for i, (sign, part) in enumerate(zip(node.info, node.parts, strict=True)):
            if part.kind == "dots":
                continue
            flipped = (*node.info[:i], "-" if sign == "+" else "+", *node.info[i + 1 :])
            yield Edit("sign", f"sign of {render(part)}"), replace(node, info=flipped)
            if len(node.parts) > 1 and not _beside_dots(node.parts, i):
                rest = replace(node, parts=_without(node.parts, i), info=_without(node.info, i))
                yield Edit("term", f"without {render(part)}"), rest

    def edit_product(self, node):
        parts = node.parts
        for i, part in enumerate(parts):
            before = parts[i - 1] if i else None
            applied = before is not None and self.function(before)
            if applied and render(before) == r"\sigma":  # far below zero they are the same
                grows = (*parts[: i - 1], Node("apply", (part,), "exp"), *parts[i + 1 :])
                yield Edit("form", f"exp for \\sigma of {render(part)}"), replace(node, parts=grows)
            if self.function(part) or part.kind == "dots" or applied or _beside_dots(parts, i):
                continue
            yield Edit("factor", f"without {render(part)}"), replace(node, parts=_without(parts, i))
            if before is None or self.number(part) or self.number(before) or before == part:
                continue
            if before.kind != "dots" and part.kind != "big":
                swapped = (*parts[: i - 1], part, before, *parts[i + 1 :])
                what = f"{render(before)} and {render(part)} swapped"
                yield Edit("order", what, (before, part)), replace(node, parts=swapped)

    def function(self, node):
        key = self.names.get(id(node))
        return key is not None and self.kinds[key][2]

    def edit_hadamard(self, node):
        yield Edit("form", f"a product for {render(node)}"), replace(node, kind="product")
        for i, part in enumerate(node.parts):
            yield (
                Edit("factor", f"without {render(part)}"),
                replace(node, parts=_without(node.parts, i)),
            )

    def edit_letter(self, node):
        yield from self.other_letters(node, [])
        if self.square_matrix(node):
            yield (
                Edit("transpose", f"{render(node)} transposed", (node,)),
                Node("scripted", (node, TRANSPOSE)),
            )

    def edit_scripted(self, node):
        base, *scripts = node.parts
        letter = base.kind == "letter"
        rest = [s for s in scripts if not (letter and self.in_name(node, s)) and s.kind != "prime"]
        if letter:
            yield from self.other_letters(node, rest)
            indexed = self.names.get(id(node), "")[-1:]
            if not any(s == TRANSPOSE for s in rest) and self.square_matrix(node):
                yield (
                    Edit("transpose", f"{render(node)} transposed", (node,)),
                    replace(node, parts=(*node.parts, TRANSPOSE)),
                )
        for script in rest:
            without = replace(node, parts=tuple(p for p in node.parts if p is not script))
            without = without.parts[0] if len(without.parts) == 1 else without
            family = letter and indexed == ("_" if script.kind == "down" else "^")
            if family or script.kind == "down":
                yield from self.other_indices(node, script)
            elif script == TRANSPOSE:
                yield Edit("transpose", f"{render(node)} not transposed", (node,)), without
            else:
                yield Edit("power", f"no power: {render(node)}"), without
                if script is node.parts[-1] and script.kind == "up":
                    yield from self.raised(node, script.parts[0])

    def square_matrix(self, node):
        shape = shape_of(self.last.get(id(node), ()))
        return len(shape) == 2 and shape[0] == shape[1]

    def other_indices(self, node, script):
        inside = bracketed = script.parts[0]
        inside = inside.parts[0] if inside.kind == "group" else inside
        several = inside.kind in ("product", "tuple") and all(
            p.kind in ("letter", "scripted", "number", "sum") for p in inside.parts
        ) and not any(p.kind == "number" for p in inside.parts[:1])  # fmt: skip
        if inside.kind == "slice" or inside.kind == "chain":
            return
        places = inside.parts if several else (inside,)
        changed = [
            (*places[:i], plus(p, d), *places[i + 1 :])
            for i, p in enumerate(places)
            for d in (1, -1)
        ]
        if len(places) == 2:
            changed.append(places[::-1])
        for new in changed:
            if not several:
                index = new[0]
            elif inside.kind == "tuple" or any(p.kind == "sum" for p in new):
                index = Node("tuple", new)
            else:
                index = replace(inside, parts=new)
            if bracketed is not inside:
                index = replace(bracketed, parts=(index,))
            edited = replace(script, parts=(index,))
            parts = tuple(edited if p is script else p for p in node.parts)
            edited = replace(node, parts=parts)
            yield Edit("index", f"{render(edited)} for {render(node)}"), edited

    def other_letters(self, node, rest):
        """Letters of the same shape: of this equation, and those that look alike."""
        key = self.names.get(id(node))
        if key is None:
            return
        kind = self.kinds[key]
        here = [k for k, other in self.kinds.items() if other == kind and k != key]
        alike = [k for k in self.pairs.get(key, ()) if k in self.known]
        for other in dict.fromkeys([*here, *alike]):
            letter = LETTERS[other]
            parts = letter.parts if letter.kind == "scripted" else (letter,)
            new = Node("scripted", (*parts, *rest)) if rest or len(parts) > 1 else letter
            yield Edit("letter", f"{render(new)} for {render(node)}"), new


def _nothing(node):
    return ()


def _without(items, i):
    return (*items[:i], *items[i + 1 :])


def _beside_dots(parts, i):
    """An item that only shows how a row with dots begins: neither its first nor its last."""
    near = [p for p in (parts[i - 1 : i] + parts[i + 1 : i + 2]) if p.kind == "dots"]
    if not near:
        return False
    ahead = i + 1 < len(parts) and parts[i + 1].kind == "dots"
    neighbour = parts[i - 1] if ahead and i else parts[i + 1] if i + 1 < len(parts) else None
    return (
        neighbour is not None
        and neighbour.kind == parts[i].kind == "scripted"
        and neighbour.parts[0] == parts[i].parts[0]
    )
