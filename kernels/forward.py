"""The forward pass on the GPU: two launches, and the rules that pick kernel and tiles.

Reference: `gdn_ref.gated_delta_rule.chunkwise`.
"""

from contextlib import nullcontext
from functools import cache

import torch
from torch.nn.functional import pad

from .chunk_scan import chunk_scan_kernel
from .launch import cdiv, kinds, launch
from .ut_transform import ut_transform_kernel
from .ut_transform_16bit import ut_transform_16bit_kernel

MAX_HEAD_DIM = 256
CHUNK_SIZES = (16, 32, 64)


def chunk_forward(q, k, v, g, beta, scale=1.0, initial_state=None, cu_seqlens=None, chunk_size=64):
    """Outputs and final state of the gated delta rule, chunk by chunk.

    Arguments are taken as `gdn_ref.ops` prepares them: one dtype for `q`, `k`, `v`.

    Parameters
    ----------
    q, k : [B, T, H, K]; float32, float16 or bfloat16
    v : [B, T, HV, V]
    g : [B, T, HV] natural log-decay, or None for no decay
    beta : [B, T, HV]
    scale : factor on `q`, applied in float32
    initial_state : [N, HV, V, K] float32, or None for the empty memory
    cu_seqlens : [N + 1] integers, or None: B sequences of T tokens
    chunk_size : 16, 32 or 64

    Returns
    -------
    o : [B, T, HV, V], in v's dtype
    final_state : [N, HV, V, K] float32; in memory as `initial_state` is, or else [N, HV, K, V]
    """
    q, k, v, beta = (x.contiguous() for x in (q, k, v, beta))
    g, cu_seqlens = (None if x is None else x.contiguous() for x in (g, cu_seqlens))
    B, T, H, K = k.shape
    HV, V = v.shape[2:]
    packed = cu_seqlens is not None
    N = cu_seqlens.shape[0] - 1 if packed else B

    padded = sizes_that_pay(B * T, N, HV, K, V, v, chunk_size)
    if padded is not None:
        return in_padded_heads(
            *padded, q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size
        )

    o = torch.empty_like(v)
    v_first = initial_state is not None and not initial_state.mT.is_contiguous()
    if v_first:
        initial_state = initial_state.contiguous()
        final_state = v.new_empty((N, HV, V, K), dtype=torch.float32)
    else:
        final_state = v.new_empty((N, HV, K, V), dtype=torch.float32).mT
    if N == 0:
        return o, final_state
    tiles = tile_rule(K, v.dtype, chunk_size)
    C, BV = tiles["C"], tiles["BV"]
    slots = T // C + N if packed else B * cdiv(T, C)
    strides = {"S_v": K, "S_k": 1} if v_first else {"S_v": 1, "S_k": V}
    flags = {"HAS_S": initial_state is not None, "PACKED": packed}
    known = kinds(B * T, v, q, k, g, beta, initial_state, cu_seqlens)
    with on_device(v):
        hopper = runs_on_hopper(q, k, v, C)
        c, UT = transform(k, g, beta, cu_seqlens, HV, slots, tiles, known, True, hopper)
        if slots and hopper:
            from . import on_hopper

            on_hopper.scan(
                q, k, v, c, UT, o, initial_state, final_state, cu_seqlens, scale,
                strides, flags, known,
            )  # fmt: skip
        else:
            constants = {"H": H, "HV": HV, "K": K, "V": V, **strides, "C": C, "BK": tiles["BK"]}
            constants |= {"BV": BV, **flags, "PRECISION": dot_precision(v.dtype)}
            launch(
                chunk_scan_kernel, (N * HV * cdiv(V, BV),),
                (q, k, v, c, UT, initial_state, o, final_state, cu_seqlens, scale, T, B * T),
                {**constants, "STAGES": tiles["stages"]}, known, num_warps=tiles["scan_warps"],
            )  # fmt: skip
    return o, final_state


