"""The forward pass on the GPU: two launches, and the rule that picks their tiles.

Reference: `gdn_ref.gated_delta_rule.chunkwise`.
"""

from contextlib import nullcontext

import torch
import triton

from .chunk_inverse import chunk_inverse_kernel
from .chunk_scan import chunk_scan_kernel

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
    final_state : [N, HV, V, K] float32
    """
    q, k, v, beta = (x.contiguous() for x in (q, k, v, beta))
    g, initial_state, cu_seqlens = (
        None if x is None else x.contiguous() for x in (g, initial_state, cu_seqlens)
    )
    B, T, H, K = k.shape
    HV, V = v.shape[2:]
    N = B if cu_seqlens is None else cu_seqlens.shape[0] - 1
    o = torch.empty_like(v)
    final_state = v.new_empty((N, HV, V, K), dtype=torch.float32)
    if N == 0:
        return o, final_state

    tiles = tile_rule(K, v.dtype, chunk_size)
    C = tiles["C"]
    flags = {"HAS_G": g is not None, "PACKED": cu_seqlens is not None}
    sizes = {"K": K, "C": C, "BK": tiles["BK"]}
    slots = B * triton.cdiv(T, C) if cu_seqlens is None else T // C + N

    with torch.cuda.device(v.device) if v.is_cuda else nullcontext():
        T_inv = v.new_empty((B, T, HV, C), dtype=torch.float32)
        if slots:
            chunk_inverse_kernel[slots, HV](
                k, g, beta, T_inv, cu_seqlens, N, T, H, HV, **sizes, **flags,
                num_warps=tiles["inverse_warps"], num_stages=1,
            )  # fmt: skip
        chunk_scan_kernel[N * HV, triton.cdiv(V, tiles["BV"])](
            q, k, v, g, beta, T_inv, initial_state, o, final_state, cu_seqlens,
            scale, T, H, HV, **sizes, V=V, BV=tiles["BV"], HAS_S=initial_state is not None, **flags,
            PRECISION=dot_precision(v.dtype),
            num_warps=tiles["scan_warps"], num_stages=1,
        )  # fmt: skip
    return o, final_state


def tile_rule(K, dtype, chunk_size):
    """Tile sizes and warps, a pure function of the shape: no tuning at run time.

    `BK` covers the whole key dimension (the smallest tile a tensor core takes is 16 wide), and a
    program keeps `[BK, BV]` of the state in registers. `BV` is 64 for 16-bit inputs, whatever
    V is: with narrower tiles Triton 3.6 miscompiles the tf32 product with the inverse on Hopper
    (kernels/bench/NOTES.md). Float32 operands take twice the room and three products each. The
    chunk `C` is what was asked for, except that float32 heads of more than 128 dimensions fit
    only 32 tokens at a time; the result does not depend on it.
    """
    exact = dtype == torch.float32
    BK = max(16, triton.next_power_of_2(K))
    return {
        "BK": BK,
        "BV": 16 if exact else 64,
        "C": min(chunk_size, 32) if exact and BK > 128 else chunk_size,
        "inverse_warps": 4,
        "scan_warps": 4 if exact or BK <= 64 else 8,
    }


def dot_precision(dtype):
    """How float32 operands meet the tensor cores in the scan; PyTorch's own setting decides.

    For float32 inputs `torch.get_float32_matmul_precision()`: "highest" (PyTorch's default) asks
    for float32 accuracy, here three tf32 products a dot; anything else allows one. With 16-bit
    inputs only the inverse is float32, and one tf32 product is finer than the inputs.
    """
    exact = dtype == torch.float32 and torch.get_float32_matmul_precision() == "highest"
    return "tf32x3" if exact else "tf32"
