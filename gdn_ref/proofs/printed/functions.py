"""The functions of the notation, and what asks whether a value is a number that has an order."""

import math

import numpy as np

from . import arithmetic
from . import values as v
from .values import Multiple, NotExact, Refused


def ordered(x):
    """A number that can be compared."""
    if isinstance(x, Multiple):
        x = x.c
    if not v.is_number(x):
        raise Refused("an order of what is no number")
    if v.is_exact(x) and not isinstance(x, int | np.integer) and not hasattr(x, "numerator"):
        raise NotExact("an order modulo a prime")
    return x


def whole(x):
    """A number that counts."""
    if not v.counts(x):
        raise Refused("an index that does not count")
    return int(x)


def _real(function):
    """A function of float64 numbers; its value is no exact number."""

    def of(x):
        x = x.c if isinstance(x, Multiple) else x  # a sum of no terms
        if not v.is_number(x):
            raise Refused("a function of a number, given a matrix")
        if v.is_exact(x) and not isinstance(x, int) and not hasattr(x, "numerator"):
            raise NotExact("a function of real numbers")
        return function(float(x))

    return of


def _entrywise(function):
    """A function of numbers that acts on each entry of a vector."""
    real = _real(function)
    return lambda x: np.vectorize(real)(x) if isinstance(x, np.ndarray) else real(x)


def _logarithm(x, base):
    return _real(math.log)(x) / math.log(base)


def _square(function):
    def of(x, *more):
        x = np.array([[x]]) if v.is_number(x) else x  # a matrix of one entry
        if not isinstance(x, np.ndarray) or x.shape[0] != x.shape[1]:
            raise Refused(f"a square matrix is expected, not a shape {v.shape_of(x)}")
        return function(x, *more)

    return of


def _diagonal_matrix(x):
    if not isinstance(x, np.ndarray) or x.shape[1] != 1:
        raise Refused("a diagonal matrix of what is no vector")
    return np.diag(x[:, 0])


def _rank(x):
    if not isinstance(x, np.ndarray):
        raise Refused("a rank of what is no matrix")
    return arithmetic.eliminated(x)[1] if v.is_exact(x) else int(np.linalg.matrix_rank(x, tol=1e-9))


FUNCTIONS = {
    "exp": _real(math.exp), "ln": _real(math.log), "log": _logarithm, "sin": _real(math.sin),
    "cos": _real(math.cos), "softplus": _entrywise(lambda x: float(np.logaddexp(0, x))),
    "silu": _entrywise(lambda x: x / (1 + math.exp(-x))),
    "max": lambda *xs: max(map(ordered, xs)), "min": lambda *xs: min(map(ordered, xs)),
    "det": _square(lambda x: arithmetic.eliminated(x)[0] if v.is_exact(x) else np.linalg.det(x)),
    "tr": _square(lambda x: np.trace(x)), "tril": _square(lambda x, k=0: np.tril(x, k)),
    "cond": _square(lambda x: float(np.linalg.cond(arithmetic.real(x)))),
    "diag": _diagonal_matrix, "rank": _rank,
}  # fmt: skip
