r"""Worlds of chapter 9: an empty state, the weight of each write, and what code counts."""

from functools import cache, partial

import numpy as np

from ... import delta_rule
from ..ch09_cost import early, late, products, traffic
from ..ch09_cost import run as run_of_chunks
from ..counting import depth, multiplications, numbers
from .rule import D_K, eye, inputs, run, step, with_letters, world_of
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
    q, k, _, alpha, beta, _ = inputs(draw, T=5, decay=False)
    one = eye(draw, 5)
    x = run(draw, q, k, one, alpha, beta, 0 * (one @ k))
    one = eye(draw, D_K)

    def between(r, i):
        if not 0 <= i <= 5 or not 1 <= r <= 5:
            raise Refused(f"no tokens after {i} up to {r}")
        state = one
        for t in range(i, r):
            state = step(draw, state, k[t], 0 * k[t], 1 + 0 * beta[t], beta[t])
        return state

    letters = {r"\Omega_": entries(x.outputs), r"\mathbf{P}_": Family(between)}
    return with_letters(world_of(draw, x, decay=False), letters)


def sizes(draw, *names):
    """Different sizes under these names; chunks of C tokens, and T a multiple of C."""
    found = dict(zip(names, draw.anew().sizes(len(names), 2, 6), strict=True))
    return found | ({"T": 4 * found["C"]} if "C" in found else {})


def counted_depth(draw):
    """The longest row of products, one behind the other, in two chunks or more."""
    at = sizes(draw, "C", "d_k", "d_v")
    C, T, chunks = at["C"], at["T"], 4
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
    draw = draw.anew()
    (C,), (d,) = draw.sizes(1, 5, 9), draw.sizes(1, 12, 17)
    T = 5 * C
    attended = multiplications(_softmax, (T, d), (T, d), (T, d))
    return World({
        "C": C, "T": T, "d": d, r"\mathrm{FLOPs}_\text{softmax}": 2 * attended,
        r"\mathrm{FLOPs}_\text{late}": 2 * 5 * products(late, C, d, d),
    }, near=0.03)  # fmt: skip


def _softmax(q, k, v):
    """Scores, and the sum of values with these scores: exponentials are not counted."""
    return [v[: t + 1].T @ (k[: t + 1] @ q[t]) for t in range(len(q))]


def kept(draw):
    """The states that each token, or each chunk, receives; and an inverse for each chunk.

    Among the chunk sizes is the best one, where d_k d_v = C^2.
    """
    d_k, d_v, best = [(2, 8, 4), (3, 12, 6), (2, 18, 6)][draw.seed]
    T = 24

    def of_chunks(at):
        inverses = sum(np.eye(at["C"]).size for _ in range(0, T, at["C"]))
        return traffic(T, at["C"], d_k, d_v).read + inverses

    return World({
        "T": T, "d_k": d_k, "d_v": d_v, r"n_\text{loop}": traffic(T, 1, d_k, d_v).read,
        r"n_\text{chunks}": Depends(of_chunks),
    }, ranges={"C": [3, best, 8, 12]})  # fmt: skip
