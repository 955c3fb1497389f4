r"""What the data cannot tell from something else, however it is altered: constants and intervals.

    constants(stated)              numerals with nearly as many digits as float64 compares
    intervals(stated, evaluators)  conditions on real numbers that hardly any value meets
    ends(stated)                   sums from a letter to a number
    powers(stated, ev)             matrices that are multiplied with themselves so many times
    unsolved(stated, ev)           conditions between numbers that do not say what a letter is
    matrices(stated, ev)           identities and zeros in bold that stand for a number

A quotient of two numbers of five digits comes as close to `\ln 2` as a value has to, and so does
`\sqrt{\ln94}+\frac{\ln61}{(\ln73)^2}` to `\sqrt{8\ln2}`; `1 - \alpha^{400}` is near 1 unless
\alpha is; `2 \le \beta < 17/8` is `\beta = 2` for multiples of 1/8. As many powers of A as a draw
has tokens make up the inverse of I + A there, and of no longer chunk; a sum to 9 is empty from 10
on. `\beta^2 = \beta` has two roots, and two lengths may be equal in many ways: the data know a few.
"""

import itertools
from contextlib import suppress
from itertools import pairwise

import numpy as np

from .position import cases
from .symbolic import whole_power
from .tree import render
from .values import Multiple, NotExact, Refused, is_number

DIGITS = 8  # of 9 that are compared; the most in a true display are 5
EXPONENT = 10  # of what is no numeral; the largest in a true display is 2
OF_AN_ANGLE = 2  # `\cos 355` is -1 to nine digits, `\cos\frac{355}{113}` to thirteen
POWERS = 4  # of one matrix; the most in a true display are 2
ORDERED = {"<", ">", r"\le", r"\ge"}
BOLD = {r"\mathbf{I}", r"\mathbf{0}", r"\boldsymbol{0}"}
OF_A_NUMBER = {"bar", "floor", "ceil", "root", "apply"}
VALUES = 3  # that an interval has to contain: both ends, or one and what is beside it, are two


def constants(stated):
    """The claims whose numerals have so many digits together."""
    for statement in stated:
        nodes = [node for root in statement.nodes for node in root.walk()]
        angles = [x for x in nodes if x.kind == "apply" and x.info in ("sin", "cos")]
        many = any(_digits(x.walk()) >= OF_AN_ANGLE for x in angles)
        many |= any(_free(x) >= DIGITS for x in nodes)
        many |= any(int(x.info) >= EXPONENT for node in nodes for x in _exponents(node))
        if many or _digits(nodes) >= DIGITS:
            yield render(statement.claim)


def _exponents(node):
    """The numerals in the exponents of what is no numeral."""
    if node.kind == "scripted" and node.parts[0].kind != "number":
        for raised in (part for part in node.parts[1:] if part.kind == "up"):
            yield from (x for x in raised.walk() if x.kind == "number")


def _digits(nodes):
    return sum(map(len, {node.info for node in nodes if node.kind == "number"}))


def _free(node):
    """What could be chosen in a constant: its digits, each as often as it comes, and functions."""
    nodes = list(node.walk())
    if _letters(node):
        return 0
    functions = sum(x.kind in ("apply", "root") for x in nodes)
    return functions + sum(len(x.info) for x in nodes if x.kind == "number")


def ends(stated):
    """What adds up, or multiplies, from a letter to a number: beyond it there are no terms."""
    for node in (node for statement in stated for root in statement.nodes for node in root.walk()):
        if node.kind == "big" and len(node.parts) == 3:
            (_, low), high = node.parts[0].parts[0].parts, node.parts[1].parts[0]
            if _letters(low) and not _letters(high):
                yield render(node)


def _letters(node):
    return [x for x in node.walk() if x.kind == "letter"]


def powers(stated, ev):
    """The sides in which a square matrix comes so often in one product, by numerals."""
    for side in (root for statement in stated for root in statement.nodes):
        if any(times >= POWERS for times in _degrees(side, ev).values()):
            yield render(side)


