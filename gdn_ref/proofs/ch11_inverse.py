"""The inverse that a kernel forms, with decay, and why nobody divides the decay away."""

import numpy as np

from .. import wy
from ..chunking import decay
from .data import hard_inputs
from .registry import verifies
from .symbols import I_k, S, alpha, beta, gamma, k, v
from .token_forms import FORM, first_chunk, modular_tokens, polynomial_tokens, rows, solve

FACTOR = I_k - beta * k * k.T


@verifies(
    "eq-gdn-divided",
    method="algebra",
    covers="every token, d_k, d_v",
    mutants={
        "values left as they are": {"value": v},
        "values divided by the old gamma": {"value": v / gamma},
        "decay left on": {"kept": alpha},
    },
)
def divided(value=v / (gamma * alpha), kept=1):
    """The recurrence over gamma: a token of the delta rule with the value v / gamma.

    `gamma` is the decay before the token, `gamma alpha` with it, and S the divided state.
    """
    state = alpha * (gamma * S) * FACTOR + beta * v * k.T
    return state / (gamma * alpha) - (kept * S * FACTOR + beta * value * k.T)


@verifies(
    "eq-gdn-ut-transform",
    method="modular",
    covers="C=64, d_k=128, d_v=96, two chunks",
    mutants={
        "beta on the rows": {"place": lambda T, beta: rows(beta, T)},
        "beta left out": {"place": lambda T, beta: T},
        "the ungated A": {"matrix": lambda x: x.A},
    },
)
def transform_of_the_residual(place=lambda T, beta: rows(beta, T.T).T, matrix=lambda x: x.A_gated):
    """T~ times V is U~, and T~ times the residual V - diag(gamma) K S^T is E."""
    x = first_chunk(modular_tokens(), FORM)
    T = place(inverse(matrix(x)), x.beta)
    return [T @ x.V - x.U, T @ (x.V - rows(x.gamma, x.K @ x.S.T)) - x.E]


def inverse(A):
    """`(I + A)^-1` by forward substitution."""
    return solve(A, np.eye(len(A), dtype=np.int64) + 0 * A)


@verifies(
    "eq-gdn-inverse",
    method="polynomial",
    covers="C=4, d_k=3, every decay, zero included",
    mutants={
        "Gamma on the plain A's inverse twice": {"mask": lambda Gamma: Gamma * Gamma},
        "no Gamma": {"mask": lambda Gamma: 0 * Gamma + 1},
        "Gamma transposed": {"mask": lambda Gamma: Gamma.T},
    },
)
def decay_thins_the_inverse(mask=lambda Gamma: Gamma):
    """Entry by entry with a symbol in each place: paths to one token share their decay."""
    x = first_chunk(polynomial_tokens())
    return inverse(x.A_gated) - mask(x.Gamma) * inverse(x.A)


@verifies(
    "eq-gdn-inverse",
    method="modular",
    covers="C=64, d_k=128",
    mutants={
        "no Gamma": {"mask": lambda Gamma: 0 * Gamma + 1},
        "the strict Gamma": {"mask": lambda Gamma: Gamma - np.eye(len(Gamma), dtype=np.int64)},
    },
)
def decay_thins_the_inverse_at_real_size(mask=lambda Gamma: Gamma):
    """The same for a whole chunk; the entries have degree at most 4 * 63."""
    x = first_chunk(modular_tokens(), FORM)
    return inverse(x.A_gated) - mask(x.Gamma) * inverse(x.A)


@verifies(
    "eq-gdn-inverse",
    method="float64",
    covers="gdn_ref.wy.solve, unit keys, beta up to 2, 64 tokens: the bound",
    mutants={
        "keys of length 1.5": {"length": 1.5},
        "strengths up to 4": {"stronger": 2.0},
    },
)
def the_bound(length=1.0, stronger=1.0):
    """How far an entry below the diagonal exceeds beta_r Gamma_ri: not at all."""
    _, K, _, g, strength, _ = hard_inputs(T=64)
    strength = stronger * strength
    Gamma = decay(g)[1]
    found = wy.solve(wy.interaction(length * K, strength, Gamma), np.eye(64))
    excess = np.tril(np.abs(found) - strength[:, None] * Gamma, -1)
    return float(excess.max().clip(0))
