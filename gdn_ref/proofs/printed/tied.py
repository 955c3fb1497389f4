r"""Checks held to the page: what a check says is printed has the value of what is printed.

    problem(claim)           why the two differ, or "": in every draw of the equation's world
    problem(claim, stated)   the same with other statements in the place of the printed ones

A claim (`page.on_page`) has an expression of a check, whose symbols stand for letters of the page.
Its value, from the values of these letters, is compared with each side that it claims to be.
"""

import itertools
import math
from fractions import Fraction
from functools import cache, lru_cache, reduce
from weakref import WeakKeyDictionary

import numpy as np
import sympy as sp

from .. import page
from . import arithmetic, check
from . import values as v
from .blocks import joined
from .draws import DRAWS
from .evaluate import Evaluator
from .gaps import PASS, asked_for
from .lexer import tokens
from .source import displays
from .statements import statements
from .tree import parse
from .values import Depends, Multiple, NotExact, Refused
from .world import canonical

_RAN = WeakKeyDictionary()  # by evaluator: what code gave


class At:
    """A place where a claim is made: a world, the values of running letters, the tokens so far."""

    def __init__(self, evaluator, scope, letters, n):
        self.evaluator, self.scope, self.letters, self.n = evaluator, scope, letters, n

    def __call__(self, tex):
        """The value of this TeX here."""
        return self.evaluator.value(_parsed(tex), self.scope)

    def known(self, key):
        """What the world has under this key, be it a function or a word."""
        return self.evaluator.world.letters[canonical(key)]

    def first(self, *texts):
        """The value of the first of these letters that there is."""
        for tex in texts[:-1]:
            try:
                return self(tex)
            except Refused:
                pass
        return self(texts[-1])

    def range(self, letter):
        """The values of a running letter."""
        return self.evaluator.world.ranges[letter]

    def once(self, code):
        """What this code of the check gives here: it runs once in a world, for all its cases."""
        ran = _RAN.setdefault(self.evaluator, {})
        if code not in ran:
            ran[code] = code(self)
        return ran[code]

    def value(self, expression, letters=None):
        """The value of an expression of the check here."""
        names = self.letters | {str(x): meaning for x, meaning in (letters or {}).items()}
        return number(expression, At(self.evaluator, self.scope, names, self.n))

    def summed(self, expression, letters):
        """The sum of an expression over the entries of some vectors."""
        found = {
            str(x): np.ravel(self(y) if isinstance(y, str) else y(self)) for x, y in letters.items()
        }
        return sum(
            number(
                expression,
                At(self.evaluator, self.scope, dict(zip(found, entries, strict=True)), self.n),
            )
            for entries in zip(*found.values(), strict=True)
        )

    def decays(self, r):
        """The decays from each of r tokens to the last of them, on a diagonal."""
        return np.diag(self(r"\boldsymbol{\Gamma}")[r - 1, :r]) if r else np.zeros((0, 0), int)

    def letter(self, name):
        """What a symbol of the check stands for."""
        if name not in self.letters and name.endswith("^T"):
            return transposed(self.letter(name[:-2]))
        meaning = self.letters.get(name, page.ONE_MORE.get(name, name))
        found = self(meaning) if isinstance(meaning, str) else meaning
        found = found(self) if callable(found) else found
        return found.given(self.scope) if isinstance(found, Depends) else found


def problem(claim, stated=None):
    """Why the page does not print what the check claims; "" if it does, or if there is none."""
    display = displays().get(claim.label)
    if display is None:
        return ""
    check.load(claim.label)
    entry = check.PRINTED[claim.label]
    stated = statements(display.tex) if stated is None else stated
    apart = size = 0
    try:
        for draw in DRAWS[entry.arithmetic]:
            if claim.floats and draw.exact:
                continue
            for a, b in _pairs(claim, stated, Evaluator(_world(entry.world, draw))):
                gap, larger = arithmetic.difference(a, b)
                apart, size = math.hypot(apart, gap), math.hypot(size, larger)
    except (Refused, NotExact) as error:
        return f"what it has cannot be held to the page: {error}"
    if size == 0:
        return "it says nothing of the page"
    return (
        ""
        if apart / size <= PASS
        else f"what it has is not what the page prints: off by {apart / size:.1e}"
    )


@cache
def _parsed(tex):
    """The tree of this TeX: the same letters are asked for at every place."""
    return parse(tokens(tex))


@lru_cache(maxsize=50)
def _world(world, draw):
    return world(draw.anew())


