"""Compiling ahead: what is refused; on a GPU nothing is left to compile, and nothing is run."""

import pytest
import torch

from gdn_ref import causal_conv1d, chunk_gated_delta_rule, decode, precompile


def tensors(device, T=70, gradient=False, H=3, D=64):
    q, k, v = torch.zeros(3, 1, T, H, D, dtype=torch.bfloat16, device=device)
    g, beta = torch.zeros(2, 1, T, H, device=device)
    return [x.requires_grad_(gradient) for x in (q, k, v, g, beta)]


@pytest.mark.parametrize("device, named", [("cpu", "cpu"), ("meta", "meta")])
def test_kernels_are_compiled_for_a_gpu_alone(device, named):
    with pytest.raises(ValueError, match=f"^args: expected CUDA tensors, got {named}$"):
        precompile(chunk_gated_delta_rule, *tensors(device))
    with pytest.raises(ValueError, match="^args: expected CUDA tensors, got no tensor$"):
        precompile(chunk_gated_delta_rule)


@pytest.mark.gpu
@pytest.mark.parametrize("ahead", [True, False])
def test_both_passes_are_compiled_at_once(monkeypatch, ahead):
    """By `precompile`, or by the first call; the second, of another length, has nothing to do."""
    from triton import JITFunction

    from gdn_ref.kernels.host import launch

    compiled, do_compile = [], JITFunction._do_compile
    monkeypatch.setattr("gdn_ref.prepared._remembered", {})
    monkeypatch.setattr(launch, "_launches", {})
    noted = lambda f, *rest: compiled.append(f) or do_compile(f, *rest)
    monkeypatch.setattr(JITFunction, "_do_compile", noted)
    # heads that no other test has
    H = 13 if ahead else 11
    first = tensors("cuda", gradient=True, H=H)
    if ahead:
        precompile(chunk_gated_delta_rule, *first)
        assert not any(x.any() for x in first)
    else:
        chunk_gated_delta_rule(*first)
    count = len(compiled)
    assert count >= 4
    x = tensors("cuda", T=130, gradient=True, H=H)
    o, _ = chunk_gated_delta_rule(*x)
    torch.autograd.grad(o, x, torch.ones_like(o))
    assert len(compiled) == count


@pytest.mark.gpu
def test_nothing_is_run(monkeypatch):
    q, k, v, g, beta = tensors("cuda", T=1)
    pool = torch.ones(1, 3, 64, 64, device="cuda")
    precompile(decode, q, k, v, g - 1, beta, pool, None)
    assert torch.equal(pool, torch.ones_like(pool))
    x = torch.ones(1, 9, 8, device="cuda", requires_grad=True)
    precompile(causal_conv1d, x, torch.ones(8, 4, device="cuda"))
    assert x.grad is None
