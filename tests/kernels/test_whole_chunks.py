"""Tokens laid out so that all chunks are whole: where they go, and that gradients stay the same."""

import pytest
import torch
from tolerances import GRADIENT_FLOAT32, assert_close

from gdn_ref.proofs.data import hard_inputs

pytest.importorskip("triton")
from gdn_ref.kernels.backward.launches import Backward  # noqa: E402
from gdn_ref.kernels.backward.whole_chunks import WholeChunks  # noqa: E402

pytestmark = [pytest.mark.interpreter, pytest.mark.usefixtures("unwritten_memory_is_nan", "fenced")]

C = 16
LENGTHS = [[5], [16], [17, 0, 15, 32, 1], [0, 0, 40], [16, 16], [1] * 6 + [0]]


def offsets(lengths, dtype=torch.int64):
    return torch.tensor([0, *lengths]).cumsum(0).to(dtype)


@pytest.mark.parametrize("dtype", [torch.int32, torch.int64])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_packed_tokens_come_to_whole_chunks_and_back(lengths, dtype):
    T = sum(lengths)
    k = torch.arange(1.0, T * 6 + 1).view(1, T, 2, 3)
    whole = WholeChunks(k, offsets(lengths, dtype), C)
    laid = whole.lay(k)
    assert laid.shape == (1, (T // C + len(lengths)) * C, 2, 3)
    assert whole.cu_seqlens.dtype == dtype and not (whole.cu_seqlens % C).any()
    for n, begin in enumerate(whole.cu_seqlens[:-1]):
        own = k[0, sum(lengths[:n]) : sum(lengths[: n + 1])]
        end = whole.cu_seqlens[n + 1]
        assert torch.equal(laid[0, begin : begin + lengths[n]], own)
        assert not laid[0, begin + lengths[n] : end].any()
    assert torch.equal(whole.take(laid), k)
    assert whole.lay(None) is None and whole.take(None) is None


@pytest.mark.parametrize("T", [1, 15, 16, 17])
def test_padded_tokens_come_to_whole_chunks_and_back(T):
    k = torch.arange(1.0, 2 * T * 6 + 1).view(2, T, 2, 3)
    whole = WholeChunks(k, None, C)
    laid = whole.lay(k)
    assert whole.cu_seqlens is None and laid.shape == (2, -(-T // C) * C, 2, 3)
    assert torch.equal(laid[:, :T], k) and not laid[:, T:].any()
    assert torch.equal(whole.take(laid), k)


@pytest.mark.parametrize("lengths", [None, [17, 0, 15, 9]])
def test_gradients_are_those_of_the_tokens_as_they_lay(lengths):
    N, T = (2, 41) if lengths is None else (4, 41)
    q, k, v, g, beta, S = (
        torch.from_numpy(x).float() for x in hard_inputs(T=T, d_k=12, d_v=7, batch=(N, 2))
    )
    q, k, v, g, beta = (x.transpose(1, 2) for x in (q, k, v, g, beta))
    if lengths is not None:
        q, k, v, g, beta = (x[:1] for x in (q, k, v, g, beta))
    cu_seqlens = None if lengths is None else offsets(lengths)
    generator = torch.Generator().manual_seed(0)
    do, dS = (torch.randn(x.shape, generator=generator) for x in (v, S))
    run = Backward(0.7, C)
    expected = run(q, k, v, g, beta, S, cu_seqlens, do, dS)
    whole = WholeChunks(k, cu_seqlens, C)
    tokens = [whole.lay(x) for x in (q, k, v, g, beta)]
    *found, dS_first = run(*tokens, S, whole.cu_seqlens, whole.lay(do), dS)
    for x, right in zip([*map(whole.take, found), dS_first], expected, strict=True):
        assert_close(x, right, GRADIENT_FLOAT32)
