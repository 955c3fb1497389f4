r"""Worlds of chapter 9: an empty state, the weight of each write, and what code counts."""

from functools import cache, partial

import numpy as np

from ... import delta_rule
from ..ch09_cost import early, late, products, traffic
from ..ch09_cost import run as run_of_chunks
from ..counting import depth, multiplications, numbers
from .cases import DEPENDENT, GENERIC, LONG, SINGLE, UNIT, case
from .cases import sizes as drawn
from .rule import eye, inputs, run, step, with_letters, world_of
from .values import Depends, Family, Refused, entries
from .world import World


@cache
def empty(draw):
    """The delta rule from an empty state."""
    *tokens, S = inputs(draw, decay=False)
    return world_of(draw, run(draw, *tokens, 0 * S), decay=False)


@cache
def weights(draw):
    """The outputs for the rows of I as values; what tokens i + 1 to r make of the identity."""
    T, (_, d_k, _) = (
        {GENERIC: 5, UNIT: 4, DEPENDENT: 3, LONG: 6, SINGLE: 1}[case(draw)],
        drawn(draw),
    )
    q, k, _, alpha, beta, _ = inputs(draw, T=T, d_k=d_k, d_v=2, decay=False)
    one = eye(draw, T)
    x = run(draw, q, k, one, alpha, beta, 0 * (one @ k))
    one = eye(draw, d_k)

    def between(r, i):
        if not 0 <= i <= T or not 1 <= r <= T:
            raise Refused(f"no tokens after {i} up to {r}")
        state = one
        for t in range(i, r):
            state = step(draw, state, k[t], 0 * k[t], 1 + 0 * beta[t], beta[t])
        return state

    letters = {r"\Omega_": entries(x.outputs), r"\mathbf{P}_": Family(between)}
    return with_letters(world_of(draw, x, decay=False), letters)


def sizes(draw, *names):
    """Different sizes under these names; chunks of C tokens, and T a multiple of C."""
    draw = draw.anew()
    found = dict(zip(names, draw.sizes(len(names), 2, 8), strict=True))
    return found | ({"T": draw.one_of(1, 2, 3, 4) * found["C"]} if "C" in found else {})


def counted_depth(draw):
    """The longest row of products, one behind the other, in one chunk or more."""
    C, T = sizes(draw, "C").values()
    chunks = T // C
    outputs, S = [], numbers(3, 2)
    for _ in range(T):
        o, S = delta_rule.step(S, numbers(2), numbers(2), numbers(3), numbers())
        outputs.append(o)
    return World({
        "C": C, "T": T, "token loop": depth(S, *outputs),
        "solved late": run_of_chunks(late, chunks, C, 2, 3),
        "solved early": run_of_chunks(early, chunks, C, 2, 3),
    })  # fmt: skip


def counted_loop(draw):
    """FLOPs of the package's loop: two for each product."""
    at = sizes(draw, "T", "d_k", "d_v")
    T, m, n = at.values()
    work = partial(_loop, S=numbers(n, m))
    count = 2 * multiplications(work, (T, m), (T, m), (T, n), (T,))
    return World(at | {r"\mathrm{FLOPs}_\text{loop}": count})


def _loop(*rows, S):
    for q, k, v, beta in zip(*rows, strict=True):
        S = delta_rule.step(S, q, k, v, np.array(beta, dtype=object))[1]


def counted_chunks(draw):
    """FLOPs of one chunk, solved late and solved early."""
    at = sizes(draw, "C", "d_k", "d_v")
    size = at["C"], at["d_k"], at["d_v"]
    names = {r"\mathrm{FLOPs}_\text{late}": late, r"\mathrm{FLOPs}_\text{early}": early}
    return World(at | {name: 2 * products(form, *size) for name, form in names.items()})


def counted_traffic(draw):
    """What the package's chunks take in and give back."""
    at = sizes(draw, "C", "d_k", "d_v")
    moved = traffic(at["T"], at["C"], at["d_k"], at["d_v"])
    return World(at | {"value": moved.rows + moved.read + moved.written})


@cache
def counted_saving(draw):
    """Softmax attention over all pairs of tokens, and late chunks, both on numbers that count."""
    C, d, chunks = draw.anew().sizes(3, 2, 8)
    T = C * chunks
    attended = multiplications(_softmax, (T, d), (T, d), (T, d))
    return World({
        "C": C, "T": T, "d": d, r"\mathrm{FLOPs}_\text{softmax}": 2 * attended,
        r"\mathrm{FLOPs}_\text{late}": 2 * chunks * products(late, C, d, d),
    })  # fmt: skip


def _softmax(q, k, v):
    """Scores, and the sum of values with these scores: exponentials are not counted."""
    return [v[: t + 1].T @ (k[: t + 1] @ q[t]) for t in range(len(q))]


def kept(draw):
    """The states that each token, or each chunk, receives; and an inverse for each chunk.

    Among the chunk sizes is the best one, where d_k d_v = C^2; and there are values a little wider,
    for which no whole number is the best.
    """
    draw = draw.anew()
    best, N = draw.sizes(2, 2, 7)
    d_k = draw.one_of(*(d for d in range(1, best**2 + 1) if best**2 % d == 0))
    d_v, T = best**2 // d_k, 2 * N * best

    def of_chunks(at):
        inverses = sum(np.eye(at["C"]).size for _ in range(0, T, at["C"]))
        return traffic(T, at["C"], d_k, at["d_{v}"]).read + inverses

    def of_the_loop(at):
        return traffic(T, 1, d_k, at["d_{v}"]).read

    return World({
        "T": T, "d_k": d_k, r"n_\text{loop}": Depends(of_the_loop),
        r"n_\text{chunks}": Depends(of_chunks),
    }, ranges={"C": [1, 2, best, N, 2 * N * best], "d_v": [d_v, d_v + 1]})  # fmt: skip
