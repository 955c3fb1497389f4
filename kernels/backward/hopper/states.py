"""Backward, kernel 1 for Hopper: the states that the chunks receive, computed again and kept.

    delta = T_inv diag(beta) (V - diag(gamma) K S^T)                      eq-gdn-chunk-delta
    S'    = gamma_C S + delta^T diag(gamma_C / gamma_i) K                 eq-gdn-chunk-state

A program has a sequence, a value head and 64 value dimensions. One group of warps carries the chain
of `chain.next_state`, one warp loads. Each state, or the first of each span of chunks, leaves by
the copy engine while the next one is computed. So does R = V - diag(gamma) K S^T, where it is asked
for: of heads beyond 128 dimensions `chunk_gradients` has half of the keys at a time, and could not
find it.

Reference: `gdn_ref.gated_delta_rule.chunk`.
"""

from collections import namedtuple

from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, tma

from ...common.numbers import C
from ...common.slots import slot_bounds
from ...forward.hopper.chain import (
    BK,
    BV,
    LINE,
    WEIGHTS,
    Corner,
    Leaving,
    Ring,
    Source,
    StateAt,
    load_state,
    load_warp,
    next_state,
    signals,
)

# what a launch gives: pointers; sequences; tokens of one and of all, heads
HopperStatesGiven = namedtuple(
    "HopperStatesGiven", "beta_ptr c_ptr S_first_ptr cu_seqlens_ptr N T total H HV"
)
# what is known in advance: dimensions, strides of a first state, flags
HopperStatesCase = namedtuple("HopperStatesCase", "K V S_v S_k HAS_S PACKED BY_LENGTH SPAN")
# where states go: the first one's row, rows to the next; by way of these tiles; chunks to the next
Kept = namedtuple("Kept", "states row step tiles span")


@gluon.jit
def keep(S, kept, j):
    """Write the state of chunk `j` to memory, by the copy engine."""
    PARTS: gl.constexpr = kept.tiles.shape[0]
    tma.store_wait(0)
    for p in gl.static_range(PARTS):
        kept.tiles.index(p).store(S[p].to(kept.tiles.dtype))
    fence_async_shared()
    row = kept.row + j * kept.step
    for p in gl.static_range(PARTS):
        tma.async_copy_shared_to_global(kept.states, [row, p * BK], kept.tiles.index(p))


@gluon.jit
def kept_state_warps(S, steps, chunks, kept, ring, residuals):
    """The states that the chunks receive. The last chunk is a step only if R is wanted.

    `residuals` is where the first chunk's R goes, if it goes anywhere.
    """
    R = residuals.matrix
    for j in range(steps):
        if j % kept.span == 0:
            keep(S, kept, j // kept.span)
        if R is None:
            S = next_state(S, j, True, ring, False)
        else:
            to = Leaving(R, residuals.tile, residuals.row + j * C, residuals.column)
            S = next_state(S, j, True, ring, False, kept.tiles, to)
    if steps < chunks:
        keep(S, kept, steps // kept.span)
    tma.store_wait(0)


@gluon.jit
def chunk_states_hopper_kernel(
    k, v, T_inv, states, R, given: HopperStatesGiven, case: gl.constexpr
):
    K: gl.constexpr = case.K
    V: gl.constexpr = case.V
    SPAN: gl.constexpr = case.SPAN
    slices: gl.constexpr = V // BV
    HV = given.HV
    n = gl.program_id(0) // slices // HV
    hv = gl.program_id(0) // slices % HV
    h = hv // (HV // given.H)
    first_v = (gl.program_id(0) % slices) * BV
    n, _, token_0, end = slot_bounds(
        given.cu_seqlens_ptr, n, given.N, given.T, 0, case.PACKED, False, case.BY_LENGTH
    )
    chunks = (end - token_0 + C - 1) // C
    steps = gl.maximum(chunks - 1, 0) // SPAN * SPAN if R is None else chunks
    slot = n * ((given.T + SPAN * C - 1) // (SPAN * C))
    if case.PACKED:
        slot = token_0 // C + n

    PARTS: gl.constexpr = K // BK
    STAGES: gl.constexpr = 3  # chunks in flight
    S_from = given.S_first_ptr if case.HAS_S else given.c_ptr
    S_from += (n * HV + hv).to(gl.int64) * (V * K)
    S = load_state(StateAt(S_from, first_v, case.S_v, case.S_k, case.HAS_S), PARTS)
    k_tiles = gl.allocate_shared_memory(k.dtype, [STAGES * PARTS, C, BK], k.layout)
    v_tiles = gl.allocate_shared_memory(k.dtype, [STAGES, C, BV], v.layout)
    T_tiles = gl.allocate_shared_memory(T_inv.dtype, [STAGES, C, C], T_inv.layout)
    S_tiles = gl.allocate_shared_memory(k.dtype, [PARTS, BV, BK], states.layout)
    R_tile = None
    if R is not None:
        R_tile = gl.allocate_shared_memory(R.dtype, [C, BV], R.layout)
    weights = gl.allocate_shared_memory(gl.float32, [WEIGHTS * STAGES, C], LINE)
    full, free = signals(STAGES, 2), signals(STAGES, 1)
    ring = Ring(None, k_tiles, v_tiles, T_tiles, weights, full, free)
    fence_async_shared()

    c_ptr = given.c_ptr + (hv.to(gl.int64) * given.total + token_0)
    beta_ptr = given.beta_ptr + (token_0.to(gl.int64) * HV + hv)
    residuals = Leaving(R, R_tile, token_0, hv * V + first_v)
    kept = Kept(states, (slot * HV + hv) * V + first_v, HV * V, S_tiles, SPAN)
    gl.warp_specialize(
        [
            (kept_state_warps, (S, steps, chunks, kept, ring, residuals)),
            (load_warp, (
                Source(None, k, v, T_inv, c_ptr, beta_ptr, HV), ring, steps * C,
                Corner(token_0, h * K, hv * V + first_v, hv * given.total),
            )),
        ],
        worker_num_warps=[1],
        worker_num_regs=[40],
    )  # fmt: skip
