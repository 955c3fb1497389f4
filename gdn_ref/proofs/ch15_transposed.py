"""Chapter 15: the chunk form as the kernels compute it, transposed."""

import numpy as np
from sympy import MatrixSymbol, symbols

from .. import gated_delta_rule, wy
from ..chunking import decay
from . import lines
from .data import hard_inputs, logs, worst
from .page import ALL, on_page
from .registry import verifies
from .symbols import Diagonal, S, d_k, d_v
from .token_forms import first_chunk, modular_tokens, recurrence

C = symbols("C", integer=True, positive=True)
Q, K, V, T, P = (
    MatrixSymbol(name, C, width) for name, width in zip("QKVTP", (d_k, d_k, d_v, C, C), strict=True)
)
D = Diagonal("gamma", C, C)
TO_END = Diagonal("to_end", C, C)
E = MatrixSymbol("E", C, d_v)
gamma_C = symbols("gamma_C")
PAGE = ALL | {
    "gamma": r"\mathbf{D}_\gamma", "to_end": r"\mathbf{D}_\rightarrow", "gamma_C": r"\gamma_C",
    "T": r"\tilde{\mathbf{T}}", "P": r"\boldsymbol{\Gamma} \odot \mathbf{Q}\mathbf{K}^\top",
    "K'": r"\mathbf{K}'",
}  # fmt: skip


@verifies(
    "eq-transposed-delta",
    method="algebra",
    covers="every C, d_k and d_v",
    mutants={
        "UT not transposed": {"right": T},
        "gamma on the rows of S": {"read": lambda: S * (D * K).T * D},
        "K without its decay": {"read": lambda: S * K.T},
    },
)
def deltas_transposed(read=lambda: S * K.T * D, right=T.T):
    """The chunk's deltas, transposed, against the kernel's row of products."""
    on_page("eq-transposed-delta", (V.T - read()) * right, letters=PAGE)
    return (T * (V - D * K * S.T)).T - (V.T - read()) * right


@verifies(
    "eq-transposed-output",
    method="algebra",
    covers="every C, d_k and d_v",
    mutants={
        "scores not transposed": {"scores": P},
        "no decay on what Q reads": {"read": S * Q.T},
    },
)
def outputs_transposed(read=S * Q.T * D, scores=P.T):
    """The chunk's outputs, transposed; P stands for the decayed scores."""
    on_page("eq-transposed-output", read + E.T * scores, letters=PAGE)
    return (D * Q * S.T + P * E).T - (read + E.T * scores)


@verifies(
    "eq-transposed-state",
    method="modular",
    covers="C=64, d_k=128, d_v=96",
    mutants={
        "the decay to the end left out": {"to_end": lambda x: x.gamma * 0 + 1},
        "decayed from the start": {"to_end": lambda x: x.gamma},
        "the state not decayed": {"kept": lambda x: x.gamma[-1] * 0 + 1},
    },
)
def decay_on_delta_in_place_of_keys(to_end=lambda x: x.Gamma[-1], kept=lambda x: x.gamma[-1]):
    """The decay to the chunk's end on the deltas instead of on the keys, against 64 tokens."""
    tokens = modular_tokens(number_of_chunks=1)
    _, deltas, last = recurrence(tokens)
    x = first_chunk(tokens)

    def printed(at):
        names = lines.tokens(at)
        return names.S * kept(names) + (names.E.T * to_end(names)[None, :]) @ names.K

    on_page("eq-transposed-state", printed)
    return x.S * kept(x) + (deltas.T * to_end(x)[None, :]) @ x.K - last


K_next = MatrixSymbol("K'", symbols("C'", integer=True, positive=True), d_k)


@verifies(
    "eq-read-ahead",
    method="algebra",
    covers="every C, d_k and d_v, and a next chunk of any length",
    mutants={
        "the old state not decayed": {"ahead": S * K_next.T},
        "deltas without the decay to the end": {"cross": K * K_next.T},
        "the next chunk's decay for this one's": {"cross": K * K_next.T, "decayed": gamma_C * E.T},
    },
)
def what_the_next_keys_read(ahead=None, cross=None, decayed=E.T):
    """Against the product with the next state itself."""
    ahead = gamma_C * (S * K_next.T) if ahead is None else ahead
    cross = TO_END * K * K_next.T if cross is None else cross
    on_page("eq-read-ahead", ahead + decayed * cross, letters=PAGE)
    return (gamma_C * S + E.T * TO_END * K) * K_next.T - (ahead + decayed * cross)


def transposed(S, q, k, v, g, beta):
    """The lines of `scan_one_chunk`, by their names, in float64."""
    gamma, Gamma = decay(g)
    to_end = Gamma[-1]
    UT = wy.solve(wy.interaction(k, beta, Gamma), np.diag(beta))
    scores = Gamma.T * (k @ q.T)
    read = gamma * (S @ k.T)
    residual = v.T - read
    delta = residual @ UT.T
    o = gamma * (S @ q.T) + delta @ scores
    S_next = gamma[-1] * S + (to_end * delta) @ k
    return {"scores": scores, "read": read, "residual": residual, "delta": delta, "o": o,
            "S": S_next}  # fmt: skip


@verifies(
    "eq-transposed-output",
    method="float64",
    covers="64 tokens, d_k = 12, d_v = 7, against gated_delta_rule.chunk",
    mutants={"delta's transpose lost": {"last": lambda x: x[:, ::-1]}},
)
def the_lines_of_the_kernel_are_the_chunk_form(last=lambda x: x):

    def printed(at):
        x = lines.tokens(at)
        return last(transposed(x.S, x.Q, x.K, x.V, logs(x.alpha), x.beta)["o"])

    on_page("eq-transposed-output", printed, floats=True)
    q, k, v, g, beta, S = hard_inputs(T=64)
    found = transposed(S, q, k, v, g, beta)
    return worst((last(found["o"]).T, found["S"]), gated_delta_rule.chunk(S, q, k, v, g, beta))
