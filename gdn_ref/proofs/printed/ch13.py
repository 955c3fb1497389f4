r"""Chapter 13: conditioning, roundings and their costs, as they are printed.

Condition numbers come from NumPy's singular values, inverses and chunks from the token loop or the
package; means are taken over every case of signs; roundings are of exact fractions.
"""

import itertools
from fractions import Fraction
from functools import cache, partial

import numpy as np

from ... import chunking, wy
from ..data import equal_cosine_keys, hard_inputs
from .cases import LOW, STILL, of_rank, sizes
from .ch17 import nearest
from .check import printed
from .numbers import Dual
from .rule import eye, sequence, with_letters, world_of
from .values import Depends, columns, entries, listed
from .world import World


def two_tokens(draw):
    """Two tokens with these overlaps, of either sign, of long keys, or with orthogonal keys."""
    overlaps = draw.rng.uniform((-2, -2, -2, 2, -20), (2, 2, 2, 4, -9))
    return World(
        {r"\tilde{\mathbf{A}}": Depends(lambda at: np.array([[0, 0], [at["a"], 0]]))},
        {"a": [*overlaps, 0.0, -2.0, 1.0]},
    )


def stronger(draw, weaker=False):
    """Chunks with decays, and with stronger ones, of all tokens or of one; at first with the same,
    so that it is equal."""
    T, d_k, d_v = sizes(draw)
    _, k, _, g, beta, _ = hard_inputs(T=max(T, 3), d_k=d_k, d_v=d_v, seed=draw.seed)
    more = draw.rng.uniform(0.3, 1, len(g)) ** (-1 if weaker else 1)
    one, two, three = (
        wy.interaction(k, beta, chunking.decay(x)[1]) for x in (g, g, 2 * g + np.log(more))
    )
    if weaker:
        two = three = wy.interaction(k, beta)
        one = wy.interaction(k, beta, chunking.decay(60 * g)[1])
    more = [wy.interaction(k, beta, chunking.decay(g - 2 * row)[1]) for row in np.eye(len(g))]
    return World(
        {r"\tilde{\mathbf{A}}": one},
        {r"\tilde{\mathbf{A}}'": [two, three] if weaker else [two, *more, three]},
    )


def one_cosine(draw, near=1e-9, more=()):
    """Chunks of keys of one cosine, one strength and one decay, through the package's solve.

    Without decay the keys are one key and the strength is 2, so that h = -1: the longest memory. A
    draw of low ranks has a strength of 0; but C runs where there has to be something to bound.
    `more` are numbers of tokens by which chunks are longer: then C runs, from one token on.
    """
    C = (5, 1, 3)[draw.seed % 3] + draw.seed // 3
    cosine, beta, alpha = draw.rng.uniform((0.6, 0.8, 0.6), (0.95, 1.8, 0.9))
    if draw.easy == STILL and not more:
        cosine, beta, alpha = 1.0, 2.0, 1.0
    beta = beta * 0 if draw.easy == LOW and not more else beta

    def inverse(count):
        Gamma = chunking.decay(np.full(count, np.log(alpha)))[1]
        A = wy.interaction(equal_cosine_keys(count, cosine), np.full(count, beta), Gamma)
        return wy.solve(A, np.eye(count))

    letters = {
        "a": beta * cosine, r"\alpha": alpha, r"\beta": beta, "c": cosine,
        "h": alpha * (1 - beta * cosine),
    }  # fmt: skip
    A = {m: np.linalg.inv(inverse(m)) - np.eye(m) for m in [1, 2, C, *(C + n for n in more)]}
    if more:
        letters[r"\tilde{\mathbf{A}}"] = Depends(lambda at: A[at["C"]])
        return World(letters, {"C": list(A)}, near=near)
    return World(letters | {"C": C, r"\tilde{\mathbf{A}}": A[C]}, {"n": range(C)})


