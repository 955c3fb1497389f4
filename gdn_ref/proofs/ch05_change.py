"""Checks of chapter 5: which change of the memory one step is, among all that were possible."""

import numpy as np
from sympy import Rational, Symbol, exp, simplify, sqrt, symbols

from gdn_ref import delta_rule

from .ch05_answers import KEY, key, kT, n, old, value
from .data import relative_error
from .page import TOKEN, on_page
from .registry import verifies
from .words import reduce

eta = symbols("eta", positive=True)  # the trust in the new pair
eT, X = symbols("e^T X", commutative=False)


@verifies(
    "eq-exact-rewrite",
    method="algebra",
    covers="every d_k, d_v, every key",
    mutants={
        "length not squared": {"strength": 1 / sqrt(n)},
        "strength 1 for any key": {"strength": 1},
        "strength 2": {"strength": 2 / n},
    },
)
def exact_rewrite(strength=1 / n):
    """With beta = 1 / ||k||^2 the memory answers v at k."""
    after = old + strength * (value - old * key) * kT
    on_page("eq-exact-rewrite", after, letters=TOKEN)
    on_page("eq-exact-rewrite", value, of=1, letters=TOKEN)
    return reduce(after * key, KEY) - value


@verifies(
    "eq-smallest-change",
    method="algebra",
    covers="every d_k, d_v, every X with X k = v",
    mutants={
        "half way": {"strength": Rational(1, 2) / n},
        "change not divided by the length": {"size": 1},
    },
    inputs={"X answers something else": {"answer": 2 * value}},
)
def smallest_change(strength=1 / n, answer=value, size=1 / n):
    """X - S_t is orthogonal to S_t - S: their inner product is e^T (X - S_t) k times a number.

    And the squared size of the step is ||e||^2 ||k||^2 strength^2.
    """
    after = old + strength * (value - old * key) * kT
    product = reduce(eT * (X - after) * key, KEY | {X * key: answer})
    miss = {"ee": r"\|\boldsymbol{v}_t - \mathbf{S}_{t-1}\boldsymbol{k}_t\|^2"}
    on_page("eq-smallest-change", sqrt(Symbol("ee") * size), of=1, letters=TOKEN | miss)
    return [product, simplify(n * strength**2 - size)]


@verifies(
    "eq-smallest-change",
    method="float64",
    covers="delta_rule.step against 20 other memories that answer v",
    part="the first line",
    mutants={"beta too small": {"share": 0.9}, "beta too large": {"share": 1.1}},
)
def smallest_change_in_code(share=1.0):
    """Pythagoras: ||X - S||^2 = ||X - S_t||^2 + ||S_t - S||^2."""
    rng = np.random.default_rng(5)
    state, key, value = rng.normal(size=(7, 12)), rng.normal(size=12), rng.normal(size=7)
    _, after = delta_rule.step(state, key, key, value, np.asarray(share / (key @ key)))
    others = rng.normal(size=(20, 7, 12))
    others += ((value - others @ key) / (key @ key))[..., None] * key

    def printed(at, n):
        S, k, v, X = map(at, (TOKEN["S"], TOKEN["k"], TOKEN["v"], r"\mathbf{X}"))
        strength = np.asarray(share / (k * k).sum())
        S_t = delta_rule.step(S, k[:, 0], k[:, 0], v[:, 0], strength)[1]
        return ((X - S) ** 2).sum() if n == 0 else ((X - S_t) ** 2).sum() + ((S_t - S) ** 2).sum()

    on_page("eq-smallest-change", *(lambda at, n=n: printed(at, n) for n in (0, 1)), floats=True)
    straight = ((others - state) ** 2).sum((1, 2))
    detour = ((others - after) ** 2).sum((1, 2)) + ((after - state) ** 2).sum()
    return relative_error(detour, straight)


@verifies(
    "eq-proximal-step",
    method="algebra",
    covers="every d_k, d_v, every key and trust",
    mutants={
        "an explicit step": {"strength": eta},
        "unit key assumed": {"strength": eta / (1 + eta)},
        "trust upside down": {"strength": 1 / (eta + n)},
    },
)
def proximal_step(strength=eta / (1 + eta * n)):
    """The gradient of the trade-off vanishes at S_t; it is strictly convex, so nowhere else."""
    after = old + strength * (value - old * key) * kT
    slope = -(value - after * key) * kT + (after - old) / eta
    word = reduce(slope, KEY)
    on_page("eq-proximal-step", strength, condition=True, letters=TOKEN | {eta: r"\eta"})
    return [simplify(word.coeff(value * kT)), simplify(word.coeff(old * key * kT))]


@verifies(
    "eq-sigmoid-trust",
    method="algebra",
    covers="every logit",
    mutants={
        "half the logit": {"trust": lambda logit: exp(logit / 2)},
        "the logit itself": {"trust": lambda logit: logit},
        "e^-b": {"trust": lambda logit: exp(-logit)},
    },
)
def sigmoid_is_a_trust(trust=exp):
    """eta / (1 + eta), the strength for a unit key, is the sigmoid of b for eta = e^b."""
    b = Symbol("b", real=True)
    sides = (eta / (1 + eta), eta / (1 + eta), trust(b) / (1 + trust(b)))
    on_page("eq-sigmoid-trust", *sides, letters={eta: r"\eta"})
    return simplify(trust(b) / (1 + trust(b)) - 1 / (1 + exp(-b)))
