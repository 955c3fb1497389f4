"""Chapter 13: how well a chunk's system is conditioned, by hand, by decay and by cosine."""

from functools import partial

import numpy as np
import sympy as sp
from sympy import QQ, ZZ, ring

from .. import wy
from ..chunking import decay
from .ch08_inverses import substitution
from .ch11_condition import both_ways, identity, sizes
from .ch11_inverse import inverse
from .data import equal_cosine_keys, hard_inputs, relative_error
from .page import on_page
from .registry import verifies
from .token_forms import decay_mask, modular_tokens

x = sp.symbols("x", real=True)
CONDITION = (sp.Abs(x) / 2 + sp.sqrt(1 + x**2 / 4)) ** 2


def two_tokens(entry=x):
    """The squared singular values of `I + A` for two tokens: the eigenvalues of its Gram matrix."""
    matrix = sp.Matrix([[1, 0], [entry, 1]])
    return matrix.T * matrix


@verifies(
    "eq-two-token-condition",
    method="algebra",
    covers="every overlap, of either sign",
    mutants={
        "not squared": {"claim": sp.Abs(x) / 2 + sp.sqrt(1 + x**2 / 4)},
        "the overlap not halved": {"claim": (sp.Abs(x) + sp.sqrt(1 + x**2)) ** 2},
        "without the root": {"claim": (1 + sp.Abs(x)) ** 2},
    },
)
def the_condition_of_two_tokens(claim=CONDITION):
    """The Gram matrix has determinant 1, so its larger eigenvalue is the squared ratio of the two
    singular values: the condition number. It is a root of the characteristic polynomial, for
    either sign of the overlap, and at least 1."""
    found = []
    for positive in (sp.symbols("a", nonnegative=True), -sp.symbols("a", nonnegative=True)):
        at = claim.subs(x, positive)
        gram = two_tokens(positive)
        residual = sp.expand(at**2 - gram.trace() * at + gram.det())
        found += [sp.simplify(residual), gram.det() - 1]
    on_page("eq-two-token-condition", claim, letters={x: "a"})
    return found


MASKS = {
    "the decay forgotten": {"mask": lambda Gamma: Gamma * 0 + 1},
    "Gamma squared": {"mask": lambda Gamma: both_ways(Gamma * Gamma)},
    "the diagonal twice": {"mask": lambda Gamma: Gamma + Gamma.T},
}


def one_more_decay(mask, alpha, more, A):
    """A chunk decays by `alpha` and once more by `more`: its system and the inverse of it, from
    those with `alpha` alone."""
    I, Gamma, both = identity(len(alpha)), decay_mask(alpha), decay_mask(alpha * more)
    acts = mask(decay_mask(more))
    return [
        (I + both * A) - acts * (I + Gamma * A),
        inverse(both * A) - acts * inverse(Gamma * A),
    ]


@verifies(
    "eq-decay-monotone",
    method="polynomial",
    covers="C=4, a symbol for each decay, of both kinds, and for each entry of A",
    mutants=MASKS,
    part="a decay on top of another acts as its mask",
)
def decays_multiply(mask=both_ways):
    """Entry by entry; that such a mask shortens is what eq-decay-condition has checked."""
    C = 4
    names = [f"{name}{r}" for name in "pm" for r in range(C)]
    names += [f"a{r}{i}" for r in range(C) for i in range(r)]
    every = np.array(ring(names, QQ)[1:], dtype=object)
    A = 0 * np.ones((C, C), dtype=object)
    A[np.tril_indices(C, -1)] = every[2 * C :]
    return one_more_decay(mask, every[:C], every[C : 2 * C], A)


@verifies(
    "eq-decay-monotone",
    method="modular",
    covers="C=64",
    mutants=MASKS,
    part="a decay on top of another acts as its mask",
)
def decays_multiply_at_real_size(mask=both_ways):
    """The same for a whole chunk."""
    one, two = modular_tokens(seed=1), modular_tokens(seed=2)
    A = (one.K[:64] @ one.K[:64].T) * np.tril(np.ones((64, 64), dtype=np.int64), -1)
    return one_more_decay(mask, one.alpha[:64], two.alpha[:64], A)


@verifies(
    "eq-decay-monotone",
    method="float64",
    covers="gdn_ref.wy, C = 4, 16, 64, strengths to 2; equal where nothing more is forgotten",
    mutants={
        "a stronger decay harms": {"sign": -1},
        "less by one per cent": {"factor": 0.99},
    },
)
def more_decay_does_no_harm(sign=1, factor=1.0):
    """By how much the largest ratio of norms and condition numbers exceeds 1."""
    weaker, stronger = (
        lambda at, A=A: sizes(at(rf"\tilde{{\mathbf{{A}}}}{A}"))[-1] for A in ("", "'")
    )
    on_page("eq-decay-monotone", stronger, lambda at: factor * weaker(at))
    rng, worst = np.random.default_rng(13), []
    for C in (4, 16, 64):
        for cosine in (0, 0.5, 1):
            _, K, _, _, beta, _ = hard_inputs(T=C, d_k=16, cosine=cosine)
            A, weak = wy.interaction(K, beta), rng.uniform(0.8, 1, C)
            for more in (np.ones(C), np.full(C, 0.9999), rng.uniform(0.5, 1, C)):
                masks = [decay(np.log(alpha))[1] for alpha in (weak, weak * more)][::sign]
                old, new = (sizes(A * mask) for mask in masks)
                worst.append((new / old).max() / factor - 1)
    return max(worst)


