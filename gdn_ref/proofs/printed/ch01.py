"""Chapter 1: attention as a memory, as it is printed."""

from fractions import Fraction
from functools import cache
from math import exp

import numpy as np

from ... import linear_attention
from ..ch01_cost import kept, softmax_read
from ..counting import multiplications
from .arithmetic import divided
from .cases import DEPENDENT, GENERIC, LONG, SINGLE, UNIT, case, on_the_sphere, sizes
from .check import printed, read
from .memory import from_nothing, inputs, linear, run, tokens
from .rule import eye, orthonormal, vars_of
from .values import Depends, Family, Refused, columns, entries
from .world import World

LOOP = "gdn_ref.linear_attention.step, token by token"
COUNT = {"arithmetic": "counted"}


def online(q, K, V):
    """A softmax read in one pass over the rows: what was summed is rescaled at each new maximum."""
    top, total, read = -np.inf, 0.0, 0 * V[0]
    for k, v in zip(K, V, strict=True):
        best = max(top, k @ q)
        old, new = exp(top - best), exp(k @ q - best)
        top, total, read = best, old * total + new, old * read + new * v
    return read / total


def softmax(draw):
    """Each read by the one-pass softmax; the weights are what it reads of unit values."""
    q, k, v, _ = inputs(draw)
    T = len(k)
    if case(draw) == SINGLE:
        q = -300 * k / (k @ k.T)  # a score far below zero
    outputs = np.array([online(q[t], k[: t + 1], v[: t + 1]) for t in range(T)])
    p = np.array([online(q[t], k[: t + 1], np.eye(T)[: t + 1]) for t in range(T)])
    world = tokens(vars_of(q=q, k=k, v=v, states=[], outputs=outputs))

    def weight(t, i):
        if i > t:
            raise Refused("no weight of a token that is still to come")
        return entries(p)[t, i]

    return World(world.letters | {"p_": Family(weight)}, ranges=world.ranges)


printed("eq-softmax-attention", softmax, against="one-pass softmax", arithmetic="float64")


WIDTHS = (  # of numbers: 1, 2, 4, 8, 16 bytes and, on most machines, 32
    np.int8, np.float16, np.float32, np.float64, np.complex128, np.clongdouble,
)  # fmt: skip
PACKED = np.int8  # of which one stands for each number of so many bytes


def in_bytes(draw):
    """The numbers that are kept, and how many bytes each of theirs counts for: NumPy's own, or
    numbers of any width that are packed, as those of 3 bytes or of half a byte."""
    if draw.rng.integers(3) == 0:
        return draw.one_of(*WIDTHS), 1
    return PACKED, *draw.widths(*draw.numbers(1, 1, 12))


@cache
def memories(draw):
    """Bytes of caches and states that a small model keeps after T tokens."""
    draw = draw.anew()
    T, L, H, d_k, d_v = draw.sizes(5, 2, 9)
    (kind, share), (wide, part) = (in_bytes(draw) for _ in range(2))
    cache_bytes, _ = kept(T, L, H, d_k, d_v, kind)
    _, state_bytes = kept(T, L, H, d_k, d_v, wide)
    row, _ = kept(1, L, H, d_k, d_v, kind)  # what the cache grows by, a token
    letters = {
        "T": T, "L": L, "H": H, "d_k": d_k, "d_v": d_v, "b": share * np.dtype(kind).itemsize,
        "b_S": part * np.dtype(wide).itemsize, "cache bytes": share * cache_bytes,
        "state bytes": part * state_bytes, r"T^\ast": divided(part * state_bytes, share * row),
    }  # fmt: skip
    return World(letters)


KEPT = "bytes of the arrays kept"
printed("eq-kv-cache-bytes eq-state-bytes", memories, against=KEPT, **COUNT)
printed("eq-cache-crossover", memories, against="bytes of states over those of a row", **COUNT)

read(
    "eq-feature-map",
    fingerprint="9039fdf1262c",
    against="ch01_attention_memory.no_finite_feature_map",
    why="It proposes an exchange and claims no equality; below it is proved that there is none.",
)


def powers(draw):
    """Any number in the place of e, and one to seven keys."""
    letters = {"e": draw.anew().number(2, 3)}
    return World(letters, ranges={"m": range(1, 8), "i": range(7), "j": range(7)})


VANDERMONDE = "determinants by elimination"
printed("eq-no-finite-feature-map", powers, against=VANDERMONDE, anything="e")

EMPTY = {"an empty memory at the start": linear}
printed("eq-linear-attention", from_nothing, against=LOOP, needs=EMPTY)
printed("eq-linear-attention-recurrence", linear, against=LOOP, defines=True)
ALL = r"\mathbf{Q} \mathbf{K} \mathbf{V}"
printed("eq-reordering", linear, against="both products multiplied out", anything=ALL)
printed("eq-linear-attention-state", lambda draw: linear(draw).from_zero("t"), against=LOOP)
printed("eq-linear-attention-parallel", linear, against=LOOP)


