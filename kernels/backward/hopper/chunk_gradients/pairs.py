"""The fourth group of warps of `kernel`: what is a number for each pair of tokens.

    X  = Gamma . dO E^T,  N = -tril(diag(beta) (Gamma . Z E^T), -1)
    dbeta = row sums of Z . (R - tril(Gamma . K K^T, -1) E)               eq-grad-beta
    dg, from all that a token's decay lies between                        eq-grad-crossing

X and N go to the query warps and the key warps (`groups`), which hand back sums of rows.

Reference: `gdn_ref.backward.chunk`.
"""

import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    warpgroup_mma_wait,
)

from ....common.numbers import C
from ....forward.hopper.chain import (
    BV,
    COLUMNS,
    LOG,
    ROWS,
    STRENGTH,
    TILE,
    matmul,
    tile_factor,
    tile_rest,
)
from .places import (
    A_OF_QUERY,
    A_OF_STATE,
    B_OF_KEY,
    B_OF_STATE,
    DELTA,
    FREE,
    HEAD_FREE,
    HEAD_FULL,
    K_FULL,
    PAIR_READ,
    Q_FULL,
    SCORES,
    SCORES_FREE,
    SUM_OF_Z_R,
    SUMS,
    SUMS_FREE,
    N_tile,
    X_tile,
    Z_tile,
    arrive,
    chunk_of,
    column_numbers,
    do_tile,
    k_tile,
    q_tile,
    steps,
    v_tile,
    wait,
    wait_free,
    weight_of,
)

NUMBERS = gl.constexpr(gl.BlockedLayout([1], [32], [4], [0]))


@gluon.jit
def crossing_sums(J, a, b, t, i):
    """dg of each token t (eq-grad-crossing): all that goes from before t to t or after it.

    `J[r, i]` from token i to a later token r, `a[r]` from the old state to r, `b[r]` from r to the
    next. What leaves a token before t, and has not arrived before t, crosses.
    """
    arrives = gl.convert_layout(b - gl.sum(J, axis=1), COLUMNS)
    leaves = gl.sum(J, axis=0) + arrives
    return gl.sum(gl.where(i[None, :] < t[:, None], leaves[None, :], a[None, :]), axis=1)


@gluon.jit
def add(ptr, x, half, HALVES: gl.constexpr):
    """Write the part of the first half, or add that of the second: a thread to what it wrote."""
    if HALVES > 1:
        x += gl.load(ptr, mask=half > 0, other=0.0)
    gl.store(ptr, x)


@gluon.jit
def pair_warps(shared, dg_ptr, dbeta_ptr, chunks, scale, case: gl.constexpr):
    """X and N, as early as can be, then dbeta and dg, for which the other groups have the sums.

    X and Y, of which N = -rest(beta) Y, are summed over the slices. J is X . Q K^T + N . K K^T,
    what goes from token i to a later token r.
    """
    H: gl.constexpr = case.H
    HV: gl.constexpr = case.HV
    V: gl.constexpr = case.V
    wide, square = shared.wide, shared.square
    vectors, signal = shared.vectors, shared.signal
    WIDTH: gl.constexpr = shared.wide.shape[2]
    HALVES: gl.constexpr = case.K // WIDTH
    dtype: gl.constexpr = wide.dtype
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
                q, k = q_tile(wide), k_tile(wide, pair)
                wait(signal, K_FULL, pair)
                for hv in tl.range(h * (HV // H), (h + 1) * (HV // H), disable_licm=True):
                    X = zero
                    Y = zero
                    for _ in tl.range(V // BV, disable_licm=True):
                        wait(signal, DELTA, n)
                        E_T = v_tile(square, n).permute((1, 0))
                        X = matmul(do_tile(square, n), E_T, X, True)
                        Y = matmul(Z_tile(square, n), E_T, Y, True)
                        X, Y = warpgroup_mma_wait(0, deps=[X, Y])
                        arrive(signal, FREE, n)
                        n += 1
                    wait(signal, HEAD_FULL, head)
                    beta = weight_of(vectors, head, STRENGTH, ROWS)
                    c_r = weight_of(vectors, head, LOG, ROWS)[:, None]
                    c_i = weight_of(vectors, head, LOG, COLUMNS)[None, :]
                    arrive(signal, HEAD_FREE, head)
                    Gamma = gl.exp2(gl.where(i[None, :] <= r[:, None], c_r - c_i, float("-inf")))
                    X = scale * Gamma * X
                    Y = gl.where(i[None, :] < r[:, None], Gamma * Y, 0.0)
                    wait_free(signal, SCORES_FREE, head)
                    X_tile(square).store(X.to(dtype))
                    N_tile(square).store((-tile_rest(beta)[:, None] * Y).to(dtype))
                    fence_async_shared()
                    arrive(signal, SCORES, head)

                    overlap = matmul(k, k.permute((1, 0)), zero, False)
                    Y = Y * warpgroup_mma_wait(0, deps=[overlap])
                    J = -tile_rest(beta)[:, None] * Y
                    if case.HAS_G:
                        wait(signal, Q_FULL, pair)
                        similar = matmul(q, k.permute((1, 0)), zero, False)
                        X = X_tile(square).load(TILE).to(gl.float32)  # registers are few: not kept
                        J += X * warpgroup_mma_wait(0, deps=[similar])
                    last = hv == (h + 1) * (HV // H) - 1
                    arrive(signal, PAIR_READ, pair, last)
                    # eq-grad-beta
                    wait(signal, SUMS, head)
                    number = start.to(gl.int64) * HV + hv
                    dbeta = vectors.index(SUM_OF_Z_R).load(ROWS) - gl.sum(Y, axis=1)
                    dbeta = dbeta / tile_factor(beta)
                    add(dbeta_ptr + number + r * HV, dbeta, half, HALVES)
                    if case.HAS_G:
                        J = gl.where(i[None, :] < r[:, None], J, 0.0)
                        a = vectors.index(A_OF_STATE).load(COLUMNS)
                        a += vectors.index(A_OF_QUERY).load(COLUMNS)
                        b = vectors.index(B_OF_STATE).load(ROWS)
                        b += vectors.index(B_OF_KEY).load(ROWS)
                        dg = gl.convert_layout(crossing_sums(J, a, b, r, i), NUMBERS)
                        add(dg_ptr + number + gl.arange(0, C, NUMBERS) * HV, dg, half, HALVES)
                    arrive(signal, SUMS_FREE, head)
                    head += 1
                pair += 1
