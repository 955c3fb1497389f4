"""Chapter 20: where the costs cross, how many experts a batch reads, how sharp attention can be."""

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import sympy as sp

from . import ch20_model as m
from .page import on_page, side, value
from .registry import verifies

SIZES = sp.symbols("L_s L_a D H_q H_c d H_k H_v d_k d_v F V", positive=True)
X = m.Hybrid(*SIZES, taps=sp.Symbol("kappa", positive=True))
T, b, b_S = sp.symbols("T b b_S", positive=True)


def all_attention(x=X):
    return m.kept_bytes(m.with_share(x, x.layers), T, b, b_S)


def share(x=X):
    return x.full / x.layers


def mixed(first, rest):
    """Share of attention times `first`, and the other share times `rest`."""
    return share() * first + (1 - share()) * rest


def printed(label, otherwise, of="", **more):
    """The side of a label in the letters of X."""
    return side(label, of, otherwise=otherwise, **m.letters(X, b, b_S), **more)


EQUAL = printed("eq-hybrid-crossover", m.crossover(X, b, b_S))
RATIO = printed("eq-hybrid-share", mixed(1, EQUAL / T), varphi=share(), T_0=EQUAL)
FLOPS_EQUAL = printed("eq-hybrid-flops-crossover", m.flops_crossover(X), W=m.active_weights(X))


@verifies(
    "eq-hybrid-share",
    method="algebra",
    covers="every size",
    mutants={
        "no states": {"claim": share()},
        "shares swapped": {"claim": mixed(EQUAL / T, 1)},
        "states in full": {"claim": share() + EQUAL / T},
    },
)
def hybrid_over_attention(claim=RATIO):
    """Bytes kept by the hybrid, over those with attention in every layer."""
    return sp.simplify(m.kept_bytes(X, T, b, b_S) / all_attention() - claim)


@verifies(
    "eq-hybrid-crossover",
    method="algebra",
    covers="every size, every two shares",
    mutants={
        "half": {"at": EQUAL / 2},
        "the whole stack's states": {"at": X.linear * EQUAL},
        "no window": {"at": b_S * X.value_heads * X.d_k * X.d_v / m.row_bytes(X, b)},
        "rows of query heads": {"at": EQUAL * X.kv_heads / X.q_heads},
    },
)
def every_share_crosses_there(at=EQUAL):
    """At that context two stacks keep as much, whatever their shares of attention are."""
    some = sp.symbols("f g", positive=True)
    f, g = (m.kept_bytes(m.with_share(X, full), at, b, b_S) for full in some)
    return [sp.simplify(f - g), m.crossover(X, b, b_S) - EQUAL]


@verifies(
    "eq-hybrid-flops-crossover",
    method="algebra",
    covers="every size",
    mutants={
        "one FLOP a weight": {"at": FLOPS_EQUAL / 2},
        "attention in every layer": {"at": m.flops_crossover(m.with_share(X, X.layers))},
        "cached heads": {"at": FLOPS_EQUAL * X.q_heads / X.kv_heads},
    },
)
def attention_costs_the_weights(at=FLOPS_EQUAL):
    """At that context attention takes as many FLOPs as the weights."""
    return [m.attention_flops(X, at) - 2 * m.active_weights(X), m.flops_crossover(X) - FLOPS_EQUAL]


def formula(E, k, n):
    mean = E * (1 - (1 - sp.Rational(k, E)) ** n)
    return value("eq-hybrid-experts", otherwise=mean, E=E, k=k, n=n)


@verifies(
    "eq-hybrid-experts",
    method="enumeration",
    covers="every choice of 3 tokens, to 5 experts, counted",
    mutants={
        "no overlap": {"claim": lambda E, k, n: n * k},
        "one expert at a time, put back": {
            "claim": lambda E, k, n: E * (1 - (1 - sp.Rational(1, E)) ** (n * k))
        },
        "one token fewer": {"claim": lambda E, k, n: formula(E, k, n - 1)},
    },
)
def experts_are_counted(claim=formula):
    """The mean number of different experts, over all choices of n tokens."""
    residuals = []
    for E, k, n in ((4, 2, 1), (4, 2, 2), (4, 2, 3), (5, 2, 3), (5, 3, 2), (3, 1, 3)):
        choices = list(product(combinations(range(E), k), repeat=n))
        read = sum(len(set().union(*choice)) for choice in choices)
        found = sp.Rational(read, len(choices))
        x = replace(X, experts=sp.Integer(E), chosen=k)
        residuals += [found - claim(E, k, n), found - m.experts_read(x, n)]
    return residuals


s, margin, eps, n = sp.symbols("s m epsilon n", positive=True)
SHARP = sp.log((n - 1) * (1 - eps) / eps) / margin


@verifies(
    "eq-hybrid-recall",
    method="algebra",
    covers="every n, margin and error; all other scores as near as they may be",
    part="the scale is needed, in the worst case",
    mutants={
        "n - 1 forgotten": {"scale": sp.log((1 - eps) / eps) / margin},
        "n for n - 1": {"scale": sp.log(n * (1 - eps) / eps) / margin},
        "margin on the wrong side": {"scale": SHARP * margin**2},
    },
)
def scale_is_needed(scale=SHARP):
    """Where all wrong scores lie a margin below, their weights add up to epsilon exactly."""
    wrong = (n - 1) * sp.exp(-s * margin) / (1 + (n - 1) * sp.exp(-s * margin))
    on_page("eq-hybrid-recall", None, None, scale, letters={eps: r"\varepsilon"})
    return sp.simplify(wrong.subs(s, scale) - eps)


@verifies(
    "eq-hybrid-recall",
    method="float64",
    covers="up to 4,096 random unit keys of width 64",
    part="the scale is enough",
    mutants={"half the scale": {"factor": 0.5}, "another key": {"ask": 1}},
)
def scale_is_enough(factor=1.0, ask=0):
    """What the wrong rows weigh beyond epsilon, at the scale for the keys' own margin."""

    def enough(count, error, gap):
        return factor * np.log((count - 1) * (1 - error) / error) / gap

    of_page = lambda at: enough(at("n"), at(r"\varepsilon"), at("m"))
    on_page("eq-hybrid-recall", None, None, of_page)
    random, excess, error = np.random.default_rng(5), 0.0, 0.01
    for count in (2, 64, 4096):
        keys = random.standard_normal((count, 64))
        keys /= np.linalg.norm(keys, axis=1, keepdims=True)
        scores = keys @ keys[0]
        gap = 1 - scores[1:].max()
        weights = np.exp(enough(count, error, gap) * (scores - scores.max()))
        wrong = 1 - weights[ask] / weights.sum()
        excess = max(excess, wrong - error)
    return excess
