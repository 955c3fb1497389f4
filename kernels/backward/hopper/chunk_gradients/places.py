"""Where the groups of warps of `kernel` meet: places in shared memory, and signals.

All groups go the same way, and number what they come to from zero:

    pair    q and k of a chunk and key head; of 256 key dimensions, of each half of them
    head    within a pair, each value head: T_inv, and the weights of the tokens
    n       within a head, each slice of 64 value dimensions: v (or R), dO, Z, S and dS'

Most of these have two places and take them in turn, so that `feed_warp` fills one while the other
is read. Where nobody asks early, one is enough: for q, which comes after the first head's slices,
and for dS' where four states have their places. What a head's groups hand to each other, X and N
and sums of rows, has one.

A signal is a barrier in shared memory. It ends a phase when all its `ARRIVALS` have come, and the
next phase begins; who waits says whether an even or an odd phase must be over. `wait` means the
phase of a number. `wait_free` means the one before it, that is: who had the place before is done.
Before the first number there was nobody, and a new barrier counts as if an odd phase were over.

Tiles of one shape are one allocation, and so are all signals: a group of warps keeps the address of
each allocation in a register, and has none to spare.
"""

from collections import namedtuple

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import mbarrier

from ....common.numbers import C
from ....common.slots import slot_bounds
from ....common.triton_private import reinterpreted
from ....forward.hopper.chain import COLUMNS, WEIGHTS, load_weight

PLACES = gl.constexpr(2)

# Signals, and how many arrivals end a phase; of all but the last four each of two places has one:
FULL = gl.constexpr(0)  # the tiles of a slice have come, but for dS' (1)
FREE = gl.constexpr(2)  # all groups have read them (4)
DELTA = gl.constexpr(4)  # E stands in the place of v or R (1)
HEAD_FULL = gl.constexpr(6)  # T_inv has come, and the weights are there (2)
HEAD_FREE = gl.constexpr(8)  # all groups have read them (4)
PAIR_READ = gl.constexpr(10)  # all groups have read q and k (4)
K_FULL = gl.constexpr(12)  # k has come (1)
K_FREE = gl.constexpr(14)  # dk has left from its place (1)
Q_FULL = gl.constexpr(16)  # likewise q (1)
Q_FREE = gl.constexpr(18)  # and dq (1)
STATE_READ = gl.constexpr(20)  # of a span: S has been read, and may become the next one (2)
GRADIENT_FULL = gl.constexpr(22)  # dS' has come (1)
GRADIENT_FREE = gl.constexpr(24)  # the delta warps and the key warps have read it (2)
# and with one:
SUMS = gl.constexpr(26)  # the sums are there, from three groups (3)
SUMS_FREE = gl.constexpr(27)  # the score warps have read them (1)
SCORES = gl.constexpr(28)  # X and N are there (1)
SCORES_FREE = gl.constexpr(29)  # the query warps and the key warps have read them (2)
ARRIVALS = gl.constexpr(
    (1, 1, 4, 4, 1, 1, 2, 2, 4, 4, 4, 4, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2, 1, 1, 2, 2, 3, 1, 1, 2)
)

# How many tiles, in this order: of [C, WIDTH] q, twice k, then dS' and S (`launches.places`);
# of [C, C] twice v (or R, then E), dO and Z, twice T_inv, X, N, and in spans E with its decay
WIDE, SQUARES = gl.constexpr(3), gl.constexpr(10)
# Vectors, a number for each token: the weights of two heads, then sums of rows, which are those of
# Z . R, and the parts of what `pairs.crossing_sums` calls a and b
SUM_OF_Z_R, A_OF_STATE, B_OF_STATE, A_OF_QUERY, B_OF_KEY = (
    gl.constexpr(2 * WEIGHTS.value + x) for x in range(5)
)
VECTORS = gl.constexpr(2 * WEIGHTS.value + 5)


# what the groups share; and how they find their chunks: sequences, spans, tokens of a sequence
Shared = namedtuple("Shared", "wide square vectors signal")
Chunks = namedtuple("Chunks", "cu_seqlens_ptr N spans tokens")


