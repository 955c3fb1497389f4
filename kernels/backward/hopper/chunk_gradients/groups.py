"""Three groups of warps of `kernel`: they find E, dQ and dV, and dK.

    E  = T_inv diag(beta) R, where R = V - diag(gamma) K S^T              eq-gdn-chunk-delta
    dQ = diag(gamma) dO S + X K,  dV = diag(beta) Z                       eq-grad-query
    dK = X^T Q + (N + N^T) K - diag(beta gamma) Z S
       + diag(gamma_C / gamma_i) E dS'                                    eq-grad-key

and, for the fourth group (`pairs`), sums of rows. Each group goes through chunks and key
heads, halves of the key dimensions if there are 256, value heads, and slices of 64 value
dimensions; `places` has the signals by which they meet.

Registers decide how this is written, about 112 a thread. `disable_licm`: the compiler would compute
masks and addresses that do not change once, before the loops, keep them, and spill them. What is
spilled comes from the second-level cache, since shared memory leaves the first one little room, and
each such number costs as much as a chunk's products.

Reference: `gdn_ref.backward.chunk`.
"""

import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    tma,
    warpgroup_mma_wait,
)

from ....common.numbers import LEAST, C
from ....forward.hopper.chain import (
    BV,
    FROM_START,
    LINES,
    ROWS,
    STRENGTH,
    TILE,
    TO_END,
    WHOLE,
    matmul,
    tile_rest,
)
from .places import (
    A_OF_QUERY,
    A_OF_STATE,
    B_OF_KEY,
    B_OF_STATE,
    DELTA,
    FREE,
    FULL,
    GRADIENT_FREE,
    GRADIENT_FULL,
    HEAD_FREE,
    HEAD_FULL,
    K_FREE,
    K_FULL,
    PAIR_READ,
    Q_FREE,
    Q_FULL,
    SCORES,
    SCORES_FREE,
    STATE_READ,
    SUM_OF_Z_R,
    SUMS,
    SUMS_FREE,
    N_tile,
    S_tile,
    T_tile,
    X_tile,
    Z_tile,
    arrive,
    as_float16,
    carried_tile,
    chunk_of,
    column_numbers,
    do_tile,
    dS_tile,
    k_tile,
    q_tile,
    steps,
    v_tile,
    wait,
    wait_free,
    weight_of,
)


@gluon.jit
def sums_of_products(x, dx):
    """Sums of the rows of `x . dx`, where `x` is a tile in shared memory."""
    return gl.sum(x.load(dx.type.layout).to(gl.float32) * dx, axis=1)


