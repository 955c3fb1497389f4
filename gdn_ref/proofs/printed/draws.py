"""Random values for a world: float64, or integers modulo 2^61 - 1 from the same lines of code."""

from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np

from ..modular import P
from .numbers import Dual, Residue

EQUAL_SIZES = "equal sizes"


@dataclass(frozen=True)
class Draw:
    """One draw. `exact` says in which arithmetic; `seed` which of its draws; `easy` a property of
    its data that hides mistakes, one of `cases.EASY`."""

    exact: bool
    seed: int
    easy: str = ""
    rng: np.random.Generator = field(init=False, compare=False)

    def __post_init__(self):
        object.__setattr__(self, "rng", np.random.default_rng([self.seed, self.exact]))

    def anew(self, n=0):
        """A draw from its beginning, number `n`: the same whatever was drawn before."""
        return Draw(self.exact, self.seed + 1000 * n, self.easy)

    def array(self, *shape):
        """Any numbers: normal in float64, uniform residues otherwise."""
        if not self.exact:
            return self.rng.normal(size=shape)
        return residues(self.rng.integers(0, P, size=shape))

    def between(self, low, high, *shape):
        """Numbers of this range in float64; residues, which have no order, otherwise."""
        return self.array(*shape) if self.exact else self.rng.uniform(low, high, size=shape)

    def number(self, low=0.3, high=1.7):
        return self.between(low, high, 1)[0]

    def sizes(self, count, low=2, high=40):
        """Different whole numbers, for the sizes in a formula of costs; one may be larger."""
        found = self.rng.choice(np.arange(low, high), size=count, replace=False)
        self._enlarge_one(found, high, low + 7)
        return [int(n) for n in (found * 0 + found[:1] if self.easy == EQUAL_SIZES else found)]

    def numbers(self, count, low=1, high=4):
        """Small whole numbers, the same perhaps; one of them may be larger."""
        found = self.rng.integers(low, high + 1, size=count)
        self._enlarge_one(found, high + 1, low + 7)
        return [int(n) for n in found]

    def _enlarge_one(self, numbers, low, high):
        """In two of three draws: many values of each letter, and the others stay small."""
        if low < high and self.rng.integers(3):
            numbers[self.rng.integers(len(numbers))] = self.rng.integers(low, high)

    def widths(self, *whole):
        """These numbers of bytes; in one of three draws so many bits less that none is whole."""
        if self.seed % 1000 % 3 != 1:
            return whole
        bits = self.rng.integers(1, 8, size=len(whole))
        return tuple(n - Fraction(int(less), 8) for n, less in zip(whole, bits, strict=True))

    def one_of(self, *values):
        """One of these."""
        return values[self.rng.integers(len(values))]

    def other(self, value):
        """Noise in the place of a value, of the same kind and shape."""
        if isinstance(value, tuple):
            return tuple(self.other(x) for x in value)
        if isinstance(value, np.ndarray):
            return self.array(*value.shape) if value.dtype.kind in "fO" else value + 1
        if isinstance(value, int | np.integer):
            return value + int(self.rng.integers(1, 9))
        return value * self.number() + self.number()


DRAWS = {
    "modular": [Draw(False, 0), Draw(False, 1), Draw(True, 2), Draw(True, 0), Draw(True, 1)],
    "float64": [Draw(False, 0), Draw(False, 1), Draw(False, 2)],
    "counted": [Draw(False, 0), Draw(False, 1), Draw(False, 2)],
    "rational": [Draw(False, 0), Draw(False, 1), Draw(False, 2)],
}


def residues(numbers):
    """An array of integers as residues."""
    numbers = np.asarray(numbers)
    flat = [Residue(int(n)) for n in numbers.ravel()]
    found = np.empty(len(flat), dtype=object)
    found[:] = flat
    return found.reshape(numbers.shape)


def gradient(function, x, exact, where=None):
    """The derivatives of a number `function(x)` by each entry of x, one dual number at a time; by
    the entries `where` this mask is not 0, if the function reads no other."""
    found = np.zeros(x.shape, dtype=object if exact else float)
    for at in np.argwhere(np.ones(x.shape) if where is None else where):
        at = tuple(at)
        moved = x.astype(object)
        moved[at] = Dual(x[at], 1)
        found[at] = getattr(function(moved), "change", 0)
    return found
