r"""What a display divides by that is zero where the terms of a sum undo one another.

    undone(divisor, statement, ev)   whether a number is zero, or has no value, at such a place

No letter that is scaled alone makes `\|\boldsymbol{v}-\mathbf{S}\boldsymbol{k}\|` zero, and a pair
that is recalled does. So in each sum of vectors, or matrices, a letter that is a term, or one but
for numbers, is put where it undoes the others.
"""

from contextlib import suppress
from math import prod

import numpy as np

from .evaluate import Evaluator
from .position import cases
from .values import Depends, Family, NotExact, NoValue, Refused, is_number

NEARLY_ZERO = 1e-9  # of what it was: in float64 terms undo one another but for rounding errors


def undone(divisor, statement, ev):
    """Whether a number is zero, or has no value, where a term of a sum in it undoes the others."""
    if not is_number(ev.last.get(id(divisor), ())):
        return False
    sums = [x for x in divisor.walk() if x.kind == "sum" and np.ndim(ev.last.get(id(x)))]
    terms = [(x, *at) for x in sums for at in zip(x.info, x.parts, strict=True)]
    return any(_is_undone(divisor, *term, statement, ev) for term in terms)


def _is_undone(divisor, whole, sign, term, statement, ev):
    """The same for one term, in the first case in which it has a value."""
    numbers, letters = [], []
    for part in term.parts if term.kind == "product" else (term,):
        (numbers if is_number(ev.last.get(id(part), ())) else letters).append(part)
    letter = ev.names.get(id(letters[0])) if len(letters) == 1 else None
    if letter not in ev.world.letters:
        return False
    for scope in cases(statement, ev):
        bound = divisor.mentions & set(ev.world.ranges) - set(scope)
        at = scope | {x: ev.world.ranges[x][0] for x in bound}
        with suppress(Refused, NotExact):
            before = abs(ev.value(divisor, at))
            times = prod(ev.value(x, at) for x in numbers) * (-1 if sign == "-" else 1)
            value = _less(ev.world.letters[letter], ev.value(whole, at) / times)
            moved = Evaluator(ev.world.replaced({letter: value}))
            try:
                after = abs(moved.value(divisor, at))
            except NoValue:
                return True
            return not before * NEARLY_ZERO < after < before / NEARLY_ZERO
    return False


def _less(value, off):
    """A value, or each of a family, and so much less; where it stands transposed, too."""
    if isinstance(value, Family):
        return Family(lambda *indices: _less(value[indices], off))
    if isinstance(value, Depends):
        return Depends(lambda scope: _less(value.given(scope), off))
    return value - (off if np.shape(value) == np.shape(off) else off.T)
