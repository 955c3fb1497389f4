"""A chunk's matrices in shared memory, for `fused`: A, the scores, and (I + A)^-1.

    A     = tril(diag(beta) (Gamma . K K^T), -1)                          eq-gdn-interaction
    T_inv = (I + A)^-1                                                    eq-inverse-blocks

Two warps find the diagonal blocks of 16 tokens by substitution. The other four double them, to 32
and 64: with X the inverse of the diagonal blocks, the blocks below are those of -X A X; what else
that product has is not looked at.

Reference: `gdn_ref.wy.interaction`, and `gdn_ref.wy.solve` on the identity.
"""

from collections import namedtuple

import triton.language as tl
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)

from gdn_ref.kernels.common.numbers import C
from gdn_ref.kernels.common.triton_private import reinterpreted
from gdn_ref.kernels.forward.hopper.chain import (
    COLUMNS,
    LINES,
    LOG,
    OPERAND,
    ROWS,
    STRENGTH,
    TILE,
    load_weight,
    matmul,
    weight,
)

STAGES = gl.constexpr(3)  # chunks in flight
BLOCKS = gl.constexpr(4)  # of 16 tokens
# [block, row, column], a row of each diagonal block: a thread of two warps keeps a column
ROW = gl.constexpr(
    gl.DistributedLinearLayout(
        reg_bases=[],
        lane_bases=[[0, 0, 1], [0, 0, 2], [0, 0, 4], [0, 0, 8], [1, 0, 0]],
        warp_bases=[[2, 0, 0]],
        block_bases=[],
        shape=[4, 1, 16],
    )
)
# four numbers of a row of each block, which all threads of that block read
FOUR = gl.constexpr(
    gl.DistributedLinearLayout(
        reg_bases=[[0, 0, 1], [0, 0, 2]],
        lane_bases=[[0, 0, 0]] * 4 + [[1, 0, 0]],
        warp_bases=[[2, 0, 0]],
        block_bases=[],
        shape=[4, 1, 4],
    )
)
SOLVED = gl.constexpr(gl.SliceLayout(1, ROW.value))
PLAIN = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))
PLAIN_3D = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [2, 1, 0]))

# what the matrix warps have for the chains, in two places; A, its diagonal blocks, their solution
Matrices = namedtuple("Matrices", "scores T_inv ready used")
Blocks = namedtuple("Blocks", "A diagonal found solved")


@gluon.jit
def four_of(A, s: gl.constexpr, first: gl.constexpr):
    """Numbers `first` to `first + 3` of row s of each diagonal block of A."""
    four = A.slice(s, 1, dim=1).slice(first, 4, dim=2).load(FOUR)
    even, odd = gl.split(gl.reshape(four, [BLOCKS, 2, 2]))
    a, c = gl.split(even)
    b, d = gl.split(odd)
    numbers = ()
    for x in gl.static_range(4):
        numbers = numbers + (gl.convert_layout((a, b, c, d)[x], gl.SliceLayout(1, SOLVED)),)
    return numbers


@gluon.jit
def solve_blocks(A):
    """Rows of the diagonal blocks of `(I + A)^-1`: e_s minus A's row s times those above."""
    i = gl.arange(0, 16, gl.SliceLayout(0, SOLVED))[None, :]
    zero = gl.zeros([BLOCKS, 16], gl.float32, SOLVED)
    rows = ()
    for s in gl.static_range(16):
        row = gl.where(i == s, 1.0, zero)
        for first in gl.static_range(0, s, 4):
            numbers = four_of(A, s, first)
            for x in gl.static_range(4):
                if first + x < s:
                    row -= gl.expand_dims(numbers[x], 1) * rows[first + x]
        rows = rows + (row,)
    return rows


@gluon.jit
def together(rows):
    """`[block, column, row]` of 16 rows `[block, column]`."""
    a = ()
    for s in gl.static_range(8):
        a = a + (gl.join(rows[s], rows[s + 8]),)
    b = ()
    for s in gl.static_range(4):
        b = b + (gl.join(a[s], a[s + 4]),)
    c = gl.join(gl.join(b[0], b[2]), gl.join(b[1], b[3]))
    return gl.reshape(c, [BLOCKS, 16, 16])


