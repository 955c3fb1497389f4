r"""Worlds of chapter 6: one transition, in every strength; two of them; bits; a normalised key."""

from fractions import Fraction
from functools import cache

import numpy as np

from .cases import RESET, decay, of_rank, sizes, strength
from .rule import eye, of_tokens, orthonormal, run, several, step
from .values import Depends, columns, listed
from .world import World

STRENGTHS = [Fraction(n, 8) for n in range(-16, 25)]


def transition(draw, key, alpha, beta):
    """What the token loop makes of the identity: the old memory's part, without a value."""
    return step(draw, eye(draw, len(key)), key, 0 * key, alpha, beta)


@cache
def one_key(draw):
    """One token without a value, a key of any length, and a state whose rows it moves; beside a
    decay of 0 it is a projection."""
    draw, (_, d, rows) = draw.anew(), sizes(draw)
    k, S, alpha, beta = draw.array(d), draw.array(rows, d), decay(draw, 0.3, 1.7), strength(draw)
    S = of_rank(draw, 1, S)
    if draw.easy == RESET:
        alpha, beta = 0 * alpha, 1 / (k @ k)
    one = 1 + 0 * alpha
    F = transition(draw, k, alpha, beta)
    return World({
        r"\boldsymbol{k}": k[:, None], r"\mathbf{S}": S, r"\alpha": alpha, r"\beta": beta, "d": d,
        r"\boldsymbol{s}_": columns(S), r"\boldsymbol{x}": draw.array(d, 1),
        r"\boldsymbol{s}'_": columns(step(draw, S, k, 0 * S[:, 0], one, beta)),
        r"\mathbf{P}": transition(draw, k, one, beta), r"\mathbf{F}": F,
        r"\lambda": draw.number(),
    }, ranges={"i": range(1, rows + 1)})  # fmt: skip


def right_angles(draw, k):
    """d - 1 independent vectors at right angles to k."""
    ys = draw.array(len(k) - 1, len(k))
    return ys - np.outer(ys @ k, k) / (k @ k)


def the_factor(F, vectors):
    """The one number by which F multiplies all these vectors."""
    vectors = np.atleast_2d(vectors)
    factors = [row @ F @ row / (row @ row) for row in vectors]
    apart = np.array([row @ F - f * row for f, row in zip(factors, vectors, strict=True)])
    if np.any(apart * apart > 1e-20) if apart.dtype == float else np.any(apart != 0):
        raise ValueError("no eigenvectors")
    return factors[0]


@cache
def unit_key(draw, length=1):
    """A unit key, and the transition at strengths of 0, 1 and 2, near them, between and beyond;
    the entries are halves, so that float64 is exact."""
    draw, d = draw.anew(), sizes(draw)[1]
    halves = np.append(draw.rng.choice([-0.5, 0.5], size=4), np.zeros(d))[:d]
    k = length * (orthonormal(draw, d)[0] if draw.exact else halves)
    one = 1 + 0 * k[0]
    at_strength = {b: transition(draw, k, one, b * one) for b in STRENGTHS}
    letters = {
        r"\mathbf{P}": Depends(lambda at: at_strength[at[r"\beta"]]),
        r"\boldsymbol{k}": k[:, None],
    }
    return World(letters, ranges={r"\beta": STRENGTHS})


@cache
def long_and_short(draw):
    """Strengths on both sides of the two places where the norm's branch changes."""
    draw = draw.anew()
    k, alpha = draw.array(sizes(draw)[1]), decay(draw)
    shares = draw.rng.uniform(0, 0.3, 7) + (-0.8, -0.4, 0.4, 1.3, 1.65, 2.3, 40)
    strengths = shares / (k @ k)

    def F(at):
        return transition(draw, k, alpha, at[r"\beta"])

    letters = {r"\mathbf{F}": Depends(F), r"\boldsymbol{k}": k[:, None], r"\alpha": alpha}
    return World(letters, ranges={r"\beta": strengths})


def normalised(draw):
    """Raw keys of three lengths, divided as the package divides them. It divides c times a key as
    one beside an epsilon of its own over c^2: in one draw that is 1/4; else it is its own, of which
    the sentences speak."""
    from torch import from_numpy  # here: the chapter is also read where there is no torch

    from ... import ops

    draw = draw.anew()
    c = (1, 1, 0.002)[draw.seed % 3]
    raw = [length / c * draw.array(sizes(draw)[1], 1) for length in (1e-3, 0.3, 1)]
    keys = {id(x): ops.unit_rows(from_numpy(c * x[:, 0])).numpy()[:, None] for x in raw}
    letters = {
        r"\boldsymbol{k}": Depends(lambda at: keys[id(at[r"\boldsymbol{x}"])]),
        r"\epsilon": ops.NORM_EPSILON / c**2,
    }
    return World(letters, ranges={r"\boldsymbol{x}": raw}, near=1e-5)


@cache
def bits(draw, length=1):
    """Some bits: the state after each token, of strength 2b."""
    draw, (T, d_k, d_v) = draw.anew(), sizes(draw)
    k, S = length * orthonormal(draw, d_k)[0], draw.array(d_v, d_k)
    b = (3 * [0, 1, 0, 0, 0, 1, 1, 1])[-T:]
    one = 1 + 0 * k[0]
    beta = [2 * bit * one for bit in b]
    x = run(draw, [k] * T, [k] * T, [0 * S[:, 0]] * T, [one] * T, beta, S)
    return World({
        r"\mathbf{S}_": listed(x.states, 0), r"\boldsymbol{k}": k[:, None], "b_": listed(b),
    }, ranges={"T": range(1, T + 1)})  # fmt: skip


def two_tokens(draw):
    """The delta rule, over more than one token."""
    return of_tokens(draw, several(draw))


def two_reflections(draw, length=1):
    """Two reflections in a plane of four dimensions, of five, and of two, at any angle."""
    draw = draw.anew()
    e, theta = orthonormal(draw, sizes(draw)[1]), draw.number() + 2 * (draw.seed % 3)
    keys = [e[0], np.cos(theta) * e[0] + np.sin(theta) * e[1]]
    factors = [transition(draw, length * k, 1.0, 2.0) for k in keys]
    return World({
        r"\mathbf{P}_": listed(factors), r"\boldsymbol{e}_": columns(e[:2]), r"\theta": theta,
    })  # fmt: skip
