"""Chapter 2: the best scale of a read, and recognition by a margin."""

from fractions import Fraction
from itertools import product

import numpy as np
import sympy as sp

from .. import linear_attention
from .data import hard_inputs, relative_error, unit
from .page import on_page
from .registry import verifies

factor, x = sp.symbols("lambda x", positive=True)


@verifies(
    "eq-best-scale",
    method="algebra",
    covers="every crosstalk x > 0 and every factor",
    mutants={
        "no factor": {"best": sp.Integer(1)},
        "1 / x": {"best": 1 / x},
        "x for x / (1 + x)": {"least": x},
        "1 / (1 + x)": {"least": 1 / (1 + x)},
    },
)
def scaled_read(best=1 / (1 + x), least=x / (1 + x)):
    """The signal loses (1 - f)^2, the crosstalk keeps f^2 x: complete the square."""
    scaled = (1 - factor) ** 2 + factor**2 * x
    claim = least + (1 + x) * (factor - best) ** 2
    on_page("eq-best-scale", (1 - factor) ** 2 + factor**2 * x, claim, letters={factor: r"\lambda"})
    return sp.simplify(scaled - least - (1 + x) * (factor - best) ** 2)


def signed_units(d):
    """The 2 d unit vectors +-e_i, as rows of integers."""
    return np.concatenate([np.eye(d, dtype=int), -np.eye(d, dtype=int)])


@verifies(
    "eq-retrieval-margin",
    method="enumeration",
    covers="2 and 3 pairs, d_k = 2, d_v = 3; keys, values and candidates over every +-e_i",
    mutants={
        "the candidate's noise left out": {"variance": lambda n, d, m: (1, 1, n - 1, d * m)},
        "the value's noise left out": {"variance": lambda n, d, m: (1, m, n - 1, d * m)},
        "1 / d_v left out": {"variance": lambda n, d, m: (0, 1, 2 * (n - 1), d * m)},
        "d_k for d_k d_v": {"variance": lambda n, d, m: (1, m, 2 * (n - 1), d)},
    },
)
def margin_moments(variance=lambda n, d, m: (1, m, 2 * (n - 1), d * m)):
    """Mean and variance of the right value's score less a wrong one's, by complete enumeration.

    The square of the margin is quadratic in each key, value and candidate, so only the means of
    k, v, k k^T and v v^T count: those of the signed unit vectors are the uniform ones.
    Everything is an integer until the last line.
    """
    d, m, residual = 2, 3, []
    keys, values = signed_units(d), signed_units(m)
    for n in (2, 3):
        total, squares, count = 0, 0, 0
        for others in product(range(2 * d), repeat=n - 1):
            overlaps = keys[list(others)] @ keys.T  # [other, key that is asked for]
            for stored in product(range(2 * m), repeat=n - 1):
                noise = overlaps.T @ values[list(stored)]  # [asked, d_v]
                for own in values:
                    margin = (own + noise) @ (own - values).T  # [asked, candidate]
                    total += int(margin.sum())
                    squares += int((margin**2).sum())
                    count += margin.size
        a, b, e, f = variance(n, d, m)
        claim = sp.Rational(a, b) + sp.Rational(e, f)
        residual += [total - count, sp.Rational(squares, count) - 1 - claim]

    def printed(at):
        a, b, e, f = variance(at("n"), at("d_k"), at("d_v"))
        return Fraction(a, b) + Fraction(e, f)

    on_page("eq-retrieval-margin", printed, of=1)
    return residual


@verifies(
    "eq-margin-parts",
    method="float64",
    covers="package code: one read of 19 pairs, unit values, d_k = 12, d_v = 7",
    mutants={
        "the candidate's noise left out": {"candidate": 0},
        "the value's noise left out": {"own": 0},
    },
)
def margin_in_code(own=1, candidate=1):
    """The package's read against the sum that eq-retrieval-margin squares and averages."""

    def parts(overlaps, value, others, wrong):
        noise = [
            rho * (own * other @ value - candidate * other @ wrong)
            for rho, other in zip(overlaps, others, strict=True)
        ]
        return 1 - wrong @ value + sum(noise)

    def printed(at):
        j, value = at.scope["j"], lambda x: at(rf"\boldsymbol{{v}}_{{{x}}}")[:, 0]
        others = [i for i in at.range("i") if i != j]
        overlaps = [at(rf"\rho_{{{i},{j}}}") for i in others]
        return parts(overlaps, value("j"), map(value, others), value("c"))

    on_page("eq-margin-parts", printed)
    _, K, V, *_ = hard_inputs(T=20, d_k=12, d_v=7)
    V = unit(V)
    wrong = V[-1]  # a candidate that was not stored
    _, S = linear_attention.recurrent(K[:-1], K[:-1], V[:-1])
    read = S @ K[0]
    overlaps, others = K[1:-1] @ K[0], V[1:-1]
    return relative_error(parts(overlaps, V[0], others, wrong), (V[0] - wrong) @ read)


pairs, rivals, d_k, d_v = sp.symbols("n N d_k d_v", positive=True)
MOST = d_k * d_v / (2 * sp.log(rivals))
SCORE = sp.sqrt(pairs / (d_k * d_v)) * sp.sqrt(2 * sp.log(rivals))  # of the best rival


@verifies(
    "eq-margin-pairs",
    method="algebra",
    covers="every d_k, d_v and N",
    part="it follows from the two rules of thumb for a rival's score; those are estimates",
    mutants={
        "ln N once": {"most": 2 * MOST},
        "the root of it": {"most": sp.sqrt(MOST)},
        "bits for nats": {"most": MOST * sp.log(2)},
    },
)
def best_rival_reaches_one(most=MOST):
    """With so many pairs the best of N rivals scores 1; they hold d_k d_v / (2 ln 2) bits."""
    reached = (SCORE**2).subs(pairs, most) - 1
    on_page("eq-margin-pairs", None, most)
    return [sp.simplify(reached), sp.simplify(most * sp.log(rivals, 2) - d_k * d_v / sp.log(4))]
