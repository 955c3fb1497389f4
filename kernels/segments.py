"""A long sequence in segments, side by side, when there are few heads. Exact: nothing is cut off.

A segment maps the state before it to the state after it, S -> S F + G (eq-affine-chunk). One kernel
finds the maps of all segments at once: G is where the empty state ends, and row j of F where a
state with a single one in column j ends, without values. So F is `d_k` more rows for the chain of
states. The other kernel composes the maps (eq-affine-compose) into the state before each segment;
then `chunk_scan_hopper` runs over all segments side by side.

The first segment knows its state: its G ends there, and it needs no F. The last needs neither.

Reference: `gdn_ref.affine.chunk_map`, `gdn_ref.affine.compose`.
"""

import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared

from .hopper import BV, STAGES, C, load_warp, segment, signals, state_warps
from .tokens import sequence_bounds


@gluon.jit(do_not_specialize=["N", "T", "total", "length", "H", "HV"])
def segment_maps_kernel(
    # tensors, and tiles of them; maps are [slots, HV, V + K, K]: G above F
    k, v, UT, c_ptr, S_first_ptr, maps_ptr, cu_seqlens_ptr,
    # sizes
    N, T, total, length, H, HV, K: gl.constexpr, V: gl.constexpr,
    # strides of a first state
    S_v: gl.constexpr, S_k: gl.constexpr,
    # flags
    HAS_S: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    slices: gl.constexpr = (V + K) // BV
    slot = gl.program_id(0) // slices // HV
    hv = gl.program_id(0) // slices % HV
    h = hv // (HV // H)
    first_row = (gl.program_id(0) % slices) * BV
    has_v = first_row < V
    n, index, token_0, end = segment(cu_seqlens_ptr, slot, N, T, length, PACKED, True)
    wanted = (token_0 + length < end) & (has_v | (index > 0))
    tokens = gl.where(wanted, length, 0)

    rows: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, K, 16])
    row = first_row + gl.arange(0, BV, gl.SliceLayout(1, rows))[:, None]
    dim_k = gl.arange(0, K, gl.SliceLayout(0, rows))[None, :]
    S = gl.where(row - V == dim_k, 1.0, 0.0)
    if HAS_S:
        S_at = (n * HV + hv).to(gl.int64) * (V * K) + row * S_v + dim_k * S_k
        known = (row < V) & (dim_k < K) & (index == 0)
        S += gl.load(S_first_ptr + S_at, mask=known, other=0.0).to(gl.float32)

    k_tiles = gl.allocate_shared_memory(k.dtype, [STAGES, C, K], k.layout)
    v_tiles = gl.allocate_shared_memory(k.dtype, [STAGES, C, BV], v.layout)
    UT_tiles = gl.allocate_shared_memory(UT.dtype, [STAGES, C, C], UT.layout)
    full, free = signals(STAGES, 1), signals(STAGES, 1)
    fence_async_shared()

    c_ptr += hv.to(gl.int64) * total + token_0
    value_column = hv * V + gl.where(has_v, first_row, 0)
    (S,) = gl.warp_specialize(
        [
            (state_warps, (
                S, tokens, c_ptr, k_tiles, v_tiles, UT_tiles, k_tiles, k_tiles,
                full, free, full, full, full, has_v, False,
            )),
            (load_warp, (
                k, k, v, UT, k_tiles, k_tiles, v_tiles, UT_tiles, full, free,
                tokens // C, token_0, h * K, value_column, hv * total, False,
            )),
        ],
        worker_num_warps=[1],
        worker_num_regs=[24],
    )  # fmt: skip
    map_at = ((slot * HV + hv).to(gl.int64) * (V + K) + row) * K + dim_k
    gl.store(maps_ptr + map_at, S, mask=wanted)


@triton.jit(do_not_specialize=["T", "length", "HV"])
def join_segments_kernel(
    # pointers: starts are [slots, HV, V, K]
    maps_ptr, S_first_ptr, starts_ptr, cu_seqlens_ptr,
    # sizes
    T, length, HV, K: tl.constexpr, V: tl.constexpr,
    # strides of a first state
    S_v: tl.constexpr, S_k: tl.constexpr,
    # blocks
    ROWS: tl.constexpr,
    # flags
    HAS_S: tl.constexpr, PACKED: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(0) // HV
    hv = tl.program_id(0) % HV
    begin, end = sequence_bounds(cu_seqlens_ptr, n, T, PACKED)
    slot = n * tl.cdiv(T, length)
    if PACKED:
        slot = (begin // length).to(tl.int32) + n
    segments = tl.maximum(tl.cdiv(end - begin, length), 1)

    row = tl.program_id(1) * ROWS + tl.arange(0, ROWS)[:, None]
    dim_k = tl.arange(0, K)[None, :]
    F_row = V + tl.arange(0, K)[:, None]
    S = tl.zeros((ROWS, K), tl.float32)
    if HAS_S:
        S_at = tl.program_id(0).to(tl.int64) * (V * K) + row * S_v + dim_k * S_k
        S = tl.load(S_first_ptr + S_at).to(tl.float32)
    for s in range(segments):
        at = ((slot + s) * HV + hv).to(tl.int64)
        tl.store(starts_ptr + (at * V + row) * K + dim_k, S)
        if s + 1 < segments:
            G = tl.load(maps_ptr + (at * (V + K) + row) * K + dim_k)
            if s == 0:
                S = G
            else:
                F = tl.load(maps_ptr + (at * (V + K) + F_row) * K + dim_k)
                S = tl.dot(S, F, acc=G, input_precision="tf32x3")  # eq-affine-compose
