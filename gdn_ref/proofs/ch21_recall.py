"""Checks of chapter 21: reads as weights, scores, the name that is given, floors, bits, order."""

from functools import partial
from itertools import combinations, product, starmap
from math import erf, sqrt

import numpy as np

from .. import gated_delta_rule
from .data import hard_inputs, relative_error, unit
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


# What no keys can do.


def bound(n, d_k):
    return n / d_k - 1


def tight(n, d):
    """n unit keys in d < n dimensions that prefer no direction: waves of different frequencies.

    Their Gram matrix is n/d times a projector.
    """
    turns = 2 * np.pi * np.outer(np.arange(n), np.arange(1, d // 2 + 1)) / n
    waves = np.concatenate([np.cos(turns), np.sin(turns)], axis=1) * np.sqrt(2 / d)
    return np.concatenate([waves, np.full((n, d % 2), np.sqrt(1 / d))], axis=1)


def mean_crosstalk(weights):
    return relative_crosstalk(weights).mean()


@verifies(
    "eq-recall-floor",
    method="float64",
    covers="3 to 9 tight keys in 1 to 8 dimensions, which attain it; 400 runs of the gated rule",
    mutants={
        "n over d_k": {"floor": lambda n, d: n / d},
        "of n - 1": {"floor": lambda n, d: (n - 1) / d - 1},
        "twice the width": {"floor": lambda n, d: n / (2 * d) - 1},
        "random keys' value": {"floor": lambda n, d: (n - 1) / d},
    },
)
def no_rule_is_below(floor=bound):
    """How far the attained case is off the floor, and how far any draw is below it."""
    sizes = [(n, d) for n in range(3, 10) for d in range(1, n) if d // 2 < n / 2]
    off = [abs(mean_crosstalk(K @ K.T) - floor(*K.shape)) for K in starmap(tight, sizes)]
    rng = np.random.default_rng(21)
    for _ in range(400):
        n, d = rng.integers(3, 9), rng.integers(1, 4)
        K, Q = unit(rng.normal(size=(2, n, d)))
        g, beta = -rng.uniform(0, 0.3, n), rng.uniform(0.1, 1.9, n)
        off.append(max(0.0, floor(n, d) - mean_crosstalk(weights_of(Q, K, g, beta))))
    on_page("eq-recall-floor", printed_mean, lambda at: floor(at("n"), at("d_k")))
    return max(off)


@verifies(
    "eq-recall-floor",
    method="float64",
    covers="the step of the proof: 500 matrices of rank 1 to 4, and projectors, which attain it",
    mutants={
        "the rank squared": {"limit": lambda r, W: r**2 * (W**2).sum()},
        "without the rank": {"limit": lambda r, W: (W**2).sum()},
    },
    part="a trace squared is at most the rank times the squared norm",
)
def a_trace_of_low_rank(limit=lambda r, W: r * (W**2).sum()):
    rng, off = np.random.default_rng(22), []
    for _ in range(500):
        n, r = rng.integers(4, 9), rng.integers(1, 5)
        W = rng.normal(size=(n, r)) @ rng.normal(size=(r, n))
        off.append(max(0.0, np.trace(W) ** 2 - limit(r, W)))
        P = np.linalg.qr(rng.normal(size=(n, r)))[0]
        off.append(abs(np.trace(P @ P.T) ** 2 - limit(r, P @ P.T)))
    return max(off)


def over_subsets(table, n):
    """The mean of x over all choices of n keys of a table of weights."""
    found = [table[np.ix_(c, c)] for c in combinations(range(len(table)), n)]
    return np.mean([mean_crosstalk(W) for W in found])


@verifies(
    "eq-recall-vocabulary",
    method="float64",
    covers="tables of 4 to 7 symbols, every choice of 2 to 4 of them; attained by tight ones",
    mutants={
        "all of the table": {"floor": lambda n, N, d: N / d - 1},
        "n over N": {"floor": lambda n, N, d: n / N * (N / d - 1)},
        "the floor of n keys": {"floor": lambda n, N, d: n / d - 1},
        "random keys' value": {"floor": lambda n, N, d: (n - 1) / d},
    },
)
def keys_from_a_table(floor=lambda n, N, d: (n - 1) / (N - 1) * (N / d - 1)):
    off, rng = [], np.random.default_rng(23)
    for N, n, d in product(range(4, 8), range(2, 5), (2, 3)):
        K = tight(N, d)
        off.append(abs(over_subsets(K @ K.T, n) - floor(n, N, d)))
        K, Q = unit(rng.normal(size=(2, N, d)))
        off.append(max(0.0, floor(n, N, d) - over_subsets(Q @ K.T, n)))
    left = partial(printed_mean, of=r"\mathbb{E}\,")
    on_page("eq-recall-vocabulary", left, lambda at: floor(at("n"), at("N_k"), at("d_k")))
    return max(off)


# Bits and order.


def all_right(n, N, states):
    """Lists of n values to states, as evenly as it goes; of each state one list is read back. The
    share of lists that come back."""
    lists = N**n
    return len({place % states for place in range(lists)}) / lists


@verifies(
    "eq-recall-bits",
    method="enumeration",
    covers="1 to 3 values of 2 to 4 candidates, 0 to 6 bits, the best readout of each code",
    mutants={
        "the bits of one value": {"limit": lambda B, n, N: 2.0**B / N},
        "half as much": {"limit": lambda B, n, N: 2.0 ** (B - 1) / N**n},
        "twice as much, which no code attains": {"limit": lambda B, n, N: 2.0 ** (B + 1) / N**n},
    },
)
def a_state_names_one_list(limit=lambda B, n, N: 2.0**B / N**n):
    """A readout gives one list of answers for each state, so at most 2^B lists are right."""
    cases = product((1, 2, 3), (2, 3, 4), range(7))
    off = [abs(all_right(n, N, 2**B) - min(1.0, limit(B, n, N))) > 1e-12 for n, N, B in cases]
    share = lambda at: all_right(at("n"), at("N"), 2 ** at("B"))
    on_page("eq-recall-bits", share, lambda at: limit(at("B"), at("n"), at("N")))
    return np.array(off, dtype=int)


def told(n):
    """The share of names whose order shows."""
    return (4 * n**2 + n - 6) / (n**2 * (2 * n - 1))


def shows(n):
    """Whether it shows: for every two places among 2n, the older and the newer, and every place of
    the question. Neighbours, a first write at the very beginning, and a last one at the very end if
    one of the first two questions asks for it."""
    for (older, newer), question in product(combinations(range(2 * n), 2), range(n)):
        last = newer == 2 * n - 1 and question < 2
        yield older == 0 or newer == older + 1 or last


@verifies(
    "eq-recall-order",
    method="enumeration",
    covers="2 to 5 candidates, 2 to 6 names, every order of the writes, every readout",
    mutants={
        "a half of the rest": {"guess": lambda N: 0.5},
        "as if the old one were no candidate": {"guess": lambda N: 0.5 * (1 + 1 / (N - 1))},
        "neighbours alone": {"share": lambda n: 1 / n},
        "no question sees the last pair": {"share": lambda n: (4 * n - 3) / (n * (2 * n - 1))},
        "one question sees it": {
            "share": lambda n: (4 * n**2 - n - 3) / (n**2 * (2 * n - 1)),
        },
    },
)
def the_newest_of_two(guess=lambda N: 0.5 * (1 + 1 / N), share=told):
    """The best readout of two values: with their order where it shows, without it elsewhere."""

    def claim(n, N):
        return share(n) + (1 - share(n)) * guess(N)

    off = []
    for N, n in product(range(2, 6), range(2, 7)):
        shown = float(np.mean(list(shows(n))))
        blind = N  # of two equal values either is the newest
        for old, new in combinations(range(N), 2):
            blind += max(sum(answer == last for last in (old, new)) for answer in range(N))
        best = shown + (1 - shown) * blind / N**2
        off.append(abs(best - claim(n, N)) > 1e-12)
    on_page("eq-recall-order", None, lambda at: claim(at("n"), at("N")))
    on_page("eq-recall-order", lambda at: share(at("n")), of=1)
    return np.array(off, dtype=int)
