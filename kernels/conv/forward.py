"""The short causal convolution: a tile of tokens and channels per program, and its decoding step.

Both kernels read a token's W inputs from memory, W - 1 of which a neighbour has just read: they
come from the cache. Inputs before a sequence's first token lie in its state.

Reference: `gdn_ref.convolution.reference`.
"""

from collections import namedtuple

import torch
import triton
import triton.language as tl
from torch.autograd.graph import increment_version
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from ..common.tokens import owner, sequence_bounds
from ..host import gpu
from ..host.launch import cdiv, launcher, on_device, types

TOKENS, CHANNELS = 16, 128  # in a tile
STEP_CHANNELS = 256  # in a program that takes a sequence's few new tokens one by one
WARPS = 4


def convolve(x, weight, bias=None, initial_state=None, cu_seqlens=None, silu=True):
    """Outputs and final state over whole sequences.

    Parameters
    ----------
    x : [B, T, D]; float32, float16 or bfloat16
    weight : [D, W]
    bias : [D], or None
    initial_state : [N, D, W - 1], or None for zeros
    cu_seqlens : [N + 1] integers, or None: B sequences of T tokens
    silu : whether the outputs pass through it

    Returns
    -------
    y : [B, T, D], in x's dtype
    final_state : [N, D, W - 1], in x's dtype
    """
    x, weight = x.contiguous(), weight.contiguous()
    rest = (bias, initial_state, cu_seqlens)
    bias, S_first, cu_seqlens = (None if t is None else t.contiguous() for t in rest)
    B, T, D = x.shape
    W = weight.shape[1]
    packed = cu_seqlens is not None
    N = cu_seqlens.shape[0] - 1 if packed else B
    y, S_last = torch.empty_like(x), x.new_empty(N, D, W - 1)
    slots = T // TOKENS + N if packed else B * max(1, cdiv(T, TOKENS))
    if N:
        constants = {"D": D, "W": W, "C": TOKENS, "BD": CHANNELS, "HAS_BIAS": bias is not None}
        constants |= {"HAS_S": S_first is not None, "SILU": silu, "PACKED": packed}
        with on_device(x):
            tensors = (x, weight, bias, S_first, y, S_last, cu_seqlens)
            case = ConvCase(**constants)
            launch = launcher(causal_conv_kernel, case, types(*tensors), num_warps=WARPS)
            launch((slots, cdiv(D, CHANNELS), 1), tensors, (N, T))
    return y, S_last


def convolve_pool(x, pool, weight, bias=None, slot_idx=None, cu_seqlens=None, silu=True):
    """Outputs of a few new tokens per sequence; the addressed slots of `pool` move on in place.

    `pool` is [slots, D, W - 1], contiguous, of any float dtype; `slot_idx`, [N], no slot twice, or
    None for the first N. The rest as for `convolve`.
    """
    x, weight = x.contiguous(), weight.contiguous()
    rest = (bias, slot_idx, cu_seqlens)
    bias, slot_idx, cu_seqlens = (None if t is None else t.contiguous() for t in rest)
    B, T, D = x.shape
    packed = cu_seqlens is not None
    N = cu_seqlens.shape[0] - 1 if packed else B
    y = torch.empty_like(x)
    if N:
        W = weight.shape[1]
        constants = {"D": D, "W": W, "BW": 1 << max(0, W - 2).bit_length(), "BD": STEP_CHANNELS}
        constants |= {"HAS_BIAS": bias is not None, "HAS_SLOTS": slot_idx is not None}
        constants |= {"SILU": silu, "PACKED": packed, "EARLY": gpu.starts_early(x.device)}
        with on_device(x):
            tensors = (x, weight, bias, pool, slot_idx, y, cu_seqlens)
            case = ConvStepCase(**constants)
            launch = launcher(causal_conv_step_kernel, case, types(*tensors), num_warps=WARPS)
            launch((N, cdiv(D, STEP_CHANNELS), 1), tensors, (T,))
        increment_version(pool)  # autograd, if it has kept the pool, must know
    return y


