"""The forward pass of a batch that fills the GPU, in one kernel: no matrix comes from memory.

    A     = tril(diag(beta) (Gamma . K K^T), -1)                          eq-gdn-interaction
    delta = (I + A)^-1 diag(beta) (V - diag(gamma) K S^T)                 eq-gdn-chunk-delta
    O     = diag(gamma) Q S^T + (Gamma . Q K^T) delta, scaled             eq-gdn-chunk-output
    S'    = gamma_C S + delta^T diag(gamma_C / gamma_i) K                 eq-gdn-chunk-state

A program has a sequence, a value head and 128 value dimensions, and five or six groups of warps:

    bring_warp    brings the tiles and weights of the next chunks
    matrix_warps  compute A and the scores a chunk ahead, and T_inv from its diagonal (`matrices`)
    solver_warps  invert A's diagonal blocks, while the others work on the next chunk (`solver`)
    half_warps    twice, 64 value dimensions each: the state, delta and the outputs
    keep_warp     writes T_inv to memory, where a backward pass wants it (`keep`)

That may want a state of every few chunks as well, which the chains write.

The matrix warps are the ones the others wait for; what they do not have to do, the solver does.
Registers decide the rest: 192 for a thread of a chain, and none of them to spare.

For 16-bit inputs, key dimensions of 64 and 128, value dimensions in multiples of 128, chunks of 64,
sequences of one length. `chain` says how groups wait for each other.

Reference: `gdn_ref.gated_delta_rule.chunk`.
"""

from collections import namedtuple

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma_wait,
)

from ....common.numbers import C
from ...transform_mma import PLAIN
from ..chain import (
    BK,
    BV,
    COLUMNS,
    FROM_START,
    LINE,
    OPERAND,
    STRENGTH,
    TILE,
    TO_END,
    WEIGHTS,
    Leaving,
    StateAt,
    carry,
    leave,
    load_numbers,
    load_state,
    matmul,
    read_state,
    signals,
    solve,
    store_state,
    weigh,
    weight,
)
from ..scan import Outputs
from ..scan_256 import put, put_short
from .keep import keep_warp
from .matrices import STAGES, Matrices, matrix_warps
from .solver import Blocks, solver_warps

SWIZZLED = gl.constexpr(gl.SwizzledSharedLayout(8, 1, 8, [1, 0]))  # for products of a warp

# what a launch gives, and what is known in advance
FusedGiven = namedtuple(
    "FusedGiven", "strength_ptr c_ptr o_ptr T_ptr S_first_ptr S_last_ptr scale T total H HV"
)
FusedCase = namedtuple("FusedCase", "K V S_v S_k HAS_S SPAN")
# chunks in flight: tiles of q and k, weights, signals; tiles of v are a chain's own
FusedRing = namedtuple("FusedRing", "q k weights full free")
# where the first state of each span of chunks goes, if anywhere: row of the first, rows to the next
EverySpan = namedtuple("EverySpan", "states row step span")
# where chunks come from, and from which row and columns on
FusedSource = namedtuple("FusedSource", "q k v c_ptr beta_ptr beta_stride token key_column column")


@gluon.jit
def bring_warp(source, ring, v_0, v_1, tokens):
    """Tiles of chunk after chunk, and its weights; the numbers are asked for a chunk ahead."""
    chunks = (tokens + C - 1) // C
    numbers = (load_numbers(source, 0, tokens),)
    for turn in range(0, chunks, 2):
        for a in gl.static_range(2):
            j = turn + a
            numbers = numbers + (load_numbers(source, (j + 1) * C, tokens),)
            if a == 0 or j < chunks:
                bring_chunk(source, ring, v_0, v_1, numbers[0], j)
            numbers = numbers[1:]


