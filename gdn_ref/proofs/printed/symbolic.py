r"""A printed side as an expression of computer algebra.

    expression(node, atoms)     numbers, letters, sums, products, quotients and whole powers; what
                                else stands there, a root or a floor, is a letter of its own

    squared(node)               what it is the square of, as a tree, or None
    closed(node)                what a sum between two bounds adds up to, or None

Each letter is called what `render` writes.
"""

import sympy as sp

from .tree import Node, render


def expression(node, atoms, function=lambda node: False):
    """The expression of a node; `atoms` gets, by symbol, the node whose value it stands for."""

    def of(node):
        return expression(node, atoms, function)

    if node.kind == "number":
        return sp.Integer(node.info)
    if node.kind == "group":
        return of(node.parts[0])
    if node.kind == "chain" and len(node.parts) == 1:
        return of(node.parts[0])
    if node.kind == "sum" and not _dotted(node):
        signed = zip(node.info, node.parts, strict=True)
        return sp.Add(*(of(p) if sign == "+" else -of(p) for sign, p in signed))
    if node.kind == "product" and not _dotted(node):
        factors = _applied(node.parts, function)
        if len(factors) > 1:
            return sp.Mul(*map(of, factors))
    if node.kind in ("fraction", "quotient"):
        first, *others = map(of, node.parts)
        return first / sp.Mul(*others)
    if node.kind == "scripted" and (power := whole_power(node)):
        rest = node.parts[:-1]
        return of(rest[0] if len(rest) == 1 else Node("scripted", rest)) ** power
    symbol = sp.Symbol(render(node), positive=True)
    atoms[symbol] = node
    return symbol


def squared(node):
    """The tree of x for a node that is x^2 as computer algebra multiplies it out, or None."""
    top, bottom = sp.fraction(sp.together(expression(node, atoms := {})))
    if not atoms:
        return None
    sides = []
    for part in (top, bottom):
        number, factors = sp.factor_list(part)
        root = sp.sqrt(number)
        if not root.is_Rational or any(power % 2 for _, power in factors):
            return None
        sides.append(sp.expand(root * sp.Mul(*(f ** (power // 2) for f, power in factors))))
    top, bottom = (_tree(side, atoms) for side in sides)
    return top if sides[1] == 1 else Node("fraction", (top, bottom))


def closed(node):
    """A sum of a polynomial from one number to another, a product of one constant, without a sum:
    it goes on where there are no terms. None for others."""
    bounds = {script.kind: script.parts[0] for script in node.parts[:-1]}
    (letter, low), body, atoms = bounds["down"].parts, node.parts[-1], {}
    at = expression(letter, {})
    low, high, term = (expression(part, atoms) for part in (low, bounds["up"], body))
    if any(render(letter) in atoms[x].mentions for x in term.free_symbols - {at}):
        return None
    if at not in term.free_symbols:
        count, body = _tree(high - low + 1, atoms), Node("group", (body,), "(")
        if node.info == r"\sum":
            return Node("product", (Node("group", (count,), "("), body))
        return Node("scripted", (body, Node("up", (count,))))
    if node.info != r"\sum" or not term.is_polynomial(at):
        return None
    return _tree(sp.expand(sp.summation(term, (at, low, high))), atoms)


def _tree(polynomial, atoms):
    """A polynomial in these letters as a tree, and a sum even if it has one term."""
    letters = sorted(polynomial.free_symbols, key=str)
    terms = sp.Poly(polynomial, *letters).terms() if letters else [((), polynomial)]
    parts = []
    for powers, number in terms:
        sizes = sp.fraction(abs(sp.Rational(number)))
        top, bottom = (Node("number", (), str(n)) for n in sizes)
        factors = [Node("fraction", (top, bottom))]
        for x, power in zip(letters, powers, strict=True):
            factors += [Node("group", (atoms[x],), "(")] * power
        parts.append(Node("product", tuple(factors)) if len(factors) > 1 else factors[0])
    signs = tuple("-" if number < 0 else "+" for _, number in terms)
    return Node("sum", tuple(parts), signs)


def _dotted(node):
    return any(part.kind == "dots" for part in node.parts)


def _applied(parts, function):
    """The factors; a function and what it is applied to are one."""
    found = []
    for part in parts:
        if found and function(found[-1]):
            found[-1] = Node("product", (found[-1], part))
        else:
            found.append(part)
    return found


def whole_power(node):
    """The power that is the last script, if it is a whole number."""
    last = node.parts[-1]
    inside = last.parts[0] if last.kind == "up" else None
    return int(inside.info) if inside is not None and inside.kind == "number" else 0