@triton.jit
def from_tokens(x_ptr, t, first, left, d, D: tl.constexpr):
    """Inputs `t` of a sequence, counted from `x_ptr`; zero before `first` and from `left` on."""
    inside = (t >= first) & (t < left) & (d < D)
    return tl.load(x_ptr + t * D + d, mask=inside, other=0.0).to(tl.float32)


@triton.jit
def from_state(S_ptr, t, first, d, D: tl.constexpr, W: tl.constexpr):
    """Inputs `t` before `first`, of which the state has W - 1; zero for all others."""
    inside = (t < first) & (t > first - W) & (d < D)
    return tl.load(S_ptr + d * (W - 1) + t - first + W - 1, mask=inside, other=0.0).to(tl.float32)


# what a launch gives: pointers, a state is [D, W - 1], a first one may be missing; sequences, and
# tokens of each
ConvGiven = namedtuple(
    "ConvGiven", "x_ptr weight_ptr bias_ptr S_first_ptr y_ptr S_last_ptr cu_seqlens_ptr N T"
)
# what is known in advance: channels and width, a tile's tokens and channels, flags
ConvCase = namedtuple("ConvCase", "D W C BD HAS_BIAS HAS_S SILU PACKED")
# pointers of the step: the pool is [slots, D, W - 1], updated in place; tokens of a sequence
ConvStepGiven = namedtuple(
    "ConvStepGiven", "x_ptr weight_ptr bias_ptr pool_ptr slot_idx_ptr y_ptr cu_seqlens_ptr T"
)
# BW holds W - 1; EARLY as `host.launch.launcher` says
ConvStepCase = namedtuple("ConvStepCase", "D W BW BD HAS_BIAS HAS_SLOTS SILU PACKED EARLY")
# where the inputs of an output are, and what weighs them
Inputs = namedtuple("Inputs", "x_ptr S_ptr weight_ptr bias_ptr")


@triton.jit
def convolved(
    inputs, t, first, left, d, case: tl.constexpr, HAS_S: tl.constexpr, SILU: tl.constexpr
):
    """Outputs of the tokens `t` and the channels `d`, in float32."""
    D: tl.constexpr = case.D
    W: tl.constexpr = case.W
    y = tl.zeros((t + d).shape, tl.float32)
    if case.HAS_BIAS:
        y += tl.load(inputs.bias_ptr + d, mask=d < D, other=0.0).to(tl.float32)
    for i in tl.static_range(W):
        w = tl.load(inputs.weight_ptr + d * W + i, mask=d < D, other=0.0).to(tl.float32)
        y += w * from_tokens(inputs.x_ptr, t - (W - 1) + i, first, left, d, D)
    if HAS_S:  # noqa: SIM102 (known when the kernel is compiled)
        if first > -W:  # only a sequence's first tokens reach back into its state
            for i in tl.static_range(W - 1):
                w = tl.load(inputs.weight_ptr + d * W + i, mask=d < D, other=0.0).to(tl.float32)
                y += w * from_state(inputs.S_ptr, t - (W - 1) + i, first, d, D, W)
    if SILU:
        y = y * tl.sigmoid(y)
    return y


