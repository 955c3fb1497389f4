r"""Worlds of chapter 8: keys that meet a bound, keys of one cosine, blocks, counts."""

from functools import cache

import numpy as np

from ... import wy
from ..ch08_inverses import quarter
from ..counting import known, multiplications
from ..token_forms import solve
from .rule import D_K, eye, inputs, orthonormal, run, ungated, with_letters, world_of
from .values import Depends, Family, Refused, columns
from .world import World


def among(values):
    """A family with these indices and no others."""

    def at(index):
        if index not in values:
            raise Refused(f"no index {index}")
        return values[index]

    return Family(at)


@cache
def right_sides(draw):
    """Any right-hand side Y, and what the inverse, from the token loop, makes of it."""
    world = ungated(draw)
    Y = draw.anew(2).array(len(world.letters[r"\mathbf{X}"]), 5)
    Z = world.letters[r"\mathbf{X}"] @ Y
    return with_letters(world, {r"\boldsymbol{y}_": columns(Y), r"\boldsymbol{z}_": columns(Z)})


@cache
def unit_keys(draw):
    """Unit keys, strengths from 0 to 2; two neighbours are the same, so that the bound is met."""
    q, k, v, alpha, beta, S = inputs(draw, decay=False)
    k = k / np.linalg.norm(k, axis=1, keepdims=True)
    k[3], beta[3], beta[4] = k[2], 1.9, 0.2
    return world_of(draw, run(draw, q, k, v, alpha, beta, S), decay=False)


@cache
def sixteen(draw):
    """A chunk of 2^4 tokens. Their keys are alike, so that the highest power is not small."""
    q, _, v, alpha, beta, S = inputs(draw, T=16, decay=False)
    k, beta = 0.5 + 0.1 * draw.anew(2).array(16, D_K), 0.5 + beta / 10
    world = world_of(draw, run(draw, q, k, v, alpha, beta, S), decay=False)
    return with_letters(world, {}, **{r"\ell": [1, 2, 3, 4]})


@cache
def eight(draw):
    """A chunk of 2^3 tokens; X of its blocks of b tokens, each block a run of its own."""
    x = inputs(draw, T=8, decay=False)
    world = world_of(draw, run(draw, *x), decay=False)

    def blocks(b):
        found = 0 * eye(draw, 8)
        for at in range(0, 8, b):
            p = slice(at, at + b)
            part = run(draw, *[rows[p] for rows in x[:5]], x[5])
            found[p, p] = world_of(draw, part, decay=False).letters[r"\mathbf{X}"]
        return found

    letters = {
        r"\mathbf{X}^": among({b: blocks(b) for b in (1, 2, 4, 8)}),
        r"\mathbf{L}_": among({b: quarter(8, b).astype(int) for b in (1, 2, 4)}),
    }
    return with_letters(world, letters, b=[1, 2, 4])


@cache
def one_cosine(draw):
    """Five keys, every two of them with one cosine; one strength."""
    q, _, v, alpha, beta, S = inputs(draw, T=5, d_k=6, decay=False)
    t = draw.anew(2).number()
    shared, own = 2 * t / (1 + t * t), (1 - t * t) / (1 + t * t)  # their squares add up to 1
    basis = orthonormal(draw.anew(3), 6)
    k = shared * basis[:1] + own * basis[1:]
    world = world_of(draw, run(draw, q, k, v, alpha, 0 * beta + beta[0], S), decay=False)
    letters = {
        "a": beta[0] * shared * shared, "n": Depends(lambda at: at["r"] - at["i"] - 1),
    }  # fmt: skip
    return with_letters(world, letters, m=range(1, 5))


def counted_solves(draw):
    """Forward substitution on numbers that count, where zeros and ones are known to be such."""
    C, d = draw.anew().sizes(2, 3, 12)
    return World({
        "C": C, "d": d, "solve": multiplications(solve, (C, C), (C, d)),
        "inverse": multiplications(lambda A: solve(A, known(np.eye(C))), (C, C)),
    })  # fmt: skip


def two_blocks(draw):
    """Any matrices of three and of two tokens, and what couples them."""
    draw = draw.anew()
    return World({
        r"\mathbf{X}_e": draw.array(3, 3), r"\mathbf{X}_l": draw.array(2, 2),
        r"\mathbf{Y}": draw.array(2, 3),
    })  # fmt: skip


def worst_chunks(draw):
    """One unit key, with either sign: chunks of two tokens come within 3 per cent of the bound."""
    draw = draw.anew()
    k = draw.rng.choice([-1, 1], size=(8, 1)) * orthonormal(draw, D_K)[:1]

    def A(at):
        return wy.interaction(k[: at["C"]], np.full(at["C"], float(at["b"])))

    return World({r"\mathbf{A}": Depends(A)}, ranges={"C": [2, 3, 8], "b": [1, 2]}, near=0.03)