@gluon.jit
def steps(chunks, case: gl.constexpr):
    """How many chunks and key heads this program has, those beyond an end included."""
    after = chunks.spans * case.H - gl.program_id(0)
    return (after + gl.num_programs(0) - 1) // gl.num_programs(0) * case.SPAN


@gluon.jit
def chunk_of(step, chunks, case: gl.constexpr):
    """The span and key head of a step, its chunk's first token, and the sequence's end."""
    item = gl.program_id(0) + step // case.SPAN * gl.num_programs(0)
    span = item // case.H
    _, _, start, end = slot_bounds(
        chunks.cu_seqlens_ptr, span, chunks.N, chunks.tokens, case.SPAN * C, case.PACKED, True
    )
    return span, item % case.H, start + step % case.SPAN * C, end


@gluon.jit
def q_tile(wide):
    return wide.index(0)


@gluon.jit
def k_tile(wide, pair):
    return wide.index(1 + pair % PLACES)


@gluon.jit
def dS_tile(wide, n, case: gl.constexpr):
    return wide.index(WIDE + n % case.GRADIENTS)


@gluon.jit
def S_tile(wide, n, case: gl.constexpr):
    return wide.index(WIDE + case.GRADIENTS + n % case.STATES)


@gluon.jit
def v_tile(square, n):
    """Of v or R, and then of E."""
    return square.index(3 * (n % PLACES))


@gluon.jit
def do_tile(square, n):
    return square.index(3 * (n % PLACES) + 1)


@gluon.jit
def Z_tile(square, n):
    """Of what stands in the place of dV: Z, times `numbers.factor`."""
    return square.index(3 * (n % PLACES) + 2)


@gluon.jit
def T_tile(square, head):
    return as_float16(square.index(6 + head % PLACES))


@gluon.jit
def X_tile(square):
    return square.index(8)


@gluon.jit
def N_tile(square):
    return square.index(9)


@gluon.jit
def carried_tile(square):
    return square.index(10)


@gluon.jit
def as_float16(tile):
    """The same bytes as float16, which T_inv and R are in either dtype of the inputs."""
    return reinterpreted(tile, gl.float16, [C, C])


@gluon.jit
def weight_of(vectors, head, which: gl.constexpr, layout: gl.constexpr):
    return load_weight(vectors, head % PLACES, which, layout)


@gluon.jit
def column_numbers(left):
    """0 to C - 1 for a whole chunk, but not so that the compiler knows: it would make masks of them
    that never change, and keep them in registers from the first chunk to the last.
    """
    return gl.arange(0, C, COLUMNS) + (gl.minimum(left, C) - C)


@gluon.jit
def barrier(signal, which: gl.constexpr, number):
    """The barrier of a number, and the phase that it stands for."""
    places: gl.constexpr = 1 if which >= SUMS else PLACES
    return signal.index(which + number % places), (number // places) & 1


@gluon.jit
def wait(signal, which: gl.constexpr, number):
    """Until the signal is given for this number."""
    bar, phase = barrier(signal, which, number)
    mbarrier.wait(bar, phase)


@gluon.jit
def wait_free(signal, which: gl.constexpr, number):
    """Until it is given for the number that had the place before."""
    bar, phase = barrier(signal, which, number)
    mbarrier.wait(bar, phase ^ 1)


@gluon.jit
def arrive(signal, which: gl.constexpr, number, pred=True):
    """One arrival for this number."""
    bar, _ = barrier(signal, which, number)
    mbarrier.arrive(bar, count=1, pred=pred)


@gluon.jit
def expect(signal, free: gl.constexpr, full: gl.constexpr, number, bytes: gl.constexpr,
           more: gl.constexpr = 0, comes=True, places: gl.constexpr = PLACES):  # fmt: skip
    """When its place is free: the barrier of this number, to which copies bring so many bytes,
    and `more` where that `comes`.

    Together they are one arrival. With one of the `places`, it was that of the number before.
    """
    wait_free(signal, free, number + PLACES - places)
    bar, _ = barrier(signal, full, number)
    mbarrier.expect(bar, bytes + more, pred=comes)
    if more > 0:
        mbarrier.expect(bar, bytes, pred=not comes)
    return bar
