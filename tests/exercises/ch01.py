"""Answers to the exercises of chapter 1: right ones, and wrong ones with the hint they get."""

from functools import partial

import numpy as np
import torch

from gdn_ref import linear_attention


def step_in_place(S, q, k, v):
    S += np.outer(v, k)
    return S @ q, S


def step_by_entries(S, q, k, v):
    new = [[S[i, j] + v[i] * k[j] for j in range(len(k))] for i in range(len(v))]
    return [sum(x * y for x, y in zip(row, q, strict=True)) for row in new], new


def step_in_torch(S, q, k, v):
    S, q, k, v = map(torch.from_numpy, (S, q, k, v))
    S = torch.addr(S, v, k)
    return S @ q, S


def write_then_read(write, S, q, k, v):
    S = write(S, k, v)
    return S @ q, S


def by_tokens(Q, K, V, S):
    outputs = []
    for q, k, v in zip(Q, K, V, strict=True):
        S += np.outer(v, k)
        outputs.append(S @ q)
    return outputs


def masked(Q, K, V, S, diagonal=0, transpose=False, state=1.0):
    M = np.tri(len(Q), k=diagonal)
    return state * Q @ S.T + ((M.T if transpose else M) * (Q @ K.T)) @ V


def pieces_in_place(pieces):
    _, outputs, S = pieces[0]
    for Q, O_local, S_local in pieces[1:]:
        O_local += Q @ S.T
        outputs = np.vstack([outputs, O_local])
        S += S_local
    return [outputs, S]


def pieces_by_running_sum(pieces):
    states = np.cumsum([S_local for *_, S_local in pieces], axis=0)
    before = [0 * states[0], *states[:-1]]
    outputs = [O + Q @ S.T for (Q, O, _), S in zip(pieces, before, strict=True)]
    return np.concatenate(outputs), states[-1]


def pieces_reading(pieces, before, state=sum):
    S_all = [S_local for *_, S_local in pieces]
    outputs = [O + Q @ before(S_all, n).T for n, (Q, O, _) in enumerate(pieces)]
    return np.concatenate(outputs), state(S_all)


RIGHT = {
    "01-crossover": [
        lambda kv, d, cache, heads, d_k, d_v, state: (
            -(-heads * d_k * d_v * state // (2 * kv * d * cache))  # whole tokens, rounded up
        ),
        lambda n, d, b, *state: np.prod(state) / (n * d * b) * 0.5,
    ],
    "01-recurrent-step": [
        step_in_place,
        step_by_entries,
        step_in_torch,
        lambda S, q, k, v: [S @ q + v * (k @ q), np.einsum("i,j->ij", v, k) + S],
        partial(write_then_read, lambda S, k, v: S + v[:, None] @ k[None]),
    ],
    "01-faulty-mask": [
        by_tokens,
        lambda Q, K, V, S: linear_attention.chunkwise(Q, K, V, S, chunk_size=3)[0],
        lambda Q, K, V, S: (S @ Q.T + V.T @ np.triu(K @ Q.T)).T,
    ],
    "01-pieces": [pieces_in_place, pieces_by_running_sum],
}

WRONG = {
    "01-crossover": [
        (lambda *sizes: 128, "with heads = 32"),
        (lambda kv, d, b, h, d_k, d_v, s: h * d_k * d_v * s / (kv * d * 4), "cache_bytes = 1"),
        (lambda kv, d, b, h, d_k, d_v, s: 2 * h * d_k * d_v / (kv * d * b), "state_bytes = 2"),
        (lambda kv, d, b, h, d_k, d_v, s: h * d_k * d_v * s / (kv * d * b), "gives 256.0 tokens"),
        (lambda kv, d, b, h, d_k, d_v, s: h * d * d * s / (kv * 2 * d * b), "with d = 256"),
    ],
    "01-recurrent-step": [
        (lambda S, q, k, v: (S @ q, S + np.outer(v, k)), "reads before it writes"),
        (lambda S, q, k, v: (np.outer(v, k) @ q, np.outer(v, k)), "forgets everything"),
        (lambda S, q, k, v: (v * (k @ q), S.T + np.outer(k, v)), "d_v x d_k"),
        (partial(write_then_read, lambda S, k, v: S - np.outer(v, k)), "the new state is not"),
        (lambda S, q, k, v: ((S + np.outer(v, k)) @ k, S + np.outer(v, k)), "which vector asks"),
        (lambda S, q, k, v: (S + np.outer(v, k)) @ q, "return two things"),
        (lambda S, q, k, v: (k @ q, S + np.outer(v, k)), "expected o (2,), S (2, 5); got o ()"),
    ],
    "01-faulty-mask": [
        (partial(masked, diagonal=-1), "its own output stays"),
        (partial(masked, state=0.0), "do not depend on the initial state"),
        (partial(masked, transpose=True), "an earlier token changes"),
        (partial(masked, state=-1.0), "the numbers differ"),
        (lambda Q, K, V, S: masked(Q, K, V, S).T, "expected outputs of shape (8, 3)"),
        (lambda Q, K, V, S: masked(Q, K, V, S) - masked(Q, K, V, 0 * S, diagonal=-1), "later"),
        (lambda Q, K, V, S: np.inf * V, "some outputs are not finite"),
    ],
    "01-pieces": [
        (partial(pieces_reading, before=lambda S, n: sum(S[: n + 1])), "from token 1"),
        (partial(pieces_reading, before=lambda S, n: S[n - 1] if n else 0 * S[0]), "from token 17"),
        (partial(pieces_reading, before=lambda S, n: 0 * S[0]), "from token 9"),
        (
            lambda pieces: (np.concatenate([O for _, O, _ in pieces]), pieces[-1][2]),
            "is not that of",
        ),
        (lambda pieces: np.concatenate([O for _, O, _ in pieces]), "return two things"),
        (lambda pieces: pieces_in_place(pieces)[::-1], "expected outputs of shape (24, 4)"),
    ],
}
