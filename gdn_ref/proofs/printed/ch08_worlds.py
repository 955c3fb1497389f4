r"""Worlds of chapter 8: keys that meet a bound, keys of one cosine, blocks, counts."""

from functools import cache

import numpy as np

from ... import wy
from ..ch08_inverses import paths, quarter
from ..counting import known, multiplications
from ..token_forms import solve
from .cases import (
    DEPENDENT,
    GENERIC,
    LONG,
    RESET,
    SINGLE,
    UNIT,
    beyond,
    case,
    few,
    of_rank,
    sizes,
    two_write,
)
from .rule import eye, inputs, orthonormal, run, ungated, with_letters, world_of
from .values import Depends, Family, Refused, columns
from .world import World


def among(values, bracket=""):
    """A family with these indices and no others."""

    def at(index):
        if index not in values:
            raise Refused(f"no index {index}")
        return values[index]

    return Family(at, bracket)


@cache
def right_sides(draw):
    """Any right-hand side Y, and what the inverse, from the token loop, makes of it."""
    world = ungated(draw)
    Y = draw.anew(2).array(len(world.letters[r"\mathbf{X}"]), 5 + case(draw))
    Z = world.letters[r"\mathbf{X}"] @ Y
    return with_letters(world, {r"\boldsymbol{y}_": columns(Y), r"\boldsymbol{z}_": columns(Z)})


@cache
def of_paths(draw):
    """The inverse, from the token loop, and all paths from token to token: m and n_0 to n_m."""
    *tokens, S = inputs(draw, decay=False)
    x = run(draw, *few(*tokens), S)

    def cases(i, r):
        return [{"m": len(path) - 1, "path": path} for path in paths(i, r)]

    def token(j):
        return Depends(lambda at: among(dict(enumerate(at["path"])))[(j,)])

    letters = {"paths": cases, "n_": Family(token)}
    return with_letters(world_of(draw, x, decay=False), letters)


