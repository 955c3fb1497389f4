"""The worlds of chapter 2: pairs written into an empty state, one by one, by the package."""

from collections import Counter
from fractions import Fraction
from functools import cache
from itertools import product
from math import floor, log, sqrt

import numpy as np

from ... import linear_attention
from ..ch02_margin import signed_units
from .cases import LONG, LOW, RESET, beyond, case, on_the_sphere
from .memory import inputs, run, tokens, undecayed
from .rule import orthonormal, own_bases, vars_of
from .values import Depends, columns, entries
from .world import World


def fractions(array):
    return np.vectorize(Fraction, otypes=[object])(array)


def overlaps(k):
    return entries(k @ k.T)


@cache
def written(draw):
    """Keys of any length: the state after all pairs, and the overlaps of the keys."""
    q, k, v, S = undecayed(draw)
    states, outputs = run(q, k, v, 0 * S)
    world = tokens(vars_of(q=q, k=k, v=v, states=states, outputs=outputs))
    letters = {r"\mathbf{S}": states[-1], r"\rho_": overlaps(k)}
    return World(world.letters | letters, ranges=world.ranges)


@cache
def bounded(draw, length=1):
    """Unit keys, as fractions, one of them twice. At one key, another in each draw, all other
    values pull the same way: the worst case. In one draw it is the key that comes twice, with one
    value."""
    n, d_k, d_v = ((6, 3, 2), (5, 4, 3), (7, 3, 4))[draw.seed % 3]
    rng, worst, angles = draw.anew().rng, (3, 1, 2)[draw.seed % 3], (n, d_k - 1)
    k = length * on_the_sphere(fractions(rng.integers(1, 6, angles) * rng.choice([-1, 1], angles)))
    k = k * rng.choice([-1, 1], (n, 1))  # overlaps of either sign
    k[4] = k[3]
    v, common = fractions(rng.integers(-5, 6, (n, d_v))), fractions(rng.integers(1, 6, d_v))
    others = np.arange(n) != worst
    v[others] = np.outer(k[others] @ k[worst], common)
    v[3] = v[4] if worst == 3 else v[3]
    states, outputs = run(k, k, v, fractions(np.zeros((d_v, d_k), int)))
    errors = columns([states[-1] @ k[j] - v[j] for j in range(n)])
    letters = {r"\rho_": overlaps(k), r"\boldsymbol{v}_": columns(v), r"\boldsymbol{e}_": errors}
    return World(letters, ranges={"i": range(1, n + 1), "j": range(1, n + 1)})


def _place(draw):
    """The first five for the draws that there always are, the others for those asked for more."""
    return case(draw) if draw.seed % 1000 < 3 else draw.seed % 1000 + 2


AVERAGED = [  # n, d_k and d_v
    (3, 2, 4), (2, 4, 3), (4, 2, 5), (2, 3, 2), (1, 3, 4), (6, 1, 2), (2, 5, 2), (2, 6, 1),
    (3, 2, 3), (3, 2, 5), (2, 5, 4), (2, 4, 6), (2, 3, 5), (3, 1, 2), (2, 2, 6), (4, 1, 3),
]  # fmt: skip
SPREAD = [
    (7, 4), (3, 5), (6, 3), (4, 4), (1, 2), (5, 2), (2, 6), (8, 7), (3, 2), (2, 5), (9, 4), (2, 3),
]  # fmt: skip
LOST = [
    (5, 2, 1), (3, 2, 2), (4, 3, 1), (3, 1, 2), (6, 4, 1), (8, 5, 1), (2, 1, 3), (7, 6, 1),
    (3, 2, 3), (5, 4, 1), (4, 2, 2), (2, 1, 5), (6, 1, 1), (3, 1, 4), (4, 1, 2), (4, 3, 2),
]  # fmt: skip


@cache
def averaged(draw, length=1, isotropic=True):
    """Keys over all plus and minus vectors of a basis, which have the mean and the mean `k k^T` of
    uniform unit keys: the crosstalk is quadratic in each key, so nothing else of them counts."""
    n, d_k, d_v = AVERAGED[_place(draw) % len(AVERAGED)]
    v = draw.anew().array(n, d_v)
    v[3:4] = v[:1]  # a value that comes twice
    units = length * signed_units(d_k)[:: 1 if isotropic else 2]
    cases = list(product(*own_bases(draw.anew(1), units, n)))
    outcomes = []
    for keys in cases:
        k = np.array(keys)
        states, _ = run(k, k, v, 0 * v.T @ k)
        errors = [states[-1] @ k[j] - v[j] for j in range(n)]
        outcomes.append((Fraction(1, len(cases)), {r"\boldsymbol{e}_": columns(errors)}))
    letters = {"d_k": d_k, "d_v": d_v, "n": n, r"\boldsymbol{v}_": columns(v)}
    return World(letters, {"i": range(1, n + 1), "j": range(1, n + 1)}, outcomes)


