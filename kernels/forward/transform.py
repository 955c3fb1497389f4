"""Kernel 1, chunk by chunk, in parallel: cumulative decays and the UT transform.

    c  = g_1 + ... + g_r, in base 2                                       eq-gamma
    A  = tril(diag(beta) (Gamma . K K^T), -1)                             eq-gdn-interaction
    UT = (I + A)^-1 diag(beta)                                            eq-ut-transform

The inverse starts from diagonal blocks of 16 tokens, solved row by row, and joins them in pairs
(eq-inverse-blocks) until they fill the chunk. The blocks of A above the diagonal are zero and
are never formed. Value heads that share a key head share K K^T.

Reference: `gdn_ref.wy.interaction`, and `gdn_ref.wy.solve` with diag(beta) on the right.
"""

from collections import namedtuple

import triton
import triton.language as tl

from ..common.numbers import LOG2_E, RESET
from ..common.tokens import chunk_bounds, load_rows

# key dimensions that a warp has in its registers at a time
PART = tl.constexpr(64)


@triton.jit
def decay(c_late, c_early):
    """`Gamma` between rows of later and columns of earlier tokens, `[.., n, n]` (eq-decay-mask)."""
    return tl.exp2((c_late[:, :, None] - c_early[:, None, :]).to(tl.float32))


@triton.jit
def overlap(k_ptr, late, early, n: tl.constexpr, stride, left, K: tl.constexpr, BK: tl.constexpr,
            PRECISION: tl.constexpr):  # fmt: skip
    """`k_r . k_i` for the n tokens from `late[b]` on and the n from `early[b]` on, `[B, n, n]`."""
    token = tl.arange(0, n)[None, :]
    products = tl.zeros((late.shape[0], n, n), tl.float32)
    for d in tl.static_range(0, BK, PART):
        dim = d + tl.arange(0, min(BK, PART))[None, None, :]
        k_late = load_rows(k_ptr, late[:, None] + token, stride, left, dim, K)
        k_early = load_rows(k_ptr, early[:, None] + token, stride, left, dim, K)
        k_early = tl.permute(k_early, (0, 2, 1))
        products = tl.dot(k_late, k_early, acc=products, input_precision=PRECISION)
    return products


@triton.jit
def blocks(x, B: tl.constexpr, n: tl.constexpr):
    """`[2 B n]` numbers as the early and the late tokens of B pairs of blocks, `[B, n]` each."""
    return tl.split(tl.permute(tl.reshape(x, (B, 2, n)), (0, 2, 1)))


@triton.jit
def solve_rows(A_transposed, n: tl.constexpr):
    """`(I + A)^-1` row by row, `[B, n, n]`: row s is e_s minus A's row s times the rows above.

    Takes the transpose of A, so that row s of A lies along the axis of the rows it multiplies.
    """
    r = tl.arange(0, n)[None, :, None]
    i = tl.arange(0, n)[None, None, :]
    T_inv = tl.where(r == i, 1.0, 0.0 * A_transposed)
    for s in range(1, n):
        A_s = tl.sum(tl.where(i == s, A_transposed, 0.0), axis=2)
        above = tl.sum(A_s[:, :, None] * T_inv, axis=1)
        T_inv = tl.where(r == s, T_inv - above[:, None, :], T_inv)
    return T_inv


@triton.jit
def join_pairs(T_inv, A21, B: tl.constexpr, n: tl.constexpr, PRECISION: tl.constexpr):
    """Inverses of 2B blocks and the couplings of B pairs to the inverses of the pairs.

    T21 = -T22 A21 T11, `[B, 2n, 2n]` (eq-inverse-blocks).
    """
    T11, T22 = tl.split(tl.permute(tl.reshape(T_inv, (B, 2, n, n)), (0, 2, 3, 1)))
    T21 = -tl.dot(T22, tl.dot(A21, T11, input_precision=PRECISION), input_precision=PRECISION)
    columns = tl.join(tl.join(T11, T21), tl.join(tl.zeros_like(T21), T22))  # [B, n, n, row, column]
    return tl.reshape(tl.permute(columns, (0, 3, 1, 4, 2)), (B, 2 * n, 2 * n))


