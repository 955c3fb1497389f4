"""Numbers that count: what a piece of code multiplies, in which order, and what it moves.

The code runs on `Counted` numbers, or under a `Traffic`, so nothing is estimated. The FLOPs of the
book are twice the multiplications.
"""

import numpy as np


class Counted:
    """A number that counts its products, and knows the longest row of them that lies behind it.

    A number that is known to be 0 or 1 costs nothing. Nor does a plain number, the 0 or 1 of a
    mask; what it hides still counts later, as in a product of full matrices.
    """

    products = 0

    def __init__(self, depth=0, known=None):
        self.depth, self.known = depth, known

    def __mul__(self, other):
        if not isinstance(other, Counted) or other.known == 1:
            return self
        if self.known == 1:
            return other
        if 0 in (self.known, other.known):
            return Counted(known=0)
        Counted.products += 1
        return Counted(max(self.depth, other.depth) + 1)

    def __add__(self, other):
        if not isinstance(other, Counted) or other.known == 0:
            return self
        return other if self.known == 0 else Counted(max(self.depth, other.depth))

    def __neg__(self):
        return self

    __rmul__ = __mul__
    __radd__ = __sub__ = __rsub__ = __add__


def numbers(*shape):
    """An array of numbers that count."""
    return np.full(shape, Counted(), dtype=object)


def known(array):
    """The zeros and ones of `array` as numbers that are known."""
    return np.vectorize(lambda x: Counted(known=x), otypes=[object])(array)


def multiplications(work, *shapes):
    """How many scalar multiplications `work` does on arrays of these shapes."""
    arrays = [numbers(*shape) for shape in shapes]
    Counted.products = 0
    work(*arrays)
    return Counted.products


def depth(*arrays):
    """The longest row of products behind any entry."""
    return max(x.depth for array in arrays for x in np.ravel(array))


class Traffic:
    """A chunk form that adds up its numbers: rows in and out, states read, states written."""

    def __init__(self, form):
        self.form, self.rows, self.read, self.written = form, 0, 0, 0

    def __call__(self, S, *rows):
        O, S_next = self.form(S, *rows)
        self.rows += sum(x.size for x in (*rows, O))
        self.read, self.written = self.read + S.size, self.written + S_next.size
        return O, S_next
