"""A long sequence in segments, side by side, when there are few heads. Exact: nothing is cut off.

A segment maps the state before it to the state after it, S -> S F + G (eq-affine-chunk). One kernel
finds the maps of all segments at once: G is where the empty state ends, and row j of F where a
state with a single one in column j ends, without values. So F is `d_k` more rows for the chain of
states. The other kernel composes the maps (eq-affine-compose) into the state before each segment;
then `scan` runs over all segments side by side.

The first segment knows its state: its G ends there, and it needs no F. The last needs neither.

Reference: `gdn_ref.affine.chunk_map`, `gdn_ref.affine.compose`.
"""

from collections import namedtuple

import triton
import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared

from ...common.numbers import C
from ...common.slots import slot_bounds
from ...common.tokens import sequence_bounds
from .chain import (
    BK,
    BV,
    COLUMNS,
    LINE,
    ROWS,
    WEIGHTS,
    Corner,
    Ring,
    Source,
    StateAt,
    load_state,
    load_warp,
    next_state,
    signals,
    store_state,
)


@gluon.jit
def map_warps(S, tokens, has_v, to, ring, SCALED: gl.constexpr):
    """64 rows of a map, G above F, from the first chunk to the last."""
    for j in range(tokens // C):
        S = next_state(S, j, has_v, ring, SCALED)
    store_state(S, to, ring.k.shape[0] // ring.v.shape[0])


# what a launch gives: pointers, maps are [slots, HV, V + K, K], G above F; `length` tokens a
# segment
MapsGiven = namedtuple(
    "MapsGiven",
    "beta_ptr c_ptr S_first_ptr maps_ptr cu_seqlens_ptr N T total length H HV",
)
# what is known in advance: dimensions, strides of a first state, flags; SCALED, if UT has beta in
# it, and `beta_ptr` is None
MapsCase = namedtuple("MapsCase", "K V S_v S_k HAS_S PACKED SCALED")


@gluon.jit
def segment_maps_kernel(k, v, UT, given: MapsGiven, case: gl.constexpr):
    K: gl.constexpr = case.K
    V: gl.constexpr = case.V
    slices: gl.constexpr = (V + K) // BV
    length, HV = given.length, given.HV
    slot = gl.program_id(0) // slices // HV
    hv = gl.program_id(0) // slices % HV
    h = hv // (HV // given.H)
    first_row = (gl.program_id(0) % slices) * BV
    has_v = first_row < V
    n, index, token_0, end = slot_bounds(
        given.cu_seqlens_ptr, slot, given.N, given.T, length, case.PACKED, True
    )
    wanted = (token_0 + length < end) & (has_v | (index > 0))
    tokens = gl.where(wanted, length, 0)

    PARTS: gl.constexpr = K // BK
    STAGES: gl.constexpr = 2  # chunks in flight
    S_from = given.S_first_ptr if case.HAS_S else given.maps_ptr
    S_from += (n * HV + hv).to(gl.int64) * (V * K)
    is_first = case.HAS_S & has_v & (index == 0)
    known = load_state(StateAt(S_from, first_row, case.S_v, case.S_k, is_first), PARTS)
    row = first_row - V + gl.arange(0, BV, ROWS)[:, None]
    S = ()
    for p in gl.static_range(PARTS):
        dim_k = p * BK + gl.arange(0, BK, COLUMNS)[None, :]
        one = gl.where(row == dim_k, 1.0, 0.0)
        S = S + (one + known[p],)

    k_tiles = gl.allocate_shared_memory(k.dtype, [STAGES * PARTS, C, BK], k.layout)
    v_tiles = gl.allocate_shared_memory(k.dtype, [STAGES, C, BV], v.layout)
    UT_tiles = gl.allocate_shared_memory(UT.dtype, [STAGES, C, C], UT.layout)
    weights = gl.allocate_shared_memory(gl.float32, [WEIGHTS * STAGES, C], LINE)
    full, free = signals(STAGES, 2), signals(STAGES, 1)
    ring = Ring(None, k_tiles, v_tiles, UT_tiles, weights, full, free)
    fence_async_shared()

    c_ptr = given.c_ptr + (hv.to(gl.int64) * given.total + token_0)
    value_column = hv * V + gl.where(has_v, first_row, 0)
    maps_ptr = given.maps_ptr + (slot * HV + hv).to(gl.int64) * ((V + K) * K)
    beta_ptr = given.beta_ptr
    if not case.SCALED:
        beta_ptr += hv.to(gl.int64) * given.total + token_0
    gl.warp_specialize(
        [
            (map_warps, (
                S, tokens, has_v, StateAt(maps_ptr, first_row, K, 1, wanted), ring, case.SCALED,
            )),
            (load_warp, (
                Source(None, k, v, UT, c_ptr, beta_ptr, 1), ring, tokens,
                Corner(token_0, h * K, value_column, hv * given.total),
            )),
        ],
        worker_num_warps=[1],
        worker_num_regs=[40],
    )  # fmt: skip


# what a launch gives: pointers, starts are [slots, HV, V, K]; tokens a segment, value heads
JoinGiven = namedtuple("JoinGiven", "maps_ptr S_first_ptr starts_ptr cu_seqlens_ptr T length HV")
# what is known in advance: dimensions, strides of a first state, rows of it a program, flags
JoinCase = namedtuple("JoinCase", "K V S_v S_k ROWS HAS_S PACKED")


@triton.jit
def join_segments_kernel(given: JoinGiven, case: tl.constexpr):
    K: tl.constexpr = case.K
    V: tl.constexpr = case.V
    maps_ptr, starts_ptr = given.maps_ptr, given.starts_ptr
    length, HV = given.length, given.HV
    n = tl.program_id(0) // HV
    hv = tl.program_id(0) % HV
    begin, end = sequence_bounds(given.cu_seqlens_ptr, n, given.T, case.PACKED)
    slot = n * tl.cdiv(given.T, length)
    if case.PACKED:
        slot = (begin // length).to(tl.int32) + n
    segments = tl.maximum(tl.cdiv(end - begin, length), 1)

    row = tl.program_id(1) * case.ROWS + tl.arange(0, case.ROWS)[:, None]
    dim_k = tl.arange(0, K)[None, :]
    F_row = V + tl.arange(0, K)[:, None]
    S = tl.zeros((case.ROWS, K), tl.float32)
    if case.HAS_S:
        S_at = tl.program_id(0).to(tl.int64) * (V * K) + row * case.S_v + dim_k * case.S_k
        S = tl.load(given.S_first_ptr + S_at).to(tl.float32)
    starts_ptr += ((slot * HV + hv).to(tl.int64) * V + row) * K + dim_k
    maps_ptr += (slot * HV + hv).to(tl.int64) * ((V + K) * K) + dim_k
    for s in tl.range(0, segments - 1, num_stages=2):
        tl.store(starts_ptr, S)
        starts_ptr += HV * V * K
        G = tl.load(maps_ptr + row * K)
        F = tl.load(maps_ptr + F_row * K, mask=s > 0, other=0.0)  # the first G ends where it should
        maps_ptr += HV * ((V + K) * K)
        S = tl.dot(S, F, acc=G, input_precision="tf32x3")  # eq-affine-compose
    tl.store(starts_ptr, S)
