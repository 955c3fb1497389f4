"""Backward, kernel 3, chunks in parallel: the gradients of all inputs.

    E  = T_inv diag(beta) R, where R = V - diag(gamma) K S^T              eq-gdn-chunk-delta
    X  = Gamma . dO E^T,  N = -tril(diag(beta) (Gamma . Z E^T), -1)
    dQ = diag(gamma) dO S + X K,  dV = diag(beta) Z                       eq-grad-query
    dK = N K - diag(beta gamma) Z S                   as a key reads      eq-grad-key
       + N^T K + X^T Q + diag(gamma_C / gamma_i) E dS'   as it is read
    dbeta = row sums of Z . (R - tril(Gamma . K K^T, -1) E)               eq-grad-beta
    dg, from all that a token's decay lies between                        eq-grad-crossing

One program has a chunk and a key head, and goes through the value heads that share it: their
gradients of q and k add up in registers. E, X and N never reach memory. The sums of
eq-grad-crossing that belong to the old state and to the next are read off dQ and dK, before and
after a head adds to them. What is called Z comes from the place of dV, and is dV already, but for
tokens with a small beta (`numbers.factor`): each row's sums are put right at the end.

Reference: `gdn_ref.backward.chunk`.
"""

from collections import namedtuple

import triton
import triton.language as tl

from ..common.numbers import LEAST, factor, rest
from ..common.tokens import chunk_bounds, first_slot, load_tile, sequence_bounds


@triton.jit
def row_sums(x):
    return tl.sum(x, axis=1)


@triton.jit
def crossings(J, a, b, old, C: tl.constexpr):
    """dg of each token r (eq-grad-crossing): all that goes from before r to r or after it.

    `J[s, i]` from token i to token s, `a[s]` from the old state, `b[i]` to the next, `old` both.
    """
    r = tl.arange(0, C)[:, None]
    i = tl.arange(0, C)[None, :]
    to_here_or_later = tl.cumsum(J, axis=0, reverse=True)
    before = row_sums(tl.where(i < r, to_here_or_later + b[None, :], 0.0))
    return before + row_sums(tl.where(i >= r, a[None, :], 0.0)) + old


# what a launch gives: pointers, states and dstates are [slots, HV, V, K]; a factor; sequences,
# tokens of each and of all
ChunkGradientsGiven = namedtuple(
    "ChunkGradientsGiven",
    "q_ptr k_ptr v_ptr beta_ptr c_ptr T_ptr do_ptr dV_ptr states_ptr dstates_ptr "
    "dq_ptr dk_ptr dg_ptr dbeta_ptr cu_seqlens_ptr scale N T total",
)
# what is known in advance: heads and their dimensions; blocks; flags, SHORT for the sequences' last
# chunks alone, where they are not whole
ChunkGradientsCase = namedtuple(
    "ChunkGradientsCase", "H HV K V C BK BV HAS_G PACKED SHORT PRECISION"
)


