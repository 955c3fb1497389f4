"""A chunk's matrices in shared memory, for `fused`: A, the scores, and T_inv = (I + A)^-1.

    A     = tril(diag(beta) (Gamma . K K^T), -1)                          eq-gdn-interaction
    T_inv = (I + A)^-1                                                    eq-inverse-blocks

With X the inverse of the diagonal blocks of 32 tokens, which `solver` finds, the block below is
-X_1 A_10 X_0, in blocks of 16, by products of a warp: each warp has 16 rows of them all.

Reference: `gdn_ref.wy.interaction`, and `gdn_ref.wy.solve` on the identity.
"""

from collections import namedtuple

import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import mma_v2
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)

from ....common.numbers import C
from ..chain import (
    COLUMNS,
    LINES,
    LOG,
    ROWS,
    STRENGTH,
    TILE,
    load_weight,
    matmul,
    weight,
)
from .solver import solution

STAGES = gl.constexpr(3)  # chunks in flight
# 64 rows by a block of columns, 16 rows a warp
BAND = gl.constexpr(gl.NVMMADistributedLayout([2, 0], [4, 1], [16, 8]))
BAND_LEFT = gl.constexpr(gl.DotOperandLayout(0, BAND.value, 2))
BAND_RIGHT = gl.constexpr(gl.DotOperandLayout(1, BAND.value, 2))

# what the matrix warps have for the chains, in two places
Matrices = namedtuple("Matrices", "scores T_inv ready used")


@gluon.jit
def diagonal_of(A):
    """The diagonal blocks of `A`, one above the other."""
    parts = gl.permute(gl.reshape(A, [C, 2, 2, 16]), (0, 3, 1, 2))
    even, odd = gl.split(parts)
    A_0, A_2 = gl.split(even)
    A_1, A_3 = gl.split(odd)
    block = gl.arange(0, C, gl.SliceLayout(1, A_0.type.layout))[:, None] // 16
    return gl.where(block < 2, gl.where(block < 1, A_0, A_1), gl.where(block < 3, A_2, A_3))


