"""Chapter 1: what a cache and a state cost, in bytes and in multiplications."""

from itertools import product

import numpy as np
import sympy as sp

from .. import linear_attention
from .counting import multiplications
from .registry import verifies

d_k, d_v = sp.symbols("d_k d_v", positive=True, integer=True)
layers, heads, width, width_state = sp.symbols("L H b b_S", positive=True)


def kept(T, L, H, d_k, d_v, kind):
    """Bytes of the caches of a model, and of its states, after `T` tokens have been decoded."""
    ones = np.ones
    caches = [[ones((0, d_k), kind), ones((0, d_v), kind)] for _ in range(L * H)]
    states = [ones((d_v, d_k), kind) for _ in range(L * H)]
    for _ in range(T):
        for head, (K, V) in enumerate(caches):
            q, k, v = ones(d_k, kind), ones(d_k, kind), ones(d_v, kind)
            caches[head] = [np.vstack([K, k]), np.vstack([V, v])]
            _, states[head] = linear_attention.step(states[head], q, k, v)
    return sum(x.nbytes for pair in caches for x in pair), sum(S.nbytes for S in states)


MODELS = list(product((1, 5), (1, 3), (1, 2), (2, 3), (1, 4), (np.float16, np.float32, np.float64)))


@verifies(
    "eq-kv-cache-bytes",
    method="enumeration",
    covers="counted, arrays of 48 small models after 1 and 5 tokens, 2 to 8 bytes a number",
    mutants={
        "keys only": {"claim": lambda T, L, H, d_k, d_v, b: T * L * H * d_k * b},
        "one head": {"claim": lambda T, L, H, d_k, d_v, b: T * L * (d_k + d_v) * b},
        "as large as a state": {"claim": lambda T, L, H, d_k, d_v, b: L * H * d_k * d_v * b},
    },
)
def cache_is_counted(claim=lambda T, L, H, d_k, d_v, b: T * L * H * (d_k + d_v) * b):
    """Keys and values are kept token by token; the bytes of all arrays, less the formula."""
    return [kept(*x, kind)[0] - claim(*x, np.dtype(kind).itemsize) for *x, kind in MODELS]


@verifies(
    "eq-state-bytes",
    method="enumeration",
    covers="counted, arrays of 48 small models after 1 and 5 tokens, 2 to 8 bytes a number",
    mutants={
        "a vector": {"claim": lambda L, H, d_k, d_v, b: L * H * (d_k + d_v) * b},
        "one head": {"claim": lambda L, H, d_k, d_v, b: L * d_k * d_v * b},
        "square heads assumed": {"claim": lambda L, H, d_k, d_v, b: L * H * d_k**2 * b},
    },
)
def states_are_counted(claim=lambda L, H, d_k, d_v, b: L * H * d_k * d_v * b):
    """The package's step makes the states; their bytes depend on no number of tokens."""
    return [kept(*x, kind)[1] - claim(*x[1:], np.dtype(kind).itemsize) for *x, kind in MODELS]


@verifies(
    "eq-cache-crossover",
    method="algebra",
    covers="every size",
    mutants={
        "only the keys cached": {"cached": d_k},
        "same bytes per entry": {"ratio": sp.Integer(1)},
        "bytes the other way round": {"ratio": width / width_state},
        "a mean for a harmonic mean": {"size": (d_k + d_v) / 2},
    },
)
def cache_crossover(cached=d_k + d_v, ratio=width_state / width, size=d_k * d_v / (d_k + d_v)):
    """At the crossover length the cache and the states have the same bytes."""
    crossover = size * ratio
    cache = crossover * layers * heads * cached * width
    return sp.simplify(cache - layers * heads * d_k * d_v * width_state)


def softmax_read(q, K, V):
    """The products of one softmax read: t scores, then t weighted values. The exponentials and
    the division, t of each, are left out."""
    scores = K @ q
    return scores @ V


@verifies(
    "eq-multiplications-per-token",
    method="enumeration",
    covers="counted, t to 6, d_k, d_v to 4",
    mutants={
        "scores only": {"softmax": lambda t, m, n: t * m},
        "one query over the whole sequence": {"softmax": lambda t, m, n: 7 * (m + n)},
        "write without read": {"linear": lambda m, n: m * n},
        "a state that is a vector": {"linear": lambda m, n: m + n},
    },
)
def multiplications_per_token(softmax=lambda t, m, n: t * (m + n), linear=lambda m, n: 2 * m * n):
    """Counted while the code runs on numbers that count."""
    residuals = []
    for tokens, m, n in product(range(1, 7), range(1, 5), range(1, 5)):
        dense = multiplications(softmax_read, (m,), (tokens, m), (tokens, n))
        step = multiplications(linear_attention.step, (n, m), (m,), (m,), (n,))
        residuals += [dense - softmax(tokens, m, n), step - linear(m, n)]
    return residuals
