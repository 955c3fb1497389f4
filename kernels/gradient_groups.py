"""The groups of warps of `chunk_gradients_hopper`, and how they meet in shared memory.

A group waits for a signal, reads, and signals back when it has read. Loop-invariant numbers stay
where they are needed (`disable_licm`): before the loops they would have to be kept, and there are
about 112 registers a thread. What does not fit goes through the second-level cache, since shared
memory leaves the first little room, and each such number costs as much as a chunk's products.

Reference: `gdn_ref.backward.chunk`.
"""

import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma_wait,
)

from .hopper import (
    BV,
    COLUMNS,
    FROM_START,
    LEAST,
    LOG,
    ROWS,
    STAGES,
    STRENGTH,
    TILE,
    TO_END,
    WEIGHTS,
    WHOLE,
    C,
    factor,
    matmul,
    rest,
    segment,
)

LINES = gl.constexpr(gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0]))
TOKEN = gl.constexpr(gl.BlockedLayout([1], [32], [4], [0]))

# Few allocations, since a group of warps keeps each of them in registers: tiles of one shape lie
# side by side, and so do all signals. Wide tiles are q and k of two chunks (or of two halves of the
# key dimensions), then S and dS' of each stage; tiles of [C, C] are v or R, dO and Z (see `factor`)
# of each stage, then:
INVERSE = gl.constexpr(3 * STAGES.value)  # two value heads' T_inv
X_AT, N_AT = (gl.constexpr(INVERSE.value + n) for n in (2, 3))
SUM = gl.constexpr(2 * WEIGHTS.value)  # lines of C numbers: two heads' weights, then five sums
# Signals, and how many arrivals each waits for:
FULL = gl.constexpr(0)  # 2 stages: a slice of V has come (1)
FREE = gl.constexpr(2)  # 2 stages: all have read it (4)
DELTA = gl.constexpr(4)  # 2 stages: E stands in the place of v or R (1)
HEAD_FULL = gl.constexpr(6)  # 2 value heads: T_inv has come, and the weights are there (2)
HEAD_FREE = gl.constexpr(8)  # 2 value heads: all have read them (4)
PAIR_FULL = gl.constexpr(10)  # 2 chunks, heads or halves: q and k have come (1)
PAIR_READ = gl.constexpr(12)  # all have read them (4)
PAIR_FREE = gl.constexpr(14)  # dq and dk have left from their places (2)
SUMS = gl.constexpr(16)  # the sums of a value head are there (3)
SUMS_FREE = gl.constexpr(17)  # they have been read (1)
SCORES = gl.constexpr(18)  # X and N are there (1)
SCORES_FREE = gl.constexpr(19)  # they have been read (2)
ARRIVALS = gl.constexpr((1, 1, 4, 4, 1, 1, 2, 2, 4, 4, 1, 1, 4, 4, 2, 2, 3, 1, 1, 2))


