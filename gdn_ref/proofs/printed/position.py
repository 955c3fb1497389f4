r"""Whether the sizes of a formula are in general position: no other formula of its kind agrees.

Each side of a relation is asked twice, by a matrix with a row for each case of the draws:

    as a whole   columns: the products of its letters that are of no higher degree than it is, in
                 each letter and in all. No other coefficients would do.
    in a place   columns: the products of at most two letters, those besides it that its world
                 knows included. No factor of a term, such as `H_v C`, is another one's value.

The columns must be independent modulo 2^61 - 1, and the cases more than the columns. Numerator
and denominator count alike. A root, a floor, a maximum, a power is a letter of its own; what
stands inside, an exponent too, is asked as a whole, and its letters are among those of a place.
Each letter takes many values, in a table, a sum and a condition, too, or a curve goes through all.
What is rounded after a division by a number is seen at each fraction that it can have
(`Rounding`), and what counts in an index or a condition is asked, too (`places`). A bound speaks by
the cases in which its sides are equal.

The search ends: where more monomials than any true display has would be asked, at once; where the
draws bring nothing new, cost too long or run out, when they do. The sizes are special then.
"""

import itertools
import time
from contextlib import suppress

import numpy as np
import sympy as sp

from . import values as v
from .functions import ordered
from .gaps import nearness
from .independent import MONOMIALS, VALUES, Independent, Met, Rounded, Several, box, exponents
from .letters import TRANSPOSE
from .places import places, residue
from .symbolic import expression
from .tree import render
from .values import Depends, Refused
from .world import canonical

STILL = 5  # in how many rounds of draws nothing new is seen, before the sizes are called special
SECONDS = 20  # of a core, for draws; a true display takes three, with others beside it ten
SPARE = 3  # how many draws a column are seen before the sizes are called special


class Relation:
    """One relation of a display: its two sides, the matrices asked of it, and their letters."""

    def __init__(self, number, sign, sides, asked, ev, counted, tied, besides, bound):
        self.number, self.sign, self.sides, self.nodes = number, sign, sides, {}
        self.asked = []
        for whole in self._formulas(asked, ev):
            letters = sorted(whole.free_symbols, key=str)
            if bound & set(map(str, letters)):
                continue
            own = [x for x in letters if _sized(ev.last.get(id(self.nodes[x])), counted)]
            if own:
                self.asked.append((own, Independent(box(whole, own))))
            placed = {x for x in own if id(self.nodes[x]) in ev.names} - tied
            if placed:
                placed = sorted(placed | besides, key=str)
                self.asked.append((placed, Independent(list(exponents([2] * len(placed), 2)))))

    def _formulas(self, sides, ev):
        """The sides, but for what stands alone, which is found; then those inside of others,
        of which an exponent may be one letter."""
        left, raised = list(sides), []
        while left:
            node = left.pop(0)
            found = expression(node, atoms := {}, lambda node: callable(ev.last.get(id(node))))
            self.nodes |= atoms
            for outer in atoms.values():
                left += _opened(outer, ev)
                raised += [p.parts[0] for p in outer.parts if p.kind == "up"]
            if any(node is x for x in raised) or not found.is_Symbol:
                yield found

    def see(self, stated, ev):
        """Take the cases of one draw."""
        for scope in cases(stated[self.number], ev):
            if self.sign != "=" and not self.near(scope, ev):
                continue
            for letters, matrix in self.asked:
                point = tuple(self.residue(x, scope, ev) for x in letters)
                if None not in point:
                    matrix.add(point)

    def residue(self, x, scope, ev):
        if x not in self.nodes:
            return residue(ev.world.letters.get(str(x)))
        try:
            return residue(ev.value(self.nodes[x], scope))
        except Refused:
            return None

    def near(self, scope, ev):
        a, b = (float(ordered(ev.value(side, scope))) for side in self.sides)
        return abs(a - b) <= nearness(self.sign, ev.world) * max(abs(a), abs(b))