@gluon.jit
def interact(j, tokens, scale, ring, matrices, blocks):
    """A and `scale (Gamma . Q K^T)` of chunk `j`. What is on A's diagonal and above nobody reads.

    Gamma comes with the scale in it, and beta without.
    """
    PARTS: gl.constexpr = ring.k.shape[0] // STAGES
    weights = ring.weights
    r = gl.arange(0, C, ROWS)[:, None]
    i = gl.arange(0, C, COLUMNS)[None, :]
    s = j % STAGES
    b = j % 2
    left = tokens - j * C
    mbarrier.wait(ring.full.index(s), (j // STAGES) & 1)
    if left < C:  # the tokens after ours may hold anything
        ours = gl.arange(0, C, gl.SliceLayout(1, LINES))[:, None] < left
        for p in gl.static_range(PARTS):
            k = ring.k.index(s * PARTS + p)
            k.store(gl.where(ours, k.load(LINES), 0.0))
        fence_async_shared()
    c_r = load_weight(weights, s, LOG, ROWS)[:, None] + gl.log2(scale)
    c_i = weight(weights, s, LOG)
    beta = load_weight(weights, s, STRENGTH, ROWS)[:, None] / scale
    overlap = warpgroup_mma_init(gl.zeros([C, C], gl.float32, TILE))
    for p in gl.static_range(PARTS):
        k = ring.k.index(s * PARTS + p)
        overlap = matmul(k, k.permute((1, 0)), overlap, p > 0)
    Gamma = gl.where(gl.where(r < left, r, -1) >= i, gl.exp2(c_r - c_i), 0.0)
    overlap, Gamma = warpgroup_mma_wait(0, deps=[overlap, Gamma])

    # eq-gdn-interaction
    A = beta * Gamma * overlap
    blocks.diagonal.index(b).store(diagonal_of(A))
    blocks.A.index(b).store(A.to(gl.float16))
    mbarrier.arrive(blocks.found.index(b), count=1)

    scores = warpgroup_mma_init(gl.zeros([C, C], gl.float32, TILE))
    for p in gl.static_range(PARTS):
        q, k = ring.q.index(s * PARTS + p), ring.k.index(s * PARTS + p)
        scores = matmul(q, k.permute((1, 0)), scores, p > 0)
    scores = Gamma * warpgroup_mma_wait(0, deps=[scores])
    mbarrier.arrive(ring.free.index(s), count=1)
    mbarrier.wait(matrices.used.index(b), ((j // 2) & 1) ^ 1)
    matrices.scores.index(b).store(scores.to(ring.k.dtype))


@gluon.jit
def invert(j, matrices, blocks):
    """`T_inv` of chunk `j`: blocks `X_ab` of 16 tokens are there for a, b < 2 and for a, b > 1."""
    b = j % 2
    block = gl.arange(0, C, gl.SliceLayout(1, BAND))[:, None] // 16
    zero = gl.zeros([C, 16], gl.float32, BAND)
    A = blocks.A.index(b)
    X_diagonal, X_below = solution(blocks, b)
    mbarrier.wait(blocks.solved.index(b), (j // 2) & 1)
    X_aa, X_ab = X_diagonal.load(BAND_LEFT), X_below.load(BAND_LEFT)
    X_00, X_11 = X_diagonal.slice(0, 16).load(BAND_RIGHT), X_diagonal.slice(16, 16).load(BAND_RIGHT)
    X_10 = X_below.slice(16, 16).load(BAND_RIGHT)
    # eq-inverse-blocks; what comes out in the rows of blocks 0 and 1 is not taken
    XA = ()
    for e in gl.static_range(2):
        A_2e = A.slice(32, 16).slice(16 * e, 16, dim=1).load(BAND_RIGHT)
        A_3e = A.slice(48, 16).slice(16 * e, 16, dim=1).load(BAND_RIGHT)
        third = mma_v2(X_ab, A_2e, mma_v2(X_aa, A_3e, zero))
        rows = gl.where(block == 2, mma_v2(X_aa, A_2e, zero), third)
        XA = XA + (gl.convert_layout(rows.to(gl.float16), BAND_LEFT),)
    T_a0 = -mma_v2(XA[1], X_10, mma_v2(XA[0], X_00, zero))
    T_a1 = -mma_v2(XA[1], X_11, zero)
    T_aa = X_diagonal.load(BAND).to(gl.float32)
    T_ab = X_below.load(BAND).to(gl.float32)
    columns_0 = gl.where(block == 0, T_aa, gl.where(block == 1, T_ab, T_a0))
    columns_1 = gl.where(block == 1, T_aa, gl.where(block == 0, 0.0, T_a1))
    columns_2 = gl.where(block == 2, T_aa, gl.where(block == 3, T_ab, 0.0))
    columns_3 = gl.where(block == 3, T_aa, 0.0)
    T_inv = gl.join(gl.join(columns_0, columns_2), gl.join(columns_1, columns_3))
    T_inv = gl.reshape(gl.permute(T_inv, (0, 2, 3, 1)), [C, C]).to(gl.float16)
    matrices.T_inv.index(b).store(gl.convert_layout(T_inv, TILE))
    fence_async_shared()
    mbarrier.arrive(matrices.ready.index(b), count=1)


@gluon.jit
def matrix_warps(tokens, scale, ring, matrices, blocks):
    """The scores and `T_inv` of chunk after chunk; A is found a chunk ahead of its inverse."""
    chunks = (tokens + C - 1) // C
    for j in tl.range(-1, chunks, disable_licm=True):
        if j + 1 < chunks:
            interact(j + 1, tokens, scale, ring, matrices, blocks)
        if j >= 0:
            invert(j, matrices, blocks)
