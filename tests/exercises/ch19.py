"""Answers to the exercises of chapter 19: right ones, and wrong ones with the hint they get."""

import math

import numpy as np
import torch


def one_by_one(S, x):
    for new in x:
        S = torch.cat([S[:, 1:], new[:, None]], dim=1)
    return S


def in_place(S, x):
    for new in x:
        S[:, :-1] = S[:, 1:].clone()
        S[:, -1] = new
    return S


def in_numpy(S, x):
    seen = np.concatenate([S.numpy(), x.numpy().T], axis=1)
    return seen[:, seen.shape[1] - S.shape[1] :]


def seen(S, x):
    return torch.cat([S, x.T], dim=1)


def bias(n, A, inverse=lambda s: math.log(math.expm1(s))):
    return inverse(math.log(2) / (n * A))


def rows_of(ba, H, of_b):
    """The rows that `of_b(row, width)` gives to b, where a key head has `width` rows."""
    width = len(ba) // H
    rows = np.arange(len(ba))
    is_b = of_b(rows % width, width)
    return ba[rows[is_b]], ba[rows[~is_b]]


def in_a_loop(ba, H):
    b, a = [], []
    for head in ba.chunk(H):
        first, last = head.chunk(2)
        b.append(first)
        a.append(last)
    return [torch.cat(b), torch.cat(a)]


RIGHT = {
    "19-window": [one_by_one, in_place, in_numpy, lambda S, x: seen(S, x)[:, -S.shape[1] :]],
    "19-half-life": [
        lambda n, A: math.log(2 ** (1 / (n * A)) - 1),
        lambda n, A: torch.tensor(math.log(math.expm1(math.log(2) / n / A)), dtype=torch.float64),
        lambda n, A: bias(n, A, lambda s: s + np.log(-np.expm1(-s))),
    ],
    "19-eps": [
        lambda eps, K: eps / (K**-0.5) ** 2,
        lambda eps, K: torch.tensor(eps, dtype=torch.float64) * K,
    ],
    "19-interleaved": [
        in_a_loop,
        lambda ba, H: ba.view(H, 2, -1, ba.shape[1]).transpose(0, 1).reshape(2, -1, ba.shape[1]),
        lambda ba, H: rows_of(ba, H, lambda row, width: row < width // 2),
    ],
}

WRONG = {
    "19-window": [
        (lambda S, x: torch.cat([S[:, 1:], x.T], dim=1), "W = 4, 3 new inputs: shape"),
        (lambda S, x: x.T[:, -S.shape[1] :], "W = 4, 1 new inputs: shape"),
        (lambda S, x: seen(S, x)[:, : S.shape[1]], "which are the last inputs seen"),
        (lambda S, x: seen(S, x)[:, -S.shape[1] :].flip(1), "the oldest comes first"),
        (lambda S, x: seen(S, x)[:, -S.shape[1] - 1 : -1], "which are the last inputs seen"),
        (lambda S, x: seen(S, x)[:, -S.shape[1] :].mT, "shape [3, 5], not [5, 3]"),
    ],
    "19-half-life": [
        (lambda n, A: bias(n, A, math.log), "softplus is not exp"),
        (lambda n, A: bias(n, math.exp(A)), "half is gone after"),
        (lambda n, A: bias(n, 1.0), "half is gone after"),
        (lambda n, A: math.log(math.expm1(1 / (n * A))), "half is gone after"),
        (lambda n, A: -bias(n, A), "half is gone after"),
    ],
    "19-eps": [
        (lambda eps, K: eps * K**0.5, "is too small"),
        (lambda eps, K: eps, "is too small"),
        (lambda eps, K: eps / K, "is too small"),
        (lambda eps, K: eps * K**2, "is too large"),
    ],
    "19-interleaved": [
        (lambda ba, H: ba.chunk(2), "some rows of b are another's"),
        (lambda ba, H: (ba[::2], ba[1::2]), "some rows of b are another's"),
        (lambda ba, H: in_a_loop(ba, H)[::-1], "some rows of b are another's"),
        (lambda ba, H: rows_of(ba, H, lambda row, width: row == 0), "b has shape"),
        (lambda ba, H: (in_a_loop(ba, H)[0], ba.chunk(2)[1]), "some rows of a are another's"),
    ],
}
