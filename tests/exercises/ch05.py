"""Answers to the exercises of chapter 5: right ones, and wrong ones with the hint they get."""

import math

import numpy as np

from gdn_ref import delta_rule


def step(S, q, k, v, beta):
    return delta_rule.step(S, q, k, v, np.asarray(beta))


def step_in_place(S, q, k, v, beta):
    v -= S @ k
    S += np.outer(beta * v, k)
    return S @ q, S


def erase_and_write(S, q, k, v, beta):
    S = S @ (np.eye(len(k)) - beta * np.outer(k, k)) + beta * v[:, None] * k
    return [float(row @ q) for row in S], S.tolist()


def normalised(S, q, k, v, beta):
    return step(S, q, k / np.linalg.norm(k), v, beta)


def corrections_in_place(R, G, beta):
    R *= beta[:, None]
    R[1] -= beta[1] * G[0, 1] * R[0]
    return R


def by_a_solve(R, G, beta):
    return np.linalg.solve(np.eye(2) + np.tril(beta[:, None] * G, -1), beta[:, None] * R)


def by_rows(R, G, beta, weight=lambda G, beta: beta[0] * beta[1] * G[0, 1]):
    return [beta[0] * R[0], beta[1] * R[1] - weight(G, beta) * R[0]]


RIGHT = {
    "05-clear": [
        lambda S, k: (S @ k / 2, 2 / (k @ k)),  # another value, another strength
        lambda S, k: (0 * S[:, 0], float(np.linalg.norm(k) ** -2)),
        lambda S, k: (-(S @ k), 0.5 / sum(k**2)),
        lambda S, k: ([0] * len(S), np.array(1 / np.inner(k, k))),
    ],
    "05-rounds": [
        lambda c: c * c,
        lambda c: 1 - np.sin(np.arccos(c)) ** 2,
        lambda c: (1 + math.cos(2 * math.acos(c))) / 2,
    ],
    "05-faulty": [step, step_in_place, erase_and_write],
    "05-two-at-once": [corrections_in_place, by_a_solve, by_rows],
}

WRONG = {
    "05-clear": [
        (lambda S, k: (np.zeros(3), 1.0), "for a key of length 2"),
        (lambda S, k: (np.zeros(3), 1 / np.linalg.norm(k)), "for a key of length 2"),
        (lambda S, k: (np.ones(3), 1 / (k @ k)), "of the answer's size is left"),
        (lambda S, k: (-(S @ k), 1 / (k @ k)), "of the answer's size is left"),
        (lambda S, k: (np.zeros(5), 1 / (k @ k)), "one entry a row of S"),
        (lambda S, k: (np.full(3, math.inf), 1.0), "is not finite"),
        (lambda S, k: (np.full(3, 1e12), 1.0), "how large are your numbers"),
    ],
    "05-rounds": [
        (lambda c: c, "too large"),
        (lambda c: -(c**2), "of the wrong sign"),
        (lambda c: c**4, "too small"),
        (lambda c: 1 - c**2, "too large"),
    ],
    "05-faulty": [
        (normalised, "with a key of length 2"),
        (lambda S, q, *x: (S @ q, step(S, q, *x)[1]), "the output is not: when is it read"),
        (lambda S, q, k, v, beta: step(S, q, q, v, beta), "with another q"),
        (
            lambda S, q, k, v, beta: step(S, q, k / np.sqrt(k @ k), v, beta * (k @ k)),
            "with a key of length 2",
        ),
        (lambda S, q, k, v, beta: (S @ q, S + beta * np.outer(v, k)), "the new memory is off"),
        (lambda *x: step(*x)[::-1], "in this order"),
    ],
    "05-two-at-once": [
        (lambda R, G, beta: beta[:, None] * R, "by how much"),
        (lambda *x: by_rows(*x, weight=lambda G, b: b[1] * G[0, 1]), "by how much"),
        (lambda *x: by_rows(*x, weight=lambda G, b: -b[0] * b[1] * G[0, 1]), "by how much"),
        (
            lambda *x: by_rows(*x, weight=lambda G, b: b[0] * b[1] * G[0, 1] / G[0, 0]),
            "by how much",
        ),
        (lambda R, G, beta: by_a_solve(R, G, beta)[0], "shape (2, 3)"),
        (lambda R, G, beta: R, "nothing comes before this token"),
    ],
}
