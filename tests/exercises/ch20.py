"""Answers to the exercises of chapter 20: right ones, and wrong ones with the hint they get."""

import math


def attention(kv_heads, head, T):
    return 2 * 2 * kv_heads * head * T


def equal_by_bisection(kv_heads, head, key_heads, value_heads, d_k, d_v):
    channels = 2 * key_heads * d_k + value_heads * d_v
    state = 4 * value_heads * d_k * d_v + 2 * 4 * channels
    low, high = 0.0, 1e9
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if attention(kv_heads, head, middle) < state else (low, middle)
    return low


def equal(kv_heads, head, key_heads, value_heads, d_k, d_v, taps=4, state=4, row=4, keys=2):
    channels = keys * key_heads * d_k + value_heads * d_v
    return (state * value_heads * d_k * d_v + 2 * taps * channels) / (row * kv_heads * head)


def fit_by_counting(memory, weights, states, row, T):
    n = 0
    while weights + (n + 1) * (states + row * T) <= memory:
        n += 1
    return n


def most_by_kept_bytes(layers, state, row, T, budget):
    kept = {full: full * row * T + (layers - full) * state for full in range(layers + 1)}
    return max((full for full, size in kept.items() if size <= budget), default=None)


def most_by_division(layers, state, row, T, budget):
    """The division, both ways: above the crossing a layer of attention costs, below it saves."""
    extra = row * T - state
    left = budget - layers * state
    if extra <= 0:
        return layers if layers * row * T <= budget else None
    return min(layers, int(left // extra)) if left >= 0 else None


def dividing(layers, state, row, T, budget):
    return int((budget - layers * state) // (row * T - state))


def read_by_tokens(E, k, n):
    """Each token finds its share of those that nobody has read yet."""
    read = 0.0
    for _ in range(n):
        read += (E - read) * k / E
    return read


RIGHT = {
    "20-equal": [equal_by_bisection, equal],
    "20-fit": [
        fit_by_counting,
        lambda memory, weights, states, row, T: max(
            0.0, math.floor((memory - weights) / (states + T * row))
        ),
    ],
    "20-budget": [most_by_kept_bytes, most_by_division],
    "20-experts": [
        read_by_tokens,
        lambda E, k, n: -E * math.expm1(n * math.log1p(-k / E)),
        lambda E, k, n: E - E * ((E - k) / E) ** n,
    ],
}

WRONG = {
    "20-equal": [
        (lambda *x: equal(*x, taps=0), "the convolution keeps inputs, too"),
        (lambda *x: equal(*x, taps=3), "are too few"),
        (lambda *x: equal(*x, keys=1), "are too few"),
        (lambda *x: equal(*x, state=2), "are too few"),
        (lambda *x: equal(*x, row=2), "are too many"),
    ],
    "20-fit": [
        (lambda memory, weights, states, row, T: memory // (states + row * T), "are too many"),
        (lambda memory, weights, *x: (memory - weights) / (x[0] + x[1] * x[2]), "no whole number"),
        (lambda memory, weights, *x: (memory - weights) // (x[0] + x[1] * x[2]), "no sequence"),
        (lambda m, w, states, row, T: max(0, (m - w) // (row * T)), "are too many"),
        (lambda m, w, states, row, T: max(0, (m - w - states) // (row * T)), "are too many"),
        (lambda *x: fit_by_counting(*x) + 1, "are too many"),
    ],
    "20-budget": [
        (dividing, "is not the most"),
        (lambda *x: max(0, min(x[0], dividing(*x))), "is not the most"),
        (lambda *x: most_by_kept_bytes(*x) or 0, "nothing fits into"),
        (lambda layers, state, row, T, budget: int(budget // (row * T)), "is not the most"),
        (lambda layers, *x: most_by_kept_bytes(layers - 1, *x), "is not the most"),
    ],
    "20-experts": [
        (lambda E, k, n: min(E, n * k), "how likely is it that nobody"),
        (lambda E, k, n: n * k, "some are counted more than once"),
        (lambda E, k, n: E * (1 - (1 - 1 / E) ** (n * k)), "how likely is it that nobody"),
        (lambda E, k, n: E * (1 - k / E) ** n, "how likely is it that nobody"),
        (lambda E, k, n: 1 - (1 - k / E) ** n, "how likely is it that nobody"),
    ],
}
