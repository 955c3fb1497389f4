"""Checks of chapter 22: how many steps a permutation needs, and what two reflections count."""

from functools import cache, reduce

import numpy as np
from sympy import Integer, Matrix, Rational, cos, pi, simplify, sin, symbols, trigsimp

from .. import delta_rule
from ..experiments.permutations import (
    after,
    all_of,
    cycles,
    fewest_steps,
    keys_of,
    matrix,
    moved,
    swaps_of,
)
from . import verifies
from .page import on_page

x, y = symbols("x y", real=True)


def reflection(i, j, d):
    """`I - 2 k k^T` for the unit key `(e_i - e_j) / sqrt 2`: an integer matrix."""
    difference = np.zeros(d, dtype=int)
    difference[i], difference[j] = 1, -1
    return np.eye(d, dtype=int) - np.outer(difference, difference)


def made(swaps, d):
    """The product of their reflections, the first on the left: it meets a row first."""
    return reduce(np.matmul, (reflection(i, j, d) for i, j in swaps), np.eye(d, dtype=int))


SIZES = (2, 3, 4, 5)


@verifies(
    "eq-permutation-steps",
    method="enumeration",
    covers="each permutation of two to five items: the rank, and swaps that reach it",
    mutants={
        "items moved": {"steps": moved},
        "items moved less one": {"steps": lambda p: max(moved(p) - 1, 0)},
        "cycles": {"steps": lambda p: len(cycles(p))},
        "all items less one": {"steps": lambda p: len(p) - 1},
    },
)
def steps_of_a_permutation(steps=fewest_steps):
    """The rank of `Pi - I` in exact arithmetic. No fewer steps do, for n transitions differ from
    the identity by a rank of at most n; as many do, for here they are."""
    found = []
    for d in SIZES:
        for p in all_of(d):
            rank = (Matrix(matrix(p)) - Matrix.eye(d)).rank()
            found += [Integer(rank - steps(p)), Integer(len(swaps_of(p)) - steps(p))]
            found.append(Integer(abs(made(swaps_of(p), d) - matrix(p)).sum()))
    on_page("eq-permutation-steps", lambda at: steps(at(r"\boldsymbol{\Pi}").argmax(1).tolist()))
    return found


def turn(angle):
    """A rotation of the plane."""
    return Matrix([[cos(angle), -sin(angle)], [sin(angle), cos(angle)]])


def mirror(angle):
    """The reflection whose unit key stands at this angle."""
    key = Matrix([cos(angle), sin(angle)])
    return Matrix.eye(2) - 2 * key * key.T


@cache
def mirrors_and_turns():
    """Two mirrors are a turn by twice their angle, and two turns are one: what is left."""
    two = simplify(mirror(x) * mirror(y) - turn(2 * (x - y))), turn(x) * turn(y) - turn(x + y)
    return tuple(entry for residual in two for entry in residual.applyfunc(trigsimp))


@verifies(
    "eq-count-modulo",
    method="algebra",
    covers="every m: angles add up by induction; m = 2 to 8, and no smaller power is the identity",
    mutants={
        "half the angle": {"between": lambda m: pi / (2 * m)},
        "an angle that does not close": {"between": lambda m: pi * Rational(2, 2 * m + 1)},
        "one turn more": {"power": lambda m: m + 1},
        "one key": {"between": lambda m: 0 * pi},
    },
)
def count_modulo(between=lambda m: pi / m, power=lambda m: m):
    """Two mirrors turn by twice the angle between them, turns add up, and m of them close. A
    power that comes back too early is left as a residual of one."""
    found = [*mirrors_and_turns()]
    for m in range(2, 9):
        full = turn(2 * between(m) * power(m)) - Matrix.eye(2)
        found += list(full.applyfunc(simplify))
        early = [turn(2 * between(m) * n) == Matrix.eye(2) for n in range(1, m)]
        found.append(Integer(any(early)))
    both = r"\mathbf{P}_1\mathbf{P}_2"
    on_page("eq-count-modulo", lambda at: np.linalg.matrix_power(at(both), power(at("m"))))
    return found


def tracked(words, d, steps, strength, order, sign):
    """Where the package's delta rule, from an empty state, says that things are after each token.

    The row `C - S_t` holds in each box the number of what lies there; `C` is 1, 2, ..., d, and a
    token's values are `C k`. Whole numbers throughout.
    """
    C = np.arange(1, d + 1)[None]
    k = np.concatenate([keys_of(p, steps)[::order] for p in words])
    k[k < 0] *= sign
    v, beta = k @ C.T, np.full(len(k), strength)
    S, found = np.zeros_like(C), []
    for t in range(len(words)):
        rows = slice(t * steps, (t + 1) * steps)
        _, S = delta_rule.recurrent(k[rows], k[rows], v[rows], beta[rows], S)
        found.append((C - S)[0])
    return np.array(found)


@verifies(
    "eq-empty-start",
    method="enumeration",
    covers="gdn_ref.delta_rule on whole numbers: 5,000 tokens of S_5, four steps each, 1,000 bits",
    mutants={
        "strength 1 for a unit key": {"half": True},
        "the steps in reverse": {"order": -1},
        "keys e_i + e_j": {"sign": -1},
    },
    part="explicit weights follow every permutation of five boxes, and the parity of bits",
)
def weights_that_track(half=False, order=1, sign=1):
    """Against the permutations themselves: how many boxes hold something else."""
    rng, found = np.random.default_rng(22), []
    for d, steps, count in ((5, 4, 5_000), (2, 1, 1_000)):
        words = [all_of(d)[i] for i in rng.integers(len(all_of(d)), size=count)]
        at, right = tuple(range(d)), []
        for p in words:
            at = after(at, p)
            row = np.empty(d, dtype=int)
            row[list(at)] = np.arange(1, d + 1)
            right.append(row)
        strength = 0.5 if half else 1
        said = tracked(words, d, steps, strength, order, sign)
        found.append(Integer(int((np.array(right) != said).sum())))
    return found
