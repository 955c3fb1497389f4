"""The solver of `fused`: two warps invert the diagonal blocks of I + A, of 16 and of 32 tokens.

Blocks of 16 row by row: row s of (I + A)^-1 is e_s minus A's row s times the rows above it. All
four blocks at once; a thread keeps a column, so no row waits for another thread. Then the block
below of each pair of them, on the tensor cores (eq-inverse-blocks):

    X_10 = -X_11 A_10 X_00

Reference: `gdn_ref.wy.solve` on the identity.
"""

from collections import namedtuple

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import mma_v2
from triton.experimental.gluon.language.nvidia.hopper import mbarrier

from ....common.numbers import C
from ....common.triton_private import reinterpreted
from ...transform_mma import BLOCKS, PLAIN, PLAIN_3D

# [block, row, column], a row of each diagonal block: a thread of two warps keeps a column
COLUMN_OF_BLOCK = gl.constexpr(
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
COLUMN = gl.constexpr(gl.SliceLayout(1, COLUMN_OF_BLOCK.value))
# two blocks of rows by a block of columns, a warp each
PAIR = gl.constexpr(gl.NVMMADistributedLayout([2, 0], [2, 1], [16, 8]))
PAIR_LEFT = gl.constexpr(gl.DotOperandLayout(0, PAIR.value, 2))
PAIR_RIGHT = gl.constexpr(gl.DotOperandLayout(1, PAIR.value, 2))

# of two chunks: A in float16; its diagonal blocks, float32 and one above the other, and in their
# place what `solved` announces (see `solution`)
Blocks = namedtuple("Blocks", "A diagonal found solved")


@gluon.jit
def solution(blocks, b):
    """The diagonal blocks of the inverse, float16 and one above the other; as many rows, of which
    the second and the fourth block are those below the first and the third."""
    both = reinterpreted(blocks.diagonal.index(b), gl.float16, [2 * C, 16], PLAIN)
    return both.slice(0, C), both.slice(C, C)


@gluon.jit
def four_of(A, s: gl.constexpr, first: gl.constexpr):
    """Numbers `first` to `first + 3` of row s of each diagonal block of A."""
    four = A.slice(s, 1, dim=1).slice(first, 4, dim=2).load(FOUR)
    even, odd = gl.split(gl.reshape(four, [BLOCKS, 2, 2]))
    a, c = gl.split(even)
    b, d = gl.split(odd)
    numbers = ()
    for x in gl.static_range(4):
        numbers = numbers + (gl.convert_layout((a, b, c, d)[x], gl.SliceLayout(1, COLUMN)),)
    return numbers


@gluon.jit
def rows_of_blocks(A):
    """Rows of the diagonal blocks of `(I + A)^-1`: e_s minus A's row s times those above."""
    i = gl.arange(0, 16, gl.SliceLayout(0, COLUMN))[None, :]
    zero = gl.zeros([BLOCKS, 16], gl.float32, COLUMN)
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
    """The blocks of chunk after chunk, in the place of those of A."""
    zero = gl.zeros([32, 16], gl.float32, PAIR)
    for j in range((tokens + C - 1) // C):
        b = j % 2
        mbarrier.wait(blocks.found.index(b), (j // 2) & 1)
        A = reinterpreted(blocks.diagonal.index(b), gl.float32, [BLOCKS, 16, 16], PLAIN_3D)
        X = reinterpreted(blocks.diagonal.index(b), gl.float16, [2 * BLOCKS, 16, 16], PLAIN_3D)
        rows = together(rows_of_blocks(A)).to(gl.float16)
        X.slice(0, BLOCKS).permute((0, 2, 1)).store(rows)
        X_diagonal, X_below = solution(blocks, b)
        # eq-inverse-blocks
        for p in gl.static_range(2):
            A_10 = blocks.A.index(b).slice(32 * p + 16, 16).slice(32 * p, 16, dim=1)
            XA = mma_v2(X_diagonal.slice(32 * p, 32).load(PAIR_LEFT), A_10.load(PAIR_RIGHT), zero)
            XA = gl.convert_layout((-XA).to(gl.float16), PAIR_LEFT)
            X_10 = mma_v2(XA, X_diagonal.slice(32 * p, 16).load(PAIR_RIGHT), zero)
            X_below.slice(32 * p, 32).store(X_10.to(gl.float16))
        mbarrier.arrive(blocks.solved.index(b), count=1)
