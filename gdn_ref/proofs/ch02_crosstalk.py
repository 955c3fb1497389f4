"""Chapter 2: what a read returns, and how large the crosstalk is."""

from itertools import product

import numpy as np
import sympy as sp

from .. import linear_attention
from .data import hard_inputs, relative_error
from .page import TOKEN, on_page
from .registry import verifies
from .symbols import K, S, V, d_k, entries, k, v

HALF = sp.Rational(1, 2)


def _but_its_own(letter):
    return lambda at: np.delete(at(rf"\mathbf{{{letter}}}"), at.scope["j"] - 1, axis=0)


ONE_READ = {  # the pair that is asked for, and all others
    K: _but_its_own("K"), V: _but_its_own("V"),
    k: r"\boldsymbol{k}_j", v: r"\boldsymbol{v}_j",
}  # fmt: skip


def left_over(parts):
    """How many of these polynomials are not zero. Expanded, only the zero polynomial is 0."""
    return sum(sp.expand(part) != 0 for part in parts)


@verifies(
    "eq-gram-recall",
    method="polynomial",
    covers="package code, n = 3, d_k = 2, d_v = 2",
    mutants={
        "earlier tokens only": {"gram": lambda K: np.tril(K @ K.T)},
        "own key left out": {"gram": lambda K: K @ K.T - np.diag(np.diag(K @ K.T))},
        "unit matrix": {"gram": lambda K: np.eye(3, dtype=int).astype(object)},
    },
)
def reads_at_all_keys(gram=lambda K: K @ K.T):
    """After the package's loop has written n pairs, row j of `K S^T` is the read at key j."""
    K, V = entries("k", 3, 2), entries("v", 3, 2)
    _, state = linear_attention.recurrent(K, K, V)
    on_page("eq-gram-recall", lambda at: gram(at(r"\mathbf{K}")) @ at(r"\mathbf{V}"))
    return left_over((K @ state.T - gram(K) @ V).ravel())


@verifies(
    "eq-crosstalk",
    method="algebra",
    covers="every n, d_k, d_v, keys of any length",
    mutants={
        "key taken for a unit vector": {"own": v},
        "own value counted again": {"others": V.T * (K * k) + v},
        "the value's share forgotten": {"own": 0 * v},
    },
)
def crosstalk_of_one_read(own=v * (k.T * k), others=V.T * (K * k)):
    """The n - 1 other pairs, stacked in K and V, and the pair (k, v) that is asked for."""
    state = V.T * K + v * k.T
    on_page("eq-crosstalk", own + others, letters=ONE_READ)
    return sp.expand(state * k - own - others)


@verifies(
    "eq-crosstalk",
    method="float64",
    covers="package code, 50 unit keys, mean cosine .1",
    mutants={
        "signs of the overlaps lost": {"overlap": np.abs},
        "overlaps squared": {"overlap": np.square},
        "only earlier tokens disturb": {"overlap": np.tril},
    },
)
def crosstalk_in_code(overlap=lambda gram: gram):
    """The error of every read after the package has written 50 pairs with unit keys."""
    _, K, V, *_ = hard_inputs(cosine=0.1)
    _, state = linear_attention.recurrent(K, K, V)
    gram = K @ K.T

    def printed(at):
        K, V = at(r"\mathbf{K}"), at(r"\mathbf{V}")
        return linear_attention.recurrent(K, K, V)[1] @ at(r"\boldsymbol{k}_j")

    on_page("eq-crosstalk", printed, floats=True)
    return relative_error(overlap(gram - np.eye(len(K))) @ V, K @ state.T - V)


@verifies(
    "eq-crosstalk-bound",
    method="polynomial",
    covers="3 disturbing pairs, d_v = 2, any overlaps and values",
    mutants={
        "overlaps not squared": {"power": 1},
        "sum of the values' lengths, not squared": {"pairs": 0},
        "each couple counted twice": {"pairs": 1},
    },
)
def crosstalk_bound(power=2, pairs=HALF):
    """Lagrange's identity: the bound minus the error is a sum of squares, so never negative.

    It is zero exactly when every value is proportional to its overlap, with one common vector.
    """
    overlaps, values = sp.symbols("g_:3", real=True), entries("v", 3, 2)
    error = sum(g * value for g, value in zip(overlaps, values, strict=True))
    bound = sum(g**power for g in overlaps) * (values**2).sum()
    gap = sum(
        ((overlaps[i] * values[m] - overlaps[m] * values[i]) ** 2).sum()
        for i, m in product(range(3), repeat=2)
    )
    letters = {
        "g": rf"\sum_{{i \ne j}}\rho_{{ij}}^{power}",
        "v": r"\sum_{i \ne j}\|\boldsymbol{v}_i\|^2",
    }
    on_page("eq-crosstalk-bound", None, sp.Symbol("g") * sp.Symbol("v"), letters=letters)
    return left_over([bound - (error**2).sum() - pairs * gap])


