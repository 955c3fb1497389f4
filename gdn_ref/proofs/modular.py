"""Exact arithmetic modulo the prime p = 2^61 - 1, fast enough for chunks of real size.

`Mod` is an array of integers modulo p with the operators of a NumPy array (`+ - * @ .T`, slices),
so one formula runs in float64, on polynomials (object arrays) and modulo p.

Why it proves something: an identity between polynomials with integer coefficients also holds
modulo p, for every choice of the variables. If two sides differ as polynomials modulo p, and
their difference has degree D, then at a uniformly random point they agree with probability at
most D / p (Schwartz, Zippel). p is about 2.3e18.

A product of two numbers splits each in halves of 31 and 30 bits, whose products fit 64 bits. A
product of matrices splits each in three limbs of 21 bits. The product of two limbs has 42 bits, and
a sum of 3 * 512 of them still fits the 53 bits of a float64, so BLAS multiplies exactly.
2^61 = 1 modulo p, so a shift by s bits is a rotation of 61 bits.
"""

import numpy as np

BITS = 61
P = 2**BITS - 1
HALF = 31
LIMB = 21
LONGEST_SUM = 512  # terms of a matrix product that stay exact
ROWS_AT_ONCE = 16

_LIMB_MASK = 2**LIMB - 1
_LIMBS = [LIMB * i for i in range(3)]  # where each begins
_PLACES = [LIMB * i % BITS for i in range(5)]


class Mod:
    """An array of integers modulo p."""

    __array_ufunc__ = None  # a NumPy array on the left leaves the operator to this class

    def __init__(self, residues):
        self.residues = residues  # uint64, each below p

    shape = property(lambda self: self.residues.shape)
    dtype = property(lambda self: self.residues.dtype)
    T = property(lambda self: Mod(self.residues.T))

    def __len__(self):
        return len(self.residues)

    def __getitem__(self, index):
        return Mod(self.residues[index])

    def __add__(self, other):
        return Mod((self.residues + _coerce(other).residues) % P)

    def __neg__(self):
        return Mod((P - self.residues) % P)

    def __sub__(self, other):
        return self + (-_coerce(other))

    def __mul__(self, other):
        return Mod(_times(self.residues, _coerce(other).residues))

    def __matmul__(self, other):
        assert self.shape[-1] <= LONGEST_SUM
        return Mod(_summed(self.residues, _coerce(other).residues))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rmatmul__(self, other):
        return _coerce(other) @ self

    def __rsub__(self, other):
        return (-self) + other

    def __ne__(self, other):
        return self.residues != _coerce(other).residues


def random(rng, *shape):
    """Uniformly random elements."""
    return Mod(rng.integers(0, P, size=shape, dtype=np.uint64))


def reciprocal(x):
    """Elementwise `1 / x`: by Fermat, `x^(p-2)`, modulo p, and a division in float64."""
    if not isinstance(x, Mod):
        return 1 / x
    inverses = [pow(int(r), P - 2, P) for r in x.residues.ravel()]
    return Mod(np.array(inverses, dtype=np.uint64).reshape(x.shape))


def join(parts, joiner=np.stack, axis=0):
    """`np.stack` (or `np.concatenate`) for either kind of array."""
    if isinstance(parts[0], Mod):
        return Mod(joiner([part.residues for part in parts], axis=axis))
    return joiner(parts, axis=axis)


def _coerce(x):
    if isinstance(x, Mod):
        return x
    return Mod(np.asarray(np.asarray(x) % P, dtype=np.uint64))


def _times(a, b):
    """`a b` entry by entry: 2^62 hh + 2^31 mid + ll, where 2^61 = 1 and mid = 2^30 high + low."""
    a_high, a_low = a >> HALF, a & (2**HALF - 1)
    b_high, b_low = b >> HALF, b & (2**HALF - 1)
    mid = a_high * b_low + a_low * b_high
    high, low = mid >> (BITS - HALF), mid & (2 ** (BITS - HALF) - 1)
    return (2 * (a_high * b_high) + high + (low << HALF) + a_low * b_low) % P


def _summed(a, b):
    """`a @ b`."""
    (a0, a1, a2), (b0, b1, b2) = _limbs(a), _limbs(b)
    places = [
        _matmul(a0, b0),
        _matmul(a0, b1) + _matmul(a1, b0),
        _matmul(a0, b2) + _matmul(a1, b1) + _matmul(a2, b0),
        _matmul(a1, b2) + _matmul(a2, b1),
        _matmul(a2, b2),
    ]
    return _rotated(np.array(places).astype(np.uint64), _PLACES).sum(axis=0) % P


def _matmul(a, b):
    """`a @ b` by blocks of rows, each too small for BLAS to start threads.

    On products of this size threads only wait for each other, and far longer than they work.
    """
    if a.shape[0] % ROWS_AT_ONCE:
        return a @ b
    blocks = a.reshape(-1, ROWS_AT_ONCE, a.shape[1]) @ b
    return blocks.reshape(a.shape[0], *b.shape[1:])


def _limbs(x):
    """Three float64 arrays: the low, middle and high 21 bits."""
    return ((x >> _along(_LIMBS, x)) & _LIMB_MASK).astype(np.float64)


def _rotated(x, s):
    """`x 2^s` modulo p for x below 2^61, each with its s, not fully reduced (at most p)."""
    s = _along(s, x[0])
    return ((x << s) & P) | (x >> (BITS - s))


def _along(shifts, x):
    """The shifts on an axis ahead of those of x."""
    return np.array(shifts, dtype=np.uint64).reshape(-1, *(1,) * x.ndim)
