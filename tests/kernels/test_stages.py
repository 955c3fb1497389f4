"""Each kernel against the reference function its docstring names, in the interpreter."""

import math

import numpy as np
import pytest
import torch
from tolerances import KERNEL_FLOAT32, assert_close

from gdn_ref import affine, wy
from gdn_ref.chunking import decay
from gdn_ref.gated_delta_rule import chunk
from gdn_ref.kernels.common.tokens import chunk_bounds
from gdn_ref.kernels.forward.hopper.segments import JoinCase, JoinGiven, join_segments_kernel
from gdn_ref.kernels.forward.scan import ScanCase, ScanGiven, chunk_scan_kernel
from gdn_ref.kernels.forward.shares import SILENT, share
from gdn_ref.kernels.forward.transform import TransformCase, TransformGiven, ut_transform_kernel
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


def transform(k, g, beta, C, scaled=True):
    """What the kernel makes of one chunk: c, and `(I + A)^-1 diag(beta)`; poisoned before.

    The inverse alone unless `scaled`.
    """
    c, UT = torch.full((1, C), math.nan, dtype=torch.float64), torch.full((1, C, C), math.nan)
    ut_transform_kernel[1, 1](
        TransformGiven(
            k.float(), None if g is None else g.float(), beta.float(), c, UT, None, 1, C, C, 1, 1
        ),
        TransformCase(
            K=k.shape[1], C=C, BK=16, HAS_G=g is not None, PACKED=False, SCALED=scaled,
            PRECISION="tf32x3",
        ),
    )  # fmt: skip
    return c[0], UT[0]


@pytest.mark.parametrize("C", [16, 32, 64])
@pytest.mark.parametrize("reset_at", [None, 5])
@pytest.mark.parametrize("scaled", [True, False])
def test_the_transform_is_the_solve(C, reset_at, scaled):
    _, k, _, g, beta, _ = one_chunk(C, 12, 7, reset_at)
    c, UT = transform(k, g, beta, C, scaled)
    gamma, Gamma = decay(g)
    assert_close(torch.exp2(c), gamma, KERNEL_FLOAT32)
    A = wy.interaction(k, beta, Gamma)
    right = torch.diag(beta if scaled else torch.ones_like(beta))
    assert_close(UT, wy.solve(A, right), KERNEL_FLOAT32)


def test_strong_decays_leave_the_weak_ones_exact():
    # c falls to thousands here; differences of float32 sums would lose the small stretches
    C = 64
    _, k, _, g, beta, _ = one_chunk(C, 12, 7)
    g[:40] = -100.0
    g[45] = -math.inf
    _, UT = transform(k, g, beta, C)
    assert_close(UT, wy.solve(wy.interaction(k, beta, decay(g)[1]), torch.diag(beta)), 1e-6)


def test_identical_keys_do_not_break_the_inverse():
    # powers of A reach 5e17 here, the inverse does not: blocks never form the powers
    C = 64
    k = torch.zeros(C, 16)
    k[:, 0] = 1.0
    beta = torch.ones(C)
    _, UT = transform(k, None, beta, C)
    A = wy.interaction(k.double(), beta.double())
    assert_close(UT, wy.solve(A, torch.eye(C, dtype=torch.float64)), KERNEL_FLOAT32)


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("v_first", [True, False])
@pytest.mark.parametrize("T, C, d_k, d_v", [(16, 16, 12, 7), (27, 32, 16, 33), (64, 64, 20, 16)])
def test_the_scan_is_one_chunk_of_the_reference(T, C, d_k, d_v, v_first, scaled):
    q, k, v, g, beta, S = one_chunk(T, d_k, d_v)
    expected_o, expected_S = chunk(S, q, k, v, g, beta)
    gamma, Gamma = decay(g)
    UT = torch.zeros(1, T, C)
    right = torch.diag(beta if scaled else torch.ones_like(beta))
    UT[0, :, :T] = wy.solve(wy.interaction(k, beta, Gamma), right)
    o = torch.full((T, d_v), math.nan)
    first = (S if v_first else S.mT).float().contiguous()
    last = torch.full_like(first, math.nan)
    chunk_scan_kernel[(triton.cdiv(d_v, 16),)](
        ScanGiven(
            *(x.float().contiguous() for x in (q, k, v, beta)), torch.log2(gamma), UT, first, o,
            last, None, 1.0, T, T,
        ),
        ScanCase(
            H=1, HV=1, K=d_k, V=d_v, S_v=d_k if v_first else 1, S_k=1 if v_first else d_v, C=C,
            BK=max(16, triton.next_power_of_2(d_k)), BV=16, HAS_S=True, PACKED=False,
            SCALED=scaled, SHARES=1, PRECISION="tf32x3", STAGES=1,
        ),
    )  # fmt: skip
    assert_close(o, expected_o, KERNEL_FLOAT32)
    assert_close(last if v_first else last.mT, expected_S, KERNEL_FLOAT32)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("v_first", [True, False])
