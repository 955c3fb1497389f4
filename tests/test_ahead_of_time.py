"""Compiling ahead: what is refused; on a GPU nothing is left to compile, and nothing is run."""

import gc

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

    for x in gc.get_objects():  # what other tests have compiled is not known here
        if JITFunction in type(x).__mro__:
            x.device_caches.clear()
    compiled, do_compile = [], JITFunction._do_compile
    monkeypatch.setattr("gdn_ref.prepared._remembered", {})
    monkeypatch.setattr(launch, "_launches", {})
    noted = lambda f, *rest: compiled.append(f) or do_compile(f, *rest)
    monkeypatch.setattr(JITFunction, "_do_compile", noted)
    first = tensors("cuda", T=300, gradient=True)
    if ahead:
        precompile(chunk_gated_delta_rule, *first)
        assert not any(x.any() for x in first)
    else:
        chunk_gated_delta_rule(*first)
    count = len(compiled)
    assert count >= 4
    x = tensors("cuda", T=400, gradient=True)  # as many programs share a sequence
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


@pytest.fixture
def first_call(monkeypatch):
    """A call that nobody has made before: its tensors, 64 MB of values among them."""
    monkeypatch.setattr("gdn_ref.prepared._remembered", {})
    q, k, v, g, beta = tensors("cuda", T=4096, H=7, D=128, gradient=True)
    v = torch.zeros(4, 4096, 14, 128, dtype=torch.bfloat16, device="cuda", requires_grad=True)
    q, k = (x.detach().repeat(4, 1, 1, 1).requires_grad_() for x in (q, k))
    g, beta = (x.detach().repeat(4, 1, 2).requires_grad_() for x in (g, beta))
    return q, k, v, g, beta


@pytest.mark.gpu
@pytest.mark.parametrize("options", [{}, {"use_qk_l2norm_in_kernel": True}], ids=["", "norm"])
def test_a_rehearsal_launches_nothing_and_needs_no_memory(monkeypatch, first_call, options):
    from gdn_ref.kernels import rule

    rehearse, seen = rule.Rule.rehearse, []

    def watched(*arguments):
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
            rehearse(*arguments)
            torch.cuda.synchronize()
        launched = [event.name for event in profile.events()]
        seen.append((launched, torch.cuda.max_memory_allocated() - before))

    monkeypatch.setattr(rule.Rule, "rehearse", watched)
    chunk_gated_delta_rule(*first_call, **options)
    ((launched, memory),) = seen
    assert not [name for name in launched if "kernel" in name or "elementwise" in name]
    assert memory < 1e5
    chunk_gated_delta_rule(*first_call, **options)
    assert len(seen) == 1


@pytest.mark.gpu
def test_after_a_rehearsal_that_raises_all_is_as_before(monkeypatch, first_call):
    from gdn_ref.kernels.backward.launches import Gradients
    from gdn_ref.kernels.host.launch import compiling

    def broken(*arguments):
        raise RuntimeError("broken")

    with monkeypatch.context() as patched:
        patched.setattr(Gradients, "run", broken)
        for _ in range(2):
            with pytest.raises(RuntimeError, match="broken"):
                chunk_gated_delta_rule(*first_call)
            assert not compiling()
    o, _ = chunk_gated_delta_rule(*first_call)
    o.sum().backward()
    assert all(x.grad.isfinite().all() for x in first_call)


@pytest.mark.gpu
def test_a_kernel_that_cannot_be_compiled_is_left_to_its_launch(monkeypatch, first_call):
    from gdn_ref.kernels.host import launch

    def broken(compiled):
        raise RuntimeError("broken")

    with monkeypatch.context() as patched:
        patched.setattr(launch, "with_launcher", broken)
        o, _ = chunk_gated_delta_rule(*first_call)
    o.sum().backward()
    assert all(x.grad.isfinite().all() for x in first_call)
