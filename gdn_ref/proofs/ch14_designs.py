"""Chapter 14: what three designs of the forward pass move, counted while they compute.

Counted is the size of every array that a kernel takes and returns, each once.

`T` tokens of one sequence, chunks of `C`; `H_k` key heads, `H_v` value heads; `b` bytes for each
number of q, k, v, o and of what is made from them, 4 for decays, strengths and states. That the
kernels compute the rule with nothing but what they read is checked against the token loop.
"""

from itertools import product

import numpy as np
import sympy as sp

from .. import gated_delta_rule
from .ch14_kernels import (
    DESIGNS,
    chunks,
    heads,
    outputs,
    prepare,
    run,
    scan,
    shared,
    states,
    transform,
)
from .data import worst
from .page import side
from .registry import verifies

T, C, b, d_k, d_v, H_k, H_v = sp.symbols("T C b d_k d_v H_k H_v", positive=True)
FLOOR = side(
    "eq-floor-bytes",
    otherwise=2 * b * T * (H_k * d_k + H_v * d_v) + 8 * T * H_v + 8 * H_v * d_k * d_v,
)
TWO = side("eq-bytes-two-kernels", otherwise=b * T * (H_k * d_k + 2 * H_v * C) + 8 * T * H_v)
THREE = side(
    "eq-bytes-three-kernels",
    otherwise=2 * b * T * (H_k * d_k + H_v * d_k + 2 * H_v * d_v + H_v * d_k * d_v / C)
    + 12 * T * H_v,
)
SIZES = list(product((1, 2), (2, 4), (2, 3), (1, 4), (2, 4)))  # H_k, H_v, d_k, d_v, C


def counted(design, extra):
    """Counted bytes less the formula, over small sizes."""
    residuals = []
    for h_k, h_v, m, n, c in SIZES:
        inputs = heads(8, h_k, h_v, m, n)
        for width in (2, 4):
            at = {T: 8, C: c, b: width, d_k: m, d_v: n, H_k: h_k, H_v: h_v}
            residuals.append(sum(run(design, width, c, inputs).moved.values()) - extra.subs(at))
    return residuals


@verifies(
    "eq-floor-bytes",
    method="enumeration",
    covers="counted as what each kernel takes and returns; 8 tokens, up to 2 key and 4 value heads",
    mutants={
        "inputs only": {"claim": FLOOR - b * T * H_v * d_v},
        "a key for each value head": {"claim": FLOOR + b * T * (H_v - H_k) * d_k},
        "one state": {"claim": FLOOR - 4 * H_v * d_k * d_v},
        "no decays": {"claim": FLOOR - 4 * T * H_v},
    },
)
def floor_is_counted(claim=FLOOR):
    """One kernel that reads each input and writes each output once."""
    return counted(DESIGNS["floor"], claim)


@verifies(
    "eq-bytes-two-kernels",
    method="enumeration",
    covers="counted as what each kernel takes and returns; 8 tokens, up to 2 key and 4 value heads",
    mutants={
        "UT written, not read": {"extra": TWO - b * T * H_v * C},
        "k read once": {"extra": TWO - b * T * H_k * d_k},
        "UT for each key head": {"extra": TWO - 2 * b * T * (H_v - H_k) * C},
        "W goes through memory": {"extra": TWO + 2 * b * T * H_v * d_k},
    },
)
def two_kernels_are_counted(extra=TWO):
    """The UT transform and the decays go through memory; nothing else does."""
    return counted(DESIGNS["two"], FLOOR + extra)


@verifies(
    "eq-bytes-three-kernels",
    method="enumeration",
    covers="counted as what each kernel takes and returns; 8 tokens, up to 2 key and 4 value heads",
    mutants={
        "no states": {"extra": THREE - 2 * b * T * H_v * d_k * d_v / C},
        "a state a token": {"extra": THREE + 2 * b * T * H_v * d_k * d_v * (1 - 1 / C)},
        "no corrections": {"extra": THREE - 2 * b * T * H_v * d_v},
        "W for each key head": {"extra": THREE - 2 * b * T * (H_v - H_k) * d_k},
    },
)
def three_kernels_are_counted(extra=THREE):
    """W, U, the corrections and the state of every chunk go through memory."""
    return counted(DESIGNS["three"], FLOOR + extra)


def wrong_order(q, k, E, H, c, *, C):
    """Outputs that read the state of the chunk before theirs."""
    return outputs(q, k, E, np.roll(H, 1, axis=1), c, C=C)


def no_strength(k, g, beta, *, C):
    """A UT transform without the write strengths on its right."""
    ut = transform(k, g, beta, C=C)
    return ut | {"UT": ut["UT"] / chunks(beta, C).repeat(C, axis=1).reshape(ut["UT"].shape)}


def no_decay(k, g, beta, *, C):
    """A UT transform of the delta rule without decay."""
    return {**transform(k, g, beta, C=C), "UT": transform(k, 0 * g, beta, C=C)["UT"]}


def uncorrected(q, k, U, H, c, *, C):
    """Outputs that read U where they ought to read E."""
    return outputs(q, k, U, H, c, C=C)


def off_the_rule(design):
    """How far the kernels of a design are from the token loop; they have only what they read."""
    inputs = heads(24, 2, 4, 6, 5)
    found = run(design, 2, 8, inputs).arrays
    q, k = (shared(inputs[x], 2) for x in "qk")
    rest = (inputs[x] for x in ("v", "g", "beta", "S"))
    return worst((found["o"], found["S_last"]), gated_delta_rule.recurrent(q, k, *rest))


@verifies(
    "eq-bytes-two-kernels",
    method="float64",
    covers="2 key and 4 value heads, 24 tokens",
    part="no bytes: the kernels that are counted compute the rule from what they take",
    mutants={"UT without beta": {"first": no_strength}, "without decay": {"first": no_decay}},
)
def two_kernels_compute_the_rule(first=transform):
    """The kernels that are counted give the outputs and the state of the token loop."""
    return off_the_rule([first, scan])


@verifies(
    "eq-bytes-three-kernels",
    method="float64",
    covers="2 key and 4 value heads, 24 tokens",
    part="no bytes: the kernels that are counted compute the rule from what they take",
    mutants={"states one place off": {"last": wrong_order}, "U for E": {"last": uncorrected}},
)
def three_kernels_compute_the_rule(last=outputs):
    """The kernels that are counted give the outputs and the state of the token loop."""
    return off_the_rule([prepare, states, last])
