"""Answers to the exercises of chapter 21: right ones, and wrong ones with the hint they get."""

import math
from itertools import product

import numpy as np

from gdn_ref.experiments.training import T_975


def by_search(n, x):
    return next(d for d in range(1, n + 1) if n / d - 1 <= x + 1e-12)


def by_transitions(q, k, g, beta):
    """Each write, carried on by the tokens after it."""
    n, d = k.shape
    rows = []
    for i in range(n):
        z = beta[i] * k[i]
        for t in range(i + 1, n):
            z = np.exp(g[t]) * (z - beta[t] * (z @ k[t]) * k[t])
        rows.append(z)
    return q @ np.array(rows).T


def by_rows(q, k, g, beta):
    S = np.zeros((len(k), k.shape[1]))
    for t in range(len(k)):
        S = S * np.exp(g[t])
        S = S - beta[t] * np.outer(S @ k[t], k[t])
        S[t] = S[t] + beta[t] * k[t]
    return q @ S.T


def counted(r, N):
    total = 0
    for values in product(range(N), repeat=r):
        total += max(values.count(v) for v in values) / r
    return total / N**r


def drawn(r, N):
    """The most frequent value by its count: P(at least m times) summed, for N of any size."""
    lists = np.array(list(product(range(N), repeat=r)))
    return np.mean([np.bincount(row).max() for row in lists]) / r


def paired(one, other, quantile=None, ddof=1):
    apart = np.asarray(one) - np.asarray(other)
    n = len(apart)
    half = (quantile or T_975[n - 2]) * apart.std(ddof=ddof) / math.sqrt(n)
    return apart.mean() - half, apart.mean() + half


def apart(one, other):
    n = len(one)
    half = T_975[n - 2] * math.sqrt((one.var(ddof=1) + other.var(ddof=1)) / n)
    middle = one.mean() - other.mean()
    return middle - half, middle + half


def spoiling(one, other):
    one -= other
    return paired(one, 0 * one)


RIGHT = {
    "21-width": [by_search, lambda n, x: max(1, -int(-(n / (1 + x) - 1e-9) // 1))],
    "21-weights": [by_transitions, by_rows],
    "21-blind": [counted, drawn],
    "21-seeds": [paired, lambda *x: list(paired(*x))],
}

WRONG = {
    "21-width": [
        (lambda n, x: n, "columns would do"),
        (lambda n, x: math.ceil((n - 1) / (1 + x)), "the floor is above x"),
        (lambda n, x: n / (1 + x), "expected a whole number"),
        (lambda n, x: int(n / (1 + x)), "the floor is above x"),
    ],
    "21-weights": [
        (lambda q, k, g, beta: q @ k.T, "which values would show one weight each"),
        (lambda *x: by_rows(*x).T, "the other way round"),
        (lambda q, k, g, beta: by_rows(q, k, 0 * g, beta), "off by"),
        (lambda q, k, g, beta: by_rows(q, k, g, beta)[:, :1], "expected shape"),
    ],
    "21-blind": [
        (lambda r, N: 1 / r, "two of the values may be equal"),
        (lambda r, N: 1 / r + 1 / N, "is too large"),
        (lambda r, N: 0.5 / r + 0.1 / N, "is too small"),
        (lambda r, N: (1 + 1 / N) / 2 if r == 2 else 1 / r, "may be equal"),
    ],
    "21-seeds": [
        (lambda a, b: paired(a, b, 1.96), "too narrow for so few seeds"),
        (apart, "too wide; both models of a seed"),
        (lambda a, b: paired(b, a), "not about the mean difference"),
        (lambda a, b: paired(a, b, T_975[len(a) - 3]), "how many degrees of freedom"),
        (lambda a, b: paired(a, b)[::-1], "the lower one first"),
        (spoiling, "one is to stay as it is"),
    ],
}
