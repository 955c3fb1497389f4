"""The launches of the backward pass on Hopper.

As those of `forward.hopper.launches`; tensors as in `backward.launches.Gradients`.

Reference: `gdn_ref.backward.gradients`.
"""

from functools import cache

import torch

from ...common.numbers import C
from ...common.triton_private import tiling
from ...forward.hopper.chain import BK, BV
from ...forward.hopper.launches import WIDTH, by_length, tilings_of
from ...host.launch import launcher
from ...host.layout import state_layout
from .chunk_gradients.kernel import HopperChunkGradientsCase, chunk_gradients_hopper_kernel
from .state_gradients import HopperStateGradientsCase, state_gradients_hopper_kernel
from .states import HopperStatesCase, chunk_states_hopper_kernel


def room_for_both(plan, sizes):
    """Has the device room for the states and their gradients at once, or will it have?

    Each is a chain from chunk to chunk, and neither waits for the other. Of packed sequences some
    end early, and leave theirs to the others'; beyond 128 key dimensions that did not pay.
    """
    if plan.packed and sizes.N > 1 and plan.K <= WIDTH:
        return True
    return 2 * sizes.N * plan.HV * (plan.V // BV.value) <= plan.multiprocessors


def chain_launcher(plan, kernel, case, constants, tilings, **options):
    """A kernel that goes from chunk to chunk, by whether the longest sequence is taken first."""

    @cache
    def launch(order):
        made = case(**constants, PACKED=plan.packed, BY_LENGTH=order)
        return launcher(kernel, made, plan.types, tilings, **options)

    return launch


class HopperStates:
    """The states that the chunks receive; also `R`, where it is kept."""

    def __init__(self, plan, v_first, span=1):
        self.plan, self.span, K, V = plan, span, plan.K, plan.V
        keys, values, matrices = tilings_of(plan, BK.value)
        tilings = (keys, values, matrices, tiling(plan.dtype, K, C.value, BK.value))
        if keeps_R(K):
            tilings += (tiling(torch.float16, plan.HV * V, C.value, BV.value),)
        constants = {"K": K, "V": V, **state_layout(K, V, v_first)}
        constants |= {"HAS_S": plan.has_S, "SPAN": span}
        options = {"num_warps": 4, "maxnreg": state_registers(K)}
        kernel, case = chunk_states_hopper_kernel, HopperStatesCase
        self.launch = chain_launcher(plan, kernel, case, constants, tilings, **options)

    def __call__(self, sizes, k, v, beta, c, T_inv, S, states, cu_seqlens, R=None):
        plan, total = self.plan, sizes.total
        rows = (total, total, *matrix_rows(plan, sizes, self.span))
        rows = rows if R is None else (*rows, total)
        self.launch(by_length(plan, sizes))(
            (sizes.N * plan.HV * (plan.V // BV.value), 1, 1),
            (k, v, T_inv, states, R, beta, c, S, cu_seqlens),
            (sizes.N, sizes.T, sizes.head_stride, plan.H, plan.HV), rows,
        )  # fmt: skip


def matrix_rows(plan, sizes, span=1):
    """How many rows the chunks' matrices have, and the states, one for each span."""
    return plan.HV * sizes.head_stride, sizes.spans(span) * plan.HV * plan.V


def keeps_R(K):
    """Is R = V - diag(gamma) K S^T kept with the states, in float16, since it needs all of K?"""
    return K > WIDTH


def state_registers(K):
    """A thread, on average: up to 128 key dimensions two programs share a multiprocessor."""
    return 128 if K <= 128 else 168


class HopperStateGradients:
    """The gradients of the states and of the first one; the last one's lies as `v_first` says."""

    def __init__(self, plan, scale, has_dS, v_first):
        self.plan, self.scale, K, V = plan, scale, plan.K, plan.V
        keys, values, matrices = tilings_of(plan, K)
        rows = tiling(plan.dtype, K, C.value, K)
        constants = {"K": K, "V": V, **state_layout(K, V, v_first)}
        constants |= {"HAS_DS": has_dS}
        tilings = (keys, keys, values, matrices, values, rows)
        kernel, case = state_gradients_hopper_kernel, HopperStateGradientsCase
        self.launch = chain_launcher(plan, kernel, case, constants, tilings, num_warps=4)

    def __call__(
        self, sizes, q, k, do, beta, c, T_inv, dS_last, Z, dstates, dS_first, cu_seqlens,
    ):  # fmt: skip
        plan, total = self.plan, sizes.total
        matrices, states = matrix_rows(plan, sizes)
        self.launch(by_length(plan, sizes))(
            (sizes.N * plan.HV * (plan.V // BV.value), 1, 1),
            (q, k, do, T_inv, Z, dstates, beta, c, Z, dS_last, dS_first, cu_seqlens),
            (self.scale, sizes.N, sizes.T, sizes.head_stride, plan.H, plan.HV),
            (total, total, total, matrices, total, states),
        )  # fmt: skip


def places(plan, span):
    """For states, in spans as many as a key head has slices of values; and for their gradients."""
    states = plan.HV // plan.H * (plan.V // BV.value) if span > 1 else 2
    return {"STATES": states, "GRADIENTS": 1 if states > 2 else 2}


class HopperChunkGradients:
    """All other gradients of the whole chunks; `v` is R, if that is kept."""

    def __init__(self, plan, scale, span=1):
        self.plan, self.scale, self.span, K, V = plan, scale, span, plan.K, plan.V
        keys, values, matrices = tilings_of(plan, min(K, WIDTH))
        rows = tiling(plan.dtype, K, C.value, min(K, WIDTH))
        R = tiling(torch.float16, plan.HV * V, C.value, BV.value) if keeps_R(K) else values
        constants = {"H": plan.H, "HV": plan.HV, "K": K, "V": V}
        constants |= {"HAS_G": plan.has_g, "PACKED": plan.packed, "SPAN": span}
        constants |= places(plan, span)
        tilings = (keys, keys, R, values, values, matrices, rows, rows, keys, keys)
        kernel, case = chunk_gradients_hopper_kernel, HopperChunkGradientsCase(**constants)
        self.launch = launcher(kernel, case, plan.types, tilings, num_warps=4)

    def __call__(
        self, sizes, q, k, v, beta, c, T_inv, do, Z, states, dstates, dq, dk, dg, dbeta,
        cu_seqlens,
    ):  # fmt: skip
        plan, total = self.plan, sizes.total
        matrices, dstate_rows = matrix_rows(plan, sizes)
        spans = sizes.spans(self.span)
        self.launch(
            (min(spans * plan.H, plan.multiprocessors), 1, 1),
            (q, k, v, do, Z, T_inv, states, dstates, dq, dk, beta, c, Z, dg, dbeta, cu_seqlens),
            (self.scale, sizes.N, spans, sizes.T, sizes.head_stride),
            (*[total] * 5, matrices, spans * plan.HV * plan.V, dstate_rows, total, total),
        )  # fmt: skip
