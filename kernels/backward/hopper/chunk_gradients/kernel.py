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

    feed_warp    brings T_inv and the weights, then v, dO, Z, S and dS' of slice after slice
    delta_warps  E of each slice, for the three others                     `groups`
    query_warps  dQ += diag(gamma) dO S of each slice; then X K
    key_warps    dK += -diag(beta gamma) Z S + .. E dS' of each slice; then X^T Q + (N + N^T) K
    pair_warps   dO E^T and Z E^T of each slice; X and N from them, for    `pairs`
                 the two above; dbeta and dg from what all have summed

Whole chunks only: the portable kernel has the short ones. For 16-bit inputs, head dimensions of 64,
128 or 256, chunks of 64.

There is room for 128 key dimensions at a time. Of 256 a program takes one half after the other: dQ
and dK have columns of their own, and dbeta and dg are sums over k . k, q . k and what S and dS'
meet, to which each half adds its part. E, X and N are found again; R needs all key dimensions, and
comes from `hopper.states` in the place of V.

Reference: `gdn_ref.backward.chunk`.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
)

from ....common.numbers import C
from ....common.slots import slot_bounds
from ....common.triton_private import reinterpreted
from ....forward.hopper.chain import (
    BV,
    LINE,
    load_numbers,
    weigh,
)
from .groups import delta_warps, key_warps, query_warps
from .pairs import pair_warps
from .places import (
    ARRIVALS,
    FREE,
    FULL,
    HEAD_FREE,
    HEAD_FULL,
    PAIR_FREE,
    PAIR_FULL,
    PLACES,
    SQUARES,
    VECTORS,
    WIDE,
    S_tile,
    T_tile,
    Z_tile,
    do_tile,
    dS_tile,
    expect,
    k_tile,
    q_tile,
    v_tile,
)


@gluon.jit
def feed_warp(
    q, k, v, do, dV, T, S, dS, c_ptr, beta_ptr, wide, square, vectors, signal,
    cu_seqlens_ptr, N, slots, tokens, total,
    H: gl.constexpr, HV: gl.constexpr, V: gl.constexpr, HALVES: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    """Tiles of one chunk and head after the other, and weights, as soon as there is room."""
    WIDTH: gl.constexpr = k.block_shape[1]
    pair = 0
    head = 0
    n = 0
    for item in range(gl.program_id(0), slots * H, gl.num_programs(0)):
        slot = item // H
        h = item % H
        _, _, start, end = slot_bounds(cu_seqlens_ptr, slot, N, tokens, C, PACKED, True)
        if end - start >= C:
            for half in range(HALVES):
                full = expect(signal, PAIR_FREE, PAIR_FULL, pair, 4 * C * WIDTH)
                at = [start, (h * HALVES + half) * WIDTH]
                tma.async_copy_global_to_shared(k, at, full, k_tile(wide, pair))
                tma.async_copy_global_to_shared(q, at, full, q_tile(wide, pair))
                for hv in range(h * (HV // H), (h + 1) * (HV // H)):
                    c_head = c_ptr + hv.to(gl.int64) * total + start
                    beta_head = beta_ptr + start.to(gl.int64) * HV + hv
                    numbers = load_numbers(c_head, beta_head, HV, 0, C)
                    full = expect(signal, HEAD_FREE, HEAD_FULL, head, 2 * C * C)
                    T_at = [hv * total + start, 0]
                    tma.async_copy_global_to_shared(T, T_at, full, T_tile(square, head))
                    weigh(vectors, head % PLACES, numbers)
                    mbarrier.arrive(full, count=1)
                    for j in range(V // BV):
                        at = [start, hv * V + j * BV]
                        S_at = [(slot * HV + hv) * V + j * BV, half * WIDTH]
                        v_at = reinterpreted(v_tile(square, n), v.dtype, [C, BV])
                        full = expect(signal, FREE, FULL, n, 6 * C * BV + 4 * BV * WIDTH)
                        tma.async_copy_global_to_shared(S, S_at, full, S_tile(wide, n))
                        tma.async_copy_global_to_shared(v, at, full, v_at)
                        tma.async_copy_global_to_shared(dV, at, full, Z_tile(square, n))
                        tma.async_copy_global_to_shared(do, at, full, do_tile(square, n))
                        tma.async_copy_global_to_shared(dS, S_at, full, dS_tile(wide, n))
                        n += 1
                    head += 1
                pair += 1


@gluon.jit(do_not_specialize=["N", "slots", "T", "total"])
def chunk_gradients_hopper_kernel(
    # tensors, and tiles of them; S and dS are [slots, HV, V, K]
    q, k, v, do, dV, T_inv, S, dS, dq, dk, beta_ptr, c_ptr, dV_ptr, dg_ptr, dbeta_ptr,
    cu_seqlens_ptr,
    # numbers and sizes
    scale, N, slots, T, total,
    H: gl.constexpr, HV: gl.constexpr, K: gl.constexpr, V: gl.constexpr,
    # flags
    HAS_G: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    dtype: gl.constexpr = k.dtype
    WIDTH: gl.constexpr = q.block_shape[1]
    HALVES: gl.constexpr = K // WIDTH
    wide = gl.allocate_shared_memory(dtype, [WIDE, C, WIDTH], q.layout)
    square = gl.allocate_shared_memory(dtype, [SQUARES, C, C], T_inv.layout)
    vectors = gl.allocate_shared_memory(gl.float32, [VECTORS, C], LINE)
    signal = gl.allocate_shared_memory(gl.int64, [len(ARRIVALS), 1], mbarrier.MBarrierLayout())
    for x in gl.static_range(len(ARRIVALS)):
        mbarrier.init(signal.index(x), count=ARRIVALS[x])
    fence_async_shared()
    gl.warp_specialize(
        [
            (delta_warps, (
                wide, square, vectors, signal, cu_seqlens_ptr,
                N, slots, T, H, HV, V, HALVES, HAS_G, PACKED,
            )),
            (query_warps, (
                dq, wide, square, vectors, signal, dV_ptr,
                cu_seqlens_ptr, scale, N, slots, T, H, HV, V, HALVES, PACKED,
            )),
            (key_warps, (
                dk, wide, square, vectors, signal,
                cu_seqlens_ptr, N, slots, T, H, HV, V, HALVES, PACKED,
            )),
            (pair_warps, (
                wide, square, vectors, signal, dg_ptr, dbeta_ptr, cu_seqlens_ptr, scale,
                N, slots, T, H, HV, V, HALVES, HAS_G, PACKED,
            )),
            (feed_warp, (
                q, k, v, do, dV, T_inv, S, dS, c_ptr, beta_ptr, wide, square, vectors, signal,
                cu_seqlens_ptr, N, slots, T, total, H, HV, V, HALVES, PACKED,
            )),
        ],
        worker_num_warps=[4, 4, 4, 1],
        worker_num_regs=[112, 120, 120, 24],
    )  # fmt: skip
