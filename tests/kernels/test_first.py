"""The kernel that one reads first: the whole forward pass, against the reference in float64."""

from pathlib import Path

import pytest
import torch
from tolerances import KERNEL_FLOAT32, assert_close

from gdn_ref import gated_delta_rule
from gdn_ref.proofs.data import hard_inputs

# everything is float32 inside: of 16-bit calls the outputs alone are rounded
ROUNDED = {torch.float32: KERNEL_FLOAT32, torch.float16: 3e-4, torch.bfloat16: 3e-3}

pytest.importorskip("triton")
pytestmark = [pytest.mark.interpreter, pytest.mark.usefixtures("unwritten_memory_is_nan", "fenced")]


DECAYS = {  # token of 77, in chunks of 32: log-decay
    "a reset first": {0: -torch.inf},
    "a reset in the middle": {45: -torch.inf},
    "a reset last in its chunk": {63: -torch.inf},
    "a reset first in its chunk": {32: -torch.inf},
    "two resets in a row": {40: -torch.inf, 41: -torch.inf},
    "resets everywhere": dict.fromkeys(range(77), -torch.inf),
    "-20 at a token": {40: -20.0},
    "-20 everywhere": dict.fromkeys(range(77), -20.0),
    "strong, then mild": dict.fromkeys(range(32, 48), -200.0),
}


def compare(device="cpu", dtype=torch.float32, B=2, T=77, H=2, HV=4, K=24, V=40, scale=0.3,
            decays=None):  # fmt: skip
    """Outputs and last states; a value head's key head is one of `HV // H` alike."""
    from gdn_ref.kernels.first import first

    q, k, v, g, beta, S = (
        torch.from_numpy(x) for x in hard_inputs(T=T, d_k=K, d_v=V, batch=(B, HV))
    )
    for t, log_decay in (decays or {}).items():
        g[..., t] = log_decay
    q, k = q[:, :H], k[:, :H]
    vectors = [x.to(dtype) for x in (q, k, v)]
    numbers = [x.float() for x in (g, beta)]
    given = [x.transpose(1, 2).contiguous().to(device) for x in (*vectors, *numbers)]
    o, last = first(*given, scale, S.float().to(device))
    q, k, v, g, beta = (x.double() for x in (*vectors, *numbers))
    q, k = (x.repeat_interleave(HV // H, 1) for x in (scale * q, k))
    right_o, right_S = gated_delta_rule.recurrent(q, k, v, g, beta, S.float().double())
    assert o.dtype == dtype
    assert_close(o.cpu().double().transpose(1, 2), right_o, ROUNDED[dtype])
    assert_close(last.cpu().double(), right_S, KERNEL_FLOAT32)


@pytest.mark.parametrize("T", [1, 31, 32, 33, 100])
def test_any_length(T):
    compare(T=T)


@pytest.mark.parametrize("H, HV", [(1, 1), (1, 3), (3, 3), (2, 8)])
def test_grouped_heads(H, HV):
    compare(T=40, H=H, HV=HV)


@pytest.mark.parametrize("K, V", [(2, 1), (16, 32), (60, 100), (100, 33), (128, 64)])
def test_any_head_dimension(K, V):
    compare(B=1, T=40, H=1, HV=2, K=K, V=V)


@pytest.mark.parametrize("name", DECAYS)
def test_any_decay(name):
    compare(decays=DECAYS[name])


def test_float16():
    compare(dtype=torch.float16)


def test_without_tokens():
    compare(T=0)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16], ids=str)
@pytest.mark.parametrize("T, K, V", [(1, 64, 64), (500, 60, 100), (1000, 128, 128)])
def test_on_the_device(dtype, T, K, V):
    compare("cuda", dtype, T=T, K=K, V=V)


@pytest.mark.gpu
@pytest.mark.parametrize("name", DECAYS)
def test_any_decay_on_the_device(name):
    compare("cuda", decays=DECAYS[name])


def test_fits_on_a_page():
    from gdn_ref.kernels import first

    assert len(Path(first.__file__).read_text().splitlines()) < 90
