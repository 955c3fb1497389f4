"""Kernel 1, chunk by chunk, in parallel: the inverse of the triangular system.

    A     = tril(diag(beta) (Gamma . K K^T), -1)                          eq-gdn-interaction
    T_inv = (I + A)^-1                                                    eq-inverse-doubling

Reference: `gdn_ref.wy.interaction`, and `gdn_ref.wy.solve` on the identity.
"""

import triton
import triton.language as tl

from .tokens import chunk_bounds, decay_mask, load_g

# three tf32 products a dot, as good as float32: an error in the inverse reaches every token
ACCURATE = tl.constexpr("tf32x3")


@triton.jit
def unit_lower_inverse(A, r, i, C: tl.constexpr):
    """`(I + A)^-1` by doubling the size of the inverted diagonal blocks (eq-inverse-doubling).

    Every intermediate is the inverse of a block-diagonal part of I + A, so it stays as small as
    the result; powers of A, which a Neumann series would form, do not.
    """
    T_inv = tl.where(r == i, 1.0, 0.0)
    b = 1
    while b < C:
        quarter = (r // (2 * b) == i // (2 * b)) & (r % (2 * b) >= b) & (i % (2 * b) < b)
        coupling = tl.where(quarter, A, 0.0)
        below = tl.dot(coupling, T_inv, input_precision=ACCURATE)
        T_inv -= tl.dot(T_inv, below, input_precision=ACCURATE)
        b *= 2
    return T_inv


@triton.jit(do_not_specialize=["N", "T", "H", "HV"])
def chunk_inverse_kernel(
    # pointers
    k_ptr, g_ptr, beta_ptr, T_inv_ptr, cu_seqlens_ptr,
    # sizes
    N, T, H, HV, K: tl.constexpr,
    # blocks
    C: tl.constexpr, BK: tl.constexpr,
    # flags
    HAS_G: tl.constexpr, PACKED: tl.constexpr,
):  # fmt: skip
    slot = tl.program_id(0)
    hv = tl.program_id(1)
    h = hv // (HV // H)
    start, end = chunk_bounds(cu_seqlens_ptr, slot, N, T, C, PACKED)
    if start >= end:
        return

    # load: tokens are rows
    token = start + tl.arange(0, C)
    valid = token < end
    dim = tl.arange(0, BK)
    k_at = (token * H + h)[:, None] * K + dim[None, :]
    k = tl.load(k_ptr + k_at, mask=valid[:, None] & (dim < K)[None, :], other=0.0)
    g = load_g(g_ptr, token * HV + hv, valid, HAS_G)
    beta = tl.load(beta_ptr + token * HV + hv, mask=valid, other=0.0).to(tl.float32)

    # compute
    r = tl.arange(0, C)[:, None]
    i = tl.arange(0, C)[None, :]
    overlap = tl.dot(k, tl.trans(k), input_precision=ACCURATE)
    A = tl.where(r > i, beta[:, None] * decay_mask(g, r, i) * overlap, 0.0)  # eq-gdn-interaction
    T_inv = unit_lower_inverse(A, r, i, C)

    # store
    T_inv_at = (token * HV + hv)[:, None] * C + i
    tl.store(T_inv_ptr + T_inv_at, T_inv, mask=valid[:, None])
