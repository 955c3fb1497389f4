"""Backward, kernel 3, chunks in parallel: gradients of queries, keys, decays and write strengths.

    E  = UT (V - diag(gamma) K S^T)                                       eq-gdn-chunk-delta
    dE = (Gamma . Q K^T)^T dO + diag(gamma_C / gamma_i) K dS'^T           eq-grad-solve
    Z  = dE - tril(Gamma . K K^T, -1)^T dV, where dV = diag(beta) Z       eq-grad-solve
    X  = Gamma . dO E^T,  N = -tril(Gamma . dV E^T, -1)
    dQ = diag(gamma) dO S + X K                                           eq-grad-query
    dK = N K - diag(gamma) dV S                    (as it reads)          eq-grad-key
       + N^T K + X^T Q + diag(gamma_C / gamma_i) E dS'  (as it is read)
    dbeta = row sums of Z . (V - diag(gamma) K S^T - tril(Gamma . K K^T, -1) E)     eq-grad-beta
    dg, from all that a token's decay lies between                        eq-grad-crossing

One program has a chunk and a key head, and goes through the value heads that share it: their
gradients of q and k add up in registers. E, Z, X and N never reach memory. The sums a of
eq-grad-crossing that belong to the queries are read off dQ, before and after a head adds to it.

Reference: `gdn_ref.backward.chunk`.
"""

import triton
import triton.language as tl

from .chunk_scan import load_tile
from .tokens import chunk_bounds


@triton.jit
def row_sums(x):
    return tl.sum(x, axis=1)


@triton.jit
def crossings(J, a, b, old, C: tl.constexpr):
    """dg of each token r (eq-grad-crossing): all that goes from before r to r or after it.

    `J[s, i]` from token i to token s, `a[s]` from the old state, `b[i]` to the next, `old` both.
    """
    r = tl.arange(0, C)[:, None]
    s = tl.arange(0, C)[None, :]
    to_here_or_later = tl.cumsum(J, axis=0, reverse=True)
    return (
        row_sums(tl.where(s < r, to_here_or_later + b[None, :], 0.0))
        + row_sums(tl.where(s >= r, a[None, :], 0.0))
        + old
    )


