"""Answers to the exercises of chapter 7: right ones, and wrong ones with the hint they get."""

import numpy as np


def one_more(W, K, row, k):
    return np.vstack([W, row]), np.vstack([K, k])


def from_the_keys(W, K, k, beta):
    """Through the product: P^r k is what is left of the key."""
    P = np.eye(len(k)) - W.T @ K
    return [*W, beta * P @ k], [*K, k]


def row_of_a_solve(W, K, k, beta):
    w = beta * k - beta * sum((k_i @ k) * w_i for k_i, w_i in zip(K, W, strict=True))
    return np.append(W, w[None], axis=0), np.append(K, k[None], axis=0)


def in_the_old_array(W, K, k, beta):
    row = beta * (k - (K @ k) @ W)
    W *= 1.0 - 1e-3
    return one_more(W, K, row, k)


def in_the_old_keys(W, K, k, beta):
    row = beta * (k - (K @ k) @ W)
    K += k
    return one_more(W, K - k, row, k)


def merge_in_place(first, then):
    (W1, U1, K1), (W2, U2, K2) = first, then
    overlap = W2 @ K1.T
    W2 -= overlap @ W1
    U2 -= overlap @ U1
    return [np.concatenate(pair) for pair in ((W1, W2), (U1, U2), (K1, K2))]


def merge_by_rows(first, then):
    rows = [list(x) for x in first]
    for w, u, k in zip(*then, strict=True):
        W1, U1, K1 = first
        rows[0].append(w - (K1 @ w) @ W1)
        rows[1].append(u - (K1 @ w) @ U1)
        rows[2].append(k)
    return tuple(map(np.array, rows))


def merge(first, then, overlap, K=lambda K1, K2: (K1, K2)):
    (W1, U1, K1), (W2, U2, K2) = first, then
    G = overlap(W1, K1, W2, K2)
    return np.vstack([W1, W2 - G @ W1]), np.vstack([U1, U2 - G @ U1]), np.vstack(K(K1, K2))


def as_one_product(St, W, U, K):
    return St + np.hstack([K.T, -K.T]) @ np.vstack([U, W @ St])


def after_in_place(St, W, U, K):
    U -= W @ St
    St += K.T @ U
    return St


def by_token(St, W, U, K):
    old = St.copy()
    for w, u, k in zip(W, U, K, strict=True):
        St = St + k[:, None] * (u - w @ old)
    return St


def keys_at(*degrees):
    angles = np.radians(degrees)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


RIGHT = {
    "07-one-more-row": [from_the_keys, row_of_a_solve],
    "07-merge": [
        merge_in_place,
        merge_by_rows,
        lambda *runs: merge(*runs, overlap=lambda W1, K1, W2, K2: (K1 @ W2.T).T),
    ],
    "07-transposed": [as_one_product, after_in_place, by_token],
    "07-nothing": [
        (keys_at(10, 70, 95, 35), np.full(4, 2)),
        (keys_at(0, 100, 145, 45).tolist(), [2, 2, 2, 2]),
        [keys_at(0, 60, 90, 30), 2 * np.ones(4)],
    ],
}

WRONG = {
    "07-one-more-row": [
        (in_the_old_array, "the old W is to stay as it is"),
        (in_the_old_keys, "the old K is to stay as it is"),
        (lambda W, K, k, beta: one_more(W, K, beta * k, k), "the new row of W is off"),
        (lambda W, K, k, b: one_more(W, K, b * (k + (K @ k) @ W), k), "the new row of W is off"),
        (lambda W, K, k, b: one_more(W, K, b * (k - (W @ k) @ K), k), "the new row of W is off"),
        (lambda W, K, k, b: one_more(W, K, b * k - (K @ k) @ W, k), "the new row of W is off"),
        (lambda W, K, k, b: one_more(W, k, b * (k - (K @ k) @ W), K), "oldest first"),
        (lambda W, K, k, b: one_more(W - b * np.outer(W @ k, k), K, b * k, k), "do not change"),
        (lambda W, K, k, b: (b * (k - (K @ k) @ W), k), "should have shape (2, 6)"),
    ],
    "07-merge": [
        (lambda *runs: merge(*runs, lambda W1, K1, W2, K2: np.zeros((len(W2), len(W1)))), "W, cut"),
        (lambda *runs: merge(*runs, lambda W1, K1, W2, K2: -W2 @ K1.T), "W, cut after 1"),
        (lambda *runs: merge(*runs, lambda W1, K1, W2, K2: K2 @ W1.T), "W, cut after 1"),
        (lambda first, then: merge_by_rows(then, first), "rows of the first block come first"),
        (lambda *runs: (merge_by_rows(*runs)[0], *merge_by_rows(*runs)[1:][::-1]), "U should have"),
        (
            lambda first, then: tuple(map(np.vstack, zip(first, then, strict=True))),
            "W, cut after 1: the second block's rows",
        ),
    ],
    "07-transposed": [
        (lambda St, W, U, K: (np.eye(len(St)) - K.T @ W) @ St + K.T @ U, "a matrix of 40 x 40"),
        (lambda St, W, U, K: St - (K.T @ W) @ St + K.T @ U, "a matrix of 40 x 40"),
        (lambda St, W, U, K: St - W.T @ (K @ St) + K.T @ U, "meets the old state first"),
        (lambda St, W, U, K: (St + K.T @ (U - W @ St)).T, "it is d_v x d_k"),
        (lambda St, W, U, K: St + U.T @ (K - W @ St), "even from an empty state"),
        (lambda St, W, U, K: K.T @ (U - W @ St), "meets the old state first"),
    ],
    "07-nothing": [
        ((keys_at(0, 30, 60, 90), np.full(4, 2)), "turn the plane by"),
        ((keys_at(0, 30, 90, 60), np.ones(4)), "the determinant of P is"),
        ((keys_at(0, 30, 30, 0), np.full(4, 2)), "are parallel"),
        ((keys_at(0, 30, 90, 60), np.zeros(4)), "between 0.5 and 2"),
        ((2 * keys_at(0, 30, 90, 60), np.full(4, 0.5)), "should have length 1"),
        ((keys_at(0, 45, 90), np.full(3, 2)), "should have shape (4, 2)"),
        ((keys_at(0, 30, 90, 60), 2), "the strengths should have shape (4,)"),
    ],
}
