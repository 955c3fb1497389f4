"""Checks of chapter 5: one token of the delta rule as one step down the recall loss.

For every d_k and d_v: matrix symbols know how to differentiate.
"""

import numpy as np
from sympy import Trace

from gdn_ref import delta_rule

from .data import hard_inputs, relative_error
from .page import TOKEN, on_page
from .registry import definition, verifies
from .symbols import I_k, S, beta, k, letters, v

definition("eq-delta-rule-recurrence", "The delta rule, one token at a time.")
definition("eq-recall-loss", "How far the memory's answer at a key is from the value.")


def loss(state):
    """eq-recall-loss as a matrix expression of symbolic size."""
    error = v - state * k
    return Trace(error.T * error) / 2


@verifies(
    "eq-recall-gradient",
    method="algebra",
    covers="every d_k, d_v",
    mutants={
        "uphill": {"gradient": (v - S * k) * k.T},
        "a factor 2 too many": {"gradient": -2 * (v - S * k) * k.T},
        "the old answer ignored": {"gradient": -v * k.T},
    },
)
def gradient_of_the_loss(gradient=-(v - S * k) * k.T):
    """Sympy differentiates a trace by a matrix symbol."""
    on_page("eq-recall-gradient", gradient, letters=TOKEN | {"S": r"\mathbf{S}"})
    return (loss(S).diff(S) - gradient).doit().expand()


@verifies(
    "eq-recall-gradient",
    method="polynomial",
    covers="d_v = d_k = 2, entry by entry",
    mutants={
        "uphill": {"claim": lambda e, key: e * key.T},
        "transposed": {"claim": lambda e, key: -key * e.T},
    },
)
def entries_of_the_gradient(claim=lambda e, key: -e * key.T):
    """The derivative by each entry of S; a square S on purpose, so that the transpose runs too."""
    state, key, value = letters("s", 2, 2), letters("k", 2), letters("v", 2)
    error = value - state * key
    miss = r"\boldsymbol{v}_t - \mathbf{S}\boldsymbol{k}_t"
    on_page("eq-recall-gradient", lambda at: claim(at(miss), at(TOKEN["k"])))
    half_square = error.dot(error) / 2
    return (state.applyfunc(lambda entry: half_square.diff(entry)) - claim(error, key)).expand()


def package_step(at):
    """What the package reads and keeps at the page's token, its key being the query."""
    S, k, v, b = (at(TOKEN[name]) for name in ("S", "k", "v", "beta"))
    read, after = delta_rule.step(S, k[:, 0], k[:, 0], v[:, 0], np.asarray(b))
    return read[:, None], after


@verifies(
    "eq-gradient-step",
    method="algebra",
    covers="every d_k, d_v",
    mutants={
        "uphill": {"rate": -beta},
        "rate 1 whatever beta": {"rate": 1},
        "the gradient at zero": {"at": 0 * S},
    },
)
def gradient_step(rate=beta, at=S):
    """S - beta grad L(S) is the delta rule; the gradient is taken by sympy, not by hand."""
    slope = loss(S).diff(S).subs(S, at)
    on_page("eq-gradient-step", (S - rate * slope).doit(), letters=TOKEN)
    return ((S - rate * slope) - (S + beta * (v - S * k) * k.T)).doit().expand()


@verifies(
    "eq-gradient-step",
    method="float64",
    covers="delta_rule.step, keys of any length",
    mutants={"half the rate": {"share": 0.5}, "uphill": {"share": -1.0}},
)
def gradient_step_in_code(share=1.0):
    """Central differences with step 1: exact for a quadratic loss, up to rounding."""
    rng = np.random.default_rng(5)
    state, key, value = rng.normal(size=(7, 12)), rng.normal(size=12), rng.normal(size=7)
    strength = np.asarray(0.3)
    slope = np.empty_like(state)
    for place in np.ndindex(state.shape):
        by = np.zeros_like(state)
        by[place] = 1.0
        up, down = (((value - (state + s * by) @ key) ** 2).sum() / 2 for s in (1, -1))
        slope[place] = (up - down) / 2
    _, after = delta_rule.step(state, key, key, value, strength)
    on_page("eq-gradient-step", lambda at: package_step(at)[1], floats=True)
    return relative_error(state - share * strength * slope, after)


@verifies(
    "eq-delta-form",
    method="algebra",
    covers="every d_k, d_v",
    mutants={
        "beta only on the erasing": {"write": v * k.T},
        "beta only on the writing": {"keep": I_k - k * k.T},
        "sign": {"keep": I_k + beta * k * k.T},
    },
)
def two_forms(keep=I_k - beta * k * k.T, write=beta * v * k.T):
    """Correct the answer, or erase a share and write a share: one and the same."""
    on_page("eq-delta-form", S * keep + write, letters=TOKEN)
    return (S * keep + write - (S + beta * (v - S * k) * k.T)).expand()


@verifies(
    "eq-delta-form",
    method="float64",
    covers="delta_rule.recurrent, 50 tokens",
    mutants={"erases from the left": {"left": True}, "beta twice": {"power": 2}},
)
def two_forms_in_code(left=False, power=1):
    """The package corrects; here the transition is formed and multiplied (square S)."""
    q, keys, values, _, strengths, start = hard_inputs(d_k=8, d_v=8)
    _, last = delta_rule.recurrent(q, keys, values, strengths, start)

    def formed(state, key, value, b):
        transition = np.eye(len(key)) - b * np.outer(key, key)
        kept = transition @ state if left else state @ transition
        return kept + b**power * np.outer(value, key)

    def printed(at):
        S, k, v, b = (at(TOKEN[name]) for name in ("S", "k", "v", "beta"))
        return formed(S, k[:, 0], v[:, 0], b)

    on_page("eq-delta-form", printed, floats=True)
    state = start
    for token in zip(keys, values, strengths, strict=True):
        state = formed(state, *token)
    return relative_error(state, last)
