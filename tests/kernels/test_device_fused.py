"""The forward pass in one kernel, on a Hopper GPU, with batches of any size sent there."""

import math

import pytest
import torch
from device_gradients import compare as compare_gradients
from device_gradients import equal, exact_gradients, gradients, gradients_given, replayed
from tolerances import KERNEL_BFLOAT16, KERNEL_FLOAT16, assert_close

from gdn_ref import chunk_gated_delta_rule
from gdn_ref.kernels.forward.hopper.fused import launches
from gdn_ref.proofs.data import hard_inputs

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def fused(monkeypatch):
    """Every call that can goes there; what went."""
    went, run = [], launches.Fused.add

    def watched(self, *arguments):
        went.append(self)
        return run(self, *arguments)

    monkeypatch.setattr("gdn_ref.prepared._remembered", {})
    monkeypatch.setattr(launches, "fills", lambda *batch: True)
    monkeypatch.setattr(launches.Fused, "add", watched)
    return went


def arguments(B=2, T=300, H=2, HV=4, K=128, V=128, dtype=torch.bfloat16):
    q, k, v, g, beta, S = (
        torch.from_numpy(x).cuda() for x in hard_inputs(T=T, d_k=K, d_v=V, batch=(B, HV))
    )
    q, k, v = (x.transpose(1, 2).to(dtype).contiguous() for x in (q[:, :H], k[:, :H], v))
    g, beta = (x.transpose(1, 2).float().contiguous() for x in (g, beta))
    return {"q": q, "k": k, "v": v, "g": g, "beta": beta, "initial_state": S.mT.float()}


def call(inputs, **options):
    return chunk_gated_delta_rule(**inputs, output_final_state=True, **options)


def compare(inputs, went, **options):
    exact = {name: x if x is None else x.double() for name, x in inputs.items()}
    found = call(inputs, backend="triton", **options)
    assert went
    tolerance = KERNEL_FLOAT16 if inputs["v"].dtype == torch.float16 else KERNEL_BFLOAT16
    for x, y in zip(found, call(exact, backend="reference", **options), strict=True):
        assert_close(x.double().cpu(), y.cpu(), tolerance)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "fp16"])
@pytest.mark.parametrize("T", [1, 40, 64, 65, 128, 330, 1024])
@pytest.mark.parametrize("K, V", [(64, 128), (128, 128), (128, 384)])
def test_whole_and_short_chunks(fused, K, V, T, dtype):
    compare(arguments(T=T, K=K, V=V, dtype=dtype), fused)


@pytest.mark.parametrize("H, HV", [(1, 1), (3, 3), (2, 8), (1, 17)])
def test_grouped_value_heads(fused, H, HV):
    compare(arguments(H=H, HV=HV, T=200), fused)


@pytest.mark.parametrize("T", [100, 256])
def test_more_programs_than_multiprocessors(fused, T):
    compare(arguments(B=40, H=4, HV=8, T=T), fused)


@pytest.mark.parametrize("missing", ["g", "initial_state", None])
@pytest.mark.parametrize("v_first", [False, True])
def test_what_is_left_out_and_how_states_lie(fused, missing, v_first):
    inputs = arguments(T=150)
    if v_first:
        inputs["initial_state"] = inputs["initial_state"].mT.contiguous()
    if missing:
        inputs[missing] = None
    compare(inputs, fused, state_v_first=v_first)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32], ids=str)
def test_gates_of_any_dtype(fused, dtype):
    inputs = arguments()
    inputs |= {name: inputs[name].to(dtype) for name in ("g", "beta")}
    compare(inputs, fused)


def test_resets_strong_decays_and_scales(fused):
    inputs = arguments(T=200)
    inputs["g"][:, ::7] = -math.inf
    inputs["g"][:, 3::11] = -80.0
    compare(inputs, fused, scale=0.01)


@pytest.mark.parametrize("T", [40, 130])
def test_what_nobody_has_written_is_not_read(fused, T, unwritten_memory_is_nan):
    """And a short last chunk does not see the next sequence, whose tokens are NaN."""
    inputs = arguments(B=3, T=T)
    expected = call(inputs)
    for name in ("q", "k", "v", "g", "beta"):
        inputs[name] = inputs[name].clone()
        inputs[name][1] = torch.nan
    found = call(inputs)
    for x, y in zip(found, expected, strict=True):
        assert y.isfinite().all()
        assert torch.equal(x[::2], y[::2])


