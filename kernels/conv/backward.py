"""The backward pass of the short causal convolution, in two launches.

With `z` the convolution before its activation and `dz = dy silu'(z)`:

    dx_t = sum_i weight_i dz_{t + W - 1 - i}        dweight_i = sum_t dz_t x_{t - W + 1 + i}

The first kernel computes `z` again, stores `dz` and each tile's share of the weights' gradients;
the second gathers `dx`. A kept input has the same gradient as a given one, and an input that is
still in the last state has that state's as well. Nothing is added atomically: two runs agree to
the bit.

Reference: the derivative of `gdn_ref.convolution.reference`.
"""

from collections import namedtuple

import torch
import triton
import triton.language as tl

from ..host.launch import cdiv, launcher, on_device, types
from .forward import (
    CHANNELS,
    TOKENS,
    WARPS,
    ConvCase,
    Inputs,
    convolved,
    from_state,
    from_tokens,
    tile_bounds,
)

OUTPUT_GRADIENT_WARPS = 8  # it holds a tile of inputs beside that of gradients


def convolve_backward(dy, dS_last, x, weight, bias, S_first, cu_seqlens, silu):
    """Gradients of `x`, `weight`, `bias` and the initial state, in their dtypes; None for None.

    `dy` and `dS_last` are like the results of `forward.convolve`, the rest are its arguments.
    """
    dy, dS_last, x, weight = (t.contiguous() for t in (dy, dS_last, x, weight))
    rest = (bias, S_first, cu_seqlens)
    bias, S_first, cu_seqlens = (None if t is None else t.contiguous() for t in rest)
    B, T, D = x.shape
    W = weight.shape[1]
    packed = cu_seqlens is not None
    N = cu_seqlens.shape[0] - 1 if packed else B
    slots = T // TOKENS + N if packed else B * max(1, cdiv(T, TOKENS))
    dz, dx = torch.empty_like(x), torch.empty_like(x)
    dS_first = None if S_first is None else torch.empty_like(S_first)
    shares = x.new_empty(slots, W + 1, D, dtype=torch.float32)  # of each weight, and of the bias
    grid = slots, cdiv(D, CHANNELS), 1
    sizes = {"D": D, "W": W, "C": TOKENS, "BD": CHANNELS}
    flags = {"HAS_S": S_first is not None, "PACKED": packed}
    if N:
        with on_device(x):
            case = ConvCase(**sizes, **flags, HAS_BIAS=bias is not None, SILU=silu)
            tensors = (x, weight, bias, S_first, dy, dz, shares, cu_seqlens)
            options = {"num_warps": OUTPUT_GRADIENT_WARPS}
            launcher(output_gradient_kernel, case, types(*tensors), **options)(
                grid, tensors, (N, T)
            )
            tensors = (dz, weight, dS_last, dx, dS_first, cu_seqlens)
            case, options = InputGradientCase(**sizes, **flags), {"num_warps": WARPS}
            launcher(input_gradient_kernel, case, types(*tensors), **options)(grid, tensors, (N, T))
    shares = shares.sum(0)
    dbias = None if bias is None else shares[W].to(bias.dtype)
    return dx, shares[:W].mT.to(weight.dtype), dbias, dS_first


# what a launch gives: pointers, shares are [slots, W + 1, D]; sequences, and tokens of each
OutputGradientGiven = namedtuple(
    "OutputGradientGiven",
    "x_ptr weight_ptr bias_ptr S_first_ptr dy_ptr dz_ptr shares_ptr cu_seqlens_ptr N T",
)
InputGradientGiven = namedtuple(
    "InputGradientGiven", "dz_ptr weight_ptr dS_last_ptr dx_ptr dS_first_ptr cu_seqlens_ptr N T"
)
# what is known in advance of the latter; of the former, what is known of `causal_conv_kernel`
InputGradientCase = namedtuple("InputGradientCase", "D W C BD HAS_S PACKED")


