"""Five ways to invert I + A, for strictly lower triangular A, in any arithmetic.

The checks of chapter 8 run them exactly, its figures run them in float32. Only `+ - * @` and
slices are used, so an array may hold floats, polynomials or integers modulo 2^61 - 1.
"""

from itertools import chain, combinations

import numpy as np

from .modular import join
from .token_forms import solve


def ones_like(mask, A):
    """A 0/1 matrix in the arithmetic of `A`, so that float32 stays float32."""
    return mask.astype(A.dtype if isinstance(A, np.ndarray) else np.int64)


def identity(A):
    return ones_like(np.eye(len(A), dtype=np.int64), A) + 0 * A


def substitution(A):
    """Row by row (eq-forward-substitution, the rows of I on the right): C - 1 steps in turn."""
    return solve(A, identity(A))


def powers(A, terms=None):
    """`I - A + A^2 - ...`, C terms (eq-neumann): every power is formed."""
    inverse = term = identity(A)
    for _ in range(1, terms or len(A)):
        term = -(term @ A)
        inverse = inverse + term
    return inverse


def squarings(A, terms=None):
    """`(I - A)(I + A^2)(I + A^4) ...` (eq-neumann): the same sum in about log2 C steps."""
    inverse, power, reach = identity(A) - A, A @ A, 2
    while reach < (terms or len(A)):
        inverse = inverse + inverse @ power
        power, reach = power @ power, 2 * reach
    return inverse


def by_blocks(A, first=16, solved=substitution, sign=-1):
    """Diagonal blocks of `first` tokens by substitution, then joined in pairs (eq-inverse-blocks).

    The length is `first` times a power of two.
    """
    size, C = first, len(A)
    inverses = [solved(A[b : b + size, b : b + size]) for b in range(0, C, size)]
    while size < C:
        pairs = zip(inverses[::2], inverses[1::2], range(0, C, 2 * size), strict=True)
        inverses = [
            join_two(early, A[b + size : b + 2 * size, b : b + size], late, sign)
            for early, late, b in pairs
        ]
        size *= 2
    return inverses[0]


def join_two(early, coupling, late, sign=-1):
    """The inverse of a pair of blocks from the inverses of the two and what couples them."""
    corner = sign * (late @ coupling @ early)
    above = join([early, 0 * corner.T], np.concatenate, axis=1)
    below = join([corner, late], np.concatenate, axis=1)
    return join([above, below], np.concatenate)


def quarter(C, b):
    """`L_b`: in each diagonal block of size 2b, ones in its lower left b x b quarter."""
    row, column = np.indices((C, C))
    same_pair = row // (2 * b) == column // (2 * b)
    return same_pair & (row // b > column // b)


def one_doubling(X, A, b, sign=-1, selected=quarter):
    """`X_2b` from `X_b` (eq-inverse-doubling)."""
    return X + sign * (X @ (A * ones_like(selected(len(A), b), A)) @ X)


def doubling_stages(A, sign=-1, last=None, selected=quarter):
    """`X_1 = I, X_2, X_4, ..., X_C` (eq-inverse-doubling)."""
    stages, b = [identity(A)], 1
    while b <= (len(A) // 2 if last is None else last):
        stages.append(one_doubling(stages[-1], A, b, sign, selected))
        b *= 2
    return stages


def by_doubling(A):
    return doubling_stages(A)[-1]


WAYS = {
    "sum of powers": powers,
    "squarings": squarings,
    "substitution": substitution,
    "blocks of 16": by_blocks,
    "doubling": by_doubling,
}


def between(i, r):
    """Every way to choose tokens strictly between `i` and `r`, the shortest first."""
    inner = range(i + 1, r)
    return chain.from_iterable(combinations(inner, n) for n in range(len(inner) + 1))


def paths(i, r):
    """Every path from token `i` to a later token `r`: tuples of tokens, in order."""
    return [(i, *inner, r) for inner in between(i, r)] if i < r else [(r,)] * (i == r)


def weight(A, path):
    """The product of `-A[n, m]` over the steps m -> n of a path; 1 for a path without a step."""
    product = 1
    for m, n in zip(path, path[1:], strict=False):
        product = product * -A[n, m]
    return product
