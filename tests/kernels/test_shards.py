"""What the outputs of a shard get of the state before it, in Triton, against PyTorch in float64."""

import pytest
import torch
from tolerances import KERNEL_BFLOAT16, KERNEL_FLOAT16, KERNEL_FLOAT32, assert_close

pytest.importorskip("triton")
pytestmark = [pytest.mark.interpreter, pytest.mark.usefixtures("unwritten_memory_is_nan", "fenced")]

from gdn_ref.distributed.response import Response  # noqa: E402

TOLERANCE = {torch.float32: KERNEL_FLOAT32, torch.float16: KERNEL_FLOAT16}
TOLERANCE[torch.bfloat16] = KERNEL_BFLOAT16


def given(dtype, device, T=150, HV=3, K=20, V=24, L=40, seed=0):
    """Blocks of two pieces, of 90 and 60 tokens; the last ones of both end past their piece."""
    on = {"generator": torch.Generator().manual_seed(seed)}
    spans = [(0, 0, 0, 90), (0, 0, 2, 90), (1, 90, 1, 150)]  # piece, its first row, head, its end
    blocks = [(p, t, h, end) for p, begin, h, end in spans for t in range(begin, end, L)]
    rows = torch.tensor([[min(t + n, end - 1) for n in range(L)] for _, t, _, end in blocks])
    past = torch.tensor([[t + n >= end for n in range(L)] for _, t, _, end in blocks])
    at = rows * HV + torch.tensor([[h] for _, _, h, _ in blocks])
    O_F = torch.randn(len(blocks), L, K, **on).masked_fill(past[..., None], 0)
    whose = torch.tensor([p * HV + h for p, _, h, _ in blocks])
    o, S = torch.randn(1, T, HV, V, **on), torch.randn(2, HV, V, K, **on)
    found = [o.to(dtype), O_F.to(dtype), S, at[..., None], whose]
    return [x.to(device) for x in found]


def compare(dtype, device="cpu", **sizes):
    """A kernel's correction, and PyTorch's of the same numbers; rows of no block stay."""
    o, O_F, S, at, whose = given(dtype, device, **sizes)
    exact, before = o.double(), o.clone()
    Response(None, O_F.double(), None, at, whose, None).correct(exact, S.double())
    Response(None, O_F, None, at, whose, None, in_one=True).correct(o, S)
    assert_close(o.double().cpu(), exact.cpu(), TOLERANCE[dtype])
    others = torch.ones(o[0, ..., 0].numel(), dtype=torch.bool, device=device)
    others[at.flatten()] = False
    same = (o == before).flatten(0, 2).all(1)
    assert same[others].all() and not same[~others].any()


@pytest.mark.parametrize("L", [1, 16, 40, 70])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
def test_outputs_are_those_of_pytorch(dtype, L):
    compare(dtype, L=L)


@pytest.mark.parametrize("K, V", [(16, 130), (65, 16), (128, 64)])
def test_heads_of_any_size(K, V):
    compare(torch.float32, K=K, V=V)


@pytest.mark.gpu
@pytest.mark.parametrize("D", [64, 128, 256])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_on_a_gpu(dtype, D):
    compare(dtype, "cuda", T=5000, K=D, V=D)
    compare(dtype, "cuda", K=D, V=D - 4)
