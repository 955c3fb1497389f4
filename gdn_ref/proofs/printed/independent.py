r"""What a formula is asked at each case of the draws: that no other one of its kind agrees there.

`position` says which formulas are asked, and of which letters.
"""

import itertools
import math

import numpy as np
import sympy as sp

from ..modular import Mod, P, join

MONOMIALS = 512  # of the most that is asked; the largest true display, eq-segment-bytes, has 354
AT_ONCE = 32  # rows
VALUES = 6


class Independent:
    """Monomials as columns, and a row for each case that was seen, but once."""

    def __init__(self, columns):
        self.columns, self.points, self.waiting = columns, set(), []
        self.echelon = Echelon(len(columns))
        self.cases = 0

    def add(self, point):
        self.cases += 1
        if point not in self.points:
            self.points.add(point)
            self.waiting.append(point)

    @property
    def rank(self):
        """Of the matrix, modulo p."""
        if self.waiting:
            self.echelon.add(self.rows(self.waiting))
            self.waiting = []
        return len(self.echelon.pivots)

    @property
    def full(self):
        return self.rank == len(self.columns) < len(self.points)

    @property
    def missing(self):
        """How many more cases to ask for."""
        if self.full:
            return 0
        return max(len(self.columns) + 1 - len(self.points), len(self.columns) // 4 + 1)

    def rows(self, points):
        """The value of each monomial at each of these points."""
        points = np.array(points, dtype=np.uint64)
        found = Mod(np.ones((len(points), len(self.columns)), dtype=np.uint64))
        for x, exponents in zip(points.T, np.array(self.columns).T, strict=True):
            powers = [Mod(np.ones_like(x))]
            for _ in range(exponents.max()):
                powers.append(powers[-1] * Mod(x))
            found = found * join(powers, axis=1)[:, exponents]
        return found


class Echelon:
    """Independent rows of residues. Each has a one at its pivot, and all others have zeros there,
    so that what depends on them is seen by one product of matrices, however often it comes."""

    def __init__(self, width):
        self.rows, self.pivots = Mod(np.zeros((0, width), dtype=np.uint64)), []

    def add(self, rows):
        """Take up what these rows add to the others."""
        for start in range(0, len(rows), AT_ONCE):
            some = rows[start : start + AT_ONCE]
            if self.pivots:
                some = some - some[:, self.pivots] @ self.rows
            new, pivots = reduced(some)
            if pivots:
                kept = self.rows - self.rows[:, pivots] @ new
                self.rows = join([kept, new], np.concatenate)
                self.pivots += pivots


def reduced(rows):
    """The rows with a one at a pivot and zeros above and below it, and the pivots' columns."""
    left, pivots, kept = rows.residues, [], []
    for i in range(len(left)):
        if not left[i].any():
            continue
        at = int(np.flatnonzero(left[i])[0])
        row = Mod(left[i]) * pow(int(left[i, at]), -1, P)
        left = (Mod(left) - Mod(left[:, at : at + 1]) * row[None]).residues
        left[i] = row.residues
        pivots.append(at)
        kept.append(i)
    return Mod(left[kept]), pivots


class Rounded:
    """A floor or a ceiling of a quotient by a number: it is seen at each fraction that it can have,
    or `7n/8`, rounded, is as good as `n - 1`, and twice, or `8n/7` is as good as `n + 1`."""

    def __init__(self, inside, letters):
        top, bottom = sp.fraction(sp.together(inside))
        self.inside, self.bottom = sp.Poly(top, *letters), int(bottom)
        steps = [int(c) for powers, c in self.inside.terms() if any(powers)]
        self.columns = range(2 * self.bottom // math.gcd(*steps, self.bottom))  # the fractions
        self.seen, self.cases = {}, 0

    def add(self, point):
        value = int(self.inside(*map(int, point)))
        self.seen.setdefault(value % self.bottom, set()).add(value)
        self.cases += 1

    @property
    def rank(self):
        return sum(min(len(values), 2) for values in self.seen.values())

    @property
    def full(self):
        return self.rank == len(self.columns) < self.cases

    @property
    def missing(self):
        return 0 if self.full else max(len(self.columns) - self.rank, 1)


class Met:
    """A floor or a ceiling of what is no quotient, say of a logarithm: it is seen to be a whole
    number itself, twice at least, or another one, a little below, would round as it does."""

    columns = range(2)

    def __init__(self):
        self.seen, self.cases = set(), 0

    def add(self, point):
        self.cases += 1
        self.seen |= {int(x) for x in point if x == int(x)}

    @property
    def rank(self):
        return min(len(self.seen), 2)

    @property
    def full(self):
        return self.rank == 2 < self.cases

    @property
    def missing(self):
        return 0 if self.full else 1


class Several:
    """A whole number that is drawn takes so many values that a curve through all of them is of a
    high degree."""

    columns = range(VALUES)

    def __init__(self):
        self.seen, self.cases = set(), 0

    def add(self, point):
        self.seen |= {*point}
        self.cases += 1

    @property
    def rank(self):
        return min(len(self.seen), VALUES)

    @property
    def full(self):
        return self.rank == VALUES

    @property
    def missing(self):
        return 0 if self.full else max(VALUES - self.rank, self.cases // 4)


def box(formula, letters):
    """The exponents of all monomials of no higher degree than the formula, in each and in all."""
    each, total = [0] * len(letters), 0
    for part in sp.fraction(sp.together(formula)):
        poly = sp.Poly(part, *letters)
        each = [max(a, b) for a, b in zip(each, poly.degree_list(), strict=True)]
        total = max(total, poly.total_degree())
    return list(itertools.islice(exponents(each, total), MONOMIALS + 1))  # one too many is enough


def exponents(each, total):
    if not each:
        yield ()
        return
    for e in range(min(each[0], total) + 1):
        for rest in exponents(each[1:], total - e):
            yield (e, *rest)
