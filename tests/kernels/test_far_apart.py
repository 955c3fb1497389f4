"""Heads that lie more than 2^31 numbers apart: products of sizes have 64 bits.

The tensors lie in files with holes, so that there is no more memory than a program touches.
"""

import mmap

import pytest
import torch

pytest.importorskip("triton")
pytestmark = pytest.mark.interpreter

TOTAL, HV = 2**30 + 64, 3  # the last head begins beyond 2^31


@pytest.fixture
def far(tmp_path):
    """A function that makes zeros of a shape."""

    def zeros(*shape):
        size = 4 * torch.Size(shape).numel()
        with open(tmp_path / str(len(list(tmp_path.iterdir()))), "wb+") as file:
            file.truncate(size)
            return torch.frombuffer(mmap.mmap(file.fileno(), size), dtype=torch.float32).view(shape)

    return zeros


def test_the_transform_of_the_last_head(far):
    from gdn_ref.kernels.forward.transform import (
        TransformCase,
        TransformGiven,
        ut_transform_kernel,
    )

    g, beta = far(TOTAL, HV), far(TOTAL, HV)
    g[:16], beta[:16] = -0.5, 0.25
    c, UT = far(HV, TOTAL), far(HV, TOTAL, 16)
    ut_transform_kernel[(1, 1)](
        TransformGiven(far(TOTAL, 1, 16), g, beta, c, UT, None, 1, TOTAL, TOTAL, 1, HV),
        TransformCase(
            K=16, C=16, BK=16, HAS_G=True, PACKED=False, SCALED=True, PRECISION="ieee"
        ),
    )  # fmt: skip
    for hv in range(HV):  # keys are zero: no token meets another
        assert torch.equal(UT[hv, :16], 0.25 * torch.eye(16))
        assert c[hv, 15] == pytest.approx(-8 / 0.6931472)


@pytest.mark.parametrize("hv", range(HV))
def test_the_scan_of_the_last_head(far, hv):
    from gdn_ref.kernels.forward.scan import ScanCase, ScanGiven, chunk_scan_kernel

    k, v = far(TOTAL, 1, 16), far(TOTAL, HV, 16)
    k[0, 0, 0], v[0, hv, 0] = 1.0, 3.0
    UT, S = far(HV, TOTAL, 16), torch.zeros(1, HV, 16, 16)
    UT[hv, 0, 0] = 0.5
    chunk_scan_kernel[(HV,)](
        ScanGiven(
            k, k, v, k, far(HV, TOTAL), UT, S, far(TOTAL, HV, 16), S, None, 1.0, 16, TOTAL
        ),
        ScanCase(
            H=1, HV=HV, K=16, V=16, S_v=16, S_k=1, C=16, BK=16, BV=16, HAS_S=True, PACKED=False,
            SCALED=True, SHARES=1, PRECISION="ieee", STAGES=1,
        ),
    )  # fmt: skip
    assert S[0, hv, 0, 0] == 1.5 and S.sum() == 1.5