# what a launch gives: pointers; `total` tokens in all, `group` value heads a key head
TransformGiven = namedtuple(
    "TransformGiven", "k_ptr g_ptr beta_ptr c_ptr UT_ptr cu_seqlens_ptr N T total H group"
)
# what is known in advance; without SCALED, T_inv itself comes out instead of UT
TransformCase = namedtuple("TransformCase", "K C BK HAS_G PACKED SCALED PRECISION")


@triton.jit
def ut_transform_kernel(given: TransformGiven, case: tl.constexpr):
    C: tl.constexpr = case.C
    K: tl.constexpr = case.K
    BK: tl.constexpr = case.BK
    PRECISION: tl.constexpr = case.PRECISION
    h, H, group = tl.program_id(1), given.H, given.group
    start, end = chunk_bounds(
        given.cu_seqlens_ptr, tl.program_id(0), given.N, given.T, C, case.PACKED
    )
    left = tl.minimum(end - start, C).to(tl.int32)
    if left <= 0:
        return

    # k_r . k_i, once for all value heads of this key head
    k_ptr = given.k_ptr + (start * H + h) * K
    first = tl.arange(0, C // 16) * 16
    same = overlap(k_ptr, first, first, 16, H * K, left, K, BK, PRECISION)
    if C >= 32:
        first = tl.arange(0, C // 32) * 32
        pairs = overlap(k_ptr, first + 16, first, 16, H * K, left, K, BK, PRECISION)
    if C == 64:
        first = tl.arange(0, 1)
        halves = overlap(k_ptr, first + 32, first, 32, H * K, left, K, BK, PRECISION)

    t = tl.arange(0, C)
    valid = t < left
    r = tl.arange(0, 16)[None, :, None]
    i = tl.arange(0, 16)[None, None, :]
    for hv in range(h * group, (h + 1) * group):
        at = (start + t) * (H * group) + hv
        beta = tl.load(given.beta_ptr + at, mask=valid, other=0.0).to(tl.float32)
        c = tl.zeros((C,), given.c_ptr.dtype.element_ty)
        if case.HAS_G:
            g_log2 = tl.load(given.g_ptr + at, mask=valid, other=0.0).to(c.dtype) * LOG2_E
            c = tl.cumsum(tl.where(g_log2 < RESET, RESET, g_log2))
        at = start + given.total.to(tl.int64) * hv
        tl.store(given.c_ptr + at + t, c, mask=valid)

        # the diagonal blocks; rows and columns swapped, see `solve_rows`
        c_16, beta_16 = tl.reshape(c, (C // 16, 16)), tl.reshape(beta, (C // 16, 16))
        stretch = (c_16[:, None, :] - c_16[:, :, None]).to(tl.float32)
        Gamma = tl.exp2(tl.where(r < i, stretch, float("-inf")))
        T_inv = solve_rows(beta_16[:, None, :] * Gamma * same, 16)
        if C >= 32:
            c_early, c_late = blocks(c, C // 32, 16)
            _, beta_late = blocks(beta, C // 32, 16)
            A21 = beta_late[:, :, None] * decay(c_late, c_early) * pairs
            T_inv = join_pairs(T_inv, A21, C // 32, 16, PRECISION)
        if C == 64:
            c_early, c_late = blocks(c, 1, 32)
            _, beta_late = blocks(beta, 1, 32)
            A21 = beta_late[:, :, None] * decay(c_late, c_early) * halves
            T_inv = join_pairs(T_inv, A21, 1, 32, PRECISION)

        UT = tl.reshape(T_inv, (C, C))
        if case.SCALED:
            UT *= beta[None, :]
        UT_at = given.UT_ptr + at * C + t[:, None] * C + t[None, :]
        tl.store(UT_at, UT.to(given.UT_ptr.dtype.element_ty), mask=valid[:, None])