@gluon.jit
def solver_warps(tokens, blocks):
    """The diagonal blocks of `(I + A)^-1` of chunk after chunk, in the place of those of A."""
    for j in range((tokens + C - 1) // C):
        b = j % 2
        mbarrier.wait(blocks.found.index(b), (j // 2) & 1)
        A = reinterpreted(blocks.diagonal.index(b), gl.float32, [BLOCKS, 16, 16], PLAIN_3D)
        A.permute((0, 2, 1)).store(together(solve_blocks(A)))
        mbarrier.arrive(blocks.solved.index(b), count=1)


@gluon.jit
def on_diagonal(layout: gl.constexpr):
    """Which of `[row, block of columns, column]` lie in a diagonal block."""
    block = gl.arange(0, BLOCKS, gl.SliceLayout(0, gl.SliceLayout(2, layout)))[None, :, None]
    of_row = gl.arange(0, C, gl.SliceLayout(1, gl.SliceLayout(2, layout)))[:, None, None] // 16
    return block == of_row


@gluon.jit
def interact(j, tokens, scale, ring, matrices, blocks):
    """A and `scale (Gamma . Q K^T)` of chunk `j`.

    The diagonal of A, and what is above it in a diagonal block, is not zero here; nobody reads it.
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
    c_r = load_weight(weights, s, LOG, ROWS)[:, None]
    c_i = weight(weights, s, LOG)
    beta = load_weight(weights, s, STRENGTH, ROWS)[:, None]
    overlap = warpgroup_mma_init(gl.zeros([C, C], gl.float32, TILE))
    for p in gl.static_range(PARTS):
        k = ring.k.index(s * PARTS + p)
        overlap = matmul(k, k.permute((1, 0)), overlap, p > 0)
    Gamma = gl.where(gl.where(r < left, r, -1) >= i, gl.exp2(c_r - c_i), 0.0)
    overlap, Gamma = warpgroup_mma_wait(0, deps=[overlap, Gamma])

    # eq-gdn-interaction
    A = beta * Gamma * overlap
    by_block = gl.reshape(A, [C, BLOCKS, 16])
    wide: gl.constexpr = by_block.type.layout
    diagonal = gl.sum(gl.where(on_diagonal(wide), by_block, 0.0), axis=1)
    blocks.diagonal.index(b).store(diagonal)
    mbarrier.arrive(blocks.found.index(b), count=1)

    scores = warpgroup_mma_init(gl.zeros([C, C], gl.float32, TILE))
    for p in gl.static_range(PARTS):
        q, k = ring.q.index(s * PARTS + p), ring.k.index(s * PARTS + p)
        scores = matmul(q, k.permute((1, 0)), scores, p > 0)
    blocks.A.index(b).store(A.to(gl.float16))
    scores = scale * Gamma * warpgroup_mma_wait(0, deps=[scores])
    mbarrier.arrive(ring.free.index(s), count=1)
    mbarrier.wait(matrices.used.index(b), ((j // 2) & 1) ^ 1)
    matrices.scores.index(b).store(scores.to(ring.k.dtype))


@gluon.jit
def sandwich(X, A_tile, X_tile):
    """`X A X`, X as the left operand and in its tile."""
    zero = gl.zeros([C, C], gl.float32, TILE)
    XA = warpgroup_mma_wait(0, deps=[matmul(X, A_tile, zero, False)])
    XA = gl.convert_layout(XA.to(gl.float16), OPERAND)
    return warpgroup_mma_wait(0, deps=[matmul(XA, X_tile, zero, False)])


@gluon.jit
def invert(j, matrices, blocks):
    """`(I + A)^-1` of chunk `j`, from its diagonal blocks (eq-inverse-blocks)."""
    r = gl.arange(0, C, ROWS)[:, None]
    i = gl.arange(0, C, COLUMNS)[None, :]
    wide: gl.constexpr = gl.reshape(gl.zeros([C, C], gl.float32, TILE), [C, BLOCKS, 16]).type.layout
    b = j % 2
    A_tile, T_tile = blocks.A.index(b), matrices.T_inv.index(b)
    mbarrier.wait(blocks.solved.index(b), (j // 2) & 1)
    diagonal = blocks.diagonal.index(b).load(gl.SliceLayout(1, wide))
    T_inv = gl.where(on_diagonal(wide), gl.expand_dims(diagonal, 1), 0.0)
    T_inv = gl.convert_layout(gl.reshape(T_inv, [C, C]), TILE)
    X = T_inv.to(gl.float16)
    T_tile.store(X)
    fence_async_shared()
    Y = sandwich(gl.convert_layout(X, OPERAND), A_tile, T_tile)
    T_inv -= gl.where((r // 16 == i // 16 + 1) & (i // 16 % 2 == 0), Y, 0.0)
    X = T_inv.to(gl.float16)
    T_tile.store(X)
    fence_async_shared()
    Y = sandwich(gl.convert_layout(X, OPERAND), A_tile, T_tile)
    T_inv -= gl.where(r // 32 == i // 32 + 1, Y, 0.0)
    T_tile.store(T_inv.to(gl.float16))
    fence_async_shared()
    mbarrier.arrive(matrices.ready.index(b), count=1)


@gluon.jit
def matrix_warps(tokens, scale, ring, matrices, blocks):
    """The scores and `(I + A)^-1` of chunk after chunk; A is found a chunk ahead of its inverse."""
    chunks = (tokens + C - 1) // C
    for j in tl.range(-1, chunks, disable_licm=True):
        if j + 1 < chunks:
            interact(j + 1, tokens, scale, ring, matrices, blocks)
        if j >= 0:
            invert(j, matrices, blocks)