@gluon.jit
def next_in_place(S, whole, E, k, signal, n):
    """S becomes the state after the chunk, in its place (eq-gdn-chunk-state); `E` has its decay.

    Half of the keys at a time, since registers are few.
    """
    wait(signal, STATE_READ, n)
    for p in gl.static_range(S.shape[1] // C):
        part = S.slice(p * C, C, dim=1)
        S_next = part.load(TILE).to(gl.float32) * whole
        S_next = matmul(E.permute((1, 0)), k.slice(p * C, C, dim=1), S_next, True)
        part.store(warpgroup_mma_wait(0, deps=[S_next]).to(S.dtype))
    fence_async_shared()


@gluon.jit
def delta_warps(shared, chunks, case: gl.constexpr):
    """E, in the place of v or R, as soon as a slice has come: the other groups wait for it.

    Of the row sums those that ask for Z, R or S: Z . R for dbeta; for dg what keys read of the old
    state, -Z . (gamma K S^T), and what goes from the old state to the next, S . dS', whose rows
    need not be those of tokens: only their sum counts.

    With all of K in one half gamma K S^T is at hand. With half of it R has come in the place of v,
    and each half adds its part of gamma K S^T to dg; Z . R counts once.
    """
    H: gl.constexpr = case.H
    HV: gl.constexpr = case.HV
    V: gl.constexpr = case.V
    wide, square = shared.wide, shared.square
    vectors, signal = shared.vectors, shared.signal
    WIDTH: gl.constexpr = shared.wide.shape[2]
    HALVES: gl.constexpr = case.K // WIDTH
    zero = gl.zeros([C, C], gl.float32, TILE)
    r = gl.arange(0, C, ROWS)
    pair = 0
    head = 0
    n = 0
    for step in tl.range(steps(chunks, case), disable_licm=True):
        _, h, start, end = chunk_of(step, chunks, case)
        if end - start >= C:
            for half in tl.range(HALVES, disable_licm=True):
                i = column_numbers(end - start)
                k = k_tile(wide, pair)
                wait(signal, K_FULL, pair)
                for _ in tl.range(HV // H, disable_licm=True):
                    wait(signal, HEAD_FULL, head)
                    gamma = weight_of(vectors, head, FROM_START, ROWS)[:, None]
                    beta = weight_of(vectors, head, STRENGTH, ROWS)
                    to_end = weight_of(vectors, head, TO_END, ROWS)[:, None]
                    old = gl.zeros([C], gl.float32, ROWS)
                    Z_v = old
                    Z_R = old
                    Z_reads = old
                    for _ in tl.range(V // BV, disable_licm=True):
                        wait(signal, FULL, n)
                        S, dS = S_tile(wide, n, case), dS_tile(wide, n, case)
                        E_tile = v_tile(square, n)
                        R_tile = as_float16(E_tile)
                        if HALVES == 1:
                            read = matmul(k, S.permute((1, 0)), zero, False)
                            v = E_tile.load(TILE).to(gl.float32)
                            Z = Z_tile(square, n).load(TILE).to(gl.float32)
                            Z_v += gl.sum(Z * v, axis=1)
                            R = v - gamma * warpgroup_mma_wait(0, deps=[read])
                        else:
                            R = R_tile.load(TILE).to(gl.float32)
                            Z = Z_tile(square, n).load(TILE).to(gl.float32)
                        # eq-gdn-chunk-delta
                        R_tile.store((beta[:, None] * R).to(gl.float16))
                        fence_async_shared()
                        E = matmul(T_tile(square, head), R_tile, zero, False)
                        Z_R += gl.sum(Z * R, axis=1)
                        E = warpgroup_mma_wait(0, deps=[E])
                        E_tile.store(E.to(wide.dtype))
                        if case.SPAN > 1:
                            carried_tile(square).store((to_end * E).to(wide.dtype))
                        fence_async_shared()
                        arrive(signal, DELTA, n)
                        if HALVES > 1 and case.HAS_G:
                            read = matmul(k, S.permute((1, 0)), zero, False)
                            Z = Z_tile(square, n).load(TILE).to(gl.float32)
                            read = warpgroup_mma_wait(0, deps=[read])
                            Z_reads += gl.sum(Z * (gamma * read), axis=1)
                        if case.HAS_G:  # the diagonal of S dS'^T
                            wait(signal, GRADIENT_FULL, n)
                            meeting = matmul(S, dS.permute((1, 0)), zero, False)
                            meeting = warpgroup_mma_wait(0, deps=[meeting])
                            old += gl.sum(gl.where(i[None, :] == r[:, None], meeting, 0.0), axis=1)
                        arrive(signal, GRADIENT_FREE, n)
                        if case.SPAN > 1:
                            whole = weight_of(vectors, head, WHOLE, ROWS)[:, None]
                            next_in_place(S, whole, carried_tile(square), k, signal, n)
                        arrive(signal, FREE, n)
                        n += 1
                    old *= weight_of(vectors, head, WHOLE, ROWS)
                    if HALVES == 1:
                        k_reads = tile_rest(beta) * (Z_R - Z_v)
                    else:
                        k_reads = -tile_rest(beta) * Z_reads
                        Z_R = gl.where(half == 0, Z_R, 0.0)
                    arrive(signal, HEAD_FREE, head)
                    wait_free(signal, SUMS_FREE, head)
                    vectors.index(SUM_OF_Z_R).store(Z_R)
                    vectors.index(A_OF_STATE).store(old + k_reads)
                    vectors.index(B_OF_STATE).store(old - k_reads)
                    arrive(signal, SUMS, head)
                    head += 1
                arrive(signal, PAIR_READ, pair)
                pair += 1


@gluon.jit
def query_warps(dq_out, shared, dV_ptr, chunks, scale, case: gl.constexpr):
    """dQ, and dV where Z itself still stands in its place: where beta is small.

    Row sums of q . dq, less what they were before this head, are what its queries read of the old
    state: X K is added after them.
    """
    H: gl.constexpr = case.H
    HV: gl.constexpr = case.HV
    V: gl.constexpr = case.V
    wide, square = shared.wide, shared.square
    vectors, signal = shared.vectors, shared.signal
    WIDTH: gl.constexpr = shared.wide.shape[2]
    HALVES: gl.constexpr = case.K // WIDTH
    dtype: gl.constexpr = wide.dtype
    sums: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, WIDTH, 16])
    operand: gl.constexpr = gl.DotOperandLayout(0, sums, 2)
    line = gl.arange(0, C, gl.SliceLayout(1, LINES))[:, None]
    dim_v = gl.arange(0, BV, gl.SliceLayout(0, LINES))[None, :]
    pair = 0
    head = 0
    n = 0
    for step in tl.range(steps(chunks, case), disable_licm=True):
        _, h, start, end = chunk_of(step, chunks, case)
        if end - start >= C:
            for half in tl.range(HALVES, disable_licm=True):
                q = q_tile(wide)
                k = k_tile(wide, pair)
                dq = gl.zeros([C, WIDTH], gl.float32, sums)
                q_sums = gl.zeros([C], gl.float32, gl.SliceLayout(1, sums))
                wait(signal, K_FULL, pair)
                for hv in tl.range(h * (HV // H), (h + 1) * (HV // H), disable_licm=True):
                    dV_at = dV_ptr + (start.to(gl.int64) * HV + hv) * V
                    wait(signal, HEAD_FULL, head)
                    gamma = weight_of(vectors, head, FROM_START, gl.SliceLayout(1, operand))
                    beta = weight_of(vectors, head, STRENGTH, gl.SliceLayout(1, LINES))[:, None]
                    arrive(signal, HEAD_FREE, head)
                    decay = (scale * gamma)[:, None]
                    for j in tl.range(V // BV, disable_licm=True):
                        wait(signal, FULL, n)
                        S = S_tile(wide, n, case)
                        do = do_tile(square, n).load(operand).to(gl.float32)
                        dq = matmul((decay * do).to(dtype), S, dq, True)
                        if half == HALVES - 1:  # nobody will ask for Z again
                            Z = Z_tile(square, n).load(LINES).to(gl.float32)
                            at = line * (HV * V) + j * BV + dim_v
                            gl.store(dV_at + at, (beta * Z).to(dtype), mask=beta < LEAST)
                        dq = warpgroup_mma_wait(0, deps=[dq])
                        if case.SPAN > 1:
                            arrive(signal, STATE_READ, n)
                        arrive(signal, FREE, n)
                        n += 1
                    wait(signal, Q_FULL, pair)
                    q_sums += sums_of_products(q, dq)
                    wait_free(signal, SUMS_FREE, head)
                    vectors.index(A_OF_QUERY).store(q_sums)
                    arrive(signal, SUMS, head)
                    # eq-grad-query
                    wait(signal, SCORES, head)
                    dq = matmul(X_tile(square), k, dq, True)
                    dq = warpgroup_mma_wait(0, deps=[dq])
                    arrive(signal, SCORES_FREE, head)
                    q_sums = -sums_of_products(q, dq)
                    head += 1
                column = (h * HALVES + half) * WIDTH
                leave_for_memory(dq, dq_out, start, column, q, signal, Q_FREE, pair)
                pair += 1


@gluon.jit
def leave_for_memory(x, out, row, column, tile, signal, free: gl.constexpr, pair):
    """Write dq or dk by the copy engine, from the place of q or k when all have read it."""
    arrive(signal, PAIR_READ, pair)
    wait(signal, PAIR_READ, pair)
    tile.store(x.to(tile.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(out, [row, column], tile)
    tma.store_wait(0)
    arrive(signal, free, pair)


@gluon.jit
def key_warps(dk_out, shared, chunks, case: gl.constexpr):
    """dK; and row sums of k . dk like those of q . dq, for the old state and the next."""
    H: gl.constexpr = case.H
    HV: gl.constexpr = case.HV
    V: gl.constexpr = case.V
    wide, square = shared.wide, shared.square
    vectors, signal = shared.vectors, shared.signal
    WIDTH: gl.constexpr = shared.wide.shape[2]
    HALVES: gl.constexpr = case.K // WIDTH
    dtype: gl.constexpr = wide.dtype
    sums: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, WIDTH, 16])
    operand: gl.constexpr = gl.DotOperandLayout(0, sums, 2)
    operand_rows: gl.constexpr = gl.SliceLayout(1, operand)
    pair = 0
    head = 0
    n = 0
    for step in tl.range(steps(chunks, case), disable_licm=True):
        _, h, start, end = chunk_of(step, chunks, case)
        if end - start >= C:
            for half in tl.range(HALVES, disable_licm=True):
                q = q_tile(wide)
                k = k_tile(wide, pair)
                dk = gl.zeros([C, WIDTH], gl.float32, sums)
                wait(signal, K_FULL, pair)
                for _ in tl.range(HV // H, disable_licm=True):
                    wait(signal, HEAD_FULL, head)
                    to_end = weight_of(vectors, head, TO_END, operand_rows)[:, None]
                    gamma = weight_of(vectors, head, FROM_START, operand_rows)
                    beta = weight_of(vectors, head, STRENGTH, operand_rows)
                    reads = (-gamma * tile_rest(beta))[:, None]
                    arrive(signal, HEAD_FREE, head)
                    k_sums = -sums_of_products(k, dk)
                    for _ in tl.range(V // BV, disable_licm=True):
                        wait(signal, FULL, n)
                        Z = Z_tile(square, n).load(operand).to(gl.float32)
                        dk = matmul((reads * Z).to(dtype), S_tile(wide, n, case), dk, True)
                        wait(signal, DELTA, n)
                        # the one wait: E's operand takes the registers of Z's. With both of them
                        # ptxas has too few, and runs all products of all groups one by one (C7512)
                        dk = warpgroup_mma_wait(0, deps=[dk])
                        if case.SPAN > 1:
                            arrive(signal, STATE_READ, n)
                        E = v_tile(square, n).load(operand).to(gl.float32)
                        wait(signal, GRADIENT_FULL, n)
                        dk = matmul((to_end * E).to(dtype), dS_tile(wide, n, case), dk, True)
                        dk = warpgroup_mma_wait(0, deps=[dk])
                        arrive(signal, GRADIENT_FREE, n)
                        arrive(signal, FREE, n)
                        n += 1
                    k_sums += sums_of_products(k, dk)
                    wait_free(signal, SUMS_FREE, head)
                    vectors.index(B_OF_KEY).store(k_sums)
                    arrive(signal, SUMS, head)
                    # eq-grad-key
                    wait(signal, SCORES, head)
                    wait(signal, Q_FULL, pair)
                    X, N_ = X_tile(square), N_tile(square)
                    dk = matmul(X.permute((1, 0)), q, dk, True)
                    dk = matmul(N_, k, dk, True)
                    dk = matmul(N_.permute((1, 0)), k, dk, True)
                    dk = warpgroup_mma_wait(0, deps=[dk])
                    arrive(signal, SCORES_FREE, head)
                    head += 1
                column = (h * HALVES + half) * WIDTH
                leave_for_memory(dk, dk_out, start, column, k, signal, K_FREE, pair)
                pair += 1
