"""The convolution's kernels against its reference: in the interpreter, and on a CUDA device."""

import math

import pytest
import torch
from tolerances import KERNEL_BFLOAT16, KERNEL_FLOAT16, KERNEL_FLOAT32, assert_close

from gdn_ref import causal_conv1d, causal_conv1d_update

pytest.importorskip("triton")
pytestmark = pytest.mark.usefixtures("unwritten_memory_is_nan", "fenced")

INTERPRETED = [(torch.float32, KERNEL_FLOAT32), (torch.float16, KERNEL_FLOAT16)]
INTERPRETED = [pytest.param("cpu", *x, marks=pytest.mark.interpreter) for x in INTERPRETED]
COMPILED = [*((x.values[1:]) for x in INTERPRETED), (torch.bfloat16, KERNEL_BFLOAT16)]
COMPILED = [pytest.param("cuda", *x, marks=pytest.mark.gpu) for x in COMPILED]
EVERYWHERE = pytest.mark.parametrize("device, dtype, tolerance", INTERPRETED + COMPILED)
SOMEWHERE = pytest.mark.parametrize("device, dtype, tolerance", INTERPRETED[:1] + COMPILED[:1])
LENGTHS = [None, [15, 35], [0, 7, 0, 0, 33, 64, 0, 32, 2], [1] * 9]  # the 35 have a tile too many


def inputs(device, dtype, lengths=None, T=35, D=131, W=4):
    """Arguments in `dtype`, and the same numbers in float64."""
    random = torch.Generator().manual_seed(W)
    B, N = (2, 2) if lengths is None else (1, len(lengths))
    T = T if lengths is None else sum(lengths)
    sizes = {"x": (B, T, D), "weight": (D, W), "bias": (D,), "initial_state": (N, D, W - 1)}
    given = {k: torch.randn(*s, generator=random).to(device, dtype) for k, s in sizes.items()}
    exact = {name: x.double() for name, x in given.items()}
    if lengths is not None:
        offsets = torch.tensor([0, *lengths]).cumsum(0).to(device)
        given["cu_seqlens"] = exact["cu_seqlens"] = offsets
    return given, exact


def close(found, expected, tolerance):
    for a, b in zip(found, expected, strict=True):
        assert_close(a.double().cpu(), b.cpu(), tolerance)


