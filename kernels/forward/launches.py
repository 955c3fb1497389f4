"""The forward pass on the GPU: two launches. `host` has the rules that pick kernel and tiles.

    1  c and UT, or T_inv if a backward pass may follow    `transform`, chunks in parallel
    2  outputs and last states                             `scan`, from chunk to chunk

Heads of odd sizes may be padded first (`padding`), and on Hopper a long sequence is cut into
segments (`hopper.launches`). What follows from shapes, strides and dtypes alone is found out once,
by the functions called `prepare_...`; what they return is called for every tensor that looks the
same.

Reference: `gdn_ref.gated_delta_rule.chunkwise`.
"""

from functools import partial

import torch

from ..host import gpu
from ..host.launch import aligned, cdiv, prepare_launch
from ..host.plan import Plan, prepare_walk
from ..host.routes import has_transform_mma, made_for_hopper
from ..host.tiles import dot_precision, tile_rule
from .padding import in_padded_heads, sizes_that_pay
from .scan import chunk_scan_kernel
from .shares import shares
from .transform import ut_transform_kernel
from .transform_mma import ut_transform_16bit_kernel


def chunk_forward(q, k, v, g, beta, scale=1.0, initial_state=None, cu_seqlens=None, chunk_size=64):
    """Outputs and final state of the gated delta rule, chunk by chunk.

    Parameters
    ----------
    q, k, v, g, beta, cu_seqlens
        As for `prepare_forward`.
    scale : factor on `q`, applied in float32
    initial_state : [N, HV, V, K] float32, or None for the empty memory
    chunk_size : 16, 32 or 64

    Returns
    -------
    o : [B, T, HV, V], in v's dtype
    final_state : [N, HV, V, K] float32; in memory as `initial_state` is, or else [N, HV, K, V]
    """
    tensors = (q, k, v, g, beta, initial_state, cu_seqlens)
    return prepare_chunk_forward(*tensors, scale=scale, chunk_size=chunk_size)(*tensors)


def prepare_chunk_forward(
    q, k, v, g, beta, initial_state, cu_seqlens, *, scale, chunk_size, keep=False,
):  # fmt: skip
    """`chunk_forward`, as a function of seven tensors that look like these; `keep` as below."""
    v_first = initial_state is not None and not initial_state.mT.is_contiguous()
    transposed = initial_state is not None and not v_first
    S = initial_state.mT if transposed else initial_state
    options = {"scale": scale, "v_first": v_first, "chunk_size": chunk_size, "keep": keep}
    prepared = prepare_forward(q, k, v, g, beta, S, cu_seqlens, **options)

    def run(q, k, v, g, beta, initial_state, cu_seqlens):
        S = initial_state.mT if transposed else initial_state
        o, S, *kept = prepared(q, k, v, g, beta, S, cu_seqlens)
        return o, S if v_first else S.mT, *kept

    return run


def prepare_forward(
    q, k, v, g, beta, S, cu_seqlens, *, scale, v_first, chunk_size, keep=False,
):  # fmt: skip
    """A function of seven tensors that look like these: outputs and final states.

    With `keep` also what the backward pass needs of the UT transform: `c` and `T_inv`.

    What follows from shapes, strides and dtypes is found out here, so that a call of the function
    costs the host little more than the launches. Tensors come as `gdn_ref.ops` checks them.

    Parameters
    ----------
    q, k : [B, T, H, K]; float32, float16 or bfloat16, and v the same
    v : [B, T, HV, V]
    g : [B, T, HV] natural log-decay, or None for no decay; any floating dtype, as `beta`
    beta : [B, T, HV]
    S : [N, HV, K, V] float32, or [N, HV, V, K] if `v_first`, or None for the empty memory
    cu_seqlens : [N + 1] integers, or None: B sequences of T tokens
    scale, chunk_size : as for `chunk_forward`
    """
    B, T, H, K = k.shape
    HV, V = v.shape[2:]
    N = B if cu_seqlens is None else cu_seqlens.shape[0] - 1
    padded = sizes_that_pay(B * T, N, HV, K, V, v, chunk_size)
    if padded is not None:
        options = {"scale": scale, "v_first": v_first, "chunk_size": chunk_size, "keep": keep}
        return in_padded_heads(prepare_forward, *padded, options)

    tensors = (q, k, v, g, beta, S, cu_seqlens)
    apart = [i for i, x in enumerate(tensors) if x is not None and not x.is_contiguous()]
    size = (N, HV, V, K) if v_first else (N, HV, K, V)
    plan = Plan(tensors, tile_rule(K, v.dtype, chunk_size, gpu.has_tensor_memory(v.device)))
    if plan.total == 0:
        return partial(without_tokens, size, plan.tiles["C"], keep)
    scaled = not keep  # beta goes into the matrix, but the backward pass wants it apart
    transform = prepare_transform(plan, scaled, room=keep)
    scan = prepare_scan(plan, scale, v_first, scaled)
    on_hopper = made_for_hopper(k, v, chunk_size)
    if on_hopper:
        from .hopper.launches import prepare_scan as prepare_scan_on_hopper

        early = prepare_transform(plan, scaled, room=keep, hopper=True)
        scan_on_hopper = prepare_scan_on_hopper(plan, scale, v_first, scaled)

    def run(*tensors):
        if apart:
            tensors = [x.contiguous() if i in apart else x for i, x in enumerate(tensors)]
        q, k, v, g, beta, S, cu_seqlens = tensors
        o = torch.empty_like(v, memory_format=torch.contiguous_format)
        # `S` is like the last states, and asking for its like is the cheapest way to ask
        S_last = v.new_empty(size, dtype=torch.float32) if S is None else torch.empty_like(S)
        with gpu.on_device(v):
            # the copy engine reads tiles from addresses that are multiples of 16 bytes only
            if on_hopper and aligned(q, k, v):
                c, UT, strength = early(k, g, beta, cu_seqlens)
                scan_on_hopper(q, k, v, strength, c, UT, S, o, S_last, cu_seqlens)
            else:
                c, UT = transform(k, g, beta, cu_seqlens)
                scan(q, k, v, beta, c, UT, S, o, S_last, cu_seqlens)
        return (o, S_last, c, UT) if keep else (o, S_last)

    return run