def rounding(draw):
    """Significands of a number of bits, the points halfway between them, and some between."""
    bits = ((2, 5), (3, 1), (4, 6))[draw.seed % 3]
    halves = sorted({Fraction(n, 2) for p in bits for n in range(2**p, 2 ** (p + 2))})[:130]
    beside = [x + Fraction(1, 1000) for x in halves]
    ties = [lambda m: m % 2 == 1, lambda m: False]  # to even, down
    roundings = {cache(nearest(p, tie)): p for p, tie in zip(bits, ties, strict=True)}
    return World(
        {"p": Depends(lambda at: roundings[at["fl"]])},
        {
            "x": [sign * x for x in halves + beside for sign in (1, Fraction(-1, 64))],
            r"\mathrm{fl}": list(roundings),
        },
    )


def mean_size(draw):
    """The root mean square of rounding errors that are spread evenly between neighbours, of
    numbers that are spread evenly on a log axis: by quadrature, to all digits."""
    p = 2 + draw.seed
    nodes, weights = np.polynomial.legendre.leggauss(40)
    e = nodes[:, None] * 2.0**-p  # errors of a number that has 1 before the point
    size = 2.0 ** (0.5 + nodes[None, :] / 2)  # from 1 to 2
    square = (weights[:, None] / 2 * weights[None, :] / 2 * (e / size) ** 2).sum()
    return World({"p": p, r"\rho": float(square**0.5)})


def all_signs(rho, *matrices):
    """What roundings of mean square rho^2 add to each of some matrices, for every choice of signs.

    They have two sizes, so that their squares are not constant: 7/5 rho for every other entry and
    rho/5 for those between, or the other way about. One in five is up, by twice as much, four are
    down by half: the mean is zero, and they are not as likely as their negatives.
    """
    count = sum(Y.size for Y in matrices)
    for large, *signs in itertools.product((1, -1), repeat=count + 1):
        found, at = [], 0
        for r, Y in zip(rho, matrices, strict=True):
            sizes = [4 + 3 * large * (-1) ** n for n in range(at, at + Y.size)]
            halves = [4 if sign > 0 else -1 for sign in signs[at : at + Y.size]]
            found.append(np.reshape(np.multiply(sizes, halves), Y.shape) * Y * r / 10)
            at += Y.size
        yield Fraction(4 ** signs.count(-1), 2 * 5**count), found


@cache
def product_of_three(draw):
    """X, Y and Z of different shapes, and all signs of the roundings of Y."""
    draw = draw.anew()
    a, b, c, d = [(3, 2, 3, 2), (2, 6, 1, 4), (4, 1, 6, 3)][draw.seed % 3]
    X, Y, Z, rho = draw.array(a, b), draw.array(b, c), draw.array(c, d), draw.number()
    X, Z = (of_rank(draw, 1, part) for part in (X, Z))
    Y[0] = Y[0] * (draw.easy != LOW)  # nothing to round
    letters = {
        r"\mathbf{X}": X, r"\mathbf{Z}": Z, r"\rho": rho, "Y_": entries(Y),
        r"\boldsymbol{x}_": columns(X.T), r"\boldsymbol{z}_": columns(Z),
    }  # fmt: skip
    outcomes = [(w, {r"\partial\mathbf{Y}": dY}) for w, (dY,) in all_signs([rho], Y)]
    return World(letters, {"i": range(1, b + 1), "j": range(1, c + 1)}, outcomes)