class Rounding:
    """What stands under a floor or a ceiling, wherever it stands: whole numbers that are divided by
    a number, or what is no quotient."""

    def __init__(self, number, nodes, letters, asked):
        self.number, self.nodes, self.asked = number, nodes, [(letters, asked)]

    def see(self, stated, ev):
        """Take the cases of one draw, and of a letter that a sum binds all values."""
        ((letters, seen),) = self.asked
        for scope in cases(stated[self.number], ev):
            mentioned = set().union(*(self.nodes[x].mentions for x in letters))
            bound = sorted(mentioned & set(ev.world.ranges) - set(scope))
            for values in itertools.product(*(ev.world.ranges[x] for x in bound)):
                at = scope | dict(zip(bound, values, strict=True))
                with suppress(Refused):
                    seen.add([ev.value(self.nodes[x], at) for x in letters])


class Letter:
    """A whole number that the draws set, that runs through whole numbers, or follows from them."""

    def __init__(self, name):
        self.name, self.asked = name, [([name], Several())]

    def see(self, stated, ev):
        ((_, seen),) = self.asked
        seen.add(values_of(self.name, stated, ev))


def values_of(name, stated, ev):
    """The whole numbers that a letter takes in a world, if it takes no others."""
    value = ev.world.letters.get(name)
    found = ev.world.ranges.get(name, [value])
    if isinstance(value, Depends):
        found = []
        for scope in (scope for s in stated if name in s.mentions for scope in cases(s, ev)):
            with suppress(Refused):  # where it follows from a letter of another statement
                found.append(value.given(scope))
    return found if all(isinstance(x, int | np.integer) for x in found) else []


def few(entry, stated, ev):
    """The letters of a display that are whole numbers, but for those that cannot take many
    values."""
    mentioned = set().union(*(s.mentions for s in stated))
    return [Letter(x) for x in sorted(mentioned - set(entry.few)) if values_of(x, stated, ev)]


def roundings(number, statement, ev):
    """Those of one statement."""
    for outer in (node for part in statement.nodes for node in part.walk()):
        if outer.kind in ("floor", "ceil"):
            formula = expression(outer.parts[0], nodes := {})
            letters = sorted(formula.free_symbols, key=str)
            whole = all(isinstance(ev.last.get(id(nodes[x])), int) for x in letters)
            if letters and whole and _divided(formula):
                yield Rounding(number, nodes, letters, Rounded(formula, letters))
            elif letters and not whole:
                inside = sp.Symbol(outer.text)
                yield Rounding(number, {inside: outer.parts[0]}, [inside], Met())


def relations(entry, stated, ev, counted_letters):
    """The relations of a display whose sizes can be asked for their position."""
    counted = entry.arithmetic == "counted"
    tied = {sp.Symbol(canonical(name), positive=True) for name in entry.tied}
    besides = {
        sp.Symbol(name, positive=True)
        for name, value in ev.world.letters.items()
        if isinstance(value, int) and name not in counted_letters
    } - tied  # fmt: skip
    found = []
    for number, statement in enumerate(stated):
        claim = statement.claim
        chain = claim.kind == "chain" and len(claim.parts) > 1
        bound = set(ev.world.ranges) - ev.free(*statement.nodes)  # by sums: no sizes
        found += roundings(number, statement, ev)
        found += places(number, statement, ev)
        pairs, asked = [("=", claim)], []
        if chain:
            pairs = zip(claim.info, claim.parts, claim.parts[1:], strict=False)
        for sign, *sides in sorted(pairs, key=lambda pair: pair[0] != "="):
            new = [side for side in sides if side not in asked]
            asked += new
            relation = Relation(number, sign, sides, new, ev, counted, tied, besides, bound)
            if relation.asked:
                found.append(relation)
    return found