@cache
def spread(draw, length=1):
    """Unit keys, more than dimensions, as many and fewer; of six or more one comes twice."""
    n, d_k = SPREAD[_place(draw) % len(SPREAD)]
    k = length * on_the_sphere(draw.anew().array(n, d_k - 1))
    k[5:6] = k[4:5]
    if draw.easy == RESET:  # no direction is preferred
        bases = own_bases(draw.anew(1), orthonormal(draw.anew(2), d_k), n // d_k)
        k = length * np.concatenate(bases)
    k[3:] = k[2] if draw.easy == LOW else k[3:]
    letters = {"n": n, "d_k": d_k, r"\mathbf{K}": k, r"\rho_": overlaps(k)}
    return World(letters, ranges={"i": range(1, n + 1), "j": range(1, n + 1)})


@cache
def preferring(draw, length=1):
    """Two independent draws from some unit keys with unequal probabilities."""
    draw = draw.anew()
    n, d_k = [(3, 4), (2, 5), (4, 3), (3, 2), (1, 2)][case(draw)]
    d_k += 2 * beyond(draw)
    keys, p = length * on_the_sphere(draw.array(n, d_k - 1)), draw.between(0.1, 1, n)
    if draw.easy == RESET:  # no direction is preferred
        n, keys, p = d_k, length * orthonormal(draw, d_k), 0 * p[:d_k] + 1
    p = p / p.sum()
    one, other = r"\boldsymbol{k}", r"\boldsymbol{k}'"
    outcomes = [
        (p[a] * p[b], {one: keys[a][:, None], other: keys[b][:, None]})
        for a, b in product(range(n), repeat=2)
    ]
    moment = sum(share * np.outer(key, key) for share, key in zip(p, keys, strict=True))
    return World({"d_k": d_k, r"\boldsymbol{\Sigma}": moment}, outcomes=outcomes)


def numbers(draw):
    """Any two numbers."""
    draw = draw.anew()
    return World({r"\lambda": draw.number(), "x": draw.number()})


@cache
def answerable(draw, returned=True, twice=False):
    """Values that some state returns: at keys that span all dimensions, and at keys that do not,
    whose rank is below both sizes. Or values that none returns: beside them the rank is d_k; or, of
    one key alone, they have the rank d_k, above its own, and it adds nothing to them."""
    draw = draw.anew()
    n, wide, d_v = [(6, 7, 2), (4, 6, 3), (7, 6, 1), (5, 7, 3), (1, 4, 2)][case(draw)]
    wide = wide if returned else min(n, 2 + d_v)
    slim = min(n, 5 - case(draw) % 3)
    keys = {slim: draw.array(n, slim), wide: draw.array(n, 2) @ draw.array(2, wide)}
    states = {d: draw.array(d, d_v) for d in keys}
    if case(draw) == LONG and returned:  # all that is read lies along one direction
        states = {d: draw.array(d, 1) @ draw.array(1, d_v) for d in keys}
    values = {d: k @ states[d] for d, k in keys.items()}
    if not returned:
        values[wide] = draw.array(n, d_v)
    if twice:
        n, wide, d_v = n + 1, 2, 2
        keys, values = {wide: draw.array(1, wide).repeat(n, 0)}, {wide: draw.array(n, d_v)}
        values[wide][:, 0] = keys[wide][:, 0]
    letters = {
        "n": n, "d_v": d_v, r"\mathbf{K}": Depends(lambda at: keys[at["d_{k}"]]),
        r"\mathbf{V}": Depends(lambda at: values[at["d_{k}"]]),
    }  # fmt: skip
    return World(letters, ranges={"d_k": [slim, wide] if returned else [wide]})


def best(k, v):
    """The state of least squares, by NumPy's solver."""
    return np.linalg.lstsq(k, v, rcond=None)[0].T


@cache
def least_squares(draw):
    """Fewer pairs than dimensions, as many, and more; dependent keys, fewer and more; and a pair
    that is written twice, which a state recalls although the keys are dependent; and a key with a
    value and its negative, which leave nothing."""
    n, d_k, d_v = [(7, 4, 3), (5, 3, 4), (6, 5, 2), (8, 6, 3), (4, 2, 3), (9, 7, 2)][draw.seed % 6]
    _, k, v, _ = inputs(draw, n, d_k, d_v)
    line = k[:, :1] @ k[:1]  # of rank 1
    K, twice, opposed = r"\mathbf{K}", *(np.repeat(k[:1], 2, axis=0) for _ in range(2))

    def values(at):
        for keys, sign in ((twice, 1), (opposed, -1)):
            if at[K] is keys:
                return np.array([v[0], sign * v[0]])
        return v[: len(at[K])]

    letters = {
        "n": Depends(lambda at: len(at[K])), "d_k": d_k, r"\mathbf{V}": Depends(values),
        r"\mathbf{S}_\star": Depends(lambda at: best(at[K], values(at))),
    }  # fmt: skip
    keys = [k[:1], k[: d_k - 1], k[:d_k], k, line[: d_k - 1], line, twice, opposed]
    return World(letters, ranges={K: keys})


@cache
def lost(draw):
    """More keys than dimensions, values over all plus and minus vectors of a basis."""
    n, d_k, d_v = LOST[draw.seed % len(LOST)]
    k = draw.anew().array(n, d_k)
    cases = [np.array(rows) for rows in product(*own_bases(draw.anew(1), signed_units(d_v), n))]
    outcomes = [
        (1 / len(cases), {r"\mathbf{V}": v, r"\mathbf{S}_\star": best(k, v)}) for v in cases
    ]
    return World({"n": n, "d_k": d_k, "d_v": d_v, r"\mathbf{K}": k}, outcomes=outcomes)


def every(*choices):
    """All choices of one row from each of several sets of rows, as a batch: [cases, len, d]."""
    places = np.indices([len(rows) for rows in choices]).reshape(len(choices), -1)
    return np.stack([rows[place] for rows, place in zip(choices, places, strict=True)], -2)


# n, d_k, d_v, few enough for all cases to be counted
SIZES = [
    (2, 3, 2), (2, 2, 3), (3, 2, 2), (5, 1, 1), (2, 1, 4), (3, 3, 1), (6, 1, 1), (2, 1, 5),
    (2, 4, 1), (7, 1, 1), (2, 6, 1), (2, 1, 6), (4, 1, 2), (2, 5, 1), (3, 1, 2), (2, 1, 1),
]  # fmt: skip


@cache
def margins(draw, length=1):
    """The margin at key 1: its distribution, counted over all plus and minus vectors of a basis.

    Its square is quadratic in each key, value and candidate: their means and the means of
    `k k^T` and `v v^T` are those of uniform unit vectors.
    """
    n, d_k, d_v = SIZES[draw.seed % len(SIZES)]
    draw = draw.anew()
    values = every(*own_bases(draw, signed_units(d_v), n + 1))  # the last one is the candidate
    keys = every(*own_bases(draw, length * signed_units(d_k), n))
    k, v = keys[:, None], values[None, :, :n]
    _, S = linear_attention.recurrent(k, k, v)
    read = S @ k[..., 0, :, None]
    margin = ((v[..., 0, :] - values[None, :, n]) * read[..., 0]).sum(-1)
    counts = Counter(margin.round(12).ravel().tolist())
    outcomes = [(Fraction(count, margin.size), {"m": m}) for m, count in counts.items()]
    return World({"n": n, "d_k": d_k, "d_v": d_v}, outcomes=outcomes)


def full(draw):
    """The most pairs, a whole number, at which the best rival scores no more than 1: by the page's
    two rules of thumb and bisection, in heads so wide that it hardly counts what is rounded off."""
    draw = draw.anew()
    (N,), (d_k, d_v) = draw.sizes(1, 20, 200), draw.sizes(2, 2_000, 20_000)
    low, high = 0.0, float(d_k * d_v)
    for _ in range(100):
        n = (low + high) / 2
        typical, times = sqrt(n / (d_k * d_v)), sqrt(2 * log(N))
        low, high = (n, high) if typical * times < 1 else (low, n)
    return World({"n": float(floor(low)), "N": N, "d_k": d_k, "d_v": d_v}, about=1 / low)


@cache
def one_margin(draw, of_keys=1, of_values=1):
    """One margin at unit keys and values, by the loop, and a candidate that was not written."""
    draw = draw.anew()
    n, d_k, d_v = [(6, 4, 3), (3, 5, 2), (4, 2, 3), (2, 3, 4), (1, 2, 2)][case(draw)]
    k = of_keys * on_the_sphere(draw.array(n, d_k - 1))
    v = of_values * on_the_sphere(draw.array(n + 1, d_v - 1))
    k[3:4], v[3:4] = k[2:3], v[:1]  # a key that comes twice, and a value
    states, _ = run(k, k, v[:n], v[:n].T @ k * 0)
    m = [(v[j] - v[n]) @ states[-1] @ k[j] for j in range(n)]
    letters = {
        "n": n, "m": Depends(lambda at: m[at["j"] - 1]), r"\rho_": overlaps(k),
        r"\boldsymbol{v}_": columns(v[:n]), r"\boldsymbol{v}_c": v[n][:, None],
        r"\boldsymbol{k}_": columns(k), r"\mathbf{S}": states[-1],
    }  # fmt: skip
    return World(letters, ranges={"i": range(1, n + 1), "j": range(1, n + 1)})
