"""Chapter 1: what a cache and a state cost, in bytes and in multiplications."""

from itertools import product

import numpy as np
import sympy as sp

from .. import linear_attention
from .counting import multiplications
from .page import side
from .registry import verifies

T, L, H, t, d_k, d_v, b, b_S = sp.symbols("T L H t d_k d_v b b_S", positive=True)
CACHE = side("eq-kv-cache-bytes", otherwise=T * L * H * (d_k + d_v) * b)
STATES = side("eq-state-bytes", otherwise=L * H * d_k * d_v * b_S)
AS_LONG = side("eq-cache-crossover", otherwise=d_k * d_v / (d_k + d_v) * b_S / b)
READ = side("eq-multiplications-per-token", otherwise=t * (d_k + d_v))
STEP = side("eq-multiplications-per-token", r"n_\text{state}", otherwise=2 * d_k * d_v)


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


def sizes(width, T_, L_, H_, keys, values, kind):
    """The letters of a model; `width` is that of its numbers."""
    return {T: T_, L: L_, H: H_, d_k: keys, d_v: values, width: np.dtype(kind).itemsize}


@verifies(
    "eq-kv-cache-bytes",
    method="enumeration",
    covers="counted, arrays of 48 small models after 1 and 5 tokens, 2 to 8 bytes a number",
    mutants={
        "keys only": {"claim": CACHE.subs(d_v, 0)},
        "one head": {"claim": CACHE / H},
        "as large as a state": {"claim": STATES.subs(b_S, b)},
    },
)
def cache_is_counted(claim=CACHE):
    """Keys and values are kept token by token; the bytes of all arrays, less the formula."""
    return [kept(*x)[0] - claim.subs(sizes(b, *x)) for x in MODELS]


@verifies(
    "eq-state-bytes",
    method="enumeration",
    covers="counted, arrays of 48 small models after 1 and 5 tokens, 2 to 8 bytes a number",
    mutants={
        "a vector": {"claim": L * H * (d_k + d_v) * b_S},
        "one head": {"claim": STATES / H},
        "square heads assumed": {"claim": STATES.subs(d_v, d_k)},
    },
)
def states_are_counted(claim=STATES):
    """The package's step makes the states; their bytes depend on no number of tokens."""
    return [kept(*x)[1] - claim.subs(sizes(b_S, *x)) for x in MODELS]


@verifies(
    "eq-cache-crossover",
    method="algebra",
    covers="every size",
    mutants={
        "only the keys cached": {"at": d_v * b_S / b},
        "same bytes per entry": {"at": AS_LONG.subs(b_S, b)},
        "bytes the other way round": {"at": AS_LONG * b**2 / b_S**2},
        "a mean for a harmonic mean": {"at": (d_k + d_v) / 2 * b_S / b},
    },
)
def cache_crossover(at=AS_LONG):
    """At the crossover length the cache and the states have the same bytes."""
    return CACHE.subs(T, at) - STATES


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
        "scores only": {"softmax": READ.subs(d_v, 0)},
        "one query over the whole sequence": {"softmax": READ.subs(t, 7)},
        "write without read": {"linear": STEP / 2},
        "a state that is a vector": {"linear": d_k + d_v},
    },
)
def multiplications_per_token(softmax=READ, linear=STEP):
    """Counted while the code runs on numbers that count."""
    residuals = []
    for tokens, m, n in product(range(1, 7), range(1, 5), range(1, 5)):
        dense = multiplications(softmax_read, (m,), (tokens, m), (tokens, n))
        step = multiplications(linear_attention.step, (n, m), (m,), (m,), (n,))
        at = {t: tokens, d_k: m, d_v: n}
        residuals += [dense - softmax.subs(at), step - linear.subs(at)]
    return residuals
