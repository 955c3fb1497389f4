"""The backward pass on the GPU: three launches, and the rule for their tiles.

The states of all chunks are computed again from the inputs; only `c` and `UT` are kept from the
forward pass. No atomics: every number has one program that adds it up, always in one order.

Reference: `gdn_ref.backward.gradients`.
"""

import torch

from .chunk_gradients import chunk_gradients_kernel
from .chunk_states import chunk_states_kernel
from .forward import dot_precision, on_device, tile_rule
from .launch import cdiv, kinds, launch
from .state_gradients import state_gradients_kernel


def chunk_backward(
    q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size, c, UT, do, dS_last
):  # fmt: skip
    """Gradients of `forward.chunk_forward`: `dq, dk, dv, dg, dbeta, dS_first`.

    Parameters
    ----------
    q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size
        As given to `chunk_forward`.
    c, UT : as it kept them
    do : [B, T, HV, V], the gradient of the outputs
    dS_last : [N, HV, V, K] float32, the gradient of the last states, or None for zero

    Returns
    -------
    dq, dk, dv : as q, k, v
    dg : [B, T, HV] float32, or None if g is
    dbeta : [B, T, HV] float32
    dS_first : [N, HV, V, K] float32
    """
    q, k, v, do = (x.contiguous() for x in (q, k, v, do))
    do = do.to(v.dtype)
    B, T, H, K = k.shape
    HV, V = v.shape[2:]
    packed = cu_seqlens is not None
    N = cu_seqlens.shape[0] - 1 if packed else B
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    dbeta = v.new_empty((B, T, HV), dtype=torch.float32)
    dg = None if g is None else torch.empty_like(dbeta)
    dS_first = v.new_empty((N, HV, V, K), dtype=torch.float32)
    if N == 0:
        return dq, dk, dv, dg, dbeta, dS_first
    if dS_last is not None:
        dS_last = dS_last.contiguous()
    S_v, S_k = K, 1
    if initial_state is not None:
        if initial_state.mT.is_contiguous():
            S_v, S_k = 1, V
        else:
            initial_state = initial_state.contiguous()

    tiles = tile_rule(K, v.dtype, chunk_size)
    C, BK, BV = tiles["C"], tiles["BK"], tiles["BV"]
    slots = T // C + N if packed else B * cdiv(T, C)
    states = v.new_empty((slots, HV, V, K))
    dstates = torch.empty_like(states)
    sizes = {"H": H, "HV": HV, "K": K, "V": V}
    ends = {"PACKED": packed, "PRECISION": dot_precision(v.dtype)}
    scan = {"C": C, "BK": BK, "BV": BV}
    options = {"num_warps": tiles["scan_warps"]}
    known = kinds(B * T, v, q, k, initial_state, cu_seqlens, do, dS_last, c)
    with on_device(v):
        if slots:
            launch(
                chunk_states_kernel, (N * HV * cdiv(V, BV),),
                (k, v, c, UT, initial_state, states, cu_seqlens, T, B * T),
                {**sizes, "S_v": S_v, "S_k": S_k, **scan, "HAS_S": initial_state is not None,
                 **ends, "STAGES": tiles["stages"]},
                known, **options,
            )  # fmt: skip
        launch(
            state_gradients_kernel, (N * HV * cdiv(V, BV),),
            (q, k, do, c, UT, dS_last, dv, dstates, dS_first, cu_seqlens, scale, T, B * T),
            {**sizes, **scan, "HAS_DS": dS_last is not None, **ends, "STAGES": tiles["stages"]},
            known, **options,
        )  # fmt: skip
        if slots:
            launch(
                chunk_gradients_kernel, (slots, H),
                (q, k, v, c, UT, do, dv, states, dstates, dq, dk, dg, dbeta, cu_seqlens,
                 scale, N, T, B * T),
                {**sizes, "C": C, "BK": BK, "BV": gradient_slice(BK, v.dtype),
                 "HAS_G": g is not None, **ends},
                known, num_warps=8,
            )  # fmt: skip
    return dq, dk, dv, dg, dbeta, dS_first


def gradient_slice(BK, dtype):
    """Value dimensions that `chunk_gradients` has on hand at a time."""
    if dtype == torch.float32:
        return 16
    return 64 if BK <= 128 else 32