@triton.jit
def causal_conv_kernel(given: ConvGiven, case: tl.constexpr):
    D: tl.constexpr = case.D
    W: tl.constexpr = case.W
    C: tl.constexpr = case.C
    x_ptr, y_ptr = given.x_ptr, given.y_ptr
    n, start, begin, end = tile_bounds(
        given.cu_seqlens_ptr, tl.program_id(0), given.N, given.T, C, case.PACKED
    )
    d = tl.program_id(1) * case.BD + tl.arange(0, case.BD)[None, :]
    S_at = n.to(tl.int64) * (D * (W - 1))
    S_ptr = given.S_first_ptr
    if case.HAS_S:
        S_ptr += S_at

    # tokens are counted from the tile's first, in 32 bits
    x_ptr += start * D
    y_ptr += start * D
    t = tl.arange(0, C)[:, None]
    first = tl.maximum(begin - start, -W).to(tl.int32)
    left = tl.minimum(end - start, C).to(tl.int32)
    inputs = Inputs(x_ptr, S_ptr, given.weight_ptr, given.bias_ptr)
    y = convolved(inputs, t, first, left, d, case, case.HAS_S, case.SILU)
    tl.store(y_ptr + t * D + d, y.to(y_ptr.dtype.element_ty), mask=(t < left) & (d < D))

    # the tile with the last token, or the only one of an empty sequence
    if (end <= start + C) & ((start < end) | (start == begin)):
        for i in tl.static_range(W - 1):
            last = from_tokens(x_ptr, left - (W - 1) + i, first, left, d, D)
            if case.HAS_S:
                last += from_state(S_ptr, left - (W - 1) + i, first, d, D, W)
            last = last.to(given.S_last_ptr.dtype.element_ty)
            tl.store(given.S_last_ptr + S_at + d * (W - 1) + i, last, mask=d < D)


@triton.jit
def tile_bounds(cu_seqlens_ptr, slot, N, T, C: tl.constexpr, PACKED: tl.constexpr):
    """Sequence of the tile in `slot`, first token of the tile, first token and end of the sequence.

    The slots of a sequence are those of `common.tokens.chunk_bounds`, except that an empty
    padded sequence has one too, for its state.
    """
    if PACKED:
        n = owner(cu_seqlens_ptr, slot, N, C)
        begin, end = sequence_bounds(cu_seqlens_ptr, n, T, PACKED)
        start = begin + (slot - (begin // C + n)) * C
    else:
        tiles = tl.maximum(tl.cdiv(T, C), 1)
        n = slot // tiles
        begin, end = sequence_bounds(cu_seqlens_ptr, n, T, PACKED)
        start = begin + (slot % tiles) * C
    return n, start, begin, end


@triton.jit
def causal_conv_step_kernel(given: ConvStepGiven, case: tl.constexpr):
    if case.EARLY:
        gdc_wait()
        gdc_launch_dependents()
    D: tl.constexpr = case.D
    W: tl.constexpr = case.W
    x_ptr, y_ptr = given.x_ptr, given.y_ptr
    n = tl.program_id(0)
    begin, end = sequence_bounds(given.cu_seqlens_ptr, n, given.T, case.PACKED)
    slot = n
    if case.HAS_SLOTS:
        slot = tl.load(given.slot_idx_ptr + n)
        if slot < 0:  # a place that is not taken: no state, and zeros for outputs
            at = tl.program_id(1) * case.BD + tl.arange(0, case.BD)
            for t in range(begin, end):
                tl.store(
                    y_ptr + t * D + at, tl.zeros((case.BD,), y_ptr.dtype.element_ty), mask=at < D
                )
            return
    S_ptr = given.pool_ptr + slot.to(tl.int64) * (D * (W - 1))
    d = tl.program_id(1) * case.BD + tl.arange(0, case.BD)

    # tokens are counted from the sequence's first
    x_ptr += begin * D
    y_ptr += begin * D
    left = (end - begin).to(tl.int32)
    for t in range(left):
        inputs = Inputs(x_ptr, S_ptr, given.weight_ptr, given.bias_ptr)
        y = convolved(inputs, t, 0, left, d, case, True, case.SILU)
        tl.store(y_ptr + t * D + d, y.to(y_ptr.dtype.element_ty), mask=d < D)

    # the state moves on: every thread has read before any thread writes
    d = d[:, None]
    i = tl.arange(0, case.BW)[None, :]
    t = left - (W - 1) + i
    inside = (i < W - 1) & (d < D)
    new = tl.load(x_ptr + t * D + d, mask=inside & (t >= 0), other=0.0)
    old = tl.load(S_ptr + d * (W - 1) + t + W - 1, mask=inside & (t < 0), other=0.0)
    last = tl.where(t < 0, old, new.to(old.dtype))
    tl.debug_barrier()
    tl.store(S_ptr + d * (W - 1) + i, last, mask=inside)