def alone(stated):
    """What stands alone on a side: it is counted, not drawn."""
    found = set()
    for statement in stated:
        if statement.claim.kind == "chain":
            sides = (expression(side, {}) for side in statement.claim.parts)
            found |= {str(x) for x in sides if x.is_Symbol}
        else:
            found.add(statement.words or "value")
    return found


def settle(entry, stated, evaluators, draw_more, counted):
    """Draw until the sizes of an equation are in general position: `(record, problems)`.

    `draw_more()` evaluates the equation in one more world and adds its evaluator to the list.
    """
    asked = relations(entry, stated, evaluators[0], counted)
    matrices = [matrix for relation in asked for _, matrix in relation.asked]
    several = few(entry, stated, evaluators[0])
    asked, matrices = asked + several, matrices + [x.asked[0][1] for x in several]
    most = max((len(m.columns) for m in matrices), default=0)
    if most > MONOMIALS:
        return [], [
            f"its sizes are special: more than {MONOMIALS} monomials would be asked of them"
        ]
    start, more = time.thread_time(), True
    known, ranks, still = 0, [], 0
    while True:
        for relation in asked:
            if not all(matrix.full for _, matrix in relation.asked):
                for ev in evaluators[known:]:
                    relation.see(stated, ev)
        known = len(evaluators)
        missing = max((matrix.missing for matrix in matrices), default=0)
        before, ranks = ranks, [matrix.rank for matrix in matrices]
        left = [m for m in matrices if not m.full]
        still = (
            still + 1 if ranks == before and all(m.cases > 2 * len(m.columns) for m in left) else 0
        )
        if still == STILL or not missing or known > SPARE * most + 20 or not more:
            break
        for _ in range(missing):
            more = time.thread_time() - start < SECONDS and _drawn(draw_more)
            if not more:
                break
    matrices = matrices[: len(matrices) - len(several)]
    record = [{"monomials": len(m.columns), "cases": m.cases, "rank": m.rank} for m in matrices]
    problems = [
        f"its sizes are special: {x['rank']} of {x['monomials']} monomials are independent in "
        f"{x['cases']} cases"
        for x in record
        if not x["rank"] == x["monomials"] < x["cases"]
    ]
    problems += [
        f"few values: {x.name} takes {x.asked[0][1].rank} of {VALUES}"
        for x in several
        if not x.asked[0][1].full
    ]
    return record, problems


def _drawn(draw_more):
    """Whether there was one more world: some have a list of their sizes, which ends."""
    try:
        draw_more()
    except IndexError:
        return False
    return True


def cases(statement, ev):
    """The values of the running letters, case by case, in which something is claimed."""
    runs = sorted(ev.free(*statement.nodes))
    for values in itertools.product(*(ev.world.ranges[letter] for letter in runs)):
        scope = dict(zip(runs, values, strict=True))
        if all(ev.holds(c, scope) for c in (*statement.premises, *statement.conditions)):
            yield scope


def _sized(x, counted):
    """Whether a value is one that the draws set: a whole number, or where all is counted any."""
    number = v.is_number(x) and x is not None
    return number and (counted or isinstance(x, int | np.integer))


def _divided(formula):
    """Whether a formula is divided by a number, and by no letter."""
    bottom = sp.fraction(sp.together(formula))[1]
    return bottom.is_Integer and bottom > 1


def _opened(node, ev):
    """What stands inside of a node that is a letter of its own, but for indices."""
    if node.kind in ("letter", "big", "product", "sum", "table", "number"):
        return []
    if node.kind == "scripted" and node.parts[0].kind == "letter":
        name = ev.names.get(id(node), "")
        ups = [p.parts[0] for p in node.parts if p.kind == "up" and p != TRANSPOSE]
        return [] if name.endswith("^") else [p for p in ups if render(p) not in name]
    return [p.parts[0] if p.kind == "up" else p for p in node.parts if p.kind != "down"]
