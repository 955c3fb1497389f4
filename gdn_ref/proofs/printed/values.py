"""What a letter may stand for, and arithmetic on it, in float64 and exactly.

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
    """Values under indices: `at(*indices)`, which refuses an index that does not exist."""

    at: Callable

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


def listed(values, first=1):
    """The items of a list (states, say) under one index that counts from `first`."""
    values = list(values)

    def at(*indices):
        return values[_places(indices, (len(values),), first)[0]]

    return Family(at)


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


# Arithmetic.


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


def as_one_by_one(a, b):
    """A number beside a matrix of one entry is such a matrix: in a chunk of one token, say."""
    for x, y in ((a, b), (b, a)):
        if isinstance(x, np.ndarray) and x.shape == (1, 1) and is_number(y):
            return (x, np.array([[y]])) if x is a else (np.array([[y]]), x)
    return a, b


def plus(a, b):
    a, b = as_one_by_one(a, b)
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Multiple) and x.c == 0:
            return y
    if isinstance(a, Multiple) and isinstance(b, Multiple):
        return Multiple(a.c + b.c)
    if isinstance(a, Multiple):
        a, b = b, a
    if isinstance(b, Multiple):
        b = sized(b, a)
    if shape_of(a) != shape_of(b) or isinstance(a, tuple):
        raise Refused(f"a sum of shapes {shape_of(a)} and {shape_of(b)}")
    return a + b


def sized(multiple, like):
    """The multiple of the identity of the same size as a square matrix."""
    if not isinstance(like, np.ndarray) or like.shape[0] != like.shape[1]:
        raise Refused(f"the identity beside a shape {shape_of(like)}")
    return np.eye(len(like), dtype=like.dtype if like.dtype != object else int) * multiple.c


def times(a, b):
    if isinstance(a, Multiple) and isinstance(b, Multiple):
        return Multiple(a.c * b.c)
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Multiple) and is_number(y):
            return Multiple(x.c * y)
        if isinstance(x, Multiple) and isinstance(y, np.ndarray):
            return y if x.c == 1 else Multiple(0) if x.c == 0 else x.c * y
    if isinstance(a, np.ndarray) and isinstance(b, np.ndarray):
        if a.shape[1] != b.shape[0]:
            raise Refused(f"a product of shapes {a.shape} and {b.shape}")
        return plain(a @ b)
    if is_number(a) and is_number(b) or isinstance(a, np.ndarray) or isinstance(b, np.ndarray):
        return a * b
    raise Refused("a product with what is no number and no matrix")


def entrywise(a, b):
    a, b = as_one_by_one(a, b)
    if shape_of(a) != shape_of(b) or not isinstance(a, np.ndarray):
        raise Refused(f"an entrywise product of shapes {shape_of(a)} and {shape_of(b)}")
    return a * b


def divided(a, b):
    if not is_number(b):
        raise Refused("a division by what is no number")
    if b == 0:
        raise NoValue("a division by zero")
    if isinstance(a, int | Fraction) and isinstance(b, int | Fraction):
        return Fraction(a) / b
    if isinstance(a, Multiple):
        return Multiple(divided(a.c, b))
    if isinstance(a, np.ndarray):
        return times(divided(1, b), a)
    if not is_number(a):
        raise Refused("a division of what is no number and no matrix")
    return a / b


def power(x, n):
    """`x^n`; for a matrix n is a whole number, -1 the inverse."""
    if not is_number(n):
        raise Refused("an exponent that is no number")
    if is_exact(n) and not isinstance(n, int | np.integer | Fraction):
        raise NotExact("an exponent modulo a prime")
    if isinstance(x, Multiple):
        return Multiple(power(x.c, n))
    if isinstance(x, np.ndarray):
        if x.shape[0] != x.shape[1] or not counts(n):
            raise Refused(f"a power of a shape {x.shape}")
        return np.linalg.matrix_power(inverse(x) if n < 0 else x, abs(int(n)))
    if not is_number(x):
        raise Refused("a power of what is no number and no matrix")
    if n == 0.5 and is_exact(x):
        return root(x)
    if isinstance(n, Fraction) and n.denominator == 1:
        n = int(n)
    if n < 0:
        return power(divided(1, x), -n)
    if is_exact(x) and not isinstance(x, int | Fraction) and not isinstance(n, int):
        raise NotExact("a power that is not whole")
    if not is_exact(x) and x < 0 and not counts(n):
        raise NoValue("a power of a negative number that is not whole")
    return x**n


def root(x):
    """The square root: exact for squares of fractions."""
    if isinstance(x, int | Fraction):
        if x < 0:
            raise NoValue("a root of a negative number")
        top, bottom = (math.isqrt(n) for n in Fraction(x).as_integer_ratio())
        return Fraction(top, bottom) if Fraction(top, bottom) ** 2 == x else math.sqrt(x)
    if is_exact(x):
        raise NotExact("a root")
    if not is_number(x):
        raise Refused("a root of a matrix")
    if x < 0:
        raise NoValue("a root of a negative number")
    return math.sqrt(x)


def squared_norm(x):
    """The sum of all squares: exact where the entries are."""
    if isinstance(x, np.ndarray):
        return plain(np.sum(x * x))
    return x * x if is_number(x) else _no_norm(x)


def _no_norm(x):
    if isinstance(x, Multiple) and x.c == 0:
        return 0
    raise Refused("a norm of what has no size")


def eliminated(matrix):
    """`(determinant, rank, inverse or None)` by elimination, in any exact field."""
    rows = [list(row) for row in matrix]
    n, width = len(rows), len(rows[0])
    for i, row in enumerate(rows):
        row.extend(1 if i == j else 0 for j in range(n))
    determinant, rank = 1, 0
    for column in range(width):
        pivot = next((r for r in range(rank, n) if rows[r][column] != 0), None)
        if pivot is None:
            determinant = 0
            continue
        if pivot != rank:
            rows[rank], rows[pivot] = rows[pivot], rows[rank]
            determinant = -determinant
        scale = rows[rank][column]
        determinant = determinant * scale
        rows[rank] = [divided(x, scale) for x in rows[rank]]
        for r in range(n):
            if r != rank and rows[r][column] != 0:
                factor = rows[r][column]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[rank], strict=True)]
        rank += 1
        if rank == n:
            break
    inverse = np.array([row[width:] for row in rows], dtype=object) if rank == n == width else None
    return determinant if n == width else None, rank, inverse


def inverse(x):
    if not isinstance(x, np.ndarray) or x.shape[0] != x.shape[1]:
        raise Refused(f"an inverse of a shape {shape_of(x)}")
    if is_exact(x):
        found = eliminated(x)[2]
        if found is None:
            raise NoValue("a matrix without an inverse")
        return found
    try:
        return np.linalg.inv(x)
    except np.linalg.LinAlgError:
        raise NoValue("a matrix without an inverse") from None


def distance(a, b):
    """0 if two values are equal: the relative Frobenius distance, or 0 and 1 for exact ones."""
    gap, size = difference(a, b)
    return gap / size if size > 1e-300 else 0.0


def difference(a, b):
    """`(gap, size)`: the Frobenius norms of the difference and of the larger value."""
    for x, y in ((a, b), (b, a)):
        if isinstance(x, Multiple) and isinstance(y, np.ndarray):
            return difference(np.zeros(y.shape, int) if x.c == 0 else sized(x, y), y)
        if isinstance(x, Multiple) and not isinstance(y, tuple):
            return difference(x.c, y.c if isinstance(y, Multiple) else y)
    a, b = as_one_by_one(a, b)
    if isinstance(a, tuple) and isinstance(b, tuple) and len(a) == len(b):
        return max(distance(x, y) for x, y in zip(a, b, strict=True)), 1.0
    if isinstance(a, tuple) or isinstance(b, tuple) or shape_of(a) != shape_of(b):
        raise Refused(f"sides of shapes {shape_of(a)} and {shape_of(b)}")
    if not (isinstance(a, np.ndarray) or is_number(a)) or callable(b):
        raise Refused("a side that is no number and no matrix")
    if is_exact(a) and is_exact(b):
        return float(np.any(np.asarray(a != b))), 1.0
    gap = np.linalg.norm(np.asarray(a - b, dtype=float))
    size = max(np.linalg.norm(np.asarray(x, dtype=float)) for x in (a, b))
    if not math.isfinite(gap + size):
        raise Refused("a side that is not finite")
    return float(gap), float(size)
