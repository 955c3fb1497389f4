"""Checks of chapter 10: the corners of the rule, its limit, and what no delta rule can do."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np

from .. import delta_rule, gated_delta_rule, scalar_decay
from . import lines
from .data import hard_inputs, logs, relative_error, worst
from .minors import determinant, rank
from .page import TOKEN, on_page
from .registry import verifies
from .symbols import I_k, S, alpha, beta, k, v
from .token_forms import modular_tokens, polynomial_tokens, recurrence


def gated(decay=alpha, value=v):
    """One token of the gated delta rule: decay, read, correct, write (eq-gdn-step)."""
    faded = decay * S
    return faded + beta * (value - faded * k) * k.T


def package_step(at, g, strength=lambda beta: beta, scaled=lambda v, beta: v):
    """The package's state after the page's token, with the log-decay g."""
    S, k, v, b = (at(TOKEN[name]) for name in ("S", "k", "v", "beta"))
    k, v, g, b = k[:, 0], scaled(v[:, 0], b), np.asarray(g), np.asarray(strength(b))
    return gated_delta_rule.step(S, k, k, v, g, b)[1]


@verifies(
    "eq-gdn-to-delta",
    method="algebra",
    covers="every beta, d_k, d_v",
    mutants={
        "beta taken to 1 as well": {"delta": lambda: S * (I_k - k * k.T) + v * k.T},
        "beta taken to 0": {"delta": lambda: S},
    },
    inputs={"alpha left in": {"decay": alpha}},
)
def no_decay_is_the_delta_rule(decay=1, delta=lambda: S * (I_k - beta * k * k.T) + beta * v * k.T):
    """alpha = 1 alone turns the gated delta rule into the delta rule, whatever beta is."""
    on_page("eq-gdn-to-delta", delta(), letters=TOKEN)
    return gated(decay) - delta()


@verifies(
    "eq-gdn-to-delta",
    method="float64",
    covers="gdn_ref.gated_delta_rule at g=0, beta over (0, 2), chunks of 16",
    mutants={"beta taken to 1 as well": {"strength": lambda beta: 0 * beta + 1}},
    inputs={"g = -0.01": {"g": -0.01}},
)
def the_package_without_decay(g=0.0, strength=lambda beta: beta):
    """The package's gated delta rule with g = 0 against its delta rule."""
    on_page("eq-gdn-to-delta", lambda at: package_step(at, g, strength), floats=True)
    q, k, v, decays, beta, S = hard_inputs()
    gdn = gated_delta_rule.chunkwise(q, k, v, 0 * decays + g, beta, S, chunk_size=16)
    return worst(gdn, delta_rule.recurrent(q, k, v, strength(beta), S))


@verifies(
    "eq-gdn-reset",
    method="algebra",
    covers="every beta, d_k, d_v",
    mutants={
        "beta left out": {"write": v * k.T},
        "nothing written": {"write": 0 * v * k.T},
        "the old state kept": {"write": S + beta * v * k.T},
    },
    inputs={"alpha left in": {"decay": alpha}},
)
def full_decay_is_a_reset(decay=0, write=beta * v * k.T):
    """alpha = 0 leaves the token's own write and nothing else."""
    on_page("eq-gdn-reset", write, letters=TOKEN)
    return gated(decay) - write


@verifies(
    "eq-gdn-reset",
    method="float64",
    covers="gdn_ref.gated_delta_rule with g=-inf at one token, inside a chunk",
    mutants={
        "the old state kept": {"kept": 1.0},
        "the token itself forgotten too": {"first": 21},
    },
    inputs={"g = -5": {"reset": -5.0}, "reset one token late": {"at": 21}},
)
def the_package_resets(kept=0.0, first=20, reset=-math.inf, at=20):
    """After g = -inf at token 20 the package continues as from an empty state."""
    on_page("eq-gdn-reset", lambda at: package_step(at, reset), floats=True)
    q, k, v, g, beta, S = hard_inputs()
    g = np.where(np.arange(len(g)) == at, reset, g)
    O, last = gated_delta_rule.chunkwise(q, k, v, g, beta, S, chunk_size=16)
    fresh = gated_delta_rule.recurrent(
        *(x[first:] for x in (q, k, v, np.where(kept, 0.0, g), beta)), kept * S
    )
    return worst((O[first:], last), fresh)


