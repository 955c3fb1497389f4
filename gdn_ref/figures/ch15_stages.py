"""The stages of the forward kernels, each run on its own in Triton's interpreter.

A device function cannot be launched; a kernel of a few lines around it can. Set TRITON_INTERPRET=1
before this module is imported.
"""

import math
from contextlib import contextmanager
from unittest.mock import patch

import torch
import triton
import triton.language as tl

from ..kernels.common.tokens import chunk_bounds
from ..kernels.forward.scan import ScanCase, ScanGiven, chunk_scan_kernel
from ..kernels.forward.shares import share
from ..kernels.forward.transform import (
    TransformCase,
    TransformGiven,
    join_pairs,
    overlap,
    solve_rows,
    ut_transform_kernel,
)


@triton.jit
def _bounds_kernel(cu_seqlens_ptr, out_ptr, N, C: tl.constexpr):
    slot = tl.program_id(0)
    start, end = chunk_bounds(cu_seqlens_ptr, slot, N, 0, C, True)
    tl.store(out_ptr + 2 * slot, start)
    tl.store(out_ptr + 2 * slot + 1, end)


def bounds(cu_seqlens, C):
    """(first token, end of its sequence) of the chunk in each slot of a packed row."""
    N = len(cu_seqlens) - 1
    slots = cu_seqlens[-1] // C + N
    out = torch.zeros(slots, 2, dtype=torch.int64)
    _bounds_kernel[(slots,)](torch.tensor(cu_seqlens), out, N, C)
    return [tuple(pair) for pair in out.tolist()]


@triton.jit
def _overlap_kernel(k_ptr, out_ptr, late, early, left, n: tl.constexpr, K: tl.constexpr,
                    BK: tl.constexpr):  # fmt: skip
    one = tl.arange(0, 1)
    products = overlap(k_ptr, one + late, one + early, n, K, left, K, BK, "tf32x3")
    r = tl.arange(0, n)[None, :, None]
    i = tl.arange(0, n)[None, None, :]
    tl.store(out_ptr + r * n + i, products)


def overlap_of(k, late, early, n):
    """`k_r . k_i` for n tokens from `late` on and n from `early` on."""
    out = torch.full((n, n), math.nan)
    K = k.shape[1]
    _overlap_kernel[(1,)](k.float(), out, late, early, len(k), n, K, _tile(K))
    return out


@triton.jit
def _solve_kernel(A_transposed_ptr, out_ptr, B: tl.constexpr, n: tl.constexpr):
    b = tl.arange(0, B)[:, None, None]
    at = (b * n + tl.arange(0, n)[None, :, None]) * n + tl.arange(0, n)[None, None, :]
    tl.store(out_ptr + at, solve_rows(tl.load(A_transposed_ptr + at), n))


def solve_rows_of(A):
    """`(I + A)^-1` of each block of `A`, `[B, n, n]`."""
    out = torch.full(A.shape, math.nan)
    _solve_kernel[(1,)](A.mT.float().contiguous(), out, *A.shape[:2])
    return out


@triton.jit
def _join_kernel(T_inv_ptr, A21_ptr, out_ptr, B: tl.constexpr, n: tl.constexpr):
    t = tl.arange(0, n)
    two = tl.arange(0, 2 * B)[:, None, None]
    T_inv = tl.load(T_inv_ptr + (two * n + t[None, :, None]) * n + t[None, None, :])
    one = tl.arange(0, B)[:, None, None]
    A21 = tl.load(A21_ptr + (one * n + t[None, :, None]) * n + t[None, None, :])
    w = tl.arange(0, 2 * n)
    at = (one * 2 * n + w[None, :, None]) * 2 * n + w[None, None, :]
    tl.store(out_ptr + at, join_pairs(T_inv, A21, B, n, "tf32x3"))


def join_pairs_of(T_inv, A21):
    """Inverses of 2B blocks, `[2B, n, n]`, and B couplings: the inverses of the pairs."""
    B, n = A21.shape[:2]
    out = torch.full((B, 2 * n, 2 * n), math.nan)
    _join_kernel[(1,)](T_inv.float().contiguous(), A21.float().contiguous(), out, B, n)
    return out


def transform(k, g, beta, C, c_dtype=torch.float64):
    """`c` and `UT` of one head, as `ut_transform_kernel` stores them; NaN where it does not."""
    T, K = k.shape
    c, UT = torch.full((1, T), math.nan, dtype=c_dtype), torch.full((1, T, C), math.nan)
    ut_transform_kernel[triton.cdiv(T, C), 1](
        TransformGiven(
            k.float().contiguous(), g.float(), beta.float(), c, UT, None, 1, T, T, 1, 1
        ),
        TransformCase(
            K=K, C=C, BK=_tile(K), HAS_G=True, PACKED=False, SCALED=True, PRECISION="tf32x3"
        ),
    )  # fmt: skip
    return c[0], UT[0]


def scan(S, q, k, v, c, UT, C, BV=16, dtype=torch.float32):
    """Outputs and last state of one head, as `chunk_scan_kernel` stores them; `S` is [d_v, d_k]."""
    (T, K), V = k.shape, v.shape[1]
    q, k, v = (x.to(dtype).contiguous() for x in (q, k, v))
    o, last = torch.full_like(v, math.nan), torch.full((V, K), math.nan)
    chunk_scan_kernel[(triton.cdiv(V, BV),)](
        ScanGiven(
            q, k, v, torch.ones(T), c, UT.contiguous(), S.float().contiguous(), o, last, None,
            1.0, T, T,
        ),
        ScanCase(
            H=1, HV=1, K=K, V=V, S_v=K, S_k=1, C=C, BK=_tile(K), BV=BV,
            HAS_S=True, PACKED=False, SCALED=True, SHARES=1, PRECISION="tf32x3", STAGES=1,
        ),
    )  # fmt: skip
    return o, last


@triton.jit
def _shares_kernel(out_ptr, tokens, SHARES: tl.constexpr, C: tl.constexpr):
    p = tl.program_id(0)
    own, silent, last = share(tokens, p, SHARES, C)
    tl.store(out_ptr + 3 * p, own)
    tl.store(out_ptr + 3 * p + 1, silent)
    tl.store(out_ptr + 3 * p + 2, last)


def shares_of(tokens, n, C):
    """Of each of `n` programs: (chunks it walks through, silent ones, has it the end)."""
    out = torch.zeros(n, 3, dtype=torch.int64)
    _shares_kernel[(n,)](out, tokens, n, C)
    return [(-(-own // C), silent, bool(last)) for own, silent, last in out.tolist()]


@contextmanager
def shared_by(n):
    """In here `n` programs share a sequence, whatever the rule says."""
    rule = patch("gdn_ref.kernels.forward.launches.shares", lambda *sizes: n)
    with rule, patch("gdn_ref.prepared._remembered", {}):
        yield


def _tile(K):
    return max(16, triton.next_power_of_2(K))
