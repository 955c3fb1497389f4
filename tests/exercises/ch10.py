"""Answers to the exercises of chapter 10: right ones, and wrong ones with the hint they get."""

import math
from collections import OrderedDict

import numpy as np

from gdn_ref.exercises.ch10 import loops


def by_running(alpha, beta):
    x = 0
    for _ in range(1000):
        x += -(1 - alpha) * x + beta * (1 - alpha * x)
    return x


def by_halving(tokens, beta, d_k):
    """The decay between none and 50 %, found by trying."""
    low, high = -math.log(2), 0.0

    def left(g):
        return (math.exp(2 * g) * (1 - (1 - (1 - beta) ** 2) / d_k)) ** tokens

    if left(0.0) < 0.5:
        return None
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if left(middle) < 0.5 else (low, middle)
    return high


def with_alpha(tokens, beta, d_k):
    alpha = math.sqrt(0.5 ** (1 / tokens) / (1 - (2 * beta - beta**2) / d_k))
    return math.log(alpha) if alpha <= 1 else None


def horizon(tokens, beta, d_k, part=0.5, erased=lambda b: b * (2 - b)):
    g = part * (-math.log(2) / tokens - math.log1p(-erased(beta) / d_k))
    return g if g <= 0 else None


def told_apart():
    """What each loop reads and keeps of a value of 3, from a state of 1 that decays to a half."""
    one, half = np.ones((1, 1)), np.log([0.5])
    orders = {
        (1.75, 1.75): "the rule",
        (1.5, 1.5): "read, then decay",
        (1.0, 1.0): "write, then decay",
        (0.5, 1.75): "output, then write",
    }
    which = {}
    for name, loop in loops().items():
        O, S = loop(one, one, 3 * one, half, np.array([0.5]), one)
        which[name] = orders[round(O.item(), 9), round(S.item(), 9)]
    return which


def padded(q, k, v, g, beta, m, keys=0.0, strength=0.0, log_decay=0.0, where="start"):
    extra = [np.ones((m, q.shape[1])), np.full((m, k.shape[1]), keys), np.ones((m, v.shape[1]))]
    extra += [np.full(m, log_decay), np.full(m, strength)]
    pairs = zip(extra, (q, k, v, g, beta), strict=True)
    return [np.concatenate([a, b] if where == "start" else [b, a]) for a, b in pairs]


def padded_in_place(q, k, v, g, beta, m):
    T = len(q)
    for x in (q, k, v, g, beta):
        x.resize((T + m, *x.shape[1:]), refcheck=False)
        x[:] = np.roll(x, m, axis=0)
    return q, k, v, g, beta


swapped = {"ada": "write, then decay", "ben": "the rule"}
swapped |= {"cleo": "read, then decay", "dan": "output, then write"}

RIGHT = {
    "10-settles": [
        by_running,
        lambda alpha, beta: 1 / (alpha + (1 - alpha) / beta),
        lambda alpha, beta: np.linalg.solve([[1 - alpha * (1 - beta)]], [beta]).item(),
    ],
    "10-horizon": [by_halving, with_alpha],
    "10-loops": [told_apart(), OrderedDict(reversed(told_apart().items()))],
    "10-padding": [
        padded_in_place,
        lambda *x: padded(*x),
        lambda *x: padded(*x, keys=1.0),  # a strength of zero is enough
        lambda *x: tuple(a.tolist() for a in padded(*x, strength=1.5)),  # or a key of zero
    ],
}

WRONG = {
    "10-settles": [
        (lambda alpha, beta: 1.0, "settles elsewhere"),
        (lambda alpha, beta: beta / (1 - alpha + beta), "where the undecayed read settles"),
        (lambda alpha, beta: alpha * by_running(alpha, beta), "the answer before the write"),
        (lambda alpha, beta: beta / (1 - alpha), "settles elsewhere"),
        (lambda alpha, beta: beta, "settles elsewhere"),
    ],
    "10-horizon": [
        (lambda tokens, beta, d_k: -math.log(2) / (2 * tokens), "not one half"),
        (lambda *x: horizon(*x, part=1), "not one half"),
        (lambda *x: horizon(*x, erased=lambda beta: beta), "not one half"),
        (lambda *x: horizon(*x, erased=lambda beta: beta**2), "not one half"),
        (lambda *x: horizon(*x) or 0.0, "do there on its own"),
        (lambda *x: -abs(with_alpha(*x) or 1e-4), "do there on its own"),
        (lambda *x: None, "so a decay is needed"),
    ],
    "10-loops": [
        (dict.fromkeys(loops(), "the rule"), "no two loops"),
        (swapped, "2 of 4 are right"),
        ({"ben": "the rule"}, "expected an order for each of"),
        (told_apart() | {"ben": "decay, then read"}, "no order is called 'decay, then read'"),
    ],
    "10-padding": [
        (lambda *x: [np.concatenate([a[:1]] * x[-1] + [a]) for a in x[:-1]], "which two numbers"),
        (lambda *x: padded(*x, log_decay=-0.1), "which two numbers"),
        (lambda *x: padded(*x, log_decay=-math.inf), "which two numbers"),
        (lambda *x: padded(*x, keys=1.0, strength=1.0), "which two numbers"),
        (lambda *x: padded(*x, where="end"), "which two numbers"),
        (lambda *x: x[:-1], "five arrays of 12 + 20 tokens"),
    ],
}
