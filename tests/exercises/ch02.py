"""Answers to the exercises of chapter 2: right ones, and wrong ones with the hint they get."""

import math
from zlib import crc32

import numpy as np
import torch

from gdn_ref.proofs.data import unit


def pairs_by_trying(d_k, length):
    n = 1
    while n / d_k <= length * length:
        n += 1
    return n


def hadamard():
    two = np.array([[1, 1], [1, -1]])
    return np.kron(two, two) / 2


def harmonic():
    """Two cosines and two sines, of odd frequency, at eight points of a half circle."""
    angles = np.pi * np.arange(8)[:, None] * np.array([1, 3]) / 8
    return np.hstack([np.cos(angles), np.sin(angles)]) / np.sqrt(2)


def one_value_at_a_time(K, V):
    U = np.linalg.inv(K @ K.T)
    return np.stack([U @ v for v in V.T], axis=1)


def centred_in_place(X):
    X -= X.mean(axis=0)
    X /= np.linalg.norm(X, axis=1)[:, None]
    return X


def white(X):
    X = X - X.mean(axis=0)
    return unit(X @ np.linalg.inv(np.linalg.cholesky(X.T @ X)).T)


def random_by_size(X):
    """Keys at random, in the order of the features' sums."""
    keys = np.empty_like(X)
    keys[np.argsort(X.sum(axis=1))] = unit(np.random.default_rng(0).normal(size=X.shape))
    return keys


def random_by_features(X):
    seeds = [crc32(x.tobytes()) for x in X]
    return unit(np.stack([np.random.default_rng(s).normal(size=X.shape[1]) for s in seeds]))


def write_in_place(S, k, v):
    S += np.outer(v - S @ k, k)
    return S


RIGHT = {
    "02-pairs": [
        pairs_by_trying,
        lambda d_k, length: 1 + math.floor(d_k * length * length),
        lambda d_k, length: float(np.floor(1 + d_k * length**2)),
    ],
    "02-spread": [
        np.concatenate([np.eye(4), hadamard()]),
        harmonic().tolist(),
        torch.cat([torch.eye(4), -torch.from_numpy(hadamard()).float()]),
    ],
    "02-corrected-values": [
        one_value_at_a_time,
        lambda K, V: np.linalg.pinv(K).T @ (np.linalg.pinv(K) @ V),
        lambda K, V: torch.linalg.solve(*(torch.from_numpy(x) for x in (K @ K.T, V))),
    ],
    "02-centre": [
        centred_in_place,
        white,
        lambda X: unit(X - X.mean(axis=1, keepdims=True)),  # for features that are alike
        lambda X: unit(X - np.mean(X)),
        lambda X: unit(np.linalg.svd(X - X.mean(0), full_matrices=False)[0]),
    ],
    "02-overwrite": [
        write_in_place,
        lambda S, k, v: S - np.outer(S @ k, k) + np.outer(v, k),
        lambda S, k, v: S @ (np.eye(len(k)) - k[:, None] * k) + v[:, None] * k,
    ],
}

WRONG = {
    "02-pairs": [
        (lambda d_k, length: int(d_k * length) + 1, "more than 0.5; is the formula about"),
        (lambda d_k, length: int(d_k * length**2) + 2, "about lengths or about squares"),
        (lambda d_k, length: pairs_by_trying(d_k, length) if length > 0.1 else 0, "a single pair"),
        (lambda d_k, length: max(1, int(d_k * length**2)), "room for more than 128 pairs"),
        (lambda d_k, length: math.ceil(d_k * length**2), "room for more than 128 pairs"),
        (lambda d_k, length: d_k * length**2 + 1, "a whole number of pairs"),
        (lambda d_k, length: 2**d_k, "about lengths or about squares"),
    ],
    "02-spread": [
        (np.concatenate([np.eye(4), np.eye(4)]), "equal or opposite"),
        (np.concatenate([np.eye(4), -np.eye(4)]), "equal or opposite"),
        (np.concatenate([np.eye(4), 2 * hadamard()]), "should have length one"),
        (unit(np.random.default_rng(1).normal(size=(8, 4))), "the floor is 1"),
        (harmonic().T, "of shape (8, 4)"),
    ],
    "02-corrected-values": [
        (lambda K, V: V, "the values themselves"),
        (lambda K, V: K @ K.T @ V, "which matrix stands between"),
        (lambda K, V: V / np.diag(K @ K.T)[:, None], "the values themselves"),
        (lambda K, V: np.linalg.solve(np.tril(K @ K.T), V), "the read at key 1"),
        (lambda K, V: np.inf * V, "some of the values are not finite"),
        (lambda K, V: np.linalg.pinv(K) @ V, "of shape (5, 3), got (8, 3)"),
    ],
    "02-centre": [
        (unit, "what do all keys have in common"),
        (lambda X: X - X.mean(axis=0), "should have length one"),
        (lambda X: unit(X) - unit(X).mean(axis=0), "should have length one"),
        (lambda X: unit(np.random.default_rng(0).normal(size=X.shape)), "the same features"),
        (lambda X: unit(np.random.normal(size=X.shape)), "the same features"),
        (random_by_size, "the same features"),
        (random_by_features, "the same features"),
        (lambda X: unit(X - X.mean(0)) * (-1.0) ** np.arange(len(X))[:, None], "the same features"),
    ],
    "02-overwrite": [
        (lambda S, k, v: S + np.outer(v, k), "the old answer plus the new value"),
        (lambda S, k, v: np.outer(v, k), "orthogonal to k have changed"),
        (lambda S, k, v: S + 0.5 * np.outer(v - S @ k, k), "the read at k is not v"),
        (lambda S, k, v: S - np.outer(S @ k, k), "the read at k is not v"),
        (lambda S, k, v: (S + np.outer(v - S @ k, k)).T, "expected state of shape"),
    ],
}