def _pairs(claim, stated, evaluator):
    """What the check has and what the page has, for every case that the statement speaks of."""
    statement, world = stated[claim.of], evaluator.world
    node = statement.conditions[0] if claim.condition else statement.claim
    parts = node.parts if node.kind == "chain" else (node,)
    sides = claim.sides if len(claim.sides) > 1 else claim.sides * _equal(node)
    runs = sorted(evaluator.free(*statement.nodes))
    for case in itertools.product(*(world.ranges[letter] for letter in runs)):
        scope = dict(zip(runs, case, strict=True))
        if not all(evaluator.holds(c, scope) for c in statement.premises):
            continue
        met = all(evaluator.holds(c, scope) for c in statement.conditions)
        if not met and not statement.last_only:
            continue
        for n in _lengths(claim, evaluator, scope):
            at = At(evaluator, scope, claim.letters, n)
            left = None  # the check's own side before this one, if the page calls the two equal
            for i, (mine, part) in enumerate(
                zip(sides, parts if met else parts[:-1], strict=False)
            ):
                if mine is None:
                    left = None
                    continue
                if left is not None and node.info[i - 1] == "=":
                    yield _alike(number(mine, at), number(left, at))
                left = mine
                theirs = [evaluator.value(part, scope)]
                if node.kind != "chain":
                    theirs.append(asked_for(statement, claim.of, stated, world, scope))
                for value in theirs:
                    value = v.plain(value[n - 1 : n]) if claim.row and np.ndim(value) else value
                    yield _alike(number(mine, at), value)


def _alike(mine, theirs):
    """A number beside a matrix is so many times the identity."""
    if isinstance(theirs, np.ndarray) and isinstance(mine, int):
        mine = Multiple(mine)
    return mine, theirs


def _equal(node):
    """How many sides are called equal, from the first on."""
    if node.kind != "chain":
        return 1
    return 1 + len(list(itertools.takewhile(lambda relation: relation in "=:=", node.info)))


def _lengths(claim, evaluator, scope):
    """The numbers of tokens, the one that is added included."""
    if claim.row:
        return range(1, len(evaluator.value(_parsed(claim.row), scope)) + 1)
    for index in "rt":
        if index in scope:
            return [scope[index]] if scope[index] > 0 else []
    try:
        return [len(evaluator.value(_parsed(claim.last), scope))]
    except Refused:
        return [0]  # there are no tokens


# The value of an expression of computer algebra.


def number(expression, at):
    """Its value, each symbol being a letter of the page."""
    if isinstance(expression, tuple):
        return tuple(number(x, at) for x in expression)
    if callable(expression) and not isinstance(expression, sp.Basic):
        found = expression(at)
        return number(found, at) if isinstance(found, sp.Basic) else found
    e = sp.sympify(expression)
    if isinstance(e, sp.MatrixSymbol | sp.Symbol):
        return v.plain(at.letter(str(e)))
    if isinstance(e, sp.Rational):
        return int(e) if e.is_Integer else Fraction(int(e.p), int(e.q))
    if isinstance(e, sp.Identity):
        return Multiple(1)
    if isinstance(e, sp.ZeroMatrix):
        return Multiple(0)
    if isinstance(e, sp.MatrixBase):
        blocks = [[number(e[i, j], at) for j in range(e.cols)] for i in range(e.rows)]
        return joined([[Multiple(x) if isinstance(x, int) else x for x in row] for row in blocks])
    if e.is_commutative and e.is_Atom is False and isinstance(e, sp.Expr) and not e.is_Matrix:
        known = {x: at.letter(str(x)) for x in e.free_symbols if isinstance(x, sp.Symbol)}
        if all(isinstance(x, int | Fraction) for x in known.values()):
            exact = e.subs({x: sp.Rational(y) for x, y in known.items()})
            if exact.is_Rational:
                return number(exact, at)
    of = [number(x, at) for x in e.args]
    if isinstance(e, sp.MatAdd | sp.Add):
        if any(isinstance(x, np.ndarray) for x in of):
            of = [Multiple(x) if isinstance(x, int | Fraction) else x for x in of]
        elif not all(isinstance(x, Multiple) for x in of):
            of = [x.c if isinstance(x, Multiple) else x for x in of]  # matrices of one entry
        return reduce(arithmetic.plus, of)
    for kinds, value in VALUES:
        if isinstance(e, kinds):
            return value(*of)
    if isinstance(e, sp.Function) or e.is_number:
        return float(e.func(*(sp.Float(float(x), 30) for x in of)) if of else e)
    raise Refused(f"no value for {type(e).__name__}")


def transposed(x):
    return x.T if isinstance(x, np.ndarray) else x


VALUES = [
    (sp.Transpose, transposed), (sp.Trace, lambda x: x.trace() if np.ndim(x) else x),
    (sp.Pow | sp.MatPow | sp.Inverse, lambda x, n=-1: arithmetic.power(x, n)),
    (sp.MatMul | sp.Mul, lambda *xs: reduce(arithmetic.times, xs)), (sp.Max, max), (sp.Abs, abs),
    (sp.binomial, math.comb), (sp.HadamardProduct, lambda *xs: reduce(arithmetic.entrywise, xs)),
]  # fmt: skip