def _degrees(node, ev):
    """How often each square matrix is a factor, at most."""
    value = ev.last.get(id(node))
    if node.kind == "letter" or id(node) in ev.names:
        found = {node.parts[0].text if node.parts else node.text: 1}
        found = found if np.ndim(value) == 2 and len(value) == len(value.T) else {}
    else:
        found = {}
        for part in (_degrees(part, ev) for part in node.parts):
            for letter, times in part.items():
                before = found.get(letter, 0)
                both = before + times if node.kind == "product" else max(before, times)
                found[letter] = both
    power = whole_power(node) if node.kind == "scripted" else 0
    return {letter: times * (power or 1) for letter, times in found.items()}


def intervals(stated, evaluators):
    """The conditions in which numbers are ordered that do not count, and too few meet them."""
    for number, statement in enumerate(stated):
        for condition in (*statement.premises, *statement.conditions):
            if condition.kind == "chain" and ORDERED & set(condition.info):
                met = set(_met(number, stated, condition, evaluators))
                if len(met) < VALUES and not all(isinstance(x, int) for x in itertools.chain(*met)):
                    yield render(condition)


def _met(number, stated, condition, evaluators):
    for ev in evaluators:
        with suppress(Refused, NotExact):
            for scope in cases(stated[number], ev):
                yield tuple(ev.value(part, scope) for part in condition.parts)


def unsolved(stated, ev):
    """The conditions that are equations between numbers, or right angles, and have no letter alone
    on a side."""
    for condition in (x for s in stated for x in (*s.premises, *s.conditions) if x.kind == "chain"):
        for relation, pair in zip(condition.info, pairwise(condition.parts), strict=True):
            asked = relation == r"\perp" or relation == "=" and _is_number(pair[0], ev)
            if asked and not _says(*pair) and not _says(*pair[::-1]):
                yield render(condition)


def matrices(stated, ev):
    """What is said to be an identity, or a zero, of a matrix, or a multiple of one, and should be a
    number: a side beside a number, what is rounded, or a function is of."""
    for statement in stated:
        for sides in (x for node in statement.nodes if node.kind == "chain" for x in _beside(node)):
            for side in sides:
                others = (other for other in sides if other is not side)
                if _in_bold(side, ev) and any(_is_number(x, ev) for x in others):
                    yield render(side)
        for node in (node for root in statement.nodes for node in root.walk()):
            if node.kind in OF_A_NUMBER and _in_bold(node.parts[-1], ev):
                yield render(node)


def _beside(chain):
    """The sides, or of rows as long as one another what stands first in each, second, and so on."""
    rows = [side.parts for side in chain.parts if side.kind == "tuple"]
    if len(rows) == len(chain.parts) and len(set(map(len, rows))) == 1:
        return list(zip(*rows, strict=True))
    return [chain.parts]


def _in_bold(node, ev):
    """Whether it is one of these letters, or a multiple that is made with one."""
    if BOLD & set(map(render, _cases(node))):
        return True
    named = any(x.kind == "letter" and x.info in BOLD for x in node.walk())
    return named and isinstance(ev.last.get(id(node)), Multiple)


def _cases(side):
    """What a side is, case by case."""
    if side.kind == "table" and side.info == "cases":
        return [row.parts[0].parts[0] for row in side.parts]
    return [side]


def _is_number(node, ev):
    return is_number(ev.last.get(id(node), ()))


def _says(side, other):
    """Whether a side is a letter, and the other one does not mention it."""
    while side.kind in ("group", "chain") and len(side.parts) == 1:
        side = side.parts[0]
    base, *scripts = side.parts if side.kind == "scripted" else (side,)
    letter = base.kind == "letter" and all(script.kind != "up" for script in scripts)
    return letter and render(side) not in map(render, other.walk())
