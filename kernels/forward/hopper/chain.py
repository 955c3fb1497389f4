"""What the kernels for Hopper share: the chain of states, and the warp that keeps it supplied.

    delta = UT (V - diag(gamma) K S^T)                                    eq-gdn-chunk-delta
    S'    = gamma_C S + delta^T diag(gamma_C / gamma_i) K                 eq-gdn-chunk-state

all of it transposed, `[d_v, .]`, so that each result is the left operand of the next product and
stays in registers. Gluon, Triton's lower level, leaves to us what Triton decides for itself:

groups    `warp_specialize` gives each group of warps a program and registers of its own: the first
          has four warps and what registers the others leave.
layouts   which thread holds what: a product leaves a `TILE`, and reads an `OPERAND` on its left.
products  `matmul` starts one; `warpgroup_mma_wait(n, deps)` waits until at most the n last started
          are under way. A result must not be touched before that.
copies    the copy engine brings and takes tiles (`tma`). It and the tensor cores see what threads
          have written to shared memory after a `fence_async_shared`. `tma.store_wait(0)` waits
          until what leaves has left its tile, and the tile may be written again.
barriers  chunk j has its tiles in place j % STAGES, with two barriers: `full`, when all has come,
          and `free`, when all groups have read it. A barrier ends a phase after so many arrivals,
          and begins the next; chunk j's is of parity (j // STAGES) & 1. Who waits for a free place
          asks for the parity before, ^ 1, and is let through where no phase has ended yet.

Reference: `gdn_ref.gated_delta_rule.chunk`.
"""

from collections import namedtuple

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import (
    fence_async_shared,
    mbarrier,
    tma,
    warpgroup_mma,
    warpgroup_mma_init,
    warpgroup_mma_wait,
)

from ...common.numbers import LEAST, C

BV = gl.constexpr(64)  # value dimensions a program: the rows of one tensor core instruction
BK = gl.constexpr(64)  # key dimensions a tile
# 64 x 64 numbers over four warps: a product, and the left operand of the next
TILE = gl.constexpr(gl.NVMMADistributedLayout([3, 0], [4, 1], [16, 64, 16]))
OPERAND = gl.constexpr(gl.DotOperandLayout(0, TILE.value, 2))
ROWS, COLUMNS = (gl.constexpr(gl.SliceLayout(1 - axis, TILE.value)) for axis in (0, 1))
# what weighs a chunk's tokens: c, the decays from its start, to its end, over all of it; beta; and
# what the backward pass needs of it
WEIGHTS = gl.constexpr(6)
LOG, FROM_START, TO_END, WHOLE, STRENGTH, FACTOR = (gl.constexpr(n) for n in range(6))
# 64 x 64 numbers as they lie in memory: a thread has eight neighbours of a row
LINES = gl.constexpr(gl.BlockedLayout([1, 8], [4, 8], [4, 1], [1, 0]))
LINE = gl.constexpr(gl.SwizzledSharedLayout(1, 1, 1, [0]))

# a head's numbers in memory; beta's pointer may be None
HeadAt = namedtuple("HeadAt", "c_ptr beta_ptr beta_stride")
# where chunks come from: tiles of q or None, of k, v and UT; and as `HeadAt`
Source = namedtuple("Source", "q k v UT c_ptr beta_ptr beta_stride")
# and from which row and columns on
Corner = namedtuple("Corner", "token key_column value_column matrix_row")
# chunks in flight: their places in shared memory, their weights, their signals
Ring = namedtuple("Ring", "q k v UT weights full free")
# 64 rows of a state in memory, of which `first_v` is the first; nothing there unless `wanted`
StateAt = namedtuple("StateAt", "ptr first_v v_stride k_stride wanted")
# a tile on its way to a matrix in memory
Leaving = namedtuple("Leaving", "matrix tile row column")


@gluon.jit
def matmul(a, b, acc, use_acc: gl.constexpr):
    """`a b (+ acc)`, started; `warpgroup_mma_wait` ends it. `a` in registers or shared memory."""
    return warpgroup_mma(a, b, acc, use_acc=use_acc, is_async=True)


@gluon.jit
def load_warp(source, ring, tokens, corner, silent=0):
    """Tiles of one chunk after the other, and its weights, as soon as there is room for them.

    The numbers of the next chunk are asked for before this one is brought: under load, memory takes
    longer than a chunk. What moves from register to register must have come; so a turn brings
    `TURN` chunks, two. With 256 key dimensions it brings one: twice the code was slower.
    """
    TURN: gl.constexpr = 2 if ring.k.shape[0] // ring.UT.shape[0] <= 2 else 1
    chunks = (tokens + C - 1) // C
    numbers = ()
    for a in gl.static_range(TURN - 1):
        numbers = numbers + (load_numbers(source, a * C, tokens),)
    for turn in range(0, chunks, TURN):
        for a in gl.static_range(TURN):
            j = turn + a
            last = (j + TURN - 1) * C
            numbers = numbers + (load_numbers(source, last, tokens),)
            if a == 0 or j < chunks:
                bring(source, ring, numbers[0], j, corner, silent)
            numbers = numbers[1:]


