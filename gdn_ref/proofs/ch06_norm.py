"""Checks of chapter 6: what a transition does to lengths, and the norm of a normalised key."""

import numpy as np
from sympy import expand, sqrt, symbols

from . import verifies
from .ch06_householder import KEY, F, P, alpha, beta, d, k, kT, lam, n, y
from .data import relative_error
from .words import reduce

x, xT = symbols("x x^T", commutative=False)


@verifies(
    "eq-transition-length",
    method="algebra",
    covers="every d, every key",
    mutants={
        "once for twice": {"lost": beta * (1 - beta * n)},
        "norm forgotten": {"lost": beta * (2 - beta)},
    },
)
def length(lost=beta * (2 - beta * n)):
    """||P x||^2 = ||x||^2 - beta (2 - beta ||k||^2) (k^T x)^2."""
    c, m = symbols("c m")  # k^T x and ||x||^2
    return reduce(xT * P * P * x, KEY | {kT * x: c, xT * k: c, xT * x: m}) - expand(m - lost * c**2)


@verifies(
    "eq-transition-norm",
    method="algebra",
    covers="every d >= 2, every key",
    mutants={
        "sign kept, not squared": {"along": alpha**2 * (1 - beta * n)},
        "not decayed": {"across": 1},
    },
)
def squared_singular_values(along=lam**2, across=alpha**2):
    """F^T F is a transition too; its eigenvalues are the squares of F's, so F's norm follows."""
    square = F * F  # F is symmetric
    apart = [reduce(square * y - across * y, KEY), reduce(square * k - along * k, KEY)]
    return [*apart, reduce((square - across) * (square - along), KEY)]


@verifies(
    "eq-transition-norm",
    method="float64",
    covers="200 transitions, against the SVD",
    mutants={
        "no absolute value": {"gain": lambda share: max(1.0, 1 - share)},
        "the key's direction only": {"gain": lambda share: abs(1 - share)},
        "never above 1": {"gain": lambda share: 1.0},
    },
)
def norm(gain=lambda share: max(1.0, abs(1 - share))):
    """The largest singular value of F is alpha max(1, |1 - beta ||k||^2|)."""
    rng = np.random.default_rng(6)
    found, claimed = [], []
    for _ in range(200):
        key = rng.normal(size=rng.integers(2, 10))
        share, decay = rng.uniform(0, 5), rng.uniform(0.5, 1)  # share is beta ||k||^2
        transition = np.eye(len(key)) - share * np.outer(key, key) / (key @ key)
        found.append(np.linalg.norm(decay * transition, ord=2))
        claimed.append(decay * gain(share))
    return relative_error(claimed, found)


@verifies(
    "eq-key-norm",
    method="algebra",
    covers="every d, vector and epsilon",
    mutants={
        "epsilon on the mean": {"norm2": lambda m, eps, size: m / (m + size * eps)},
        "epsilon beside the root": {"norm2": lambda m, eps, size: m / (sqrt(m) + eps) ** 2},
    },
)
def key_norm(norm2=lambda m, eps, size: m / (m + eps)):
    """The squared norm of x / sqrt(||x||^2 + eps), in m = ||x||^2."""
    m, eps = symbols("m epsilon", positive=True)
    scaled = (xT / sqrt(m + eps)) * (x / sqrt(m + eps))
    return reduce(scaled, {xT * x: m}) - norm2(m, eps, d)
