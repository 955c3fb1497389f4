"""Kernel 1 for 16-bit inputs: the equations of `transform`, one warp a chunk, in blocks of 16.

    c  = g_1 + ... + g_r, in base 2                                       eq-gamma
    A  = tril(diag(beta) (Gamma . K K^T), -1)                             eq-gdn-interaction
    UT = (I + A)^-1 diag(beta)                                            eq-ut-transform

A program has a chunk and a key head, and is a single warp. It computes K K^T once, in blocks on and
below the diagonal. Then, for each value head:

1. c and beta go to shared memory, and the diagonal blocks of A: for each pair of rows its four
   numbers, of the four blocks, side by side (`A_pairs`);
2. the diagonal blocks of T = (I + A)^-1 row by row, all four side by side; a thread keeps whole
   columns (`ROW`), so no row waits for another thread;
3. the blocks below on the tensor cores, one row of blocks at a time,
   T_ae = -T_aa (sum of A_ab T_be over e <= b < a)                       eq-inverse-blocks
   transposed: then each product leaves its result where the next one reads it;
4. all blocks by way of shared memory to memory, 16 bytes a thread.

`reinterpreted` shows the same bytes of shared memory in another shape: rows of four blocks are
written, and single blocks read. Gluon, Triton's lower level, lets us say which thread holds what.
For chunks of 64 tokens and up to 128 key dimensions, on NVIDIA GPUs from compute capability 8.0 on.

Reference: `gdn_ref.wy.interaction`, and `gdn_ref.wy.solve` with diag(beta) on the right.
"""

from collections import namedtuple

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.ampere import async_copy, mma_v2
from triton.language.extra.cuda import gdc_launch_dependents

from ..common.numbers import LOG2_E, RESET, C
from ..common.slots import slot_bounds
from ..common.triton_private import reinterpreted

BLOCKS = gl.constexpr(4)  # of 16 tokens

TOKEN = gl.constexpr(gl.BlockedLayout([2], [32], [1], [0]))
MMA = gl.constexpr(gl.NVMMADistributedLayout([2, 0], [1, 1], [16, 8]))
LEFT = gl.constexpr(gl.DotOperandLayout(0, MMA.value, 2))
RIGHT = gl.constexpr(gl.DotOperandLayout(1, MMA.value, 2))
BLOCK_ROWS = gl.constexpr(gl.SliceLayout(1, MMA.value))
BLOCK_COLUMNS = gl.constexpr(gl.SliceLayout(0, MMA.value))
# [block, 1, column], a row of each diagonal block: a thread holds two columns of one block
ROW = gl.constexpr(
    gl.DistributedLinearLayout(
        reg_bases=[[0, 0, 1]],
        lane_bases=[[0, 0, 2], [0, 0, 4], [0, 0, 8], [1, 0, 0], [2, 0, 0]],
        warp_bases=[],
        block_bases=[],
        shape=[4, 1, 16],
    )
)
SOLVED = gl.constexpr(gl.SliceLayout(1, ROW.value))
PLAIN = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [1, 0]))
PLAIN_3D = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [2, 1, 0]))
PLAIN_4D = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [3, 2, 1, 0]))
PLAIN_1D = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [0]))


@gluon.jit
def plus(a, b):
    return a + b


@gluon.jit
def load_gate_numbers(g_ptr, beta_ptr, first, stride, left, HAS_G: gl.constexpr):
    """Log-decays and write strengths of one value head's tokens."""
    t = gl.arange(0, C, TOKEN)
    at = first + t * stride
    beta = gl.load(beta_ptr + at, mask=t < left, other=0.0).to(gl.float32)
    g = gl.zeros_like(beta)
    if HAS_G:
        g = gl.load(g_ptr + at, mask=t < left, other=0.0).to(gl.float32)
    return g, beta


@gluon.jit
def interaction(overlap, c_tile, beta_tile, a: gl.constexpr, b: gl.constexpr, left):
    """Block (a, b) of A from `k_r . k_i`; zero in rows that have no token."""
    r = 16 * a + gl.arange(0, 16, BLOCK_ROWS)[:, None]
    i = 16 * b + gl.arange(0, 16, BLOCK_COLUMNS)[None, :]
    c_r = c_tile.slice(16 * a, 16).load(BLOCK_ROWS)[:, None]
    c_i = c_tile.slice(16 * b, 16).load(BLOCK_COLUMNS)[None, :]
    beta_r = beta_tile.slice(16 * a, 16).load(BLOCK_ROWS)[:, None]
    A = beta_r * gl.exp2(c_r - c_i) * overlap
    return gl.where((r < left) & (i < r), A, 0.0)


