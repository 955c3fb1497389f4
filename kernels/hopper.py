"""What the kernels for Hopper share: the chain of states, and the warp that keeps it supplied.

Gluon, Triton's lower level, gives each group of warps a program of its own. Tiles come by the copy
engine; a group that needs a tile waits for its signal, and signals back when it has read it.
"""

from functools import cache, lru_cache

import torch
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
def segment(cu_seqlens_ptr, slot, N, T, length, PACKED: gl.constexpr, SEGMENTED: gl.constexpr):
    """Sequence, number within it, first token and end of the segment in `slot`.

    Without segments a slot is a sequence. With segments of `length` tokens, sequence n owns the
    slots from `cu_seqlens[n] // length + n` on; see `tokens.chunk_bounds`. A slot that no segment
    needs comes out with an end before its first token.
    """
    n = slot
    index = 0
    if SEGMENTED and PACKED:
        n = 0
        after = N
        while after - n > 1:
            middle = (n + after) // 2
            owns = gl.load(cu_seqlens_ptr + middle).to(gl.int32) // length + middle <= slot
            n = gl.where(owns, middle, n)
            after = gl.where(owns, after, middle)
        index = slot - gl.load(cu_seqlens_ptr + n).to(gl.int32) // length - n
    elif SEGMENTED:
        index = slot % ((T + length - 1) // length)
        n = slot // ((T + length - 1) // length)
    begin = n * T
    end = begin + T
    if PACKED:
        begin = gl.load(cu_seqlens_ptr + n).to(gl.int32)
        end = gl.load(cu_seqlens_ptr + n + 1).to(gl.int32)
    return n, index, begin + index * length, end


@gluon.jit
def load_warp(
    q, k, v, UT, q_tiles, k_tiles, v_tiles, UT_tiles, full, free,
    chunks, begin, key_column, value_column, UT_row, OUTPUTS: gl.constexpr,
):  # fmt: skip
    """Tiles of one chunk after the other, as soon as there is room for them."""
    K: gl.constexpr = k.block_shape[1]
    BYTES: gl.constexpr = 2 * C * ((2 if OUTPUTS else 1) * K + BV + C)
    for j in range(chunks):
        s = j % STAGES
        token = begin + j * C
        mbarrier.wait(free.index(s), ((j // STAGES) & 1) ^ 1)
        mbarrier.expect(full.index(s), BYTES)
        tma.async_copy_global_to_shared(k, [token, key_column], full.index(s), k_tiles.index(s))
        tma.async_copy_global_to_shared(v, [token, value_column], full.index(s), v_tiles.index(s))
        tma.async_copy_global_to_shared(UT, [UT_row + token, 0], full.index(s), UT_tiles.index(s))
        if OUTPUTS:
            tma.async_copy_global_to_shared(q, [token, key_column], full.index(s), q_tiles.index(s))


@gluon.jit
def next_state(
    S, j, left, c_ptr, k_tiles, v_tiles, UT_tiles, S_tiles, delta_tiles,
    full, free, S_ready, delta_ready, read_out, has_v, FULL: gl.constexpr, OUTPUTS: gl.constexpr,
):  # fmt: skip
    """The state after chunk `j`, whose first `left` tokens are ours.

    Hands S and delta over to who computes `OUTPUTS`; the values are zero unless `has_v`.
    """
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
    if OUTPUTS:
        mbarrier.wait(read_out.index(b), ((j // 2) & 1) ^ 1)
        hand_over(S_tiles.index(b), S_in, S_ready.index(b))
    gamma = gl.exp2(c)
    to_end = gl.exp2(c_C - c)
    v = v_tiles.index(s).permute((1, 0)).load(chunk).to(gl.float32)
    if not OUTPUTS:
        v = gl.where(has_v, v, 0.0)
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
    if OUTPUTS:
        hand_over(delta_tiles.index(b), delta.to(dtype), delta_ready.index(b))
    S = warpgroup_mma_wait(0, deps=[S])
    mbarrier.arrive(free.index(s), count=1)
    return S


@gluon.jit
def state_warps(
    S, tokens, c_ptr, k_tiles, v_tiles, UT_tiles, S_tiles, delta_tiles,
    full, free, S_ready, delta_ready, read_out, has_v, OUTPUTS: gl.constexpr,
):  # fmt: skip
    """The chain of states, which never leave the registers; returns the last, `(S,)`."""
    for j in range(tokens // C):
        S = next_state(
            S, j, C, c_ptr, k_tiles, v_tiles, UT_tiles, S_tiles, delta_tiles,
            full, free, S_ready, delta_ready, read_out, has_v, True, OUTPUTS,
        )  # fmt: skip
    if tokens % C > 0:
        S = next_state(
            S, tokens // C, tokens % C, c_ptr, k_tiles, v_tiles, UT_tiles, S_tiles, delta_tiles,
            full, free, S_ready, delta_ready, read_out, has_v, False, OUTPUTS,
        )  # fmt: skip
    return (S,)


@gluon.jit
def signals(COUNT: gl.constexpr, arrivals: gl.constexpr):
    """`COUNT` barriers in shared memory; each opens after `arrivals`."""
    bars = gl.allocate_shared_memory(gl.int64, [COUNT, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(COUNT):
        mbarrier.init(bars.index(s), count=arrivals)
    return bars


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
    tiles = object.__new__(TensorDescriptor)
    vars(tiles).update(checked(x.dtype, rows, columns, tile_columns), base=x)
    return tiles


@lru_cache(maxsize=4096)
def checked(dtype, rows, columns, tile_columns):
    """The fields of a descriptor, which Triton checks for 3 us whenever it makes one."""
    block = [C.value, tile_columns]
    base = torch.empty(0, dtype=dtype)
    tiles = TensorDescriptor(base, [rows, columns], [columns, 1], block, tile_layout(tile_columns))
    return vars(tiles)


@cache
def tile_layout(tile_columns):
    """How a tile of 16-bit numbers lies in shared memory."""
    return gl.NVMMASharedLayout.get_default_for([C.value, tile_columns], gl.float16)
