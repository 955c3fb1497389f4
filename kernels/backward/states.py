"""Backward, kernel 1: the states that the chunks receive, computed again and kept.

    E  = T_inv diag(beta) (V - diag(gamma) K S^T)                         eq-gdn-chunk-delta
    S' = gamma_C S + E^T diag(gamma_C / gamma_i) K                        eq-gdn-chunk-state

`forward.scan` without the outputs. States go to memory in the dtype of the inputs.

Reference: `gdn_ref.gated_delta_rule.chunk`.
"""

from collections import namedtuple

import triton
import triton.language as tl

from ..common.tokens import first_slot, load_tile, sequence_bounds

# what a launch gives: pointers, states are [slots, HV, V, K]; tokens of a sequence and of all
StatesGiven = namedtuple(
    "StatesGiven",
    "k_ptr v_ptr beta_ptr c_ptr T_ptr S_first_ptr states_ptr cu_seqlens_ptr T total",
)
# what is known in advance: heads and their dimensions; strides of a first state; blocks; flags
StatesCase = namedtuple("StatesCase", "H HV K V S_v S_k C BK BV HAS_S PACKED PRECISION STAGES")
# pointers to a chunk's first token
Written = namedtuple("Written", "k_ptr v_ptr beta_ptr c_ptr T_ptr")


@triton.jit
def state_after(S, chunk, left, V_left, case: tl.constexpr, FULL: tl.constexpr):
    """The state after the chunk's `left` tokens."""
    C: tl.constexpr = case.C
    BK: tl.constexpr = case.BK
    BV: tl.constexpr = case.BV
    PRECISION: tl.constexpr = case.PRECISION
    dtype = chunk.v_ptr.dtype.element_ty
    k = load_tile(chunk.k_ptr, case.H * case.K, left, case.K, C, BK, FULL and case.K == BK)
    v = load_tile(chunk.v_ptr, case.HV * case.V, left, V_left, C, BV, FULL and case.V % BV == 0)
    T_inv = load_tile(chunk.T_ptr, C, left, C, C, C, FULL)
    i = tl.arange(0, C)
    beta = tl.load(chunk.beta_ptr + i * case.HV, mask=i < left, other=0.0).to(tl.float32)[None, :]
    c = tl.load(chunk.c_ptr + i, mask=i < left, other=0.0)
    c_C = tl.load(chunk.c_ptr + left - 1)
    gamma = tl.exp2(c.to(tl.float32))[None, :]
    to_end = tl.exp2((c_C - c).to(tl.float32))[None, :]

    # eq-gdn-chunk-delta
    read = gamma * tl.dot(S.to(dtype), tl.trans(k), input_precision=PRECISION)
    residual = beta * (tl.trans(v).to(tl.float32) - read)
    E = tl.dot(residual.to(T_inv.dtype), tl.trans(T_inv), input_precision=PRECISION)

    # eq-gdn-chunk-state, the decay to the end laid on E instead of on K
    S = S * tl.exp2(c_C.to(tl.float32))
    return tl.dot((to_end * E).to(dtype), k, acc=S, input_precision=PRECISION)


@triton.jit
def chunk_states_kernel(given: StatesGiven, case: tl.constexpr):
    H: tl.constexpr = case.H
    HV: tl.constexpr = case.HV
    K: tl.constexpr = case.K
    V: tl.constexpr = case.V
    C: tl.constexpr = case.C
    BV: tl.constexpr = case.BV
    states_ptr = given.states_ptr
    slices: tl.constexpr = (V + BV - 1) // BV
    n = tl.program_id(0) // slices // HV
    hv = tl.program_id(0) // slices % HV
    first_v = (tl.program_id(0) % slices) * BV
    h = hv // (HV // H)
    first = hv.to(tl.int64) * given.total  # in c and UT, which lie head by head
    begin, end = sequence_bounds(given.cu_seqlens_ptr, n, given.T, case.PACKED)
    slot = first_slot(n, begin, given.T, C, case.PACKED)

    dim_v = first_v + tl.arange(0, BV)[:, None]
    dim_k = tl.arange(0, case.BK)[None, :]
    S_valid = (dim_v < V) & (dim_k < K)
    S = tl.zeros((BV, case.BK), tl.float32)
    if case.HAS_S:
        S_at = (n * HV + hv).to(tl.int64) * (V * K) + dim_v * case.S_v + dim_k * case.S_k
        S = tl.load(given.S_first_ptr + S_at, mask=S_valid, other=0.0).to(tl.float32)

    states_ptr += (slot * HV + hv) * (V * K)
    state_at = dim_v * K + dim_k
    chunks = tl.cdiv(end - begin, C)
    for j in tl.range(0, chunks - 1, num_stages=case.STAGES):
        tl.store(states_ptr + state_at, S.to(states_ptr.dtype.element_ty), mask=S_valid)
        states_ptr += HV * V * K
        at = begin + j * C
        chunk = Written(
            given.k_ptr + (at * H + h) * K, given.v_ptr + (at * HV + hv) * V + first_v,
            given.beta_ptr + at * HV + hv, given.c_ptr + first + at, given.T_ptr + (first + at) * C,
        )  # fmt: skip
        S = state_after(S, chunk, C, V - first_v, case, True)
    if chunks > 0:  # what the last chunk makes of its state, the forward pass returned
        tl.store(states_ptr + state_at, S.to(states_ptr.dtype.element_ty), mask=S_valid)
