"""Backward, kernel 2, chunk after chunk from the last: the gradients of the states.

    dE = (Gamma . Q K^T)^T dO + diag(gamma_C / gamma_i) K dS'^T           eq-grad-solve
    Z  = T_inv^T dE                                                       eq-grad-solve
    dS = gamma_C dS' + (diag(gamma) dO)^T Q - (diag(beta gamma) Z)^T K    eq-grad-state

The scan of the forward pass run backwards: dS' waits in registers for the chunk before it, and
everything but q and k is transposed, `[d_v, .]`, as in `forward.scan`. Each chunk's dS' and dV go
to memory in the dtype of the inputs.

Reference: `gdn_ref.backward.chunk`.
"""

import triton
import triton.language as tl

from ..common.numbers import LEAST
from ..common.tokens import first_slot, load_tile, sequence_bounds


@triton.jit
def factor(beta):
    """What Z stands multiplied with in the place of dV = diag(beta) Z.

    Mostly beta, and then it is dV. But `chunk_gradients` wants Z back, where a small beta would
    have cost it digits or all of it: such tokens keep Z itself until then.
    """
    return tl.where(beta >= LEAST, beta, 1.0)


@triton.jit
def rest(beta):
    """What makes dV of what stands in its place: `factor(beta) * rest(beta)` is beta."""
    return tl.where(beta >= LEAST, 1.0, beta)


@triton.jit
def previous_gradient(
    dS, q_ptr, k_ptr, do_ptr, beta_ptr, c_ptr, T_ptr, dV_ptr, scale, left, V_left,
    H: tl.constexpr, HV: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    C: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr,
    FULL: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """The gradient of the state before the chunk's `left` tokens; writes their dV."""
    dtype = q_ptr.dtype.element_ty
    WHOLE_V: tl.constexpr = FULL and V % BV == 0
    r = tl.arange(0, C)[:, None]
    i = tl.arange(0, C)[None, :]
    q = load_tile(q_ptr, H * K, left, K, C, BK, FULL and K == BK)
    k = load_tile(k_ptr, H * K, left, K, C, BK, FULL and K == BK)
    do = tl.trans(load_tile(do_ptr, HV * V, left, V_left, C, BV, WHOLE_V))
    T_inv = load_tile(T_ptr, C, left, C, C, C, FULL)
    t = tl.arange(0, C)
    beta = tl.load(beta_ptr + t * HV, mask=t < left, other=0.0).to(tl.float32)[None, :]
    c = tl.load(c_ptr + t, mask=t < left, other=0.0)
    c_C = tl.load(c_ptr + left - 1)
    gamma = tl.exp2(c.to(tl.float32))[None, :]
    to_end = tl.exp2((c_C - c).to(tl.float32))[None, :]
    stretch = (c[:, None] - c[None, :]).to(tl.float32)
    Gamma = tl.exp2(tl.where((i <= r) & (r < left), stretch, float("-inf")))
    scores = (scale * Gamma * tl.dot(q, tl.trans(k), input_precision=PRECISION)).to(dtype)

    # eq-grad-solve; a gradient may be too small for float16, the dtype of a 16-bit T_inv
    dE = to_end * tl.dot(dS.to(dtype), tl.trans(k), input_precision=PRECISION)
    dE = tl.dot(do, scores, acc=dE, input_precision=PRECISION)
    lost = dE - dE.to(dtype).to(tl.float32)  # by rounding; T_inv's diagonal of ones returns it to Z
    Z = tl.dot(dE.to(dtype), T_inv.to(dtype), acc=lost, input_precision=PRECISION)
    dim = tl.arange(0, BV)[:, None]
    dV = (factor(beta) * Z).to(dtype)
    if WHOLE_V:
        tl.store(dV_ptr + i * (HV * V) + dim, dV)
    else:
        tl.store(dV_ptr + i * (HV * V) + dim, dV, mask=(dim < V_left) & (i < left))

    # eq-grad-state
    dS = dS * tl.exp2(c_C.to(tl.float32))
    dS = tl.dot((scale * gamma * do).to(dtype), q, acc=dS, input_precision=PRECISION)
    return tl.dot((-gamma * beta * Z).to(dtype), k, acc=dS, input_precision=PRECISION)


@triton.jit(do_not_specialize=["T", "total"])
def state_gradients_kernel(
    # pointers: dstates are [slots, HV, V, K], dS_first [N, HV, V, K]
    q_ptr, k_ptr, do_ptr, beta_ptr, c_ptr, T_ptr, dS_last_ptr, dV_ptr, dstates_ptr, dS_first_ptr,
    cu_seqlens_ptr,
    # numbers and sizes
    scale, T, total, H: tl.constexpr, HV: tl.constexpr, K: tl.constexpr, V: tl.constexpr,
    # strides of dS_last
    S_v: tl.constexpr, S_k: tl.constexpr,
    # blocks
    C: tl.constexpr, BK: tl.constexpr, BV: tl.constexpr,
    # flags
    HAS_DS: tl.constexpr, PACKED: tl.constexpr, PRECISION: tl.constexpr, STAGES: tl.constexpr,
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
    S_at = (n * HV + hv).to(tl.int64) * (V * K) + dim_v * K + dim_k
    S_valid = (dim_v < V) & (dim_k < K)
    dS = tl.zeros((BV, BK), tl.float32)
    if HAS_DS:
        last_at = (n * HV + hv).to(tl.int64) * (V * K) + dim_v * S_v + dim_k * S_k
        dS = tl.load(dS_last_ptr + last_at, mask=S_valid, other=0.0).to(tl.float32)

    chunks = tl.cdiv(end - begin, C)
    dstates_ptr += ((slot + chunks) * HV + hv) * (V * K)
    state_at = dim_v * K + dim_k
    at = begin + (chunks - 1) * C
    if end - at < C:
        dstates_ptr -= HV * V * K
        tl.store(dstates_ptr + state_at, dS.to(dstates_ptr.dtype.element_ty), mask=S_valid)
        dS = previous_gradient(
            dS, q_ptr + (at * H + h) * K, k_ptr + (at * H + h) * K,
            do_ptr + (at * HV + hv) * V + first_v, beta_ptr + at * HV + hv, c_ptr + first + at,
            T_ptr + (first + at) * C, dV_ptr + (at * HV + hv) * V + first_v,
            scale, (end - at).to(tl.int32), V - first_v,
            H, HV, K, V, C, BK, BV, False, PRECISION,
        )  # fmt: skip
    full = (end - begin) // C
    for j in tl.range(0, full, num_stages=STAGES):
        at = begin + (full - 1 - j) * C
        dstates_ptr -= HV * V * K
        tl.store(dstates_ptr + state_at, dS.to(dstates_ptr.dtype.element_ty), mask=S_valid)
        dS = previous_gradient(
            dS, q_ptr + (at * H + h) * K, k_ptr + (at * H + h) * K,
            do_ptr + (at * HV + hv) * V + first_v, beta_ptr + at * HV + hv, c_ptr + first + at,
            T_ptr + (first + at) * C, dV_ptr + (at * HV + hv) * V + first_v,
            scale, C, V - first_v, H, HV, K, V, C, BK, BV, True, PRECISION,
        )  # fmt: skip
    tl.store(dS_first_ptr + S_at, dS, mask=S_valid)
