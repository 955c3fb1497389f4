"""Token after token, the state in registers: what decoding runs.

    S = alpha S,   delta = beta (v - S k),   S = S + delta k^T,   o = scale S q        eq-gdn-step

With decays of channels, S is multiplied by exp(gk) along the key dimension and by exp(gv) along the
value dimension, too, before it is read.

One program holds the rows of S that belong to its slice of the value dimension, of one value head
of one sequence: they never meet the others. It reads them once, takes the sequence's tokens in
order, and writes them once; for a few tokens that traffic is the whole cost. Every number is
float32 inside, whatever it is in memory.

Reference: `gdn_ref.gated_delta_rule.step`, and `gdn_ref.ops` for norm, gate and write strength.
"""

import triton
import triton.language as tl

from ..common.numbers import NORM_EPSILON, softplus
from ..common.tokens import sequence_bounds


@triton.jit
def load_token(q_ptr, k_ptr, v_ptr, g_ptr, beta_ptr, t, end, q_stride, k_stride, v_stride,
               g_stride, beta_stride, dim_k, dim_v, K: tl.constexpr, V: tl.constexpr):  # fmt: skip
    """One head's share of token `t` as it lies in memory, or zeros from `end` on."""
    q = tl.load(q_ptr + t * q_stride + dim_k, mask=(dim_k < K) & (t < end), other=0.0)
    k = tl.load(k_ptr + t * k_stride + dim_k, mask=(dim_k < K) & (t < end), other=0.0)
    v = tl.load(v_ptr + t * v_stride + dim_v, mask=(dim_v < V) & (t < end), other=0.0)
    g = 0.0
    if g_ptr is not None:
        g = tl.load(g_ptr + t * g_stride, mask=t < end, other=0.0)
    beta = tl.load(beta_ptr + t * beta_stride, mask=t < end, other=0.0)
    return q, k, v, g, beta


@triton.jit
def load_row(ptr, t, end, stride, dim, D: tl.constexpr):
    """One head's `D` decays of token `t`, and zeros, which decay nothing, where there are none."""
    return tl.load(ptr + t * stride + dim, mask=(dim < D) & (t < end), other=0.0)


@triton.jit
def unit(x):
    """`x` divided by its norm; zeros stay zeros."""
    return x * tl.rsqrt(tl.sum(x * x) + NORM_EPSILON)


@triton.jit(do_not_specialize=["T", "q_stride", "k_stride", "v_stride", "g_stride", "beta_stride",
                               "gk_stride", "gv_stride"])  # fmt: skip
