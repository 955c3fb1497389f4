"""The backward pass on the GPU: four launches, and the rule for their tiles.

Only the inputs are kept from the forward pass; decays, inverses and the chunks' states are computed
again. No atomics: every number has one program that adds it up, always in one order.

Reference: `gdn_ref.backward.gradients`.
"""

import torch

from .chunk_gradients import chunk_gradients_kernel
from .chunk_states import chunk_states_kernel
from .forward import (
    Plan,
    dot_precision,
    made_for_hopper,
    on_device,
    prepare_transform,
    tile_rule,
)
from .launch import alignment, cdiv, kinds, launch
from .state_gradients import state_gradients_kernel


def chunk_backward(q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size, do, dS_last):
    """Gradients of `forward.chunk_forward`: `dq, dk, dv, dg, dbeta, dS_first`.

    Parameters
    ----------
    q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size
        As given to `chunk_forward`.
    do : [B, T, HV, V], the gradient of the outputs
    dS_last : [N, HV, V, K] float32, the gradient of the last states, or None for zero

    Returns
    -------
    dq, dk, dv : as q, k, v
    dg : [B, T, HV] float32, or None if g is
    dbeta : [B, T, HV] float32
    dS_first : [N, HV, V, K] float32
    """
    q, k, v, beta, do = (x.contiguous() for x in (q, k, v, beta, do.to(v.dtype)))
    g, cu_seqlens = (None if x is None else x.contiguous() for x in (g, cu_seqlens))
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
    initial_state, strides = state_strides(initial_state, K, V)
    dS_last, dS_strides = state_strides(dS_last, K, V)

    hopper = made_for_hopper(k, v, chunk_size) and all(alignment((q, k, v, do)))
    tiles = gradient_tiles(K, v.dtype, chunk_size, hopper)
    C, BK, BV = tiles["C"], tiles["BK"], tiles["BV"]
    tensors = (q, k, v, g, beta, initial_state, cu_seqlens)
    plan = Plan(tensors, tiles)
    transform, slots = prepare_transform(plan, scaled=False), plan.slots
    states = v.new_empty((slots, HV, V, K))
    dstates = torch.empty_like(states)
    sizes, blocks = {"H": H, "HV": HV, "K": K, "V": V}, {"C": C, "BK": BK}
    flags = {"PACKED": packed, "PRECISION": dot_precision(v.dtype)}
    options = {"num_warps": tiles["scan_warps"]}
    known = kinds(B * T, v, q, k, g, beta, initial_state, cu_seqlens, do, dS_last)
    with on_device(v):
        c, T_inv = transform(alignment(tensors), k, g, beta, cu_seqlens)
        if slots and hopper:
            from . import on_hopper

            on_hopper.chunk_states(
                k, v, beta, c, T_inv, initial_state, strides, states, cu_seqlens, N, known
            )
        elif slots:
            launch(
                chunk_states_kernel, (N * HV * cdiv(V, BV),),
                (k, v, beta, c, T_inv, initial_state, states, cu_seqlens, T, B * T),
                {**sizes, **strides, **blocks, "BV": BV,
                 "HAS_S": initial_state is not None, **flags, "STAGES": tiles["stages"]},
                known, **options,
            )  # fmt: skip
        if slots and hopper:
            on_hopper.gradients(
                q, k, v, beta, do, c, T_inv, states, dstates, dS_last, dS_strides,
                dq, dk, dv, dg, dbeta, dS_first, cu_seqlens, scale, slots, known,
            )  # fmt: skip
        else:
            launch(
                state_gradients_kernel, (N * HV * cdiv(V, BV),),
                (q, k, do, beta, c, T_inv, dS_last, dv, dstates, dS_first, cu_seqlens, scale, T,
                 B * T),
                {**sizes, **dS_strides, **blocks, "BV": BV, "HAS_DS": dS_last is not None, **flags,
                 "STAGES": tiles["stages"]},
                known, **options,
            )  # fmt: skip
        short = hopper  # then the whole chunks are done
        if slots and not (short and not packed and T % C == 0):
            launch(
                chunk_gradients_kernel, (N if short else slots, H),
                (q, k, v, beta, c, T_inv, do, dv, states, dstates, dq, dk, dg, dbeta, cu_seqlens,
                 scale, N, T, B * T),
                {**sizes, **blocks, "BV": tiles["gradient_BV"], "HAS_G": g is not None,
                 "PACKED": packed, "SHORT": short, "PRECISION": flags["PRECISION"]},
                known, num_warps=tiles["gradient_warps"],
            )  # fmt: skip
    return dq, dk, dv, dg, dbeta, dS_first


def state_strides(S, K, V):
    """`S` and how it lies in memory, `[V, K]` or `[K, V]`; copied if neither."""
    if S is not None and not S.is_contiguous():
        if S.mT.is_contiguous():
            return S, {"S_v": 1, "S_k": V}
        S = S.contiguous()
    return S, {"S_v": K, "S_k": 1}


def gradient_tiles(K, dtype, chunk_size, hopper=False):
    """`forward.tile_rule` for the backward pass.

    `chunk_gradients` keeps two `[C, BK]` sums beside five `[C, C]` tiles, so what is left of
    registers, of shared memory, and of a Blackwell's tensor memory bounds the chunk; where the
    kernels for Hopper take the whole chunks, it stays 64. `gradient_BV` is the slice of value
    dimensions that `chunk_gradients` has on hand at a time.
    """
    tiles = tile_rule(K, dtype, chunk_size)
    wide = tiles["BK"] > 64
    if dtype == torch.float32:
        tiles |= {"C": min(tiles["C"], 16 if wide else 32), "gradient_BV": 16, "gradient_warps": 4}
        return tiles
    if wide and not hopper:
        tiles["C"] = min(tiles["C"], 32)
    if tiles["BK"] > 128:
        return tiles | {"BV": 32, "scan_warps": 4, "gradient_BV": 32, "gradient_warps": 8}
    return tiles | {"gradient_BV": 32, "gradient_warps": 4}
