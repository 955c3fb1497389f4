"""The chain of `scan` for 256 key dimensions: the same equations, fewer registers.

    delta = UT (V - diag(gamma) K S^T)                                    eq-gdn-chunk-delta
    O     = diag(gamma) Q S^T + (Gamma . Q K^T) delta, scaled             eq-gdn-chunk-output
    S'    = gamma_C S + delta^T diag(gamma_C / gamma_i) K                 eq-gdn-chunk-state

S alone takes half of a thread's registers. So as an operand it comes from shared memory, where it
is written for each chunk, and the outputs of a chunk leave with it, not while the next one is on
its way: then neither what the queries read nor delta is kept from chunk to chunk, and the products
can run side by side.

Reference: `gdn_ref.gated_delta_rule.chunk`.
"""

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma_wait,
)

from ...common.numbers import C
from .chain import (
    BV,
    COLUMNS,
    FROM_START,
    LINES,
    OPERAND,
    STRENGTH,
    TILE,
    TO_END,
    carry,
    load_state,
    matmul,
    next_state,
    read_state,
    settled,
    solve,
    store_state,
    weight,
)


@gluon.jit
def put(out, o, o_tile, row, column):
    """Write a whole chunk's outputs, by the copy engine."""
    tma.store_wait(0)
    o_tile.permute((1, 0)).store(out.to(o_tile.dtype))
    fence_async_shared()
    tma.async_copy_shared_to_global(o, [row, column], o_tile)


@gluon.jit
def put_short(out, o_ptr, o_stride, o_tile, token_0, tokens, left, column):
    """The same for the last `left` tokens, by the threads: a tile would reach beyond them."""
    tma.store_wait(0)
    o_tile.permute((1, 0)).store(out.to(o_tile.dtype))
    r = gl.arange(0, C, gl.SliceLayout(1, LINES))[:, None]
    v = column + gl.arange(0, BV, gl.SliceLayout(0, LINES))[None, :]
    at = (token_0 + tokens - left + r).to(gl.int64) * o_stride + v
    gl.store(o_ptr + at, o_tile.load(LINES), mask=r < left)


@gluon.jit
def hand_over(S, S_tiles):
    """The state to shared memory, where the next products read it."""
    PARTS: gl.constexpr = S_tiles.shape[0]
    for p in gl.static_range(PARTS):
        S_tiles.index(p).store(S[p].to(S_tiles.dtype))
    fence_async_shared()


@gluon.jit
def next_wide_chunk(
    S, j, silent, left, scale, q_tiles, k_tiles, v_tiles, UT_tiles, weights, scores_tiles, S_tiles,
    full, free, ready, used, SCALED: gl.constexpr, FULL: gl.constexpr,
):  # fmt: skip
    """The state after chunk `j`, and its outputs."""
    STAGES: gl.constexpr = UT_tiles.shape[0]
    PARTS: gl.constexpr = k_tiles.shape[0] // STAGES
    s = j % STAGES
    n = j - silent
    b = n % 2
    hand_over(S, S_tiles)
    mbarrier.wait(full.index(s), (j // STAGES) & 1)
    if not FULL:
        mbarrier.wait(ready.index(b), (n // 2) & 1)  # then k has no other tokens than ours
    read, S_in = read_state(S, s, k_tiles, PARTS, S_tiles)

    # eq-gdn-chunk-delta
    v = v_tiles.index(s).permute((1, 0)).load(TILE).to(gl.float32)
    residual = v - weight(weights, s, FROM_START) * warpgroup_mma_wait(0, deps=[read])
    if not SCALED:
        residual *= weight(weights, s, STRENGTH)
    delta = solve(residual, UT_tiles.index(s), left, FULL)

    # eq-gdn-chunk-output, its first term
    queried = gl.zeros([BV, C], gl.float32, TILE)
    for p in gl.static_range(PARTS):
        q = q_tiles.index(s * PARTS + p).permute((1, 0))
        queried = matmul(S_in[p], q, queried, p > 0)

    delta = warpgroup_mma_wait(PARTS, deps=[delta])
    carried = weight(weights, s, TO_END) * delta
    if not FULL:
        ours = gl.arange(0, C, COLUMNS)[None, :] < left
        delta = gl.where(ours, delta, 0.0)
        carried = gl.where(ours, carried, 0.0)
    delta = gl.convert_layout(delta.to(k_tiles.dtype), OPERAND)
    S = carry(S, carried, weights, s, k_tiles, PARTS)
    queried = warpgroup_mma_wait(PARTS, deps=[queried])
    queried *= scale * weight(weights, s, FROM_START)
    mbarrier.wait(ready.index(b), (n // 2) & 1)
    out = matmul(delta, scores_tiles.index(b).permute((1, 0)), queried, True)
    S = settled(S, PARTS)
    out = warpgroup_mma_wait(0, deps=[out])
    mbarrier.arrive(free.index(s), count=1)
    mbarrier.arrive(used.index(b), count=1)
    return S, out


@gluon.jit
def wide_state_warps(
    S_first_ptr, S_last_ptr, first_v, has_S, last, v_stride, k_stride, S_v, S_k,
    tokens, silent, token_0, total, scale, o, o_ptr, o_stride, value_column,
    q_tiles, k_tiles, v_tiles, UT_tiles, weights, scores_tiles, o_tile, full, free, ready, used,
    SCALED: gl.constexpr, S_tiles,
):  # fmt: skip
    """As `scan.state_warps`."""
    PARTS: gl.constexpr = S_tiles.shape[0]
    S = load_state(S_first_ptr, first_v, v_stride, k_stride, has_S, PARTS)
    left = tokens % C
    for j in range(silent):
        hand_over(S, S_tiles)
        S = next_state(S, j, True, k_tiles, v_tiles, UT_tiles, weights, full, free, SCALED, S_tiles)
    for j in range(silent, tokens // C):
        S, out = next_wide_chunk(
            S, j, silent, C, scale, q_tiles, k_tiles, v_tiles, UT_tiles, weights, scores_tiles,
            S_tiles, full, free, ready, used, SCALED, True,
        )  # fmt: skip
        put(out, o, o_tile, token_0 + j * C, value_column)
    if left > 0:
        S, out = next_wide_chunk(
            S, tokens // C, silent, left, scale, q_tiles, k_tiles, v_tiles, UT_tiles, weights,
            scores_tiles, S_tiles, full, free, ready, used, SCALED, False,
        )  # fmt: skip
        put_short(out, o_ptr, o_stride, o_tile, token_0, tokens, left, value_column)
    store_state(S, S_last_ptr, first_v, S_v, S_k, last, PARTS)
    tma.store_wait(0)
