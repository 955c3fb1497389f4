"""Chapter 1: what a cache and a state cost, in bytes and in multiplications."""

from itertools import product

import sympy as sp

from .. import linear_attention
from .counting import multiplications
from .registry import definition, verifies

definition(
    "eq-kv-cache-bytes",
    "The bytes of a cache of keys and values: tokens, layers, heads, entries, bytes per entry.",
)
definition(
    "eq-state-bytes",
    "The bytes of the states: layers, heads, entries, bytes per entry; no tokens.",
)
d_k, d_v = sp.symbols("d_k d_v", positive=True, integer=True)
layers, heads, width, width_state = sp.symbols("L H b b_S", positive=True)


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
    method="polynomial",
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
