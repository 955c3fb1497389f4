r"""The cases that the draws of a world have together.

One draw is as general as it can be: any sizes, keys of any length that are correlated. In the
others sizes differ, keys have length one or depend on one another, strengths are 0, 1 and 2, a
query is orthogonal to some keys, and one draw has a single token. In the long one A^16 is not zero:
a few powers of A do not make up the inverse of I + A; a key comes twice there, and a value.
"""

import numpy as np

from .arithmetic import inverse
from .draws import EQUAL_SIZES
from .values import Refused

GENERIC, UNIT, DEPENDENT, LONG, SINGLE = range(5)
DRAWN = {  # which of them is a draw, by its arithmetic and its number
    (False, 0): GENERIC, (False, 1): UNIT, (False, 2): SINGLE,
    (True, 0): DEPENDENT, (True, 1): LONG, (True, 2): SINGLE,
}  # fmt: skip
SIZES = {
    GENERIC: (6, 4, 3), UNIT: (7, 5, 8), DEPENDENT: (5, 3, 4), LONG: (19, 4, 2), SINGLE: (1, 2, 3),
}  # fmt: skip
FEW = 8
TAKE_FEW = {  # labels that take the first tokens of a draw, so many at most: why
    "eq-inverse-paths": "each path is written out; from the first of 19 to the last lead 2^17",
    "eq-family-join": "it is asked of every three tokens, and has no power of a matrix",
    "eq-family-split": "it is asked of every three tokens, and has no power of a matrix",
}

# Properties of test data that hide mistakes (`slips` says which): a draw may have one of them.
EMPTY, STILL, ORTHONORMAL = "an empty state", "no decay", "orthonormal keys"
ONES, ONE_TOKEN, ONE_CHUNK = "write strengths of 1", "one token", "one chunk"
EASY = (EMPTY, STILL, ORTHONORMAL, ONES, ONE_TOKEN, ONE_CHUNK, EQUAL_SIZES)
# keys, values and states, of another rank each, and queries of zero; only the first two tokens have
# a strength, and their values are parallel
LOW = "low ranks"
# where an equation has to hold, too, and to have a value
BORDERS = (EQUAL_SIZES, STILL, ONES, ONE_CHUNK, LOW)
ONE_DIMENSION = "keys of one dimension"  # a border where numbers have an order
RESET = "a decay of 0"  # one token in the middle drops everything
EXACT = {0: RESET, 2: EMPTY}  # borders of exact draws, where zeros have no rounding errors
HADAMARD = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2


def case(draw):
    """The kind of a draw; more of them, asked for other sizes, are as general as the first."""
    return DRAWN.get((draw.exact, draw.seed % 1000), GENERIC)


def beyond(draw):
    """From 1 to 4 in turn for a draw beyond the usual ones, by how much it is larger; else 0."""
    return (draw.seed % 1000 - 3) % 4 + 1 if draw.seed % 1000 > 2 else 0


def sizes(draw):
    """Tokens, d_k and d_v of a draw; no linear relation between them holds in all draws."""
    (T, d_k, d_v), more = (7, 5, 6) if draw.easy == LOW else SIZES[case(draw)], beyond(draw)
    if draw.easy == ORTHONORMAL:
        T, d_v = min(T, 4), 2  # fewer keys than dimensions, and no two sizes equal
    T = 1 if draw.easy == ONE_TOKEN else T + 2 * more
    d_k, d_v = (1 if draw.easy == ONE_DIMENSION else d_k) + more, d_v + 2 * more
    return T, d_k, d_k if draw.easy == EQUAL_SIZES else d_v


def few(*rows):
    """The first tokens of these rows, for `TAKE_FEW`."""
    return [x[:FEW] for x in rows]


def of_rank(draw, rank, x):
    """These rows; for a draw of low ranks as many others, of this rank at most."""
    return draw.array(len(x), rank) @ draw.array(rank, x.shape[1]) if draw.easy == LOW else x


def keys(draw, T, d_k):
    """The keys of a draw."""
    k = draw.array(T, d_k)
    if draw.easy == LOW:
        return of_rank(draw, 4, k)
    if draw.easy == ORTHONORMAL:
        return orthonormal(k)
    if case(draw) == DEPENDENT:
        return k[:, :2] @ draw.array(2, d_k)  # of rank 2, fewer than tokens and dimensions
    if case(draw) == LONG:
        k[2:4] = on_the_sphere(draw.array(2, d_k - 1))
        k[6:7] = k[4:5]
    if draw.exact:
        return k
    k = k + draw.array(1, d_k)
    unit = case(draw) == UNIT or draw.easy == ONE_DIMENSION
    return k / np.linalg.norm(k, axis=1, keepdims=True) if unit else k


