"""Kernel 2, chunk after chunk, the state in registers: corrections, outputs, the next state.

    delta = T_inv diag(beta) (V - diag(gamma) K S^T)                      eq-gdn-chunk-delta
    O     = diag(gamma) Q S^T + (Gamma . Q K^T) delta, scaled             eq-gdn-chunk-output
    S'    = gamma_C S + delta^T diag(gamma_C / gamma_i) K                 eq-gdn-chunk-state

One program holds the rows of S that belong to its slice of the value dimension: row j of S, and
column j of V, delta and O, never meet the others. It keeps the transpose, `St`, `[d_k, d_v]`.

Reference: `gdn_ref.gated_delta_rule.chunk`.
"""

import triton
import triton.language as tl

from .tokens import decay_mask, load_g, sequence_bounds


@triton.jit(do_not_specialize=["T", "H", "HV"])
def chunk_scan_kernel(
    # pointers
    q_ptr, k_ptr, v_ptr, g_ptr, beta_ptr, T_inv_ptr, S_first_ptr,
    o_ptr, S_last_ptr, cu_seqlens_ptr,
    # numbers and sizes
    scale, T, H, HV, K: tl.constexpr, V: tl.constexpr,
    # blocks
    C: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr,
    # flags
    HAS_G: tl.constexpr, HAS_S: tl.constexpr, PACKED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    n = tl.program_id(0) // HV
    hv = tl.program_id(0) % HV
    h = hv // (HV // H)
    begin, end = sequence_bounds(cu_seqlens_ptr, n, T, PACKED)
    dtype = v_ptr.dtype.element_ty

    r = tl.arange(0, C)[:, None]
    i = tl.arange(0, C)[None, :]
    dim_k = tl.arange(0, BK)
    dim_v = tl.program_id(1) * BV + tl.arange(0, BV)
    has_k = dim_k < K
    has_v = dim_v < V

    St_at = (tl.program_id(0).to(tl.int64) * V + dim_v)[None, :] * K + dim_k[:, None]
    St_valid = has_k[:, None] & has_v[None, :]
    if HAS_S:
        St = tl.load(S_first_ptr + St_at, mask=St_valid, other=0.0).to(tl.float32)
    else:
        St = tl.zeros((BK, BV), tl.float32)

    for start in range(begin, end, C):
        # load: tokens are rows (q waits until it is needed, to leave registers free)
        token = start + tl.arange(0, C)
        valid = token < end
        qk_at = (token * H + h)[:, None] * K + dim_k[None, :]
        qk_valid = valid[:, None] & has_k[None, :]
        v_at = (token * HV + hv)[:, None] * V + dim_v[None, :]
        v_valid = valid[:, None] & has_v[None, :]
        scalar_at = token * HV + hv
        k = tl.load(k_ptr + qk_at, mask=qk_valid, other=0.0)
        v = tl.load(v_ptr + v_at, mask=v_valid, other=0.0)
        g = load_g(g_ptr, scalar_at, valid, HAS_G)
        beta = tl.load(beta_ptr + scalar_at, mask=valid, other=0.0).to(tl.float32)
        T_inv = tl.load(T_inv_ptr + scalar_at[:, None] * C + i, mask=valid[:, None], other=0.0)

        # decays: from the chunk's start, between tokens, to the chunk's end
        gamma = tl.exp(tl.cumsum(g))
        Gamma = decay_mask(g, r, i)
        to_end = tl.exp(tl.sum(tl.where(r > i, g[:, None], 0.0), axis=0))
        gamma_C = tl.exp(tl.sum(g))

        # eq-gdn-chunk-delta; the solve stays in float32, where 16-bit factors would cost most
        S_in = St.to(dtype)
        read = gamma[:, None] * tl.dot(k, S_in, input_precision=PRECISION)
        residual = beta[:, None] * (v.to(tl.float32) - read)
        delta = tl.dot(T_inv, residual, input_precision=PRECISION)

        # eq-gdn-chunk-output
        q = tl.load(q_ptr + qk_at, mask=qk_valid, other=0.0)
        scores = scale * Gamma * tl.dot(q, tl.trans(k), input_precision=PRECISION)
        o = scale * gamma[:, None] * tl.dot(q, S_in, input_precision=PRECISION)
        o += tl.dot(scores.to(dtype), delta.to(dtype), input_precision=PRECISION)
        tl.store(o_ptr + v_at, o.to(dtype), mask=v_valid)

        # eq-gdn-chunk-state, the decay to the end laid on delta instead of on K
        carried = (to_end[:, None] * delta).to(dtype)
        St = gamma_C * St + tl.dot(tl.trans(k), carried, input_precision=PRECISION)

    tl.store(S_last_ptr + St_at, St, mask=St_valid)
