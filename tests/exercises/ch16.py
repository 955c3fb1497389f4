"""Answers to the exercises of chapter 16: right ones, and wrong ones with the hint they get."""

import math

import numpy as np
import triton
import triton.language as tl


def strength_by_pairs(Z, R, Z_E, overlap, Gamma):
    found = (Z * R).sum(axis=1)
    for r in range(len(Z)):
        for i in range(r):
            found[r] -= Gamma[r, i] * Z_E[r, i] * overlap[r, i]
    return found


def strength_in_place(Z, R, Z_E, overlap, Gamma):
    Gamma[np.triu_indices(len(Gamma))] = 0
    Gamma *= Z_E
    Z *= R
    return Z.sum(axis=1) - (Gamma @ overlap).diagonal()


def strength(Z, R, Z_E, overlap, Gamma, lower=lambda X: np.tril(X, -1), axis=1, sign=-1):
    return (Z * R).sum(axis=1) + sign * lower(Gamma * Z_E * overlap).sum(axis=axis)


@triton.jit
def border_by_weights(J_ptr, a_ptr, b_ptr, out_ptr, old, C: tl.constexpr):
    """Every border r has its own entries of J: readers from r on, writers before r."""
    t, i = tl.arange(0, C)[:, None], tl.arange(0, C)[None, :]
    J, a, b = tl.load(J_ptr + t * C + i), tl.load(a_ptr + i), tl.load(b_ptr + i)
    for r in range(C):
        across = tl.sum(tl.sum(tl.where((t >= r) & (i < r), J, 0.0), axis=1), axis=0)
        rest = tl.sum(tl.sum(tl.where(t == 0, tl.where(i < r, b, a), 0.0), axis=1), axis=0)
        tl.store(out_ptr + r, across + rest + old)


@triton.jit
def border_by_running_sums(J_ptr, a_ptr, b_ptr, out_ptr, old, C: tl.constexpr):
    r, i = tl.arange(0, C)[:, None], tl.arange(0, C)[None, :]
    t = tl.arange(0, C)
    J, a, b = tl.load(J_ptr + r * C + i), tl.load(a_ptr + t), tl.load(b_ptr + t)
    leaves = tl.sum(J, axis=0) - tl.sum(J, axis=1) + b
    before = tl.cumsum(leaves) - leaves
    tl.store(out_ptr + t, before + tl.cumsum(a, reverse=True) + old)


@triton.jit
def border_with_itself(J_ptr, a_ptr, b_ptr, out_ptr, old, C: tl.constexpr):
    r, i = tl.arange(0, C)[:, None], tl.arange(0, C)[None, :]
    J, a, b = tl.load(J_ptr + r * C + i), tl.load(a_ptr + i), tl.load(b_ptr + tl.arange(0, C))
    leaves = tl.sum(J, axis=0) - tl.sum(J, axis=1) + b
    dg = tl.sum(tl.where(i <= r, leaves[None, :], a), axis=1) + old
    tl.store(out_ptr + tl.arange(0, C), dg)


@triton.jit
def border_of_rows(J_ptr, a_ptr, b_ptr, out_ptr, old, C: tl.constexpr):
    r, i = tl.arange(0, C)[:, None], tl.arange(0, C)[None, :]
    J, a, b = tl.load(J_ptr + r * C + i), tl.load(a_ptr + i), tl.load(b_ptr + tl.arange(0, C))
    leaves = tl.sum(J, axis=1) - tl.sum(J, axis=0) + b
    dg = tl.sum(tl.where(i < r, leaves[None, :], a), axis=1) + old
    tl.store(out_ptr + tl.arange(0, C), dg)


@triton.jit
def border_without_old(J_ptr, a_ptr, b_ptr, out_ptr, old, C: tl.constexpr):
    r, i = tl.arange(0, C)[:, None], tl.arange(0, C)[None, :]
    J, a, b = tl.load(J_ptr + r * C + i), tl.load(a_ptr + i), tl.load(b_ptr + tl.arange(0, C))
    leaves = tl.sum(J, axis=0) - tl.sum(J, axis=1) + b
    tl.store(out_ptr + tl.arange(0, C), tl.sum(tl.where(i < r, leaves[None, :], a), axis=1))


@triton.jit
def border_of_the_first(J_ptr, a_ptr, b_ptr, out_ptr, old, C: tl.constexpr):
    tl.store(out_ptr, tl.sum(tl.load(a_ptr + tl.arange(0, C)), axis=0) + old)


def divisors(chunks):
    return [m for m in range(1, chunks + 1) if chunks % m == 0]


def enough(chunks, heads, processors):
    return [m for m in divisors(chunks) if m * heads >= processors] or [chunks]


def by_walking(chunks, heads, processors):
    """From the most chunks down, as long as no state more is kept and no processor is idle."""
    m = chunks
    for n in reversed(divisors(chunks)[:-1]):
        if n * heads < processors or chunks / n + 2 * n > chunks / m + 2 * m:
            break
        m = n
    return m


def by_ratio(chunks, heads, processors):
    best = math.sqrt(chunks / 2)
    return min(enough(chunks, heads, processors), key=lambda m: abs(math.log(m / best)))


OFF = ["dk", "dv", "dg", "dbeta"]

RIGHT = {
    "16-strength": [
        strength_by_pairs,
        strength_in_place,
        lambda Z, R, Z_E, overlap, Gamma: (
            np.einsum("rd,rd->r", Z, R) - np.einsum("ri,ri,ri->r", np.tril(Gamma, -1), Z_E, overlap)
        ),
    ],
    "16-border": [border_by_weights, border_by_running_sums],
    "16-segment": [by_walking, by_ratio],
    "16-twice": [(2.0**-20, OFF), [1 / 32**4, frozenset(OFF)], (np.exp2(-20), tuple(OFF))],
}

WRONG = {
    "16-strength": [
        (lambda *x: strength(*x, lower=np.tril), "which pairs of tokens count"),
        (lambda *x: strength(*x, axis=0), "which index is summed"),
        (lambda *x: strength(*x, sign=1), "not the gradient"),
        (lambda Z, R, *rest: (Z * R).sum(axis=1), "what earlier tokens of the chunk had written"),
        (lambda Z, *rest: strength(Z, *rest)[:, None], "one number a token"),
    ],
    "16-border": [
        (border_with_itself, "the first token is off"),
        (border_of_rows, "from which tokens, and to which"),
        (border_without_old, "from the old state to the next"),
        (border_of_the_first, "not every token gets a number"),
    ],
    "16-segment": [
        (lambda chunks, *x: min(range(1, chunks + 1), key=lambda m: chunks / m + 2 * m), "divide"),
        (lambda chunks, *x: by_ratio(chunks, 1, 1), "without a program"),
        (lambda *x: min(enough(*x)), "try others"),
        (lambda chunks, *x: chunks, "try others"),
        (
            lambda chunks, *x: min(
                enough(chunks, *x), key=lambda m: abs(m - math.sqrt(chunks / 2))
            ),
            "110 chunks, 256 heads",
        ),
        (lambda *x: by_ratio(*x) / 2, "without a program"),
    ],
    "16-twice": [
        ((1 / 32, {"dv"}), "which of them does kernel 3 compute without Z"),
        ((32**-4, {"dq", *OFF}), "not these gradients"),
        ((32**-4, {"dv", "dbeta"}), "not these gradients"),
        ((32**-5, OFF), "count the runs"),
        ((1 / 32, OFF), "count the runs"),
        ((32**4, OFF), "count the runs"),
    ],
}
