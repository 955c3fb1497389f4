"""Exact arithmetic modulo the prime p = 2^61 - 1, fast enough for chunks of real size.

`Mod` is an array of integers modulo p with the operators of a NumPy array (`+ - * @ .T`, slices),
so one formula runs in float64, on polynomials (object arrays) and modulo p.

Why it proves something: an identity between polynomials with integer coefficients also holds
modulo p, for every choice of the variables. If two sides differ as polynomials modulo p, and
their difference has degree D, then at a uniformly random point they agree with probability at
most D / p (Schwartz, Zippel). p is about 2.3e18.

A product splits each factor in three limbs of 21 bits. The product of two limbs has 42 bits, and
a sum of 3 * 512 of them still fits the 53 bits of a float64, so BLAS multiplies exactly.
2^61 = 1 modulo p, so a shift by s bits is a rotation of 61 bits.
"""

import numpy as np

BITS = 61
P = 2**BITS - 1
LIMB = 21
LONGEST_SUM = 512  # terms of a matrix product that stay exact
ROWS_AT_ONCE = 16

_LIMB_MASK = 2**LIMB - 1


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
        return Mod(_exact(self.residues, _coerce(other).residues, np.multiply))

    def __matmul__(self, other):
        assert self.shape[-1] <= LONGEST_SUM
        return Mod(_exact(self.residues, _coerce(other).residues, _matmul))

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


def _exact(a, b, product):
    limbs_a, limbs_b = _limbs(a), _limbs(b)
    total = np.uint64(0)
    for place in range(2 * len(limbs_a) - 1):
        pairs = [
            product(limbs_a[i], limbs_b[place - i])
            for i in range(len(limbs_a))
            if 0 <= place - i < len(limbs_b)
        ]
        total = total + _rotate(sum(pairs).astype(np.uint64), place * LIMB)
    return total % P


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
    return [((x >> np.uint64(LIMB * i)) & _LIMB_MASK).astype(np.float64) for i in range(3)]


def _rotate(x, s):
    """`x 2^s` modulo p for x below 2^61, not fully reduced (at most p)."""
    s %= BITS
    return ((x << np.uint64(s)) & P) | (x >> np.uint64(BITS - s))
