"""Backward, kernel 3 for Hopper: the equations of `chunk_gradients`, groups of warps side by side.

    E  = T_inv diag(beta) R, where R = V - diag(gamma) K S^T              eq-gdn-chunk-delta
    X  = Gamma . dO E^T,  N = -tril(diag(beta) (Gamma . Z E^T), -1)
    dQ = diag(gamma) dO S + X K,  dV = diag(beta) Z                       eq-grad-query
    dK = N K - diag(beta gamma) Z S                   as a key reads      eq-grad-key
       + N^T K + X^T Q + diag(gamma_C / gamma_i) E dS'   as it is read
    dbeta = row sums of Z . (R - tril(Gamma . K K^T, -1) E)               eq-grad-beta
    dg, from all that a token's decay lies between                        eq-grad-crossing

Four groups of warps share the work (`gradient_groups`): `delta_warps` compute E, `query_warps` dQ
and dV, `key_warps` dK, and `score_warps` what is a number for each pair of tokens: X, N, and dbeta
and dg from them. They meet in shared memory. One `load_warp` runs ahead. As many programs as there
are multiprocessors take one chunk and key head after the other. Whole chunks only:
`chunk_gradients` has the short ones. For 16-bit inputs, head dimensions of 64, 128 or 256, chunks
of 64.

There is room for 128 key dimensions at a time. Of 256 a program takes one half after the other: dQ
and dK have columns of their own, and dbeta and dg are sums over k . k, q . k and what S and dS'
meet, to which each half adds its part. E, X and N are found again; R needs all key dimensions, and
comes from `chunk_states_hopper` in the place of V.

Reference: `gdn_ref.backward.chunk`.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
)

from .gradient_groups import (
    ARRIVALS,
    FREE,
    FULL,
    HEAD_FREE,
    HEAD_FULL,
    N_AT,
    PAIR_FREE,
    PAIR_FULL,
    SUM,
    delta_warps,
    inverse,
    key_warps,
    query_warps,
    score_warps,
)
from .hopper import BV, LINE, STAGES, C, load_numbers, segment, weigh


@gluon.jit
def load_warp(
    q, k, v, do, dV, T, S, dS, c_ptr, beta_ptr, wide, square, lines, signal,
    cu_seqlens_ptr, N, slots, tokens, total,
    H: gl.constexpr, HV: gl.constexpr, V: gl.constexpr, HALVES: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    """Tiles of one chunk and head after the other, as soon as there is room for them."""
    WIDTH: gl.constexpr = k.block_shape[1]
    item_count = 0
    head_count = 0
    n = 0
    for item in range(gl.program_id(0), slots * H, gl.num_programs(0)):
        slot = item // H
        h = item % H
        _, _, start, end = segment(cu_seqlens_ptr, slot, N, tokens, C, PACKED, True)
        if end - start >= C:
            for half in range(HALVES):
                b = item_count % 2
                mbarrier.wait(signal.index(PAIR_FREE + b), ((item_count // 2) & 1) ^ 1)
                full = signal.index(PAIR_FULL + b)
                mbarrier.expect(full, 4 * C * WIDTH)
                at = [start, (h * HALVES + half) * WIDTH]
                tma.async_copy_global_to_shared(k, at, full, wide.index(2 * b + 1))
                tma.async_copy_global_to_shared(q, at, full, wide.index(2 * b))
                for hv in range(h * (HV // H), (h + 1) * (HV // H)):
                    w = head_count % 2
                    c_head = c_ptr + hv.to(gl.int64) * total + start
                    beta_head = beta_ptr + start.to(gl.int64) * HV + hv
                    numbers = load_numbers(c_head, beta_head, HV, 0, C)
                    mbarrier.wait(signal.index(HEAD_FREE + w), ((head_count // 2) & 1) ^ 1)
                    full = signal.index(HEAD_FULL + w)
                    mbarrier.expect(full, 2 * C * C)
                    tma.async_copy_global_to_shared(
                        T, [hv * total + start, 0], full, inverse(square, w)
                    )
                    weigh(lines, w, numbers)
                    mbarrier.arrive(full, count=1)
                    for j in range(V // BV):
                        s = n % STAGES
                        at = [start, hv * V + j * BV]
                        v_tile = square.index(3 * s)._reinterpret(v.dtype, [C, BV], square.layout)
                        S_at = [(slot * HV + hv) * V + j * BV, half * WIDTH]
                        mbarrier.wait(signal.index(FREE + s), ((n // STAGES) & 1) ^ 1)
                        full = signal.index(FULL + s)
                        mbarrier.expect(full, 2 * (3 * C * BV + 2 * BV * WIDTH))
                        tma.async_copy_global_to_shared(S, S_at, full, wide.index(4 + 2 * s))
                        tma.async_copy_global_to_shared(v, at, full, v_tile)
                        tma.async_copy_global_to_shared(dV, at, full, square.index(3 * s + 2))
                        tma.async_copy_global_to_shared(do, at, full, square.index(3 * s + 1))
                        tma.async_copy_global_to_shared(dS, S_at, full, wide.index(5 + 2 * s))
                        n += 1
                    head_count += 1
                item_count += 1


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
    wide = gl.allocate_shared_memory(dtype, [4 + 2 * STAGES, C, WIDTH], q.layout)
    square = gl.allocate_shared_memory(dtype, [N_AT + 1, C, C], T_inv.layout)
    lines = gl.allocate_shared_memory(gl.float32, [SUM + 5, C], LINE)
    signal = gl.allocate_shared_memory(gl.int64, [len(ARRIVALS), 1], mbarrier.MBarrierLayout())
    for x in gl.static_range(len(ARRIVALS)):
        mbarrier.init(signal.index(x), count=ARRIVALS[x])
    fence_async_shared()
    gl.warp_specialize(
        [
            (delta_warps, (
                wide, square, lines, signal, cu_seqlens_ptr,
                N, slots, T, H, HV, V, HALVES, HAS_G, PACKED,
            )),
            (query_warps, (
                dq, wide, square, lines, signal, dV_ptr,
                cu_seqlens_ptr, scale, N, slots, T, H, HV, V, HALVES, PACKED,
            )),
            (key_warps, (
                dk, wide, square, lines, signal,
                cu_seqlens_ptr, N, slots, T, H, HV, V, HALVES, PACKED,
            )),
            (score_warps, (
                wide, square, lines, signal, dg_ptr, dbeta_ptr, cu_seqlens_ptr, scale,
                N, slots, T, H, HV, V, HALVES, HAS_G, PACKED,
            )),
            (load_warp, (
                q, k, v, do, dV, T_inv, S, dS, c_ptr, beta_ptr, wide, square, lines, signal,
                cu_seqlens_ptr, N, slots, T, total, H, HV, V, HALVES, PACKED,
            )),
        ],
        worker_num_warps=[4, 4, 4, 1],
        worker_num_regs=[112, 120, 120, 24],
    )  # fmt: skip
