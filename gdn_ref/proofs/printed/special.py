r"""What the data cannot tell from something else, however it is altered: constants and intervals.

    constants(stated)              numerals with nearly as many digits as float64 compares
    intervals(stated, evaluators)  conditions on real numbers that hardly any value meets

A quotient of two numbers of five digits comes as close to `\ln 2` as a value has to, and
`2 \le \beta < 17/8` is `\beta = 2` for multiples of 1/8.
"""

import itertools
from contextlib import suppress

from .position import cases
from .tree import render
from .values import NotExact, Refused

DIGITS = 8  # of 9 that are compared; the most in a true display are 5
ORDERED = {"<", ">", r"\le", r"\ge"}
VALUES = 3  # that an interval has to contain: both ends, or one and what is beside it, are two


def constants(stated):
    """The claims whose numerals have so many digits together."""
    for statement in stated:
        numerals = {n.info for root in statement.nodes for n in root.walk() if n.kind == "number"}
        if sum(map(len, numerals)) >= DIGITS:
            yield render(statement.claim)


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
