"""The launches of the backward pass on Hopper.

As those of `forward.hopper.launches`: each `prepare_...` returns a function of tensors that does
little but launch.

Reference: `gdn_ref.backward.gradients`.
"""

import torch

from ...common.numbers import C
from ...common.triton_private import tiling
from ...forward.hopper.chain import BK, BV
from ...forward.hopper.launches import WIDTH, tilings_of
from ...host import gpu
from ...host.launch import prepare_launch
from ...host.layout import state_layout
from .chunk_gradients.kernel import chunk_gradients_hopper_kernel
from .state_gradients import state_gradients_hopper_kernel
from .states import chunk_states_hopper_kernel


def room_for_both(plan):
    """Has the device room for the states and their gradients at once?

    Each is a chain from chunk to chunk, and neither waits for the other.
    """
    return 2 * plan.N * plan.HV * (plan.V // BV.value) <= gpu.multiprocessors(plan.device)


def prepare_states(plan, v_first):
    """The states that the chunks receive; arguments as in `prepare_piece`, and below."""
    H, HV, K, V = plan.H, plan.HV, plan.K, plan.V
    keys, values, matrices = tilings_of(plan, BK.value)
    rows = tiling(plan.dtype, plan.slots * HV * V, K, C.value, BK.value)
    tilings = (keys, values, matrices, rows)
    if keeps_R(K):
        tilings += (tiling(torch.float16, plan.total, HV * V, C.value, BV.value),)
    start = prepare_launch(
        chunk_states_hopper_kernel, (plan.N * HV * (V // BV.value),),
        (plan.T, plan.head_stride, H, HV),
        {"K": K, "V": V, **state_layout(K, V, v_first), "HAS_S": plan.has_S,
         "PACKED": plan.packed},
        plan.types, tilings, num_warps=4, maxnreg=state_registers(K),
    )  # fmt: skip

    def run(k, v, beta, c, T_inv, S, states, cu_seqlens, R=None):
        start(k, v, T_inv, states, R, beta, c, S, cu_seqlens)

    return run


def keeps_R(K):
    """Is R = V - diag(gamma) K S^T kept with the states, in float16, since it needs all of K?"""
    return K > WIDTH


def state_registers(K):
    """A thread, on average: up to 128 key dimensions two programs share a multiprocessor."""
    return 128 if K <= 128 else 168


def prepare_state_gradients(plan, scale, has_dS, v_first):
    """The gradients of the states and of the first one; the last one's lies as `v_first` says."""
    N, H, HV, K, V = plan.N, plan.H, plan.HV, plan.K, plan.V
    keys, values, matrices = tilings_of(plan, K)
    rows = tiling(plan.dtype, plan.slots * HV * V, K, C.value, K)
    start = prepare_launch(
        state_gradients_hopper_kernel, (N * HV * (V // BV.value),),
        (scale, N, plan.T, plan.head_stride, H, HV),
        {"K": K, "V": V, **state_layout(K, V, v_first), "HAS_DS": has_dS,
         "PACKED": plan.packed},
        plan.types, (keys, keys, values, matrices, values, rows), num_warps=4,
    )  # fmt: skip

    def run(q, k, do, beta, c, T_inv, dS_last, Z, dstates, dS_first, cu_seqlens):
        start(q, k, do, T_inv, Z, dstates, beta, c, Z, dS_last, dS_first, cu_seqlens)

    return run


def prepare_chunk_gradients(plan, scale):
    """All other gradients of the whole chunks; `v` is R, if that is kept."""
    slots, H, HV, K, V = plan.slots, plan.H, plan.HV, plan.K, plan.V
    keys, values, matrices = tilings_of(plan, min(K, WIDTH))
    rows = tiling(plan.dtype, slots * HV * V, K, C.value, min(K, WIDTH))
    R = tiling(torch.float16, plan.total, HV * V, C.value, BV.value) if keeps_R(K) else values
    start = prepare_launch(
        chunk_gradients_hopper_kernel, (min(slots * H, gpu.multiprocessors(plan.device)),),
        (scale, plan.N, slots, plan.T, plan.head_stride),
        {"H": H, "HV": HV, "K": K, "V": V, "HAS_G": plan.has_g, "PACKED": plan.packed}, plan.types,
        (keys, keys, R, values, values, matrices, rows, rows, keys, keys), num_warps=4,
    )  # fmt: skip

    def run(
        q, k, v, beta, c, T_inv, do, Z, states, dstates, dq, dk, dg, dbeta, cu_seqlens,
    ):  # fmt: skip
        start(
            q, k, v, do, Z, T_inv, states, dstates, dq, dk, beta, c, Z, dg, dbeta, cu_seqlens
        )  # fmt: skip

    return run