@verifies(
    "eq-crosstalk-mean",
    method="algebra",
    covers="uniform unit keys, every d_k",
    part="the mean of rho^2 for one pair of keys is 1 / d_k",
    mutants={
        "1 / sqrt(d_k)": {"share": 1 / sp.sqrt(d_k)},
        "1 / (d_k - 1)": {"share": 1 / (d_k - 1)},
        "density without the power of sine": {"exponent": (d_k - 2) / 2},
    },
)
def mean_squared_cosine(share=1 / d_k, exponent=(d_k - 3) / 2):
    """The cosine x of two random directions has a density: (1 - x^2)
    to the power (d_k - 3) / 2, up to a constant.
    """

    def moment(power):  # integral of x^power times the density
        a, b = sp.Rational(power + 1, 2), exponent + 1
        return sp.gamma(a) * sp.gamma(b) / sp.gamma(a + b)

    others = {"others": r"\sum_{i \ne j}\|\boldsymbol{v}_i\|^2"}
    on_page("eq-crosstalk-mean", share * sp.Symbol("others"), letters=others)
    return sp.gammasimp(moment(2) / moment(0) - share)


key, keyT, asked, askedT = sp.symbols("k k^T k_j k_j^T", commutative=False)
ee, ev, vv = sp.symbols("ee ev vv")  # e^T e, e^T v and v^T v


def one_pair_more(weight=1, squared=None, share=1 / d_k, mixed=0, mean=0):
    """The mean of ||e + w rho v||^2 over one key more, rho = k_j^T k, less e^T e + w^2 v^T v / d_k.

    The key is independent of e. All that matters of it is the mean of k, which is zero, and that
    of k k^T, which is I / d_k; k_j has length 1.
    """
    square = ee + 2 * weight * ev * askedT * key + weight**2 * vv * askedT * key * keyT * asked
    found = square.subs(key * keyT, 1 / d_k).subs(key, mean * asked).subs(askedT * asked, 1)
    squared = weight**2 if squared is None else squared
    return sp.expand(found - (ee + mixed * ev + squared * share * vv))


@verifies(
    "eq-crosstalk-mean",
    method="algebra",
    covers="independent keys, every number of pairs, d_k, d_v",
    part="from one pair to all: the mixed terms have mean zero, the squares add up",
    mutants={
        "1 for 1/d_k": {"share": 1},
        "1 / sqrt(d_k)": {"share": 1 / sp.sqrt(d_k)},
        "mixed terms kept": {"mixed": 2},
    },
    inputs={"keys with a mean": {"mean": HALF}},
)
def squares_add_up(share=1 / d_k, mixed=0, mean=0):
    """Induction over the pairs; base, no other pair: e_j = 0."""
    others = {"others": r"\sum_{i \ne j}\|\boldsymbol{v}_i\|^2"}
    on_page("eq-crosstalk-mean", share * sp.Symbol("others"), letters=others)
    return one_pair_more(share=share, mixed=mixed, mean=mean)


UNITS = {d: [(axis, sign) for axis in range(d) for sign in (1, -1)] for d in (2, 3)}


@verifies(
    "eq-crosstalk-mean",
    method="polynomial",
    covers="3 pairs, d_k = 2 and 3, all values symbols, keys over every +-e_i",
    mutants={
        "1 for 1/d_k": {"share": lambda d_k: sp.Integer(1)},
        "own value counted": {"counted": lambda j, n=3: range(n)},
    },
    inputs={"keys with a common sign": {"signs": (1,)}},
)
def mean_squared_crosstalk(
    share=lambda d_k: sp.Rational(1, d_k),
    counted=lambda j, n=3: [i for i in range(n) if i != j],
    signs=(1, -1),
):
    """The mean of ||S k_j - v_j||^2 over independent keys.

    It is quadratic in every key, so of their distribution only the mean and the mean of k k^T
    count. Uniform keys and the unit vectors with both signs share them: the mean is a finite sum.
    """
    values, residual = sp.symbols("v_0:3"), []
    for d in (2, 3):
        units = [unit for unit in UNITS[d] if unit[1] in signs]
        for j in range(3):
            total = 0
            for keys in product(units, repeat=3):
                overlap = [sign * keys[j][1] * (axis == keys[j][0]) for axis, sign in keys]
                total += sp.expand(sum(overlap[i] * values[i] for i in range(3) if i != j) ** 2)
            claim = share(d) * sum(values[i] ** 2 for i in counted(j))
            residual.append(sp.expand(total / len(units) ** 3 - claim))

    def others(at):
        values = [at(rf"\boldsymbol{{v}}_{{{i + 1}}}") for i in counted(at.scope["j"] - 1, at("n"))]
        return sum((value**2).sum() for value in values)

    squares = sp.Symbol("others")
    printed = lambda at: at.value(share(at("d_k")) * squares, {squares: others})
    on_page("eq-crosstalk-mean", printed)
    return residual


@verifies(
    "eq-overwrite",
    method="algebra",
    covers="every state, d_k, d_v, keys of any length",
    mutants={
        "the old answer is gone": {"before": 0 * v},
        "the new value halved": {"written": v * (k.T * k) / 2},
        "key taken for a unit vector": {"written": v},
    },
)
def old_answer_stays(before=S * k, written=v * (k.T * k)):
    """Read at the key that was just written: the old answer is still in the sum."""
    on_page("eq-overwrite", before + written, letters=TOKEN)
    return sp.expand((S + v * k.T) * k - before - written)
