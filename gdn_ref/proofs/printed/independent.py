r"""What a formula is asked at each case of the draws: that no other one of its kind agrees there.

`position` says which formulas are asked, and of which letters.
"""

import math

import numpy as np
import sympy as sp

from ..modular import Mod, P, join


class Independent:
    """Monomials as columns, and a row for each case that was seen."""

    def __init__(self, columns):
        self.columns, self.points, self.known = columns, set(), (0, 0)
        self.cases = 0

    def add(self, point):
        self.points.add(point)
        self.cases += 1

    @property
    def rank(self):
        """Of the matrix, modulo p; with fewer cases than columns there is no need to ask."""
        if len(self.points) < len(self.columns):
            return 0
        if self.known[0] != len(self.points):
            self.known = len(self.points), rank(self.rows())
        return self.known[1]

    @property
    def full(self):
        return self.rank == len(self.columns) < self.cases

    @property
    def missing(self):
        """How many more cases to ask for."""
        if self.full:
            return 0
        return max(len(self.columns) + 1 - self.cases, len(self.columns) // 4 + 1)

    def rows(self):
        """The value of each monomial at each point."""
        points = np.array(list(self.points), dtype=np.uint64)
        found = Mod(np.ones((len(points), len(self.columns)), dtype=np.uint64))
        for x, exponents in zip(points.T, np.array(self.columns).T, strict=True):
            powers = [Mod(np.ones_like(x))]
            for _ in range(exponents.max()):
                powers.append(powers[-1] * Mod(x))
            found = found * join(powers, axis=1)[:, exponents]
        return found.residues


def rank(rows):
    """The rank of a matrix of residues, by elimination."""
    left, found = np.asarray(rows, dtype=np.uint64), 0
    while left.size:
        below = np.flatnonzero(left[:, 0])
        if len(below):
            found += 1
            pivot = (Mod(left[below[0]]) * pow(int(left[below[0], 0]), -1, P)).residues
            left = np.delete(left, below[0], axis=0)
            left = (Mod(left) - Mod(left[:, :1]) * Mod(pivot[None])).residues
        left = left[:, 1:]
    return found


class Rounded:
    """A floor or a ceiling of a quotient by a number: it is seen at each fraction that it can have,
    or `7n/8`, rounded, is as good as `n - 1`."""

    def __init__(self, inside, letters):
        top, bottom = sp.fraction(sp.together(inside))
        self.inside, self.bottom = sp.Poly(top, *letters), int(bottom)
        steps = [int(c) for powers, c in self.inside.terms() if any(powers)]
        self.columns = range(self.bottom // math.gcd(*steps, self.bottom))  # the fractions
        self.seen, self.cases = set(), 0

    def add(self, point):
        self.seen.add(int(self.inside(*point)) % self.bottom)
        self.cases += 1

    @property
    def rank(self):
        return len(self.seen)

    @property
    def full(self):
        return self.rank == len(self.columns) < self.cases

    @property
    def missing(self):
        return 0 if self.full else max(len(self.columns) - self.rank, 1)


def box(formula, letters):
    """The exponents of all monomials of no higher degree than the formula, in each and in all."""
    each, total = [0] * len(letters), 0
    for part in sp.fraction(sp.together(formula)):
        poly = sp.Poly(part, *letters)
        each = [max(a, b) for a, b in zip(each, poly.degree_list(), strict=True)]
        total = max(total, poly.total_degree())
    return exponents(each, total)


def exponents(each, total):
    if not each:
        return [()]
    return [
        (e, *rest)
        for e in range(min(each[0], total) + 1)
        for rest in exponents(each[1:], total - e)
    ]
