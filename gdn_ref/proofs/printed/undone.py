r"""What a display divides by that is zero where the terms of a sum undo one another.

    undone(divisor, statement, ev)   whether a number is zero, or has no value, at such a place

No letter that is scaled alone makes `\|\boldsymbol{v}-\mathbf{S}\boldsymbol{k}\|` zero, and a pair
that is recalled does; `C^2-2Cx+x^2` is zero at x and has one sign beside it. Each is the length, or
the square of the length, of what is linear in a letter: down the slope a parabola that touches
zero.
"""

from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np

from .evaluate import Evaluator
from .position import cases
from .values import Depends, Family, NotExact, NoValue, Refused, is_exact, is_number

NEARLY_ZERO = 1e-9  # of what it was: in float64 terms undo one another but for rounding errors


def undone(divisor, statement, ev):
    """Whether a number with a sum in it is zero, or has no value, down the slope of a letter."""
    sums = any(part.kind == "sum" and len(part.parts) > 1 for part in divisor.walk())
    if not sums or not is_number(ev.last.get(id(divisor), ())):
        return False
    letters = {
        ev.names[id(part)]: ev.last[id(part)]
        for part in divisor.walk()
        if id(part) in ev.names and ev.names[id(part)] in ev.world.letters and id(part) in ev.last
    }
    own = Evaluator(ev.world)  # `ev` remembers its last values
    for scope in cases(statement, own):
        bound = divisor.mentions & set(ev.world.ranges) - set(scope)
        at = scope | {x: ev.world.ranges[x][0] for x in bound}
        with suppress(Refused, NotExact):
            own.value(divisor, at)
            return any(
                _touches_zero(_moved(divisor, letter, at, ev), np.shape(value), power)
                for letter, value in letters.items()
                if _is_real(value)
                for power in ((1, 2) if np.ndim(value) else (1,))  # a vector may have any sign
            )
    return False


def _divides(node):
    return any(part.kind in ("fraction", "quotient") for part in node.walk())


def _is_real(value):
    """A number that does not count, or an array of float64."""
    return isinstance(value, float | Fraction) or np.ndim(value) and not is_exact(value)


def _moved(divisor, letter, at, ev):
    """The divisor as a function of what is added to a letter."""

    def of(more):
        world = ev.world.replaced({letter: _plus(ev.world.letters[letter], more)})
        try:
            return Evaluator(world).value(divisor, at)
        except NoValue:  # by what it divides inside, or it is itself a power below zero
            return np.nan if _divides(divisor) else 0.0

    return of


def _touches_zero(of, shape, power):
    """Whether a power of it is a parabola down its slope from here, and nearly zero at the foot."""
    try:
        here, slope = of(np.zeros(shape)), np.zeros(shape)
        for entry in np.ndindex(shape):
            one = np.zeros(shape)
            one[entry] = 1.0
            slope[entry] = (of(one) ** power - of(-one) ** power) / 2
        if not np.sum(slope**2):
            return False
        step = -slope * (float(here) ** power / np.sum(slope**2))
        a, b, c = (of(n * step) ** power for n in range(3))
        if not a - 2 * b + c > 0:
            return False
        foot = abs(of(step * float((3 * a - 4 * b + c) / (2 * (a - 2 * b + c)))))
    except (Refused, NotExact):
        return False
    return foot <= abs(here) * NEARLY_ZERO or foot >= abs(here) / NEARLY_ZERO


def _plus(value, more):
    """A value, or each of a family, and so much more."""
    if isinstance(value, Family):
        return replace(value, at=lambda *indices: _plus(value[indices], more))
    if isinstance(value, Depends):
        return Depends(lambda scope: _plus(value.given(scope), more))
    return value + (more if np.ndim(more) else float(more))
