"""Backward, kernel 1 for Hopper: the states that the chunks receive, computed again and kept.

    delta = T_inv diag(beta) (V - diag(gamma) K S^T)                      eq-gdn-chunk-delta
    S'    = gamma_C S + delta^T diag(gamma_C / gamma_i) K                 eq-gdn-chunk-state

A program has a sequence, a value head and 64 value dimensions. One group of warps carries the chain
of `chain.next_state`, one warp loads. Each state leaves by the copy engine while the next one is
computed. So does R = V - diag(gamma) K S^T, where it is asked for: of heads beyond 128 dimensions
`chunk_gradients` has half of the keys at a time, and could not find it.

Reference: `gdn_ref.gated_delta_rule.chunk`.
"""

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
    load_state,
    load_warp,
    next_state,
    signals,
)

STAGES = gl.constexpr(3)  # chunks in flight


@gluon.jit
def keep(S, states, row, S_tiles):
    """Write a state to memory, by the copy engine."""
    PARTS: gl.constexpr = S_tiles.shape[0]
    tma.store_wait(0)
    for p in gl.static_range(PARTS):
        S_tiles.index(p).store(S[p].to(S_tiles.dtype))
    fence_async_shared()
    for p in gl.static_range(PARTS):
        tma.async_copy_shared_to_global(states, [row, p * BK], S_tiles.index(p))


@gluon.jit
def kept_state_warps(
    S, steps, chunks, states, row, step, S_tiles, k_tiles, v_tiles, T_tiles, weights, full, free,
    R, R_tile, begin, column,
):  # fmt: skip
    """The states that the chunks receive. The last chunk is a step only if R is wanted."""
    for j in range(steps):
        keep(S, states, row + j * step, S_tiles)
        S = next_state(
            S, j, True, k_tiles, v_tiles, T_tiles, weights, full, free, False,
            None if R is None else S_tiles, R, R_tile, begin + j * C, column,
        )  # fmt: skip
    if steps < chunks:
        keep(S, states, row + steps * step, S_tiles)
    tma.store_wait(0)


@gluon.jit(do_not_specialize=["T", "total", "H", "HV"])
def chunk_states_hopper_kernel(
    # tensors, and tiles of them; states are [slots, HV, V, K]; R, of whole chunks alone, or None
    k, v, T_inv, states, R, beta_ptr, c_ptr, S_first_ptr, cu_seqlens_ptr,
    # sizes
    T, total, H, HV, K: gl.constexpr, V: gl.constexpr,
    # strides of a first state
    S_v: gl.constexpr, S_k: gl.constexpr,
    # flags
    HAS_S: gl.constexpr, PACKED: gl.constexpr,
):  # fmt: skip
    slices: gl.constexpr = V // BV
    n = gl.program_id(0) // slices // HV
    hv = gl.program_id(0) // slices % HV
    h = hv // (HV // H)
    first_v = (gl.program_id(0) % slices) * BV
    n, _, token_0, end = slot_bounds(cu_seqlens_ptr, n, 0, T, 0, PACKED, False)
    chunks = (end - token_0 + C - 1) // C
    steps = gl.maximum(chunks - 1, 0) if R is None else chunks
    slot = n * ((T + C - 1) // C)
    if PACKED:
        slot = token_0 // C + n

    PARTS: gl.constexpr = K // BK
    S_from = S_first_ptr if HAS_S else c_ptr
    S_from += (n * HV + hv).to(gl.int64) * (V * K)
    S = load_state(S_from, first_v, S_v, S_k, HAS_S, PARTS)
    k_tiles = gl.allocate_shared_memory(k.dtype, [STAGES * PARTS, C, BK], k.layout)
    v_tiles = gl.allocate_shared_memory(k.dtype, [STAGES, C, BV], v.layout)
    T_tiles = gl.allocate_shared_memory(T_inv.dtype, [STAGES, C, C], T_inv.layout)
    S_tiles = gl.allocate_shared_memory(k.dtype, [PARTS, BV, BK], states.layout)
    R_out, R_tile = None, None
    if R is not None:
        R_out = R
        R_tile = gl.allocate_shared_memory(R.dtype, [C, BV], R.layout)
    weights = gl.allocate_shared_memory(gl.float32, [WEIGHTS * STAGES, C], LINE)
    full, free = signals(STAGES, 2), signals(STAGES, 1)
    fence_async_shared()

    c_ptr += hv.to(gl.int64) * total + token_0
    beta_ptr += token_0.to(gl.int64) * HV + hv
    gl.warp_specialize(
        [
            (kept_state_warps, (
                S, steps, chunks, states, (slot * HV + hv) * V + first_v, HV * V, S_tiles,
                k_tiles, v_tiles, T_tiles, weights, full, free,
                R_out, R_tile, token_0, hv * V + first_v,
            )),
            (load_warp, (
                None, k, v, T_inv, c_ptr, beta_ptr, HV, k_tiles, k_tiles, v_tiles, T_tiles,
                weights, full, free, steps * C, token_0, h * K, hv * V + first_v, hv * total,
            )),
        ],
        worker_num_warps=[1],
        worker_num_regs=[40],
    )  # fmt: skip