@gluon.jit
def wait(signal, which: gl.constexpr, n):
    """Until the signal is given for the n-th of what has two places in turn."""
    mbarrier.wait(signal.index(which + n % 2), (n // 2) & 1)


@gluon.jit
def weight(lines, w, which: gl.constexpr, layout: gl.constexpr):
    """One weight for each token of a value head's chunk."""
    return lines.index(WEIGHTS * w + which).load(layout)


@gluon.jit
def meet(x, dx):
    """What each row of `x` has in common with that of its gradient so far."""
    return gl.sum(x.load(dx.type.layout).to(gl.float32) * dx, axis=1)


@gluon.jit
def inverse(square, w):
    """T_inv of a value head, which is float16 in either dtype of the inputs."""
    return square.index(INVERSE + w)._reinterpret(gl.float16, [C, C], square.layout)


@gluon.jit
def crossings(J, a, b, t, i):
    """dg of each token t (eq-grad-crossing): all that goes from before t to t or after it.

    `J[r, i]` from token i to a later token r, `a[r]` from the old state to r, `b[r]` from r to the
    next. What leaves a token before t, and has not arrived before t, crosses.
    """
    arrives = gl.convert_layout(b - gl.sum(J, axis=1), COLUMNS)
    leaves = gl.sum(J, axis=0) + arrives
    return gl.sum(gl.where(i[None, :] < t[:, None], leaves[None, :], a[None, :]), axis=1)


@gluon.jit
def delta_warps(
    wide, square, lines, signal, cu_seqlens_ptr, N, slots, tokens,
    H: gl.constexpr, HV: gl.constexpr, V: gl.constexpr, HALVES: gl.constexpr,
    HAS_G: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    """E, in the place of v or R; row sums of what Z meets, and what S and dS' meet."""
    zero = gl.zeros([C, C], gl.float32, TILE)
    r = gl.arange(0, C, ROWS)
    item_count = 0
    head_count = 0
    n = 0
    for item in tl.range(gl.program_id(0), slots * H, gl.num_programs(0), disable_licm=True):
        _, _, start, end = segment(cu_seqlens_ptr, item // H, N, tokens, C, PACKED, True)
        if end - start >= C:
            for half in tl.range(HALVES, disable_licm=True):
                # zero, but not known to be: masks that never change would be kept in registers
                i = gl.arange(0, C, COLUMNS) + (gl.minimum(end - start, C) - C)
                b = item_count % 2
                k = wide.index(2 * b + 1)
                wait(signal, PAIR_FULL, item_count)
                for _ in tl.range(HV // H, disable_licm=True):
                    w = head_count % 2
                    wait(signal, HEAD_FULL, head_count)
                    gamma = weight(lines, w, FROM_START, ROWS)[:, None]
                    beta = weight(lines, w, STRENGTH, ROWS)
                    old = gl.zeros([C], gl.float32, ROWS)
                    Z_v = old
                    Z_R = old
                    Z_reads = old
                    for _ in tl.range(V // BV, disable_licm=True):
                        s = n % STAGES
                        wait(signal, FULL, n)
                        S, dS = wide.index(4 + 2 * s), wide.index(5 + 2 * s)
                        v_tile = square.index(3 * s)
                        R_tile = v_tile._reinterpret(gl.float16, [C, BV], square.layout)
                        if HALVES == 1:
                            read = matmul(k, S.permute((1, 0)), zero, False)
                            v = v_tile.load(TILE).to(gl.float32)
                            Z = square.index(3 * s + 2).load(TILE).to(gl.float32)
                            Z_v += gl.sum(Z * v, axis=1)
                            R = v - gamma * warpgroup_mma_wait(0, deps=[read])
                        else:
                            R = R_tile.load(TILE).to(gl.float32)
                            Z = square.index(3 * s + 2).load(TILE).to(gl.float32)
                        # eq-gdn-chunk-delta
                        R_tile.store((beta[:, None] * R).to(gl.float16))
                        fence_async_shared()
                        E = matmul(inverse(square, w), R_tile, zero, False)
                        Z_R += gl.sum(Z * R, axis=1)
                        E = warpgroup_mma_wait(0, deps=[E])
                        v_tile.store(E.to(wide.dtype))
                        fence_async_shared()
                        mbarrier.arrive(signal.index(DELTA + s), count=1)
                        if HALVES > 1 and HAS_G:  # of R - v, this half's part
                            read = matmul(k, S.permute((1, 0)), zero, False)
                            Z = square.index(3 * s + 2).load(TILE).to(gl.float32)
                            read = warpgroup_mma_wait(0, deps=[read])
                            Z_reads += gl.sum(Z * (gamma * read), axis=1)
                        if HAS_G:  # what S and dS' meet: each row its own
                            meeting = matmul(S, dS.permute((1, 0)), zero, False)
                            meeting = warpgroup_mma_wait(0, deps=[meeting])
                            old += gl.sum(gl.where(i[None, :] == r[:, None], meeting, 0.0), axis=1)
                        mbarrier.arrive(signal.index(FREE + s), count=1)
                        n += 1
                    old *= weight(lines, w, WHOLE, ROWS)
                    if HALVES == 1:
                        k_reads = rest(beta) * (Z_R - Z_v)
                    else:
                        k_reads = -rest(beta) * Z_reads
                        Z_R = gl.where(half == 0, Z_R, 0.0)  # counts once
                    mbarrier.arrive(signal.index(HEAD_FREE + w), count=1)
                    mbarrier.wait(signal.index(SUMS_FREE), (head_count & 1) ^ 1)
                    lines.index(SUM).store(Z_R)
                    lines.index(SUM + 1).store(old + k_reads)
                    lines.index(SUM + 2).store(old - k_reads)
                    mbarrier.arrive(signal.index(SUMS), count=1)
                    head_count += 1
                mbarrier.arrive(signal.index(PAIR_READ + b), count=1)
                item_count += 1


@gluon.jit
def query_warps(
    dq_out, wide, square, lines, signal, dV_ptr, cu_seqlens_ptr, scale, N, slots, tokens,
    H: gl.constexpr, HV: gl.constexpr, V: gl.constexpr, HALVES: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    """dQ and dV; row sums of what q meets."""
    dtype: gl.constexpr = wide.dtype
    WIDTH: gl.constexpr = wide.shape[2]
    sums: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, WIDTH, 16])
    operand: gl.constexpr = gl.DotOperandLayout(0, sums, 2)
    line = gl.arange(0, C, gl.SliceLayout(1, LINES))[:, None]
    dim_v = gl.arange(0, BV, gl.SliceLayout(0, LINES))[None, :]
    item_count = 0
    head_count = 0
    n = 0
    for item in tl.range(gl.program_id(0), slots * H, gl.num_programs(0), disable_licm=True):
        h = item % H
        _, _, start, end = segment(cu_seqlens_ptr, item // H, N, tokens, C, PACKED, True)
        if end - start >= C:
            for half in tl.range(HALVES, disable_licm=True):
                b = item_count % 2
                q = wide.index(2 * b)
                k = wide.index(2 * b + 1)
                dq = gl.zeros([C, WIDTH], gl.float32, sums)
                wait(signal, PAIR_FULL, item_count)
                for hv in tl.range(h * (HV // H), (h + 1) * (HV // H), disable_licm=True):
                    w = head_count % 2
                    dV_at = dV_ptr + (start.to(gl.int64) * HV + hv) * V
                    wait(signal, HEAD_FULL, head_count)
                    gamma = weight(lines, w, FROM_START, gl.SliceLayout(1, operand))
                    beta = weight(lines, w, STRENGTH, gl.SliceLayout(1, LINES))[:, None]
                    mbarrier.arrive(signal.index(HEAD_FREE + w), count=1)
                    decay = (scale * gamma)[:, None]
                    q_sums = -meet(q, dq)
                    for j in tl.range(V // BV, disable_licm=True):
                        s = n % STAGES
                        wait(signal, FULL, n)
                        S = wide.index(4 + 2 * s)
                        do = square.index(3 * s + 1).load(operand).to(gl.float32)
                        dq = matmul((decay * do).to(dtype), S, dq, True)
                        if half == HALVES - 1:  # nobody will ask for Z again
                            Z = square.index(3 * s + 2).load(LINES).to(gl.float32)
                            at = line * (HV * V) + j * BV + dim_v
                            gl.store(dV_at + at, (beta * Z).to(dtype), mask=beta < LEAST)
                        dq = warpgroup_mma_wait(0, deps=[dq])
                        mbarrier.arrive(signal.index(FREE + s), count=1)
                        n += 1
                    q_sums += meet(q, dq)
                    mbarrier.wait(signal.index(SUMS_FREE), (head_count & 1) ^ 1)
                    lines.index(SUM + 3).store(q_sums)
                    mbarrier.arrive(signal.index(SUMS), count=1)
                    # eq-grad-query
                    mbarrier.wait(signal.index(SCORES), head_count & 1)
                    dq = matmul(square.index(X_AT), k, dq, True)
                    dq = warpgroup_mma_wait(0, deps=[dq])
                    mbarrier.arrive(signal.index(SCORES_FREE), count=1)
                    head_count += 1
                leave(dq, dq_out, start, (h * HALVES + half) * WIDTH, q, signal, b, item_count)
                item_count += 1


@gluon.jit
def leave(x, out, row, column, tile, signal, b, item_count):
    """Write dq or dk, by the copy engine, from where q or k stood that nobody reads any more."""
    mbarrier.arrive(signal.index(PAIR_READ + b), count=1)
    wait(signal, PAIR_READ, item_count)
    tile.store(x.to(tile.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(out, [row, column], tile)
    tma.store_wait(0)
    mbarrier.arrive(signal.index(PAIR_FREE + b), count=1)


@gluon.jit
def key_warps(
    dk_out, wide, square, lines, signal, cu_seqlens_ptr, N, slots, tokens,
    H: gl.constexpr, HV: gl.constexpr, V: gl.constexpr, HALVES: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    """dK; row sums of what k meets."""
    dtype: gl.constexpr = wide.dtype
    WIDTH: gl.constexpr = wide.shape[2]
    sums: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, WIDTH, 16])
    operand: gl.constexpr = gl.DotOperandLayout(0, sums, 2)
    operand_rows: gl.constexpr = gl.SliceLayout(1, operand)
    item_count = 0
    head_count = 0
    n = 0
    for item in tl.range(gl.program_id(0), slots * H, gl.num_programs(0), disable_licm=True):
        _, _, start, end = segment(cu_seqlens_ptr, item // H, N, tokens, C, PACKED, True)
        if end - start >= C:
            for half in tl.range(HALVES, disable_licm=True):
                b = item_count % 2
                q = wide.index(2 * b)
                k = wide.index(2 * b + 1)
                dk = gl.zeros([C, WIDTH], gl.float32, sums)
                wait(signal, PAIR_FULL, item_count)
                for _ in tl.range(HV // H, disable_licm=True):
                    w = head_count % 2
                    wait(signal, HEAD_FULL, head_count)
                    to_end = weight(lines, w, TO_END, operand_rows)[:, None]
                    gamma = weight(lines, w, FROM_START, operand_rows)
                    beta = weight(lines, w, STRENGTH, operand_rows)
                    reads = (-gamma * rest(beta))[:, None]
                    mbarrier.arrive(signal.index(HEAD_FREE + w), count=1)
                    k_sums = -meet(k, dk)
                    for _ in tl.range(V // BV, disable_licm=True):
                        s = n % STAGES
                        wait(signal, FULL, n)
                        Z = square.index(3 * s + 2).load(operand).to(gl.float32)
                        dk = matmul((reads * Z).to(dtype), wide.index(4 + 2 * s), dk, True)
                        wait(signal, DELTA, n)
                        # E's operand takes the place of Z's: with both, too few registers are left
                        # for ptxas, which then runs all products of all groups one by one (C7512)
                        dk = warpgroup_mma_wait(0, deps=[dk])
                        E = square.index(3 * s).load(operand).to(gl.float32)
                        dk = matmul((to_end * E).to(dtype), wide.index(5 + 2 * s), dk, True)
                        dk = warpgroup_mma_wait(0, deps=[dk])
                        mbarrier.arrive(signal.index(FREE + s), count=1)
                        n += 1
                    k_sums += meet(k, dk)
                    mbarrier.wait(signal.index(SUMS_FREE), (head_count & 1) ^ 1)
                    lines.index(SUM + 4).store(k_sums)
                    mbarrier.arrive(signal.index(SUMS), count=1)
                    # eq-grad-key
                    mbarrier.wait(signal.index(SCORES), head_count & 1)
                    X, N_ = square.index(X_AT), square.index(N_AT)
                    dk = matmul(X.permute((1, 0)), q, dk, True)
                    dk = matmul(N_, k, dk, True)
                    dk = matmul(N_.permute((1, 0)), k, dk, True)
                    dk = warpgroup_mma_wait(0, deps=[dk])
                    mbarrier.arrive(signal.index(SCORES_FREE), count=1)
                    head_count += 1
                column = (item % H * HALVES + half) * WIDTH
                leave(dk, dk_out, start, column, k, signal, b, item_count)
                item_count += 1


@gluon.jit
def add(ptr, x, half, HALVES: gl.constexpr):
    """Write the first half's part of a sum; a thread adds to what it wrote."""
    if HALVES > 1:
        x += gl.load(ptr, mask=half > 0, other=0.0)
    gl.store(ptr, x)


@gluon.jit
def score_warps(
    wide, square, lines, signal, dg_ptr, dbeta_ptr, cu_seqlens_ptr, scale, N, slots, tokens,
    H: gl.constexpr, HV: gl.constexpr, V: gl.constexpr, HALVES: gl.constexpr,
    HAS_G: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    """X, N, dbeta and dg."""
    dtype: gl.constexpr = wide.dtype
    zero = gl.zeros([C, C], gl.float32, TILE)
    r = gl.arange(0, C, ROWS)
    item_count = 0
    head_count = 0
    n = 0
    for item in tl.range(gl.program_id(0), slots * H, gl.num_programs(0), disable_licm=True):
        h = item % H
        _, _, start, end = segment(cu_seqlens_ptr, item // H, N, tokens, C, PACKED, True)
        if end - start >= C:
            for half in tl.range(HALVES, disable_licm=True):
                # zero, but not known to be: masks that never change would be kept in registers
                i = gl.arange(0, C, COLUMNS) + (gl.minimum(end - start, C) - C)
                b = item_count % 2
                q, k = wide.index(2 * b), wide.index(2 * b + 1)
                wait(signal, PAIR_FULL, item_count)
                for hv in tl.range(h * (HV // H), (h + 1) * (HV // H), disable_licm=True):
                    X = zero
                    Y = zero
                    for _ in tl.range(V // BV, disable_licm=True):
                        s = n % STAGES
                        wait(signal, DELTA, n)
                        E_T = square.index(3 * s).permute((1, 0))
                        X = matmul(square.index(3 * s + 1), E_T, X, True)
                        Y = matmul(square.index(3 * s + 2), E_T, Y, True)
                        X, Y = warpgroup_mma_wait(0, deps=[X, Y])
                        mbarrier.arrive(signal.index(FREE + s), count=1)
                        n += 1
                    w = head_count % 2
                    wait(signal, HEAD_FULL, head_count)
                    beta = weight(lines, w, STRENGTH, ROWS)
                    c_r = weight(lines, w, LOG, ROWS)[:, None]
                    c_i = weight(lines, w, LOG, COLUMNS)[None, :]
                    mbarrier.arrive(signal.index(HEAD_FREE + w), count=1)
                    Gamma = gl.exp2(gl.where(i[None, :] <= r[:, None], c_r - c_i, float("-inf")))
                    X = scale * Gamma * X
                    Y = gl.where(i[None, :] < r[:, None], Gamma * Y, 0.0)
                    mbarrier.wait(signal.index(SCORES_FREE), (head_count & 1) ^ 1)
                    square.index(X_AT).store(X.to(dtype))
                    square.index(N_AT).store((-rest(beta)[:, None] * Y).to(dtype))
                    fence_async_shared()
                    mbarrier.arrive(signal.index(SCORES), count=1)

                    overlap = matmul(k, k.permute((1, 0)), zero, False)
                    Y = Y * warpgroup_mma_wait(0, deps=[overlap])
                    J = -rest(beta)[:, None] * Y
                    if HAS_G:
                        similar = matmul(q, k.permute((1, 0)), zero, False)
                        # not kept: registers are few
                        X = square.index(X_AT).load(TILE).to(gl.float32)
                        J += X * warpgroup_mma_wait(0, deps=[similar])
                    last = hv == (h + 1) * (HV // H) - 1
                    mbarrier.arrive(signal.index(PAIR_READ + b), count=1, pred=last)
                    # eq-grad-beta
                    mbarrier.wait(signal.index(SUMS), head_count & 1)
                    number = start.to(gl.int64) * HV + hv
                    dbeta = (lines.index(SUM).load(ROWS) - gl.sum(Y, axis=1)) / factor(beta)
                    add(dbeta_ptr + number + r * HV, dbeta, half, HALVES)
                    if HAS_G:
                        J = gl.where(i[None, :] < r[:, None], J, 0.0)
                        a = lines.index(SUM + 1).load(COLUMNS) + lines.index(SUM + 3).load(COLUMNS)
                        is_read = lines.index(SUM + 2).load(ROWS) + lines.index(SUM + 4).load(ROWS)
                        dg = gl.convert_layout(crossings(J, a, is_read, r, i), TOKEN)
                        add(dg_ptr + number + gl.arange(0, C, TOKEN) * HV, dg, half, HALVES)
                    mbarrier.arrive(signal.index(SUMS_FREE), count=1)
                    head_count += 1
                item_count += 1