@cache
def stages(draw):
    """Two, three or six stages that each add an error of their own to a result; gains from one
    stage at a time, over all of its signs."""
    draw = draw.anew()
    count, wide, T, d_v = [(2, 2, 2, 3), (3, 2, 3, 2), (6, 1, 4, 5)][draw.seed % 3]
    parts = [(draw.array(T, wide), draw.array(wide, 1), draw.array(1, d_v)) for _ in range(count)]
    rho, O = [draw.number() for _ in parts], of_rank(draw, 1, draw.array(T, d_v))
    gains = []
    for X, Y, Z in parts:  # with roundings of size 1
        squares = [w * np.sum((X @ dY @ Z) ** 2) for w, (dY,) in all_signs([1], Y)]
        gains.append(sum(squares) / np.sum(O**2))
    outcomes = []
    for w, changes in all_signs(rho, *(Y for _, Y, _ in parts)):
        dO = sum(X @ dY @ Z for (X, _, Z), dY in zip(parts, changes, strict=True))
        outcomes.append((w, {r"\partial\mathbf{O}": dO}))
    roots = [float(x) ** 0.5 for x in gains]
    letters = {r"\mathbf{O}": O, r"\rho_": listed(rho), r"\kappa_": listed(roots)}
    return World(letters, {"s": range(1, count + 1)}, outcomes)


@cache
def changed(draw):
    """A chunk whose stages are changed one after the other, on dual numbers: what is of first
    order, of the outputs, of the state and of the inverse."""
    x = sequence(draw)
    world, one = world_of(draw, x), eye(draw, len(x.k))
    A, Gamma = (world.letters[x] for x in (r"\tilde{\mathbf{A}}", r"\boldsymbol{\Gamma}"))
    more, gamma = draw.anew(4), Gamma[:, 0] * x.alpha[0]
    B, Dg, De = np.diag(x.beta), np.diag(gamma), np.diag(Gamma[-1])
    shapes = {"A": A.shape, "R": x.v.shape, "S": x.S.T.shape, "P": A.shape, "E": x.v.shape}
    d = {name: of_rank(more, 1, more.array(*shape)) for name, shape in shapes.items()}
    d["A"] = d["A"] * np.tril(np.ones(A.shape, dtype=int), -1)

    def dual(value, change):
        found = np.empty(value.shape, dtype=object)
        for at in np.ndindex(value.shape):
            found[at] = Dual(value[at], change[at])
        return found

    def change(array):
        return np.array([[entry.change for entry in row] for row in array], dtype=A.dtype)

    T = B.astype(object)[:0]
    for r in range(len(A)):  # forward substitution
        row = dual(A[r : r + 1, :r], d["A"][r : r + 1, :r]) @ T if r else 0 * B[:1].astype(object)
        T = np.concatenate([T, B[r : r + 1].astype(object) - row])
    T = np.array([[t if isinstance(t, Dual) else Dual(t) for t in row] for row in T])
    S = dual(x.S.T, d["S"])
    R = x.v.astype(object) - Dg @ x.k @ S + dual(0 * d["R"], d["R"])
    E = T @ R + dual(0 * d["E"], d["E"])
    P = dual(Gamma * (x.q @ x.k.T), d["P"])
    O, last = Dg @ x.q @ S + P @ E, x.k.T @ De @ E
    value = np.vectorize(lambda entry: entry.value, otypes=[A.dtype])
    letters = {
        r"\tilde{\mathbf{T}}": value(T), r"\mathbf{R}": value(R), r"\mathbf{P}": value(P),
        r"\partial\tilde{\mathbf{T}}": change(T), r"\partial\tilde{\mathbf{A}}": d["A"],
        r"\partial\mathbf{O}": change(O), r"\partial\mathbf{S}'": change(last).T,
    } | {rf"\partial\mathbf{{{name}}}": d[name] for name in "RPE"}  # fmt: skip
    return with_letters(world, letters | {r"\partial\mathbf{S}": d["S"].T, r"\mathbf{I}": one})


