"""Answers to the exercises of chapter 14: right ones, and wrong ones with the hint they get."""

import math

import numpy as np


def limit(bytes_us, flops_us, chunks, programs, link_us, processors, rounds=None):
    rounds = -(-programs // processors) if rounds is None else rounds(programs / processors)
    chain = rounds * chunks * link_us
    names = np.array(["bytes", "FLOPs", "chain"])
    return names[np.argmax([bytes_us, flops_us, chain])]


def by_comparing(bytes_us, flops_us, chunks, programs, link_us, processors):
    chain = math.ceil(programs / processors) * chunks * link_us
    if chain > max(bytes_us, flops_us):
        return "chain"
    return "bytes" if bytes_us >= flops_us else "FLOPs"


def divisors(N):
    return [m for m in range(1, N + 1) if N % m == 0]


def products(m, N):
    return 6 * m + N / m - 2 if m < N else 3 * N


def nearest(N, distance):
    return min(divisors(N), key=lambda m: distance(m, math.sqrt(N / 6)))


def best_segment(N):
    best, found = 3 * N, N
    for m in range(1, N // 2 + 1):
        if N % m == 0 and 6 * m + N // m - 2 < best:
            best, found = 6 * m + N // m - 2, m
    return float(found)


RIGHT = {
    "14-hand": [
        368.0,
        np.int64(2 * 208 - 48),
        sum((16, 2 * 64, 32, 2 * 96)),
    ],
    "14-binds": [limit, by_comparing],
    "14-segments": [
        best_segment,
        lambda N: max(divisors(N), key=lambda m: -products(m, N)),
        lambda N: nearest(N, lambda m, best: abs(math.log(m / best))) if N > 2 else 1,
    ],
    "14-slices": [
        lambda d_k, b, rho: int((d_k + b * rho) // d_k),
        lambda d_k, b, rho: max(s for s in range(1, 100) if (s - 1) * d_k <= b * rho),
        lambda d_k, b, rho: np.floor(b * rho / d_k) + 1,
    ],
}

WRONG = {
    "14-hand": [
        (416, "queries and keys are shared"),
        (208, "the kernels move more"),
        (400, "the kernels move less"),
        (416 - 16, "the kernels move less"),
        (416 - 64, "the kernels move more"),
    ],
    "14-binds": [
        (lambda b, f, *rest: "bytes" if b > f else "FLOPs", "512 links in a row"),
        (lambda *x: limit(*x, rounds=lambda r: 1), "more programs than processors"),
        (lambda *x: limit(*x, rounds=lambda r: r), "it is not"),
        (lambda *x: limit(*x, rounds=math.floor), "it is not"),
        (lambda *x: "memory", "expected 'bytes', 'FLOPs' or 'chain'"),
        (lambda *x: max(x[:3]), "expected 'bytes', 'FLOPs' or 'chain'"),
    ],
    "14-segments": [
        (lambda N: N, "in a row"),
        (lambda N: nearest(N, lambda m, best: abs(m - best)), "for 21 chunks"),
        (lambda N: round(math.sqrt(N / 6)), "no whole number that divides them"),
        (lambda N: math.sqrt(N / 6), "no whole number that divides them"),
        (lambda N: nearest(N, lambda m, best: (m > best, -m)), "in a row"),
        (lambda N: 1, "with other segments than of 1"),
        (lambda N: 0, "no whole number"),
    ],
    "14-slices": [
        (lambda d_k, b, rho: 1, "more than 1"),
        (lambda d_k, b, rho: int(b * rho / d_k), "more than 4"),
        (lambda d_k, b, rho: 1 + b * rho / d_k, "fewer than 5.6"),
        (lambda d_k, b, rho: math.ceil(b * rho / d_k), "rho = 128: more than 2"),
        (lambda d_k, b, rho: round(1 + b * rho / d_k), "fewer than 6"),
        (lambda d_k, b, rho: int(1 + 2 * b * rho / d_k), "fewer than 10"),
    ],
}