@triton.jit(do_not_specialize=["N", "T", "total"])
def chunk_gradients_kernel(
    # pointers: states and dstates are [slots, HV, V, K]
    q_ptr, k_ptr, v_ptr, c_ptr, UT_ptr, do_ptr, dv_ptr, states_ptr, dstates_ptr,
    dq_ptr, dk_ptr, dg_ptr, dbeta_ptr, cu_seqlens_ptr,
    # numbers and sizes
    scale, N, T, total, H: tl.constexpr, HV: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    # blocks
    C: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr,
    # flags
    HAS_G: tl.constexpr, PACKED: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    slot = tl.program_id(0)
    h = tl.program_id(1)
    group: tl.constexpr = HV // H
    start, end = chunk_bounds(cu_seqlens_ptr, slot, N, T, C, PACKED)
    left = tl.minimum(end - start, C).to(tl.int32)
    if left <= 0:
        return

    dtype = q_ptr.dtype.element_ty
    t = tl.arange(0, C)
    r, i = t[:, None], t[None, :]
    head = (start * H + h) * K
    q = load_tile(q_ptr + head, H * K, left, K, C, BK, False)
    k = load_tile(k_ptr + head, H * K, left, K, C, BK, False)
    overlap = tl.dot(k, tl.trans(k), input_precision=PRECISION)
    similar = tl.dot(q, tl.trans(k), input_precision=PRECISION)
    similar_T = tl.dot(k, tl.trans(q), input_precision=PRECISION)
    dq = tl.zeros((C, BK), tl.float32)
    dk = tl.zeros((C, BK), tl.float32)

    for hv in range(h * group, (h + 1) * group):
        c_at = start + total.to(tl.int64) * hv
        c = tl.load(c_ptr + c_at + t, mask=t < left, other=0.0)
        c_C = tl.load(c_ptr + c_at + left - 1)
        gamma = tl.exp2(c.to(tl.float32))[:, None]
        to_end = tl.exp2((c_C - c).to(tl.float32))[:, None]
        stretch = (c[:, None] - c[None, :]).to(tl.float32)
        Gamma = tl.exp2(tl.where((i <= r) & (r < left), stretch, float("-inf")))
        Gamma_T = tl.exp2(tl.where((r <= i) & (i < left), -stretch, float("-inf")))
        UT = load_tile(UT_ptr + c_at * C, C, left, C, C, C, False)
        scores_T = (scale * Gamma_T * similar_T).to(dtype)
        L = tl.where(i < r, Gamma * overlap, 0.0)
        L_T = tl.where(r < i, Gamma_T * overlap, 0.0).to(dtype)

        dO_E = tl.zeros((C, C), tl.float32)
        dV_E = tl.zeros((C, C), tl.float32)
        dbeta = tl.zeros((C,), tl.float32)
        a = -row_sums(q.to(tl.float32) * dq)
        b = tl.zeros((C,), tl.float32)
        old = 0.0
        tokens = (start * HV + hv) * V
        state = (slot.to(tl.int64) * HV + hv) * (V * K)
        for first_v in range(0, V, BV):
            V_left = V - first_v
            v = load_tile(v_ptr + tokens + first_v, HV * V, left, V_left, C, BV, False)
            do = load_tile(do_ptr + tokens + first_v, HV * V, left, V_left, C, BV, False)
            dv = load_tile(dv_ptr + tokens + first_v, HV * V, left, V_left, C, BV, False)
            S = load_tile(states_ptr + state + first_v * K, K, V_left, K, BV, BK, False)
            dS = load_tile(dstates_ptr + state + first_v * K, K, V_left, K, BV, BK, False)

            read = gamma * tl.dot(k, tl.trans(S), input_precision=PRECISION)
            residual = v.to(tl.float32) - read
            E = tl.dot(UT, residual.to(UT.dtype), input_precision=PRECISION)
            kept = to_end * tl.dot(k, tl.trans(dS), input_precision=PRECISION)
            Z = tl.dot(scores_T, do, acc=kept, input_precision=PRECISION)
            Z -= tl.dot(L_T, dv, input_precision=PRECISION)
            own = residual - tl.dot(L.to(dtype), E.to(dtype), input_precision=PRECISION)

            dbeta += row_sums(Z * own)
            a -= row_sums(dv.to(tl.float32) * read)
            b += row_sums(E * kept)
            old += tl.sum(S.to(tl.float32) * dS.to(tl.float32))
            E_T = tl.trans(E.to(dtype))
            dO_E = tl.dot(do, E_T, acc=dO_E, input_precision=PRECISION)
            dV_E = tl.dot(dv, E_T, acc=dV_E, input_precision=PRECISION)

            dq = tl.dot((scale * gamma * do).to(dtype), S, acc=dq, input_precision=PRECISION)
            dk = tl.dot((-gamma * dv).to(dtype), S, acc=dk, input_precision=PRECISION)
            dk = tl.dot((to_end * E).to(dtype), dS, acc=dk, input_precision=PRECISION)

        a += row_sums(q.to(tl.float32) * dq)
        X = scale * Gamma * dO_E
        N_ = tl.where(i < r, -Gamma * dV_E, 0.0)
        dq = tl.dot(X.to(dtype), k, acc=dq, input_precision=PRECISION)
        dk = tl.dot(tl.trans(X.to(dtype)), q, acc=dk, input_precision=PRECISION)
        dk = tl.dot((N_ + tl.trans(N_)).to(dtype), k, acc=dk, input_precision=PRECISION)

        number = (start + t) * HV + hv
        tl.store(dbeta_ptr + number, dbeta, mask=t < left)
        if HAS_G:
            J = X * similar + N_ * overlap
            dg = crossings(J, a, b, old * tl.exp2(c_C.to(tl.float32)), C)
            tl.store(dg_ptr + number, dg, mask=t < left)

    dim = tl.arange(0, BK)[None, :]
    at = head + r * (H * K) + dim
    valid = (r < left) & (dim < K)
    tl.store(dq_ptr + at, dq.to(dtype), mask=valid)
    tl.store(dk_ptr + at, dk.to(dtype), mask=valid)
