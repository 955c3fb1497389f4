"""Answers to the exercises of chapter 23: right ones, and wrong ones with the hint they get."""

import numpy as np

from gdn_ref import wy
from gdn_ref.family import general_rule, kda


def by_tokens(S, k, v, g, beta):
    rows = []
    for k_t, v_t, g_t, beta_t in zip(k, v, g, beta, strict=True):
        S = S * np.exp(g_t)
        rows.append(beta_t * (v_t - S @ k_t))
        S = S + np.outer(rows[-1], k_t)
    return np.array(rows)


def by_the_reads(S, k, v, g, beta):
    """R from the theorem, without merging."""
    _, k, u, a, b, g = kda.general(k, k, v, g, beta)
    gamma = general_rule.one_later(general_rule.from_start(g), first=1.0)
    A = general_rule.reads(a, k, g)
    return u - wy.solve(A, (gamma * a) @ S.T + A @ u)


def one_solve(S, k, v, g, beta, own=True):
    strong = beta[:, None] * k
    A = np.tril(general_rule.scores(strong, k, g), -1)
    gamma = general_rule.from_start(g) if own else 1.0
    return wy.solve(A, beta[:, None] * v - (gamma * strong) @ S.T)


def one_decay_late(S, k, v, g, beta):
    """The decay of the reader itself is missing between the tokens."""
    A = general_rule.reads(beta[:, None] * k, k, g)
    old = (general_rule.from_start(g) * beta[:, None] * k) @ S.T
    return wy.solve(A, beta[:, None] * v - old)


def across(q, k, g, m):
    after = np.exp(np.cumsum(g[m:], axis=0))
    later = np.concatenate([g[1:m], 0 * k[:1]])
    return (after * q[m:]) @ (np.exp(np.cumsum(later[::-1], axis=0)[::-1]) * k[:m]).T


def by_sums(q, k, g, m):
    C = len(q)
    return np.array(
        [
            [np.sum(q[t] * np.exp(g[i + 1 : t + 1].sum(0)) * k[i]) for i in range(m)]
            for t in range(m, C)
        ]
    )


def divided(q, k, g, m):
    gamma = np.exp(np.cumsum(g, axis=0))
    return (gamma * q)[m:] @ (k / gamma)[:m].T


def undecayed(q, k, g, m):
    return q[m:] @ k[:m].T


HALF = 2**-0.5

RIGHT = {
    "23-kda": [by_tokens, by_the_reads, one_solve],
    "23-place": [
        lambda k, c, f, v: (f * c, k, np.log(f), v),
        lambda k, c, f, v: [2 * f * c, k / 2, np.log(f), v],
    ],
    "23-border": [across, by_sums, lambda *x: across(*x).tolist()],
    "23-cycle": [
        np.array([[0, 1, -1], [1, -1, 0]]) * HALF,
        [[0, -HALF, HALF], [HALF, -HALF, 0]],
        np.array([[1, -1, 0], [1, 0, -1]]) * HALF,
    ],
}

WRONG = {
    "23-kda": [
        (one_decay_late, "later ones are not"),
        (lambda *x: one_solve(*x, own=False), "the first correction is off already"),
        (lambda S, *x: one_solve(0 * S, *x), "on an empty state"),
        (lambda S, k, v, g, beta: one_solve(S, k, v, g, beta).T, "expected one correction"),
        (lambda S, k, v, g, beta: one_solve(S, k, v, np.zeros_like(g), beta), "off already"),
    ],
    "23-place": [
        (lambda k, c, f, v: (c, k, np.log(f), v), "decays before it reads"),
        (lambda k, c, f, v: (k, f * c, np.log(f), v), "exchanged"),
        (lambda k, c, f, v: (f * c, k, f, v), "the decay itself"),
        (lambda k, c, f, v: (f * c, k, np.log(f), 2 * v), "another state"),
        (lambda k, c, f, v: (f * c, k, np.log(f)), "four arrays"),
        (lambda k, c, f, v: (f * c, k, np.log(f), v.T), "of the shape of k"),
    ],
    "23-border": [
        (divided, "your function returned NaN"),
        (lambda q, k, g, m: np.nan_to_num(divided(q, k, g, m)), "right with mild decays"),
        (undecayed, "wrong with mild decays"),
        (lambda *x: across(*x).T, "expected shape"),
    ],
    "23-cycle": [
        (np.eye(3)[:2], "becomes (-1, -2, 3)"),
        (np.array([[1, -1, 0], [0, 1, -1]]) * HALF, "the wrong way round"),
        (np.ones((2, 3)), "unit norm"),
        (np.eye(3), "expected two keys"),
    ],
}
