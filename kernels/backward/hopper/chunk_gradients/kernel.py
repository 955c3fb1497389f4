"""Backward, kernel 3 for Hopper: the equations of the portable one, groups of warps side by side.

    E  = T_inv diag(beta) R, where R = V - diag(gamma) K S^T              eq-gdn-chunk-delta
    X  = Gamma . dO E^T,  N = -tril(diag(beta) (Gamma . Z E^T), -1)
    dQ = diag(gamma) dO S + X K,  dV = diag(beta) Z                       eq-grad-query
    dK = N K - diag(beta gamma) Z S                   as a key reads      eq-grad-key
       + N^T K + X^T Q + diag(gamma_C / gamma_i) E dS'   as it is read
    dbeta = row sums of Z . (R - tril(Gamma . K K^T, -1) E)               eq-grad-beta
    dg, from all that a token's decay lies between                        eq-grad-crossing

As many programs as there are multiprocessors take one chunk and key head after the other, and of
the key head its value heads, in slices of 64 value dimensions. Four groups of four warps share the
work, since no group has registers for more than one of its sums; one warp loads. They meet in
shared memory (`places`). For each value head:

    feed_warp    brings T_inv and the weights, then v, dO, Z, S and dS' of slice after slice; q last
    delta_warps  E of each slice, for the three others                     `groups`
    query_warps  dQ += diag(gamma) dO S of each slice; then X K
    key_warps    dK += -diag(beta gamma) Z S + .. E dS' of each slice; then X^T Q + (N + N^T) K
    pair_warps   dO E^T and Z E^T of each slice; X and N from them, for    `pairs`
                 the two above; dbeta and dg from what all have summed

A program takes a span of chunks in turn. S comes from memory for the first of them; for the others
the delta warps put it in the place of the one before, and E with its decay has a tile for that.

Whole chunks only: the portable kernel has the short ones. For 16-bit inputs, head dimensions of 64,
128 or 256, chunks of 64.

There is room for 128 key dimensions at a time. Of 256 a program takes one half after the other: dQ
and dK have columns of their own, and dbeta and dg are sums over k . k, q . k and what S and dS'
meet, to which each half adds its part. E, X and N are found again; R needs all key dimensions, and
comes from `hopper.states` in the place of V.

Reference: `gdn_ref.backward.chunk`.
"""

from collections import namedtuple

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
)

from ....common.numbers import C
from ....common.triton_private import reinterpreted
from ....forward.hopper.chain import (
    BV,
    LINE,
    HeadAt,
    load_numbers,
    weigh,
)
from .groups import delta_warps, key_warps, query_warps
from .pairs import pair_warps
from .places import (
    ARRIVALS,
    FREE,
    FULL,
    GRADIENT_FREE,
    GRADIENT_FULL,
    HEAD_FREE,
    HEAD_FULL,
    K_FREE,
    K_FULL,
    PLACES,
    Q_FREE,
    Q_FULL,
    SQUARES,
    VECTORS,
    WIDE,
    Chunks,
    S_tile,
    Shared,
    T_tile,
    Z_tile,
    chunk_of,
    do_tile,
    dS_tile,
    expect,
    k_tile,
    q_tile,
    steps,
    v_tile,
)

# what a launch gives: pointers; a factor; sequences, spans, tokens of a sequence and of all
HopperChunkGradientsGiven = namedtuple(
    "HopperChunkGradientsGiven",
    "beta_ptr c_ptr dV_ptr dg_ptr dbeta_ptr cu_seqlens_ptr scale N spans T total",
)
# what is known in advance: heads and their dimensions, flags, places for S and dS'
HopperChunkGradientsCase = namedtuple(
    "HopperChunkGradientsCase", "H HV K V HAS_G PACKED SPAN STATES GRADIENTS"
)
# where all comes from: tiles, and pointers to the numbers of all heads
Fed = namedtuple("Fed", "q k v do dV T S dS c_ptr beta_ptr")


