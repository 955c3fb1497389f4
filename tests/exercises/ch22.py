"""Answers to the exercises of chapter 22: right ones, and wrong ones with the hint they get."""

import math

import numpy as np


def by_visits(p):
    """Boxes less cycles, those of one box among the latter."""
    seen, count = set(), 0
    for start in range(len(p)):
        count += start not in seen
        while start not in seen:
            seen.add(start)
            start = p[start]
    return len(p) - count


def by_rank(p):
    return int(np.linalg.matrix_rank(np.eye(len(p))[list(p)] - np.eye(len(p))))


def moved(p):
    return sum(i != x for i, x in enumerate(p))


def keys(*swaps):
    found = np.zeros((len(swaps), 4))
    for row, (i, j) in zip(found, swaps, strict=True):
        row[i], row[j] = math.sqrt(0.5), -math.sqrt(0.5)
    return found


def at(angle):
    return np.array([math.cos(angle), math.sin(angle)])


def key(x, place, m):
    return at((-1 if place % 2 else 1) * math.pi * x / m)


def logit(n, left):
    rho = left ** (1 / n)
    return math.log((1 + rho) / (1 - rho))


def by_bisection(n, left):
    low, high = 0.0, 60.0
    for _ in range(200):
        b = (low + high) / 2
        low, high = (b, high) if math.tanh(b / 2) ** n < left else (low, b)
    return b


RIGHT = {
    "22-share": [lambda keep: 2 - 2 * keep, lambda keep: np.float64((1 - keep) / 0.5)],
    "22-steps": [by_visits, by_rank, lambda p: float(by_visits(p))],
    "22-round-trip": [
        keys((2, 3), (1, 2), (0, 1)),
        -keys((2, 3), (1, 2), (0, 1)),
        keys((0, 1), (0, 2), (0, 3)),
    ],
    "22-alternate": [
        key,
        lambda x, place, m: -key(x, place, m),
        lambda x, place, m: at(0.3 + (-1) ** place * math.pi * x / m),
    ],
    "22-reach": [logit, by_bisection, lambda n, left: 2 * math.atanh(left ** (1 / n))],
}

WRONG = {
    "22-share": [
        (lambda keep: 1 - keep, "of the read along the key"),
        (lambda keep: 2 * keep, "the box keeps"),
        (lambda keep: 2.0, "the box keeps"),
    ],
    "22-steps": [
        (lambda p: max(moved(p) - 1, 0), "it has more than one cycle"),
        (moved, "fewer than 2 steps do"),
        (lambda p: moved(p) // 2, "steps are too few"),
        (lambda p: 0.5, "expected a number of steps"),
    ],
    "22-round-trip": [
        (keys((0, 1), (1, 2), (2, 3)), "in the reverse order"),
        (keys((0, 1), (2, 3), (0, 1)), "(1, 2, 3, 4) becomes"),
        (2 * keys((2, 3), (1, 2), (0, 1)), "of length 1"),
        (keys((2, 3), (1, 2)), "expected three keys"),
    ],
    "22-alternate": [
        (lambda x, place, m: at(math.pi * x / m), "does not end where it should"),
        (lambda x, place, m: key(-x, place, m), "the other way round"),
        (lambda x, place, m: 2 * key(x, place, m), "of length 1"),
        (lambda x, place, m: [1.0], "of two entries"),
    ],
    "22-reach": [
        (lambda n, left: math.log(left ** (1 / n) / (1 - left ** (1 / n))), "the strength less 1"),
        (lambda n, left: math.log(2 * n / math.log(2)), "the share is"),
        (lambda n, left: 5.0, "the share is"),
    ],
}
