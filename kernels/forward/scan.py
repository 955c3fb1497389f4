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

from collections import namedtuple

import triton
import triton.language as tl

from ..common.tokens import load_tile, sequence_bounds
from .shares import share

# what a launch gives: pointers, a factor, tokens of a sequence and of all
ScanGiven = namedtuple(
    "ScanGiven",
    "q_ptr k_ptr v_ptr beta_ptr c_ptr UT_ptr S_first_ptr o_ptr S_last_ptr cu_seqlens_ptr "
    "scale T total",
)
# what is known in advance: heads and their dimensions; strides of a state; blocks; flags, SCALED if
# UT has beta in it; programs that share a sequence
ScanCase = namedtuple(
    "ScanCase", "H HV K V S_v S_k C BK BV HAS_S PACKED SCALED SHARES PRECISION STAGES"
)
# pointers to a chunk's first token
Chunk = namedtuple("Chunk", "q_ptr k_ptr v_ptr beta_ptr c_ptr UT_ptr o_ptr")


@triton.jit
def scan_one_chunk(
    S, chunk, scale, left, V_left, case: tl.constexpr, FULL: tl.constexpr, SILENT: tl.constexpr
):
    """The state after the chunk's `left` tokens; writes their outputs, unless `SILENT`."""
    HV: tl.constexpr = case.HV
    V: tl.constexpr = case.V
    C: tl.constexpr = case.C
    BK: tl.constexpr = case.BK
    BV: tl.constexpr = case.BV
    PRECISION: tl.constexpr = case.PRECISION
    # load: tokens are rows
    dtype = chunk.v_ptr.dtype.element_ty
    WHOLE_V: tl.constexpr = FULL and V % BV == 0
    r = tl.arange(0, C)[None, :]
    i = tl.arange(0, C)[:, None]
    k = load_tile(chunk.k_ptr, case.H * case.K, left, case.K, C, BK, FULL and case.K == BK)
    v = load_tile(chunk.v_ptr, HV * V, left, V_left, C, BV, WHOLE_V)
    UT = load_tile(chunk.UT_ptr, C, left, C, C, C, FULL)
    c = tl.load(chunk.c_ptr + tl.arange(0, C), mask=tl.arange(0, C) < left, other=0.0)
    c_C = tl.load(chunk.c_ptr + left - 1)

    # decays: from the chunk's start, to its end, and between tokens (mask before exp)
    gamma = tl.exp2(c.to(tl.float32))[None, :]
    to_end = tl.exp2((c_C - c).to(tl.float32))[None, :]
    if not SILENT:
        q = load_tile(chunk.q_ptr, case.H * case.K, left, case.K, C, BK, FULL and case.K == BK)
        stretch = (c[None, :] - c[:, None]).to(tl.float32)
        Gamma = tl.exp2(tl.where(i <= r, stretch, float("-inf")))
        scores = (scale * Gamma * tl.dot(k, tl.trans(q), input_precision=PRECISION)).to(dtype)

    # eq-gdn-chunk-delta
    S_in = S.to(dtype)
    read = gamma * tl.dot(S_in, tl.trans(k), input_precision=PRECISION)
    residual = tl.trans(v).to(tl.float32) - read
    if not case.SCALED:
        token = tl.arange(0, C)
        beta = tl.load(chunk.beta_ptr + token * HV, mask=token < left, other=0.0).to(tl.float32)
        residual *= beta[None, :]
    delta = tl.dot(residual.to(UT.dtype), tl.trans(UT), input_precision=PRECISION)

    if not SILENT:
        # eq-gdn-chunk-output
        o = scale * gamma * tl.dot(S_in, tl.trans(q), input_precision=PRECISION)
        o = tl.dot(delta.to(dtype), scores, acc=o, input_precision=PRECISION)
        dim = tl.arange(0, BV)[:, None]
        if WHOLE_V:
            tl.store(chunk.o_ptr + r * (HV * V) + dim, o.to(dtype))
        else:
            o_ptr = chunk.o_ptr
            tl.store(o_ptr + r * (HV * V) + dim, o.to(dtype), mask=(dim < V_left) & (r < left))

    # eq-gdn-chunk-state, the decay to the end laid on delta instead of on K
    S = S * tl.exp2(c_C.to(tl.float32))
    return tl.dot((to_end * delta).to(dtype), k, acc=S, input_precision=PRECISION)


