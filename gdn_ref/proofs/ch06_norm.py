"""Checks of chapter 6: what a transition does to lengths, and the norm of a normalised key."""

import numpy as np
from sympy import Abs, Max, expand, sqrt, symbols

from . import verifies
from .ch06_householder import KEY, PAGE, F, P, alpha, beta, d, k, kT, lam, n, y
from .data import relative_error
from .page import on_page
from .words import reduce

x, xT = symbols("x x^T", commutative=False)
FADES = symbols("alpha", nonnegative=True)


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
    on_page(
        "eq-transition-length",
        m - lost * c**2,
        letters=PAGE | {c: r"\boldsymbol{k}^\top\boldsymbol{x}", m: r"\|\boldsymbol{x}\|^2"},
    )
    return reduce(xT * P * P * x, KEY | {kT * x: c, xT * k: c, xT * x: m}) - expand(m - lost * c**2)


@verifies(
    "eq-transition-norm",
    method="algebra",
    covers="every d >= 2, every key",
    part="the two squared gains: of vectors along the key, and of those orthogonal to it",
    mutants={
        "sign kept, not squared": {"along": alpha**2 * (1 - beta * n)},
        "not decayed": {"across": 1},
    },
)
def squared_singular_values(along=lam**2, across=alpha**2):
    """F^T F = F^2 has these two eigenvalues and no other: the squares of F's."""
    square = F * F  # F is symmetric
    apart = [reduce(square * y - across * y, KEY), reduce(square * k - along * k, KEY)]
    on_page("eq-transition-norm", sqrt(Max(along, across)), letters=PAGE)
    return [*apart, reduce((square - across) * (square - along), KEY)]


@verifies(
    "eq-transition-norm",
    method="algebra",
    covers="every d >= 2, every key, every beta, alpha >= 0",
    part="the norm is the larger of the two gains",
    mutants={
        "the sum of the gains": {"larger": lambda across, along: across + along},
        "the key's direction only": {"larger": lambda across, along: along},
        "no absolute value": {"along_key": 1 - beta * n},
    },
    inputs={"alpha of either sign": {"decay": symbols("alpha", real=True)}},
)
def larger_gain(larger=Max, along_key=None, decay=FADES):
    """||F x||^2 is a mean of the two squared gains, weighed by how much of x lies along the key.

    So it is at most the larger one, and a vector with all its weight there attains it. For
    alpha >= 0 the root of that is the printed formula; gain is 1 - beta ||k||^2.
    """
    c, m, share = symbols("c m share")  # k^T x, ||x||^2 and c^2 / (n m), which is between 0 and 1
    squared = reduce(xT * F * F * x, KEY | {kT * x: c, xT * k: c, xT * x: m})
    weighed = m * ((1 - share) * alpha**2 + share * lam**2)
    mean = expand((squared - weighed).subs(share, c**2 / (n * m)))
    residual = [mean]
    gap = symbols("gap", nonnegative=True)
    for gain in (1 + gap, gap / (1 + gap), -(1 + gap), -gap / (1 + gap)):  # all real numbers
        across, along = decay**2, decay**2 * gain**2
        claim = decay * larger(1, Abs(gain) if along_key is None else gain)
        residual.append((sqrt(larger_of(across, along)) - claim).simplify())
    gain = symbols("gain")
    norm = decay * larger(1, Abs(gain) if along_key is None else gain)
    on_page("eq-transition-norm", norm, letters=PAGE | {gain: r"1 - \beta\|\boldsymbol{k}\|^2"})
    return residual


def larger_of(first, second):
    """The maximum, once their difference has a sign that is known for all values."""
    return first if (first - second).factor().is_nonnegative else second


@verifies(
    "eq-transition-norm",
    method="float64",
    covers="200 transitions with beta of either sign, against the SVD",
    mutants={
        "no absolute value": {"gain": lambda share: max(1.0, 1 - share)},
        "the key's direction only": {"gain": lambda share: abs(1 - share)},
        "never above 1": {"gain": lambda share: 1.0},
    },
)
def norm(gain=lambda share: max(1.0, abs(1 - share))):
    """The largest singular value of F is alpha max(1, |1 - beta ||k||^2|)."""
    share_of_page = r"\beta\|\boldsymbol{k}\|^2"
    on_page("eq-transition-norm", lambda at: at(r"\alpha") * gain(at(share_of_page)))
    rng = np.random.default_rng(6)
    found, claimed = [], []
    for _ in range(200):
        key = rng.normal(size=rng.integers(2, 10))
        share, decay = rng.uniform(-2, 5), rng.uniform(0.5, 1)  # share is beta ||k||^2
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
        "no epsilon: length 1": {"norm2": lambda m, eps, size: m / m},
    },
    inputs={"epsilon zero": {"least": 0}},
)
def key_norm(norm2=lambda m, eps, size: m / (m + eps), least=1):
    """The squared norm of x / sqrt(||x||^2 + eps), in m = ||x||^2, zero included; below 1."""
    m, eps = symbols("m", nonnegative=True), least * symbols("epsilon", positive=True)
    scaled = (xT / sqrt(m + eps)) * (x / sqrt(m + eps))
    below = (1 - norm2(m, eps, d)).together().is_positive
    on_page(
        "eq-key-norm",
        norm2(m, eps, d),
        letters={m: r"\|\boldsymbol{x}\|^2", "epsilon": r"\epsilon"},
    )
    return [reduce(scaled, {xT * x: m}) - norm2(m, eps, d), int(not below)]
