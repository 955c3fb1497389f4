"""What `fused` keeps for a backward pass: each chunk's T_inv, from shared memory to memory.

A warp of its own, which nobody waits for: it takes a matrix when the chains do, and has given its
place back long before they have. The others go on as they do where nothing is kept.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier, tma

from ....common.numbers import C

# 16 rows of a matrix, as they lie in memory: a thread has eight neighbours of a row
ROWS_16 = gl.constexpr(gl.BlockedLayout([1, 8], [4, 8], [1, 1], [1, 0]))


@gluon.jit
def keep_warp(T_inv, T_ptr, row, tokens, tiles, ready, used):
    """`T_inv` of chunk after chunk, from `row` on."""
    for j in range((tokens + C - 1) // C):
        b = j % 2
        left = tokens - j * C
        mbarrier.wait(ready.index(b), (j // 2) & 1)
        tile = tiles.index(b)
        if left >= C:
            tma.async_copy_shared_to_global(T_inv, [row + j * C, 0], tile)
            tma.store_wait(0)
        else:
            keep_short(T_ptr + (row + j * C).to(gl.int64) * C, tile, left)
        mbarrier.arrive(used.index(b), count=1)


@gluon.jit
def keep_short(T_ptr, tile, left):
    """The rows of `left` tokens, by the threads: the tile would reach beyond them."""
    r = gl.arange(0, 16, gl.SliceLayout(1, ROWS_16))[:, None]
    i = gl.arange(0, C, gl.SliceLayout(0, ROWS_16))[None, :]
    for a in gl.static_range(C // 16):
        rows = tile.slice(16 * a, 16).load(ROWS_16)
        gl.store(T_ptr + (16 * a + r) * C + i, rows, mask=16 * a + r < left)
