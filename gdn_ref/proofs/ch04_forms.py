"""Chapter 4: scalar decay, unrolled, one chunk at a time, and for all tokens at once."""

from math import inf

import numpy as np

from .. import scalar_decay
from . import lines
from .ch03_chunks import NEITHER
from .data import hard_inputs, logs, worst
from .page import on_page
from .registry import definition, verifies
from .symbols import D, K, S, V, alpha, gamma, k, no_tokens, q, v
from .token_forms import (
    FORM,
    REAL_SIZE,
    chunkwise,
    decay_from_start,
    decay_mask,
    from_empty,
    modular_tokens,
    ones_below,
    uncorrected,
)

definition("eq-scalar-decay-recurrence", "Linear attention with one decay for the whole state.")


@verifies(
    "eq-scalar-decay-unrolled",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "S not decayed by the new token": {"old": gamma * S},
        "earlier writes not decayed by it": {"earlier": V.T * D * K},
        "the write decayed too": {"write": alpha * v * k.T},
        "the write left out": {"write": 0 * v * k.T},
    },
)
def unrolled_step(old=alpha * gamma * S, earlier=alpha * V.T * D * K, write=v * k.T):
    """Base, r = 0: S. Step: decay the sum and add the new write.

    D = diag(Gamma_ri) holds row r of the mask.
    Row r + 1 is alpha times that, and 1 for the token itself.
    """
    state = gamma * S + V.T * D * K
    on_page("eq-scalar-decay-unrolled", old + earlier + write)
    return [no_tokens(state) - S, (alpha * state + v * k.T) - (old + earlier + write)]


@verifies(
    "eq-scalar-decay-chunk",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "S not decayed by the last token": {"old": gamma * S},
        "earlier writes not decayed by it": {"earlier": V.T * D * K},
        "the write decayed too": {"write": alpha * v * k.T},
        "M for Gamma": {"scores": q.T * K.T},
        "strict Gamma": {"own": 0 * v.T},
        "Gamma one token late": {"scores": q.T * K.T * D},
        "Q not scaled": {"scale": 1},
    },
)
def chunk_step(
    old=alpha * gamma * S,
    earlier=alpha * V.T * D * K,
    write=v * k.T,
    scores=alpha * q.T * K.T * D,
    own=q.T * k * v.T,
    scale=alpha * gamma,
):
    """Base, r = 0: S. Step: gamma S + V^T D K decays and gains v k^T, and then q reads.

    Its row of Gamma is alpha times the one before, and 1 for the token itself.
    """
    state = alpha * (gamma * S + V.T * D * K) + v * k.T
    row = scale * q.T * S.T + scores * V + own
    base = no_tokens(gamma * S + V.T * D * K) - S
    on_page("eq-scalar-decay-chunk", row, row=True)
    on_page("eq-scalar-decay-chunk", old + earlier + write, of=1)
    return [base, state - (old + earlier + write), (state * q).T - row]


NO_CORRECTION = {"E": lambda x: x.V}


@verifies(
    "eq-scalar-decay-chunk",
    method="modular",
    covers=REAL_SIZE,
    mutants={
        "M for Gamma": {"change": {"scores": lambda x: ones_below(64, 0) * (x.Q @ x.K.T)}},
        "strict Gamma": {"change": {"scores": lambda x: ones_below(64, -1) * FORM["scores"](x)}},
        "no decay at all": {"change": NEITHER},
        "state not decayed": {"change": {"S_next": lambda x: x.S + FORM["S_next"](x)}},
        "K not decayed to the end": {
            "change": {"S_next": lambda x: x.S * x.gamma[-1] + x.V.T @ x.K}
        },
        "Q not scaled": {"change": {"O": lambda x: x.Q @ x.S.T + x.scores @ x.V}},
    },
)
def chunks_at_real_size(change=None):
    """The table of equations with E = V against the token loop: degree at most 128 + 3."""
    form = FORM | NO_CORRECTION | (change or {})
    O, _, last = chunkwise(modular_tokens(), form)
    outputs, state = uncorrected(modular_tokens())
    return [O - outputs, last - state]