def orthonormal(k):
    """As many orthonormal keys, whose products have no rounding errors."""
    if len(k) > 4 or k.shape[1] < 4:
        raise Refused(f"no {len(k)} orthonormal keys at hand in {k.shape[1]} dimensions")
    return np.pad(HADAMARD[: len(k)], ((0, 0), (0, k.shape[1] - 4)))


def values(draw, T, d_v):
    """The values of a draw; in the long one two tokens, whose keys differ, have one value, and one
    has a value of zero."""
    v = draw.array(T, d_v)
    if case(draw) == LONG and T > FEW:
        v[7], v[9] = v[5], 0 * v[9]
    return parallel(draw, of_rank(draw, 3, v))


def parallel(draw, v):
    """These values; for a draw of low ranks the first two are parallel."""
    if draw.easy == LOW:
        v[1:2] = 2 * v[:1]
    return v


def state(draw, d_v, d_k):
    """A state before the first token."""
    S = draw.array(d_v, d_k)
    return 0 * S if draw.easy == EMPTY else of_rank(draw, 2, S)


def queries(draw, k):
    """Queries for these keys, as many: but for the general draw the last is orthogonal to the
    first key and to no other, and where keys are dependent, one before it to all of them."""
    q = draw.array(*k.shape)
    if len(k) > 1 and case(draw) != GENERIC:
        q[-1] = q[-1] - (q[-1] @ k[0]) / (k[0] @ k[0]) * k[0]
    if case(draw) == DEPENDENT:
        q[1] = across(draw, k[:2])[:, 0]
    return 0 * q if draw.easy == LOW else q


def on_the_sphere(x):
    """A unit vector for each row of x, from its stereographic picture: exact in any field."""
    square = (x * x).sum(-1, keepdims=True)
    return np.concatenate([2 * x, square - 1], -1) / (square + 1)


def across(draw, rows):
    """A vector, as a column, that is orthogonal to these independent rows."""
    y = draw.array(rows.shape[1], 1)
    return y - rows.T @ (inverse(rows @ rows.T) @ (rows @ y))


def strengths(draw, T):
    """Write strengths: 0, 1 and 2 are among them where arithmetic is exact, 2 for a unit key.

    Elsewhere a strength of 0, or of 1 for a unit key, leaves rounding errors on both sides.
    """
    beta = draw.between(0.1, 1.9, T)
    chosen = {UNIT: {0: 2}, DEPENDENT: {0: 1, 1: 0, 2: 2}, LONG: {1: 0, 2: 1, 3: 2, 5: 1}}
    for t, strength in chosen.get(case(draw), {}).items():
        beta[t : t + 1] = beta[t : t + 1] * 0 + strength
    return two_write(draw, ones_if(draw, ONES, beta))


def two_write(draw, beta):
    """These strengths; for a draw of low ranks those of the first two tokens, and zeros."""
    if draw.easy == LOW:
        beta[2:] = 0 * beta[2:]
    return beta


def strength(draw):
    """Any number for a strength; for a draw of low ranks zero, beside a decay of 0 one."""
    beta = ones_if(draw, RESET, draw.number())
    return 0 * beta if draw.easy == LOW else beta


def decays(draw, T):
    """Decays below 1, one of which leaves hardly anything, and in two draws one token that does not
    decay."""
    alpha = hardly_kept(draw, draw.between(0.05, 0.95, T))
    if case(draw) in (UNIT, DEPENDENT):
        alpha[2:3] = alpha[2:3] * 0 + 1
    return with_reset(draw, ones_if(draw, STILL, alpha))


def decay(draw, low=0.5, high=0.95):
    """One decay."""
    return hardly_kept(draw, draw.between(low, high, 1), 0)[0]


def hardly_kept(draw, alpha, t=4):
    """These decays; in one draw one token leaves a thousandth or so. Residues have no order."""
    if not draw.exact and draw.seed % 1000 % 3 == 1:
        alpha[t : t + 1] = alpha[t : t + 1] / 500
    return alpha


def with_reset(draw, alpha):
    """These decays; for a draw of this property that of the token in the middle is 0."""
    if draw.easy == RESET:
        alpha[len(alpha) // 2] = 0 * alpha[0]
    return alpha


def ones_if(draw, easy, x):
    """Ones in the place of these numbers, for a draw of this property."""
    return x * 0 + 1 if draw.easy == easy else x
