"""Kernel 2 for Hopper: the equations of the portable one, groups of warps side by side.

    delta = UT (V - diag(gamma) K S^T)                                    eq-gdn-chunk-delta
    O     = diag(gamma) Q S^T + (Gamma . Q K^T) delta, scaled             eq-gdn-chunk-output
    S'    = gamma_C S + delta^T diag(gamma_C / gamma_i) K                 eq-gdn-chunk-state

A program has a sequence, a segment of one or a share in one (`shares`), a value head and 64 value
dimensions. The next state waits for this one, so the chain S -> delta -> S' decides the time, and
three groups of warps share the work around it (`chain` says how they wait for each other):

    load_warp    brings the tiles and weights of the next chunks
    score_warps  compute the scores Gamma . Q K^T, which wait for no state, a chunk ahead
    state_warps  keep S in registers, transposed like delta and O, so that each result is where the
                 next product reads it; the outputs fill the pauses of the chain

`full` and `free` are the signals of a chunk's tiles, `ready` and `used` those of its scores, which
have two places. The last chunk may be short. The tokens after it belong to another sequence, or to
nobody, and may be anything, NaN included: k is zeroed in place, by the score warps, and what else
reads them is masked. So whole chunks and the last one are compiled apart (`FULL`).

For 16-bit inputs, head dimensions of 64, 128 or 256, and chunks of 64. (With 256 `scan_256` has the
chain.) Where the UT transform was launched right before it, the kernel may start early: it sets
itself up, and `gdc_wait` lets it go on when the transform has ended.

Reference: `gdn_ref.gated_delta_rule.chunk`.
"""

from collections import namedtuple

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)
from triton.language.extra.cuda import gdc_wait

from ...common.numbers import C
from ...common.slots import slot_bounds
from ..shares import share
from .chain import (
    BK,
    BV,
    COLUMNS,
    FROM_START,
    LINE,
    LINES,
    LOG,
    OPERAND,
    ROWS,
    STRENGTH,
    TILE,
    TO_END,
    WEIGHTS,
    Corner,
    Ring,
    Source,
    StateAt,
    carry,
    load_state,
    load_warp,
    load_weight,
    matmul,
    next_state,
    read_state,
    settled,
    signals,
    solve,
    store_state,
    weight,
)
from .scan_256 import put, put_short, wide_state_warps


