r"""Formulas that count where no value stands: an index, an argument, an exponent, a bound, a sum's
body, a condition.

They are asked as a side is (`position`): `3C` and a cubic that is 3C for C = 2, 3, 4 are two
formulas, and so are `2^\ell` and a line through two of its values. What a case is worth does not
depend on how often it comes, so equal ones count once. A condition speaks by the cases in which
its sides are equal.
"""

import itertools
from contextlib import suppress
from fractions import Fraction

import numpy as np

from ..modular import P
from . import arithmetic
from .independent import Independent, box
from .symbolic import expression
from .values import NotExact, Refused


class Place:
    """One formula in such a place; `beside` is the other side of its condition."""

    def __init__(self, number, node, formula, nodes, beside=None):
        self.number, self.node, self.nodes, self.beside = number, node, nodes, beside
        letters = sorted(formula.free_symbols, key=str)
        self.asked = [(letters, Independent(box(formula, letters)))]

    def see(self, stated, ev):
        """Take the cases of one draw, and of a letter that a sum binds all values."""
        ((letters, seen),) = self.asked
        statement = stated[self.number]
        for scope in self.scopes(statement, ev):
            if seen.full:
                return
            with suppress(Refused, NotExact):
                if self.speaks(statement, scope, ev):
                    point = tuple(residue(ev.value(self.nodes[x], scope)) for x in letters)
                    if None not in point and point not in seen.points:
                        seen.add(point)

    def scopes(self, statement, ev):
        """The values of the letters that run, and of those that a sum or a product binds."""
        mentions = self.node.mentions | (self.beside or self.node).mentions
        runs = sorted(ev.free(*statement.nodes) | (mentions & set(ev.world.ranges)))
        products = itertools.product(*(ev.world.ranges[x] for x in runs))
        scopes = (dict(zip(runs, values, strict=True)) for values in products)
        for big in (node for part in statement.nodes for node in part.walk()):
            if big.kind == "big" and len(big.parts) == 3:
                low, high = (script.parts[0] for script in big.parts[:2])
                if low.parts[0].text in mentions - set(runs):
                    scopes = [s | more for s in scopes for more in _bound(ev, low, high, s)]
        return scopes

    def speaks(self, statement, scope, ev):
        """Whether something is claimed there, or the two sides of a condition are equal."""
        if self.beside is None:
            return all(ev.holds(c, scope) for c in (*statement.premises, *statement.conditions))
        return arithmetic.distance(ev.value(self.node, scope), ev.value(self.beside, scope)) == 0


def places(number, statement, ev):
    """Those of one statement, but for what is a letter alone."""
    found = [(node, None) for part in statement.nodes for outer in part.walk()
             for node in _inside(outer, ev)]  # fmt: skip
    for condition in (*statement.conditions, *statement.premises):
        if condition.kind == "chain":
            for pair in itertools.pairwise(condition.parts):
                found += [pair, pair[::-1]]
    seen = set()
    for node, beside in found:
        formula = expression(node, nodes := {})
        letters = formula.free_symbols
        if not letters or formula.is_Symbol or (formula, beside) in seen:
            continue
        seen.add((formula, beside))
        if all(residue(ev.last.get(id(nodes[x]))) is not None for x in letters):
            yield Place(number, node, formula, nodes, beside)


def residue(x):
    """A rational number modulo p; None for any other."""
    if isinstance(x, float | np.floating) and x == int(x):
        x = int(x)
    if isinstance(x, int | np.integer):
        return int(x) % P
    return x.numerator * pow(x.denominator, -1, P) % P if isinstance(x, Fraction) else None


def _bound(ev, low, high, scope):
    with suppress(Refused):
        return ev.bound(low, high, scope)
    return []


def _inside(node, ev):
    """What stands in the indices, in the bounds or in the arguments of a node."""
    if node.kind == "scripted":
        yield from _indices(node, ev)
    if node.kind == "big":  # what stands in its body, which is a letter for those who ask a side
        inside = node.parts[-1].walk()
        yield from (part for part in inside if part.kind in ("sum", "fraction", "quotient"))
    if node.kind in ("big", "apply"):
        for script in node.parts[:-1]:
            inside = script.parts[0]
            yield from inside.parts if inside.kind == "chain" else (inside,)
    if node.kind == "product":
        for function, argument in itertools.pairwise(node.parts):
            if callable(ev.last.get(id(function))):
                yield from _each(argument)


def _indices(node, ev):
    scripts = node.parts[1:]
    name = ev.names.get(id(node), "")
    for script in scripts:
        if script.kind in ("up", "down") and script.parts[0].text not in name:
            yield from _each(script.parts[0])


def _each(node):
    """The formulas of a row of indices; letters side by side are one each, and no formulas."""
    if node.kind == "chain" and len(node.parts) == 1:
        node = node.parts[0]
    if node.kind == "scripted" and node.parts[0].kind == "group":
        node = node.parts[0]
    if node.kind == "group":
        yield from _each(node.parts[0])
    elif node.kind in ("tuple", "slice"):
        yield from node.parts
    elif node.kind != "product" or any(p.kind not in ("letter", "scripted") for p in node.parts):
        yield node