@triton.jit
def output_gradient_kernel(given: OutputGradientGiven, case: tl.constexpr):
    D: tl.constexpr = case.D
    W: tl.constexpr = case.W
    C: tl.constexpr = case.C
    x_ptr, dz_ptr, shares_ptr = given.x_ptr, given.dz_ptr, given.shares_ptr
    slot = tl.program_id(0)
    n, start, begin, end = tile_bounds(given.cu_seqlens_ptr, slot, given.N, given.T, C, case.PACKED)
    d = tl.program_id(1) * case.BD + tl.arange(0, case.BD)[None, :]
    S_ptr = given.S_first_ptr
    if case.HAS_S:
        S_ptr += n.to(tl.int64) * (D * (W - 1))
    x_ptr += start * D
    dz_ptr += start * D
    t = tl.arange(0, C)[:, None]
    first = tl.maximum(begin - start, -W).to(tl.int32)
    left = tl.minimum(end - start, C).to(tl.int32)

    dz = from_tokens(given.dy_ptr + start * D, t, 0, left, d, D)
    if case.SILU:
        inputs = Inputs(x_ptr, S_ptr, given.weight_ptr, given.bias_ptr)
        z = convolved(inputs, t, first, left, d, case, case.HAS_S, False)
        s = tl.sigmoid(z)
        dz *= s * (1 + z * (1 - s))
    tl.store(dz_ptr + t * D + d, dz.to(dz_ptr.dtype.element_ty), mask=(t < left) & (d < D))

    shares_ptr += slot.to(tl.int64) * ((W + 1) * D)
    for i in tl.static_range(W):
        x = from_tokens(x_ptr, t - (W - 1) + i, first, left, d, D)
        if case.HAS_S:
            x += from_state(S_ptr, t - (W - 1) + i, first, d, D, W)
        tl.store(shares_ptr + i * D + d, tl.sum(dz * x, axis=0)[None, :], mask=d < D)
    tl.store(shares_ptr + W * D + d, tl.sum(dz, axis=0)[None, :], mask=d < D)


@triton.jit
def input_gradient(dz_ptr, dS_ptr, weight_ptr, t, end, d, D: tl.constexpr, W: tl.constexpr):
    """`dx` of the inputs `t`, given or kept, before `end`, counted from a tile's first token."""
    last = (t >= end - (W - 1)) & (t < end) & (d < D)  # these are the last state
    dx = tl.load(dS_ptr + d * (W - 1) + t - end + W - 1, mask=last, other=0.0).to(tl.float32)
    for i in tl.static_range(W):
        w = tl.load(weight_ptr + d * W + i, mask=d < D, other=0.0).to(tl.float32)
        dx += w * from_tokens(dz_ptr, t + (W - 1) - i, 0, end, d, D)
    return dx


@triton.jit
def input_gradient_kernel(given: InputGradientGiven, case: tl.constexpr):
    D: tl.constexpr = case.D
    W: tl.constexpr = case.W
    C: tl.constexpr = case.C
    dz_ptr, dx_ptr = given.dz_ptr, given.dx_ptr
    n, start, begin, end = tile_bounds(
        given.cu_seqlens_ptr, tl.program_id(0), given.N, given.T, C, case.PACKED
    )
    d = tl.program_id(1) * case.BD + tl.arange(0, case.BD)[None, :]
    S_at = n.to(tl.int64) * (D * (W - 1))
    dz_ptr += start * D
    dx_ptr += start * D
    dS_ptr = given.dS_last_ptr + S_at
    t = tl.arange(0, C)[:, None]
    stop = tl.minimum(end - start, C + W).to(tl.int32)  # the outputs beyond the tile read it too

    dx = input_gradient(dz_ptr, dS_ptr, given.weight_ptr, t, stop, d, D, W)
    tl.store(dx_ptr + t * D + d, dx.to(dx_ptr.dtype.element_ty), mask=(t < stop) & (d < D))
    if case.HAS_S:  # noqa: SIM102 (known when the kernel is compiled)
        if start == begin:
            for i in tl.static_range(W - 1):
                dS = input_gradient(dz_ptr, dS_ptr, given.weight_ptr, i - (W - 1), stop, d, D, W)
                dS = dS.to(given.dS_first_ptr.dtype.element_ty)
                tl.store(given.dS_first_ptr + S_at + d * (W - 1) + i, dS, mask=d < D)
