r"""The printed side of an equation as an expression of computer algebra.

side("eq-grad-flops", r"\mathrm{FLOPs}_{\text{back}}")
"""

import sympy as sp

from .source import displays
from .statements import statements
from .symbolic import expression
from .tree import Node
from .world import canonical


def side(label, of="", at=1, **letters):
    """The side of `label` that is equal to `of`, or that stands alone; None without the chapters.

    `of` may also be the number of a statement, or the words before it.

    Its letters are positive symbols of their names without braces; `letters` gives other ones.
    """
    if label not in displays():
        return None
    number, n = place(label, of, at)
    return value(sides(label)[number][n], letters)


def place(label, of="", at=1):
    """The numbers of the statement and of its side."""
    words = [statement.words for statement in statements(displays()[label].tex)]
    for number, found in enumerate(sides(label)):
        if of in ("", number, words[number]) or _name(found[0]) == canonical(str(of)):
            return number, at if len(found) > 1 else 0
    raise LookupError(f"{label} prints no {of}")


def sides(label):
    """The sides of each statement of a display."""
    claims = [statement.claim for statement in statements(displays()[label].tex)]
    return [claim.parts if claim.kind == "chain" else (claim,) for claim in claims]


def _name(node):
    found = expression(node, {})
    return str(found) if found.is_Symbol else ""


def value(node, letters):
    """The expression of a node, roots and all."""
    found = expression(node, atoms := {})
    known = {}
    for symbol, inside in atoms.items():
        name = str(symbol).replace("{", "").replace("}", "").replace("\\", "").strip()
        if inside.kind == "root":
            known[symbol] = sp.sqrt(value(inside.parts[0], letters))
        elif inside.kind == "scripted" and inside.parts[-1].kind == "up":
            *base, power = inside.parts
            base = base[0] if len(base) == 1 else Node("scripted", tuple(base))
            known[symbol] = value(base, letters) ** value(power.parts[0], letters)
        else:
            known[symbol] = letters.get(name, sp.Symbol(name, positive=True))
    return found.xreplace(known)