@verifies(
    "eq-gdn-linear-limit",
    method="algebra",
    covers="every alpha, beta > 0, d_k, d_v",
    mutants={
        "values not scaled up": {"value": v},
        "no correction left": {"correction": 0 * S * k * k.T},
        "the correction not decayed": {"correction": beta * S * k * k.T},
    },
)
def small_strength_large_values(value=v / beta, correction=alpha * beta * S * k * k.T):
    """With values v / beta the rule is scalar decay, less a correction in proportion to beta."""
    on_page("eq-gdn-linear-limit", alpha * S + v * k.T - correction, letters=TOKEN)
    return gated(value=value) - (alpha * S + v * k.T - correction)


@verifies(
    "eq-gdn-linear-limit",
    method="float64",
    covers="gdn_ref.gated_delta_rule at beta = i 1e-30, 50 tokens, to first order",
    mutants={
        "values not scaled up": {"scaled": lambda v, beta: v},
        "no decay in the limit": {"limit": lambda g: 0 * g},
        "the correction not decayed": {"decay": lambda g: 0 * g + 1},
    },
)
def the_package_in_the_limit(scaled=lambda v, beta: v / beta, limit=lambda g: g, decay=np.exp):
    """An imaginary beta separates the orders: the real part of the state is scalar decay, the
    imaginary one 1e-30 times the sum of the first corrections, each faded since.
    """
    one = lambda at: package_step(at, logs(at(TOKEN["alpha"])), scaled=scaled)
    on_page("eq-gdn-linear-limit", one, floats=True)
    q, k, v, g, _, S = hard_inputs()
    tiny = np.full(len(g), 1e-30j)
    _, state = gated_delta_rule.recurrent(q, k, scaled(v, tiny[0]), g, tiny, S)
    first = 0 * S
    for t in range(len(g)):
        first = np.exp(g[t]) * first - decay(g[t]) * np.outer(S @ k[t], k[t])
        _, S = scalar_decay.step(S, q[t], k[t], v[t], limit(g[t]))
    return max(relative_error(state.real, S), relative_error(state.imag / 1e-30, first))


@verifies(
    "eq-gdn-clear",
    method="polynomial",
    covers="one token with d=2, two tokens with d=3",
    mutants={"a rank less": {"larger": 0}},
    inputs={"with decay": {"decay": lambda alpha: alpha}, "one token more": {"more": 1}},
)
def rank_of_the_change(decay=lambda alpha: alpha * 0 + 1, larger=1, more=0):
    """Without decay the minors of S_m - S_0 of size m + 1 vanish."""
    vanish = []
    for m in (1, 2):
        x = polynomial_tokens(C=m + more, d_k=m + 1, d_v=m + 1)
        x = replace(x, alpha=decay(x.alpha))
        change = recurrence(x)[2] - x.S
        vanish.append(determinant(change[: m + larger, : m + larger]))
    on_page(
        "eq-gdn-clear",
        lambda at: rank(at(r"\mathbf{S}_m - \mathbf{S}_0")),
        lambda at: at("m") + larger - 1,
    )
    return [int(minor != 0) for minor in vanish]


@verifies(
    "eq-gdn-clear",
    method="modular",
    covers="64 tokens, d_k=128, d_v=96: the change passes through 64 rows",
    mutants={
        "values for corrections": {"written": lambda x, E: x.V},
        "a rank less": {"used": slice(1, None)},
    },
    inputs={"with decay": {"decay": lambda alpha: alpha}},
)
def factors_of_the_change(
    decay=lambda alpha: alpha * 0 + 1, written=lambda x, E: E, used=slice(None)
):
    """S_m - S_0 = E^T K, with one row a token in both factors: its rank is at most m."""

    def factors(x, E):
        return written(x, E)[used].T, x.K[used]

    def printed(at):
        left, right = factors(*first(at))
        return left @ right

    def first(at):
        x, m = lines.tokens(at), at("m")
        return SimpleNamespace(V=x.V[:m], K=x.K[:m]), x.E[:m]

    on_page(
        "eq-gdn-clear",
        lambda at: rank(printed(at)),
        lambda at: len(factors(*first(at))[1]),
    )
    x = modular_tokens(number_of_chunks=1)
    x = replace(x, alpha=decay(x.alpha))
    _, E, last = recurrence(x)
    left, right = factors(x, E)
    return last - x.S - left @ right
