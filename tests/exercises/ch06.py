"""Answers to the exercises of chapter 6: right ones, and wrong ones with the hint they get."""

import numpy as np


def transition(k, beta):
    return np.eye(len(k)) - beta * np.outer(k, k)


def direction(degrees):
    return np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])


def keys_at(*degrees):
    return tuple(map(direction, degrees))


def what_is_left(k1, beta1, k2, beta2):
    """The part of one key across the other, in place; a strength of zero has its own line."""
    if abs(beta1 * beta2) < 1e-12 or abs(k1 @ k2) < 1e-12:
        return True
    k2 -= (k1 @ k2) / (k1 @ k1) * k1
    return np.linalg.norm(k2) < 1e-12


def on_a_probe(k1, beta1, k2, beta2):
    """Both orders on one vector at random, a token at a time."""

    def after(x, k, beta):
        return x - beta * (k @ x) * k

    x = np.random.default_rng(0).normal(size=len(k1))
    one = after(after(x, k1, beta1), k2, beta2)
    two = after(after(x, k2, beta2), k1, beta1)
    return bool(max(abs(one - two)) < 1e-12)


def by_size(k1, beta1, k2, beta2):
    dot = sum(x * y for x, y in zip(k1, k2, strict=True))
    return abs(beta1 * beta2 * dot * (k1 @ k1 * (k2 @ k2) - dot * dot)) < 1e-12


def by_matrices(k1, beta1, k2, beta2):
    one, two = transition(k1, beta1), transition(k2, beta2)
    return np.abs(one @ two - two @ one).max() < 1e-12


def by_outer_product(k1, beta1, k2, beta2):
    wedge = k1[:, None] * k2[None, :]
    wedge -= wedge.T
    return min(abs(beta1 * beta2), abs(k1 @ k2), np.abs(wedge).max()) < 1e-12


def symmetric_product(k1, beta1, k2, beta2):
    product = np.dot(transition(k1, beta1), transition(k2, beta2))
    return np.abs(product - product.T).max() < 1e-12


RIGHT = {
    "06-eigenvalues": [
        (-3.15, 0.9, 0.9),
        np.linalg.eigvalsh(0.9 * transition(np.array([1, 2, 2]), 0.5)),
        np.array([[0.9], [-63 / 20], [9 / 10]]),
    ],
    "06-erase": [
        lambda k: np.linalg.norm(k) ** -2,
        lambda k: np.array(1 / sum(k**2)),
        lambda k: float(np.reciprocal(np.inner(k, k))),
    ],
    "06-quarter-turn": [
        keys_at(10, 55),
        keys_at(0, -135),  # a key and its opposite reflect alike
        np.stack(keys_at(90, 135)),
        [(1, 0), (0.70710678, 0.70710678)],
    ],
    "06-commute": [what_is_left, on_a_probe, by_size],
    "06-parity": [
        lambda bit: ([-1, 0], 2 if bit else 0),
        lambda bit: ((1.0, 0.0), 2.0) if bit else ((0.0, 1.0), 0.7),
        lambda bit: (np.eye(2)[1 - bit], 2.0),
    ],
}

WRONG = {
    "06-eigenvalues": [
        ([1, 1, -3.5], "without the gate"),
        ([0.9, -3.15], "a 3 x 3 matrix has three eigenvalues"),
        ([0.9, 0.9, 0.9 * (1 - 0.5 * 3)], "which power of the key's length"),
        ([0.9, -3.15, -3.15], "two such directions"),
        ([0.9, 0.9, 0.45], "which power of the key's length"),
    ],
    "06-erase": [
        (lambda k: 1.0, "for a key of length 2, -300 %"),
        (lambda k: 0.25, "for a key of length 1, 75 %"),
        (lambda k: 1 / np.linalg.norm(k), "for a key of length 2, -100 %"),
        (lambda k: 2 / (k @ k), "-100 % of the old answer"),
        (lambda k: 1 / k**2, "beta is one number"),
        (lambda k: 1 / len(k), "for a key of length 1, 75 %"),
    ],
    "06-quarter-turn": [
        (keys_at(0, 0), "turn by 0 degrees"),
        (keys_at(0, 90), "turn by 180 degrees"),
        (keys_at(45, 0), "turn by -90 degrees"),
        (((1, 0), (1, 1)), "the second key has length 1.4142136, not 1"),
        ((np.eye(3)[0], np.eye(3)[1]), "should have two entries"),
    ],
    "06-commute": [
        (by_matrices, "with a matrix"),
        (by_outer_product, "with a matrix"),
        (symmetric_product, "with a matrix"),
        (lambda k1, b1, k2, b2: abs(k1 @ k2) < 1e-12, "the same key twice"),
        (lambda k1, b1, k2, b2: np.array_equal(k1, k2), "opposite keys"),
        (lambda k1, b1, k2, b2: what_is_left(k1, 1, k2, 1), "a token of strength 0"),
        (lambda k1, b1, k2, b2: abs(np.linalg.norm(np.cross(k1, k2))) < 1e-12, "orthogonal keys"),
    ],
    "06-parity": [
        (lambda bit: (np.array([1.0, 0.0]), 1.0 * bit), "after the bits 1"),
        (lambda bit: (np.array([0.0, 1.0]), 2.0 * bit), "after the bits 1"),
        (lambda bit: (np.array([1.0, 0.0]), 2.0), "after the bits 0"),
        (lambda bit: (np.array([2.0, 0.0]), 0.5 * bit), "a unit vector"),
        (lambda bit: (np.array([1.0, 0.0]), -2.0 * bit), "outside 0 to 2"),
        (lambda bit: (direction(45), 2.0 * bit), "after the bits 1"),
    ],
}
