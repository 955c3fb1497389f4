"""Chapter 9: a chunk as a map of states, and a whole sequence as one attention matrix."""

from functools import cache

import numpy as np
from sympy import MatrixSymbol, ZeroMatrix

from . import lines
from .ch09_chunk import DELTA
from .modular import Mod
from .page import ALL, on_page
from .registry import verifies
from .symbols import I_k, K, S, U, V, W, beta, d_k, d_v, k, no_tokens, r, stacked, v
from .token_forms import (
    Chunk,
    from_empty,
    join,
    modular_tokens,
    recurrence,
    rows,
    solve,
    without_decay,
)


@verifies(
    "eq-delta-chunk-map",
    method="algebra",
    covers="every C, d_k, d_v",
    mutants={
        "K and W swapped": {"kept": I_k - K.T * W},
        "sign": {"kept": I_k + W.T * K},
        "writes of V": {"written": V.T * K},
    },
)
def chunk_as_a_map(kept=I_k - W.T * K, written=U.T * K):
    """S + (U - W S^T)^T K, sorted by S."""
    on_page("eq-delta-chunk-map", S * kept + written, letters=ALL)
    return S + (U.T - S * W.T) * K - (S * kept + written)


def unit_matrix(x):
    return np.eye(x.K.shape[1], dtype=np.int64)


@verifies(
    "eq-delta-chunk-map",
    method="modular",
    covers="C=64, d_k=128, d_v=96",
    mutants={
        "K and W swapped": {"kept": lambda x: unit_matrix(x) - x.K.T @ x.W},
        "each key erased by itself": {"kept": lambda x: unit_matrix(x) - rows(x.beta, x.K).T @ x.K},
    },
)
def map_at_real_size(kept=lambda x: unit_matrix(x) - x.W.T @ x.K):
    """S (I - W^T K) + U^T K against the state after 64 tokens."""

    def after(x):
        return x.S @ kept(x) + x.U.T @ x.K

    on_page("eq-delta-chunk-map", lambda at: after(lines.run(at, DELTA)))
    tokens = without_decay(modular_tokens(number_of_chunks=1))
    return after(Chunk(DELTA, **vars(tokens))) - recurrence(tokens)[2]


X = MatrixSymbol("X", r, d_k)  # row i: beta_i k_i^T times the factors of the tokens after i


@verifies(
    "eq-delta-attention-weight",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "beta doubled in the factor": {"earlier": X * (I_k - 2 * beta * k * k.T)},
        "the reader's factor missed": {"earlier": X},
        "own weight without beta": {"own": k.T},
        "the writer's factor too": {"own": beta * k.T * (I_k - beta * k * k.T)},
    },
)
def weights_of_one_more(earlier=X * (I_k - beta * k * k.T), own=beta * k.T):
    """Base, r = 0: the empty state. Step: S_r = V^T X takes a token (eq-delta-rule-recurrence);
    its factor multiplies every row of X, and X gains a row.
    """
    state = V.T * X
    after = state + beta * (v - state * k) * k.T
    grown = stacked(lambda V, X: V.T * X, (V, v.T), (earlier, own))
    q = MatrixSymbol("q", d_k, 1)
    letters = {
        X: lambda at: at(r"\beta_i\boldsymbol{k}_i^\top") @ at(rf"\mathbf{{P}}_{{{at.n - 1},i}}")
    }
    weight = lambda at: (own if at.scope["i"] == at.n else earlier) * q
    on_page("eq-delta-attention-weight", weight, letters=letters)
    before = {X: lambda at: at(rf"\mathbf{{P}}_{{{at.n - 1},{at.scope['i']}}}")}
    passed = lambda at: at.value(earlier if at.scope["i"] < at.n else I_k, before)
    on_page("eq-delta-attention-weight", passed, of=1)
    return [no_tokens(state) - ZeroMatrix(d_v, d_k), after - grown]


@cache
def _one_chunk(C, width):
    return from_empty(without_decay(modular_tokens(C, width, width, number_of_chunks=1)))


@verifies(
    "eq-delta-attention",
    method="modular",
    covers="T=64, d_k=d_v=48",
    mutants={
        "B left out": {"matrix": lambda x, B: x.scores @ solve(x.A, B * 0 + np.eye(64, dtype=int))},
        "the inverse on the left": {"matrix": lambda x, B: solve(x.A, B @ x.scores)},
        "no inverse": {"matrix": lambda x, B: x.scores @ B},
        "no mask": {"matrix": lambda x, B: (x.Q @ x.K.T) @ solve(x.A, B)},
    },
)
def attention_matrix(matrix=lambda x, B: x.scores @ solve(x.A, B)):
    """(M . Q K^T) (I + A)^-1 B V against the token loop from an empty state."""
    tokens = _one_chunk(64, 48)
    x = Chunk(DELTA, **vars(tokens))

    def printed(at):
        names = lines.tokens(at)
        return matrix(names, np.diag(names.beta)) @ names.V

    on_page("eq-delta-attention", printed)
    return matrix(x, diagonal(x.beta)) @ x.V - recurrence(tokens)[0]


@verifies(
    "eq-delta-attention-weight",
    method="modular",
    covers="all weights of 12 tokens, d_k=20",
    mutants={
        "the writer's factor too": {"first": 0},
        "the next factor missed": {"first": 2},
        "the reader's factor missed": {"last": 0},
        "without beta": {"power": 0},
    },
)
def each_weight(first=1, last=1, power=1):
    """beta_i k_i^T prod_{i < j <= r} (I - beta_j k_j k_j^T) q_r, factor by factor."""

    def weight(x, t, i):
        address = x.K[i : i + 1] * (x.beta[i] if power else 1)
        for j in range(i + first, t + last):
            key = x.K[j : j + 1]
            address = address - (address @ key.T) @ key * x.beta[j]
        return address @ x.Q[t : t + 1].T

    of_page = lambda at: weight(lines.tokens(at), at.scope["r"] - 1, at.scope["i"] - 1)
    on_page("eq-delta-attention-weight", of_page)
    tokens = _one_chunk(12, 20)
    x = Chunk(DELTA, **vars(tokens))
    found = []
    for i in range(12):
        row = [(weight(x, t, i) * int(t >= i))[:, 0] for t in range(12)]
        found.append(join(row, np.concatenate))
    return x.scores @ solve(x.A, diagonal(x.beta)) - join(found).T


def diagonal(b):
    return Mod(np.diag(b.residues))
