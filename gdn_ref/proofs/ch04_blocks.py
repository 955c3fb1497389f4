"""Chapter 4: the blocks below the diagonal of the decay mask have rank one."""

from math import prod

import numpy as np
from sympy import ZZ, ring

from .page import on_page
from .registry import verifies


def polynomial_scores(C, d_k):
    """Gamma, Q and K with a symbol in every place, each entry of Gamma multiplied out."""
    letters = [f"a{n}" for n in range(C)] + [f"{x}{n}" for x in "qk" for n in range(C * d_k)]
    field, *symbol = ring(letters, ZZ)
    Gamma = np.array(
        [[field.one * prod(symbol[i + 1 : r + 1]) * (i <= r) for i in range(C)] for r in range(C)]
    )
    Q, K = np.array(symbol[C:], dtype=object).reshape(2, C, d_k)
    return Gamma, Q, K


@verifies(
    "eq-decay-semiseparable",
    method="polynomial",
    covers="every cut of 6 tokens, d_k = 2; decays, queries and keys all symbols",
    mutants={
        "the first reader's decay left out": {"to_reader": lambda Gamma, m: Gamma[m:, m]},
        "from the second writer on": {"to_cut": lambda Gamma, m: Gamma[m - 1, :m] - Gamma[0, :m]},
        "keys not decayed to the cut": {"to_cut": lambda Gamma, m: 0 * Gamma[0, :m] + 1},
        "queries not decayed": {"to_reader": lambda Gamma, m: 0 * Gamma[m:, 0] + 1},
    },
)
def blocks_below_the_diagonal(
    to_reader=lambda Gamma, m: Gamma[m:, m - 1], to_cut=lambda Gamma, m: Gamma[m - 1, :m]
):
    """Gamma_RI is a column times a row, and (Gamma . Q K^T)_RI a thin product, cut by cut.

    Token m has index m - 1: R is `m:` and I is `:m`.
    """
    Gamma, Q, K = polynomial_scores(C=6, d_k=2)
    residual = []
    for m in range(1, 6):
        left, right = to_reader(Gamma, m), to_cut(Gamma, m)
        thin = (left[:, None] * Q[m:]) @ (right[:, None] * K[:m]).T
        residual.append(Gamma[m:, :m] - np.outer(left, right))
        residual.append((Gamma * (Q @ K.T))[m:, :m] - thin)

    def printed(at, thin=True):
        Gamma, m = at(r"\boldsymbol{\Gamma}"), at("m")
        left, right = to_reader(Gamma, m), to_cut(Gamma, m)
        Q, K = at(r"\mathbf{Q}")[m:], at(r"\mathbf{K}")[:m]
        return (left[:, None] * Q) @ (right[:, None] * K).T if thin else np.outer(left, right)

    on_page("eq-decay-semiseparable", lambda at: printed(at, thin=False))
    on_page("eq-decay-semiseparable", printed, of=1)
    return residual
