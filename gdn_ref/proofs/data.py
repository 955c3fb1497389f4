"""Inputs on which mistakes show, and the error measure.

Easy data hides errors: with an empty initial state and one chunk, about half of the mistakes of
`ch11_mutants` pass (`ch11_survivors` counts them). So: a nonzero state, several chunks, decays
near .95 that vary, correlated keys (cosine about .5), write strengths over (0, 2), `d_k != d_v`.
"""

import numpy as np


def hard_inputs(T=50, d_k=12, d_v=7, batch=(), cosine=0.5, seed=0):
    """`q, k, v, g, beta, S` as float64 NumPy arrays.

    Shapes `[*batch, T, d]` for q, k, v; `[*batch, T]` for g, beta; `[*batch, d_v, d_k]` for S.
    Keys and queries have unit norm; any two keys have cosine `cosine` on average.
    """
    rng = np.random.default_rng(seed)
    q = unit(rng.normal(size=(*batch, T, d_k)))
    shared = unit(rng.normal(size=(*batch, 1, d_k)))
    own = unit(rng.normal(size=(*batch, T, d_k)))
    k = np.sqrt(cosine) * shared + np.sqrt(1 - cosine) * own
    k = unit(np.where(np.any(k, axis=-1, keepdims=True), k, shared))  # for d_k = 1 they may cancel
    v = rng.normal(size=(*batch, T, d_v))
    g = np.log(rng.uniform(0.9, 1.0, size=(*batch, T)))
    beta = rng.uniform(0.0, 2.0, size=(*batch, T))
    S = rng.normal(size=(*batch, d_v, d_k))
    return q, k, v, g, beta, S


def equal_cosine_keys(C, cosine):
    """C unit keys, as many as dimensions, any two at this cosine, 0 to 1; the basis at 0."""
    own = np.sqrt(1 - cosine)
    shared = (np.sqrt(1 - cosine + C * cosine) - own) / C
    return own * np.eye(C) + shared


def logs(alpha):
    """The logarithms of decays, which may be 0."""
    with np.errstate(divide="ignore"):
        return np.log(alpha)


def unit(x):
    """Scale each row to norm 1."""
    return x / np.linalg.norm(x, axis=-1, keepdims=True)


def relative_error(actual, expected):
    """`||actual - expected|| / ||expected||`, Frobenius over the whole array."""
    actual, expected = np.asarray(actual), np.asarray(expected)
    return float(np.linalg.norm(actual - expected) / np.linalg.norm(expected))


def worst(actual, expected):
    """The largest `relative_error` of several arrays, each against its own."""
    return max(relative_error(a, b) for a, b in zip(actual, expected, strict=True))
