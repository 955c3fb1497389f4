"""Checks of chapter 16: bytes, FLOPs and states of the backward pass, counted while it computes."""

from itertools import product

import numpy as np
import sympy as sp

from .ch14_designs import C, H_k, H_v, T, b, d_k, d_v
from .ch16_kernels import (
    FOUR,
    PLANS,
    BackwardMemory,
    chunk_gradients,
    chunk_states,
    flops,
    inputs_of,
    run,
    state_gradients,
)
from .data import worst
from .page import side
from .registry import verifies

N, m, s = sp.symbols("N m s", positive=True)

FLOOR = side(
    "eq-backward-floor",
    otherwise=b * T * (4 * H_k * d_k + 3 * H_v * d_v) + 16 * T * H_v + 12 * H_v * d_k * d_v,
)
STATES = H_v * d_k * d_v / C  # numbers of all chunks' states, a token
KERNELS = {
    "inverses": b * T * (H_k * d_k + H_v * C) + 12 * T * H_v,
    "chunk_states": b * T * (H_k * d_k + H_v * (d_v + C) + STATES)
    + 8 * T * H_v
    + 4 * H_v * d_k * d_v,
    "state_gradients": b * T * (2 * H_k * d_k + H_v * (2 * d_v + C) + STATES)
    + 8 * T * H_v
    + 8 * H_v * d_k * d_v,
    "chunk_gradients": b * T * (4 * H_k * d_k + H_v * (3 * d_v + C) + 2 * STATES) + 16 * T * H_v,
}
MORE = side(
    "eq-backward-bytes",
    otherwise=b * T * (4 * H_k * d_k + 3 * H_v * d_v + 4 * H_v * C + 4 * STATES) + 28 * T * H_v,
)
FLOPS = {
    "chunk_states": 4 * d_k * d_v + 2 * C * d_v,
    "state_gradients": 6 * d_k * d_v + 4 * C * d_v + 2 * s * C * d_k,
    "chunk_gradients": 8 * d_k * d_v + 6 * C * d_v + 10 * C * d_k,
}
TOTAL = side(
    "eq-backward-flops",
    otherwise=T * H_v * (18 * d_k * d_v + 12 * C * d_v + (10 + 2 * s) * C * d_k),
)
KEPT = side("eq-backward-segments", otherwise=N / m + 2 * m - 1)
LEAST = side("eq-backward-segments", at=2, otherwise=2 * sp.sqrt(2 * N) - 1)
BEST = sp.sqrt(N / 2)
SIZES = list(product((1, 2), (2, 4), (3,), (1, 4), (2, 4)))  # H_k, H_v, d_k, d_v, C
TOKENS = 8


def counted(plan, claim):
    """Counted bytes less the formula, over small sizes."""
    residuals = []
    for h_k, h_v, keys, values, c in SIZES:
        inputs = inputs_of(TOKENS, h_k, h_v, keys, values)
        at = {T: TOKENS, C: c, d_k: keys, d_v: values, H_k: h_k, H_v: h_v}
        for width in (2, 4):
            moved = sum(run(plan, width, c, inputs).moved.values())
            residuals.append(moved - claim.subs(at | {b: width}))
    return residuals


@verifies(
    "eq-backward-floor",
    method="enumeration",
    covers="counted as what each kernel takes and returns; 8 tokens, up to 2 key and 4 value heads",
    mutants={
        "gradients not written": {"claim": FLOOR - b * T * (2 * H_k * d_k + H_v * d_v)},
        "a key for each value head": {"claim": FLOOR + 2 * b * T * (H_v - H_k) * d_k},
        "the state's gradient stays": {"claim": FLOOR - 4 * H_v * d_k * d_v},
        "outputs read": {"claim": FLOOR + b * T * H_v * d_v},
    },
)
def floor_is_counted(claim=FLOOR):
    """One kernel that reads each input and writes each gradient once."""
    return counted(PLANS["floor"], claim)


@verifies(
    "eq-backward-bytes",
    method="enumeration",
    covers="counted as what each kernel takes and returns; 8 tokens, up to 2 key and 4 value heads",
    mutants={
        "states written, not read": {"more": MORE - 2 * b * T * STATES},
        "the inverse made once, read twice": {"more": MORE - b * T * H_v * C},
        "no gradients of states": {"more": MORE - 2 * b * T * STATES + 4 * T * H_v},
        "dV not read again": {"more": MORE - b * T * H_v * d_v},
    },
)
def four_kernels_are_counted(more=MORE):
    """What the four kernels move beyond the floor."""
    return counted(FOUR, FLOOR + more)


@verifies(
    "eq-backward-bytes",
    method="enumeration",
    covers="each kernel by itself, counted as what it takes and returns, at the same sizes",
    mutants={
        f"{name} without {what}": {"claims": KERNELS | {name: KERNELS[name] - less}}
        for name, what, less in (
            ("inverses", "beta", 4 * T * H_v),
            ("chunk_states", "the first state", 4 * H_v * d_k * d_v),
            ("state_gradients", "q", b * T * H_k * d_k),
            ("chunk_gradients", "dV", b * T * H_v * d_v),
        )
    },
)
def each_kernel_is_counted(claims=KERNELS):
    """The bytes of each kernel less its own formula; the formulas add up to the whole."""
    residuals = [sp.expand(sum(KERNELS.values()) - FLOOR - MORE)]
    for h_k, h_v, keys, values, c in SIZES:
        moved = run(FOUR, 2, c, inputs_of(TOKENS, h_k, h_v, keys, values)).moved
        at = {T: TOKENS, C: c, b: 2, d_k: keys, d_v: values, H_k: h_k, H_v: h_v}
        residuals += [moved[name] - claim.subs(at) for name, claim in claims.items()]
    return residuals