@gluon.jit
def solve_blocks(A_pairs):
    """The four diagonal blocks of `(I + A)^-1`: row s is e_s minus A's row s times those above."""
    i = gl.arange(0, 16, gl.SliceLayout(0, SOLVED))[None, :]
    zero = gl.zeros([BLOCKS, 16], gl.float32, SOLVED)
    rows = ()
    for s in gl.static_range(16):
        row = gl.where(i == s, 1.0, zero)
        for above in gl.static_range(s):
            A_s = A_pairs.index(16 * s + above).load(gl.SliceLayout(1, SOLVED))
            row -= gl.expand_dims(A_s, 1) * rows[above]
        rows = rows + (row,)
    return rows


# what a launch gives: pointers, `strength_ptr` to where the scan for Hopper finds beta,
# [HV, total], or None; `total` tokens in all, `group` value heads a key head
Transform16BitGiven = namedtuple(
    "Transform16BitGiven",
    "k_ptr g_ptr beta_ptr c_ptr UT_ptr strength_ptr cu_seqlens_ptr N T total H group",
)
# what is known in advance; without SCALED, T_inv itself comes out instead of UT; with HOPPER rows
# of k start at multiples of 16 bytes and come without a stay in registers, and the next launch may
# start before this ends
Transform16BitCase = namedtuple("Transform16BitCase", "K BK HAS_G PACKED SCALED HOPPER")


