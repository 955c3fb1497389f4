"""Kernel 2, chunk after chunk, the state in registers: corrections, outputs, the next state.

    delta = UT (V - diag(gamma) K S^T)                                    eq-gdn-chunk-delta
    O     = diag(gamma) Q S^T + (Gamma . Q K^T) delta, scaled             eq-gdn-chunk-output
    S'    = gamma_C S + delta^T diag(gamma_C / gamma_i) K                 eq-gdn-chunk-state

One program holds the rows of S that belong to its slice of the value dimension: row j of S, and
column j of V, delta and O, never meet the others. Everything but q and k is transposed, `[d_v, .]`:
then S, the residual and delta go from one product to the next without leaving the registers.
Where there are few heads, several programs share a sequence (`shares`).

Reference: `gdn_ref.gated_delta_rule.chunk`.
"""

import triton
import triton.language as tl

from ..common.tokens import load_tile, sequence_bounds
from .shares import share


@triton.jit
def scan_one_chunk(
    S, q_ptr, k_ptr, v_ptr, beta_ptr, c_ptr, UT_ptr, o_ptr, scale, left, V_left,
    H: tl.constexpr, HV: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    C: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr,
    SCALED: tl.constexpr, FULL: tl.constexpr, SILENT: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The state after the chunk's `left` tokens; writes their outputs, unless `SILENT`."""
    # load: tokens are rows
    dtype = v_ptr.dtype.element_ty
    WHOLE_V: tl.constexpr = FULL and V % BV == 0
    r = tl.arange(0, C)[None, :]
    i = tl.arange(0, C)[:, None]
    k = load_tile(k_ptr, H * K, left, K, C, BK, FULL and K == BK)
    v = load_tile(v_ptr, HV * V, left, V_left, C, BV, WHOLE_V)
    UT = load_tile(UT_ptr, C, left, C, C, C, FULL)
    c = tl.load(c_ptr + tl.arange(0, C), mask=tl.arange(0, C) < left, other=0.0)
    c_C = tl.load(c_ptr + left - 1)

    # decays: from the chunk's start, to its end, and between tokens (mask before exp)
    gamma = tl.exp2(c.to(tl.float32))[None, :]
    to_end = tl.exp2((c_C - c).to(tl.float32))[None, :]
    if not SILENT:
        q = load_tile(q_ptr, H * K, left, K, C, BK, FULL and K == BK)
        stretch = (c[None, :] - c[:, None]).to(tl.float32)
        Gamma = tl.exp2(tl.where(i <= r, stretch, float("-inf")))
        scores = (scale * Gamma * tl.dot(k, tl.trans(q), input_precision=PRECISION)).to(dtype)

    # eq-gdn-chunk-delta
    S_in = S.to(dtype)
    read = gamma * tl.dot(S_in, tl.trans(k), input_precision=PRECISION)
    residual = tl.trans(v).to(tl.float32) - read
    if not SCALED:
        token = tl.arange(0, C)
        beta = tl.load(beta_ptr + token * HV, mask=token < left, other=0.0).to(tl.float32)
        residual *= beta[None, :]
    delta = tl.dot(residual.to(UT.dtype), tl.trans(UT), input_precision=PRECISION)

    if not SILENT:
        # eq-gdn-chunk-output
        o = scale * gamma * tl.dot(S_in, tl.trans(q), input_precision=PRECISION)
        o = tl.dot(delta.to(dtype), scores, acc=o, input_precision=PRECISION)
        dim = tl.arange(0, BV)[:, None]
        if WHOLE_V:
            tl.store(o_ptr + r * (HV * V) + dim, o.to(dtype))
        else:
            tl.store(o_ptr + r * (HV * V) + dim, o.to(dtype), mask=(dim < V_left) & (r < left))

    # eq-gdn-chunk-state, the decay to the end laid on delta instead of on K
    S = S * tl.exp2(c_C.to(tl.float32))
    return tl.dot((to_end * delta).to(dtype), k, acc=S, input_precision=PRECISION)


@triton.jit(do_not_specialize=["T", "total"])
def chunk_scan_kernel(
    # pointers
    q_ptr, k_ptr, v_ptr, beta_ptr, c_ptr, UT_ptr, S_first_ptr, o_ptr, S_last_ptr, cu_seqlens_ptr,
    # numbers and sizes
    scale, T, total, H: tl.constexpr, HV: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    # strides of a state
    S_v: tl.constexpr, S_k: tl.constexpr,
    # blocks
    C: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr,
    # flags: SCALED, if UT has beta in it
    HAS_S: tl.constexpr, PACKED: tl.constexpr, SCALED: tl.constexpr,
    # programs that share a sequence
    SHARES: tl.constexpr,
    PRECISION: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    slices: tl.constexpr = (V + BV - 1) // BV
    state = tl.program_id(0) // slices // SHARES
    first_v = (tl.program_id(0) % slices) * BV
    hv = state % HV
    h = hv // (HV // H)
    first = hv.to(tl.int64) * total  # in c and UT, which lie head by head
    begin, end = sequence_bounds(cu_seqlens_ptr, state // HV, T, PACKED)
    silent = 0
    last = True
    if SHARES > 1:
        p = tl.program_id(0) // slices % SHARES
        tokens, silent, last = share((end - begin).to(tl.int32), p, SHARES, C)
        end = begin + tokens

    dim_v = first_v + tl.arange(0, BV)[:, None]
    dim_k = tl.arange(0, BK)[None, :]
    S_at = state.to(tl.int64) * (V * K) + dim_v * S_v + dim_k * S_k
    S_valid = (dim_v < V) & (dim_k < K)
    S = tl.zeros((BV, BK), tl.float32)
    if HAS_S:
        S = tl.load(S_first_ptr + S_at, mask=S_valid, other=0.0).to(tl.float32)

    full = (end - begin) // C
    if SHARES > 1:
        for j in tl.range(0, silent, num_stages=STAGES):
            at = begin + j * C
            S = scan_one_chunk(
                S, q_ptr, k_ptr + (at * H + h) * K, v_ptr + (at * HV + hv) * V + first_v,
                beta_ptr + at * HV + hv, c_ptr + first + at, UT_ptr + (first + at) * C,
                o_ptr, scale, C, V - first_v,
                H, HV, K, V, C, BK, BV, SCALED, True, True, PRECISION,
            )  # fmt: skip
    for j in tl.range(silent, full, num_stages=STAGES):
        at = begin + j * C
        S = scan_one_chunk(
            S, q_ptr + (at * H + h) * K, k_ptr + (at * H + h) * K,
            v_ptr + (at * HV + hv) * V + first_v, beta_ptr + at * HV + hv, c_ptr + first + at,
            UT_ptr + (first + at) * C, o_ptr + (at * HV + hv) * V + first_v,
            scale, C, V - first_v, H, HV, K, V, C, BK, BV, SCALED, True, False, PRECISION,
        )  # fmt: skip
    at = begin + full * C
    if at < end:
        S = scan_one_chunk(
            S, q_ptr + (at * H + h) * K, k_ptr + (at * H + h) * K,
            v_ptr + (at * HV + hv) * V + first_v, beta_ptr + at * HV + hv, c_ptr + first + at,
            UT_ptr + (first + at) * C, o_ptr + (at * HV + hv) * V + first_v,
            scale, (end - at).to(tl.int32), V - first_v,
            H, HV, K, V, C, BK, BV, SCALED, False, False, PRECISION,
        )  # fmt: skip
    tl.store(S_last_ptr + S_at, S, mask=S_valid & last)
