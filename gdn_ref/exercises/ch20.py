"""Exercises of chapter 20: equal contexts, sequences that fit, layers that fit, experts read."""

import math

from ..proofs.ch20_model import Hybrid, crossover, experts_read
from . import TOLERANCE, Wrong, exercise


@exercise("20-equal")
def equal(answer):
    """`answer(kv_heads, head, key_heads, value_heads, d_k, d_v)`: the context of equal bytes."""
    for case in ((2, 256, 16, 32, 128, 128), (30, 128, 30, 30, 96, 192), (8, 128, 8, 8, 64, 128)):
        kv_heads, head, key_heads, value_heads, d_k, d_v = case
        x = Hybrid(1, 1, 1, kv_heads, kv_heads, head, key_heads, value_heads, d_k, d_v, 1, 1)
        right, found = crossover(x), answer(*case)
        if not abs(found - right) <= TOLERANCE * right:  # nor if it is NaN
            states = 4 * value_heads * d_k * d_v / (4 * kv_heads * head)
            if abs(found - states) < 1e-6 * right:
                raise Wrong("the states are right; the convolution keeps inputs, too")
            side = "too many" if found > right else "too few"
            raise Wrong(f"for {case}: {found:,.4g} tokens are {side}; compare one layer of each")


@exercise("20-fit")
def fit(answer):
    """`answer(memory, weights, states, row, T)`: sequences of T tokens that fit, a whole number."""
    cases = ((80e9, 18e9, 52e6, 32768, 32768), (80e9, 18e9, 52e6, 32768, 262144),
             (141e9, 15e9, 55e6, 122880, 65536), (80e9, 160e9, 78e6, 24576, 1024))  # fmt: skip
    for memory, weights, states, row, T in cases:
        right = max(0, math.floor((memory - weights) / (states + row * T)))
        found = answer(memory, weights, states, row, T)
        if found != int(found):
            raise Wrong(f"{found} is no whole number of sequences")
        if found < 0:
            raise Wrong("where the weights alone do not fit, no sequence does, not fewer than none")
        if found != right:
            side = "too many" if found > right else "too few"
            raise Wrong(f"{found} of {T:,} tokens in {memory / 1e9:.0f} GB are {side}")


@exercise("20-budget")
def budget(answer):
    """`answer(layers, state, row, T, budget)`: the most attention layers within the budget."""
    cases = ((48, 2162688, 2048, 32768, 1e9), (48, 2162688, 2048, 64, 1e9), (32, 2162688, 4096,
             131072, 2e9), (48, 2162688, 2048, 1056, 2e8), (40, 2162688, 2048, 65536, 5e7),
             (48, 2162688, 2048, 256, 5e7))  # fmt: skip
    for layers, state, row, T, most in cases:
        within = [f for f in range(layers + 1) if f * row * T + (layers - f) * state <= most]
        found = answer(layers, state, row, T, most)
        if not within and found is not None:
            raise Wrong(f"at {T:,} tokens nothing fits into {most / 1e6:,.0f} MB: return None")
        if within and found != max(within):
            hint = "a row is cheaper than a state there" if row * T < state else "count one layer"
            raise Wrong(f"{found} is not the most for {T:,} tokens in {most / 1e6:,.0f} MB; {hint}")


@exercise("20-experts")
def experts(answer):
    """`answer(E, k, n)`: the mean number of different experts that n tokens choose."""
    for E, k, n in ((512, 10, 1), (512, 10, 64), (256, 8, 8), (8, 2, 3)):
        x = Hybrid(1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, experts=E, chosen=k)
        right, found = experts_read(x, n), answer(E, k, n)
        if found > E:
            raise Wrong(f"{found:,.1f} of {E} experts: some are counted more than once")
        if not abs(found - right) <= 1e-6 * right:
            raise Wrong(f"for {n} tokens and {k} of {E} it is not {found:,.4f}; how likely is it "
                        "that nobody chooses a given expert?")  # fmt: skip
