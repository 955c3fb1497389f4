"""Each kernel against the reference function its docstring names, in the interpreter."""

import math

import numpy as np
import pytest
import torch
from tolerances import KERNEL_FLOAT32, assert_close

from gdn_ref import wy
from gdn_ref.chunking import decay, transpose
from gdn_ref.kernels.chunk_inverse import chunk_inverse_kernel
from gdn_ref.kernels.chunk_scan import chunk_scan_kernel
from gdn_ref.kernels.tokens import chunk_bounds
from gdn_ref.proofs.data import hard_inputs

triton = pytest.importorskip("triton")
import triton.language as tl  # noqa: E402

pytestmark = pytest.mark.interpreter


def one_chunk(C, d_k, d_v, reset_at=None):
    """A full chunk of one head, as float64 tensors."""
    q, k, v, g, beta, S = (torch.from_numpy(x) for x in hard_inputs(T=C, d_k=d_k, d_v=d_v))
    if reset_at is not None:
        g[reset_at] = -math.inf
    return q, k, v, g, beta, S


@pytest.mark.parametrize("C", [16, 32, 64])
@pytest.mark.parametrize("reset_at", [None, 5])
def test_the_inverse_is_the_solve_of_the_identity(C, reset_at):
    _, k, _, g, beta, _ = one_chunk(C, 12, 7, reset_at)
    T_inv = torch.full((C, 1, C), math.nan)
    chunk_inverse_kernel[1, 1](
        k.float(), g.float(), beta.float(), T_inv, None, 1, C, 1, 1,
        K=12, C=C, BK=16, HAS_G=True, PACKED=False,
    )  # fmt: skip
    A = wy.interaction(k, beta, decay(g)[1])
    assert_close(T_inv[:, 0], wy.solve(A, torch.eye(C, dtype=torch.float64)), KERNEL_FLOAT32)


def test_identical_keys_do_not_break_the_inverse():
    # powers of A reach 5e17 here, the inverse does not: doubling never forms the powers
    C = 64
    k = torch.zeros(C, 16)
    k[:, 0] = 1.0
    beta = torch.ones(C)
    T_inv = torch.full((C, 1, C), math.nan)
    chunk_inverse_kernel[1, 1](
        k, None, beta, T_inv, None, 1, C, 1, 1,
        K=16, C=C, BK=16, HAS_G=False, PACKED=False,
    )  # fmt: skip
    A = wy.interaction(k.double(), beta.double())
    assert_close(T_inv[:, 0], wy.solve(A, torch.eye(C, dtype=torch.float64)), KERNEL_FLOAT32)


@pytest.mark.parametrize("C, d_k, d_v", [(16, 12, 7), (32, 16, 33), (64, 20, 16)])
def test_the_scan_is_one_chunk_of_the_reference(C, d_k, d_v):
    from gdn_ref.gated_delta_rule import chunk

    q, k, v, g, beta, S = one_chunk(C, d_k, d_v, reset_at=None)
    expected_o, expected_S = chunk(S, q, k, v, g, beta)
    T_inv = wy.solve(wy.interaction(k, beta, decay(g)[1]), torch.eye(C, dtype=torch.float64))
    o = torch.full((C, d_v), math.nan)
    S_last = torch.full((d_v, d_k), math.nan)
    chunk_scan_kernel[1, triton.cdiv(d_v, 16)](
        *(x.float().contiguous() for x in (q, k, v, g, beta, T_inv, S)), o, S_last, None,
        1.0, C, 1, 1, K=d_k, V=d_v, C=C, BK=max(16, triton.next_power_of_2(d_k)), BV=16,
        HAS_G=True, HAS_S=True, PACKED=False, PRECISION="tf32x3",
    )  # fmt: skip
    assert_close(o, expected_o, KERNEL_FLOAT32)
    assert_close(S_last, expected_S, KERNEL_FLOAT32)
    assert transpose(S_last).shape == (d_k, d_v)


@triton.jit
def bounds_kernel(cu_seqlens_ptr, out_ptr, N, C: tl.constexpr):
    slot = tl.program_id(0)
    start, end = chunk_bounds(cu_seqlens_ptr, slot, N, 0, C, True)
    tl.store(out_ptr + 2 * slot, start)
    tl.store(out_ptr + 2 * slot + 1, end)


@pytest.mark.parametrize("seed", range(5))
def test_every_chunk_of_every_packed_sequence_has_one_slot(seed):
    C = 16
    lengths = np.random.default_rng(seed).choice([0, 0, 1, 15, 16, 17, 40, 64], size=9)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    expected = [
        (start, end)
        for begin, end in zip(ends[:-1], ends[1:], strict=True)
        for start in range(begin, end, C)
    ]
    slots = ends[-1] // C + len(lengths)
    out = torch.zeros(slots, 2, dtype=torch.int64)
    bounds_kernel[(int(slots),)](torch.from_numpy(ends), out, len(lengths), C)
    found = [(start, end) for start, end in out.tolist() if start < end]
    assert sorted(found) == sorted(expected)
