r"""Worlds of chapter 7: two affine maps, two runs of tokens, ranks, counts."""

from functools import cache

import numpy as np

from ... import affine
from ..ch07_cost import vectors_on_arrays
from ..ch07_unroll import tree
from ..counting import multiplications
from .cases import DEPENDENT, GENERIC, LONG, LOW, SINGLE, UNIT, across, case, of_rank, sizes
from .rule import inputs, orthonormal, run, several, with_letters, world_of
from .values import listed
from .world import World


def two_maps(draw):
    """Two maps in turn, as one map: what they make of the zero state and of unit states. In a draw
    of low ranks the second one drops a part of what the first one leaves."""
    draw, (_, d_k, d_v) = draw.anew(), sizes(draw)
    F, G = draw.array(2, d_k, d_k), draw.array(2, d_v, d_k)
    G = [of_rank(draw, 1, part) for part in G]
    if draw.easy == LOW:
        F[0, :, 2:], F[1, :1] = 0, 0

    def in_turn(S):
        return (S @ F[0] + G[0]) @ F[1] + G[1]

    zero = 0 * G[0]
    units = [zero + 0 for _ in range(d_k)]
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
    """Tokens, fewer and more than dimensions, in one draw the first a full step, in another the
    first and the last one reflection, of which the first has a value of zero, the last key but one
    in the span of the first two, in one draw the third too, so that a product of three turned round
    keeps a vector that the product does not; questions at right angles to the first r keys, to some
    of these, to their sum, and to none, one that the last state answers as the first does, and one
    whose change by two tokens is across it."""
    T, d_k = {GENERIC: (4, 6), UNIT: (5, 4), DEPENDENT: (6, 7), LONG: (3, 4), SINGLE: (1, 3)}[
        case(draw)
    ]
    q, k, v, alpha, beta, S = inputs(draw, T=T, d_k=d_k, d_v=sizes(draw)[2], decay=False)
    k = k / 4
    if T > 3:
        k[-2] = k[0] + k[1] * 2
    if case(draw) == UNIT:
        beta[:3] = 1, 1, 0.5
        e, f, *_ = orthonormal(draw.anew(3), d_k)
        k[:3] = e, 2 * e + f, e + f
    if case(draw) == LONG:
        k[-1] = k[0]
        beta[0] = beta[-1] = 2 / (k[0] @ k[0])
        v[0] = 0 * v[0]
    more = draw.anew(2)
    y = more.array(d_k, 1)
    if case(draw) == DEPENDENT:
        a, b, c = k[0] @ y[:, 0], k[1] @ y[:, 0], k[0] @ k[1]
        beta[1] = beta[0] * a * a / (beta[0] * a * b * c - b * b)
    x = run(draw, q, k, v, alpha, beta, S)
    some = [[0], [0, 1], [1, 2], [0, 2], [2]] + ([[0, 1, 2]] if case(draw) != UNIT else [])
    ys = [across(more, k[at]) for at in some if max(at) < max(T - 1, 1)]
    ys += [across(more, k.sum(0)[None]), across(more, k[:2].sum(0)[None]), y]
    ys += [across(more, x.states[-1] - S)] if T > 3 and len(S) < d_k else []
    ys += [(f - e)[:, None]] if case(draw) == UNIT else []  # kept by P_3 P_2 P_1 alone
    return with_letters(world_of(draw, x, decay=False), {}, **{r"\boldsymbol{y}": ys})


@cache
def short(draw):
    """Few tokens, more or fewer than dimensions."""
    T = {GENERIC: 4, UNIT: 3, DEPENDENT: 6, LONG: 2, SINGLE: 1}[case(draw)]
    _, d_k, d_v = sizes(draw)
    x = run(draw, *inputs(draw, T=T, d_k=d_k, d_v=d_v, decay=False))
    return world_of(draw, x, decay=False).from_zero("r")


@cache
def two_runs(draw):
    """A run in two parts, each run alone; and all tokens together."""
    x, cut = several(draw), {GENERIC: 2, UNIT: 3, DEPENDENT: 1, LONG: 4, SINGLE: 1}[case(draw)]
    if case(draw) == SINGLE:  # what the second run writes is there already
        k, v = (np.repeat(rows[:1], 2, axis=0) for rows in (x.k, x.v))
        x = run(draw, x.q, k, v, x.alpha, 1 / (k * k).sum(1), x.S)
    joint = world_of(draw, x, decay=False).letters
    parts, matrix = [slice(0, cut), slice(cut, len(x.k))], r"\mathbf{%s}"
    alone = [
        world_of(draw, run(draw, x.q[p], x.k[p], x.v[p], x.alpha[p], x.beta[p], x.S), decay=False)
        for p in parts
    ]
    letters = {matrix % x + "'_": listed([joint[matrix % x][cut:]], 2) for x in "WU"}
    letters |= {matrix % x + "_": listed([w.letters[matrix % x] for w in alone]) for x in "WUK"}
    return World(letters)