@gluon.jit
def bring_chunk(source, ring, v_0, v_1, numbers, j):
    """Chunk `j`, as soon as there is room for it."""
    PARTS: gl.constexpr = ring.k.shape[0] // STAGES
    s = j % STAGES
    full, token = ring.full.index(s), source.token + j * C
    mbarrier.wait(ring.free.index(s), ((j // STAGES) & 1) ^ 1)
    mbarrier.expect(full, 2 * C * (2 * BK * PARTS + 2 * BV))
    for p in gl.static_range(PARTS):
        column = source.key_column + p * BK
        tma.async_copy_global_to_shared(
            source.k, [token, column], full, ring.k.index(s * PARTS + p)
        )
    tma.async_copy_global_to_shared(source.v, [token, source.column], full, v_0.index(s))
    tma.async_copy_global_to_shared(source.v, [token, source.column + BV], full, v_1.index(s))
    for p in gl.static_range(PARTS):
        column = source.key_column + p * BK
        tma.async_copy_global_to_shared(
            source.q, [token, column], full, ring.q.index(s * PARTS + p)
        )
    weigh(ring.weights, s, numbers)
    mbarrier.arrive(full, count=1)


@gluon.jit
def keep_state(S, kept, j, tile):
    """Write the state before chunk `j` to memory, a part at a time by way of a tile."""
    row = kept.row + j // kept.span * kept.step
    for p in gl.static_range(len(S)):
        tma.store_wait(0)
        tile.store(S[p].to(tile.dtype))
        leave(Leaving(kept.states, tile, row, p * BK))


@gluon.jit
def next_fused_chunk(S, j, left, scale, ring, v_tiles, matrices, FULL: gl.constexpr):
    """The state after chunk `j`, and its outputs."""
    PARTS: gl.constexpr = ring.k.shape[0] // STAGES
    weights = ring.weights
    s = j % STAGES
    b = j % 2
    mbarrier.wait(ring.full.index(s), (j // STAGES) & 1)
    if not FULL:
        mbarrier.wait(matrices.ready.index(b), (j // 2) & 1)  # then k has no other tokens than ours
    read, S_in = read_state(S, s, ring.k, PARTS)
    queried = gl.zeros([BV, C], gl.float32, TILE)
    for p in gl.static_range(PARTS):
        q = ring.q.index(s * PARTS + p).permute((1, 0))
        queried = matmul(S_in[p], q, queried, p > 0)
    read = warpgroup_mma_wait(PARTS, deps=[read])
    queried = warpgroup_mma_wait(0, deps=[queried])

    # eq-gdn-chunk-delta
    v = v_tiles.index(s).permute((1, 0)).load(TILE).to(gl.float32)
    residual = (v - weight(weights, s, FROM_START) * read) * weight(weights, s, STRENGTH)
    mbarrier.wait(matrices.ready.index(b), (j // 2) & 1)
    delta = solve(residual, matrices.T_inv.index(b), left, FULL)
    queried *= scale * weight(weights, s, FROM_START)
    delta = warpgroup_mma_wait(0, deps=[delta])
    carried = weight(weights, s, TO_END) * delta
    if not FULL:
        ours = gl.arange(0, C, COLUMNS)[None, :] < left
        delta = gl.where(ours, delta, 0.0)
        carried = gl.where(ours, carried, 0.0)
    delta = gl.convert_layout(delta.to(ring.k.dtype), OPERAND)

    # eq-gdn-chunk-state, eq-gdn-chunk-output
    S = carry(S, carried, weights, s, ring.k, PARTS)
    out = matmul(delta, matrices.scores.index(b).permute((1, 0)), queried, True)
    parts = ()
    for p in gl.static_range(PARTS):
        parts = parts + (warpgroup_mma_wait(PARTS - p, deps=[S[p]]),)
    mbarrier.arrive(ring.free.index(s), count=1)
    out = warpgroup_mma_wait(0, deps=[out])
    mbarrier.arrive(matrices.used.index(b), count=1)
    return parts, out


@gluon.jit
def half_warps(first, last, kept, tokens, token_0, outputs, ring, v_tiles, matrices):
    """A slice of the state from the first chunk to the last, and the outputs."""
    PARTS: gl.constexpr = ring.k.shape[0] // STAGES
    S = load_state(first, PARTS)
    left = tokens % C
    for j in range(tokens // C):
        if kept.states is not None and j % kept.span == 0:
            keep_state(S, kept, j, outputs.tile)
        S, out = next_fused_chunk(S, j, C, outputs.scale, ring, v_tiles, matrices, True)
        put(out, outputs, token_0 + j * C)
    if left > 0:
        S, out = next_fused_chunk(
            S, tokens // C, left, outputs.scale, ring, v_tiles, matrices, False
        )
        put_short(out, outputs, token_0, tokens, left)
    store_state(S, last, PARTS)
    tma.store_wait(0)


@gluon.jit
def chunk_fused_kernel(q, k, v, o, T_inv, states, given: FusedGiven, case: gl.constexpr):
    K: gl.constexpr = case.K
    V: gl.constexpr = case.V
    dtype: gl.constexpr = k.dtype
    slices: gl.constexpr = V // (2 * BV)
    HV = given.HV
    hv = gl.program_id(0) // slices % HV
    h = hv // (HV // given.H)
    first_v = (gl.program_id(0) % slices) * (2 * BV)
    n = gl.program_id(0) // slices // HV
    tokens = given.T
    token_0 = n * tokens
    S_first = given.S_first_ptr if case.HAS_S else given.S_last_ptr  # else it is not read
    S_first += (n * HV + hv).to(gl.int64) * (V * K)
    S_last = given.S_last_ptr + (n * HV + hv).to(gl.int64) * (V * K)
    c_ptr = given.c_ptr + (hv.to(gl.int64) * given.total + token_0)
    beta_ptr = given.strength_ptr + (hv.to(gl.int64) * given.total + token_0)
    column = hv * V + first_v

    SPAN: gl.constexpr = case.SPAN
    span = n * ((tokens + SPAN * C - 1) // (SPAN * C))
    span_row = (span * HV + hv) * V + first_v

    PARTS: gl.constexpr = K // BK
    square: gl.constexpr = gl.NVMMASharedLayout.get_default_for([C, C], gl.float16)
    q_tiles = gl.allocate_shared_memory(dtype, [STAGES * PARTS, C, BK], q.layout)
    k_tiles = gl.allocate_shared_memory(dtype, [STAGES * PARTS, C, BK], k.layout)
    weights = gl.allocate_shared_memory(gl.float32, [STAGES * WEIGHTS, C], LINE)
    scores_tiles = gl.allocate_shared_memory(dtype, [2, C, C], square)
    T_tiles = gl.allocate_shared_memory(gl.float16, [2, C, C], square)
    A_tiles = gl.allocate_shared_memory(gl.float16, [2, C, C], SWIZZLED)
    diagonal = gl.allocate_shared_memory(gl.float32, [2, C, 16], PLAIN)
    v_0 = gl.allocate_shared_memory(dtype, [STAGES, C, BV], v.layout)
    o_0 = gl.allocate_shared_memory(dtype, [C, BV], o.layout)
    v_1 = gl.allocate_shared_memory(dtype, [STAGES, C, BV], v.layout)
    o_1 = gl.allocate_shared_memory(dtype, [C, BV], o.layout)
    ring = FusedRing(q_tiles, k_tiles, weights, signals(STAGES, 2), signals(STAGES, 3))
    readers: gl.constexpr = 2 if T_inv is None else 3
    matrices = Matrices(scores_tiles, T_tiles, signals(2, 1), signals(2, readers))
    blocks = Blocks(A_tiles, diagonal, signals(2, 1), signals(2, 1))
    fence_async_shared()

    row = hv * given.total + token_0  # of T_inv
    gl.warp_specialize(
        [
            (half_warps, (
                StateAt(S_first, first_v, case.S_v, case.S_k, case.HAS_S),
                StateAt(S_last, first_v, case.S_v, case.S_k, True),
                EverySpan(states, span_row, HV * V, SPAN), tokens, token_0,
                Outputs(o, o_0, given.o_ptr, HV * V, column, given.scale), ring, v_0, matrices,
            )),
            (half_warps, (
                StateAt(S_first, first_v + BV, case.S_v, case.S_k, case.HAS_S),
                StateAt(S_last, first_v + BV, case.S_v, case.S_k, True),
                EverySpan(states, span_row + BV, HV * V, SPAN), tokens, token_0,
                Outputs(o, o_1, given.o_ptr, HV * V, column + BV, given.scale), ring, v_1, matrices,
            )),
            (matrix_warps, (tokens, given.scale, ring, matrices, blocks)),
            (solver_warps, (tokens, blocks)),
            (bring_warp, (
                FusedSource(q, k, v, c_ptr, beta_ptr, 1, token_0, h * K, column), ring, v_0, v_1,
                tokens,
            )),
        ] + ([] if T_inv is None else [
            (keep_warp, (
                T_inv, given.T_ptr, row, tokens, matrices.T_inv, matrices.ready, matrices.used,
            )),
        ]),
        worker_num_warps=[4, 4, 2, 1] if T_inv is None else [4, 4, 2, 1, 1],
        worker_num_regs=[192, 88, 40, 40] if T_inv is None else [192, 88, 40, 40, 40],
    )  # fmt: skip