def another_chunks_state(k, v, beta, c, T_inv, S, *, C):
    H = chunk_states(k, v, beta, c, T_inv, S, C=C)["H"]
    return {"H": np.roll(H, 1, axis=1)}


def another_chunks_gradient(q, k, dO, beta, c, T_inv, dS_last, *, C):
    found = state_gradients(q, k, dO, beta, c, T_inv, dS_last, C=C)
    return found | {"dH": np.roll(found["dH"], 1, axis=1)}


@verifies(
    "eq-backward-bytes",
    method="float64",
    covers="all six gradients of the four kernels, 64 tokens, 2 key and 4 value heads, d 12 and 7",
    part="no bytes: the kernels that are counted compute the gradients from what they take",
    mutants={
        "states one chunk late": {"states": another_chunks_state},
        "gradients of states one chunk late": {"gradients": another_chunks_gradient},
    },
)
def what_is_read_is_enough(states=chunk_states, gradients=state_gradients):
    """The four kernels, which know nothing but what they read, against the reference."""
    inputs = inputs_of(64, 2, 4, 12, 7)
    plan = [FOUR[0], states, gradients, chunk_gradients]
    memory = BackwardMemory(2, **inputs)
    for kernel in plan:
        memory.arrays |= memory.run(kernel, C=16)
    right = run(PLANS["floor"], 2, 16, inputs).arrays
    names = ("dq", "dk", "dV", "dg", "dbeta", "dS")
    return worst([memory.arrays[name] for name in names], [right[name] for name in names])


@verifies(
    "eq-backward-flops",
    method="enumeration",
    covers="each of three kernels, counted, 16 tokens, 1 and 2 slices",
    mutants={
        "scores for all slices at once": {"total": TOTAL.subs(s, 1)},
        "N and its transpose apart": {"total": TOTAL + 2 * T * H_v * C * d_k},
        "the forward pass twice": {"total": 2 * T * H_v * (6 * d_k * d_v + 4 * C * d_v)},
        "E taken from the forward pass": {"total": TOTAL - T * H_v * (2 * d_k + 2 * C) * d_v},
    },
)
def products_are_counted(total=TOTAL):
    """FLOPs of the products less the formulas; the formulas less their sum."""
    residuals = [sp.expand(T * H_v * sum(FLOPS.values()) - total)]
    for keys, values, c, slices in product((2, 3), (2, 4), (4, 8), (1, 2)):
        inputs = inputs_of(16, 1, 2, keys, values)
        found = run(FOUR, 2, c, inputs).arrays
        at = {T: 16, C: c, d_k: keys, d_v: values, H_v: 2, s: slices}
        # the last chunk's state is handed on by the forward pass: chunk_states stops before it
        short = 1 - sp.Rational(c, 16)
        for kernel, parts, share in (
            (chunk_states, 1, short), (state_gradients, slices, 1), (chunk_gradients, 1, 1)
        ):  # fmt: skip
            names = kernel.__code__.co_varnames[: kernel.__code__.co_argcount]
            claim = 16 * 2 * FLOPS[kernel.__name__].subs(at)
            work = flops(kernel, c, {name: found[name] for name in names}, parts)
            residuals.append(work - share * claim)
    return residuals


def most_kept(chunks, segment, freed=True):
    """States and gradients of states kept at a time, on a walk back by segments."""
    kept = {("state", n) for n in range(0, chunks, segment)}
    most = len(kept)
    for start in reversed(range(0, chunks, segment)):
        inside = range(start, min(start + segment, chunks))
        kept |= {("state", n) for n in inside} | {("gradient", n) for n in inside}
        most = max(most, len(kept))
        if freed:
            kept -= {(kind, n) for kind in ("state", "gradient") for n in inside}
    return most


@verifies(
    "eq-backward-segments",
    method="enumeration",
    covers="walks over up to 64 chunks, every segment that divides them",
    mutants={
        "without the gradients": {"claim": KEPT - m},
        "the checkpoint counted twice": {"claim": KEPT + 1},
        "segments not freed": {"freed": False},
    },
)
def states_at_a_time(claim=KEPT, freed=True):
    """The most that is kept, counted, less the formula."""
    return [
        most_kept(chunks, segment, freed) - claim.subs({N: chunks, m: segment})
        for chunks in (2, 6, 16, 36, 64)
        for segment in range(1, chunks + 1)
        if chunks % segment == 0
    ]


@verifies(
    "eq-backward-segments",
    method="algebra",
    covers="every N",
    part="the least over all m",
    mutants={
        "the root of N": {"best": sp.sqrt(N)},
        "the root of 2 N": {"best": sp.sqrt(2 * N)},
    },
)
def the_best_segment(best=BEST):
    """N/m + 2 m - 1 has slope 0 at m = sqrt(N/2), where it is 2 sqrt(2 N) - 1."""
    return [sp.diff(KEPT, m).subs(m, best), KEPT.subs(m, best) - LEAST]
