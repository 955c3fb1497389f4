"""Answers to the exercises of chapter 9: right ones, and wrong ones with the hint they get."""

import math

import numpy as np

from gdn_ref import delta_rule, wy


def early_in_place(S, w, u, q, k):
    u -= w @ S.T
    O = q @ S.T + np.tril(q @ k.T) @ u
    S += u.T @ k
    return O, S


def early_by_tokens(S, w, u, q, k):
    delta = [u_t - S @ w_t for u_t, w_t in zip(u, w, strict=True)]
    outputs = []
    for q_t, k_t, delta_t in zip(q, k, delta, strict=True):
        S = S + np.outer(delta_t, k_t)
        outputs.append(S @ q_t)
    return [outputs, S]


def early_split(S, w, u, q, k):
    """What an empty state would give, plus what the old state adds."""
    scores = np.tril(q @ k.T)
    return scores @ u + (q - scores @ w) @ S.T, S - S @ (w.T @ k) + u.T @ k


def early_with(S, w, u, q, k, read=1, mask=0, add=1):
    delta = u - read * w @ S.T
    return add * q @ S.T + np.tril(q @ k.T, mask) @ delta, S + delta.T @ k


def by_unit_values(q, k, beta):
    """What each token's own direction would come back as."""
    return delta_rule.recurrent(q, k, np.eye(len(q)), beta)[0]


def by_substitution(q, k, beta):
    T = np.diag(beta)
    for r in range(1, len(q)):
        T[r] -= beta[r] * (k[:r] @ k[r]) @ T[:r]
    return np.tril(q @ k.T) @ T


def of_a_solve(q, k, beta, right=np.diag, scores=np.tril):
    return scores(q @ k.T) @ np.linalg.solve(np.eye(len(q)) + wy.interaction(k, beta), right(beta))


def divisors(T):
    return [C for C in range(2, T + 1) if T % C == 0]


def nearest(T, distance=lambda C, best: abs(C - best)):
    return min(divisors(T), key=lambda C: distance(C, math.sqrt(2 * T)))


RIGHT = {
    "09-deltas": [
        np.array([[1.0, 1.0], [-0.5, 1.0]]),
        ((1, 1), (-1 / 2, 1)),
        np.linalg.solve([[1, 0], [0.5, 1]], [[1, 1], [0, 1.5]]),
    ],
    "09-early": [early_in_place, early_by_tokens, early_split],
    "09-attention": [
        by_unit_values,
        by_substitution,
        lambda q, k, beta: (
            np.tril(q @ k.T) @ (np.linalg.inv(np.eye(len(q)) + wy.interaction(k, beta)) * beta)
        ),
    ],
    "09-chunk-size": [
        lambda T: min(divisors(T), key=lambda C: 2 * T / C + C),
        lambda T: nearest(T, lambda C, best: abs(math.log(C / best))),  # the sum is even there
        lambda T: float(divisors(T)[np.argmin([2 * T // C + C for C in divisors(T)])]),
    ],
}

WRONG = {
    "09-deltas": [
        ([[1, 1], [-0.1, 0.8]], "row 2: which entry has A now"),
        ([[1, 1], [0, 1.5]], "row 2: which entry has A now"),
        ([[1, 1], [-1, 2]], "row 2: which entry has A now"),
        ([[2, 1], [-0.5, 1]], "row 1: nothing comes before it"),
        ([1, 1, -0.5, 1], "yours is (4,)"),
    ],
    "09-early": [
        (lambda *x: early_with(*x, read=0), "right for an empty state"),
        (lambda *x: early_with(*x, read=-1), "right for an empty state"),
        (lambda *x: early_with(*x, add=0), "the outputs: right for an empty state"),
        (lambda *x: early_with(*x, mask=-1), "the outputs: off by"),
        (lambda *x: early_with(*x)[::-1], "the new state: expected shape (7, 12)"),
        (lambda S, w, u, q, k: early_with(S, k, u, q, k), "right for an empty state"),
    ],
    "09-attention": [
        (lambda q, k, beta: np.tril(q @ k.T), "already the first token's"),
        (lambda q, k, beta: np.tril(q @ k.T) * beta, "the first token is right, later"),
        (lambda *x: of_a_solve(*x, right=lambda beta: np.eye(len(beta))), "already the first"),
        (lambda *x: of_a_solve(*x, scores=lambda s: s), "a token sees a later one"),
        (lambda *x: of_a_solve(*x, scores=lambda s: np.tril(s, -1)), "already the first token's"),
        (lambda q, k, beta: of_a_solve(q, k, beta) @ k, "yours is (9, 12)"),
        (lambda q, k, beta: of_a_solve(k, k, beta), "already the first token's"),
    ],
    "09-chunk-size": [
        (nearest, "for T = 26: 29 products"),
        (lambda T: 64, "another size has fewer"),
        (lambda T: min(64, T), "another size has fewer"),
        (lambda T: round(math.sqrt(2 * T)), "no whole number from 2 on that divides T"),
        (lambda T: 1, "no whole number from 2 on"),
        (lambda T: nearest(T, lambda C, best: (C < best, C)), "another size has fewer"),
    ],
}
