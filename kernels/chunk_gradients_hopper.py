"""Backward, kernel 3 for Hopper: the equations of `chunk_gradients`, groups of warps side by side.

    E  = T_inv diag(beta) R, where R = V - diag(gamma) K S^T              eq-gdn-chunk-delta
    X  = Gamma . dO E^T,  N = -tril(diag(beta) (Gamma . Z E^T), -1)
    dQ = diag(gamma) dO S + X K,  dV = diag(beta) Z                       eq-grad-query
    dK = N K - diag(beta gamma) Z S                   as a key reads      eq-grad-key
       + N^T K + X^T Q + diag(gamma_C / gamma_i) E dS'   as it is read
    dbeta = row sums of Z . (R - tril(Gamma . K K^T, -1) E)               eq-grad-beta
    dg, from all that a token's decay lies between                        eq-grad-crossing

`query_warps` compute E, X and dQ; `key_warps` take E and X from them, through shared memory, and
compute N and dK; one `load_warp` runs ahead of both. As many programs as there are multiprocessors
take one chunk and key head after the other. Whole chunks only: `chunk_gradients` has the short
ones. For 16-bit inputs, head dimensions of 64 or 128, chunks of 64.

Reference: `gdn_ref.backward.chunk`.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma_wait,
)

from .hopper import BV, STAGES, C, matmul, segment, signals

CHUNK = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], [16, C.value, 16]))
ROW = gl.constexpr(gl.SliceLayout(1, CHUNK.value))
COLUMN = gl.constexpr(gl.SliceLayout(0, CHUNK.value))
LINES = gl.constexpr(gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0]))
VECTOR = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [0]))


@gluon.jit
def crossings(J, a, b, before):
    """dg of each token t (eq-grad-crossing): all that goes from before t to t or after it.

    `J[r, i]` from token i to token r, `a[r]` from the old state to r, `b[r]` from r to the next.
    `before[i, t]` is 1 where i < t, so `J before` sums over the tokens before t; in two halves, since
    tensor cores take 16 bits.
    """
    operand: gl.constexpr = gl.DotOperandLayout(0, CHUNK, 2)
    r = gl.arange(0, C, ROW)[:, None]
    t = gl.arange(0, C, COLUMN)[None, :]
    high = J.to(gl.bfloat16)
    low = (J - high.to(gl.float32)).to(gl.bfloat16)
    zero = gl.zeros([C, C], gl.float32, CHUNK)
    from_before = matmul(gl.convert_layout(high, operand), before, zero, False)
    from_before = matmul(gl.convert_layout(low, operand), before, from_before, True)
    from_before = warpgroup_mma_wait(0, deps=[from_before])
    return gl.sum(gl.where(r >= t, from_before + a[:, None], b[:, None]), axis=0)


@gluon.jit
def decay_between(c_ptr):
    """Gamma of a whole chunk (eq-decay-mask)."""
    r = gl.arange(0, C, ROW)[:, None]
    i = gl.arange(0, C, COLUMN)[None, :]
    stretch = gl.load(c_ptr + r) - gl.load(c_ptr + i)
    return gl.exp2(gl.where(i <= r, stretch, float("-inf")))


@gluon.jit
def load_warp(
    q, k, v, do, Z, T, S, dS, q_tiles, k_tiles, v_tiles, do_tiles, Z_tiles, T_tiles, S_tiles,
    dS_tiles, full, free, head_full, head_free, cu_seqlens_ptr, N, slots, tokens, total, H, HV,
    V: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    """Tiles of one chunk and head after the other, as soon as there is room for them."""
    K: gl.constexpr = k.block_shape[1]
    m = 0
    n = 0
    for item in range(gl.program_id(0), slots * H, gl.num_programs(0)):
        slot = item // H
        h = item % H
        _, _, start, end = segment(cu_seqlens_ptr, slot, N, tokens, C, PACKED, True)
        if end - start >= C:
            b = m % 2
            mbarrier.wait(head_free.index(b), ((m // 2) & 1) ^ 1)
            mbarrier.expect(head_full.index(b), 4 * C * K)
            ready = head_full.index(b)
            tma.async_copy_global_to_shared(q, [start, h * K], ready, q_tiles.index(b))
            tma.async_copy_global_to_shared(k, [start, h * K], ready, k_tiles.index(b))
            for hv in range(h * (HV // H), (h + 1) * (HV // H)):
                for first_v in range(0, V, BV):
                    s = n % STAGES
                    column = hv * V + first_v
                    row = (slot * HV + hv) * V + first_v
                    ready = full.index(s)
                    mbarrier.wait(free.index(s), ((n // STAGES) & 1) ^ 1)
                    mbarrier.expect(ready, 2 * (3 * C * BV + C * C + 2 * BV * K))
                    tma.async_copy_global_to_shared(S, [row, 0], ready, S_tiles.index(s))
                    tma.async_copy_global_to_shared(v, [start, column], ready, v_tiles.index(s))
                    T_row = hv * total + start
                    tma.async_copy_global_to_shared(T, [T_row, 0], ready, T_tiles.index(s))
                    tma.async_copy_global_to_shared(do, [start, column], ready, do_tiles.index(s))
                    tma.async_copy_global_to_shared(Z, [start, column], ready, Z_tiles.index(s))
                    tma.async_copy_global_to_shared(dS, [row, 0], ready, dS_tiles.index(s))
                    n += 1
            m += 1


@gluon.jit
def query_warps(
    q_tiles, k_tiles, v_tiles, do_tiles, Z_tiles, T_tiles, S_tiles, E_tile, X_tile, before, vectors,
    full, free, head_full, head_free, E_ready, E_free, X_ready, X_free,
    c_ptr, beta_ptr, dq_ptr, cu_seqlens_ptr, scale, N, slots, tokens, total, H, HV,
    V: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    """E, X and dQ; leaves for `key_warps` row sums with Z and what it finds of dg."""
    dtype: gl.constexpr = k_tiles.dtype
    K: gl.constexpr = k_tiles.shape[2]
    wide: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, K, 16])
    operand: gl.constexpr = gl.DotOperandLayout(0, wide, 2)
    zero = gl.zeros([C, C], gl.float32, CHUNK)
    r = gl.arange(0, C, ROW)
    r_operand = gl.arange(0, C, gl.SliceLayout(1, operand))
    r_wide = gl.arange(0, C, gl.SliceLayout(1, wide))[:, None]
    dim = gl.arange(0, K, gl.SliceLayout(0, wide))[None, :]
    m = 0
    n = 0
    heads = 0
    for item in range(gl.program_id(0), slots * H, gl.num_programs(0)):
        h = item % H
        _, _, start, end = segment(cu_seqlens_ptr, item // H, N, tokens, C, PACKED, True)
        if end - start >= C:
            b = m % 2
            q = q_tiles.index(b)
            k = k_tiles.index(b)
            mbarrier.wait(head_full.index(b), (m // 2) & 1)
            dq = gl.zeros([C, K], gl.float32, wide)
            for hv in range(h * (HV // H), (h + 1) * (HV // H)):
                c_head = c_ptr + hv.to(gl.int64) * total + start
                gamma = gl.exp2(gl.load(c_head + r))[:, None]
                gamma_operand = scale * gl.exp2(gl.load(c_head + r_operand))[:, None]
                beta_head = beta_ptr + start.to(gl.int64) * HV + hv
                beta = gl.load(beta_head + r * HV)[:, None]
                Z_R = gl.zeros([C], gl.float32, ROW)
                Z_read = gl.zeros([C], gl.float32, ROW)
                q_reads = -gl.sum(q.load(wide).to(gl.float32) * dq, axis=1)
                X = zero
                for first_v in range(0, V, BV):
                    s = n % STAGES
                    S = S_tiles.index(s)
                    do = do_tiles.index(s)
                    mbarrier.wait(full.index(s), (n // STAGES) & 1)
                    read = matmul(k, S.permute((1, 0)), zero, False)
                    decayed = (gamma_operand * do.load(operand).to(gl.float32)).to(dtype)
                    dq = matmul(decayed, S, dq, True)
                    v = v_tiles.index(s).load(CHUNK).to(gl.float32)
                    Z = Z_tiles.index(s).load(CHUNK).to(gl.float32)
                    read = gamma * warpgroup_mma_wait(1, deps=[read])
                    R = v - read
                    Z_R += gl.sum(Z * R, axis=1)
                    Z_read += gl.sum(Z * read, axis=1)
                    # eq-gdn-chunk-delta; R takes the place of v
                    R_tile = v_tiles.index(s)._reinterpret(gl.float16, [C, BV], v_tiles.layout)
                    R_tile.store((beta * R).to(gl.float16))
                    fence_async_shared()
                    E = matmul(T_tiles.index(s), R_tile, zero, False)
                    E, dq = warpgroup_mma_wait(0, deps=[E, dq])
                    mbarrier.wait(E_free, (n & 1) ^ 1)
                    E_tile.store(E.to(dtype))
                    fence_async_shared()
                    mbarrier.arrive(E_ready, count=1)
                    X = matmul(do, E_tile.permute((1, 0)), X, True)
                    X = warpgroup_mma_wait(0, deps=[X])
                    mbarrier.arrive(free.index(s), count=1)
                    n += 1
                similar = matmul(q, k.permute((1, 0)), zero, False)
                q_reads += gl.sum(q.load(wide).to(gl.float32) * dq, axis=1)
                X = scale * decay_between(c_head) * X
                similar = warpgroup_mma_wait(0, deps=[similar])
                k_reads = -gl.sum(beta * Z_read[:, None], axis=1)
                a = gl.convert_layout(q_reads, ROW) + k_reads
                dg = crossings(X * similar, a, gl.zeros([C], gl.float32, ROW), before)
                mbarrier.wait(X_free, (heads & 1) ^ 1)
                X_tile.store(X.to(dtype))
                vectors.index(0).store(dg)
                vectors.index(1).store(k_reads)
                vectors.index(2).store(Z_R)
                fence_async_shared()
                mbarrier.arrive(X_ready, count=1)
                # eq-grad-query
                dq = matmul(gl.convert_layout(X.to(dtype), operand), k, dq, True)
                dq = warpgroup_mma_wait(0, deps=[dq])
                heads += 1
            mbarrier.arrive(head_free.index(b), count=1)
            at = ((start + r_wide).to(gl.int64) * H + h) * K + dim
            gl.store(dq_ptr + at, dq.to(dtype))
            m += 1


@gluon.jit
def key_warps(
    q_tiles, k_tiles, Z_tiles, S_tiles, dS_tiles, E_tile, X_tile, N_tile, before, vectors,
    full, free, head_full, head_free, E_ready, E_free, X_ready, X_free,
    c_ptr, beta_ptr, Z_ptr, dk_ptr, dg_ptr, dbeta_ptr, cu_seqlens_ptr,
    N, slots, tokens, total, H, HV, V: gl.constexpr, HAS_G: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    """N, dK, dV, dg and dbeta."""
    dtype: gl.constexpr = k_tiles.dtype
    K: gl.constexpr = k_tiles.shape[2]
    wide: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, K, 16])
    operand: gl.constexpr = gl.DotOperandLayout(0, wide, 2)
    rows: gl.constexpr = gl.BlockedLayout([1, 8], [32 * 8 // K, K // 8], [4, 1], [1, 0])
    zero = gl.zeros([C, C], gl.float32, CHUNK)
    r = gl.arange(0, C, ROW)
    i = gl.arange(0, C, COLUMN)
    r_operand = gl.arange(0, C, gl.SliceLayout(1, operand))
    r_wide = gl.arange(0, C, gl.SliceLayout(1, wide))[:, None]
    dim = gl.arange(0, K, gl.SliceLayout(0, wide))[None, :]
    line = gl.arange(0, C, gl.SliceLayout(1, LINES))
    dim_v = gl.arange(0, BV, gl.SliceLayout(0, LINES))[None, :]
    m = 0
    n = 0
    heads = 0
    for item in range(gl.program_id(0), slots * H, gl.num_programs(0)):
        h = item % H
        _, _, start, end = segment(cu_seqlens_ptr, item // H, N, tokens, C, PACKED, True)
        if end - start >= C:
            b = m % 2
            q = q_tiles.index(b)
            k = k_tiles.index(b)
            mbarrier.wait(head_full.index(b), (m // 2) & 1)
            dk = gl.zeros([C, K], gl.float32, wide)
            for hv in range(h * (HV // H), (h + 1) * (HV // H)):
                c_head = c_ptr + hv.to(gl.int64) * total + start
                number = start.to(gl.int64) * HV + hv
                c = gl.load(c_head + r_operand)
                c_C = gl.load(c_head + C - 1)
                to_end = gl.exp2(c_C - c)[:, None]
                reads = -gl.exp2(c) * gl.load(beta_ptr + number + r_operand * HV)
                beta_line = gl.load(beta_ptr + number + line * HV)[:, None]
                k_is_read = -gl.sum(k.load(wide).to(gl.float32) * dk, axis=1)
                old = gl.zeros([BV], gl.float32, gl.SliceLayout(1, rows))
                Y = zero
                for first_v in range(0, V, BV):
                    s = n % STAGES
                    Z = Z_tiles.index(s)
                    S = S_tiles.index(s)
                    dS = dS_tiles.index(s)
                    mbarrier.wait(full.index(s), (n // STAGES) & 1)
                    reading = (reads[:, None] * Z.load(operand).to(gl.float32)).to(dtype)
                    dk = matmul(reading, S, dk, True)
                    dv = (beta_line * Z.load(LINES).to(gl.float32)).to(dtype)
                    v_at = (number + line * HV)[:, None] * V + first_v + dim_v
                    gl.store(Z_ptr + v_at, dv)
                    product = S.load(rows).to(gl.float32) * dS.load(rows).to(gl.float32)
                    old += gl.sum(product, axis=1)
                    mbarrier.wait(E_ready, n & 1)
                    kept = (to_end * E_tile.load(operand).to(gl.float32)).to(dtype)
                    dk = matmul(kept, dS, dk, True)
                    Y = matmul(Z, E_tile.permute((1, 0)), Y, True)
                    dk, Y = warpgroup_mma_wait(0, deps=[dk, Y])
                    mbarrier.arrive(E_free, count=1)
                    mbarrier.arrive(free.index(s), count=1)
                    n += 1
                overlap = matmul(k, k.permute((1, 0)), zero, False)
                k_is_read += gl.sum(k.load(wide).to(gl.float32) * dk, axis=1)
                Gamma = decay_between(c_head)
                Y = gl.where(i[None, :] < r[:, None], Gamma * Y, 0.0)
                beta = gl.load(beta_ptr + number + r * HV)
                overlap = warpgroup_mma_wait(0, deps=[overlap])
                mbarrier.wait(X_ready, heads & 1)
                dbeta = vectors.index(2).load(ROW) - gl.sum(Y * overlap, axis=1)
                gl.store(dbeta_ptr + number + r * HV, dbeta)
                Y = -beta[:, None] * Y
                if HAS_G:
                    b_r = gl.convert_layout(k_is_read, ROW) - vectors.index(1).load(ROW)
                    dg = crossings(Y * overlap, gl.zeros([C], gl.float32, ROW), b_r, before)
                    dg += vectors.index(0).load(COLUMN) + gl.exp2(c_C) * gl.sum(old, axis=0)
                    gl.store(dg_ptr + number + i * HV, dg)
                # eq-grad-key
                N_tile.store(Y.to(dtype))
                fence_async_shared()
                dk = matmul(gl.convert_layout(Y.to(dtype), operand), k, dk, True)
                dk = matmul(N_tile.permute((1, 0)), k, dk, True)
                dk = matmul(X_tile.permute((1, 0)), q, dk, True)
                dk = warpgroup_mma_wait(0, deps=[dk])
                mbarrier.arrive(X_free, count=1)
                heads += 1
            mbarrier.arrive(head_free.index(b), count=1)
            at = ((start + r_wide).to(gl.int64) * H + h) * K + dim
            gl.store(dk_ptr + at, dk.to(dtype))
            m += 1


@gluon.jit(do_not_specialize=["N", "slots", "T", "total", "H", "HV"])
def chunk_gradients_hopper_kernel(
    # tensors, and tiles of them; S and dS are [slots, HV, V, K]; Z becomes dV
    q, k, v, do, Z, T_inv, S, dS, beta_ptr, c_ptr, Z_ptr, dq_ptr, dk_ptr, dg_ptr, dbeta_ptr,
    cu_seqlens_ptr,
    # numbers and sizes
    scale, N, slots, T, total, H, HV, K: gl.constexpr, V: gl.constexpr,
    # flags
    HAS_G: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    dtype: gl.constexpr = k.dtype
    q_tiles = gl.allocate_shared_memory(dtype, [2, C, K], q.layout)
    k_tiles = gl.allocate_shared_memory(dtype, [2, C, K], k.layout)
    v_tiles = gl.allocate_shared_memory(dtype, [STAGES, C, BV], v.layout)
    do_tiles = gl.allocate_shared_memory(dtype, [STAGES, C, BV], do.layout)
    Z_tiles = gl.allocate_shared_memory(dtype, [STAGES, C, BV], Z.layout)
    T_tiles = gl.allocate_shared_memory(T_inv.dtype, [STAGES, C, C], T_inv.layout)
    S_tiles = gl.allocate_shared_memory(dtype, [STAGES, BV, K], S.layout)
    dS_tiles = gl.allocate_shared_memory(dtype, [STAGES, BV, K], dS.layout)
    E_tile = gl.allocate_shared_memory(dtype, [C, BV], v.layout)
    X_tile = gl.allocate_shared_memory(dtype, [C, C], T_inv.layout)
    N_tile = gl.allocate_shared_memory(dtype, [C, C], T_inv.layout)
    i = gl.arange(0, C, gl.SliceLayout(1, LINES))[:, None]
    t = gl.arange(0, C, gl.SliceLayout(0, LINES))[None, :]
    before = gl.where(i < t, gl.full([C, C], 1.0, gl.bfloat16, LINES), 0.0)
    before = gl.allocate_shared_memory(gl.bfloat16, [C, C], T_inv.layout, before)
    vectors = gl.allocate_shared_memory(gl.float32, [3, C], VECTOR)
    full, free = signals(STAGES, 1), signals(STAGES, 2)
    head_full, head_free = signals(2, 1), signals(2, 2)
    handed = signals(4, 1)
    E_ready, E_free = handed.index(0), handed.index(1)
    X_ready, X_free = handed.index(2), handed.index(3)
    fence_async_shared()
    gl.warp_specialize(
        [
            (query_warps, (
                q_tiles, k_tiles, v_tiles, do_tiles, Z_tiles, T_tiles, S_tiles, E_tile, X_tile,
                before, vectors, full, free, head_full, head_free, E_ready, E_free, X_ready, X_free,
                c_ptr, beta_ptr, dq_ptr, cu_seqlens_ptr, scale, N, slots, T, total, H, HV,
                V, PACKED,
            )),
            (key_warps, (
                q_tiles, k_tiles, Z_tiles, S_tiles, dS_tiles, E_tile, X_tile, N_tile, before, vectors,
                full, free, head_full, head_free, E_ready, E_free, X_ready, X_free,
                c_ptr, beta_ptr, Z_ptr, dk_ptr, dg_ptr, dbeta_ptr, cu_seqlens_ptr,
                N, slots, T, total, H, HV, V, HAS_G, PACKED,
            )),
            (load_warp, (
                q, k, v, do, Z, T_inv, S, dS, q_tiles, k_tiles, v_tiles, do_tiles, Z_tiles,
                T_tiles, S_tiles, dS_tiles, full, free, head_full, head_free, cu_seqlens_ptr,
                N, slots, T, total, H, HV, V, PACKED,
            )),
        ],
        worker_num_warps=[4, 1],
        worker_num_regs=[232, 40],
    )  # fmt: skip