@gluon.jit
def bring(source, ring, numbers, j, corner, silent):
    """Chunk `j`, as soon as there is room for it.

    `expect` announces the bytes of the tiles, and with them is one arrival at `full`; the weights,
    which this warp computes, are the other. Of the first `silent` chunks the queries stay away.
    """
    STAGES: gl.constexpr = ring.UT.shape[0]
    PARTS: gl.constexpr = ring.k.shape[0] // STAGES
    BYTES: gl.constexpr = 2 * C * BK * (PARTS + 2)  # of all tiles but the queries'
    full, token = ring.full, corner.token + j * C
    s = j % STAGES
    mbarrier.wait(ring.free.index(s), ((j // STAGES) & 1) ^ 1)
    if source.q is None:
        mbarrier.expect(full.index(s), BYTES)
    else:
        mbarrier.expect(full.index(s), BYTES, pred=j < silent)
        mbarrier.expect(full.index(s), BYTES + 2 * C * BK * PARTS, pred=j >= silent)
    for p in gl.static_range(PARTS):
        k_tile, column = ring.k.index(s * PARTS + p), corner.key_column + p * BK
        tma.async_copy_global_to_shared(source.k, [token, column], full.index(s), k_tile)
    v_tile, UT_tile = ring.v.index(s), ring.UT.index(s)
    at, UT_at = [token, corner.value_column], [corner.matrix_row + token, 0]
    tma.async_copy_global_to_shared(source.v, at, full.index(s), v_tile)
    tma.async_copy_global_to_shared(source.UT, UT_at, full.index(s), UT_tile)
    if source.q is not None:
        for p in gl.static_range(PARTS):
            q_tile, column = ring.q.index(s * PARTS + p), corner.key_column + p * BK
            tma.async_copy_global_to_shared(
                source.q, [token, column], full.index(s), q_tile, pred=j >= silent
            )
    weigh(ring.weights, s, numbers)
    mbarrier.arrive(full.index(s), count=1)


@gluon.jit
def load_numbers(head, first, tokens):
    """Cumulative log-decays of the chunk at `first`, the last of them, and beta if it is given.

    Zeros, where no token is left.
    """
    left = gl.minimum(tokens - first, C)
    i = gl.arange(0, C, gl.BlockedLayout([2], [32], [1], [0]))
    c = gl.load(head.c_ptr + first + i, mask=i < left, other=0.0)
    c_C = gl.load(head.c_ptr + first + left - 1, mask=left > 0, other=0.0)
    beta = gl.zeros_like(c)
    if head.beta_ptr is not None:
        beta_at = head.beta_ptr + (first + i) * head.beta_stride
        beta = gl.load(beta_at, mask=i < left, other=0.0)
    return c, c_C, beta.to(gl.float32)


@gluon.jit
def weigh(weights, s, numbers):
    """The weights of a chunk's tokens, to shared memory, once for all threads."""
    c, c_C, beta = numbers
    weights.index(WEIGHTS * s + LOG).store(c)
    weights.index(WEIGHTS * s + FROM_START).store(gl.exp2(c))
    weights.index(WEIGHTS * s + TO_END).store(gl.exp2(c_C - c))
    weights.index(WEIGHTS * s + WHOLE).store(gl.zeros_like(c) + gl.exp2(c_C))
    weights.index(WEIGHTS * s + STRENGTH).store(beta)


@gluon.jit
def load_weight(weights, s, which: gl.constexpr, layout: gl.constexpr):
    """One weight for each token of the chunk in place `s`."""
    return weights.index(WEIGHTS * s + which).load(layout)


@gluon.jit
def weight(weights, s, which: gl.constexpr):
    """The same as a row, for matrices whose columns are tokens."""
    return load_weight(weights, s, which, COLUMNS)[None, :]


@gluon.jit
def tile_factor(beta):
    """What Z stands multiplied with in the place of dV; see `numbers.factor`."""
    return gl.where(beta >= LEAST, beta, 1.0)


@gluon.jit
def tile_rest(beta):
    """What makes dV of what stands in its place; see `numbers.rest`."""
    return gl.where(beta >= LEAST, 1.0, beta)


@gluon.jit
def load_state(at, PARTS: gl.constexpr):
    """`[64, K]` of a state, in parts of 64 columns; zeros if not wanted."""
    v = at.first_v + gl.arange(0, BV, ROWS)[:, None]
    S = ()
    for p in gl.static_range(PARTS):
        k = p * BK + gl.arange(0, BK, COLUMNS)[None, :]
        part = gl.load(at.ptr + v * at.v_stride + k * at.k_stride, mask=at.wanted, other=0.0)
        S = S + (part.to(gl.float32),)
    return S


@gluon.jit
def store_state(S, at, PARTS: gl.constexpr):
    """Write such a state, if wanted."""
    v = at.first_v + gl.arange(0, BV, ROWS)[:, None]
    for p in gl.static_range(PARTS):
        k = p * BK + gl.arange(0, BK, COLUMNS)[None, :]
        gl.store(at.ptr + v * at.v_stride + k * at.k_stride, S[p], mask=at.wanted)


@gluon.jit
def read_state(S, s, k_tiles, PARTS: gl.constexpr, S_tiles=None):
    """`S k^T`, started; and S as its operands, which are `S_tiles` where S stands there, too."""
    read = warpgroup_mma_init(gl.zeros([BV, C], gl.float32, TILE))
    operands = ()
    for p in gl.static_range(PARTS):
        if S_tiles is None:
            operand = gl.convert_layout(S[p].to(k_tiles.dtype), OPERAND)
        else:
            operand = S_tiles.index(p)
        read = matmul(operand, k_tiles.index(s * PARTS + p).permute((1, 0)), read, p > 0)
        operands = operands + (operand,)
    return read, operands


@gluon.jit
def solve(residual, UT, left, FULL: gl.constexpr):
    """`residual UT^T`, started; of a chunk that is not `FULL`, of its `left` tokens alone."""
    if not FULL:
        residual = gl.where(gl.arange(0, C, COLUMNS)[None, :] < left, residual, 0.0)
    residual = gl.convert_layout(residual.to(UT.dtype), OPERAND)
    zero = gl.zeros([BV, C], gl.float32, TILE)
    return matmul(residual, UT.permute((1, 0)), zero, False)


@gluon.jit
def carry(S, delta, weights, s, k_tiles, PARTS: gl.constexpr):
    """The next state, started part by part (eq-gdn-chunk-state).

    `delta` comes with the decay to the chunk's end. The decay over the whole chunk is the same for
    all tokens: each row of S reads one of them.
    """
    operand = gl.convert_layout(delta.to(k_tiles.dtype), OPERAND)
    whole = weights.index(WEIGHTS * s + WHOLE).slice(0, 1).load(ROWS)[:, None]
    parts = ()
    for p in gl.static_range(PARTS):
        parts = parts + (matmul(operand, k_tiles.index(s * PARTS + p), S[p] * whole, True),)
    return parts


@gluon.jit
def settled(S, PARTS: gl.constexpr):
    """The parts of a state whose products were the last to be started."""
    parts = ()
    for p in gl.static_range(PARTS):
        parts = parts + (warpgroup_mma_wait(PARTS - 1 - p, deps=[S[p]]),)
    return parts


@gluon.jit
def next_state(S, j, has_v, ring, SCALED: gl.constexpr, S_tiles=None, residual_to=None):
    """The state after the whole chunk `j`, where nobody asks for outputs.

    The chunk's matrix has beta in it if it is `SCALED`. The values are zero unless `has_v`. S may
    stand in `S_tiles` as well. The residual v - gamma S k goes to `residual_to`, if that is given;
    no copy may be leaving its tile any more.
    """
    STAGES: gl.constexpr = ring.UT.shape[0]
    PARTS: gl.constexpr = ring.k.shape[0] // STAGES
    weights = ring.weights
    s = j % STAGES
    mbarrier.wait(ring.full.index(s), (j // STAGES) & 1)
    read, _ = read_state(S, s, ring.k, PARTS, S_tiles)
    gamma = weight(weights, s, FROM_START)
    v = ring.v.index(s).permute((1, 0)).load(TILE).to(gl.float32)
    v = gl.where(has_v, v, 0.0)
    residual = v - gamma * warpgroup_mma_wait(0, deps=[read])
    R = residual
    if not SCALED:
        residual *= weight(weights, s, STRENGTH)
    delta = solve(residual, ring.UT.index(s), C, True)
    if residual_to is not None:
        residual_to.tile.permute((1, 0)).store(R.to(residual_to.tile.dtype))
        leave(residual_to)
    to_end = weight(weights, s, TO_END)
    S = carry(S, to_end * warpgroup_mma_wait(0, deps=[delta]), weights, s, ring.k, PARTS)
    S = settled(S, PARTS)
    mbarrier.arrive(ring.free.index(s), count=1)
    return S


@gluon.jit
def leave(leaving):
    """Write a tile to memory, by the copy engine, once the threads have stored it."""
    fence_async_shared()
    tma.async_copy_shared_to_global(leaving.matrix, [leaving.row, leaving.column], leaving.tile)


@gluon.jit
def signals(COUNT: gl.constexpr, arrivals: gl.constexpr):
    """`COUNT` barriers in shared memory; each opens after `arrivals`."""
    bars = gl.allocate_shared_memory(gl.int64, [COUNT, 1], mbarrier.MBarrierLayout())
    for s in gl.static_range(COUNT):
        mbarrier.init(bars.index(s), count=arrivals)
    return bars
