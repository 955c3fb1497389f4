"""Backward, kernel 3 for Hopper: the equations of `chunk_gradients`, groups of warps side by side.

    E  = T_inv diag(beta) R, where R = V - diag(gamma) K S^T              eq-gdn-chunk-delta
    X  = Gamma . dO E^T,  N = -tril(diag(beta) (Gamma . Z E^T), -1)
    dQ = diag(gamma) dO S + X K,  dV = diag(beta) Z                       eq-grad-query
    dK = N K - diag(beta gamma) Z S                   as a key reads      eq-grad-key
       + N^T K + X^T Q + diag(gamma_C / gamma_i) E dS'   as it is read
    dbeta = row sums of Z . (R - tril(Gamma . K K^T, -1) E)               eq-grad-beta
    dg, from all that a token's decay lies between                        eq-grad-crossing

Three groups of warps share the work: `query_warps` compute E and dQ, `key_warps` dK and dV, and
`score_warps` what is a number for each pair of tokens: X, N, and dbeta and dg from them. They meet
in shared memory. One `load_warp` runs ahead. As many programs as there are multiprocessors take one
chunk and key head after the other. Whole chunks only: `chunk_gradients` has the short ones. For
16-bit inputs, head dimensions of 64 or 128, chunks of 64.

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

from .hopper import BV, STAGES, C, matmul, segment

CHUNK = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], [16, C.value, 16]))
ROW = gl.constexpr(gl.SliceLayout(1, CHUNK.value))
COLUMN = gl.constexpr(gl.SliceLayout(0, CHUNK.value))
LINES = gl.constexpr(gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0]))
TOKEN = gl.constexpr(gl.BlockedLayout([1], [32], [4], [0]))
VECTOR = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [0]))

# Few allocations, since a group of warps keeps each of them in registers: tiles of one shape lie
# side by side, and so do all signals. Signals, and how many arrivals each waits for:
FULL = gl.constexpr(0)  # 2 stages: a slice of V has come (1)
FREE = gl.constexpr(2)  # 2 stages: all have read it (3)
DELTA = gl.constexpr(4)  # 2 stages: E stands in the place of v (1)
HEAD_FULL = gl.constexpr(6)  # 2 stages: q and k have come (1)
HEAD_FREE = gl.constexpr(8)  # 2 stages: all have read them (3)
SUMS = gl.constexpr(10)  # the row sums of a head are there (2)
SUMS_FREE = gl.constexpr(11)  # they have been read (1)
SCORES = gl.constexpr(12)  # X and N are there (1)
SCORES_FREE = gl.constexpr(13)  # they have been read (2)
ARRIVALS = gl.constexpr((1, 1, 3, 3, 1, 1, 1, 1, 3, 3, 2, 1, 1, 2))


@gluon.jit
def crossings(J, a, b, t, before):
    """dg of each token t (eq-grad-crossing): all that goes from before t to t or after it.

    `J[r, i]` from token i to token r, `a[r]` from the old state to r, `b[r]` from r to the next.
    `before[i, t]` is 1 where i < t, so that `J before` sums over the tokens before t; in two
    halves, since tensor cores take 16 bits.
    """
    operand: gl.constexpr = gl.DotOperandLayout(0, CHUNK, 2)
    r = gl.arange(0, C, ROW)[:, None]
    high = J.to(gl.bfloat16)
    low = (J - high.to(gl.float32)).to(gl.bfloat16)
    zero = gl.zeros([C, C], gl.float32, CHUNK)
    from_before = matmul(gl.convert_layout(high, operand), before, zero, False)
    from_before = matmul(gl.convert_layout(low, operand), before, from_before, True)
    from_before = warpgroup_mma_wait(0, deps=[from_before])
    return gl.sum(gl.where(t[None, :] <= r, from_before + a[:, None], b[:, None]), axis=0)


@gluon.jit
def load_warp(
    q, k, v, do, Z, T, S, dS, head_tiles, tiles, T_tiles, state_tiles, signal,
    cu_seqlens_ptr, N, slots, tokens, total, H, HV, V: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    """Tiles of one chunk and head after the other, as soon as there is room for them."""
    K: gl.constexpr = k.block_shape[1]
    item_count = 0
    n = 0
    for item in range(gl.program_id(0), slots * H, gl.num_programs(0)):
        slot = item // H
        h = item % H
        _, _, start, end = segment(cu_seqlens_ptr, slot, N, tokens, C, PACKED, True)
        if end - start >= C:
            b = item_count % 2
            mbarrier.wait(signal.index(HEAD_FREE + b), ((item_count // 2) & 1) ^ 1)
            full = signal.index(HEAD_FULL + b)
            mbarrier.expect(full, 4 * C * K)
            tma.async_copy_global_to_shared(q, [start, h * K], full, head_tiles.index(2 * b))
            tma.async_copy_global_to_shared(k, [start, h * K], full, head_tiles.index(2 * b + 1))
            for hv in range(h * (HV // H), (h + 1) * (HV // H)):
                for j in range(V // BV):
                    s = n % STAGES
                    at = [start, hv * V + j * BV]
                    S_at = [(slot * HV + hv) * V + j * BV, 0]
                    mbarrier.wait(signal.index(FREE + s), ((n // STAGES) & 1) ^ 1)
                    full = signal.index(FULL + s)
                    mbarrier.expect(full, 2 * (3 * C * BV + C * C + 2 * BV * K))
                    tma.async_copy_global_to_shared(S, S_at, full, state_tiles.index(2 * s))
                    tma.async_copy_global_to_shared(v, at, full, tiles.index(3 * s))
                    T_at = [hv * total + start, 0]
                    tma.async_copy_global_to_shared(T, T_at, full, T_tiles.index(s))
                    tma.async_copy_global_to_shared(Z, at, full, tiles.index(3 * s + 2))
                    tma.async_copy_global_to_shared(do, at, full, tiles.index(3 * s + 1))
                    tma.async_copy_global_to_shared(dS, S_at, full, state_tiles.index(2 * s + 1))
                    n += 1
            item_count += 1


@gluon.jit
def query_warps(
    head_tiles, tiles, T_tiles, state_tiles, pairs, sums, signal, c_ptr, beta_ptr, dq_ptr,
    cu_seqlens_ptr, scale, N, slots, tokens, total, H, HV, V: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    """E, in the place of v, and dQ; row sums of what Z and q meet."""
    dtype: gl.constexpr = tiles.dtype
    K: gl.constexpr = head_tiles.shape[2]
    wide: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, K, 16])
    operand: gl.constexpr = gl.DotOperandLayout(0, wide, 2)
    zero = gl.zeros([C, C], gl.float32, CHUNK)
    r = gl.arange(0, C, ROW)
    r_operand = gl.arange(0, C, gl.SliceLayout(1, operand))
    r_wide = gl.arange(0, C, gl.SliceLayout(1, wide))[:, None]
    dim = gl.arange(0, K, gl.SliceLayout(0, wide))[None, :]
    item_count = 0
    head_count = 0
    n = 0
    for item in range(gl.program_id(0), slots * H, gl.num_programs(0)):
        h = item % H
        _, _, start, end = segment(cu_seqlens_ptr, item // H, N, tokens, C, PACKED, True)
        if end - start >= C:
            b = item_count % 2
            q = head_tiles.index(2 * b)
            k = head_tiles.index(2 * b + 1)
            dq = gl.zeros([C, K], gl.float32, wide)
            for hv in range(h * (HV // H), (h + 1) * (HV // H)):
                c_head = c_ptr + hv.to(gl.int64) * total + start
                gamma = gl.exp2(gl.load(c_head + r))[:, None]
                decay = scale * gl.exp2(gl.load(c_head + r_operand))[:, None]
                beta = gl.load(beta_ptr + start.to(gl.int64) * HV + hv + r * HV)[:, None]
                Z_v = gl.zeros([C], gl.float32, ROW)
                Z_R = gl.zeros([C], gl.float32, ROW)
                mbarrier.wait(signal.index(HEAD_FULL + b), (item_count // 2) & 1)
                q_sums = -gl.sum(q.load(wide).to(gl.float32) * dq, axis=1)
                for _ in range(V // BV):
                    s = n % STAGES
                    mbarrier.wait(signal.index(FULL + s), (n // STAGES) & 1)
                    S = state_tiles.index(2 * s)
                    read = matmul(k, S.permute((1, 0)), zero, False)
                    do = tiles.index(3 * s + 1).load(operand).to(gl.float32)
                    dq = matmul((decay * do).to(dtype), S, dq, True)
                    v_tile = tiles.index(3 * s)
                    v = v_tile.load(CHUNK)
                    Z = tiles.index(3 * s + 2).load(CHUNK)
                    Z_v += gl.sum(Z.to(gl.float32) * v.to(gl.float32), axis=1)
                    # eq-gdn-chunk-delta
                    R = v.to(gl.float32) - gamma * warpgroup_mma_wait(1, deps=[read])
                    R_tile = v_tile._reinterpret(gl.float16, [C, BV], tiles.layout)
                    R_tile.store((beta * R).to(gl.float16))
                    fence_async_shared()
                    Z_R += gl.sum(Z.to(gl.float32) * R, axis=1)
                    E = matmul(T_tiles.index(s), R_tile, zero, False)
                    E, dq = warpgroup_mma_wait(0, deps=[E, dq])
                    v_tile.store(E.to(dtype))
                    fence_async_shared()
                    mbarrier.arrive(signal.index(DELTA + s), count=1)
                    mbarrier.arrive(signal.index(FREE + s), count=1)
                    n += 1
                q_sums += gl.sum(q.load(wide).to(gl.float32) * dq, axis=1)
                mbarrier.wait(signal.index(SUMS_FREE), (head_count & 1) ^ 1)
                sums.index(0).store(Z_R)
                sums.index(1).store(Z_v - Z_R)
                sums.index(2).store(q_sums)
                mbarrier.arrive(signal.index(SUMS), count=1)
                # eq-grad-query
                mbarrier.wait(signal.index(SCORES), head_count & 1)
                dq = matmul(pairs.index(0), k, dq, True)
                dq = warpgroup_mma_wait(0, deps=[dq])
                mbarrier.arrive(signal.index(SCORES_FREE), count=1)
                head_count += 1
            mbarrier.arrive(signal.index(HEAD_FREE + b), count=1)
            at = ((start + r_wide).to(gl.int64) * H + h) * K + dim
            gl.store(dq_ptr + at, dq.to(dtype))
            item_count += 1


@gluon.jit
def key_warps(
    head_tiles, tiles, state_tiles, pairs, sums, signal, c_ptr, beta_ptr, Z_ptr, dk_ptr,
    cu_seqlens_ptr, N, slots, tokens, total, H, HV, V: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    """dK and dV; row sums of what k and S meet."""
    dtype: gl.constexpr = tiles.dtype
    K: gl.constexpr = head_tiles.shape[2]
    wide: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, K, 16])
    operand: gl.constexpr = gl.DotOperandLayout(0, wide, 2)
    rows: gl.constexpr = gl.BlockedLayout([1, 8], [32 * 8 // K, K // 8], [4, 1], [1, 0])
    r_operand = gl.arange(0, C, gl.SliceLayout(1, operand))
    r_wide = gl.arange(0, C, gl.SliceLayout(1, wide))[:, None]
    dim = gl.arange(0, K, gl.SliceLayout(0, wide))[None, :]
    line = gl.arange(0, C, gl.SliceLayout(1, LINES))
    dim_v = gl.arange(0, BV, gl.SliceLayout(0, LINES))[None, :]
    item_count = 0
    head_count = 0
    n = 0
    for item in range(gl.program_id(0), slots * H, gl.num_programs(0)):
        h = item % H
        _, _, start, end = segment(cu_seqlens_ptr, item // H, N, tokens, C, PACKED, True)
        if end - start >= C:
            b = item_count % 2
            q = head_tiles.index(2 * b)
            k = head_tiles.index(2 * b + 1)
            dk = gl.zeros([C, K], gl.float32, wide)
            for hv in range(h * (HV // H), (h + 1) * (HV // H)):
                c_head = c_ptr + hv.to(gl.int64) * total + start
                number = start.to(gl.int64) * HV + hv
                c = gl.load(c_head + r_operand)
                to_end = gl.exp2(gl.load(c_head + C - 1) - c)[:, None]
                reads = (-gl.exp2(c) * gl.load(beta_ptr + number + r_operand * HV))[:, None]
                beta = gl.load(beta_ptr + number + line * HV)[:, None]
                mbarrier.wait(signal.index(HEAD_FULL + b), (item_count // 2) & 1)
                k_sums = -gl.sum(k.load(wide).to(gl.float32) * dk, axis=1)
                S_dS = gl.zeros([BV], gl.float32, gl.SliceLayout(1, rows))
                for j in range(V // BV):
                    s = n % STAGES
                    Z = tiles.index(3 * s + 2)
                    S = state_tiles.index(2 * s)
                    dS = state_tiles.index(2 * s + 1)
                    mbarrier.wait(signal.index(FULL + s), (n // STAGES) & 1)
                    dk = matmul((reads * Z.load(operand).to(gl.float32)).to(dtype), S, dk, True)
                    dv = (beta * Z.load(LINES).to(gl.float32)).to(dtype)
                    gl.store(Z_ptr + (number + line * HV)[:, None] * V + j * BV + dim_v, dv)
                    product = S.load(rows).to(gl.float32) * dS.load(rows).to(gl.float32)
                    S_dS += gl.sum(product, axis=1)
                    mbarrier.wait(signal.index(DELTA + s), (n // STAGES) & 1)
                    E = tiles.index(3 * s).load(operand).to(gl.float32)
                    dk = matmul((to_end * E).to(dtype), dS, dk, True)
                    dk = warpgroup_mma_wait(0, deps=[dk])
                    mbarrier.arrive(signal.index(FREE + s), count=1)
                    n += 1
                k_sums += gl.sum(k.load(wide).to(gl.float32) * dk, axis=1)
                mbarrier.wait(signal.index(SUMS_FREE), (head_count & 1) ^ 1)
                sums.index(3).store(k_sums)
                sums.index(4).store(S_dS)
                mbarrier.arrive(signal.index(SUMS), count=1)
                mbarrier.wait(signal.index(SCORES), head_count & 1)
                # eq-grad-key
                X, N_ = pairs.index(0), pairs.index(1)
                dk = matmul(X.permute((1, 0)), q, dk, True)
                dk = matmul(N_, k, dk, True)
                dk = matmul(N_.permute((1, 0)), k, dk, True)
                dk = warpgroup_mma_wait(0, deps=[dk])
                mbarrier.arrive(signal.index(SCORES_FREE), count=1)
                head_count += 1
            mbarrier.arrive(signal.index(HEAD_FREE + b), count=1)
            at = ((start + r_wide).to(gl.int64) * H + h) * K + dim
            gl.store(dk_ptr + at, dk.to(dtype))
            item_count += 1


@gluon.jit
def score_warps(
    head_tiles, tiles, pairs, sums, signal, c_ptr, beta_ptr, dg_ptr, dbeta_ptr,
    cu_seqlens_ptr, scale, N, slots, tokens, total, H, HV,
    V: gl.constexpr, HAS_G: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    """X, N, dbeta and dg."""
    dtype: gl.constexpr = tiles.dtype
    zero = gl.zeros([C, C], gl.float32, CHUNK)
    r = gl.arange(0, C, ROW)
    token = gl.arange(0, C, TOKEN)
    before = pairs.index(2)._reinterpret(gl.bfloat16, [C, C], pairs.layout)
    item_count = 0
    head_count = 0
    n = 0
    for item in range(gl.program_id(0), slots * H, gl.num_programs(0)):
        h = item % H
        _, _, start, end = segment(cu_seqlens_ptr, item // H, N, tokens, C, PACKED, True)
        if end - start >= C:
            # zero, but not known to be: masks that never change would be kept in registers
            i = gl.arange(0, C, COLUMN) + (gl.minimum(end - start, C) - C)
            b = item_count % 2
            q = head_tiles.index(2 * b)
            k = head_tiles.index(2 * b + 1)
            for hv in range(h * (HV // H), (h + 1) * (HV // H)):
                c_head = c_ptr + hv.to(gl.int64) * total + start
                number = start.to(gl.int64) * HV + hv
                beta = gl.load(beta_ptr + number + r * HV)
                stretch = gl.load(c_head + r)[:, None] - gl.load(c_head + i)[None, :]
                Gamma = gl.exp2(gl.where(i[None, :] <= r[:, None], stretch, float("-inf")))
                X = zero
                Y = zero
                for _ in range(V // BV):
                    s = n % STAGES
                    mbarrier.wait(signal.index(DELTA + s), (n // STAGES) & 1)
                    E_T = tiles.index(3 * s).permute((1, 0))
                    X = matmul(tiles.index(3 * s + 1), E_T, X, True)
                    Y = matmul(tiles.index(3 * s + 2), E_T, Y, True)
                    X, Y = warpgroup_mma_wait(0, deps=[X, Y])
                    mbarrier.arrive(signal.index(FREE + s), count=1)
                    n += 1
                X = scale * Gamma * X
                Y = gl.where(i[None, :] < r[:, None], Gamma * Y, 0.0)
                mbarrier.wait(signal.index(SCORES_FREE), (head_count & 1) ^ 1)
                pairs.index(0).store(X.to(dtype))
                pairs.index(1).store((-beta[:, None] * Y).to(dtype))
                fence_async_shared()
                mbarrier.arrive(signal.index(SCORES), count=1)

                # eq-grad-beta
                mbarrier.wait(signal.index(HEAD_FULL + b), (item_count // 2) & 1)
                overlap = matmul(k, k.permute((1, 0)), zero, False)
                Y = Y * warpgroup_mma_wait(0, deps=[overlap])
                mbarrier.wait(signal.index(SUMS), head_count & 1)
                dbeta = sums.index(0).load(ROW) - gl.sum(Y, axis=1)
                gl.store(dbeta_ptr + number + r * HV, dbeta)
                if HAS_G:
                    similar = matmul(q, k.permute((1, 0)), zero, False)
                    J = X * warpgroup_mma_wait(0, deps=[similar]) - beta[:, None] * Y
                    k_reads = -beta * sums.index(1).load(ROW)
                    a = sums.index(2).load(ROW) + k_reads
                    is_read = sums.index(3).load(ROW) - k_reads
                    old = gl.sum(sums.index(4).load(ROW), axis=0)
                    old *= gl.exp2(gl.load(c_head + C - 1))
                    dg = gl.convert_layout(old + crossings(J, a, is_read, i, before), TOKEN)
                    gl.store(dg_ptr + number + token * HV, dg)
                mbarrier.arrive(signal.index(SUMS_FREE), count=1)
                head_count += 1
            mbarrier.arrive(signal.index(HEAD_FREE + b), count=1)
            item_count += 1


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
    head_tiles = gl.allocate_shared_memory(dtype, [2 * 2, C, K], q.layout)  # q, k
    tiles = gl.allocate_shared_memory(dtype, [STAGES * 3, C, BV], v.layout)  # v, dO, Z
    T_tiles = gl.allocate_shared_memory(T_inv.dtype, [STAGES, C, C], T_inv.layout)
    state_tiles = gl.allocate_shared_memory(dtype, [STAGES * 2, BV, K], S.layout)  # S, dS
    pairs = gl.allocate_shared_memory(dtype, [3, C, C], T_inv.layout)  # X, N, `before`
    sums = gl.allocate_shared_memory(gl.float32, [5, C], VECTOR)
    i = gl.arange(0, C, gl.SliceLayout(1, LINES))[:, None]
    t = gl.arange(0, C, gl.SliceLayout(0, LINES))[None, :]
    before = pairs.index(2)._reinterpret(gl.bfloat16, [C, C], pairs.layout)
    before.store(gl.where(i < t, gl.full([C, C], 1.0, gl.bfloat16, LINES), 0.0))
    signal = gl.allocate_shared_memory(gl.int64, [len(ARRIVALS), 1], mbarrier.MBarrierLayout())
    for x in gl.static_range(len(ARRIVALS)):
        mbarrier.init(signal.index(x), count=ARRIVALS[x])
    fence_async_shared()
    gl.warp_specialize(
        [
            (query_warps, (
                head_tiles, tiles, T_tiles, state_tiles, pairs, sums, signal, c_ptr, beta_ptr,
                dq_ptr, cu_seqlens_ptr, scale, N, slots, T, total, H, HV, V, PACKED,
            )),
            (key_warps, (
                head_tiles, tiles, state_tiles, pairs, sums, signal, c_ptr, beta_ptr, Z_ptr,
                dk_ptr, cu_seqlens_ptr, N, slots, T, total, H, HV, V, PACKED,
            )),
            (score_warps, (
                head_tiles, tiles, pairs, sums, signal, c_ptr, beta_ptr, dg_ptr, dbeta_ptr,
                cu_seqlens_ptr, scale, N, slots, T, total, H, HV, V, HAS_G, PACKED,
            )),
            (load_warp, (
                q, k, v, do, Z, T_inv, S, dS, head_tiles, tiles, T_tiles, state_tiles, signal,
                cu_seqlens_ptr, N, slots, T, total, H, HV, V, PACKED,
            )),
        ],
        worker_num_warps=[4, 4, 1],
        worker_num_regs=[160, 160, 32],
    )  # fmt: skip