@gluon.jit
def ut_transform_16bit_kernel(given: Transform16BitGiven, case: gl.constexpr):
    K: gl.constexpr = case.K
    BK: gl.constexpr = case.BK
    h, H, group = gl.program_id(1), given.H, given.group
    n, index, start, end = slot_bounds(
        given.cu_seqlens_ptr, gl.program_id(0), given.N, given.T, C, case.PACKED, True
    )
    left = gl.minimum(end - start, C)
    if left <= 0:
        return

    PART: gl.constexpr = min(BK, 64)  # key dimensions a tile
    dtype: gl.constexpr = given.k_ptr.dtype.element_ty
    lines: gl.constexpr = gl.BlockedLayout([1, 8], [256 // PART, PART // 8], [1, 1], [1, 0])
    r = gl.arange(0, C, gl.SliceLayout(1, lines))[:, None]
    dim = gl.arange(0, PART, gl.SliceLayout(0, lines))[None, :]
    k_ptr = given.k_ptr + (start.to(gl.int64) * H + h) * K
    k_shared: gl.constexpr = gl.NVMMASharedLayout.get_default_for([C, PART], dtype)
    k_tiles = gl.allocate_shared_memory(dtype, [BK // PART, C, PART], k_shared)
    k = ()
    for part in gl.static_range(BK // PART):
        d = part * PART + dim
        k_at = k_ptr + r * (H * K) + d
        valid = (r < left) & (d < K)
        if case.HOPPER:
            async_copy.async_copy_global_to_shared(k_tiles.index(part), k_at, valid)
        else:
            k = k + (gl.load(k_at, mask=valid, other=0.0),)
    async_copy.commit_group()
    at = start.to(gl.int64) * (H * group) + h * group
    g, beta = load_gate_numbers(given.g_ptr, given.beta_ptr, at, H * group, left, case.HAS_G)
    async_copy.wait_group(0)
    if not case.HOPPER:
        for part in gl.static_range(BK // PART):
            k_tiles.index(part).store(k[part])

    # k_r . k_i, once for all value heads of this key head
    zero = gl.zeros([16, 16], gl.float32, MMA)
    overlaps = ()
    for a in gl.static_range(BLOCKS):
        for b in gl.static_range(a + 1):
            overlap = zero
            for part in gl.static_range(BK // PART):
                late = k_tiles.index(part).slice(16 * a, 16).load(LEFT)
                early = k_tiles.index(part).slice(16 * b, 16).permute((1, 0)).load(RIGHT)
                overlap = mma_v2(late, early, overlap)
            overlaps = overlaps + (overlap,)

    c_tile = gl.allocate_shared_memory(gl.float32, [C], PLAIN_1D)
    beta_tile = gl.allocate_shared_memory(gl.float32, [C], PLAIN_1D)
    A_tile = gl.allocate_shared_memory(gl.float32, [16, 16, 2, 2], PLAIN_4D)
    A_pairs = reinterpreted(A_tile, gl.float32, [16 * 16, BLOCKS], PLAIN_1D)
    T_diagonal = gl.allocate_shared_memory(gl.float16, [BLOCKS, 16, 16], PLAIN_3D)
    T_blocks = reinterpreted(T_diagonal, gl.float16, [BLOCKS, 16, 16], PLAIN)
    UT_blocks = T_blocks
    if case.SCALED:
        UT_diagonal = gl.allocate_shared_memory(gl.float16, [BLOCKS, 16, 16], PLAIN_3D)
        UT_blocks = reinterpreted(UT_diagonal, gl.float16, [BLOCKS, 16, 16], PLAIN)
    UT_below = gl.allocate_shared_memory(gl.float16, [6, 16, 16], PLAIN)

    out: gl.constexpr = gl.BlockedLayout([1, 8], [16, 2], [1, 1], [1, 0])
    t = gl.arange(0, C, TOKEN)
    row = gl.arange(0, 16, gl.SliceLayout(1, out))[:, None]
    column = gl.arange(0, 16, gl.SliceLayout(0, out))[None, :]
    for hv in range(h * group, (h + 1) * group):
        c = gl.zeros([C], gl.float32, TOKEN)
        if case.HAS_G:
            g_log2 = g * LOG2_E
            c = gl.associative_scan(gl.where(g_log2 < RESET, RESET, g_log2), 0, plus)
        first = hv.to(gl.int64) * given.total + start
        gl.store(given.c_ptr + first + t, c, mask=t < left)
        if given.strength_ptr is not None:
            gl.store(given.strength_ptr + first + t, beta, mask=t < left)
        c_tile.store(c)
        beta_tile.store(beta)
        at += 1  # the next head's, while this one is worked on
        more = gl.where(hv + 1 < (h + 1) * group, left, 0)
        g, beta = load_gate_numbers(given.g_ptr, given.beta_ptr, at, H * group, more, case.HAS_G)

        A = ()
        for a in gl.static_range(BLOCKS):
            A = A + (interaction(overlaps[a * (a + 3) // 2], c_tile, beta_tile, a, a, left),)
        A_tile.store(gl.join(gl.join(A[0], A[2]), gl.join(A[1], A[3])))
        T_rows = solve_blocks(A_pairs)
        for s in gl.static_range(16):
            T_row = gl.expand_dims(T_rows[s], 1)
            T_diagonal.slice(s, 1, dim=1).store(T_row.to(gl.float16))
        if case.SCALED:
            beta_i = reinterpreted(beta_tile, gl.float32, [BLOCKS, 1, 16], PLAIN_3D).load(ROW)
            for s in gl.static_range(16):
                T_row = gl.expand_dims(T_rows[s], 1)
                UT_diagonal.slice(s, 1, dim=1).store((T_row * beta_i).to(gl.float16))

        # the blocks below, transposed: T_ae^T = -(sum of T_be^T A_ab^T) T_aa^T
        below = ()
        for a in gl.static_range(1, BLOCKS):
            T_aa = T_blocks.index(a).permute((1, 0)).load(RIGHT)
            A_a = ()
            for b in gl.static_range(a):
                A_ab = interaction(overlaps[a * (a + 1) // 2 + b], c_tile, beta_tile, a, b, left)
                A_ab = gl.permute(A_ab.to(gl.float16), (1, 0))
                A_a = A_a + (gl.convert_layout(A_ab, RIGHT),)
            for e in gl.static_range(a):
                T_ee = T_blocks.index(e).permute((1, 0)).load(LEFT)
                X = mma_v2(T_ee, A_a[e], zero)
                for b in gl.static_range(e + 1, a):
                    X = mma_v2(below[b * (b - 1) // 2 + e], A_a[b], X)
                X = gl.convert_layout(X.to(gl.float16), LEFT)
                T_ae = -mma_v2(X, T_aa, zero)
                below = below + (gl.convert_layout(T_ae.to(gl.float16), LEFT),)
                if case.SCALED:
                    T_ae *= beta_tile.slice(16 * e, 16).load(BLOCK_ROWS)[:, None]
                UT_below.index(a * (a - 1) // 2 + e).permute((1, 0)).store(T_ae.to(gl.float16))

        if case.HOPPER:
            gdc_launch_dependents()
        for a in gl.static_range(BLOCKS):
            UT_a = given.UT_ptr + (first + 16 * a + row) * C + column
            for b in gl.static_range(BLOCKS):
                UT = gl.zeros([16, 16], gl.float16, out)
                if b < a:
                    UT = UT_below.index(a * (a - 1) // 2 + b).load(out)
                if b == a:
                    UT = UT_blocks.index(a).load(out)
                gl.store(UT_a + 16 * b, UT, mask=16 * a + row < left)