def without_tokens(size, C, keep, q, k, v, g, beta, S, cu_seqlens):
    """A call without tokens: no outputs, and the states stay."""
    o = torch.empty_like(v, memory_format=torch.contiguous_format)
    S_last = v.new_zeros(size, dtype=torch.float32)
    if S is not None:
        S_last.copy_(S)
    return (o, S_last, *new_transform(k, v.shape[2], C, True)) if keep else (o, S_last)


def prepare_transform(plan, scaled, room=False, hopper=False):
    """The UT transform, `run(k, g, beta, cu_seqlens)`: `c, UT`.

    Unless `scaled`, the second is `T_inv` itself. With `hopper` the scan for Hopper follows: `k` is
    aligned, and there is a third result, `strength`.

    c, UT : as `new_transform`, with `room` or without
    strength : None if `scaled`; else beta as that scan wants it: up to 128 key dimensions in
        float32, as `c` lies, one head after the other
    """
    H, HV, tiles, exact = plan.H, plan.HV, plan.tiles, plan.exact
    C = tiles["C"]
    constants = {"K": plan.K, "C": C, "BK": tiles["BK"], "HAS_G": plan.has_g}
    constants |= {"PACKED": plan.packed, "SCALED": scaled}
    options = {"num_warps": 1}
    kernel = ut_transform_16bit_kernel
    in_blocks = has_transform_mma(plan)
    by_head = in_blocks and hopper and not scaled
    if in_blocks:
        del constants["C"]
        constants["HOPPER"] = hopper
    else:
        kernel = ut_transform_kernel
        constants["PRECISION"] = "tf32x3" if exact else "tf32"
        options = {"num_warps": tiles["transform_warps"], "num_stages": 1}
    sizes = (plan.N, plan.T, plan.total, H, HV // H)
    start = prepare_launch(kernel, (plan.slots, H), sizes, constants, plan.types, **options)

    def run(k, g, beta, cu_seqlens):
        c, UT = new_transform(k, HV, C, room)
        tensors, strength = (k, g, beta, c, UT), None if scaled else beta
        if by_head:
            strength = torch.empty_like(c)
        if in_blocks:
            tensors += (strength if by_head else None,)
        start(*tensors, cu_seqlens)
        return (c, UT, strength) if hopper else (c, UT)

    return run


def new_transform(k, HV, C, room):
    """Memory for the UT transform.

    c : [HV * B * T], the chunks' cumulative log-decays in base 2; float64 for float32 inputs
    UT : [HV * B * T, C], rows of the chunks' matrices; float32 for float32 inputs, else float16.
        With `room` there are C rows more: `backward` cuts off the first sequences, and the copy
        engine is told of as many rows as before.
    """
    rows, exact = HV * k.shape[0] * k.shape[1], k.dtype == torch.float32
    c = k.new_empty(rows, dtype=torch.float64 if exact else torch.float32)
    shape = (rows + C if room else rows, C)
    return c, k.new_empty(shape, dtype=torch.float32 if exact else torch.float16)


def prepare_scan(plan, scale, v_first, scaled):
    """The scan over chunks, `run(q, k, v, beta, c, UT, S, o, S_last, cu_seqlens)`."""
    N, tiles = max(plan.N, 1), plan.tiles
    chunks, programs = cdiv(plan.total // N, tiles["C"]), N * plan.HV * cdiv(plan.V, tiles["BV"])
    flags = {"HAS_S": plan.has_S, "PACKED": plan.packed, "SCALED": scaled}
    flags["SHARES"] = shares(chunks, programs, plan.device)
    walk = (chunk_scan_kernel, (scale, plan.T, plan.total), v_first, flags)
    return prepare_walk(plan, dot_precision(plan.dtype), *walk)