@triton.jit
def chunk_gradients_kernel(given: ChunkGradientsGiven, case: tl.constexpr):
    H: tl.constexpr = case.H
    HV: tl.constexpr = case.HV
    K: tl.constexpr = case.K
    V: tl.constexpr = case.V
    C: tl.constexpr = case.C
    BK: tl.constexpr = case.BK
    BV: tl.constexpr = case.BV
    PRECISION: tl.constexpr = case.PRECISION
    h, scale = tl.program_id(1), given.scale
    group: tl.constexpr = HV // H
    if case.SHORT:
        n = tl.program_id(0)
        begin, end = sequence_bounds(given.cu_seqlens_ptr, n, given.T, case.PACKED)
        whole = (end - begin) // C
        slot = first_slot(n, begin, given.T, C, case.PACKED) + whole
        start = begin + whole * C
    else:
        slot = tl.program_id(0).to(tl.int64)
        start, end = chunk_bounds(
            given.cu_seqlens_ptr, tl.program_id(0), given.N, given.T, C, case.PACKED
        )
    left = tl.minimum(end - start, C).to(tl.int32)
    if left <= 0:
        return

    dtype = given.q_ptr.dtype.element_ty
    t = tl.arange(0, C)
    r, i = t[:, None], t[None, :]
    head = (start * H + h) * K
    q = load_tile(given.q_ptr + head, H * K, left, K, C, BK, False)
    k = load_tile(given.k_ptr + head, H * K, left, K, C, BK, False)
    dq = tl.zeros((C, BK), tl.float32)
    dk = tl.zeros((C, BK), tl.float32)

    for hv in range(h * group, (h + 1) * group):
        number = (start + t) * HV + hv
        beta_t = tl.load(given.beta_ptr + number, mask=t < left, other=0.0).to(tl.float32)
        beta = beta_t[:, None]
        c_at = start + given.total.to(tl.int64) * hv
        c = tl.load(given.c_ptr + c_at + t, mask=t < left, other=0.0)
        c_C = tl.load(given.c_ptr + c_at + left - 1)
        gamma = tl.exp2(c.to(tl.float32))[:, None]
        to_end = tl.exp2((c_C - c).to(tl.float32))[:, None]
        T_inv = load_tile(given.T_ptr + c_at * C, C, left, C, C, C, False)

        dO_E = tl.zeros((C, C), tl.float32)
        Z_E = tl.zeros((C, C), tl.float32)
        dbeta = tl.zeros((C,), tl.float32)
        q_reads = -row_sums(q.to(tl.float32) * dq)
        k_reads = tl.zeros((C,), tl.float32)
        k_is_read = -row_sums(k.to(tl.float32) * dk)
        old = 0.0
        tokens = (start * HV + hv) * V
        state = (slot * HV + hv) * (V * K)
        for first_v in tl.range(0, V, BV, num_stages=1):
            V_left = V - first_v
            v = load_tile(given.v_ptr + tokens + first_v, HV * V, left, V_left, C, BV, False)
            do = load_tile(given.do_ptr + tokens + first_v, HV * V, left, V_left, C, BV, False)
            Z = load_tile(given.dV_ptr + tokens + first_v, HV * V, left, V_left, C, BV, False)
            S = load_tile(given.states_ptr + state + first_v * K, K, V_left, K, BV, BK, False)
            dS = load_tile(given.dstates_ptr + state + first_v * K, K, V_left, K, BV, BK, False)
            dv = rest(beta) * Z.to(tl.float32)
            v_at = tokens + first_v + r * (HV * V) + tl.arange(0, BV)[None, :]
            valid = (r < left) & (tl.arange(0, BV)[None, :] < V_left)
            tl.store(given.dV_ptr + v_at, dv.to(dtype), mask=valid & (beta < LEAST))

            read = gamma * tl.dot(k, tl.trans(S), input_precision=PRECISION)
            R = v.to(tl.float32) - read
            dbeta += row_sums(Z.to(tl.float32) * R)
            k_reads -= row_sums(dv * read)
            old += tl.sum(S.to(tl.float32) * dS.to(tl.float32))
            E = tl.dot(T_inv, (beta * R).to(T_inv.dtype), input_precision=PRECISION)

            E_T = tl.trans(E.to(dtype))
            dO_E = tl.dot(do, E_T, acc=dO_E, input_precision=PRECISION)
            Z_E = tl.dot(Z, E_T, acc=Z_E, input_precision=PRECISION)
            dq = tl.dot((scale * gamma * do).to(dtype), S, acc=dq, input_precision=PRECISION)
            dk = tl.dot((-gamma * dv).to(dtype), S, acc=dk, input_precision=PRECISION)
            dk = tl.dot((to_end * E).to(dtype), dS, acc=dk, input_precision=PRECISION)
        q_reads += row_sums(q.to(tl.float32) * dq)
        k_is_read += row_sums(k.to(tl.float32) * dk) - k_reads

        stretch = (c[:, None] - c[None, :]).to(tl.float32)
        Gamma = tl.exp2(tl.where((i <= r) & (r < left), stretch, float("-inf")))
        X = scale * Gamma * dO_E
        Y = tl.where(i < r, Gamma * Z_E, 0.0)
        overlap = tl.dot(k, tl.trans(k), input_precision=PRECISION)
        dbeta = (dbeta - row_sums(Y * overlap)) / factor(beta_t)
        tl.store(given.dbeta_ptr + number, dbeta, mask=t < left)
        Y = -rest(beta) * Y
        if case.HAS_G:
            J = X * tl.dot(q, tl.trans(k), input_precision=PRECISION) + Y * overlap
            old *= tl.exp2(c_C.to(tl.float32))
            dg = crossings(J, q_reads + k_reads, k_is_read, old, C)
            tl.store(given.dg_ptr + number, dg, mask=t < left)

        # X and N act through their transposes too, both on q and k
        dq = tl.dot(X.to(dtype), k, acc=dq, input_precision=PRECISION)
        dk = tl.dot(tl.trans(X.to(dtype)), q, acc=dk, input_precision=PRECISION)
        dk = tl.dot((Y + tl.trans(Y)).to(dtype), k, acc=dk, input_precision=PRECISION)

    dim = tl.arange(0, BK)[None, :]
    at = head + r * (H * K) + dim
    valid = (r < left) & (dim < K)
    tl.store(given.dq_ptr + at, dq.to(dtype), mask=valid)
    tl.store(given.dk_ptr + at, dk.to(dtype), mask=valid)
