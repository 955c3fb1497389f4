"""Answers to the exercises of chapter 15: right ones, and wrong ones with the hint they get."""

from bisect import bisect_right

import numpy as np
import triton
import triton.language as tl


@triton.jit
def sums_with_a_mask_after(x_ptr, y_ptr, out_ptr, T, C: tl.constexpr):
    """The loads stay inside by their address; the mask takes off what they bring twice."""
    t = tl.program_id(0) * C + tl.arange(0, C)
    inside = t < T
    near = tl.minimum(t, T - 1)
    product = tl.where(inside, tl.load(x_ptr + near) * tl.load(y_ptr + near), 0.0)
    tl.store(out_ptr + t, tl.cumsum(product, reverse=True), mask=inside)


@triton.jit
def sums_of_a_triangle(x_ptr, y_ptr, out_ptr, T, C: tl.constexpr):
    start = tl.program_id(0) * C
    t, later = start + tl.arange(0, C)[:, None], start + tl.arange(0, C)[None, :]
    x = tl.load(x_ptr + later, mask=later < T, other=0.0)
    y = tl.load(y_ptr + later, mask=later < T, other=1.0)
    out = tl.sum(tl.where(later >= t, x * y, 0.0), axis=1)
    t = start + tl.arange(0, C)
    tl.store(out_ptr + t, out, mask=t < T)


@triton.jit
def sums_storing_all(x_ptr, y_ptr, out_ptr, T, C: tl.constexpr):
    t = tl.program_id(0) * C + tl.arange(0, C)
    x = tl.load(x_ptr + t, mask=t < T, other=0.0)
    y = tl.load(y_ptr + t, mask=t < T, other=0.0)
    tl.store(out_ptr + t, tl.cumsum(x * y, reverse=True))


@triton.jit
def sums_loading_all(x_ptr, y_ptr, out_ptr, T, C: tl.constexpr):
    t = tl.program_id(0) * C + tl.arange(0, C)
    x, y = tl.load(x_ptr + t), tl.load(y_ptr + t)
    tl.store(out_ptr + t, tl.cumsum(x * y, reverse=True), mask=t < T)


@triton.jit
def sums_with_a_late_mask(x_ptr, y_ptr, out_ptr, T, C: tl.constexpr):
    t = tl.program_id(0) * C + tl.arange(0, C)
    product = tl.load(x_ptr + t) * tl.load(y_ptr + t) * tl.where(t < T, 1.0, 0.0)
    tl.store(out_ptr + t, tl.cumsum(product, reverse=True), mask=t < T)


@triton.jit
def sums_from_the_start(x_ptr, y_ptr, out_ptr, T, C: tl.constexpr):
    t = tl.program_id(0) * C + tl.arange(0, C)
    x = tl.load(x_ptr + t, mask=t < T, other=0.0)
    y = tl.load(y_ptr + t, mask=t < T, other=0.0)
    tl.store(out_ptr + t, tl.cumsum(x * y), mask=t < T)


@triton.jit
def sums_of_ones_behind(x_ptr, y_ptr, out_ptr, T, C: tl.constexpr):
    t = tl.program_id(0) * C + tl.arange(0, C)
    x = tl.load(x_ptr + t, mask=t < T, other=1.0)
    y = tl.load(y_ptr + t, mask=t < T, other=1.0)
    tl.store(out_ptr + t, tl.cumsum(x * y, reverse=True), mask=t < T)


@triton.jit
def scores_clamped(q_ptr, k_ptr, c_ptr, out_ptr, C: tl.constexpr, K: tl.constexpr):
    """A decay is at most 1: the exponent is cut off at 0, and the mask may come after."""
    r, i, d = tl.arange(0, C)[:, None], tl.arange(0, C)[None, :], tl.arange(0, K)[None, :]
    q, k = tl.load(q_ptr + r * K + d), tl.load(k_ptr + r * K + d)
    Gamma = tl.exp2(tl.minimum(tl.load(c_ptr + r) - tl.load(c_ptr + i), 0.0))
    out = tl.where(i <= r, Gamma * tl.dot(q, tl.trans(k), input_precision="ieee"), 0.0)
    tl.store(out_ptr + r * C + i, out)


@triton.jit
def scores_transposed(q_ptr, k_ptr, c_ptr, out_ptr, C: tl.constexpr, K: tl.constexpr):
    """Columns are the queries' tokens, as in kernel 2; the store turns them."""
    i, r, d = tl.arange(0, C)[:, None], tl.arange(0, C)[None, :], tl.arange(0, K)[None, :]
    q, k = tl.load(q_ptr + i * K + d), tl.load(k_ptr + i * K + d)
    c_r, c_i = tl.load(c_ptr + r), tl.load(c_ptr + i)
    Gamma = tl.where(r >= i, tl.exp2(tl.where(r >= i, c_r - c_i, 0.0)), 0.0)
    out = Gamma * tl.dot(k, tl.trans(q), input_precision="ieee")
    tl.store(out_ptr + r * C + i, out)


@triton.jit
def scores_masked_late(q_ptr, k_ptr, c_ptr, out_ptr, C: tl.constexpr, K: tl.constexpr):
    r, i, d = tl.arange(0, C)[:, None], tl.arange(0, C)[None, :], tl.arange(0, K)[None, :]
    q, k = tl.load(q_ptr + r * K + d), tl.load(k_ptr + r * K + d)
    Gamma = tl.where(r >= i, 1.0, 0.0) * tl.exp2(tl.load(c_ptr + r) - tl.load(c_ptr + i))
    out = Gamma * tl.dot(q, tl.trans(k), input_precision="ieee")
    tl.store(out_ptr + r * C + i, out)


