"""Chapter 4: the inverse of the decay mask, and the recurrence that is one row of it."""

from math import prod

import numpy as np
from sympy import ZZ, ring

from ..chunking import decay
from . import lines
from .ch04_mask import mask_of_ratios
from .data import hard_inputs, relative_error
from .modular import join
from .page import on_page
from .registry import verifies
from .token_forms import modular_tokens, rows


@verifies(
    "eq-decay-mask-inverse",
    method="modular",
    covers="C=64, decays not zero",
    mutants={
        "alpha on the diagonal": {"shift": lambda alpha: np.eye(64, dtype=np.int64)},
        "alpha of the writer": {"weights": lambda alpha: alpha[:-1]},
        "wrong sign": {"weights": lambda alpha: -alpha[1:]},
        "alpha above the diagonal": {"shift": lambda alpha: np.eye(64, k=1, dtype=np.int64)},
    },
)
def inverse_of_the_mask(
    weights=lambda alpha: alpha[1:], shift=lambda alpha: np.eye(len(alpha), k=-1, dtype=np.int64)
):
    """(I - N) Gamma = I with N_{r,r-1} = alpha_r, Gamma from ratios: degree at most 65."""

    def shifted(alpha):
        return rows(join([alpha[:1] * 0, weights(alpha)], np.concatenate), shift(alpha))

    N, Gamma = shifted(modular_tokens().alpha[:64]), mask_of_ratios()

    def printed(at):
        Gamma, alpha = at(r"\boldsymbol{\Gamma}"), lines.tokens(at).alpha
        return Gamma - shifted(alpha) @ Gamma

    on_page("eq-decay-mask-inverse", printed)
    return Gamma - N @ Gamma - np.eye(64, dtype=np.int64)


@verifies(
    "eq-mask-recurrence",
    method="float64",
    covers="gdn_ref.chunking.decay, 50 tokens with a reset among them",
    mutants={
        "alpha left out": {"step": lambda alpha, y, x: y + x},
        "the new term decayed too": {"step": lambda alpha, y, x: alpha * (y + x)},
    },
)
def recurrence_of_the_mask(step=lambda alpha, y, x: alpha * y + x):
    """Gamma x by the package, and by y_r = alpha_r y_{r-1} + x_r, on random x."""
    on_page("eq-mask-recurrence", lambda at: step(at(r"\alpha_r"), at("y_{r-1}"), at("x_r")))
    log_decays = hard_inputs()[3]
    log_decays[20] = -np.inf
    x, y, sums = np.random.default_rng(4).normal(size=50), 0.0, []
    for alpha, term in zip(np.exp(log_decays), x, strict=True):
        y = step(alpha, y, term)
        sums.append(y)
    return relative_error(decay(log_decays)[1] @ x, sums)


@verifies(
    "eq-decay-mask-inverse",
    method="polynomial",
    covers="6 tokens, a symbol for each decay, zero included",
    mutants={
        "alpha of the writer": {"reader": 0},
        "wrong sign": {"sign": -1},
    },
)
def inverse_of_a_mask_of_symbols(reader=1, sign=1):
    """The same with every entry of Gamma multiplied out; nothing is divided."""

    def product(a):
        C = range(len(a))
        N, Gamma = (np.zeros((len(a),) * 2, dtype=object) for _ in range(2))
        for r in C:
            Gamma[r] = [prod(a[i + 1 : r + 1]) if i <= r else 0 for i in C]
            N[r, r - 1] = sign * a[r - 1 + reader] if r else 0
        return Gamma - N @ Gamma

    on_page("eq-decay-mask-inverse", lambda at: product(lines.tokens(at).alpha))
    return product(ring("a_:6", ZZ)[1:]) - np.eye(6, dtype=int)
