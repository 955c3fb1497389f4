"""Kernel 2 for Hopper: the equations of `chunk_scan`, three groups of warps side by side.

    delta = UT (V - diag(gamma) K S^T)                                    eq-gdn-chunk-delta
    O     = diag(gamma) Q S^T + (Gamma . Q K^T) delta, scaled             eq-gdn-chunk-output
    S'    = gamma_C S + delta^T diag(gamma_C / gamma_i) K                 eq-gdn-chunk-state

The next state waits for this one, so the chain S -> delta -> S' decides the time. `state_warps`
do nothing else; `output_warps` compute O beside them, from copies of S and delta in shared memory;
one `load_warp` keeps the tiles of the next chunks coming. Gluon, Triton's lower level, lets us say
so. For 16-bit inputs, head dimensions of 64 or 128, and chunks of 64.

Reference: `gdn_ref.gated_delta_rule.chunk`.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma_wait,
)
from triton.language.extra.cuda import gdc_wait

from .hopper import BV, STAGES, C, load_warp, matmul, segment, signals, state_warps


@gluon.jit
def output_warps(
    o, o_ptr, o_stride, tokens, token_0, value_column, scale,
    c_ptr, q_tiles, k_tiles, S_tiles, delta_tiles, o_tile,
    full, free, S_ready, delta_ready, read_out,
):  # fmt: skip
    """Outputs of chunk after chunk (eq-gdn-chunk-output), tokens as rows."""
    dtype: gl.constexpr = k_tiles.dtype
    chunk: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, C, 16])
    operand: gl.constexpr = gl.DotOperandLayout(0, chunk, 2)
    r = gl.arange(0, C, gl.SliceLayout(1, chunk))[:, None]
    i = gl.arange(0, C, gl.SliceLayout(0, chunk))[None, :]
    zero = gl.zeros([C, C], gl.float32, chunk)
    for j in range((tokens + C - 1) // C):
        s = j % STAGES
        b = j % 2
        left = tokens - j * C
        c_r = gl.load(c_ptr + j * C + r, mask=r < left, other=0.0)
        c_i = gl.load(c_ptr + j * C + i, mask=i < left, other=0.0)
        mbarrier.wait(full.index(s), (j // STAGES) & 1)
        scores = matmul(q_tiles.index(s), k_tiles.index(s).permute((1, 0)), zero, False)
        Gamma = gl.exp2(gl.where(r >= i, c_r - c_i, float("-inf")))
        scores = scale * Gamma * warpgroup_mma_wait(0, deps=[scores])
        scores = gl.where(r >= i, scores, 0.0).to(dtype)  # 0 times whatever comes after our tokens

        mbarrier.wait(S_ready.index(b), (j // 2) & 1)
        out = matmul(q_tiles.index(s), S_tiles.index(b).permute((1, 0)), zero, False)
        out = scale * gl.exp2(c_r) * warpgroup_mma_wait(0, deps=[out])
        mbarrier.arrive(free.index(s), count=1)
        mbarrier.wait(delta_ready.index(b), (j // 2) & 1)
        out = matmul(
            gl.convert_layout(scores, operand), delta_tiles.index(b).permute((1, 0)), out, True
        )
        out = warpgroup_mma_wait(0, deps=[out]).to(dtype)
        mbarrier.arrive(read_out.index(b), count=1)

        if left >= C:
            tma.store_wait(0)
            o_tile.store(out)
            fence_async_shared()
            tma.async_copy_shared_to_global(o, [token_0 + j * C, value_column], o_tile)
        else:
            at = (token_0 + j * C + r).to(gl.int64) * o_stride + value_column + i
            gl.store(o_ptr + at, out, mask=r < left)
    tma.store_wait(0)


@gluon.jit(do_not_specialize=["N", "T", "total", "length", "H", "HV"])
def chunk_scan_hopper_kernel(
    # tensors, and tiles of them
    q, k, v, UT, o, c_ptr, o_ptr, S_first_ptr, S_last_ptr, cu_seqlens_ptr,
    # numbers and sizes: `length` tokens a segment
    scale, N, T, total, length, H, HV, K: gl.constexpr, V: gl.constexpr,
    # strides of a last state; a first state's are the same, or those of `segments`
    S_v: gl.constexpr, S_k: gl.constexpr,
    # flags
    HAS_S: gl.constexpr, PACKED: gl.constexpr, SEGMENTED: gl.constexpr,
):  # fmt: skip
    dtype: gl.constexpr = k.dtype
    slices: gl.constexpr = V // BV
    slot = gl.program_id(0) // slices // HV
    hv = gl.program_id(0) // slices % HV
    h = hv // (HV // H)
    first_v = (gl.program_id(0) % slices) * BV
    n, index, token_0, end = segment(cu_seqlens_ptr, slot, N, T, length, PACKED, SEGMENTED)
    tokens = end - token_0
    last = True
    if SEGMENTED:
        last = ((tokens > 0) | (index == 0)) & (tokens <= length)
        tokens = gl.maximum(gl.minimum(tokens, length), 0)

    rows: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, K, 16])
    dim_v = first_v + gl.arange(0, BV, gl.SliceLayout(1, rows))[:, None]
    dim_k = gl.arange(0, K, gl.SliceLayout(0, rows))[None, :]
    gdc_wait()
    S = gl.zeros([BV, K], gl.float32, rows)
    if HAS_S:
        v_stride: gl.constexpr = K if SEGMENTED else S_v
        k_stride: gl.constexpr = 1 if SEGMENTED else S_k
        S_at = (slot * HV + hv).to(gl.int64) * (V * K) + dim_v * v_stride + dim_k * k_stride
        S = gl.load(S_first_ptr + S_at).to(gl.float32)

    # shared memory: tiles of the inputs, what one group of warps hands to another, and the signals
    q_tiles = gl.allocate_shared_memory(dtype, [STAGES, C, K], q.layout)
    k_tiles = gl.allocate_shared_memory(dtype, [STAGES, C, K], k.layout)
    v_tiles = gl.allocate_shared_memory(dtype, [STAGES, C, BV], v.layout)
    UT_tiles = gl.allocate_shared_memory(UT.dtype, [STAGES, C, C], UT.layout)
    S_tiles = gl.allocate_shared_memory(dtype, [2, BV, K], k.layout)
    delta_tiles = gl.allocate_shared_memory(dtype, [2, BV, C], UT.layout)
    o_tile = gl.allocate_shared_memory(dtype, [C, BV], o.layout)
    full, free = signals(STAGES, 1), signals(STAGES, 2)
    S_ready, delta_ready, read_out = signals(2, 1), signals(2, 1), signals(2, 1)
    fence_async_shared()

    c_ptr += hv.to(gl.int64) * total + token_0
    value_column = hv * V + first_v
    (S,) = gl.warp_specialize(
        [
            (state_warps, (
                S, tokens, c_ptr, k_tiles, v_tiles, UT_tiles, S_tiles, delta_tiles,
                full, free, S_ready, delta_ready, read_out, True, True,
            )),
            (output_warps, (
                o, o_ptr, HV * V, tokens, token_0, value_column, scale,
                c_ptr, q_tiles, k_tiles, S_tiles, delta_tiles, o_tile,
                full, free, S_ready, delta_ready, read_out,
            )),
            (load_warp, (
                q, k, v, UT, q_tiles, k_tiles, v_tiles, UT_tiles, full, free,
                (tokens + C - 1) // C, token_0, h * K, value_column, hv * total, True,
            )),
        ],
        worker_num_warps=[4, 1],
        worker_num_regs=[168, 24],
    )  # fmt: skip
    S_at = (n * HV + hv).to(gl.int64) * (V * K) + dim_v * S_v + dim_k * S_k
    gl.store(S_last_ptr + S_at, S, mask=last)