def gain(C, a, alpha, first=2, sign=-1, decays=1, strides=lambda C, n: C - 1 - n):
    """C times the mean square: `C + a^2 alpha^2 sum_n (C - 1 - n) (alpha (1 - a))^2n`."""
    step = alpha**decays * (1 + sign * a)
    total = sum(strides(C, n) * step ** (2 * n) for n in range(C - 1))
    return C + a**2 * alpha**first * total


GAINS = {
    "1 + a": {"claim": partial(gain, sign=1)},
    "every distance once": {"claim": partial(gain, strides=lambda C, n: 1)},
    "one distance more": {"claim": partial(gain, strides=lambda C, n: C - n)},
    "the first decay left out": {"claim": partial(gain, first=0)},
    "no decay in the steps": {"claim": partial(gain, decays=0)},
}


@verifies(
    "eq-equal-cosine-gain",
    method="polynomial",
    covers="C = 1 to 12, a symbol for the overlap and one for the decay",
    mutants=GAINS,
)
def gain_of_equal_overlaps(claim=gain):
    """The squared entries of the inverse, found by substitution, added up."""
    _, overlap, rate = ring("a, alpha", ZZ)
    found = []
    for C in range(1, 13):
        A = np.zeros((C, C), dtype=object)
        for r, i in zip(*np.tril_indices(C, -1), strict=True):
            A[r, i] = overlap * rate ** int(r - i)
        X = substitution(A)
        found.append(sum(entry * entry for entry in X.ravel()) - claim(C, overlap, rate))
    on_page("eq-equal-cosine-gain", lambda at: claim(at("C"), at("a"), at(r"\alpha")) / at("C"))
    return found


@verifies(
    "eq-equal-cosine-gain",
    method="float64",
    covers="gdn_ref.wy, 64 keys of one cosine, 12 cases",
    mutants={"the cosine left out": {"overlap": lambda beta, cosine: beta}},
)
def gain_in_the_package(overlap=lambda beta, cosine: beta * cosine):
    """Real keys, one strength and one decay, through the package's solve."""

    def printed(at):
        C = at("C")
        return gain(C, overlap(at(r"\beta"), at("c")), at(r"\alpha")) / C

    on_page("eq-equal-cosine-gain", printed)
    found, claimed = [], []
    for cosine in (0.1, 0.9):
        for beta in (0.5, 1.0, 2.0):
            for rate in (1.0, 0.9):
                Gamma = decay(np.full(64, np.log(rate)))[1]
                A = wy.interaction(equal_cosine_keys(64, cosine), np.full(64, beta), Gamma)
                found.append((wy.solve(A, np.eye(64)) ** 2).sum())
                claimed.append(gain(64, overlap(beta, cosine), rate))
    return relative_error(found, claimed)


a, alpha = sp.symbols("a alpha", positive=True)
LIMIT = 1 + a**2 * alpha**2 / (1 - alpha**2 * (1 - a) ** 2)


@verifies(
    "eq-equal-cosine-limit",
    method="algebra",
    covers="every overlap and decay whose steps shrink; the gain is below, and comes to it",
    mutants={
        "1 + a": {"limit": LIMIT.subs(a, -a)},
        "the decay not squared": {"limit": 1 + a**2 * alpha**2 / (1 - alpha * (1 - a) ** 2)},
        "one step more": {"limit": 1 + a**2 * alpha**2 / (1 - alpha**4 * (1 - a) ** 4)},
    },
)
def the_gain_stays_below(limit=LIMIT):
    """With s for the square of a step: `1/C sum (C - 1 - n) s^n` is the geometric sum `1/(1 - s)`
    minus `1/C (1 - s^C)/(1 - s)^2`, which is positive and vanishes for many tokens."""
    s = sp.symbols("s", positive=True)
    found = []
    for number in range(1, 8):
        total = sum((number - 1 - m) * s**m for m in range(number - 1))
        missing = (1 - s**number) / (1 - s) ** 2
        found.append(sp.cancel(total - number / (1 - s) + missing))
    step = (alpha * (1 - a)) ** 2
    on_page("eq-equal-cosine-limit", None, limit, letters={alpha: r"\alpha"})
    return [*found, sp.simplify(limit - 1 - a**2 * alpha**2 / (1 - step))]