@triton.jit
def scores_of_keys_first(q_ptr, k_ptr, c_ptr, out_ptr, C: tl.constexpr, K: tl.constexpr):
    i, r, d = tl.arange(0, C)[:, None], tl.arange(0, C)[None, :], tl.arange(0, K)[None, :]
    q, k = tl.load(q_ptr + i * K + d), tl.load(k_ptr + i * K + d)
    exponent = tl.where(r >= i, tl.load(c_ptr + r) - tl.load(c_ptr + i), float("-inf"))
    out = tl.exp2(exponent) * tl.dot(k, tl.trans(q), input_precision="ieee")
    tl.store(out_ptr + i * C + r, out)


@triton.jit
def scores_strict(q_ptr, k_ptr, c_ptr, out_ptr, C: tl.constexpr, K: tl.constexpr):
    r, i, d = tl.arange(0, C)[:, None], tl.arange(0, C)[None, :], tl.arange(0, K)[None, :]
    q, k = tl.load(q_ptr + r * K + d), tl.load(k_ptr + r * K + d)
    exponent = tl.where(r > i, tl.load(c_ptr + r) - tl.load(c_ptr + i), float("-inf"))
    out = tl.exp2(exponent) * tl.dot(q, tl.trans(k), input_precision="ieee")
    tl.store(out_ptr + r * C + i, out)


@triton.jit
def scores_of_all(q_ptr, k_ptr, c_ptr, out_ptr, C: tl.constexpr, K: tl.constexpr):
    r, i, d = tl.arange(0, C)[:, None], tl.arange(0, C)[None, :], tl.arange(0, K)[None, :]
    q, k = tl.load(q_ptr + r * K + d), tl.load(k_ptr + r * K + d)
    Gamma = tl.exp2(tl.minimum(tl.load(c_ptr + r) - tl.load(c_ptr + i), 0.0))
    out = Gamma * tl.dot(q, tl.trans(k), input_precision="ieee")
    tl.store(out_ptr + r * C + i, out)


@triton.jit
def scores_in_base_e(q_ptr, k_ptr, c_ptr, out_ptr, C: tl.constexpr, K: tl.constexpr):
    r, i, d = tl.arange(0, C)[:, None], tl.arange(0, C)[None, :], tl.arange(0, K)[None, :]
    q, k = tl.load(q_ptr + r * K + d), tl.load(k_ptr + r * K + d)
    exponent = tl.where(r >= i, tl.load(c_ptr + r) - tl.load(c_ptr + i), float("-inf"))
    out = tl.exp(exponent) * tl.dot(q, tl.trans(k), input_precision="ieee")
    tl.store(out_ptr + r * C + i, out)


def first_slot(ends, n, C):
    return ends[n] // C + n


def by_bisect(ends, slot, N, C):
    return bisect_right(range(N), slot, key=lambda n: first_slot(ends, n, C)) - 1


def with_two_reads_a_step(ends, slot, N, C):
    low, high = 0, N - 1
    while low < high:
        n = (low + high) // 2
        if first_slot(ends, n, C) <= slot < first_slot(ends, n + 1, C):
            return n
        low, high = (n + 1, high) if first_slot(ends, n, C) <= slot else (low, n - 1)
    return low


def by_jumps(ends, slot, N, C):
    """Steps of 128, 64, 32, ..., 1 sequences, as long as the slot lies beyond."""
    n, jump = 0, 1 << N.bit_length()
    while jump := jump // 2:
        if n + jump < N and first_slot(ends, n + jump, C) <= slot:
            n += jump
    return n


def by_walking(ends, slot, N, C):
    n = 0
    while n + 1 < N and first_slot(ends, n + 1, C) <= slot:
        n += 1
    return n


def by_iterating(ends, slot, N, C):
    return sum(end // C + n <= slot for n, end in zip(range(N), ends, strict=False)) - 1


def by_an_array(ends, slot, N, C):
    first = np.asarray(ends[:-1]) // C + np.arange(N)
    return int(np.searchsorted(first, slot, side="right")) - 1


def one_too_far(ends, slot, N, C):
    return min(by_bisect(ends, slot, N, C) + 1, N - 1)


def by_tokens(ends, slot, N, C):
    """As if the slots were those of one long sequence."""
    return max(0, bisect_right(range(N), slot * C, key=lambda n: ends[n]) - 1)


RIGHT = {
    "15-tail": [sums_with_a_mask_after, sums_of_a_triangle],
    "15-scores": [scores_clamped, scores_transposed],
    "15-slot": [by_bisect, with_two_reads_a_step, by_jumps],
    "15-wrong-line": [np.array(["S", "o", "read"])[1], "o".strip()],
}

WRONG = {
    "15-tail": [
        (sums_storing_all, "behind the end of `out`"),
        (sums_loading_all, "what lies behind x or y"),
        (sums_with_a_late_mask, "what lies behind x or y"),
        (sums_from_the_start, "from its token to the tile's end"),
        (sums_of_ones_behind, "from its token to the tile's end"),
    ],
    "15-scores": [
        (scores_masked_late, "where is the mask"),
        (scores_of_keys_first, "this is the transpose"),
        (scores_strict, "the write of its own token"),
        (scores_of_all, "must not see later tokens"),
        (scores_in_base_e, "2 to a difference of c"),
    ],
    "15-slot": [
        (by_walking, "bisection needs about log2 N"),
        (by_iterating, "bisection needs about log2 N"),
        (by_an_array, "bisection needs about log2 N"),
        (lambda ends, slot, N, C: bisect_right(list(ends[1:]), slot * C), "not sequence"),
        (one_too_far, "not sequence"),
        (by_tokens, "not sequence"),
    ],
    "15-wrong-line": [
        *((name, f"{name} is right") for name in ("scores", "read", "residual", "delta", "S")),
        ("output", "expected one of"),
    ],
}