@EVERYWHERE
@pytest.mark.parametrize("W", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("lengths", LENGTHS)
def test_prefill(device, dtype, tolerance, W, lengths):
    given, exact = inputs(device, dtype, lengths, W=W)
    found = causal_conv1d(**given, output_final_state=True, backend="triton")
    expected = causal_conv1d(**exact, output_final_state=True, backend="reference")
    assert found[0].dtype == found[1].dtype == dtype
    close(found, expected, tolerance)


@SOMEWHERE
@pytest.mark.parametrize("lengths", [None, [40, 3, 18, 0, 9]])
def test_a_state_that_reaches_into_a_second_tile(device, dtype, tolerance, lengths):
    """Tiles have 16 tokens: with 35 weights the state is read by tokens of three."""
    given, exact = inputs(device, dtype, lengths, D=5, W=35)
    found = causal_conv1d(**given, output_final_state=True, backend="triton")
    close(found, causal_conv1d(**exact, output_final_state=True, backend="reference"), tolerance)


@SOMEWHERE
@pytest.mark.parametrize("T", [0, 1, 2, 32, 33, 64])
@pytest.mark.parametrize("left_out", ["bias", "initial_state"])
@pytest.mark.parametrize("activation", ["silu", None])
def test_any_length_with_less(device, dtype, tolerance, T, left_out, activation):
    given, exact = inputs(device, dtype, T=T, D=5)
    options = {"output_final_state": True, "activation": activation, left_out: None}
    found = causal_conv1d(**given | options, backend="triton")
    close(found, causal_conv1d(**exact | options, backend="reference"), tolerance)


@EVERYWHERE
@pytest.mark.parametrize("W", [1, 2, 4, 6])
@pytest.mark.parametrize("lengths", [None, [2, 0, 1, 4]])
@pytest.mark.parametrize("pool_dtype", [torch.float32, torch.float16, torch.float64])
def test_update(device, dtype, tolerance, W, lengths, pool_dtype):
    given, exact = inputs(device, dtype, lengths, T=3, D=261, W=W)
    states = given.pop("initial_state")
    N = len(states)
    slots = torch.arange(N + 3, device=device).flip(0)[2 : N + 2]
    pool = torch.full((N + 3, *states.shape[1:]), math.nan, device=device, dtype=pool_dtype)
    pool[slots] = states.to(pool_dtype)
    exact["initial_state"] = pool[slots].double()
    y = causal_conv1d_update(pool=pool, **given, slot_idx=slots, backend="triton")
    expected = causal_conv1d(**exact, output_final_state=True, backend="reference")
    close([y, pool[slots]], expected, max(tolerance, 1e-3 * (pool_dtype == torch.float16)))
    assert pool[[0, N + 1, N + 2]].isnan().all()


@SOMEWHERE
def test_update_moves_inputs_and_keeps_every_bit(device, dtype, tolerance):
    given, _ = inputs(device, dtype, [1, 0, 2, 9], D=300)
    pool = given.pop("initial_state").double() / 3
    before = pool.clone()
    causal_conv1d_update(pool=pool, **given, backend="triton")
    x = given["x"][0].double()
    assert torch.equal(pool[0], torch.cat([before[0, :, 1:], x[:1].mT], 1))
    assert torch.equal(pool[1], before[1])
    assert torch.equal(pool[2], torch.cat([before[2, :, 2:], x[1:3].mT], 1))
    assert torch.equal(pool[3], x[-3:].mT)


def apart(tensors):
    """The same numbers, not side by side in memory."""
    return {
        name: x.mT.contiguous().mT if x.ndim > 1 else x.repeat_interleave(2)[::2]
        for name, x in tensors.items()
    }


@SOMEWHERE
@pytest.mark.parametrize("lengths", [None, [7, 0, 20]])
def test_inputs_that_are_not_contiguous(device, dtype, tolerance, lengths):
    given, exact = inputs(device, dtype, lengths)
    found = causal_conv1d(**apart(given), output_final_state=True, backend="triton")
    close(found, causal_conv1d(**exact, output_final_state=True, backend="reference"), tolerance)


@SOMEWHERE
def test_update_with_inputs_that_are_not_contiguous(device, dtype, tolerance):
    given, _ = inputs(device, dtype, [2, 0, 1])
    given["slot_idx"] = torch.tensor([2, 0, 1], device=device)
    pool = given.pop("initial_state")
    expected, kept = pool.clone(), pool.clone()
    y = causal_conv1d_update(pool=expected, **given, backend="triton")
    assert torch.equal(causal_conv1d_update(pool=kept, **apart(given), backend="triton"), y)
    assert torch.equal(kept, expected)


@SOMEWHERE
def test_gradients_that_are_not_contiguous(device, dtype, tolerance):
    given, _ = inputs(device, dtype, [7, 0, 20])
    found = []
    for change in (dict, apart):
        leaves = {
            name: x.requires_grad_(x.is_floating_point()) for name, x in change(given).items()
        }
        results = causal_conv1d(**leaves, output_final_state=True, backend="triton")
        d = change({"y": results[0].detach().sin(), "S": results[1].detach().cos()})
        leaves.pop("cu_seqlens")
        found.append(torch.autograd.grad(results, leaves.values(), list(d.values())))
    for a, b in zip(*found, strict=True):
        assert torch.equal(a, b)


@EVERYWHERE
@pytest.mark.parametrize("lengths", [None, [3, 0, 40, 1, 2, 16, 18]])
@pytest.mark.parametrize("W", [1, 2, 4])
@pytest.mark.parametrize("activation", ["silu", None])
def test_gradients_are_the_references(device, dtype, tolerance, lengths, W, activation):
    given, exact = inputs(device, dtype, lengths, D=131, W=W)
    dy, dS = (torch.randn_like(given[name]) for name in ("x", "initial_state"))
    gradients = []
    for tensors, backend in ((given, "triton"), (exact, "reference")):
        leaves = {n: x.requires_grad_() for n, x in tensors.items() if n != "cu_seqlens"}
        offsets = tensors.get("cu_seqlens")
        options = {"output_final_state": True, "backend": backend, "activation": activation}
        results = causal_conv1d(**leaves, cu_seqlens=offsets, **options)
        torch.autograd.backward(results, [dy.to(results[0].dtype), dS.to(results[0].dtype)])
        gradients.append([x.grad for x in leaves.values()])
    for name, found, expected in zip(leaves, *gradients, strict=True):
        assert found.dtype == dtype, name
        assert_close(found.double().cpu(), expected.cpu(), tolerance)


@SOMEWHERE
def test_a_slot_below_zero_is_left_out(monkeypatch, device, dtype, tolerance):
    """As engines pad a batch whose graph is captured, where nobody reads the slots."""
    monkeypatch.setattr("gdn_ref.layer_validation.check_slots", lambda *slots: None)
    given, _ = inputs(device, dtype, T=2, D=5)
    pool = given.pop("initial_state")
    whole = torch.cat([torch.full_like(pool[:1], 7.0), pool])
    used = torch.tensor([-1, 1], device=device)
    right = pool.clone()
    expected = causal_conv1d_update(pool=right, **given, backend="triton")
    y = causal_conv1d_update(pool=whole[1:], **given, slot_idx=used, backend="triton")
    assert (whole[0] == 7.0).all() and torch.equal(whole[1], pool[0])
    assert torch.equal(whole[2], right[1]) and torch.equal(y[1], expected[1])
    assert not y[0].any()


@SOMEWHERE
@pytest.mark.parametrize("T", [0, 2, 20])
def test_gradients_with_less(device, dtype, tolerance, T):
    given, exact = inputs(device, dtype, T=T, D=5)
    gradients = []
    for tensors, backend in ((given, "triton"), (exact, "reference")):
        x, weight = (tensors[name].requires_grad_() for name in ("x", "weight"))
        causal_conv1d(x, weight, backend=backend)[0].sin().sum().backward()
        gradients.append([x.grad, weight.grad])
    close(*gradients, tolerance)


@SOMEWHERE
@pytest.mark.parametrize("power", [1, 2])
def test_a_second_derivative_is_refused_not_wrong(device, dtype, tolerance, power):
    # dx depends on x, even if the gradient that the backward pass is given depends on nothing
    given, _ = inputs(device, dtype, T=3, D=5)
    x = given.pop("x").requires_grad_()
    loss = (causal_conv1d(x, **given, backend="triton")[0] ** power).sum()
    (expected,) = torch.autograd.grad(loss, x, retain_graph=True)
    (dx,) = torch.autograd.grad(loss, x, create_graph=True)
    torch.testing.assert_close(dx.detach(), expected, rtol=0, atol=0)
    with pytest.raises(ValueError, match="backend: Triton has no second derivative"):
        (loss + dx.square().sum()).backward()


@pytest.mark.gpu
def test_auto_is_triton_on_the_device_and_repeats_to_the_bit():
    given, _ = inputs("cuda", torch.bfloat16, D=512)
    first, second = causal_conv1d(**given)[0], causal_conv1d(**given, backend="triton")[0]
    assert torch.equal(first, second)


@pytest.mark.gpu
def test_slots_beyond_two_to_the_31_numbers():
    given, _ = inputs("cuda", torch.float16, [2], D=8192)
    S = given.pop("initial_state")
    slots = 2**31 // S[0].numel() + 2
    pool = torch.zeros(slots, *S.shape[1:], dtype=S.dtype, device="cuda")
    pool[-1] = S[0]
    last = torch.tensor([slots - 1], dtype=torch.int32, device="cuda")
    y = causal_conv1d_update(pool=pool, **given, slot_idx=last)
    assert torch.equal(y, causal_conv1d_update(pool=S, **given))
    assert torch.equal(pool[-1], S[0])
    assert not pool[:-1].any()


@pytest.mark.gpu
def test_a_cuda_graph_of_the_update():
    given, _ = inputs("cuda", torch.bfloat16, T=1, D=512)
    pool = given.pop("initial_state")
    slots = torch.tensor([1, 0], device="cuda")
    eager, captured = pool.clone(), pool.clone()
    causal_conv1d_update(pool=captured, **given, slot_idx=slots)  # compiles, reads the slots
    captured.copy_(pool)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = causal_conv1d_update(pool=captured, **given, slot_idx=slots)
    captured.copy_(pool)
    for _ in range(3):
        graph.replay()
        expected = causal_conv1d_update(pool=eager, **given, slot_idx=slots)
        assert torch.equal(y, expected)
    assert torch.equal(captured, eager)
