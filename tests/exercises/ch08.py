"""Answers to the exercises of chapter 8: right ones, and wrong ones with the hint they get."""

from itertools import chain, combinations, pairwise

import numpy as np

from gdn_ref import wy


def by_substitution(A, i, r):
    sums = {i: 1.0}
    for t in range(i + 1, r + 1):
        sums[t] = -sum(A[t, s] * sums[s] for s in range(i, t))
    return sums.get(r, 0.0)


def by_listing(A, i, r):
    if i >= r:
        return 1 if i == r else 0
    between = range(i + 1, r)
    stops = chain.from_iterable(combinations(between, n) for n in range(len(between) + 1))
    return sum(np.prod([-A[b, a] for a, b in pairwise((i, *s, r))]) for s in stops)


def by_first_arrow(A, i, r, sign=-1.0):
    if i == r:
        return 1.0
    return sign * sum(A[s, i] * by_first_arrow(A, s, r, sign) for s in range(i + 1, r + 1))


def at_most_one_stop(A, i, r):
    return (np.eye(len(A)) - A + A @ A)[r, i]


def joined(early, coupling, late, corner):
    return np.block([[early, np.zeros(coupling.T.shape)], [corner, late]])


def join_in_place(early, coupling, late):
    n, m = len(early), len(late)
    X = np.zeros((n + m, n + m))
    X[:n, :n], X[n:, n:] = early, late
    coupling *= -1
    X[n:, :n] = late @ coupling @ early
    return X


def join_by_inverting(early, coupling, late):
    """Back to I + A, and one inverse of the whole."""
    early, late = np.linalg.inv(early), np.linalg.inv(late)
    return np.linalg.inv(joined(early, coupling, late, coupling))


def recover_left(T):
    beta = np.array([T[r, r] for r in range(len(T))])
    return [beta, beta[:, None] * np.linalg.inv(T) - np.eye(len(T))]


def recover_by_rows(T):
    beta = np.diag(T)
    X = T / beta
    A = np.zeros_like(X)
    for r in range(len(X)):  # (I + A) X = I, a row at a time
        for i in reversed(range(r)):
            A[r, i] = -X[r, i] - A[r, i + 1 : r] @ X[i + 1 : r, i]
    return beta, A


def keys_with_cosine(cosine, C=64, extra=1):
    shared = np.full((C, extra), (cosine / extra) ** 0.5)
    return np.concatenate([shared, (1 - cosine) ** 0.5 * np.eye(C)], axis=1)


def square_keys(cosine, C=64):
    return np.linalg.cholesky((1 - cosine) * np.eye(C) + cosine)


RIGHT = {
    "08-paths": [
        by_substitution,
        by_listing,
        by_first_arrow,
        lambda A, i, r: np.linalg.inv(np.eye(len(A)) + A)[r, i],
        lambda A, i, r: wy.solve(A, np.eye(len(A))[:, i : i + 1])[r],
    ],
    "08-join": [
        join_in_place,
        join_by_inverting,
        lambda early, B, late: joined(early, B, late, late @ -(B @ early)),
    ],
    "08-recover": [recover_left, recover_by_rows],
    "08-breaking-keys": [
        (square_keys(0.5), np.ones(64)),
        (keys_with_cosine(0.48, extra=3), 0.98 * np.ones(64)),
        (keys_with_cosine(0.5, C=60).tolist(), [1] * 60),
    ],
}

WRONG = {
    "08-paths": [
        (lambda A, i, r: -A[r, i], "from a token to itself"),
        (lambda A, i, r: 1.0 if i == r else -A[r, i], "that is the direct edge alone"),
        (lambda A, i, r: by_first_arrow(A, i, r, sign=1.0) if i <= r else 0, "which sign does it"),
        (lambda A, i, r: np.linalg.inv(np.eye(6) - A)[r, i], "which sign does it carry"),
        (lambda A, i, r: by_substitution(A, min(i, r), max(i, r)), "no path from 5 back to 2"),
        (at_most_one_stop, "split them by their last edge"),
    ],
    "08-join": [
        (lambda early, B, late: joined(early, B, late, late @ B @ early), "the wrong sign"),
        (lambda early, B, late: joined(early, B, late, -B), "crosses over once"),
        (lambda early, B, late: joined(early, B, late, -late @ B), "crosses over once"),
        (lambda early, B, late: joined(early, B, late, -B @ early), "crosses over once"),
        (lambda early, B, late: joined(early, B, late, B).T, "the early rows need nothing"),
        (lambda early, B, late: joined(early, B, np.eye(len(late)), -B), "is known already"),
        (lambda early, B, late: late @ B @ early, "the pair has 4 rows and columns"),
    ],
    "08-recover": [
        (lambda T: (np.diag(T), T), "the strengths are right, A is not"),
        (lambda T: (np.ones(len(T)), np.linalg.inv(T) - np.eye(len(T))), "stands on the diagonal"),
        (lambda T: (np.diag(T), T / np.diag(T)), "one inversion is left"),
        (lambda T: (np.diag(T), np.linalg.inv(T)), "B is still hidden"),
        (lambda T: (np.diag(T), np.linalg.inv(T / np.diag(T)[:, None])), "A is not"),
        (lambda T: (np.diag(np.diag(T)), T), "one strength a token"),
        (lambda T: T, "two things are asked for"),
    ],
    "08-breaking-keys": [
        ((np.eye(64), np.ones(64)), "less than 1"),
        ((keys_with_cosine(0.9), np.ones(64)), "no two keys may have a cosine above"),
        ((2 * keys_with_cosine(0.2), np.ones(64)), "should have length 1"),
        ((np.full((64, 64), np.inf), np.ones(64)), "should have length 1"),
        ((keys_with_cosine(0.5), 2 * np.ones(64)), "between 0 and 1"),
        ((keys_with_cosine(0.5, C=128), np.ones(128)), "at most 64"),
        ((keys_with_cosine(0.5), 0.2 * np.ones(64)), "less than 1"),
        ((keys_with_cosine(0.5, C=16), np.ones(16)), "less than 1"),
    ],
}