def summed(draw):
    """Cumulative sums with errors, and decays from them: of the largest size with signs that
    alternate, or two by two, or any errors but for two tokens side by side."""
    T, u = (4, 5, 6)[draw.seed % 3], 2.0 ** -(2 + draw.seed)
    c, n = np.cumsum(draw.rng.uniform(-2, -0.1, T)), np.arange(T)
    share = ((-1.0) ** n, (-1.0) ** (n // 2), np.append([1, -1], draw.rng.uniform(-1, 1, T - 2)))
    off = c * (1 + u * share[draw.seed % 3])
    exact, hat = (np.exp(x[:, None] - x[None, :]) for x in (c, off))
    letters = {"c_": entries(c), "u": u, r"\hat\Gamma_": entries(hat), r"\Gamma_": entries(exact)}
    return World(letters, {"r": range(1, T + 1), "i": range(1, T + 1)})


@cache
def adding(draw):
    """A state of one entry to which J writes of either sign are added, and its roundings: the
    mean square of all of them over that of the state, each over all signs."""
    J, rho, w = (3, 1, 4)[draw.seed % 3] + draw.seed // 3, draw.number(), draw.number()
    mean = [Fraction(0)] * (J + 1)
    for signs in itertools.product((1, -1), repeat=J):
        for j, total in enumerate(itertools.accumulate(signs), 1):
            mean[j] += Fraction(total**2, 2**J)
    squares = [rho**2 * float(mean[j]) * w**2 for j in range(1, J + 1)]
    return World({"J": J, r"\rho": rho, "value": sum(squares) / (float(mean[J]) * w**2)})


SVD, FLOAT = "numpy.linalg.cond", {"arithmetic": "float64"}
VALUES = "a matrix and its transpose have the same singular values"
TRANSPOSED = {r"\tilde{\mathbf{A}} transposed": VALUES}
SIGN = "the other sign of a: the condition number is the same for both"
printed(
    "eq-two-token-condition",
    two_tokens,
    against=SVD,
    equal=TRANSPOSED | {r"sign of \mathbf{I}": SIGN, r"sign of \tilde{\mathbf{A}}": SIGN},
    **FLOAT,
)
printed(
    "eq-decay-monotone",
    stronger,
    against="gdn_ref.wy.interaction",
    equal=TRANSPOSED,
    needs={"no decay that is weaker": partial(stronger, weaker=True)},
    **FLOAT,
)
SOLVE = {"against": "gdn_ref.wy.solve", "equal": TRANSPOSED}
printed("eq-equal-cosine-gain", one_cosine, **SOLVE, **FLOAT)
printed(
    "eq-equal-cosine-limit",
    partial(one_cosine, near=0.004, more=(200,)),
    no_value={r"1 - h^{2}": "the text: |h| < 1"},
    **SOLVE,
    **FLOAT,
)
printed(
    "eq-rounding",
    rounding,
    against="rounding of exact fractions",
    arithmetic="counted",
    equal=dict.fromkeys(
        ["no modulus of |fl(x) - x|", "minus what is in |fl(x) - x|"],
        "weaker, and true: no number exceeds its size",
    ),
)
SIGNS = "all signs of the roundings"
printed("eq-rounding-size", mean_size, against="a mean by quadrature", **FLOAT)
printed("eq-rounding-cost", product_of_three, against=SIGNS)
printed(
    "eq-error-budget",
    stages,
    against=SIGNS,
    no_value={r"\|\mathbf{O}\|^{2}": "an error relative to the outputs"},
    **FLOAT,
)
printed(
    "eq-chunk-stages",
    changed,
    against="dual numbers through the chunk form",
    no_value={r"(\mathbf{I} + \tilde{\mathbf{A}})^{- 1}": "the identity is not zero"},
)
ANY_TWO = "the bound holds for any two of the sums"
printed(
    "eq-decay-from-sums",
    summed,
    against="sums with errors of both signs",
    equal=dict.fromkeys([r"\le for <", "not only where i < r"], ANY_TWO)
    | dict.fromkeys(
        ["minus what is in |c_{r}|", "minus what is in |c_{i}|"],
        "sums of logarithms of decays are not positive",
    ),
    **FLOAT,
)
printed("eq-drift-adding", adding, against="all signs of writes and roundings", **FLOAT)