@gluon.jit
def score_warps(tokens, silent, scale, ring, scores):
    """`scale (Gamma . Q K^T)` of chunk after chunk, once the first `silent` have passed."""
    dtype: gl.constexpr = ring.k.dtype
    STAGES: gl.constexpr = ring.weights.shape[0] // WEIGHTS
    PARTS: gl.constexpr = ring.k.shape[0] // STAGES
    r = gl.arange(0, C, ROWS)[:, None]
    i = gl.arange(0, C, COLUMNS)[None, :]
    for j in range(silent):
        mbarrier.wait(ring.full.index(j % STAGES), (j // STAGES) & 1)
        mbarrier.arrive(ring.free.index(j % STAGES), count=1)
    for j in range(silent, (tokens + C - 1) // C):
        s = j % STAGES
        n = j - silent
        b = n % 2
        left = tokens - j * C
        mbarrier.wait(ring.full.index(s), (j // STAGES) & 1)
        if left < C:  # the tokens after ours may hold anything
            ours = gl.arange(0, C, gl.SliceLayout(1, LINES))[:, None] < left
            for p in gl.static_range(PARTS):
                k = ring.k.index(s * PARTS + p)
                k.store(gl.where(ours, k.load(LINES), 0.0))
            fence_async_shared()
        product = warpgroup_mma_init(gl.zeros([C, C], gl.float32, TILE))
        for p in gl.static_range(PARTS):
            q, k = ring.q.index(s * PARTS + p), ring.k.index(s * PARTS + p)
            product = matmul(q, k.permute((1, 0)), product, p > 0)
        c_r = load_weight(ring.weights, s, LOG, ROWS)[:, None]
        c_i = weight(ring.weights, s, LOG)
        Gamma = gl.exp2(gl.where(r >= i, c_r - c_i, float("-inf")))
        product = scale * Gamma * warpgroup_mma_wait(0, deps=[product])
        product = gl.where(r >= i, product, 0.0).to(
            dtype
        )  # 0 times whatever comes after our tokens
        mbarrier.wait(scores.used.index(b), ((n // 2) & 1) ^ 1)
        scores.tiles.index(b).store(product)
        fence_async_shared()
        mbarrier.arrive(scores.ready.index(b), count=1)
        mbarrier.arrive(ring.free.index(s), count=1)


@gluon.jit
def with_scores(read, delta, n, scores):
    """The `n`-th outputs, started, from what the queries read in the state."""
    mbarrier.wait(scores.ready.index(n & 1), (n // 2) & 1, pred=n >= 0)
    return matmul(delta, scores.tiles.index(n & 1).permute((1, 0)), read, True)


@gluon.jit
def next_chunk(
    S, queried, delta, j, silent, left, outputs, out_row, ring, scores,
    SCALED: gl.constexpr, FULL: gl.constexpr,
):  # fmt: skip
    """The state after chunk `j`, what its queries read, and delta; outputs of the chunk before.

    The scores' places are counted from the first chunk that is not `silent`.

    `warpgroup_mma_wait(1)` leaves the one product under way that was started last: the chain goes
    on as soon as its own product is there, and the tensor cores do not run out of work.
    """
    STAGES: gl.constexpr = ring.UT.shape[0]
    PARTS: gl.constexpr = ring.k.shape[0] // STAGES
    weights = ring.weights
    s = j % STAGES
    n = j - silent
    b = n % 2
    mbarrier.wait(ring.full.index(s), (j // STAGES) & 1)
    if not FULL:
        mbarrier.wait(scores.ready.index(b), (n // 2) & 1)  # then k has no other tokens than ours
    read, S_in = read_state(S, s, ring.k, PARTS)
    out = with_scores(queried, delta, n - 1, scores)

    # eq-gdn-chunk-delta
    gamma = weight(weights, s, FROM_START)
    v = ring.v.index(s).permute((1, 0)).load(TILE).to(gl.float32)
    residual = v - gamma * warpgroup_mma_wait(1, deps=[read])
    if not SCALED:
        residual *= weight(weights, s, STRENGTH)
    delta = solve(residual, ring.UT.index(s), left, FULL)

    out = warpgroup_mma_wait(1, deps=[out])
    mbarrier.arrive(scores.used.index(b ^ 1), count=1, pred=n > 0)
    put(out, outputs, out_row)

    # eq-gdn-chunk-output, its first term
    queried = gl.zeros([BV, C], gl.float32, TILE)
    for p in gl.static_range(PARTS):
        q = ring.q.index(s * PARTS + p).permute((1, 0))
        queried = matmul(S_in[p], q, queried, p > 0)

    to_end = weight(weights, s, TO_END)
    delta = warpgroup_mma_wait(PARTS, deps=[delta])
    carried = to_end * delta
    if not FULL:
        ours = gl.arange(0, C, COLUMNS)[None, :] < left
        delta = gl.where(ours, delta, 0.0)
        carried = gl.where(ours, carried, 0.0)
    S = carry(S, carried, weights, s, ring.k, PARTS)
    delta = gl.convert_layout(delta.to(ring.k.dtype), OPERAND)
    queried = outputs.scale * gamma * warpgroup_mma_wait(PARTS, deps=[queried])
    S = settled(S, PARTS)
    mbarrier.arrive(ring.free.index(s), count=1)
    return S, queried, delta


@gluon.jit
def state_warps(
    first, last, tokens, silent, token_0, total, outputs, ring, scores, SCALED: gl.constexpr
):
    """A slice of the state from the first chunk to the last; outputs from chunk `silent` on.

    The scores reach a chunk's outputs while the next chunk is on its way, and so they leave then.
    """
    PARTS: gl.constexpr = ring.k.shape[0] // ring.UT.shape[0]
    S = load_state(first, PARTS)
    queried = gl.zeros([BV, C], gl.float32, TILE)
    delta = gl.zeros([BV, C], ring.k.dtype, OPERAND)
    out_row = total  # before the first chunk, beyond the tensor: nothing is written there
    chunks = (tokens + C - 1) // C
    left = tokens % C
    for j in range(silent):
        S = next_state(S, j, True, ring, SCALED)
    for j in range(silent, tokens // C):
        S, queried, delta = next_chunk(
            S, queried, delta, j, silent, C, outputs, out_row, ring, scores, SCALED, True
        )
        out_row = token_0 + j * C
    if left > 0:
        S, queried, delta = next_chunk(
            S, queried, delta, chunks - 1, silent, left, outputs, out_row, ring, scores,
            SCALED, False,
        )  # fmt: skip
    out = with_scores(queried, delta, chunks - 1 - silent, scores)
    store_state(S, last, PARTS)
    out = warpgroup_mma_wait(0, deps=[out])
    if left == 0:
        put(out, outputs, out_row)
    else:
        put_short(out, outputs, token_0, tokens, left)
    tma.store_wait(0)


# what a launch gives: pointers; a factor; `length` tokens a segment
HopperScanGiven = namedtuple(
    "HopperScanGiven",
    "beta_ptr c_ptr o_ptr S_first_ptr S_last_ptr cu_seqlens_ptr scale N T total length H HV",
)
# what is known in advance: dimensions; strides of a last state, a first state's are the same, or
# those of `segments`; flags, SCALED if UT has beta in it, and `beta_ptr` is None; programs that
# share a sequence
HopperScanCase = namedtuple(
    "HopperScanCase", "K V S_v S_k HAS_S PACKED BY_LENGTH SEGMENTED SCALED SHARES"
)
# scores in shared memory, and their signals
Scores = namedtuple("Scores", "tiles ready used")
# outputs on their way: tiles of them in memory, one in shared memory; a pointer and a stride for
# those of short chunks; the column, and what all are multiplied with
Outputs = namedtuple("Outputs", "o tile ptr stride column scale")


@gluon.jit
def chunk_scan_hopper_kernel(q, k, v, UT, o, given: HopperScanGiven, case: gl.constexpr):
    K: gl.constexpr = case.K
    V: gl.constexpr = case.V
    SEGMENTED: gl.constexpr = case.SEGMENTED
    SHARES: gl.constexpr = case.SHARES
    dtype: gl.constexpr = k.dtype
    slices: gl.constexpr = V // BV
    HV = given.HV
    hv = gl.program_id(0) // slices % HV
    h = hv // (HV // given.H)
    first_v = (gl.program_id(0) % slices) * BV
    slot = gl.program_id(0) // slices // HV // SHARES
    n, index, token_0, end = slot_bounds(
        given.cu_seqlens_ptr, slot, given.N, given.T, given.length,
        case.PACKED, SEGMENTED, case.BY_LENGTH,
    )  # fmt: skip
    tokens = end - token_0
    silent = 0
    last = True
    if SHARES > 1:
        p = gl.program_id(0) // slices // HV % SHARES
        tokens, silent, last = share(tokens, p, SHARES, C)
    if SEGMENTED:
        last = ((tokens > 0) | (index == 0)) & (tokens <= given.length)
        tokens = gl.maximum(gl.minimum(tokens, given.length), 0)
    S_first = (
        given.S_first_ptr if case.HAS_S else given.S_last_ptr
    )  # not read without a first state
    S_first += ((slot if SEGMENTED else n) * HV + hv).to(gl.int64) * (V * K)
    S_last = given.S_last_ptr + (n * HV + hv).to(gl.int64) * (V * K)
    c_ptr = given.c_ptr + (hv.to(gl.int64) * given.total + token_0)
    beta_ptr = given.beta_ptr
    by_head: gl.constexpr = K <= 128  # beta, as `transform_mma` writes it
    if not case.SCALED:
        if by_head:
            beta_ptr += hv.to(gl.int64) * given.total + token_0
        else:
            beta_ptr += token_0.to(gl.int64) * HV + hv
    value_column = hv * V + first_v

    # shared memory: tiles of the inputs, what one group of warps hands to another, and the signals
    PARTS: gl.constexpr = K // BK
    STAGES: gl.constexpr = 4 if K <= 128 else 2  # chunks in flight
    q_tiles = gl.allocate_shared_memory(dtype, [STAGES * PARTS, C, BK], q.layout)
    k_tiles = gl.allocate_shared_memory(dtype, [STAGES * PARTS, C, BK], k.layout)
    v_tiles = gl.allocate_shared_memory(dtype, [STAGES, C, BV], v.layout)
    UT_tiles = gl.allocate_shared_memory(UT.dtype, [STAGES, C, C], UT.layout)
    weights = gl.allocate_shared_memory(gl.float32, [STAGES * WEIGHTS, C], LINE)
    scores_tiles = gl.allocate_shared_memory(dtype, [2, C, C], UT.layout)
    o_tile = gl.allocate_shared_memory(dtype, [C, BV], o.layout)
    S_tiles = ()
    if K > 128:
        S_tiles = (gl.allocate_shared_memory(dtype, [PARTS, BV, BK], k.layout),)
    full, free = signals(STAGES, 2), signals(STAGES, 2)
    ready, used = signals(2, 1), signals(2, 1)
    ring = Ring(q_tiles, k_tiles, v_tiles, UT_tiles, weights, full, free)
    scores = Scores(scores_tiles, ready, used)
    fence_async_shared()
    gdc_wait()

    # what is known in advance stays so in a call, but not under a name
    v_stride: gl.constexpr = K if SEGMENTED else case.S_v
    k_stride: gl.constexpr = 1 if SEGMENTED else case.S_k
    gl.warp_specialize(
        [
            (state_warps if K <= 128 else wide_state_warps, (
                StateAt(S_first, first_v, v_stride, k_stride, case.HAS_S),
                StateAt(S_last, first_v, case.S_v, case.S_k, last), tokens, silent, token_0,
                given.total, Outputs(o, o_tile, given.o_ptr, HV * V, value_column, given.scale),
                ring, scores, case.SCALED,
            ) + S_tiles),
            (score_warps, (tokens, silent, given.scale, ring, scores)),
            (load_warp, (
                Source(q, k, v, UT, c_ptr, beta_ptr, 1 if by_head else HV), ring, tokens,
                Corner(token_0, h * K, value_column, hv * given.total), silent,
            )),
        ],
        worker_num_warps=[4, 1],
        worker_num_regs=[96, 40],
    )  # fmt: skip
