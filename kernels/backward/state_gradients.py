"""Backward, kernel 2, chunk after chunk from the last: the gradients of the states.

    dE = (Gamma . Q K^T)^T dO + diag(gamma_C / gamma_i) K dS'^T           eq-grad-solve
    Z  = T_inv^T dE                                                       eq-grad-solve
    dS = gamma_C dS' + (diag(gamma) dO)^T Q - (diag(beta gamma) Z)^T K    eq-grad-state

The scan of the forward pass run backwards: dS' waits in registers for the chunk before it, and
everything but q and k is transposed, `[d_v, .]`, as in `forward.scan`. Each chunk's dS' and dV go
to memory in the dtype of the inputs.

Reference: `gdn_ref.backward.chunk`.
"""

from collections import namedtuple

import triton
import triton.language as tl

from ..common.numbers import factor
from ..common.tokens import first_slot, load_tile, sequence_bounds

# what a launch gives: pointers, dstates are [slots, HV, V, K], dS_first [N, HV, V, K]; a factor;
# tokens of a sequence and of all
StateGradientsGiven = namedtuple(
    "StateGradientsGiven",
    "q_ptr k_ptr do_ptr beta_ptr c_ptr T_ptr dS_last_ptr dV_ptr dstates_ptr dS_first_ptr "
    "cu_seqlens_ptr scale T total",
)
# what is known in advance: heads and their dimensions; strides of dS_last; blocks; flags
StateGradientsCase = namedtuple(
    "StateGradientsCase", "H HV K V S_v S_k C BK BV HAS_DS PACKED PRECISION STAGES"
)
# pointers to a chunk's first token
Felt = namedtuple("Felt", "q_ptr k_ptr do_ptr beta_ptr c_ptr T_ptr dV_ptr")


@triton.jit
def previous_gradient(dS, chunk, scale, left, V_left, case: tl.constexpr, FULL: tl.constexpr):
    """The gradient of the state before the chunk's `left` tokens; writes their dV."""
    C: tl.constexpr = case.C
    BK: tl.constexpr = case.BK
    BV: tl.constexpr = case.BV
    PRECISION: tl.constexpr = case.PRECISION
    dtype = chunk.q_ptr.dtype.element_ty
    WHOLE_V: tl.constexpr = FULL and case.V % BV == 0
    r = tl.arange(0, C)[:, None]
    i = tl.arange(0, C)[None, :]
    q = load_tile(chunk.q_ptr, case.H * case.K, left, case.K, C, BK, FULL and case.K == BK)
    k = load_tile(chunk.k_ptr, case.H * case.K, left, case.K, C, BK, FULL and case.K == BK)
    do = tl.trans(load_tile(chunk.do_ptr, case.HV * case.V, left, V_left, C, BV, WHOLE_V))
    T_inv = load_tile(chunk.T_ptr, C, left, C, C, C, FULL)
    t = tl.arange(0, C)
    beta = tl.load(chunk.beta_ptr + t * case.HV, mask=t < left, other=0.0).to(tl.float32)[None, :]
    c = tl.load(chunk.c_ptr + t, mask=t < left, other=0.0)
    c_C = tl.load(chunk.c_ptr + left - 1)
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
        tl.store(chunk.dV_ptr + i * (case.HV * case.V) + dim, dV)
    else:
        tl.store(chunk.dV_ptr + i * (case.HV * case.V) + dim, dV, mask=(dim < V_left) & (i < left))

    # eq-grad-state
    dS = dS * tl.exp2(c_C.to(tl.float32))
    dS = tl.dot((scale * gamma * do).to(dtype), q, acc=dS, input_precision=PRECISION)
    return tl.dot((-gamma * beta * Z).to(dtype), k, acc=dS, input_precision=PRECISION)


@triton.jit
def state_gradients_kernel(given: StateGradientsGiven, case: tl.constexpr):
    H: tl.constexpr = case.H
    HV: tl.constexpr = case.HV
    K: tl.constexpr = case.K
    V: tl.constexpr = case.V
    C: tl.constexpr = case.C
    BV: tl.constexpr = case.BV
    dstates_ptr = given.dstates_ptr
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
    S_at = (n * HV + hv).to(tl.int64) * (V * K) + dim_v * K + dim_k
    S_valid = (dim_v < V) & (dim_k < K)
    dS = tl.zeros((BV, case.BK), tl.float32)
    if case.HAS_DS:
        last_at = (n * HV + hv).to(tl.int64) * (V * K) + dim_v * case.S_v + dim_k * case.S_k
        dS = tl.load(given.dS_last_ptr + last_at, mask=S_valid, other=0.0).to(tl.float32)

    chunks = tl.cdiv(end - begin, C)
    dstates_ptr += ((slot + chunks) * HV + hv) * (V * K)
    state_at = dim_v * K + dim_k
    at = begin + (chunks - 1) * C
    if end - at < C:
        dstates_ptr -= HV * V * K
        tl.store(dstates_ptr + state_at, dS.to(dstates_ptr.dtype.element_ty), mask=S_valid)
        chunk = Felt(
            given.q_ptr + (at * H + h) * K, given.k_ptr + (at * H + h) * K,
            given.do_ptr + (at * HV + hv) * V + first_v, given.beta_ptr + at * HV + hv,
            given.c_ptr + first + at, given.T_ptr + (first + at) * C,
            given.dV_ptr + (at * HV + hv) * V + first_v,
        )  # fmt: skip
        left = (end - at).to(tl.int32)
        dS = previous_gradient(dS, chunk, given.scale, left, V - first_v, case, False)
    full = (end - begin) // C
    for j in tl.range(0, full, num_stages=case.STAGES):
        at = begin + (full - 1 - j) * C
        dstates_ptr -= HV * V * K
        tl.store(dstates_ptr + state_at, dS.to(dstates_ptr.dtype.element_ty), mask=S_valid)
        chunk = Felt(
            given.q_ptr + (at * H + h) * K, given.k_ptr + (at * H + h) * K,
            given.do_ptr + (at * HV + hv) * V + first_v, given.beta_ptr + at * HV + hv,
            given.c_ptr + first + at, given.T_ptr + (first + at) * C,
            given.dV_ptr + (at * HV + hv) * V + first_v,
        )  # fmt: skip
        dS = previous_gradient(dS, chunk, given.scale, C, V - first_v, case, True)
    tl.store(given.dS_first_ptr + S_at, dS, mask=S_valid)
