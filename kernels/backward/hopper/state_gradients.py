"""Backward, kernel 2 for Hopper: the equations of the portable one, groups of warps side by side.

    dE = (Gamma . Q K^T)^T dO + diag(gamma_C / gamma_i) K dS'^T           eq-grad-solve
    Z  = T_inv^T dE = dE + (T_inv - I)^T dE                               eq-grad-solve
    dS = gamma_C dS' + (diag(gamma) dO)^T Q - (diag(beta gamma) Z)^T K    eq-grad-state

A program has a sequence, a value head and 64 value dimensions, and walks from the last chunk to the
first; everything but q and k is transposed, `[d_v, .]`. The chain dS' -> dE -> Z -> dS decides the
time, and three groups of warps share the work around it:

    load_warp_backwards
                  brings the tiles and weights of the next chunks
    helper_warps  prepare what does not wait for the chain: the scores, dO with its decay, T_inv - I
                  in the dtype of the gradients, and zeros where a short chunk has no tokens
    chain_warps   carry dS in registers, and write dS' and dV

Signals are those of `chain`: `full` and `free` of a chunk's tiles, and likewise `ready` and `used`
of what the helpers prepare, which has `TURNS` places.

T_inv - I: with T_inv itself the product would round all of dE to 16 bits; so dE stays as it is, in
float32, and only what is added to it has been rounded.

Two halves of dO with its decay: the first state's gradient leaves in float32, but an operand has 16
bits. What rounding has taken from the first chunk's operand is a second one, `low`, which comes in
the place of a dO that does not come any more, and is added after the last step.

With 256 key dimensions dS takes half of a thread's registers and a chunk's tiles a third of shared
memory: dS is read where it waits to leave, the inverse stands in the place of T_inv, and what the
helpers prepare has one place instead of two.

For 16-bit inputs, head dimensions of 64, 128 or 256, chunks of 64.

Reference: `gdn_ref.backward.chunk`.
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

from ...common.numbers import C
from ...common.slots import slot_bounds
from ...common.triton_private import reinterpreted
from ...forward.hopper.chain import (
    BV,
    COLUMNS,
    FACTOR,
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
    WHOLE,
    Corner,
    Leaving,
    leave,
    load_numbers,
    load_weight,
    matmul,
    signals,
    tile_factor,
    weigh,
    weight,
)

# what a launch gives: pointers; a factor; sequences, tokens of each and of all, heads
HopperStateGradientsGiven = namedtuple(
    "HopperStateGradientsGiven",
    "beta_ptr c_ptr dV_ptr dS_last_ptr dS_first_ptr cu_seqlens_ptr scale N T total H HV",
)
# what is known in advance: dimensions, strides of dS_last, flags
HopperStateGradientsCase = namedtuple(
    "HopperStateGradientsCase", "K V S_v S_k HAS_DS PACKED BY_LENGTH"
)
# as `chain.Source` and `chain.Ring`, of what goes backwards
GradientSource = namedtuple("GradientSource", "q k do T c_ptr beta_ptr beta_stride")
GradientRing = namedtuple("GradientRing", "q k do T weights full free")
# what the helpers prepare, in shared memory, and its signals
Prepared = namedtuple("Prepared", "scores decayed inverse ready used")
# where dS' goes: the last one's row, rows to the one before; by way of this tile
KeptGradients = namedtuple("KeptGradients", "dstates row step tile")
# where dV goes, by way of a tile; and a pointer and rows for short chunks
Values = namedtuple("Values", "dV tile ptr stride token column")


@gluon.jit
def load_warp_backwards(source, ring, tokens, corner):
    """As `chain.load_warp`, from the last chunk on."""
    STAGES: gl.constexpr = ring.q.shape[0]
    BYTES: gl.constexpr = 2 * C * (2 * source.k.block_shape[1] + BV + C)
    full = ring.full
    chunks = (tokens + C - 1) // C
    for j in range(chunks):
        s = j % STAGES
        first = (chunks - 1 - j) * C
        token = corner.token + first
        numbers = load_numbers(source, first, tokens)
        mbarrier.wait(ring.free.index(s), ((j // STAGES) & 1) ^ 1)
        mbarrier.expect(full.index(s), BYTES)
        at, do_at = [token, corner.key_column], [token, corner.value_column]
        tma.async_copy_global_to_shared(source.q, at, full.index(s), ring.q.index(s))
        tma.async_copy_global_to_shared(source.k, at, full.index(s), ring.k.index(s))
        tma.async_copy_global_to_shared(source.do, do_at, full.index(s), ring.do.index(s))
        T_at = [corner.matrix_row + token, 0]
        tma.async_copy_global_to_shared(source.T, T_at, full.index(s), ring.T.index(s))
        weigh(ring.weights, s, numbers)
        ring.weights.index(WEIGHTS * s + FACTOR).store(tile_factor(numbers[2]))
        mbarrier.arrive(full.index(s), count=1)


@gluon.jit
def helper_warps(tokens, scale, ring, prepared):
    """Chunk after chunk: scores, dO with its decay, T_inv - I; zeros in a short chunk's tiles."""
    dtype: gl.constexpr = ring.k.dtype
    STAGES: gl.constexpr = ring.k.shape[0]
    K: gl.constexpr = ring.k.shape[2]
    TURNS: gl.constexpr = prepared.scores.shape[0]
    rows: gl.constexpr = gl.BlockedLayout([1, 8], [32 * 8 // K, K // 8], [4, 1], [1, 0])
    LINE_ROWS: gl.constexpr = gl.SliceLayout(1, LINES)
    r = gl.arange(0, C, ROWS)[:, None]
    i = gl.arange(0, C, COLUMNS)[None, :]
    row = gl.arange(0, C, LINE_ROWS)
    column = gl.arange(0, C, gl.SliceLayout(0, LINES))[None, :]
    zero = gl.zeros([C, C], gl.float32, TILE)
    chunks = (tokens + C - 1) // C
    for j in range(chunks):
        s = j % STAGES
        b = j % TURNS
        first = (chunks - 1 - j) * C
        left = tokens - first
        mbarrier.wait(ring.full.index(s), (j // STAGES) & 1)
        if TURNS > 1:
            mbarrier.wait(prepared.used.index(b), ((j // TURNS) & 1) ^ 1)
        if left < C:  # the tokens after ours may hold anything
            ours = gl.arange(0, C, gl.SliceLayout(1, rows))[:, None] < left
            ring.q.index(s).store(gl.where(ours, ring.q.index(s).load(rows), 0.0))
            ring.k.index(s).store(gl.where(ours, ring.k.index(s).load(rows), 0.0))
            do_short = gl.where(row[:, None] < left, ring.do.index(s).load(LINES), 0.0)
            ring.do.index(s).store(do_short)
            fence_async_shared()
        scores = matmul(ring.q.index(s), ring.k.index(s).permute((1, 0)), zero, False)
        c_r = load_weight(ring.weights, s, LOG, ROWS)[:, None]
        c_r = gl.where(r < left, c_r, float("-inf"))  # sees nothing
        c_i = weight(ring.weights, s, LOG)
        gamma = scale * load_weight(ring.weights, s, FROM_START, LINE_ROWS)
        T_inv = ring.T.index(s).load(LINES)
        T_inv = gl.where(column < gl.where(row < left, row, 0)[:, None], T_inv, 0.0)
        prepared.inverse.index(j % prepared.inverse.shape[0]).store(T_inv.to(dtype))
        decayed = gamma[:, None] * ring.do.index(s).load(LINES).to(gl.float32)
        if TURNS == 1:  # wait as late as can be: the chain still reads what is there
            mbarrier.wait(prepared.used.index(b), (j & 1) ^ 1)
        if j == chunks - 1:  # where the next dO would come
            low = decayed - decayed.to(dtype).to(gl.float32)
            ring.do.index(chunks % STAGES).store(low.to(dtype))
        prepared.decayed.index(b).store(decayed.to(dtype))
        Gamma = gl.exp2(gl.where(r >= i, c_r - c_i, float("-inf")))
        scores = scale * Gamma * warpgroup_mma_wait(0, deps=[scores])
        prepared.scores.index(b).store(scores.to(dtype))
        fence_async_shared()
        mbarrier.arrive(prepared.ready.index(b), count=1)


@gluon.jit
def leave_state(dS, kept, row):
    """Write a state's gradient to memory, by the copy engine."""
    tma.store_wait(0)
    kept.tile.store(dS)
    leave(Leaving(kept.dstates, kept.tile, row, 0))


@gluon.jit
def chain_warps(dS, tokens, kept, values, ring, prepared):
    """The chain of the states' gradients, which never leave the registers; returns the first."""
    dtype: gl.constexpr = ring.k.dtype
    STAGES: gl.constexpr = ring.k.shape[0]
    TURNS: gl.constexpr = prepared.scores.shape[0]
    WIDE: gl.constexpr = ring.k.shape[2] > 128
    operand_dS: gl.constexpr = gl.DotOperandLayout(0, dS.type.layout, 2)
    i = gl.arange(0, C, COLUMNS)[None, :]
    v = gl.arange(0, BV, ROWS)[:, None]
    zero = gl.zeros([BV, C], gl.float32, TILE)
    chunks = (tokens + C - 1) // C
    for j in range(chunks):
        s = j % STAGES
        b = j % TURNS
        first = (chunks - 1 - j) * C
        left = gl.minimum(tokens - first, C)
        dS_in = dS.to(dtype)
        if WIDE:
            leave_state(dS_in, kept, kept.row - j * kept.step)
        mbarrier.wait(prepared.ready.index(b), (j // TURNS) & 1)

        # eq-grad-solve
        k = ring.k.index(s)
        dS_operand = kept.tile if WIDE else gl.convert_layout(dS_in, OPERAND)
        read = matmul(dS_operand, k.permute((1, 0)), zero, False)
        seen = matmul(ring.do.index(s).permute((1, 0)), prepared.scores.index(b), zero, False)
        if not WIDE:
            leave_state(dS_in, kept, kept.row - j * kept.step)
        to_end = weight(ring.weights, s, TO_END)
        reads = -weight(ring.weights, s, FROM_START) * weight(ring.weights, s, STRENGTH)
        whole = ring.weights.index(WEIGHTS * s + WHOLE).slice(0, 1)  # the same for all tokens
        dS = dS * whole.load(gl.SliceLayout(1, dS.type.layout))[:, None]
        read, seen = warpgroup_mma_wait(0, deps=[read, seen])
        dE = to_end * read + seen
        dE_in = gl.convert_layout(dE.to(dtype), OPERAND)
        Z = matmul(dE_in, prepared.inverse.index(j % prepared.inverse.shape[0]), dE, True)
        dS = matmul(prepared.decayed.index(b).permute((1, 0)), ring.q.index(s), dS, True)
        Z = warpgroup_mma_wait(1, deps=[Z])

        # eq-grad-state
        carried = gl.convert_layout((reads * Z).to(dtype), operand_dS)
        dS = warpgroup_mma_wait(0, deps=[dS])
        if TURNS == 1:
            mbarrier.arrive(prepared.used.index(b), count=1)
        dS = matmul(carried, k, dS, True)
        dV = (weight(ring.weights, s, FACTOR) * Z).to(dtype)
        if left == C:
            values.tile.permute((1, 0)).store(dV)
            fence_async_shared()
            dV_at = [values.token + first, values.column]
            tma.async_copy_shared_to_global(values.dV, dV_at, values.tile)
        else:
            at = (values.token + first + i).to(gl.int64) * values.stride + values.column + v
            gl.store(values.ptr + at, dV, mask=i < left)
        dS = warpgroup_mma_wait(0, deps=[dS])
        mbarrier.arrive(ring.free.index(s), count=1)
        if TURNS > 1:
            mbarrier.arrive(prepared.used.index(b), count=1)
    if chunks > 0:
        low = ring.do.index(chunks % STAGES)
        dS = matmul(low.permute((1, 0)), ring.q.index((chunks - 1) % STAGES), dS, True)
        dS = warpgroup_mma_wait(0, deps=[dS])
    tma.store_wait(0)
    return (dS,)


@gluon.jit
def state_gradients_hopper_kernel(
    q, k, do, T_inv, dV, dstates, given: HopperStateGradientsGiven, case: gl.constexpr
):
    K: gl.constexpr = case.K
    V: gl.constexpr = case.V
    dtype: gl.constexpr = k.dtype
    slices: gl.constexpr = V // BV
    HV = given.HV
    n = gl.program_id(0) // slices // HV
    hv = gl.program_id(0) // slices % HV
    h = hv // (HV // given.H)
    first_v = (gl.program_id(0) % slices) * BV
    n, _, token_0, end = slot_bounds(
        given.cu_seqlens_ptr, n, given.N, given.T, 0, case.PACKED, False, case.BY_LENGTH
    )
    tokens = end - token_0
    chunks = (tokens + C - 1) // C
    slot = n * ((given.T + C - 1) // C)
    if case.PACKED:
        slot = token_0 // C + n

    WIDE: gl.constexpr = K > 128
    STAGES: gl.constexpr = 2 if WIDE else 3  # chunks in flight
    TURNS: gl.constexpr = 1 if WIDE else 2  # chunks whose scores and decayed dO have a place
    rows: gl.constexpr = gl.NVMMADistributedLayout([3, 0], [4, 1], [16, K, 16])
    dim_v = first_v + gl.arange(0, BV, gl.SliceLayout(1, rows))[:, None]
    dim_k = gl.arange(0, K, gl.SliceLayout(0, rows))[None, :]
    dS_at = (n * HV + hv).to(gl.int64) * (V * K) + dim_v * K + dim_k
    dS = gl.zeros([BV, K], gl.float32, rows)
    if case.HAS_DS:
        last_at = (n * HV + hv).to(gl.int64) * (V * K) + dim_v * case.S_v + dim_k * case.S_k
        dS = gl.load(given.dS_last_ptr + last_at).to(gl.float32)

    q_tiles = gl.allocate_shared_memory(dtype, [STAGES, C, K], q.layout)
    k_tiles = gl.allocate_shared_memory(dtype, [STAGES, C, K], k.layout)
    do_tiles = gl.allocate_shared_memory(dtype, [STAGES, C, BV], do.layout)
    T_tiles = gl.allocate_shared_memory(T_inv.dtype, [STAGES, C, C], T_inv.layout)
    scores_tiles = gl.allocate_shared_memory(dtype, [TURNS, C, C], T_inv.layout)
    decayed_tiles = gl.allocate_shared_memory(dtype, [TURNS, C, BV], do.layout)
    if WIDE:
        inverse_tiles = reinterpreted(T_tiles, dtype, [STAGES, C, C])
    else:
        inverse_tiles = gl.allocate_shared_memory(dtype, [TURNS, C, C], T_inv.layout)
    dS_tile = gl.allocate_shared_memory(dtype, [BV, K], dstates.layout)
    dV_tile = gl.allocate_shared_memory(dtype, [C, BV], dV.layout)
    weights = gl.allocate_shared_memory(gl.float32, [STAGES * WEIGHTS, C], LINE)
    full, free = signals(STAGES, 2), signals(STAGES, 1)
    ready, used = signals(TURNS, 1), signals(TURNS, 1)
    fence_async_shared()

    c_ptr = given.c_ptr + (hv.to(gl.int64) * given.total + token_0)
    beta_ptr = given.beta_ptr + (token_0.to(gl.int64) * HV + hv)
    value_column = hv * V + first_v
    last_row = ((slot + chunks - 1) * HV + hv) * V + first_v
    ring = GradientRing(q_tiles, k_tiles, do_tiles, T_tiles, weights, full, free)
    prepared = Prepared(scores_tiles, decayed_tiles, inverse_tiles, ready, used)
    kept = KeptGradients(dstates, last_row, HV * V, dS_tile)
    values = Values(dV, dV_tile, given.dV_ptr, HV * V, token_0, value_column)
    source = GradientSource(q, k, do, T_inv, c_ptr, beta_ptr, HV)
    corner = Corner(token_0, h * K, value_column, hv * given.total)
    (dS,) = gl.warp_specialize(
        [
            (chain_warps, (dS, tokens, kept, values, ring, prepared)),
            (helper_warps, (tokens, given.scale, ring, prepared)),
            (load_warp_backwards, (source, ring, tokens, corner)),
        ],
        worker_num_warps=[4, 1],
        worker_num_regs=[168, 40],
    )
    gl.store(given.dS_first_ptr + dS_at, dS)
