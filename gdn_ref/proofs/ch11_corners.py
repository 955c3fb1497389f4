"""One table, four rules: switch off the decay, the correction, or both.

Switching the correction off puts V in the place of E; switching the decay off puts M in the
place of Gamma and 1 in the place of gamma.
"""

from functools import cache

import numpy as np
from sympy import MatrixSymbol, ZeroMatrix

from .modular import Mod
from .registry import definition, verifies
from .symbols import E, I_k, K, S, beta, d_v, k, q, r, v
from .token_forms import FORM, Tokens, chunkwise, modular_tokens, ones_below, recurrence, strict

definition("eq-delta-rule-recurrence", "The delta rule, one token at a time.")

V = MatrixSymbol("V", r, d_v)  # the values of the r tokens so far
NO_DECAY = {
    "gamma": lambda x: np.ones(len(x.alpha), dtype=np.int64),
    "Gamma": lambda x: ones_below(len(x.alpha), 0),  # M
}
NO_CORRECTION = {"E": lambda x: x.V}
NEITHER = NO_DECAY | NO_CORRECTION


@verifies(
    "eq-linear-attention-chunk",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "strict M": {"scores": q.T * K.T * 0},
        "S not read": {"old": ZeroMatrix(d_v, 1).T},
        "the write left out": {"write": 0 * v * k.T},
        "S written twice": {"write": v * k.T + S},
    },
)
def linear_attention_step(scores=q.T * K.T, old=q.T * S.T, write=v * k.T):
    """Base, r = 0: S. Step: S_r = S + V^T K gains v k^T; and row r of O is (S_r q)^T.

    Row r of M has ones up to the token itself, so row r of M . Q K^T is q^T K^T.
    """
    state = S + V.T * K
    return [(state + v * k.T) - (S + V.T * K + write), (state * q).T - (old + scores * V)]


@verifies(
    "eq-delta-rule-chunk",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "S not read": {"read": E.T * K * k},
        "earlier deltas not read": {"read": S * k},
        "old value added": {"read": -(S + E.T * K) * k},
        "beta left out": {"strength": 1},
    },
)
def delta_rule_step(read=(S + E.T * K) * k, strength=beta):
    """Base, r = 0: S. Step: S_r = S + E^T K takes one token, whose delta is the new row of E.

    That row, delta + beta E^T K k = beta (v - S k), is row r + 1 of (I + A) E = B (V - K S^T).
    """
    delta = strength * (v - read)
    state = S + E.T * K
    step = state * (I_k - beta * k * k.T) + beta * v * k.T - (state + delta * k.T)
    row = delta + beta * E.T * K * k - beta * (v - S * k)
    return [step, row]


@cache
def _loop(decays, corrects):
    """The outputs and last state of 128 tokens modulo p, by the recurrence of one of the rules."""
    x = modular_tokens()
    if corrects:
        O, _, last = recurrence(x if decays else _without_decay(x))
        return O, last
    S, outputs = x.S, []
    for t in range(len(x.alpha)):
        S = S * x.alpha[t] if decays else S
        S = S + x.V[t][:, None] * x.K[t][None, :]
        outputs.append((S @ x.Q[t]).residues)
    return Mod(np.stack(outputs)), S


def _without_decay(x):
    return Tokens(**(vars(x) | {"alpha": x.alpha * 0 + 1}))


def _compare(form, expected):
    O, _, last = chunkwise(modular_tokens(), FORM | form)
    return [O - expected[0], last - expected[1]]


def _mutants(form):
    """What switching the wrong thing does to one of the rules."""
    rule = FORM | form
    return {
        "strict mask": {"form": form | {"scores": lambda x: strict(x.Q @ x.K.T)}},
        "no mask": {"form": form | {"scores": lambda x: x.Q @ x.K.T}},
        "writes not handed on": {"form": form | {"S_next": lambda x: x.S}},
        "sign of the writes": {"form": form | {"E": lambda x: -rule["E"](x)}},
    }


REAL_SIZE = "C=64, two chunks, d_k=128, d_v=96"


@verifies(
    "eq-linear-attention-chunk",
    method="modular",
    covers=REAL_SIZE,
    mutants=_mutants(NEITHER)
    | {"decay left on": {"form": NO_CORRECTION}, "correction left on": {"form": NO_DECAY}},
)
def linear_attention_at_real_size(form=NEITHER):
    """E = V, Gamma = M and gamma = 1 give linear attention: an identity of degree 3."""
    return _compare(form, _loop(decays=False, corrects=False))


@verifies(
    "eq-delta-rule-chunk",
    method="modular",
    covers=REAL_SIZE,
    mutants=_mutants(NO_DECAY)
    | {"decay left on": {"form": {}}, "correction off": {"form": NEITHER}},
)
def delta_rule_at_real_size(form=NO_DECAY):
    """Gamma = M and gamma = 1 give the delta rule: an identity of degree at most 3 * 128 + 2."""
    return _compare(form, _loop(decays=False, corrects=True))
