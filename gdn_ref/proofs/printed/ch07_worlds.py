r"""Worlds of chapter 7: two affine maps, two runs of tokens, ranks, counts."""

from functools import cache

import numpy as np

from ... import affine
from ..ch07_cost import vectors_on_arrays
from ..ch07_unroll import tree
from ..counting import multiplications
from .rule import D_K, D_V, T, across, inputs, run, sequence, ungated, with_letters, world_of
from .values import listed
from .world import World


def two_maps(draw):
    """Two maps in turn, as one map: what they make of the zero state and of unit states."""
    draw = draw.anew()
    F, G = draw.array(2, D_K, D_K), draw.array(2, D_V, D_K)

    def in_turn(S):
        return (S @ F[0] + G[0]) @ F[1] + G[1]

    zero = 0 * G[0]
    units = [zero + 0 for _ in range(D_K)]
    for i, unit in enumerate(units):
        unit[0, i] = unit[0, i] + 1
    rows = [(in_turn(unit) - in_turn(zero))[0] for unit in units]
    return World({
        r"\mathbf{F}_": listed(F), r"\mathbf{G}_": listed(G),
        r"\mathbf{F}": np.array(rows), r"\mathbf{G}": in_turn(zero),
    })  # fmt: skip


def counted_scan(draw):
    """A tree of merges on numbers that count."""
    n, d_k, d_v = draw.anew().sizes(3, 2, 8)

    def merged(*parts):
        return tree(list(zip(parts[::2], parts[1::2], strict=True)), affine.compose)

    count = multiplications(merged, *[(d_k, d_k), (d_v, d_k)] * n)
    return World({"n": n, "d_k": d_k, "d_v": d_v, r"\text{multiplications}": count})


def counted_vectors(draw):
    """The recursion of W and U on numbers that count."""
    C, d_k, d_v = draw.anew().sizes(3, 2, 10)
    count = multiplications(vectors_on_arrays, (C, d_k), (C, d_v), (C,))
    return World({"C": C, "d_k": d_k, "d_v": d_v, "value": count})


@cache
def ranks(draw):
    """Four tokens, the last key in the span of the others; questions at right angles to the first
    r keys, to all but the first, and to none."""
    q, k, v, alpha, beta, S = inputs(draw, T=4, d_k=6, d_v=2, decay=False)
    k = k / 4
    k[3] = k[0] + k[1] - k[2]
    world = world_of(draw, run(draw, q, k, v, alpha, beta, S), decay=False)
    more = draw.anew(2)
    ys = [across(more, k[:r]) for r in (1, 2, 3)] + [across(more, k[1:3]), more.array(6, 1)]
    return with_letters(world, {}, **{r"\boldsymbol{y}": ys})


@cache
def short(draw):
    """Four tokens."""
    return world_of(draw, run(draw, *inputs(draw, T=4, decay=False)), decay=False)


@cache
def two_runs(draw):
    """Tokens 1 and 2, and tokens 3 to 6, each run alone; and all of them together."""
    x, joint = sequence(draw, decay=False), ungated(draw).letters
    parts, matrix = [slice(0, 2), slice(2, T)], r"\mathbf{%s}"
    alone = [
        world_of(draw, run(draw, x.q[p], x.k[p], x.v[p], x.alpha[p], x.beta[p], x.S), decay=False)
        for p in parts
    ]
    letters = {matrix % x + "'_": listed([joint[matrix % x][2:]], 2) for x in "WU"}
    letters |= {matrix % x + "_": listed([w.letters[matrix % x] for w in alone]) for x in "WUK"}
    return World(letters)
