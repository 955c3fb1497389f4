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

from functools import cache

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_wait,
)
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

C = gl.constexpr(64)  # tokens a chunk
BV = gl.constexpr(64)  # value dimensions a program: the rows of one tensor core instruction
STAGES = gl.constexpr(2)  # chunks in flight


@gluon.jit
def matmul(a, b, acc, use_acc: gl.constexpr):
    """`a b (+ acc)`, started; `warpgroup_mma_wait` ends it. `a` in registers or shared memory."""
    return warpgroup_mma(a, b, acc, use_acc=use_acc, is_async=True)


@gluon.jit
def hand_over(buffer, x, ready):
    """Write `x` to shared memory for another group's tensor cores, and say so."""
    buffer.store(x)
    fence_async_shared()
    mbarrier.arrive(ready, count=1)


@gluon.jit
def sequence(cu_seqlens_ptr, n, T, PACKED: gl.constexpr):
    """First token and number of tokens of sequence `n`."""
    begin = n * T
    tokens = T
    if PACKED:
        begin = gl.load(cu_seqlens_ptr + n).to(gl.int32)
        tokens = gl.load(cu_seqlens_ptr + n + 1).to(gl.int32) - begin
    return begin, tokens


@gluon.jit
def load_warp(
    q, k, v, UT, q_tiles, k_tiles, v_tiles, UT_tiles, full, free,
    chunks, begin, key_column, value_column, UT_row,
):  # fmt: skip
    """Tiles of one chunk after the other, as soon as there is room for them."""
    BYTES: gl.constexpr = 2 * (2 * C * k.block_shape[1] + C * BV + C * C)
    for j in range(chunks):
        s = j % STAGES
        token = begin + j * C
        mbarrier.wait(free.index(s), ((j // STAGES) & 1) ^ 1)
        mbarrier.expect(full.index(s), BYTES)
        tma.async_copy_global_to_shared(k, [token, key_column], full.index(s), k_tiles.index(s))
        tma.async_copy_global_to_shared(v, [token, value_column], full.index(s), v_tiles.index(s))
        tma.async_copy_global_to_shared(UT, [UT_row + token, 0], full.index(s), UT_tiles.index(s))
        tma.async_copy_global_to_shared(q, [token, key_column], full.index(s), q_tiles.index(s))


@gluon.jit
def next_state(
    S, j, left, c_ptr, k_tiles, v_tiles, UT_tiles, S_tiles, delta_tiles,
    full, free, S_ready, delta_ready, read_out, FULL: gl.constexpr,
):  # fmt: skip
    """The state after chunk `j`, whose first `left` tokens are ours."""
    K: gl.constexpr = S.shape[1]
    dtype: gl.constexpr = k_tiles.dtype
    chunk: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, C, 16])
    operand: gl.constexpr = gl.DotOperandLayout(0, chunk, 2)
    operand_S: gl.constexpr = gl.DotOperandLayout(0, S.type.layout, 2)
    s = j % STAGES
    b = j % 2
    k = k_tiles.index(s)
    i = gl.arange(0, C, gl.SliceLayout(0, chunk))[None, :]
    c = gl.load(c_ptr + j * C + i, mask=i < left, other=0.0)
    c_C = gl.load(c_ptr + j * C + left - 1)
    S_in = S.to(dtype)
    mbarrier.wait(full.index(s), (j // STAGES) & 1)
    if not FULL:  # the tokens after ours may hold anything
        rows: gl.constexpr = gl.BlockedLayout([1, 8], [32 * 8 // K, K // 8], [4, 1], [1, 0])
        ours = gl.arange(0, C, gl.SliceLayout(1, rows))[:, None] < left
        k.store(gl.where(ours, k.load(rows), 0.0))
        fence_async_shared()

    # eq-gdn-chunk-delta
    zero = gl.zeros([BV, C], gl.float32, chunk)
    read = matmul(gl.convert_layout(S_in, operand), k.permute((1, 0)), zero, False)
    mbarrier.wait(read_out.index(b), ((j // 2) & 1) ^ 1)
    hand_over(S_tiles.index(b), S_in, S_ready.index(b))
    gamma = gl.exp2(c)
    to_end = gl.exp2(c_C - c)
    v = v_tiles.index(s).permute((1, 0)).load(chunk).to(gl.float32)
    S = S * gl.exp2(c_C)
    residual = v - gamma * warpgroup_mma_wait(0, deps=[read])
    if not FULL:
        residual = gl.where(i < left, residual, 0.0)
    UT = UT_tiles.index(s).permute((1, 0))
    delta = matmul(gl.convert_layout(residual.to(UT.dtype), operand), UT, zero, False)
    delta = warpgroup_mma_wait(0, deps=[delta])
    carried = to_end * delta
    if not FULL:
        delta = gl.where(i < left, delta, 0.0)
        carried = gl.where(i < left, carried, 0.0)

    # eq-gdn-chunk-state
    S = matmul(gl.convert_layout(carried.to(dtype), operand_S), k, S, True)
    hand_over(delta_tiles.index(b), delta.to(dtype), delta_ready.index(b))
    S = warpgroup_mma_wait(0, deps=[S])
    mbarrier.arrive(free.index(s), count=1)
    return S


@gluon.jit
def state_warps(
    S, S_last_ptr, S_at, tokens, c_ptr, k_tiles, v_tiles, UT_tiles, S_tiles, delta_tiles,
    full, free, S_ready, delta_ready, read_out,
):  # fmt: skip
    """The chain of states, which never leave the registers; the last one goes to memory."""
    for j in range(tokens // C):
        S = next_state(
            S, j, C, c_ptr, k_tiles, v_tiles, UT_tiles, S_tiles, delta_tiles,
            full, free, S_ready, delta_ready, read_out, True,
        )  # fmt: skip
    if tokens % C > 0:
        S = next_state(
            S, tokens // C, tokens % C, c_ptr, k_tiles, v_tiles, UT_tiles, S_tiles,
            delta_tiles, full, free, S_ready, delta_ready, read_out, False,
        )  # fmt: skip
    gl.store(S_last_ptr + S_at, S)


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


@gluon.jit(do_not_specialize=["T", "total", "H", "HV"])
def chunk_scan_hopper_kernel(
    # tensors, and tiles of them
    q, k, v, UT, o, c_ptr, o_ptr, S_first_ptr, S_last_ptr, cu_seqlens_ptr,
    # numbers and sizes
    scale, T, total, H, HV, K: gl.constexpr, V: gl.constexpr,
    # strides of a state
    S_v: gl.constexpr, S_k: gl.constexpr,
    # flags
    HAS_S: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    dtype: gl.constexpr = k.dtype
    slices: gl.constexpr = V // BV
    state = gl.program_id(0) // slices
    first_v = (gl.program_id(0) % slices) * BV
    hv = state % HV
    h = hv // (HV // H)
    token_0, tokens = sequence(cu_seqlens_ptr, state // HV, T, PACKED)

    rows: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, K, 16])
    dim_v = first_v + gl.arange(0, BV, gl.SliceLayout(1, rows))[:, None]
    dim_k = gl.arange(0, K, gl.SliceLayout(0, rows))[None, :]
    S_at = state.to(gl.int64) * (V * K) + dim_v * S_v + dim_k * S_k
    S = gl.zeros([BV, K], gl.float32, rows)
    if HAS_S:
        S = gl.load(S_first_ptr + S_at).to(gl.float32)

    # shared memory: tiles of the inputs, what one group of warps hands to another, and the signs
    q_tiles = gl.allocate_shared_memory(dtype, [STAGES, C, K], q.layout)
    k_tiles = gl.allocate_shared_memory(dtype, [STAGES, C, K], k.layout)
    v_tiles = gl.allocate_shared_memory(dtype, [STAGES, C, BV], v.layout)
    UT_tiles = gl.allocate_shared_memory(UT.dtype, [STAGES, C, C], UT.layout)
    S_tiles = gl.allocate_shared_memory(dtype, [2, BV, K], k.layout)
    delta_tiles = gl.allocate_shared_memory(dtype, [2, BV, C], UT.layout)
    o_tile = gl.allocate_shared_memory(dtype, [C, BV], o.layout)
    full = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    free = gl.allocate_shared_memory(gl.int64, [STAGES, 1], mbarrier.MBarrierLayout())
    S_ready = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    delta_ready = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    read_out = gl.allocate_shared_memory(gl.int64, [2, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(STAGES):
        mbarrier.init(full.index(s), count=1)
        mbarrier.init(free.index(s), count=2)
    for b in gl.static_range(2):
        mbarrier.init(S_ready.index(b), count=1)
        mbarrier.init(delta_ready.index(b), count=1)
        mbarrier.init(read_out.index(b), count=1)
    fence_async_shared()

    c_ptr += hv.to(gl.int64) * total + token_0
    chunks = (tokens + C - 1) // C
    gl.warp_specialize(
        [
            (state_warps, (
                S, S_last_ptr, S_at, tokens, c_ptr, k_tiles, v_tiles, UT_tiles, S_tiles,
                delta_tiles, full, free, S_ready, delta_ready, read_out,
            )),
            (output_warps, (
                o, o_ptr, HV * V, tokens, token_0, hv * V + first_v, scale,
                c_ptr, q_tiles, k_tiles, S_tiles, delta_tiles, o_tile,
                full, free, S_ready, delta_ready, read_out,
            )),
            (load_warp, (
                q, k, v, UT, q_tiles, k_tiles, v_tiles, UT_tiles, full, free,
                chunks, token_0, h * K, hv * V + first_v, hv * total,
            )),
        ],
        worker_num_warps=[4, 1],
        worker_num_regs=[168, 24],
    )  # fmt: skip


def tiles_of(q, k, v, UT, o):
    """Descriptors by which the copy engine finds a chunk's tiles: `[tokens, heads x size]`."""
    tokens, K = v.shape[0] * v.shape[1], k.shape[3]
    return (
        describe(q, tokens, q.shape[2] * K, K),
        describe(k, tokens, k.shape[2] * K, K),
        describe(v, tokens, v.shape[2] * v.shape[3], BV.value),
        describe(UT, UT.shape[0] * UT.shape[1], C.value, C.value),
        describe(o, tokens, v.shape[2] * v.shape[3], BV.value),
    )


def describe(x, rows, columns, tile_columns):
    """`x` as a matrix, and its tiles of `C` rows."""
    block = [C.value, tile_columns]
    return TensorDescriptor(x, [rows, columns], [columns, 1], block, tile_layout(tile_columns))


@cache
def tile_layout(tile_columns):
    """How a tile of 16-bit numbers lies in shared memory."""
    return gl.NVMMASharedLayout.get_default_for([C.value, tile_columns], gl.float16)
