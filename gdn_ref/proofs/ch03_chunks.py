"""Chapter 3: the causal mask in blocks, the chunk form, and the states between chunks."""

from itertools import product

import numpy as np

from .. import linear_attention
from .data import hard_inputs, relative_error
from .page import on_page, row_of, rows_of
from .registry import verifies
from .symbols import K, S, V, k, no_tokens, q, stacked, v
from .token_forms import (
    FORM,
    REAL_SIZE,
    Chunk,
    chunkwise,
    modular_tokens,
    ones_below,
    strict,
    uncorrected,
    without_decay,
)

CHUNK = {"S": r"\mathbf{S}_{[n]}", "k": row_of(r"\mathbf{K}_n"), "q": row_of(r"\mathbf{Q}_n")} | {
    x: rows_of(rf"\mathbf{{{x}}}_n") for x in "KV"
}
CHUNK["v"] = row_of(r"\mathbf{V}_n")


@verifies(
    "eq-mask-blocks",
    method="enumeration",
    covers="every C and N up to 9",
    mutants={
        "diagonal blocks left full": {"inside": lambda C: np.ones((C, C), dtype=int)},
        "strict inside a chunk": {"inside": lambda C: ones_below(C, -1)},
        "own block counted twice": {"past": lambda N: ones_below(N, 0)},
        "only the last chunk seen": {"past": lambda N: np.eye(N, k=-1, dtype=int)},
        "future chunks seen": {"past": lambda N: ones_below(N, -1).T},
    },
)
def mask_in_blocks(inside=lambda C: ones_below(C, 0), past=lambda N: ones_below(N, -1)):
    """Entry (t, i) of both sides, the left one straight from i <= t."""
    residuals = []
    for C, N in product(range(1, 10), repeat=2):
        token = np.arange(C * N)
        mask = (token[None, :] <= token[:, None]).astype(int)
        full = np.ones((C, C), dtype=int)
        blocks = np.kron(np.eye(N, dtype=int), inside(C)) + np.kron(past(N), full)
        residuals.append(int(abs(mask - blocks).max()))

    def three(at):
        full = np.ones((at.scope["C"],) * 2, dtype=int)
        return np.kron(np.eye(3, dtype=int), inside(len(full))) + np.kron(past(3), full)

    on_page("eq-mask-blocks", three)
    return residuals


@verifies(
    "eq-linear-attention-chunk",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "strict mask": {"own": 0 * v.T},
        "only its own token seen": {"earlier": 0 * q.T * K.T},
        "state not read": {"old": 0 * v.T},
        "the write left out": {"write": 0 * v * k.T},
        "S written twice": {"write": v * k.T + S},
    },
)
def chunk_step(old=q.T * S.T, earlier=q.T * K.T, own=q.T * k * v.T, write=v * k.T):
    """Base, r = 0: S. Step: S + V^T K gains v k^T, a row more in V and in K, and then q reads.

    Its row of M has ones up to the token itself, so its row of M . Q K^T
    is q^T K^T for the tokens before it, and q^T k for its own.
    """
    before = S + V.T * K
    after = S + stacked(lambda V, K: V.T * K, (V, v.T), (K, k.T))
    row = old + earlier * V + own
    on_page("eq-linear-attention-chunk", row, letters=CHUNK, row=r"\mathbf{K}_n")
    on_page("eq-linear-attention-chunk", before + write, of=1, letters=CHUNK, last=r"\mathbf{K}_n")
    return [no_tokens(before) - S, before + write - after, (after * q).T - row]


NEITHER = {  # no decay, no correction: linear attention as a case of the general chunk form
    "gamma": lambda x: np.ones(len(x.alpha), dtype=np.int64),
    "Gamma": lambda x: ones_below(len(x.alpha), 0),
    "E": lambda x: x.V,
}