def test_segments_are_joined_as_maps_compose(packed, v_first):
    # two heads; sequences of 3, 0 and 1 segments of 16 tokens, or two sequences of 2
    K, V, HV, length, counts = 16, 32, 2, 16, [3, 0, 1] if packed else [2, 2]
    rng = np.random.default_rng(0)
    lengths = [16 * n - 3 if n else 0 for n in counts] if packed else [25, 25]
    ends = np.concatenate([[0], np.cumsum(lengths)])
    slots = [b // length + n for n, b in enumerate(ends[:-1])] if packed else [0, 2]
    total = ends[-1] // length + len(counts) if packed else 4
    F, G = rng.normal(size=(total, HV, K, K)) / 4, rng.normal(size=(total, HV, V, K))
    S = torch.from_numpy(rng.normal(size=(len(counts), HV, V, K))).float()
    both = torch.from_numpy(np.concatenate([G, F], axis=2)).float()
    starts = torch.full((int(total), HV, V, K), math.nan)
    first = S if v_first else S.mT.contiguous()
    join_segments_kernel[len(counts) * HV, V // 16](
        JoinGiven(both, first, starts, torch.from_numpy(ends) if packed else None, 25, length, HV),
        JoinCase(
            K=K, V=V, S_v=K if v_first else 1, S_k=1 if v_first else V, ROWS=16, HAS_S=True,
            PACKED=packed,
        ),
    )  # fmt: skip
    for n, (slot, count) in enumerate(zip(slots, counts, strict=True)):
        for h in range(HV):
            assert_close(starts[slot, h], S[n, h], KERNEL_FLOAT32)
            if count > 1:  # the first segment's G holds where its state ends
                assert_close(starts[slot + 1, h], G[slot, h], KERNEL_FLOAT32)
            if count > 2:
                both = affine.compose(
                    (0 * F[slot, h], G[slot, h]), (F[slot + 1, h], G[slot + 1, h])
                )
                assert_close(starts[slot + 2, h], both[1], KERNEL_FLOAT32)


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


@triton.jit
def shares_kernel(found_ptr, tokens, SHARES: tl.constexpr):
    for p in range(SHARES):
        own, silent, last = share(tokens, tl.program_id(0) + p, SHARES, 16)
        tl.store(found_ptr + 3 * p, own)
        tl.store(found_ptr + 3 * p + 1, silent)
        tl.store(found_ptr + 3 * p + 2, last)


@pytest.mark.parametrize("shares", [1, 2, 3, 4])
def test_each_chunk_has_outputs_from_one_program(shares):
    for tokens in (*range(0, 100), 777, 16 * 512, 16 * 512 + 1):
        found = torch.zeros(shares, 3, dtype=torch.int64)
        shares_kernel[(1,)](found, tokens, SHARES=shares)
        chunks, spoken = -(-tokens // 16), []
        for p, (own, silent, last) in enumerate(found.tolist()):
            spoken += range(silent, -(-own // 16))
            assert own == tokens or own % 16 == 0
            assert last == (own == tokens and (own > 0 or p == 0))
        assert spoken == list(range(chunks))
        assert found[:, 2].sum() == 1
    time = [silent * SILENT + -(-own // 16) - silent for own, silent, _ in found.tolist()]
    assert max(time) - min(time) < 3 and max(time) < 513 * SILENT / (1 - (1 - SILENT) ** shares) + 1
