"""Sums, products, powers, inverses and distances of values, in float64 and exactly.

What has no value is refused: shapes that do not fit, a division by zero, a root below zero.
"""

import math
from fractions import Fraction

import numpy as np

from .values import (
    Multiple,
    NotExact,
    NoValue,
    Refused,
    counts,
    is_exact,
    is_number,
    plain,
    shape_of,
)


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


def real(matrix):
    """A matrix of float64, which has singular values."""
    try:
        return np.asarray(matrix, dtype=float)
    except TypeError:
        raise NotExact("singular values modulo a prime") from None


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
        return max(map(distance, a, b), default=0.0), 1.0
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
