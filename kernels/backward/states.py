"""Backward, kernel 1: the states that the chunks receive, computed again and kept.

    E  = T_inv diag(beta) (V - diag(gamma) K S^T)                         eq-gdn-chunk-delta
    S' = gamma_C S + E^T diag(gamma_C / gamma_i) K                        eq-gdn-chunk-state

`forward.scan` without the outputs. States go to memory in the dtype of the inputs.

Reference: `gdn_ref.gated_delta_rule.chunk`.
"""

import triton
import triton.language as tl

from ..common.tokens import first_slot, load_tile, sequence_bounds


@triton.jit
def state_after(
    S, k_ptr, v_ptr, beta_ptr, c_ptr, T_ptr, left, V_left,
    H: tl.constexpr, HV: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    C: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr,
    FULL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The state after the chunk's `left` tokens."""
    dtype = v_ptr.dtype.element_ty
    k = load_tile(k_ptr, H * K, left, K, C, BK, FULL and K == BK)
    v = load_tile(v_ptr, HV * V, left, V_left, C, BV, FULL and V % BV == 0)
    T_inv = load_tile(T_ptr, C, left, C, C, C, FULL)
    i = tl.arange(0, C)
    beta = tl.load(beta_ptr + i * HV, mask=i < left, other=0.0).to(tl.float32)[None, :]
    c = tl.load(c_ptr + i, mask=i < left, other=0.0)
    c_C = tl.load(c_ptr + left - 1)
    gamma = tl.exp2(c.to(tl.float32))[None, :]
    to_end = tl.exp2((c_C - c).to(tl.float32))[None, :]

    # eq-gdn-chunk-delta
    read = gamma * tl.dot(S.to(dtype), tl.trans(k), input_precision=PRECISION)
    residual = beta * (tl.trans(v).to(tl.float32) - read)
    E = tl.dot(residual.to(T_inv.dtype), tl.trans(T_inv), input_precision=PRECISION)

    # eq-gdn-chunk-state, the decay to the end laid on E instead of on K
    S = S * tl.exp2(c_C.to(tl.float32))
    return tl.dot((to_end * E).to(dtype), k, acc=S, input_precision=PRECISION)


@triton.jit(do_not_specialize=["T", "total"])
def chunk_states_kernel(
    # pointers: states are [slots, HV, V, K]
    k_ptr, v_ptr, beta_ptr, c_ptr, T_ptr, S_first_ptr, states_ptr, cu_seqlens_ptr,
    # sizes
    T, total, H: tl.constexpr, HV: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    # strides of a first state
    S_v: tl.constexpr, S_k: tl.constexpr,
    # blocks
    C: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr,
    # flags
    HAS_S: tl.constexpr, PACKED: tl.constexpr, PRECISION: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    slices: tl.constexpr = (V + BV - 1) // BV
    n = tl.program_id(0) // slices // HV
    hv = tl.program_id(0) // slices % HV
    first_v = (tl.program_id(0) % slices) * BV
    h = hv // (HV // H)
    first = hv.to(tl.int64) * total  # in c and UT, which lie head by head
    begin, end = sequence_bounds(cu_seqlens_ptr, n, T, PACKED)
    slot = first_slot(n, begin, T, C, PACKED)

    dim_v = first_v + tl.arange(0, BV)[:, None]
    dim_k = tl.arange(0, BK)[None, :]
    S_valid = (dim_v < V) & (dim_k < K)
    S = tl.zeros((BV, BK), tl.float32)
    if HAS_S:
        S_at = (n * HV + hv).to(tl.int64) * (V * K) + dim_v * S_v + dim_k * S_k
        S = tl.load(S_first_ptr + S_at, mask=S_valid, other=0.0).to(tl.float32)

    states_ptr += (slot * HV + hv) * (V * K)
    state_at = dim_v * K + dim_k
    chunks = tl.cdiv(end - begin, C)
    for j in tl.range(0, chunks - 1, num_stages=STAGES):
        tl.store(states_ptr + state_at, S.to(states_ptr.dtype.element_ty), mask=S_valid)
        states_ptr += HV * V * K
        at = begin + j * C
        S = state_after(
            S, k_ptr + (at * H + h) * K, v_ptr + (at * HV + hv) * V + first_v,
            beta_ptr + at * HV + hv, c_ptr + first + at, T_ptr + (first + at) * C,
            C, V - first_v, H, HV, K, V, C, BK, BV, True, PRECISION,
        )  # fmt: skip
    if chunks > 0:  # what the last chunk makes of its state, the forward pass returned
        tl.store(states_ptr + state_at, S.to(states_ptr.dtype.element_ty), mask=S_valid)
