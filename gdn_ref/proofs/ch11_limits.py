"""The package's four rules against their token loops, and the two ends of the decay."""

import math

import numpy as np

from .. import delta_rule, gated_delta_rule, linear_attention
from .data import hard_inputs, relative_error
from .registry import verifies
from .symbols import I_k, S, alpha, beta, k, v

PACKAGE = "{}, 50 tokens in chunks of 16, d_k=12, d_v=7"


def _worst(actual, expected):
    return max(relative_error(a, b) for a, b in zip(actual, expected, strict=True))


@verifies(
    "eq-linear-attention-chunk",
    method="float64",
    covers=PACKAGE.format("gdn_ref.linear_attention"),
    mutants={
        "values scaled by beta": {"change": lambda v, beta: beta[:, None] * v},
        "values of the next token": {"change": lambda v, beta: np.roll(v, -1, axis=0)},
    },
)
def the_package_adds(change=lambda v, beta: v):
    """The package's chunkwise linear attention against its token loop."""
    q, k, v, _, beta, S = hard_inputs()
    chunked = linear_attention.chunkwise(q, k, change(v, beta), S, chunk_size=16)
    return _worst(chunked, linear_attention.recurrent(q, k, v, S))


@verifies(
    "eq-delta-rule-chunk",
    method="float64",
    covers=PACKAGE.format("gdn_ref.delta_rule"),
    mutants={
        "beta = 1": {"change": lambda beta: 0 * beta + 1},
        "beta one token late": {"change": lambda beta: np.roll(beta, 1)},
    },
)
def the_package_corrects(change=lambda beta: beta):
    """The package's chunkwise delta rule against its token loop."""
    q, k, v, _, beta, S = hard_inputs()
    chunked = delta_rule.chunkwise(q, k, v, change(beta), S, chunk_size=16)
    return _worst(chunked, delta_rule.recurrent(q, k, v, beta, S))


def gated(decay):
    """One token of the gated delta rule with the given decay."""
    return decay * S * (I_k - beta * k * k.T) + beta * v * k.T


@verifies(
    "eq-gdn-to-delta",
    method="algebra",
    covers="every beta, d_k, d_v",
    mutants={
        "alpha left in": {"decay": alpha},
        "beta taken to 1 as well": {"delta": lambda: S * (I_k - k * k.T) + v * k.T},
        "beta taken to 0": {"delta": lambda: S},
    },
)
def no_decay_is_the_delta_rule(decay=1, delta=lambda: S * (I_k - beta * k * k.T) + beta * v * k.T):
    """alpha = 1 alone turns the gated delta rule into the delta rule, whatever beta is."""
    return gated(decay) - delta()


@verifies(
    "eq-gdn-to-delta",
    method="float64",
    covers="gdn_ref.gated_delta_rule at g=0, beta over (0, 2)",
    mutants={
        "g = -0.01": {"g": -0.01},
        "beta = 1 in the delta rule": {"strength": lambda beta: 0 * beta + 1},
    },
)
def the_package_without_decay(g=0.0, strength=lambda beta: beta):
    """The package's gated delta rule with g = 0 against its delta rule, chunk by chunk."""
    q, k, v, decays, beta, S = hard_inputs()
    gdn = gated_delta_rule.chunkwise(q, k, v, 0 * decays + g, beta, S, chunk_size=16)
    return _worst(gdn, delta_rule.recurrent(q, k, v, strength(beta), S))


@verifies(
    "eq-gdn-reset",
    method="algebra",
    covers="every beta, d_k, d_v",
    mutants={
        "alpha left in": {"decay": alpha},
        "beta left out": {"write": v * k.T},
        "nothing written": {"write": 0 * v * k.T},
    },
)
def full_decay_is_a_reset(decay=0, write=beta * v * k.T):
    """alpha = 0 leaves the token's own write and nothing else."""
    return gated(decay) - write


@verifies(
    "eq-gdn-reset",
    method="float64",
    covers="gdn_ref.gated_delta_rule with g=-inf at one token, inside a chunk",
    mutants={"g = -5": {"reset": -5.0}, "reset one token late": {"at": 21}},
)
def the_package_resets(reset=-math.inf, at=20):
    """After g = -inf at token 20 the package continues as from an empty state."""
    q, k, v, g, beta, S = hard_inputs()
    g = np.where(np.arange(len(g)) == at, reset, g)
    O, last = gated_delta_rule.chunkwise(q, k, v, g, beta, S, chunk_size=16)
    fresh = gated_delta_rule.recurrent(*(x[20:] for x in (q, k, v, g, beta)))
    return _worst((O[20:], last), fresh)
