"""Answers to the exercises of chapter 13: right ones, and wrong ones with the hint they get."""

import math

import numpy as np
import torch


def size(p):
    return 2.0**-p / np.sqrt(8 * np.log(2))


def cut_by_numbers(p):
    """The mean over a fine grid of errors and of significands."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    error = (nodes + 1) * 2.0**-p
    significand = 2.0 ** (0.5 + nodes / 2)
    square = (weights / 2) @ np.outer(error**2, significand**-2.0) @ (weights / 2)
    return math.sqrt(square)


def product(X, Y, rho_x, rho_y):
    total = sum((rho_x**2 + rho_y**2) * np.sum(np.outer(X[:, i], Y[i]) ** 2) for i in range(len(Y)))
    return math.sqrt(total / np.sum((X @ Y) ** 2))


def by_rows(g):
    """Row by row: each is the one before, decayed, with a one more."""
    rows = [torch.eye(len(g))[0]]
    for r in range(1, len(g)):
        rows.append(rows[-1] * g[r].exp() + torch.eye(len(g))[r])
    return torch.stack(rows)


def by_sums(g, dtype=torch.float32, masked=True):
    c = g.to(dtype).cumsum(0)
    below = torch.ones(len(g), len(g)).tril().bool()
    found = (c[:, None] - c[None, :]).exp()
    return torch.where(below, found, 0) if masked else found


def bits(alpha, beta, d_k, tolerance, power=2):
    shrinks = alpha**power * (1 - beta * (2 - beta) / d_k)
    p = 1
    while size(p) / math.sqrt(1 - shrinks) > tolerance:
        p += 1
    return p


RIGHT = {
    "13-cut": [lambda p: 2 * size(p), lambda p: size(p - 1), cut_by_numbers],
    "13-product": [
        product,
        lambda X, Y, a, b: math.hypot(product(X, Y, a, 0), product(X, Y, 0, b)),
    ],
    "13-reset": [by_rows, lambda g: by_rows(g.double())],
    "13-strength": [
        lambda c, most: 2.0 if c * 2 <= 2 - 2 / most**2 else 2 * (1 - most**-2) / c,
        lambda c, most: float(np.clip((2 - 2 / most**2) / max(c, 1e-9), 0, 2)),
    ],
    "13-bits": [bits, lambda *x: float(bits(*x))],
}  # fmt: skip

WRONG = {
    "13-cut": [
        (size, "that is rounding to nearest"),
        (lambda p: 2.0**-p, "how large is the error"),
        (lambda p: 2.0 ** (1 - p) / math.sqrt(3), "how is it spread"),
    ],
    "13-product": [
        (lambda X, Y, a, b: math.hypot(a, b), "too small"),
        (lambda X, Y, a, b: product(X, Y, a, b) ** 2, "that is the mean square"),
        (lambda X, Y, a, b: product(X, Y, a + b, 0), "too large"),
        (lambda X, Y, a, b: product(X, Y, a, 0), "too small"),
    ],
    "13-reset": [
        (by_sums, "with a log-decay of -10000.0: row"),
        (lambda g: by_sums(g, torch.float64), "your function returned NaN"),
        (lambda g: by_sums(g, masked=False), "above the diagonal something is not zero"),
        (lambda g: by_rows(g)[:-1], "expected shape (24, 24)"),
        (lambda g: by_rows(g.clamp_(min=-50)), "g is to stay as it is"),
    ],
    "13-strength": [
        (lambda c, most: 2.0, "the gain passes it"),
        (lambda c, most: min(2.0, 2 - 2 / most**2), "a larger strength would do"),
        (lambda c, most: (2 - 2 / most**2) / max(c, 0.01), "expected a strength from 0 to 2"),
    ],
    "13-bits": [
        (lambda a, b, d, tolerance: math.ceil(-math.log2(tolerance)), "the error is larger"),
        (lambda *x: bits(*x) + 1, "bits would do"),
        (lambda *x: bits(*x) + 0.5, "expected a whole number"),
        (lambda *x: bits(*x, power=4), "bits"),
    ],
}
