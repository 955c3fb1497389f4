"""Token by token on the GPU: one launch, over a pool of states or over a batch of its own.

References: `gdn_ref.decoding.decode` and `gdn_ref.gated_delta_rule.recurrent`.
"""

from math import prod

import torch
from torch.autograd.graph import increment_version

from ..host.gpu import on_device
from ..host.launch import cdiv, prepare_launch
from ..host.layout import state_layout, stride_of_tokens
from .kernel import recurrent_kernel

PROGRAMS = 132  # one for each multiprocessor of an H100
STATE_OF_A_WARP = 4096  # numbers: 128 registers a thread
SMALL = (5, 6, 10, 11)  # A_log, dt_bias, cu_seqlens and slot_idx among the kernel's pointers


def prepare_decode(
    q, k, v, g, beta, A_log, dt_bias, pool, cu_seqlens, slot_idx,
    *, scale, state_v_first, norm, sigmoid, negative,
):  # fmt: skip
    """A function of ten tensors that look like these: updates the pool, returns the outputs.

    `gdn_ref.decode` checks the arguments first.

    Parameters
    ----------
    q, k : [B, T, H, K]; any floating dtypes but float64, here and below, in any mixture
    v : [B, T, HV, V]
    g : [B, T, HV] natural log-decay, raw if `A_log` is given, or None for no decay
    beta : [B, T, HV] write strength, raw if `sigmoid`
    A_log, dt_bias : [HV] parameters of the gate, or None
    pool : [slots, HV, K, V], or [slots, HV, V, K] if `state_v_first`; each slot in one piece
    cu_seqlens : [N + 1] integers, or None: B sequences of T tokens
    slot_idx : [N] integers, no two alike, or None: sequence n has slot n
    scale : factor on `q`
    norm : whether queries and keys are divided by their norms
    sigmoid, negative : whether the write strength is `sigmoid(beta)`, and whether twice that
    """
    pointers = (q, k, v, g, beta, A_log, dt_bias, pool, v, pool, cu_seqlens, slot_idx)
    flags = {"IN_PLACE": True, "NORM": norm, "SIGMOID": sigmoid, "NEGATIVE": negative}
    run = prepare(pointers, scale, state_v_first, flags)

    def decode(q, k, v, g, beta, A_log, dt_bias, pool, cu_seqlens, slot_idx):
        o = torch.empty_like(v, memory_format=torch.contiguous_format)
        run((q, k, v, g, beta, A_log, dt_bias, pool, o, pool, cu_seqlens, slot_idx))
        increment_version(pool)  # autograd, if it has kept the pool, must know
        return o

    return decode


def prepare_recurrent(
    q, k, v, g, beta, A_log, dt_bias, S, cu_seqlens,
    *, scale, v_first, norm, sigmoid, negative,
):  # fmt: skip
    """A function of nine tensors that look like these: outputs, and final states in float32.

    `S` is [N, HV, K, V], or [N, HV, V, K] if `v_first`, or None for the empty memory; so are the
    final states. The rest as for `prepare_decode`.
    """
    N = q.shape[0] if cu_seqlens is None else cu_seqlens.shape[0] - 1
    HV, V, K = v.shape[2], v.shape[3], k.shape[3]
    size = (N, HV, V, K) if v_first else (N, HV, K, V)
    flags = {"IN_PLACE": False, "NORM": norm, "SIGMOID": sigmoid, "NEGATIVE": negative}

    def pointers(q, k, v, g, beta, A_log, dt_bias, S, cu_seqlens):
        o = torch.empty_like(v, memory_format=torch.contiguous_format)
        last = torch.empty(size, dtype=torch.float32, device=v.device)
        S = S if S is None or S.is_contiguous() else S.contiguous()
        return q, k, v, g, beta, A_log, dt_bias, S, o, last, cu_seqlens, None

    start = prepare(
        pointers(q, k, v, g, beta, A_log, dt_bias, S, cu_seqlens), scale, v_first, flags
    )

    def run(*tensors):
        given = pointers(*tensors)
        start(given)
        return given[8], given[9]

    return run


def prepare(pointers, scale, v_first, flags):
    """The launch for tensors that look like these, as a function of them.

    What follows from shapes, strides and dtypes is found out here, so that a call of the function
    costs the host little more than the launch. `pointers` are the kernel's, in its order; states
    lie as `[V, K]` in memory if `v_first`.
    """
    q, _, v, *_, last, cu_seqlens, _ = pointers
    B, T, H, K = q.shape
    HV, V = v.shape[2:]
    N = B if cu_seqlens is None else cu_seqlens.shape[0] - 1
    strides = [0 if x is None else stride_of_tokens(x) for x in pointers[:5]]
    copied = [i for i, stride in enumerate(strides) if stride is None]
    copied += [i for i in SMALL if pointers[i] is not None and not pointers[i].is_contiguous()]
    for i in copied[: strides.count(None)]:
        strides[i] = prod(pointers[i].shape[2:])
    BK, BV = warp_tiles(N * HV, K, V)
    constants = {"H": H, "HV": HV, "K": K, "V": V}
    constants |= state_layout(K, V, v_first)
    constants |= {"S_slot": last.stride(0), "BK": BK, "BV": BV, **flags}
    grid = (N * HV * cdiv(V, BV),)
    types = (v.device, T < 2**31, *(None if x is None else x.dtype for x in pointers))
    numbers = (scale, T, *strides)
    start = prepare_launch(recurrent_kernel, grid, numbers, constants, types, num_warps=1)

    def run(pointers):
        if N == 0:
            return
        if copied:
            pointers = [x.contiguous() if i in copied else x for i, x in enumerate(pointers)]
        with on_device(pointers[2]):
            start(*pointers)

    return run


def warp_tiles(states, K, V):
    """`BK` and `BV` for this many states (sequences times value heads); nothing is tuned.

    `BK` covers the key dimension. A program is one warp, so that no sum over it waits for another
    warp, and takes as wide a slice of the value dimension as its registers hold, for long rows
    of memory in one piece. Few states are cut finer, to give every multiprocessor work, down to 8
    values: 32 bytes of float32, the least that memory delivers.
    """
    BK = 1 << (K - 1).bit_length()
    BV = min(1 << (V - 1).bit_length(), STATE_OF_A_WARP // BK)
    while BV > 8 and states * cdiv(V, BV) < PROGRAMS:
        BV //= 2
    return BK, BV
