"""What a letter may stand for, in float64 and exactly.

Matrices are two-dimensional NumPy arrays, of float64 or of exact numbers as objects (integers,
fractions, integers modulo 2^61 - 1); a vector is a column. `Multiple(c)` is c times the identity
of whatever size fits, `Multiple(0)` zero of any shape. A `Family` has subscripts or superscripts.
"""

import inspect
import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np


class Refused(Exception):
    """The expression has no value: shapes that do not fit, an unknown letter, no such index."""


class NoValue(Refused):
    """A division by zero, an inverse of what has none, a logarithm or a root of too little."""


class NotExact(Exception):
    """A function whose value is no exact number, asked for in exact arithmetic."""


@dataclass(frozen=True)
class Multiple:
    """`c` times the identity, of any size; zero of any shape if `c` is zero."""

    c: object = 1


@dataclass(frozen=True)
class Family:
    """Values under indices: `at(*indices)`, which refuses an index that does not exist; `bracket`
    opens the indices on the page, `[` for chunks, `(` for ranks."""

    at: Callable
    bracket: str = ""

    def __getitem__(self, indices):
        return called(self.at, *indices)


def called(function, *arguments):
    """`function(*arguments)`, refused if it takes another number of arguments."""
    least, most = _arity(function)
    if not least <= len(arguments) <= most:
        many = "many" if len(arguments) > most else "few"
        raise Refused(f"too {many} positional arguments")
    try:
        return function(*arguments)
    except (TypeError, IndexError) as error:
        raise Refused(str(error)) from None


@lru_cache
def _arity(function):
    """The least and the greatest number of arguments."""
    parameters = inspect.signature(function).parameters.values()
    most = math.inf if any(p.kind is p.VAR_POSITIONAL for p in parameters) else len(parameters)
    needed = [p for p in parameters if p.kind is not p.VAR_POSITIONAL and p.default is p.empty]
    return len(needed), most


@dataclass(frozen=True)
class Depends:
    """A value that follows from the indices in force, as the decayed state follows from `t`."""

    on: Callable

    def given(self, scope):
        try:
            return self.on(scope)
        except KeyError as error:
            raise Refused(f"what depends on {error} stands where it is not given") from None


def entries(array, first=1):
    """The entries of an array under its indices, which count from `first`; sets give blocks."""
    array = np.asarray(array)

    def at(*indices):
        if len(indices) != array.ndim:
            raise Refused(f"{len(indices)} indices where {array.ndim} are expected")
        return array[_places(indices, array.shape, first)]

    return Family(at)


def listed(values, first=1, bracket=""):
    """The items of a list (states, say) under one index that counts from `first`."""
    values = list(values)

    def at(*indices):
        return values[_places(indices, (len(values),), first)[0]]

    return Family(at, bracket)


def columns(rows, first=1):
    """The rows of a matrix, one vector an index."""
    return listed([row[:, None] for row in np.asarray(rows)], first)


def _places(indices, shape, first):
    if any(isinstance(index, np.ndarray) for index in indices):
        pairs = zip(indices, shape, strict=False)
        return np.ix_(*(_positions(index, size, first) for index, size in pairs))
    places = []
    for index, size in zip(indices, shape, strict=False):
        if not counts(index) or not first <= index < first + size:
            raise Refused(f"no index {index}")
        places.append(int(index) - first)
    if len(places) != len(indices):
        raise Refused("too many indices")
    return tuple(places)


def _positions(index, size, first):
    """The places of an index, or of a set of indices: the rows or columns of a block."""
    return [_places((i,), (size,), first)[0] for i in np.ravel(index)]


# What a value is.


def is_number(x):
    return not isinstance(x, np.ndarray | Multiple | Family | tuple | slice) and not callable(x)


def counts(x):
    """Whether a value is a whole number: an index, or how often something is done."""
    number = isinstance(x, int | np.integer | float | Fraction)
    return number and math.isfinite(x) and x == int(x)


def is_exact(x):
    """Whether a value, or each entry of an array, is an exact number."""
    if isinstance(x, np.ndarray):
        return x.dtype == object or x.dtype.kind in "iu"
    if isinstance(x, Multiple):
        return is_exact(x.c)
    return not isinstance(x, float | np.floating)


def shape_of(x):
    """The shape of an array; of several values, which may differ in theirs, how many they are."""
    return (len(x),) if isinstance(x, tuple) else np.shape(x)


def plain(x):
    """A 1 x 1 matrix is a number; a whole number is one of Python, which has any size."""
    x = x[0, 0] if isinstance(x, np.ndarray) and x.shape == (1, 1) else x
    return int(x) if isinstance(x, np.integer) else x
