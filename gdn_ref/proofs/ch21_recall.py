"""Checks of chapter 21: reads as weights, scores, the name that is given, floors, bits, order."""

from itertools import product
from math import erf, sqrt

import numpy as np

from .. import gated_delta_rule
from .data import hard_inputs, relative_error
from .page import on_page
from .registry import verifies


def units(d):
    """Plus and minus the basis vectors, `[2 d, d]`."""
    return np.concatenate([np.eye(d), -np.eye(d)])


def weights_of(q, k, g, beta):
    """`Omega`, `[queries, pairs]`: what the last state returns of each value, by the token loop."""
    state = gated_delta_rule.recurrent(k, k, np.eye(len(k)), g, beta)[1]
    return q @ state.T


def relative_crosstalk(weights):
    """`x_j` of each read (eq-recall-weights)."""
    own = np.diag(weights)
    return (weights**2).sum(1) / own**2 - 1


def printed_weights(at):
    """`Omega` of the page."""
    pairs = at.range("i")
    return np.array([[at(rf"\Omega_{{{j},{i}}}") for i in pairs] for j in pairs])


def printed_mean(at, of=""):
    """The mean of the `x_j` of the page, or of their means."""
    return np.mean([at(f"{of} x_{{{j}}}") for j in at.range("j")])


@verifies(
    "eq-recall-weights",
    method="float64",
    covers="package code, 40 pairs, d_k = 32, d_v = 24, both gates; queries that are no keys",
    mutants={
        "the values of later tokens left out": {"read": lambda W, V: np.tril(W) @ V},
        "of earlier tokens left out": {"read": lambda W, V: np.triu(W) @ V},
        "transposed": {"read": lambda W, V: W.T @ V},
        "the own weight counts": {"crosstalk": lambda W: (W**2).sum(1) / np.diag(W) ** 2},
        "not squared": {"crosstalk": lambda W: abs(W / np.diag(W)[:, None]).sum(1) - 1},
    },
)
def reads_are_sums_of_values(read=lambda W, V: W @ V, crosstalk=relative_crosstalk):
    """The same weights, found with one-hot values, serve any other values. The crosstalk is what a
    read of one-hot values, at its key, has beside its own when that is scaled to one."""
    q, k, v, g, beta, _ = hard_inputs(T=40, d_k=32, d_v=24)
    state = gated_delta_rule.recurrent(k, k, v, g, beta)[1]
    W = weights_of(k, k, g, beta)
    beside = W / np.diag(W)[:, None] - np.eye(len(W))

    def printed(at):
        V = np.hstack([at(rf"\boldsymbol{{v}}_{{{i}}}") for i in at.range("i")]).T
        return read(printed_weights(at), V)[at("j") - 1][:, None]

    on_page("eq-recall-weights", printed)
    on_page("eq-recall-weights", lambda at: crosstalk(printed_weights(at))[at("j") - 1], of=1)
    off = abs(crosstalk(W) / (beside**2).sum(1) - 1).max()
    return max(off, relative_error(read(weights_of(q, k, g, beta), v), q @ state.T))


def own_score(weights, j):
    return sum(weights[j, i] ** 2 for i in range(len(weights)) if i != j)


@verifies(
    "eq-recall-scores",
    method="float64",
    covers="3 pairs under the gated rule, d_v = 2, values and rival over all +-e_i",
    mutants={
        "its own weight in its variance": {"own": lambda W, j: (W[j] ** 2).sum()},
        "its own weight left out of a rival's": {"other": own_score},
        "not divided by d_v": {"d": lambda d_v: 1},
        "divided by its root": {"d": sqrt},
    },
)
def scores_of_the_right_one_and_a_rival(
    own=own_score, other=lambda W, j: (W[j] ** 2).sum(), d=lambda d_v: d_v
):
    """Means and variances over all outcomes: only the means of `v v^T` count, as in chapter 2."""
    _, k, _, g, beta, _ = hard_inputs(T=3, d_k=4, d_v=2)
    W, d_v, errors = weights_of(k, k, g, beta), 2, []

    def claims(W, j, d_v):
        return W[j, j], own(W, j) / d(d_v), other(W, j) / d(d_v)

    cases = np.array(list(product(units(d_v), repeat=4)))  # the last is the rival
    reads = np.einsum("ji,cid->cjd", W, cases[:, :3])
    for j in range(3):
        right, rival = ((reads[:, j] * cases[:, i]).sum(1) for i in (j, 3))
        found = right.mean(), right.var(), rival.var()
        pairs = zip(claims(W, j, d_v), found, strict=True)
        errors += [abs(a - b) for a, b in pairs] + [abs(rival.mean())]

    def printed(at):
        return claims(printed_weights(at), at("j") - 1, at("d_v"))

    for n, of in enumerate((0, 1, 3)):  # zero, a rival's mean, has no size to compare
        on_page("eq-recall-scores", lambda at, n=n: printed(at)[n], of=of)
    return max(errors)


def normal(x):
    """The distribution function of a standard normal number."""
    return 0.5 * (1 + np.vectorize(erf)(np.asarray(x) / sqrt(2)))


Z = np.linspace(-8, 8, 161)
DENSITY = np.exp(-(Z**2) / 2) / sqrt(2 * np.pi) * (Z[1] - Z[0])


@verifies(
    "eq-recall-named",
    method="float64",
    covers="2 to 64 candidates; means from 0.3 to 2, spreads from 0.1 to 1",
    mutants={
        "all N as rivals": {"rivals": lambda N: N},
        "the own spread forgotten": {"spread": 0},
        "rivals of the own spread": {"same": True},
    },
)
def the_largest_score(rivals=lambda N: N - 1, spread=1, same=False):
    """The other way round: over the largest rival, how likely the right score is above it."""

    def share(N, mean, own, other):
        u = normal((mean + spread * own * Z) / (own if same else other))
        return DENSITY @ u ** rivals(N)

    errors = []
    for N, mean, own, other in ((2, 0.5, 0.4, 1.0), (8, 1.0, 0.3, 0.5), (64, 2.0, 1.0, 0.7),
                                (17, 0.3, 0.1, 0.2)):  # fmt: skip
        largest = (N - 1) * DENSITY * normal(Z) ** (N - 2)
        found = largest @ normal((mean - other * Z) / own)
        errors.append(abs(share(N, mean, own, other) - found))
    letters = "N", r"\lambda", r"\sigma", r"\tau"
    on_page("eq-recall-named", lambda at: share(*map(at, letters)))
    return max(errors)
