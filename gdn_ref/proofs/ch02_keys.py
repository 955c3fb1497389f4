"""Chapter 2: how little keys can help, and how wide any of them are."""

from fractions import Fraction
from itertools import product

import sympy as sp

from .ch02_crosstalk import HALF, left_over
from .page import on_page
from .registry import verifies
from .symbols import entries, letters


@verifies(
    "eq-welch-bound",
    method="polynomial",
    covers="3 keys in 2 dimensions, every entry a symbol",
    mutants={
        "n / d_k for n^2 / d_k": {"floor": lambda n, d: sp.Rational(n, d)},
        "d_k^2 / n": {"floor": lambda n, d: sp.Rational(d * d, n)},
        "own overlaps left out": {"own": 1},
    },
)
def least_total_overlap(floor=lambda n, d: sp.Rational(n * n, d), own=0):
    """The squared overlaps, less n^2/d_k, are the squared distance of K^T K from (n/d_k) I.

    For unit keys the mean squared length is one. The identity holds for all keys with that mean in
    the place of one, so the entries may stay symbols.
    """
    n, d = 3, 2
    keys = letters("k", n, d)
    length = (keys.T * keys).trace() / n
    overlaps = sum(x**2 for x in keys * keys.T)
    distance = sum(x**2 for x in keys.T * keys - sp.Rational(n, d) * length * sp.eye(d))

    def printed(at):
        n, d = at("n"), at("d_k")
        return (
            Fraction(floor(n, d))
            - n
            + own * n
            + at(r"\|\mathbf{K}^\top\mathbf{K} - \frac{n}{d_k}\mathbf{I}\|^2")
        )

    on_page("eq-welch-bound", printed)
    return left_over([overlaps - (floor(n, d) + own * n) * length**2 - distance])


@verifies(
    "eq-effective-width",
    method="polynomial",
    covers="any distribution on 3 keys in d_k = 2 dimensions",
    mutants={
        "trace of Sigma, not of Sigma^2": {"moment": lambda Sigma: Sigma.trace()},
        "trace of Sigma, squared": {"moment": lambda Sigma: Sigma.trace() ** 2},
        "distance from I": {"centre": 1},
        "distance from I / d_k^2": {"centre": sp.Rational(1, 4)},
    },
)
def overlap_of_any_keys(moment=lambda Sigma: (Sigma @ Sigma).trace(), centre=HALF):
    """Three keys with symbols for their probabilities: the mean squared overlap is trace Sigma^2.

    For unit keys trace Sigma = 1, and then trace Sigma^2 - 1/d_k is the squared distance of Sigma
    from I/d_k; the second residual keeps the trace as it is, so that the keys may stay symbols.
    """
    keys = [sp.Matrix(row) for row in entries("k", 3, 2)]
    p = sp.symbols("p_:3")
    Sigma = sp.zeros(2)
    for share, key in zip(p, keys, strict=True):
        Sigma += share * key * key.T
    mean = sum(p[a] * p[b] * (keys[a].T * keys[b])[0] ** 2 for a, b in product(range(3), repeat=2))
    distance = sum(x**2 for x in Sigma - centre * Sigma.trace() * sp.eye(2))
    second = lambda at: moment(at(r"\boldsymbol{\Sigma}"))
    on_page("eq-effective-width", second)
    return left_over([mean - moment(Sigma), moment(Sigma) - Sigma.trace() ** 2 / 2 - distance])
