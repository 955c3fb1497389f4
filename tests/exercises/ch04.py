"""Answers to the exercises of chapter 4: right ones, and wrong ones with the hint they get."""

import math

import numpy as np

from gdn_ref import chunking, scalar_decay

INF = math.inf


def by_bisection(half_life, A_log):
    low, high = -100.0, 100.0
    for _ in range(200):
        middle = (low + high) / 2
        decays = half_life * math.exp(A_log) * np.logaddexp(0, middle)
        low, high = (low, middle) if decays > math.log(2) else (middle, high)
    return low


def bias(half_life, A, inverse=lambda s: np.log(np.expm1(s))):
    return inverse(np.log(2) / (half_life * A))


def first_tokens(g, start, shift=0, value=-INF):
    g = g.copy()
    g[start[:-1] + shift] = value
    return g


def in_the_callers_array(g, start):
    g[start[:-1]] = -INF
    return g


def by_products(g, m):
    """No additions at all."""
    alpha = np.exp(g)
    after = np.multiply.accumulate(alpha[m:])
    before = np.multiply.accumulate(np.append(alpha[1:m], 1)[::-1])[::-1]
    return after[:, None], before[None, :]


def by_a_loop(g, m):
    after, before = [g[m]], [0.0]
    for x in g[m + 1 :]:
        after.append(after[-1] + x)
    for x in g[m - 1 : 0 : -1]:
        before.insert(0, before[0] + x)
    return np.exp(after), np.exp(before)


def whole_mask(g, m):
    _, Gamma = chunking.decay(g)
    return np.exp(g[m]) * np.append(1, Gamma[m + 1 :, m]), Gamma[m - 1, :m]


def mask_entries(g, m):
    _, Gamma = chunking.decay(g)
    return Gamma[m:, m - 1], Gamma[m - 1, :m]


def each_sum_anew(g, m):
    after = [g[m : r + 1].sum() for r in range(m, len(g))]
    return np.exp(after), np.exp([sum(g[i + 1 : m]) for i in range(m)])


def sums_by_a_mask(g, m):
    """A product with ones: right where no decay is a reset, for zero times -inf is NaN."""
    g = np.maximum(g, -1e4)
    n = len(g) - m
    return np.exp(np.tri(n) @ g[m:]), np.exp(np.triu(np.ones((m, m)), 1) @ g[:m])


def shared_sums(g, m, reader=0):
    to_cut = np.cumsum(np.append(0, g[1:m][::-1]))[::-1]
    return np.exp(np.cumsum(g[m + reader :])), np.exp(to_cut)


def chunk_in_place(S, q, k, v, g):
    gamma, Gamma = chunking.decay(g)
    O = np.diag(gamma) @ q @ S.T + (Gamma * (q @ k.T)) @ v
    S *= gamma[-1]
    v *= Gamma[-1][:, None]
    S += v.T @ k
    return O, S


def chunk(S, q, k, v, g, read=True, keep=True, write=True, mask=True):
    gamma, Gamma = chunking.decay(g)
    O = (gamma[:, None] if read else 1) * (q @ S.T)
    O = O + ((Gamma if mask else np.tri(len(q))) * (q @ k.T)) @ v
    S = (gamma[-1] if keep else 1) * S
    return O, S + v.T @ ((Gamma[-1][:, None] if write else 1) * k)


RIGHT = {
    "04-bias-for-half-life": [
        by_bisection,
        lambda half_life, A_log: math.log(math.expm1(math.log(2) / half_life / math.exp(A_log))),
        lambda half_life, A_log: np.float64(np.log(2 ** (np.exp(-A_log) / half_life) - 1)),
    ],
    "04-packed": [
        lambda g, start: np.where(np.isin(np.arange(len(g)), start), -INF, g),
        lambda g, start: [-INF if t in start[1:] else x for t, x in enumerate(g)],
        lambda g, start: first_tokens(g, start, value=-1e6),  # exp of it is zero all the same
    ],
    "04-rank-one": [by_products, by_a_loop],
    "04-faulty-chunk": [
        chunk_in_place,
        lambda S, q, k, v, g: scalar_decay.recurrent(q, k, v, g, S),
        lambda S, q, k, v, g: scalar_decay.chunkwise(q, k, v, g, S, chunk_size=3),
    ],
}

WRONG = {
    "04-bias-for-half-life": [
        (lambda h, A_log: bias(h, math.exp(A_log), np.log), "where softplus should"),
        (lambda h, A_log: bias(h, A_log), "that bias gives"),
        (lambda h, A_log: bias(h, math.exp(-A_log)), "that bias gives"),
        (lambda h, A_log: bias(h / math.log(2), math.exp(A_log)), "that bias gives"),
        (lambda h, A_log: bias(h, math.exp(A_log), lambda s: np.log(1 - s)), "that bias gives"),
    ],
    "04-packed": [
        (in_the_callers_array, "is to stay as it is"),
        (lambda g, start: g, "the text that starts at token 12 is off"),
        (lambda g, start: first_tokens(g, start, value=0.0), "the text that starts at token 12"),
        (lambda g, start: first_tokens(g, start, value=-50.0), "the text that starts at token 12"),
        (lambda g, start: first_tokens(g, start, shift=-1), "the text that starts at token 0"),
        (lambda g, start: np.full_like(g, -INF), "the text that starts at token 0"),
        (lambda g, start: -first_tokens(g, start), "log-decays are at most 0"),
        (lambda g, start: np.delete(g, start[:-1]), "one log-decay a token"),
    ],
    "04-rank-one": [
        (mask_entries, "additions for C = 64"),
        (each_sum_anew, "additions for C = 64"),
        (sums_by_a_mask, "additions for C = 64"),
        (lambda g, m: shared_sums(g, m, reader=-1), "expected 11 and 1 numbers"),
        (lambda g, m: (shared_sums(g, m)[0], np.exp(np.cumsum(g[:m][::-1])[::-1])), "the block is"),
        (lambda g, m: (np.exp(g[m:]), np.exp(g[:m])), "which decays lie on each side"),
        (lambda g, m: (np.exp(np.cumsum(g)[m:]), np.exp(-np.cumsum(g)[:m])), "not finite"),
        (lambda g, m: shared_sums(g, m)[::-1], "expected 11 and 1 numbers"),
    ],
    "04-faulty-chunk": [
        (lambda *x: chunk(*x, read=False), "one chunk from a state: relative error of the outputs"),
        (lambda *x: chunk(*x, keep=False), "relative error of the last state"),
        (lambda *x: chunk(*x, write=False), "an empty state: relative error of the last state"),
        (lambda *x: chunk(*x, mask=False), "an empty state: relative error of the outputs"),
    ],
}