RECALLED = {
    GENERIC: (3, 4, 3), UNIT: (6, 7, 5), DEPENDENT: (3, 3, 4), LONG: (2, 4, 2), SINGLE: (1, 2, 3),
}  # fmt: skip


@cache
def recalled(draw):
    """Keys that are orthonormal, and keys that are so in part: the loop's last state for each.

    The others have length one but are not orthogonal, are orthogonal but longer, or have a Gram
    matrix of determinant 1, with ones on its diagonal, or of the trace of the identity.
    """
    T, d_k, d_v = RECALLED[case(draw)]
    _, k, v, S = inputs(draw, T, d_k, d_v)
    K = r"\mathbf{K}"
    letters = {
        r"\mathbf{S}_T": Depends(lambda at: run(k, at[K], v, 0 * S)[0][-1]),
        r"\boldsymbol{k}_": Family(lambda j: Depends(lambda at: columns(at[K])[j,])),
        r"\boldsymbol{v}_": columns(v),
    }
    keys = [orthonormal(draw.anew(1), d_k)[:T], k, *nearly(draw, T, d_k)]
    return World(letters, ranges={K: keys, "j": range(1, T + 1)})


def nearly(draw, T, d):
    """Keys that lack one thing to be orthonormal: a right angle, or a length."""
    basis, one = orthonormal(draw.anew(2), d)[:T], eye(draw, T)
    yield on_the_sphere(draw.array(T, d - 1))  # of length one
    yield basis * 2  # orthogonal
    if T > 1 and not draw.exact:
        mean = basis[:2].sum(0) / 2  # of length squared 1/2: with an overlap of 3/5, both of 4/5
        apart = (basis[0] - basis[1]) / 2
        pair = [1.4**0.5 * mean + sign * 0.2**0.5 * apart for sign in (1, -1)]
        yield np.array([*pair, *basis[2:]])  # of the Frobenius norm of the identity
    if T > 1:
        shared, shear, scale = one + 0, one + 0, one + 0
        shared[0, 0], shared[1, 0] = (one[0, 0] * Fraction(n, 5) for n in (3, 4))
        shared[1, 1] = 0 * one[0, 0]
        yield shared @ basis  # two along one direction: K K^T is its own square
        shear[1, 0] = shear[1, 0] + 2
        yield shear @ basis  # with a Gram matrix of determinant 1
        scale[0, 0], scale[1, 1] = 2 * one[0, 0], one[1, 1] / Fraction(2)
        yield scale @ basis  # the same, and orthogonal
        scale[0, 0], scale[1, 1] = one[0, 0] * Fraction(7, 5), one[1, 1] / Fraction(5)
        yield scale @ basis  # orthogonal; the squares of the lengths add up to their number


printed("eq-exact-recall", recalled, against=LOOP)


@cache
def reads(draw):
    """The products of one softmax read of t rows, and of one step, counted."""
    d_k, d_v = draw.anew().sizes(2, 2, 9)
    letters = {
        "d_k": d_k, "d_v": d_v,
        r"n_\text{cache}": lambda t: multiplications(softmax_read, (d_k,), (t, d_k), (t, d_v)),
        r"n_\text{state}": multiplications(
            linear_attention.step, (d_v, d_k), (d_k,), (d_k,), (d_v,)
        ),
    }  # fmt: skip
    return World(letters, ranges={"t": range(1, 8)})


printed("eq-multiplications-per-token", reads, against="counted products of the code", **COUNT)


@cache
def normalised(draw):
    """Means of the cached values, weighted by their scores, and sums of the cached keys."""
    q, k, v, S = inputs(draw, *sizes(draw))  # no query is orthogonal to a sum of keys
    T = len(k)
    scores = [k[: t + 1] @ q[t] for t in range(T)]
    means = [w @ v[: t + 1] / w.sum() for t, w in enumerate(scores)]
    states, _ = run(q, k, v, 0 * S)
    world = tokens(vars_of(q=q, k=k, v=v, states=states, outputs=np.array(means)))
    z = [k[:t].sum(0) if t else 0 * k[0] for t in range(T + 1)]
    return World(world.letters | {r"\boldsymbol{z}_": columns(z, 0)}, ranges=world.ranges)


DIVIDED = {
    r"\boldsymbol{z}_{t}^{\top}\boldsymbol{q}_{t}": "the text: the sum of the weights is no zero"
}
printed(
    "eq-normalised-linear-attention",
    normalised,
    against="the weighted mean of cached values",
    no_value=DIVIDED,
)
