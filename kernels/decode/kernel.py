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

from collections import namedtuple

import triton
import triton.language as tl
from triton.language.extra.cuda import gdc_launch_dependents, gdc_wait

from ..common.numbers import NORM_EPSILON, softplus
from ..common.tokens import sequence_bounds

# what a launch gives: pointers, None for what there is not; a factor and a length; strides from
# token to token, of which the last two may be absent
RecurrentGiven = namedtuple(
    "RecurrentGiven",
    "q_ptr k_ptr v_ptr g_ptr beta_ptr gk_ptr gv_ptr A_log_ptr dt_bias_ptr S_first_ptr "
    "o_ptr S_last_ptr cu_seqlens_ptr slot_idx_ptr scale T "
    "q_stride k_stride v_stride g_stride beta_stride gk_stride gv_stride",
    defaults=(None, None),
)
# what is known in advance: heads and their dimensions; strides of a state, and from slot to slot;
# blocks; flags, EARLY as `host.launch.launcher` says
RecurrentCase = namedtuple(
    "RecurrentCase", "H HV K V S_v S_k S_slot BK BV IN_PLACE NORM SIGMOID NEGATIVE EARLY"
)
# pointers to a head's first token
Head = namedtuple("Head", "q_ptr k_ptr v_ptr g_ptr beta_ptr")


@triton.jit
def load_row(ptr, t, end, stride, dim, D: tl.constexpr):
    """A head's `D` numbers of token `t`, and zeros, which change nothing, where there are none."""
    return tl.load(ptr + t * stride + dim, mask=(dim < D) & (t < end), other=0.0)


@triton.jit
def load_token(head, given, t, end, dim_k, dim_v, case: tl.constexpr):
    """One head's share of token `t` as it lies in memory, or zeros from `end` on."""
    q = load_row(head.q_ptr, t, end, given.q_stride, dim_k, case.K)
    k = load_row(head.k_ptr, t, end, given.k_stride, dim_k, case.K)
    v = load_row(head.v_ptr, t, end, given.v_stride, dim_v, case.V)
    g = 0.0
    if head.g_ptr is not None:
        g = tl.load(head.g_ptr + t * given.g_stride, mask=t < end, other=0.0)
    beta = tl.load(head.beta_ptr + t * given.beta_stride, mask=t < end, other=0.0)
    return q, k, v, g, beta


@triton.jit
def unit(x):
    """`x` divided by its norm; zeros stay zeros."""
    return x * tl.rsqrt(tl.sum(x * x) + NORM_EPSILON)


@triton.jit
def recurrent_kernel(given: RecurrentGiven, case: tl.constexpr):
    if case.EARLY:
        gdc_wait()
        gdc_launch_dependents()
    slices: tl.constexpr = (case.V + case.BV - 1) // case.BV
    n = tl.program_id(0) // (slices * case.HV)
    hv = tl.program_id(0) // slices % case.HV
    h = hv // (case.HV // case.H)
    dim_v = tl.program_id(0) % slices * case.BV + tl.arange(0, case.BV)
    dim_k = tl.arange(0, case.BK)
    begin, end = sequence_bounds(given.cu_seqlens_ptr, n, given.T, given.cu_seqlens_ptr is not None)
    if case.IN_PLACE and begin == end:
        return  # the slot of an empty sequence stays, to the bit
    o_ptr = given.o_ptr
    dtype = o_ptr.dtype.element_ty
    slot = n.to(tl.int64)
    if given.slot_idx_ptr is not None:
        slot = tl.load(given.slot_idx_ptr + n).to(tl.int64)

    # load: the first token waits for no slot and no state, nor later ones for those before them
    q_ptr, k_ptr = given.q_ptr + h * case.K, given.k_ptr + h * case.K
    v_ptr, g_ptr = given.v_ptr + hv * case.V, given.g_ptr
    beta_ptr = given.beta_ptr + hv
    if g_ptr is not None:
        g_ptr += hv
    head = Head(q_ptr, k_ptr, v_ptr, g_ptr, beta_ptr)
    q_next, k_next, v_next, g_next, beta_next = load_token(
        head, given, begin, end, dim_k, dim_v, case
    )
    if given.gk_ptr is not None:
        gk_ptr = given.gk_ptr + hv * case.K
        gk_next = load_row(gk_ptr, begin, end, given.gk_stride, dim_k, case.K)
    if given.gv_ptr is not None:
        gv_ptr = given.gv_ptr + hv * case.V
        gv_next = load_row(gv_ptr, begin, end, given.gv_stride, dim_v, case.V)
    # the state waits for no look at the slot: where none is taken, slot 0 is read for nothing
    S_at = tl.maximum(slot, 0) * case.S_slot + hv.to(tl.int64) * (case.V * case.K)
    S_at += dim_v[:, None] * case.S_v + dim_k[None, :] * case.S_k
    S_valid = (dim_v < case.V)[:, None] & (dim_k < case.K)[None, :]
    S = tl.zeros((case.BV, case.BK), tl.float32)
    if given.S_first_ptr is not None:
        S = tl.load(given.S_first_ptr + S_at, mask=S_valid, other=0.0).to(tl.float32)
    if given.slot_idx_ptr is not None:  # noqa: SIM102 (known when the kernel is compiled)
        if slot < 0:  # a place that is not taken
            for t in range(begin, end):
                nothing = tl.zeros((case.BV,), dtype)
                tl.store(o_ptr + (t * case.HV + hv) * case.V + dim_v, nothing, mask=dim_v < case.V)
            return
    rate = 1.0
    if given.A_log_ptr is not None:
        rate = tl.exp(tl.load(given.A_log_ptr + hv).to(tl.float32))
    bias = 0.0
    if given.dt_bias_ptr is not None:
        bias = tl.load(given.dt_bias_ptr + hv).to(tl.float32)

    for t in range(begin, end):
        q, k, v = q_next.to(tl.float32), k_next.to(tl.float32), v_next.to(tl.float32)
        g, beta = g_next, beta_next.to(tl.float32)
        q_next, k_next, v_next, g_next, beta_next = load_token(
            head, given, t + 1, end, dim_k, dim_v, case
        )
        if given.gk_ptr is not None:
            gk = gk_next.to(tl.float32)
            gk_next = load_row(gk_ptr, t + 1, end, given.gk_stride, dim_k, case.K)
        if given.gv_ptr is not None:
            gv = gv_next.to(tl.float32)
            gv_next = load_row(gv_ptr, t + 1, end, given.gv_stride, dim_v, case.V)
        if case.NORM:
            q, k = unit(q), unit(k)
        if case.SIGMOID:
            beta = tl.sigmoid(beta) * (2.0 if case.NEGATIVE else 1.0)
        alpha = 1.0
        if given.g_ptr is not None:
            g = g.to(tl.float32)
            if given.A_log_ptr is not None:
                g = -rate * softplus(g + bias)
            alpha = tl.exp(g)

        # eq-gdn-step
        S = alpha * S
        if given.gk_ptr is not None:
            S = S * tl.exp(gk)[None, :]
        if given.gv_ptr is not None:
            S = S * tl.exp(gv)[:, None]
        delta = beta * (v - tl.sum(S * k[None, :], axis=1))
        S = S + delta[:, None] * k[None, :]
        o = tl.sum(S * (given.scale * q)[None, :], axis=1)
        tl.store(o_ptr + (t * case.HV + hv) * case.V + dim_v, o.to(dtype), mask=dim_v < case.V)
    tl.store(given.S_last_ptr + S_at, S.to(given.S_last_ptr.dtype.element_ty), mask=S_valid)
