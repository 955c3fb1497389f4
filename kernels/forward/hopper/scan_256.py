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
    Leaving,
    carry,
    leave,
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
def put(out, outputs, row):
    """Write a whole chunk's outputs, by the copy engine."""
    tma.store_wait(0)
    outputs.tile.permute((1, 0)).store(out.to(outputs.tile.dtype))
    leave(Leaving(outputs.o, outputs.tile, row, outputs.column))


@gluon.jit
def put_short(out, outputs, token_0, tokens, left):
    """The same for the last `left` tokens, by the threads: a tile would reach beyond them."""
    tma.store_wait(0)
    outputs.tile.permute((1, 0)).store(out.to(outputs.tile.dtype))
    r = gl.arange(0, C, gl.SliceLayout(1, LINES))[:, None]
    v = outputs.column + gl.arange(0, BV, gl.SliceLayout(0, LINES))[None, :]
    at = (token_0 + tokens - left + r).to(gl.int64) * outputs.stride + v
    gl.store(outputs.ptr + at, outputs.tile.load(LINES), mask=r < left)


@gluon.jit
def hand_over(S, S_tiles):
    """The state to shared memory, where the next products read it."""
    PARTS: gl.constexpr = S_tiles.shape[0]
    for p in gl.static_range(PARTS):
        S_tiles.index(p).store(S[p].to(S_tiles.dtype))
    fence_async_shared()


@gluon.jit
def next_wide_chunk(
    S, j, silent, left, scale, ring, scores, S_tiles, SCALED: gl.constexpr, FULL: gl.constexpr
):
    """The state after chunk `j`, and its outputs."""
    STAGES: gl.constexpr = ring.UT.shape[0]
    PARTS: gl.constexpr = ring.k.shape[0] // STAGES
    weights = ring.weights
    s = j % STAGES
    n = j - silent
    b = n % 2
    hand_over(S, S_tiles)
    mbarrier.wait(ring.full.index(s), (j // STAGES) & 1)
    if not FULL:
        mbarrier.wait(scores.ready.index(b), (n // 2) & 1)  # then k has no other tokens than ours
    read, S_in = read_state(S, s, ring.k, PARTS, S_tiles)

    # eq-gdn-chunk-delta
    v = ring.v.index(s).permute((1, 0)).load(TILE).to(gl.float32)
    residual = v - weight(weights, s, FROM_START) * warpgroup_mma_wait(0, deps=[read])
    if not SCALED:
        residual *= weight(weights, s, STRENGTH)
    delta = solve(residual, ring.UT.index(s), left, FULL)

    # eq-gdn-chunk-output, its first term
    queried = gl.zeros([BV, C], gl.float32, TILE)
    for p in gl.static_range(PARTS):
        q = ring.q.index(s * PARTS + p).permute((1, 0))
        queried = matmul(S_in[p], q, queried, p > 0)

    delta = warpgroup_mma_wait(PARTS, deps=[delta])
    carried = weight(weights, s, TO_END) * delta
    if not FULL:
        ours = gl.arange(0, C, COLUMNS)[None, :] < left
        delta = gl.where(ours, delta, 0.0)
        carried = gl.where(ours, carried, 0.0)
    delta = gl.convert_layout(delta.to(ring.k.dtype), OPERAND)
    S = carry(S, carried, weights, s, ring.k, PARTS)
    queried = warpgroup_mma_wait(PARTS, deps=[queried])
    queried *= scale * weight(weights, s, FROM_START)
    mbarrier.wait(scores.ready.index(b), (n // 2) & 1)
    out = matmul(delta, scores.tiles.index(b).permute((1, 0)), queried, True)
    S = settled(S, PARTS)
    out = warpgroup_mma_wait(0, deps=[out])
    mbarrier.arrive(ring.free.index(s), count=1)
    mbarrier.arrive(scores.used.index(b), count=1)
    return S, out


@gluon.jit
def wide_state_warps(
    first,
    last,
    tokens,
    silent,
    token_0,
    total,
    outputs,
    ring,
    scores,
    SCALED: gl.constexpr,
    S_tiles,
):
    """As `scan.state_warps`."""
    PARTS: gl.constexpr = S_tiles.shape[0]
    S = load_state(first, PARTS)
    left = tokens % C
    for j in range(silent):
        hand_over(S, S_tiles)
        S = next_state(S, j, True, ring, SCALED, S_tiles)
    for j in range(silent, tokens // C):
        S, out = next_wide_chunk(
            S, j, silent, C, outputs.scale, ring, scores, S_tiles, SCALED, True
        )
        put(out, outputs, token_0 + j * C)
    if left > 0:
        S, out = next_wide_chunk(
            S, tokens // C, silent, left, outputs.scale, ring, scores, S_tiles, SCALED, False
        )
        put_short(out, outputs, token_0, tokens, left)
    store_state(S, last, PARTS)
    tma.store_wait(0)
