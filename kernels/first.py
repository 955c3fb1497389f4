"""The gated delta rule forward, in one kernel. Read this one first; `forward/` has the fast ones.

One program has a sequence, a value head and BV rows of its state, and walks from chunk to chunk:

    A     = tril(diag(beta) (Gamma . K K^T), -1)                          eq-gdn-interaction
    delta = (I + A)^-1 diag(beta) (V - diag(gamma) K S^T)                 eq-gdn-chunk-delta
    O     = diag(gamma) Q S^T + (Gamma . Q K^T) delta, scaled             eq-gdn-chunk-output
    S'    = gamma_C S + delta^T diag(gamma_C / gamma_i) K                 eq-gdn-chunk-state

Reference: `gdn_ref.gated_delta_rule.chunkwise`.
"""

from typing import NamedTuple

import torch
import triton
import triton.language as tl


class Sizes(NamedTuple):
    """What is known when the kernel is compiled: heads of keys and of values, their dimensions,
    2^LOG_C tokens a chunk, and tiles of key and value dimensions, powers of two."""

    H: int
    HV: int
    K: int
    V: int
    LOG_C: int
    BK: int
    BV: int


@triton.jit
def dot(a, b):
    return tl.dot(a, b, input_precision="ieee")  # in float32, not in the tensor cores' tf32


@triton.jit
def first_kernel(
    q_ptr, k_ptr, v_ptr, g_ptr, beta_ptr, S_ptr, o_ptr, S_last_ptr, scale, T, n: tl.constexpr
):
    C: tl.constexpr = 1 << n.LOG_C
    b, hv = tl.program_id(0) // n.HV, tl.program_id(0) % n.HV
    h = hv // (n.HV // n.H)  # the key head that this value head reads
    r, i = tl.arange(0, C)[:, None], tl.arange(0, C)[None, :]
    d = tl.arange(0, n.BK)[None, :]
    j = tl.program_id(1) * n.BV + tl.arange(0, n.BV)  # my rows of the state, and columns of V
    S_at = ((b * n.HV + hv).to(tl.int64) * n.V + j[:, None]) * n.K + d
    S_there = (j[:, None] < n.V) & (d < n.K)
    S = tl.load(S_ptr + S_at, mask=S_there, other=0.0)

    for start in range(0, T, C):
        there = start + tl.arange(0, C) < T  # a token beyond T is read as zeros: it does nothing
        t = b.to(tl.int64) * T + start + tl.arange(0, C)
        qk_at, qk_there = (t * n.H + h)[:, None] * n.K + d, there[:, None] & (d < n.K)
        vo_at, vo_there = (t * n.HV + hv)[:, None] * n.V + j, there[:, None] & (j < n.V)[None, :]
        q = tl.load(q_ptr + qk_at, mask=qk_there, other=0.0).to(tl.float32)
        k = tl.load(k_ptr + qk_at, mask=qk_there, other=0.0).to(tl.float32)
        v = tl.load(v_ptr + vo_at, mask=vo_there, other=0.0).to(tl.float32)
        g = tl.load(g_ptr + t * n.HV + hv, mask=there, other=0.0).to(tl.float32)
        beta = tl.load(beta_ptr + t * n.HV + hv, mask=there, other=0.0).to(tl.float32)[:, None]

        # a stretch adds up its own decays: after a reset the difference of two sums is inf - inf
        after = tl.where(r > i, g[:, None], 0.0)
        to_end = tl.exp(tl.sum(after, 0))[:, None]
        gamma, gamma_C = tl.exp(tl.cumsum(g))[:, None], tl.exp(tl.sum(g))  # eq-gamma
        Gamma = tl.where(r >= i, tl.exp(tl.cumsum(after, 0)), 0.0)  # eq-decay-mask
        A = tl.where(r > i, beta * Gamma * dot(k, tl.trans(k)), 0.0)  # eq-gdn-interaction
        T_inv = tl.where(r == i, 1.0, 0.0)  # (I + A)^-1: blocks of 2^s tokens, joined in pairs
        for s in range(n.LOG_C):
            A21 = tl.where(((r >> s) % 2 == 1) & (i >> s == (r >> s) - 1), A, 0.0)
            T_inv -= dot(T_inv, dot(A21, T_inv))  # eq-inverse-blocks

        delta = dot(T_inv, beta * (v - gamma * dot(k, tl.trans(S))))  # eq-gdn-chunk-delta
        o = gamma * dot(q, tl.trans(S)) + dot(Gamma * dot(q, tl.trans(k)), delta)
        tl.store(o_ptr + vo_at, (scale * o).to(o_ptr.dtype.element_ty), mask=vo_there)
        S = gamma_C * S + dot(tl.trans(to_end * delta), k)  # eq-gdn-chunk-state
    tl.store(S_last_ptr + S_at, S, mask=S_there)


def first(q, k, v, g, beta, scale, S):
    """Outputs and last states, of contiguous tensors on one device: q, k [B, T, H, K];
    v [B, T, HV, V]; g, beta [B, T, HV]; S [B, HV, V, K] in float32."""
    (B, T, H, K), (HV, V) = k.shape, v.shape[2:]
    n = Sizes(H, HV, K, V, LOG_C=5, BK=max(16, triton.next_power_of_2(K)), BV=32)
    o, S_last = torch.empty_like(v), torch.empty_like(S)
    grid = B * HV, triton.cdiv(V, n.BV)
    first_kernel[grid](q, k, v, g, beta, S, o, S_last, scale, T, n)
    return o, S_last