def compare_training(inputs, went, **options):
    given = gradients_given(inputs)
    found = gradients(inputs, given, **options)
    assert went and went[-1].keep
    compare_gradients(found, exact_gradients(inputs, given, **options), inputs["v"].dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=["bf16", "fp16"])
@pytest.mark.parametrize("T", [1, 65, 128, 330])
@pytest.mark.parametrize("K, V", [(64, 128), (128, 128), (128, 384)])
def test_gradients_of_what_is_kept(fused, K, V, T, dtype, unwritten_memory_is_nan):
    compare_training(arguments(T=T, K=K, V=V, dtype=dtype), fused)


@pytest.mark.parametrize("missing", ["g", "initial_state"])
@pytest.mark.parametrize("H, HV", [(3, 3), (1, 17)])
def test_gradients_where_something_is_left_out(fused, missing, H, HV):
    compare_training({**arguments(T=150, H=H, HV=HV), missing: None}, fused)


def test_gradients_of_resets_and_tokens_that_write_nothing(fused):
    inputs = arguments(T=200)
    inputs["g"][:, 20:30] = -20.0
    inputs["g"][:, [0, 5, 6, 100, 195]] = -math.inf
    inputs["beta"][:, ::3] = 0.0
    compare_training(inputs, fused)


@pytest.mark.parametrize("K, T", [(64, 330), (128, 330), (128, 1024)])
def test_what_is_kept_is_what_two_kernels_keep(fused, K, T, unwritten_memory_is_nan):
    """And nothing else is written: the room after the matrices stays as it was."""
    inputs = {name: x.requires_grad_() for name, x in arguments(B=3, T=T, HV=6, K=K).items()}
    o, _ = call(inputs)  # what is kept goes when its outputs go
    *found, _ = o.grad_fn.saved_tensors[-3:]
    assert fused and fused[-1].keep
    fused.clear()
    o, _ = call(inputs, batch_invariant=True)
    *expected, none = o.grad_fn.saved_tensors[-3:]
    assert none is None
    assert not fused
    rows = 3 * 6 * T
    for x, y in zip(found, expected, strict=True):
        assert x.shape == y.shape and x.dtype == y.dtype
        assert x[rows:].isnan().all()
        assert_close(x[:rows].double().cpu(), y[:rows].double().cpu(), KERNEL_FLOAT16)


def test_two_training_steps_and_a_graph_agree_to_the_bit(fused):
    inputs = arguments(B=16, T=1000, H=4, HV=8)
    given = gradients_given(inputs)
    first = gradients(inputs, given)
    for _ in range(5):
        equal(gradients(inputs, given), first)
    expected, found = replayed(inputs, given)
    equal(found, expected)
    equal(found, first)


@pytest.mark.parametrize("K", [64, 128])
def test_two_runs_agree_to_the_bit(fused, K):
    inputs = arguments(B=16, T=2000, H=4, HV=8, K=K)
    first = call(inputs)
    for _ in range(5):
        for x, y in zip(call(inputs), first, strict=True):
            assert torch.equal(x, y)


def test_a_cuda_graph_replays_the_call(fused):
    inputs = arguments()
    expected, _ = call(inputs)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o, _ = call(inputs)
    o.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(o, expected)


def test_more_sequences_than_a_short_axis_of_the_grid_holds(fused):
    N = 70_000
    inputs = arguments(B=1, T=3, H=1, HV=1)
    many = {name: x.expand(N, *x.shape[1:]).contiguous() for name, x in inputs.items()}
    few = call(inputs)
    for x, y in zip(call(many), few, strict=True):
        assert torch.equal(x, y.expand_as(x))


def test_a_batch_that_fills_the_gpu_goes_there_by_itself(fused, monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr("gdn_ref.prepared._remembered", {})
    went, run = [], launches.Fused.add
    monkeypatch.setattr(launches.Fused, "add", lambda *x: went.append(x[0]) or run(*x))
    programs = torch.cuda.get_device_properties("cuda").multi_processor_count
    call(arguments(B=programs // 12, T=70))
    assert not went
    call(arguments(B=programs // 4, T=70))
    assert went
    inputs = {name: x.requires_grad_() for name, x in arguments(B=programs // 4, T=70).items()}
    call(inputs)
    assert went[-1].keep