def recurrent_kernel(
    # pointers
    q_ptr, k_ptr, v_ptr, g_ptr, beta_ptr, gk_ptr, gv_ptr, A_log_ptr, dt_bias_ptr, S_first_ptr,
    o_ptr, S_last_ptr, cu_seqlens_ptr, slot_idx_ptr,
    # numbers, sizes, and strides from token to token; the last two are None without gk and gv
    scale, T, q_stride, k_stride, v_stride, g_stride, beta_stride, gk_stride, gv_stride,
    H: tl.constexpr, HV: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    # strides of a state, and from slot to slot
    S_v: tl.constexpr, S_k: tl.constexpr, S_slot: tl.constexpr,
    # blocks
    BK: tl.constexpr, BV: tl.constexpr,
    # flags
    IN_PLACE: tl.constexpr, NORM: tl.constexpr, SIGMOID: tl.constexpr, NEGATIVE: tl.constexpr,
):  # fmt: skip
    slices: tl.constexpr = (V + BV - 1) // BV
    n = tl.program_id(0) // (slices * HV)
    hv = tl.program_id(0) // slices % HV
    h = hv // (HV // H)
    dim_v = tl.program_id(0) % slices * BV + tl.arange(0, BV)
    dim_k = tl.arange(0, BK)
    begin, end = sequence_bounds(cu_seqlens_ptr, n, T, cu_seqlens_ptr is not None)
    if IN_PLACE and begin == end:
        return  # the slot of an empty sequence stays, to the bit
    slot = n.to(tl.int64)
    if slot_idx_ptr is not None:
        slot = tl.load(slot_idx_ptr + n).to(tl.int64)
        if slot < 0:  # a place that is not taken: no state, and zeros for outputs
            nothing = tl.zeros((BV,), o_ptr.dtype.element_ty)
            for t in range(begin, end):
                tl.store(o_ptr + (t * HV + hv) * V + dim_v, nothing, mask=dim_v < V)
            return

    # load: the first token does not wait for the state, nor later ones for those before them
    q_ptr += h * K
    k_ptr += h * K
    v_ptr += hv * V
    beta_ptr += hv
    if g_ptr is not None:
        g_ptr += hv
    q_next, k_next, v_next, g_next, beta_next = load_token(
        q_ptr, k_ptr, v_ptr, g_ptr, beta_ptr, begin, end,
        q_stride, k_stride, v_stride, g_stride, beta_stride, dim_k, dim_v, K, V,
    )  # fmt: skip
    if gk_ptr is not None:
        gk_ptr += hv * K
        gk_next = load_row(gk_ptr, begin, end, gk_stride, dim_k, K)
    if gv_ptr is not None:
        gv_ptr += hv * V
        gv_next = load_row(gv_ptr, begin, end, gv_stride, dim_v, V)
    S_at = slot * S_slot + hv.to(tl.int64) * (V * K)
    S_at += dim_v[:, None] * S_v + dim_k[None, :] * S_k
    S_valid = (dim_v < V)[:, None] & (dim_k < K)[None, :]
    S = tl.zeros((BV, BK), tl.float32)
    if S_first_ptr is not None:
        S = tl.load(S_first_ptr + S_at, mask=S_valid, other=0.0).to(tl.float32)
    rate = 1.0
    if A_log_ptr is not None:
        rate = tl.exp(tl.load(A_log_ptr + hv).to(tl.float32))
    bias = 0.0
    if dt_bias_ptr is not None:
        bias = tl.load(dt_bias_ptr + hv).to(tl.float32)

    for t in range(begin, end):
        q, k, v = q_next.to(tl.float32), k_next.to(tl.float32), v_next.to(tl.float32)
        g, beta = g_next, beta_next.to(tl.float32)
        q_next, k_next, v_next, g_next, beta_next = load_token(
            q_ptr, k_ptr, v_ptr, g_ptr, beta_ptr, t + 1, end,
            q_stride, k_stride, v_stride, g_stride, beta_stride, dim_k, dim_v, K, V,
        )  # fmt: skip
        if gk_ptr is not None:
            gk = gk_next.to(tl.float32)
            gk_next = load_row(gk_ptr, t + 1, end, gk_stride, dim_k, K)
        if gv_ptr is not None:
            gv = gv_next.to(tl.float32)
            gv_next = load_row(gv_ptr, t + 1, end, gv_stride, dim_v, V)
        if NORM:
            q, k = unit(q), unit(k)
        if SIGMOID:
            beta = tl.sigmoid(beta) * (2.0 if NEGATIVE else 1.0)
        alpha = 1.0
        if g_ptr is not None:
            g = g.to(tl.float32)
            if A_log_ptr is not None:
                g = -rate * softplus(g + bias)
            alpha = tl.exp(g)

        # eq-gdn-step
        S = alpha * S
        if gk_ptr is not None:
            S = S * tl.exp(gk)[None, :]
        if gv_ptr is not None:
            S = S * tl.exp(gv)[:, None]
        delta = beta * (v - tl.sum(S * k[None, :], axis=1))
        S = S + delta[:, None] * k[None, :]
        o = tl.sum(S * (scale * q)[None, :], axis=1)
        tl.store(o_ptr + (t * HV + hv) * V + dim_v, o.to(o_ptr.dtype.element_ty), mask=dim_v < V)
    tl.store(S_last_ptr + S_at, S.to(S_last_ptr.dtype.element_ty), mask=S_valid)