@verifies(
    "eq-scalar-decay-chunk",
    method="float64",
    covers="gdn_ref.scalar_decay, 50 tokens in chunks of 16, d_k=12, d_v=7",
    mutants={
        "no decay": {"change": lambda g: 0 * g},
        "decays one token late": {"change": lambda g: np.roll(g, 1)},
    },
)
def the_package_fades(change=lambda g: g):
    """The package's chunkwise scalar decay against its token loop."""
    q, k, v, g, _, S = hard_inputs()
    chunked = scalar_decay.chunkwise(q, k, v, change(g), S, chunk_size=16)

    def printed(at):
        x = lines.tokens(at)
        return scalar_decay.chunkwise(x.Q, x.K, x.V, change(logs(x.alpha)), x.S, chunk_size=4)

    on_page("eq-scalar-decay-chunk", lambda at: printed(at)[0], floats=True)
    on_page("eq-scalar-decay-chunk", lambda at: printed(at)[1], of=1, floats=True)
    return worst(chunked, scalar_decay.recurrent(q, k, v, g, S))


@verifies(
    "eq-scalar-decay-unrolled",
    method="modular",
    covers="128 tokens, d_k=128, d_v=96",
    mutants={
        "S not decayed": {"gamma_r": lambda alpha: alpha[-1:] * 0 + 1},
        "the writer's decay counted": {"weights": lambda mask, alpha: mask[-1] * alpha},
        "no decay of the writes": {"weights": lambda mask, alpha: alpha * 0 + 1},
    },
)
def unrolled_at_real_size(
    gamma_r=lambda alpha: decay_from_start(alpha)[-1:], weights=lambda mask, alpha: mask[-1]
):
    """gamma_r S + sum_i Gamma_ri v_i k_i^T against the token loop: degree at most 130."""

    def state(S, K, V, alpha):
        written = V.T @ (weights(decay_mask(alpha), alpha)[:, None] * K)
        return S * gamma_r(alpha)[0] + written

    def printed(at):
        x = lines.tokens(at)
        return state(x.S, x.K[: at.n], x.V[: at.n], x.alpha[: at.n])

    on_page("eq-scalar-decay-unrolled", printed)
    x = modular_tokens()
    return state(x.S, x.K, x.V, x.alpha) - uncorrected(x)[1]


@verifies(
    "eq-scalar-decay-parallel",
    method="modular",
    covers="128 tokens from the empty state, d_k=128, d_v=96",
    mutants={
        "M for Gamma": {"mask": lambda alpha: ones_below(len(alpha), 0) + 0 * alpha},
        "strict Gamma": {"mask": lambda alpha: decay_mask(alpha) * ones_below(len(alpha), -1)},
        "the writer's decay counted": {"mask": lambda alpha: decay_mask(alpha) * alpha[None, :]},
        "Q and K swapped": {"scores": lambda x: x.K @ x.Q.T},
        "no decay, no mask": {"mask": lambda alpha: 0 * alpha[:, None] + 1},
    },
)
def parallel_at_real_size(mask=decay_mask, scores=lambda x: x.Q @ x.K.T):
    """(Gamma . Q K^T) V against the token loop: degree at most 130."""
    x = modular_tokens()

    def printed(at):
        x = lines.tokens(at)
        return (mask(x.alpha) * scores(x)) @ x.V

    on_page("eq-scalar-decay-parallel", printed)
    return (mask(x.alpha) * scores(x)) @ x.V - uncorrected(from_empty(x))[0]


@verifies(
    "eq-scalar-decay-parallel",
    method="float64",
    covers="gdn_ref.scalar_decay.parallel with a reset, 50 tokens, d_k=12, d_v=7",
    mutants={
        "no reset": {"reset": -1.0},
        "reset one token late": {"at": 21},
        "no decay": {"scale": 0.0},
    },
)
def the_package_at_once(reset=-inf, at=20, scale=1.0):
    """The package's parallel form against its token loop; token 20 resets the memory."""
    q, k, v, g, *_ = hard_inputs()
    right = scalar_decay.recurrent(q, k, v, np.where(np.arange(50) == 20, -inf, g))
    changed = np.where(np.arange(50) == at, reset, scale * g)

    def printed(at):
        x = lines.tokens(at)
        return scalar_decay.parallel(x.Q, x.K, x.V, scale * logs(x.alpha))[0]

    on_page("eq-scalar-decay-parallel", printed, floats=True)
    return worst(scalar_decay.parallel(q, k, v, changed), right)
