"""Answers to the exercises of chapter 18: right ones, and wrong ones with the hint they get."""

import numpy as np

from gdn_ref import affine, gated_delta_rule


def pair(k, v, alpha, beta, late=True, decay=True):
    F, G = np.eye(k.shape[1]), np.zeros((v.shape[1], k.shape[1]))
    for k_t, v_t, a, b in zip(k, v, alpha, beta, strict=True):
        factor = (a if decay else 1) * (np.eye(len(k_t)) - b * np.outer(k_t, k_t))
        F, G = (F @ factor if late else factor @ F), G @ factor + b * np.outer(v_t, k_t)
    return F, G


def pair_by_two_runs(k, v, alpha, beta):
    """F is what the loop makes of the identity, with nothing to write."""
    g, d = np.log(alpha), k.shape[1]
    if not len(k):
        return np.eye(d), np.zeros((v.shape[1], d))
    run = gated_delta_rule.recurrent
    return run(k, k, 0 * k, g, beta, np.eye(d))[1], run(k, k, v, g, beta)[1]


def pair_by_chunks(k, v, alpha, beta):
    maps = [
        affine.chunk_map(k[t : t + 1], v[t : t + 1], np.log(alpha[t : t + 1]), beta[t : t + 1])
        for t in range(len(k))
    ]
    return affine.scan(maps)[-1] if maps else (np.eye(k.shape[1]), np.zeros((v.shape[1], len(k.T))))


def doubling(R, more=0):
    found, far = [], 1
    while far < R + more:
        found.append([(p, p + far) for p in range(R - far)])
        far *= 2
    return found


def all_round(R):
    """The same distances in a circle, as an all-gather sends them."""
    found, far = [], 1
    while far < R:
        found.append([(p, (p + far) % R) for p in range(R)])
        far *= 2
    return found


def lengths(T, R, x):
    rest = int(T / (R + x))
    return [T - (R - 1) * rest, *[rest] * (R - 1)]


def crossover(R, H_v, d_k, d_v, H_c, d_a, b, stays=1):
    return 2 * H_v * d_k * d_v * R / ((R - stays) * b * H_c * d_a)


def equal(T, R):
    return [T * (p + 1) // R - T * p // R for p in range(R)]


RIGHT = {
    "18-pair": [pair_by_two_runs, pair_by_chunks, pair],
    "18-back": [
        lambda F, O_F, dO, dS: dO.T @ O_F + (F @ dS.T).T,
        lambda F, O_F, dO, dS: np.einsum("tv,tk->vk", dO, O_F) + np.einsum("vj,kj->vk", dS, F),
    ],
    "18-tree": [all_round, lambda R: doubling(R)[::-1]],
    "18-shares": [
        lengths,
        lambda T, R, x: np.diff(
            np.round(np.append(0, (1 + x + np.arange(R)) * T / (R + x)))
        ).astype(int),
    ],
    "18-crossover": [
        crossover,
        lambda R, H_v, d_k, d_v, H_c, d_a, b: (
            4 * H_v * d_k * d_v / (2 * b * H_c * d_a) / (1 - 1 / R)
        ),
    ],
}

WRONG = {
    "18-pair": [
        (lambda *x: pair(*x, late=False), "F is not that of 7 tokens"),
        (lambda *x: pair(*x, decay=False), "F is not that of 1 tokens"),
        (lambda *x: pair(*x)[0], "expected two matrices, got 5"),
        (lambda *x: pair(*x)[::-1], "F: expected shape (5, 5), got (3, 5)"),
    ],
    "18-back": [
        (lambda F, O_F, dO, dS: dS @ F.T, "that is what comes from the right"),
        (lambda F, O_F, dO, dS: dS @ F + dO.T @ O_F, "not the gradient"),
        (lambda F, O_F, dO, dS: dO.T @ O_F, "not the gradient"),
        (lambda F, O_F, dO, dS: (dS @ F.T + dO.T @ O_F).T, "expected the shape (3, 5)"),
    ],
    "18-tree": [
        (lambda R: [[(p, p + 1)] for p in range(R - 1)], "5 ranks: 4 rounds, where 3 suffice"),
        (lambda R: doubling(R)[:-1], "does not know all ranks before it"),
        (lambda R: [[(0, p) for p in range(1, R)]], "a rank sends two messages"),
        (lambda R: [[(q, p) for q in range(p)] for p in range(1, 2)], "does not know"),
        (lambda R: [[(p, p + 1) for p in range(R)]], "there is no rank 2"),
    ],
    "18-shares": [
        (lambda T, R, x: equal(T, R), "the slowest rank could be done earlier"),
        (lambda T, R, x: lengths(T, R, x)[::-1], "the slowest rank could be done earlier"),
        (lambda T, R, x: lengths(T, R, x)[:-1], "expected 2 lengths"),
        (lambda T, R, x: [T / R] * R, "the slowest rank could be done earlier"),
        (lambda T, R, x: [0.5, T - 0.5, *[0] * (R - 2)], "expected whole numbers"),
    ],
    "18-crossover": [
        (lambda *x: crossover(*x, stays=0), "sends more from later on"),
        (lambda *x: 2 * crossover(*x), "sends more from earlier on"),
        (lambda R, H_v, d_k, d_v, *x: crossover(R, H_v, d_k, d_k, *x), "8 ranks"),
    ],
}