@cache
def unit_keys(draw, length=1, stronger=1):
    """Unit keys, strengths from 0 to 2; two neighbours are the same, so that the bound
    is met, at a strength of 2 and before that at any."""
    q, k, v, alpha, beta, S = inputs(draw, decay=False)
    k = length * k / np.linalg.norm(k, axis=1, keepdims=True)
    beta = stronger * beta
    if (at := len(k) // 2) > 0:
        k[1] = k[0]
        k[at], beta[at] = k[at - 1], 2.0
        beta[at + 1 : at + 2] = 0.2
    return world_of(draw, run(draw, q, k, v, alpha, beta, S), decay=False)


@cache
def powers(draw):
    """Chunks of 2^3, 2^5, 5, 2^2, 2^4, 2 and 2^6 tokens. Their keys are alike, so that the highest
    power is not small."""
    lengths, sizes = (8, 32, 5, 4, 16, 2, 64), [(6, 5), (4, 3), (3, 2), (5, 3)]
    T, (d_k, d_v) = lengths[draw.seed % 7], sizes[draw.seed % 4]
    q, _, v, alpha, beta, S = inputs(draw, T=T, d_k=d_k, d_v=d_v, decay=False)
    k = (8 / T) ** 0.5 * 0.6 + 0.1 * draw.anew(2).array(T, d_k)
    beta = two_write(draw, 0.5 + beta / 10)
    world = world_of(draw, run(draw, q, k, v, alpha, beta, S), decay=False)
    return with_letters(world, {}, **{r"\ell": range(1, 7)})


@cache
def eight(draw):
    """A chunk of 2^n tokens; X of its blocks of b tokens, each block a run of its own."""
    C = {GENERIC: 4, UNIT: 8, DEPENDENT: 4, LONG: 8, SINGLE: 2}[case(draw)]
    (_, d_k, d_v), more = sizes(draw), beyond(draw)
    C = 8 * 2**more if more else C
    x = list(inputs(draw, T=C, d_k=d_k, d_v=d_v, decay=False))
    x[1] = x[1] / (1 + 2 * more)  # or the inverse is large
    halves = [2**n for n in range(C.bit_length() - 1)]
    world = world_of(draw, run(draw, *x), decay=False)

    def blocks(b):
        found = 0 * eye(draw, C)
        for at in range(0, C, b):
            p = slice(at, at + b)
            part = run(draw, *[rows[p] for rows in x[:5]], x[5])
            found[p, p] = world_of(draw, part, decay=False).letters[r"\mathbf{X}"]
        return found

    letters = {
        r"\mathbf{X}^": among({b: blocks(b) for b in (*halves, C)}, "("),
        r"\mathbf{L}_": among({b: quarter(C, b).astype(int) for b in halves}),
    }
    return with_letters(world, letters, b=halves)


@cache
def one_cosine(draw, alike=True):
    """Keys, every two of them with one cosine; one strength."""
    T = {GENERIC: 5, UNIT: 4, DEPENDENT: 3, LONG: 7, SINGLE: 2}[case(draw)]
    more, d_v = draw.anew(4).numbers(2, 1, 5)
    q, _, v, alpha, beta, S = inputs(draw, T=T, d_k=T + more, d_v=d_v, decay=False)
    t = draw.anew(2).number()
    t = 0 * t if draw.easy == RESET else t
    shared, own = 2 * t / (1 + t * t), (1 - t * t) / (1 + t * t)  # their squares add up to 1
    basis = orthonormal(draw.anew(3), T + more)[: T + 1]
    k = shared * basis[:1] + own * basis[1:]
    if not alike:
        k[-1] = basis[-1]  # one at right angles to the others
    world = world_of(draw, run(draw, q, k, v, alpha, 0 * beta + beta[0], S), decay=False)
    letters = {
        "a": beta[0] * shared * shared, "n": Depends(lambda at: at["r"] - at["i"] - 1),
    }  # fmt: skip
    return with_letters(world, letters, m=range(1, T))


def counted_solves(draw):
    """Forward substitution on numbers that count, where zeros and ones are known to be such."""
    C, d = draw.anew().sizes(2, 3, 12)
    return World({
        "C": C, "d": d, "solve": multiplications(solve, (C, C), (C, d)),
        "inverse": multiplications(lambda A: solve(A, known(np.eye(C))), (C, C)),
    })  # fmt: skip


def two_blocks(draw):
    """Any matrices of as many tokens as dimensions of keys and of values, and what couples them."""
    draw, (_, e, l) = draw.anew(), sizes(draw)
    return World({
        r"\mathbf{X}_e": draw.array(e, e), r"\mathbf{X}_l": draw.array(l, l),
        r"\mathbf{Y}": of_rank(draw, 1, draw.array(l, e)),
    })  # fmt: skip


def worst_chunks(draw, length=1):
    """Chunks of one unit key, with either sign: of two tokens they come close to the bound, within
    3 per cent for a strength of 2. And chunks of any unit keys and strengths up to b."""
    draw, (b, near) = draw.anew(), [(2.0, 0.03), (1.0, 0.13), (1.5, 0.06)][draw.seed % 3]
    d_k = sizes(draw)[1]
    one = draw.rng.choice([-1, 1], size=(8, 1)) * orthonormal(draw, d_k)[:1]
    k = draw.array(8, d_k)
    k = k / np.linalg.norm(k, axis=1, keepdims=True)
    strengths = two_write(draw, b * draw.between(0, 1, 8))
    chunks = [wy.interaction(length * one[:C], np.full(C, b)) for C in range(2, 9)]
    chunks += [wy.interaction(length * k[:C], strengths[:C]) for C in range(2, 9)]
    letters = {"C": Depends(lambda at: len(at[r"\mathbf{A}"])), "b": b}
    return World(letters, ranges={r"\mathbf{A}": chunks}, near=near)
