"""Exact numbers and derivatives: residues modulo 2^61 - 1, and dual numbers over any field."""

import operator

import numpy as np

from ..modular import P
from .values import NotExact, Refused


def _with_a_number(operation):
    """An operator of a residue with a residue, or with another number that is exact."""

    def apply(self, other):
        if type(other) is Residue:
            return Residue(operation(self.n, other.n))
        return Residue(operation(self.n, _number(other))) if _mine(other) else NotImplemented

    return apply


class Residue:
    """An integer modulo the prime p = 2^61 - 1."""

    __slots__ = ("n",)

    def __init__(self, n):
        self.n = n % P

    __add__ = __radd__ = _with_a_number(operator.add)
    __mul__ = __rmul__ = _with_a_number(operator.mul)
    __sub__ = _with_a_number(operator.sub)

    def __rsub__(self, other):
        return Residue(_number(other) - self.n)

    def __truediv__(self, other):
        if not _mine(other):
            return NotImplemented
        if _number(other) % P == 0:
            raise Refused("a division by zero")
        return Residue(self.n * pow(_number(other), -1, P))

    def __rtruediv__(self, other):
        return Residue(_number(other)) / self

    def __pow__(self, exponent):
        return Residue(pow(self.n, operator.index(exponent), P))

    def __neg__(self):
        return Residue(-self.n)

    def __eq__(self, other):
        return (self.n - _number(other)) % P == 0 if _mine(other) else NotImplemented

    def __hash__(self):
        return hash(self.n)

    def __repr__(self):
        return f"Residue({self.n})"


def _mine(other):
    return not isinstance(other, Dual | np.ndarray)


def _number(x):
    if isinstance(x, Residue):
        return x.n
    if hasattr(x, "denominator") and x.denominator != 1:
        return x.numerator * pow(x.denominator, -1, P)
    try:
        return operator.index(getattr(x, "numerator", x))
    except TypeError:
        raise NotExact(f"{type(x).__name__} in exact arithmetic") from None


def _entry_by_entry(operation):
    """An operator of a dual number with a number; beside an array NumPy goes entry by entry."""

    def apply(self, other):
        if isinstance(other, np.ndarray):
            return NotImplemented
        return operation(self, other if isinstance(other, Dual) else Dual(other))

    return apply


class Dual:
    """`value + change e` with `e^2 = 0`: arithmetic on it differentiates, exactly."""

    __slots__ = ("change", "value")

    def __init__(self, value, change=0):
        self.value, self.change = value, change

    @_entry_by_entry
    def __add__(self, other):
        return Dual(self.value + other.value, self.change + other.change)

    @_entry_by_entry
    def __sub__(self, other):
        return Dual(self.value - other.value, self.change - other.change)

    @_entry_by_entry
    def __rsub__(self, other):
        return other - self

    @_entry_by_entry
    def __mul__(self, other):
        return Dual(self.value * other.value, self.value * other.change + self.change * other.value)

    @_entry_by_entry
    def __truediv__(self, other):
        ratio = self.value / other.value
        return Dual(ratio, (self.change - ratio * other.change) / other.value)

    @_entry_by_entry
    def __rtruediv__(self, other):
        return other / self

    def __neg__(self):
        return Dual(-self.value, -self.change)

    __radd__, __rmul__ = __add__, __mul__
