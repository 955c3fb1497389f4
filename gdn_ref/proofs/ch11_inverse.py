"""The inverse that a kernel forms, with decay, and why nobody divides the decay away."""

from math import prod
from types import SimpleNamespace

import numpy as np

from .. import wy
from ..chunking import decay
from . import lines
from .ch11_mutants import Gamma_with_the_writer, Gamma_without_the_reader
from .data import hard_inputs
from .page import on_page
from .registry import verifies
from .symbols import I_k, S, alpha, beta, gamma, k, v
from .token_forms import (
    FORM,
    first_chunk,
    modular_tokens,
    polynomial_tokens,
    recurrence,
    rows,
    solve,
)

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
    letters = {"S": lambda at: at(r"\mathbf{S}_{r-1}") / at(r"\gamma_{r-1}")}
    on_page("eq-gdn-divided", kept * S * FACTOR + beta * value * k.T, letters=letters)
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

    def printed(at):
        x = lines.tokens(at)
        return place(inverse(matrix(x)), x.beta)

    missing = lambda at: at(r"\mathbf{V} - \mathbf{D}_\gamma\mathbf{K}\mathbf{S}^\top")
    on_page("eq-gdn-ut-transform", printed)
    on_page("eq-gdn-ut-transform", lambda at: printed(at) @ at(r"\mathbf{V}"), of=1)
    on_page("eq-gdn-ut-transform", lambda at: printed(at) @ missing(at), of=2)
    return [T @ x.V - x.U, T @ (x.V - rows(x.gamma, x.K @ x.S.T)) - x.E]


def of_page(at):
    """The strengths and the decay mask of the page."""
    tokens = at.range("r")
    beta = np.array([at(rf"\beta_{{{r}}}") for r in tokens])
    return beta, np.array([[at(rf"\Gamma_{{{r},{i}}}") for i in tokens] for r in tokens])


def inverse(A):
    """`(I + A)^-1` by forward substitution."""
    return solve(A, np.eye(len(A), dtype=np.int64) + 0 * A)


@verifies(
    "eq-gdn-inverse",
    method="polynomial",
    covers="C=4, d_k=3, every decay, zero included",
    mutants={
        "Gamma twice": {"mask": lambda Gamma: Gamma * Gamma},
        "no Gamma": {"mask": lambda Gamma: 0 * Gamma + 1},
        "Gamma transposed": {"mask": lambda Gamma: Gamma.T},
        "Gamma with the writer's decay": {"first": 0},
        "Gamma without the reader's decay": {"last": 0},
    },
    part="the first line",
)
def decay_thins_the_inverse(mask=lambda Gamma: Gamma, first=1, last=1):
    """Entry by entry with a symbol in each place: paths to one token share their decay.

    Here every entry of Gamma is multiplied out. In Rocq: `decay_thins_the_inverse`.
    """
    x = first_chunk(polynomial_tokens())
    alpha, one, zero = x.alpha.tolist(), x.alpha[0] ** 0, x.alpha[0] * 0
    Gamma = np.array(
        [
            [prod(alpha[i + first : r + last], start=one) if i <= r else zero for i in range(4)]
            for r in range(4)
        ]
    )
    on_page(
        "eq-gdn-inverse",
        lambda at: mask(at(r"\Gamma_{ri}")) * at(r"[(\mathbf{I} + \mathbf{A})^{-1}]_{ri}"),
    )
    return inverse(x.A_gated) - mask(Gamma) * inverse(x.A)


@verifies(
    "eq-gdn-inverse",
    method="modular",
    covers="C=64, d_k=128, d_v=96",
    mutants={
        "no Gamma": {"mask": lambda x: 0 * x.Gamma + 1},
        "strict Gamma": {"mask": lambda x: x.Gamma - np.eye(len(x.alpha), dtype=np.int64)},
        "Gamma with the writer's decay": {"mask": Gamma_with_the_writer},
        "Gamma without the reader's decay": {"mask": Gamma_without_the_reader},
    },
    part="the first line: Gamma . (I + A)^-1, put in the place of (I + A~)^-1",
)
def decay_thins_the_inverse_at_real_size(mask=lambda x: x.Gamma):
    """(Gamma . (I + A)^-1) B (V - Dg K S^T) against the deltas of 64 tokens: A~ is not needed."""

    def printed(at):
        return mask(SimpleNamespace(Gamma=of_page(at)[1])) * inverse(at(r"\mathbf{A}"))

    on_page("eq-gdn-inverse", lambda at: at.once(printed)[at.scope["r"] - 1, at.scope["i"] - 1])
    tokens = modular_tokens(number_of_chunks=1)
    x = first_chunk(tokens)
    residual = rows(x.beta, x.V - rows(x.gamma, x.K @ x.S.T))
    return (mask(x) * inverse(x.A)) @ residual - recurrence(tokens)[1]


@verifies(
    "eq-gdn-inverse",
    method="float64",
    covers="gdn_ref.wy.solve, 64 tokens, unit keys of 4 mean cosines, beta up to 2",
    mutants={
        "half as much": {"bound": lambda beta, Gamma: beta[:, None] * Gamma / 2},
        "Gamma twice": {"bound": lambda beta, Gamma: beta[:, None] * Gamma**2},
        "the writer's beta": {"bound": lambda beta, Gamma: beta[None, :] * Gamma},
    },
    inputs={
        "keys of length 1.5": {"length": 1.5},
        "strengths up to 4": {"stronger": 2.0},
    },
    part="the second line, the bound",
)
def the_bound(bound=lambda beta, Gamma: beta[:, None] * Gamma, length=1.0, stronger=1.0):
    """How far an entry below the diagonal exceeds beta_r Gamma_ri: not at all."""
    entry = lambda at: bound(*of_page(at))[at.scope["r"] - 1, at.scope["i"] - 1]
    on_page("eq-gdn-inverse", None, entry, of=1)
    excess = 0.0
    for cosine in (0, 0.5, 0.9, 1):
        _, K, _, g, strength, _ = hard_inputs(T=64, cosine=cosine)
        strength = stronger * strength
        Gamma = decay(g)[1]
        found = wy.solve(wy.interaction(length * K, strength, Gamma), np.eye(64))
        excess = max(excess, np.tril(np.abs(found) - bound(strength, Gamma), -1).max())
    return float(excess)
