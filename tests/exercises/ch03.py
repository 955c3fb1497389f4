"""Answers to the exercises of chapter 3: right ones, and wrong ones with the hint they get."""

import math
from itertools import accumulate

import numpy as np
import torch

from gdn_ref import linear_attention


def tail_in_place(Q, K, V, S, C):
    O, start = [], 0
    while start < len(Q):
        q, k, v = (x[start : start + C] for x in (Q, K, V))
        O.extend(q @ S.T + np.tril(q @ k.T) @ v)
        S += v.T @ k
        start += C
    return O, S


def tail_padded(Q, K, V, S, C):
    T, more = len(Q), -len(Q) % C
    Q, K, V = (np.pad(x, ((0, more), (0, 0))) for x in (Q, K, V))
    O, S = linear_attention.chunkwise(Q, K, V, S, chunk_size=C)
    return O[:T], S


def tail_by_chunks(Q, K, V, S, C, count=math.ceil, writes=True, reset=False):
    O, S_0 = np.zeros_like(V), S
    for n in range(count(len(Q) / C)):
        rows = slice(n * C, (n + 1) * C)
        given = S_0 if reset else S
        O[rows], after = linear_attention.chunk(given, Q[rows], K[rows], V[rows])
        S = after if writes or rows.stop <= len(Q) else S
    return O, S


def from_the_left(Q, K, V, S):
    states = np.concatenate([S[None], V.mT @ K]).cumsum(axis=0)
    scores = np.where(np.tri(Q.shape[1]), np.einsum("nrd,nid->nri", Q, K), 0)
    return np.einsum("nrd,nvd->nrv", Q, states[:-1]) + scores @ V, states[-1]


def in_torch(*arrays):
    Q, K, V, S = map(torch.from_numpy, arrays)
    states = torch.cat([S[None], V.mT @ K]).cumsum(0)
    return Q @ states[:-1].mT + (Q @ K.mT).tril() @ V, states[-1]


def less_its_own(Q, K, V, S):
    added = np.swapaxes(V, 1, 2) @ K
    after = S + np.add.accumulate(added)
    return Q @ (after - added).mT + np.tril(Q @ K.mT) @ V, after[-1]


def with_a_mask_over_chunks(Q, K, V, S):
    """All earlier chunks in one product: more work, and no loop either."""
    N = len(Q)
    added = (V.mT @ K).reshape(N, -1)
    before = (np.tri(N, k=-1) @ added).reshape(N, *S.shape) + S
    return Q @ before.mT + np.tril(Q @ K.mT) @ V, S + added.sum(0).reshape(S.shape)


def in_a_loop(Q, K, V, S):
    O = np.zeros_like(V)
    for n in range(len(Q)):
        O[n], S = linear_attention.chunk(S, Q[n], K[n], V[n])
    return O, S


def in_a_hidden_loop(Q, K, V, S):
    states = list(accumulate(V.mT @ K, initial=S))
    return Q @ np.array(states[:-1]).mT + np.tril(Q @ K.mT) @ V, states[-1]


def two_passes(Q, K, V, S, scores=np.tril, last=-1, first=1.0):
    states = np.cumsum([first * S, *(V.mT @ K)], axis=0)
    return Q @ states[:-1].mT + scores(Q @ K.mT) @ V, states[last]


def by_tokens(T, C, d_k, d_v):
    return sum(2 * d_k * d_v + min(C, T - t // C * C) * (d_k + d_v) for t in range(T))


def cost(C, d_k, d_v, state_bytes, rho):
    return C * (d_k + d_v) + rho * state_bytes * d_k * d_v / C


def by_walking(d_k, d_v, state_bytes, rho):
    C = 1
    while cost(2 * C, d_k, d_v, state_bytes, rho) < cost(C, d_k, d_v, state_bytes, rho):
        C *= 2
    return C


def best(d_k, d_v, state_bytes, rho):
    return math.sqrt(rho * state_bytes * d_k * d_v / (d_k + d_v))


RIGHT = {
    "03-tail": [tail_in_place, tail_padded, tail_by_chunks],
    "03-two-passes": [from_the_left, in_torch, less_its_own, with_a_mask_over_chunks],
    "03-ragged-count": [
        by_tokens,
        lambda T, C, d_k, d_v: (
            2.0 * T * d_k * d_v + (T // C * C * C + (T % C) * (T % C)) * (d_k + d_v)
        ),
    ],
    "03-power-of-two": [
        by_walking,
        lambda *sizes: min((2.0**n for n in range(20)), key=lambda C: cost(C, *sizes)),
    ],
}

WRONG = {
    "03-tail": [
        (lambda *x: tail_by_chunks(*x, count=math.floor), "token 49 is the first"),
        (lambda *x: tail_by_chunks(*x, writes=False), "the last state is not"),
        (lambda *x: tail_by_chunks(*x, reset=True), "token 17 is the first"),
        (lambda *x: (tail_by_chunks(*x)[0][: x[4]], x[3]), "expected outputs (48, 7)"),
        (lambda Q, K, V, S, C: linear_attention.chunkwise(Q, K, V), "token 1 is the first"),
    ],
    "03-two-passes": [
        (in_a_loop, "not without a loop"),
        (in_a_hidden_loop, "not without a loop"),
        (lambda *x: two_passes(*x, first=0.0), "never reads the state"),
        (lambda *x: two_passes(*x, last=-2), "the last state is not"),
        (lambda *x: two_passes(*x, scores=lambda s: s), "token 1 is the first"),
        (lambda *x: (two_passes(*x)[0].reshape(-1, 7), x[3]), "expected outputs (1, 8, 7)"),
    ],
    "03-ragged-count": [
        (lambda T, C, d_k, d_v: 2 * T * d_k * d_v + T * C * (d_k + d_v), "has the last chunk"),
        (lambda T, C, d_k, d_v: by_tokens(T // C * C, C, d_k, d_v), "Who computes the last 36"),
        (lambda *sizes: 2 * by_tokens(*sizes), "counting the additions"),
        (lambda T, C, d_k, d_v: by_tokens(-(-T // C) * C, C, d_k, d_v), "has the last chunk"),
        (lambda T, C, d_k, d_v: T * d_k * d_v + T * C * (d_k + d_v), "although C divides T"),
    ],
    "03-power-of-two": [
        (lambda *sizes: 64, "a larger power of two is better"),
        (best, "is not a power of two"),
        (lambda *sizes: 2 ** math.floor(math.log2(best(*sizes))), "a larger power"),
        (lambda *sizes: 2 ** math.ceil(math.log2(best(*sizes))), "a smaller power"),
        (lambda *sizes: 2 ** round(math.log2(best(*sizes))), "0.5 is not a power of two"),
    ],
}