def transform(k, g, beta, cu_seqlens, HV, slots, tiles, known, scaled, launches_next=False):
    """Launch the UT transform: `c, UT`, or `c, T_inv` unless `scaled`.

    c : [HV, B * T], the chunks' cumulative log-decays in base 2; float64 for float32 inputs
    UT : [HV, B * T, C], rows of the chunks' matrices; float32 for float32 inputs, else float16
    """
    B, T, H, K = k.shape
    C, BK, exact = tiles["C"], tiles["BK"], k.dtype == torch.float32
    N = B if cu_seqlens is None else cu_seqlens.shape[0] - 1
    c = k.new_empty((HV, B * T), dtype=torch.float64 if exact else torch.float32)
    UT = k.new_empty((HV, B * T, C), dtype=torch.float32 if exact else torch.float16)
    if slots == 0:
        return c, UT
    arguments = (k, g, beta, c, UT, cu_seqlens, N, T, B * T, H, HV // H)
    flags = {"HAS_G": g is not None, "PACKED": cu_seqlens is not None, "SCALED": scaled}
    if has_16bit_transform(k, C):
        constants = {"K": K, "BK": BK, **flags, "LAUNCHES_NEXT": launches_next}
        launch(ut_transform_16bit_kernel, (slots, H), arguments, constants, known, num_warps=1)
    else:
        constants = {"K": K, "C": C, "BK": BK, **flags, "PRECISION": "tf32x3" if exact else "tf32"}
        warps = tiles["transform_warps"]
        launch(
            ut_transform_kernel, (slots, H), arguments, constants, known,
            num_warps=warps, num_stages=1,
        )  # fmt: skip
    return c, UT


def on_device(x):
    """Launches go to the current device: make it that of `x`, if it is another one."""
    if x.is_cuda and x.device.index != torch.cuda.current_device():
        return torch.cuda.device(x.device)
    return nullcontext()


def has_16bit_transform(k, C):
    """Is `ut_transform_16bit` made for this: 16 bits, chunks of 64, an NVIDIA tensor core?"""
    return (
        k.is_cuda and k.element_size() == 2 and k.shape[3] <= 128 and C == 64
        and torch.version.hip is None and capability(k.device) >= (8, 0)
    )  # fmt: skip


def runs_on_hopper(q, k, v, C):
    """Is `chunk_scan_hopper` made for this: compute capability 9.0, 16 bits, heads of 64 or 128?

    The copy engine reads tiles from addresses that are multiples of 16 bytes only.
    """
    return (
        v.is_cuda and v.element_size() == 2 and k.shape[3] in (64, 128) and v.shape[3] % 64 == 0
        and C == 64 and capability(v.device) == (9, 0)
        and not any(x.data_ptr() % 16 for x in (q, k, v))
    )  # fmt: skip


def sizes_that_pay(tokens, N, HV, K, V, v, chunk_size):
    """Head dimensions to pad to with zeros, or None.

    The scan for Hopper takes 64 and 128 key dimensions and multiples of 64 value dimensions. Copies
    to those sizes cost more than they bring, except where sequences are so long, and heads so few,
    that they are cut into segments; only that scan does it.
    """
    K_padded, V_padded = 64 if K <= 64 else 128, cdiv(V, 64) * 64
    if (K, V) == (K_padded, V_padded) or K > 128 or N == 0 or chunk_size != 64:
        return None
    if not v.is_cuda or v.element_size() != 2 or capability(v.device) != (9, 0):
        return None
    from . import on_hopper

    length = on_hopper.segment_length(tokens / N, N * HV * V_padded // 64, v.device)
    return None if length is None else (K_padded, V_padded)


def in_padded_heads(K, V, q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size):
    """`chunk_forward` with zeros after each vector, which change no number; its results, cut."""
    own_K, own_V = k.shape[3], v.shape[3]
    q, k = (pad(x, (0, K - own_K)) for x in (q, k))
    v = pad(v, (0, V - own_V))
    S = initial_state
    if S is not None:
        S = pad(S, (0, K - own_K, 0, V - own_V))
    o, S = chunk_forward(q, k, v, g, beta, scale, S, cu_seqlens, chunk_size)
    S = S[..., :own_V, :own_K]
    v_first = initial_state is not None and not initial_state.mT.is_contiguous()
    return o[..., :own_V].contiguous(), S.contiguous() if v_first else S.mT.contiguous().mT


capability = cache(torch.cuda.get_device_capability)


def tile_rule(K, dtype, chunk_size):
    """Tile sizes and warps, a pure function of the shape: no tuning at run time.

    `BK` covers the whole key dimension (the smallest tile a tensor core takes is 16 wide), and a
    program of the scan keeps `[BV, BK]` of the state in registers. Float32 operands take twice the
    room and three products each, so they get narrower slices and no tiles loaded ahead. One warp
    solves a chunk's triangular system with the fewest barriers, where its tiles fit. The chunk
    `C` is what was asked for, except that float32 heads of more than 128 dimensions fit only 32
    tokens at a time; the result does not depend on it.
    """
    exact = dtype == torch.float32
    BK = max(16, 1 << (K - 1).bit_length())
    return {
        "BK": BK,
        "BV": 16 if exact else 64,
        "C": min(chunk_size, 32) if exact and BK > 128 else chunk_size,
        "transform_warps": 4 if exact or BK > 128 else 1,
        "scan_warps": 4 if exact or BK <= 128 else 8,
        "stages": 1 if exact else 2,
    }


def dot_precision(dtype):
    """How float32 operands meet the tensor cores in the scan; PyTorch's own setting decides.

    For float32 inputs `torch.get_float32_matmul_precision()`: "highest" (PyTorch's default) asks
    for float32 accuracy, here three tf32 products a dot; anything else allows one.
    """
    exact = dtype == torch.float32 and torch.get_float32_matmul_precision() == "highest"
    return "tf32x3" if exact else "tf32"