@gluon.jit
def feed_warp(source, shared, chunks, total, case: gl.constexpr):
    """Tiles of one chunk and head after the other, and weights, as soon as there is room."""
    H: gl.constexpr = case.H
    HV: gl.constexpr = case.HV
    V: gl.constexpr = case.V
    WIDTH: gl.constexpr = source.k.block_shape[1]
    HALVES: gl.constexpr = case.K // WIDTH
    wide, square = shared.wide, shared.square
    vectors, signal = shared.vectors, shared.signal
    pair = 0
    head = 0
    n = 0
    for step in range(steps(chunks, case)):
        span, h, start, end = chunk_of(step, chunks, case)
        slot = start // C if case.SPAN > 1 else span
        first = step % case.SPAN == 0  # of its span
        if end - start >= C:
            for half in range(HALVES):
                full = expect(signal, K_FREE, K_FULL, pair, 2 * C * WIDTH)
                column = (h * HALVES + half) * WIDTH
                tma.async_copy_global_to_shared(source.k, [start, column], full, k_tile(wide, pair))
                for hv in range(h * (HV // H), (h + 1) * (HV // H)):
                    c_ptr = source.c_ptr + hv.to(gl.int64) * total + start
                    beta_ptr = source.beta_ptr + start.to(gl.int64) * HV + hv
                    numbers = load_numbers(HeadAt(c_ptr, beta_ptr, HV), 0, C)
                    full = expect(signal, HEAD_FREE, HEAD_FULL, head, 2 * C * C)
                    T_at = [hv * total + start, 0]
                    tma.async_copy_global_to_shared(source.T, T_at, full, T_tile(square, head))
                    weigh(vectors, head % PLACES, numbers)
                    mbarrier.arrive(full, count=1)
                    for j in range(V // BV):
                        at = [start, hv * V + j * BV]
                        S_at = [(span * HV + hv) * V + j * BV, half * WIDTH]
                        dS_at = [(slot * HV + hv) * V + j * BV, half * WIDTH]
                        v_at = reinterpreted(v_tile(square, n), source.v.dtype, [C, BV])
                        REST: gl.constexpr = 6 * C * BV
                        full = expect(signal, FREE, FULL, n, REST, 2 * BV * WIDTH, first)
                        tma.async_copy_global_to_shared(
                            source.S, S_at, full, S_tile(wide, n, case), pred=first
                        )
                        tma.async_copy_global_to_shared(source.v, at, full, v_at)
                        tma.async_copy_global_to_shared(source.dV, at, full, Z_tile(square, n))
                        tma.async_copy_global_to_shared(source.do, at, full, do_tile(square, n))
                        full = expect(
                            signal, GRADIENT_FREE, GRADIENT_FULL, n, 2 * BV * WIDTH,
                            places=case.GRADIENTS,
                        )  # fmt: skip
                        tma.async_copy_global_to_shared(
                            source.dS, dS_at, full, dS_tile(wide, n, case)
                        )
                        n += 1
                    if hv == h * (HV // H):
                        full = expect(signal, Q_FREE, Q_FULL, pair, 2 * C * WIDTH, places=1)
                        tma.async_copy_global_to_shared(
                            source.q, [start, column], full, q_tile(wide)
                        )
                    head += 1
                pair += 1


@gluon.jit
def chunk_gradients_hopper_kernel(
    q, k, v, do, dV, T_inv, S, dS, dq, dk, given: HopperChunkGradientsGiven, case: gl.constexpr
):
    dtype: gl.constexpr = k.dtype
    WIDTH: gl.constexpr = q.block_shape[1]
    TILES: gl.constexpr = WIDE + case.GRADIENTS + case.STATES
    wide = gl.allocate_shared_memory(dtype, [TILES, C, WIDTH], q.layout)
    square = gl.allocate_shared_memory(dtype, [SQUARES + (case.SPAN > 1), C, C], T_inv.layout)
    vectors = gl.allocate_shared_memory(gl.float32, [VECTORS, C], LINE)
    signal = gl.allocate_shared_memory(gl.int64, [len(ARRIVALS), 1], mbarrier.MBarrierLayout())
    for x in gl.static_range(len(ARRIVALS)):
        mbarrier.init(signal.index(x), count=ARRIVALS[x])
    fence_async_shared()
    shared = Shared(wide, square, vectors, signal)
    chunks = Chunks(given.cu_seqlens_ptr, given.N, given.spans, given.T)
    source = Fed(q, k, v, do, dV, T_inv, S, dS, given.c_ptr, given.beta_ptr)
    gl.warp_specialize(
        [
            (delta_warps, (shared, chunks, case)),
            (query_warps, (dq, shared, given.dV_ptr, chunks, given.scale, case)),
            (key_warps, (dk, shared, chunks, case)),
            (pair_warps, (shared, given.dg_ptr, given.dbeta_ptr, chunks, given.scale, case)),
            (feed_warp, (source, shared, chunks, given.total, case)),
        ],
        worker_num_warps=[4, 4, 4, 1],
        worker_num_regs=[112, 120, 120, 24],
    )