@triton.jit
def chunk_scan_kernel(given: ScanGiven, case: tl.constexpr):
    H: tl.constexpr = case.H
    HV: tl.constexpr = case.HV
    K: tl.constexpr = case.K
    V: tl.constexpr = case.V
    C: tl.constexpr = case.C
    BV: tl.constexpr = case.BV
    SHARES: tl.constexpr = case.SHARES
    slices: tl.constexpr = (V + BV - 1) // BV
    state = tl.program_id(0) // slices // SHARES
    first_v = (tl.program_id(0) % slices) * BV
    hv = state % HV
    h = hv // (HV // H)
    tl.assume(given.total >= 0)
    first = hv.to(tl.int64) * given.total  # in c and UT, which lie head by head
    begin, end = sequence_bounds(given.cu_seqlens_ptr, state // HV, given.T, case.PACKED)
    silent = 0
    last = True
    if SHARES > 1:
        p = tl.program_id(0) // slices % SHARES
        tokens, silent, last = share((end - begin).to(tl.int32), p, SHARES, C)
        end = begin + tokens

    dim_v = first_v + tl.arange(0, BV)[:, None]
    dim_k = tl.arange(0, case.BK)[None, :]
    S_at = state.to(tl.int64) * (V * K) + dim_v * case.S_v + dim_k * case.S_k
    S_valid = (dim_v < V) & (dim_k < K)
    S = tl.zeros((BV, case.BK), tl.float32)
    if case.HAS_S:
        S = tl.load(given.S_first_ptr + S_at, mask=S_valid, other=0.0).to(tl.float32)

    full = (end - begin) // C
    if SHARES > 1:
        for j in tl.range(0, silent, num_stages=case.STAGES):
            at = begin + j * C
            chunk = Chunk(
                given.q_ptr, given.k_ptr + (at * H + h) * K,
                given.v_ptr + (at * HV + hv) * V + first_v, given.beta_ptr + at * HV + hv,
                given.c_ptr + first + at, given.UT_ptr + (first + at) * C,
                given.o_ptr,
            )  # fmt: skip
            S = scan_one_chunk(S, chunk, given.scale, C, V - first_v, case, True, True)
    for j in tl.range(silent, full, num_stages=case.STAGES):
        at = begin + j * C
        chunk = Chunk(
            given.q_ptr + (at * H + h) * K, given.k_ptr + (at * H + h) * K,
            given.v_ptr + (at * HV + hv) * V + first_v, given.beta_ptr + at * HV + hv,
            given.c_ptr + first + at, given.UT_ptr + (first + at) * C,
            given.o_ptr + (at * HV + hv) * V + first_v,
        )  # fmt: skip
        S = scan_one_chunk(S, chunk, given.scale, C, V - first_v, case, True, False)
    at = begin + full * C
    if at < end:
        chunk = Chunk(
            given.q_ptr + (at * H + h) * K, given.k_ptr + (at * H + h) * K,
            given.v_ptr + (at * HV + hv) * V + first_v, given.beta_ptr + at * HV + hv,
            given.c_ptr + first + at, given.UT_ptr + (first + at) * C,
            given.o_ptr + (at * HV + hv) * V + first_v,
        )  # fmt: skip
        left = (end - at).to(tl.int32)
        S = scan_one_chunk(S, chunk, given.scale, left, V - first_v, case, False, False)
    tl.store(given.S_last_ptr + S_at, S, mask=S_valid & last)