@verifies(
    "eq-linear-attention-chunk",
    method="modular",
    covers=REAL_SIZE,
    mutants={
        "strict mask": {"form": NEITHER | {"scores": lambda x: strict(x.Q @ x.K.T)}},
        "no mask": {"form": NEITHER | {"scores": lambda x: x.Q @ x.K.T}},
        "state not handed on": {"form": NEITHER | {"S_next": lambda x: x.S}},
        "state not read": {"form": NEITHER | {"O": lambda x: x.scores @ x.V}},
        "keys and queries swapped": {
            "form": NEITHER | {"scores": lambda x: x.Gamma * (x.K @ x.Q.T)}
        },
    },
)
def chunk_at_real_size(form=NEITHER):
    """Two chunks against 128 single tokens, modulo 2^61 - 1: an identity of degree 3."""
    O, _, last = chunkwise(modular_tokens(), FORM | form)
    outputs, state = uncorrected(without_decay(modular_tokens()))

    def of_page(at):
        Q, K, V = (at(rf"\mathbf{{{x}}}_n") for x in "QKV")
        return Chunk(FORM | form, S=at(r"\mathbf{S}_{[n]}"), Q=Q, K=K, V=V, alpha=Q[:, 0])

    on_page("eq-linear-attention-chunk", lambda at: of_page(at).O)
    on_page("eq-linear-attention-chunk", lambda at: of_page(at).S_next, of=1)
    return [O - outputs, last - state]


def scan(chunk_size, chunk=linear_attention.chunk, start=0):
    """Outputs and last state in one row; with `start`, the first chunk has that many tokens."""
    Q, K, V, *_, S = hard_inputs()
    outputs, done = [], 0
    for end in [*range(start, len(Q), chunk_size), len(Q)]:
        if end > done:
            O, S = chunk(S, Q[done:end], K[done:end], V[done:end])
            outputs.append(O)
        done = end
    return np.concatenate([*map(np.ravel, outputs), S.ravel()])


def _forgets(S, Q, K, V):
    O, _ = linear_attention.chunk(S, Q, K, V)
    return O, S


@verifies(
    "eq-linear-attention-chunk",
    method="float64",
    covers="50 tokens, C from 1 to 64, and cuts at any place",
    mutants={
        "state not handed on": {"chunk": _forgets},
        "state not read": {"chunk": lambda S, Q, K, V: linear_attention.chunk(0 * S, Q, K, V)},
    },
)
def every_chunk_size_agrees(chunk=linear_attention.chunk):
    """The package: cut anywhere, the chunks give what single tokens give."""
    Q, K, V, *_, S = hard_inputs()
    right = np.concatenate([x.ravel() for x in linear_attention.recurrent(Q, K, V, S)])
    cuts = [(C, 0) for C in (1, 2, 3, 7, 10, 16, 50, 64)] + [(16, 5), (7, 1)]
    names = [r"\mathbf{S}_{[n]}", *(rf"\mathbf{{{x}}}_n" for x in "QKV")]
    for of in (0, 1):
        printed = lambda at, of=of: chunk(*map(at, names))[of]
        on_page("eq-linear-attention-chunk", printed, of=of, floats=True)
    return max(relative_error(scan(C, chunk, start), right) for C, start in cuts)


@verifies(
    "eq-chunk-states",
    method="modular",
    covers="64 chunks of 8 tokens, d_k=32, d_v=24",
    mutants={
        "own chunk counted": {"inclusive": True},
        "one chunk late": {"late": 1},
        "states not read": {"read": 0},
        "first state left out": {"first": 0},
    },
)
def states_first_then_outputs(inclusive=False, late=0, read=1, first=1):
    """All states by a running sum, then all outputs at once, against one chunk after the other."""

    def before_each(S, V, K):
        total, states = S * first, []
        for values, keys in zip(V, K, strict=True):
            total, before = total + values.T @ keys, total
            states.append(total if inclusive else before)
        return [S] * late + states[: len(states) - late]

    def printed(at):
        of_chunks = ([at(rf"\mathbf{{{x}}}_{{{n}}}") for n in at.range("n")] for x in "VK")
        return before_each(at(r"\mathbf{S}_0"), *of_chunks)[at("n") - 1]

    on_page("eq-chunk-states", printed)
    x = modular_tokens(C=8, d_k=32, d_v=24, number_of_chunks=64)
    cuts = [slice(start, start + 8) for start in range(0, 512, 8)]
    states = before_each(x.S, [x.V[cut] for cut in cuts], [x.K[cut] for cut in cuts])
    M, residuals = ones_below(8, 0), []
    right, _, _ = chunkwise(x, FORM | NEITHER)
    for cut, state in zip(cuts, states, strict=True):
        O = x.Q[cut] @ state.T * read + (M * (x.Q[cut] @ x.K[cut].T)) @ x.V[cut]
        residuals.append(O - right[cut])
    return residuals
