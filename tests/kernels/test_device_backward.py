"""The backward pass on a CUDA device: every dtype and tile, Hopper's kernels, repeatability."""

import math

import pytest
import torch
from device_gradients import (
    compare,
    equal,
    exact_gradients,
    gradients,
    gradients_given,
    replayed,
)
from tolerances import GRADIENT_BFLOAT16_NUMBERS, assert_close

from gdn_ref import chunk_gated_delta_rule, prepared
from gdn_ref.kernels.forward.hopper.fused import launches as fused
from gdn_ref.kernels.host import gpu
from gdn_ref.kernels.host.routes import made_for_hopper
from gdn_ref.proofs.data import hard_inputs

pytestmark = pytest.mark.gpu


def arguments(B=2, T=300, H=2, HV=4, K=128, V=64, N=None, dtype=torch.bfloat16):
    q, k, v, g, beta, S = (
        torch.from_numpy(x).cuda()
        for x in hard_inputs(T=T, d_k=K, d_v=V, batch=(max(B, N or B), HV))
    )
    q, k, v = (x[:B].transpose(1, 2).to(dtype).contiguous() for x in (q[:, :H], k[:, :H], v))
    g, beta = (x[:B].transpose(1, 2).float().contiguous() for x in (g, beta))
    S = S[: N or B].mT.float().contiguous()
    return {"q": q, "k": k, "v": v, "g": g, "beta": beta, "initial_state": S}


@pytest.fixture(params=["hopper", "portable"])
def path(request, monkeypatch):
    """Both kernels for 16-bit heads of 64 or 128, where the device has both."""
    if request.param == "portable":
        monkeypatch.setattr(gpu, "has_hopper_engines", lambda device: False)
        monkeypatch.setattr(prepared, "_remembered", {})
    elif torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("the kernels for Hopper need compute capability 9.0")
    return request.param


@pytest.mark.parametrize(
    "K, V, chunk_size",
    [
        *((K, V, 64) for K, V in ((20, 5), (60, 100), (64, 64), (100, 60), (128, 128))),
        *((K, V, C) for K, V in ((60, 100), (128, 64)) for C in (16, 32)),
        (128, 40, 64), (200, 16, 64), (256, 256, 64), (256, 256, 16),
    ],
)  # fmt: skip
@pytest.mark.parametrize(
    "dtype, precision",
    [
        (torch.bfloat16, "highest"),
        (torch.float16, "highest"),
        (torch.float32, "high"),
        (torch.float32, "highest"),
    ],
)
def test_every_configuration_we_ship(K, V, chunk_size, dtype, precision):
    inputs = arguments(K=K, V=V, dtype=dtype)
    given = gradients_given(inputs)
    torch.set_float32_matmul_precision(precision)
    try:
        found = gradients(inputs, given, chunk_size=chunk_size)
    finally:
        torch.set_float32_matmul_precision("highest")
    compare(found, exact_gradients(inputs, given, chunk_gated_delta_rule), dtype, precision)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("T", [1, 40, 64, 192, 200])
@pytest.mark.parametrize("K, V", [(64, 64), (64, 128), (128, 128), (128, 192)])
def test_whole_and_short_chunks(path, K, V, T, dtype):
    inputs = arguments(T=T, K=K, V=V, dtype=dtype)
    assert made_for_hopper(inputs["k"], inputs["v"], 64) == (path == "hopper")
    given = gradients_given(inputs)
    compare(gradients(inputs, given), exact_gradients(inputs, given), dtype)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "K, V, HV", [(64, 128, 1), (128, 128, 1), (128, 64, 2), (64, 128, 2), (128, 128, 2)]
)
@pytest.mark.parametrize("chunks, span", [(7, 4), (8, 8), (31, 8)])
@pytest.mark.parametrize("forward", [False, True], ids=["found again", "kept by the forward pass"])
def test_few_states_are_kept(
    K, V, HV, chunks, span, forward, dtype, spans, monkeypatch, unwritten_memory_is_nan
):
    """As many programs as spans, so that each span pays; and slow decays, so that states last."""
    monkeypatch.setattr("gdn_ref.prepared._remembered", {})
    monkeypatch.setattr(fused, "fills", lambda *batch: forward)
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("the kernels for Hopper need compute capability 9.0")
    number = -(-chunks // span)
    B = gpu.multiprocessors(torch.device("cuda")) // (2 * number)
    inputs = arguments(B=B, T=64 * chunks, H=2, HV=2 * HV, K=K, V=V, dtype=dtype)
    inputs["g"] /= 8
    given = gradients_given(inputs)
    found = gradients(inputs, given)
    compare(found, exact_gradients(inputs, given), dtype)
    equal(found, gradients(inputs, given))
    compare(gradients(inputs, given, batch_invariant=True), found, dtype)
    kept = forward and span == 8 and V % 128 == 0
    assert set(spans) == ({1} if kept else {span, 1})


@pytest.mark.parametrize("ends", [None, [0, 0, 17, 128, 200]])
@pytest.mark.parametrize("K, V", [(60, 100), (64, 64), (128, 128), (256, 64)])
def test_what_nobody_has_written_is_not_read(K, V, ends, unwritten_memory_is_nan):
    """All memory is NaN before: states, their gradients, results, the last chunk's other tokens."""
    options = {} if ends is None else {"cu_seqlens": torch.tensor(ends, device="cuda")}
    inputs = arguments(B=1 if ends else 2, T=200, K=K, V=V, N=ends and 4)
    given = gradients_given(inputs)
    compare(gradients(inputs, given, **options), exact_gradients(inputs, given, **options))


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize(
    "K, V", [(64, 64), (100, 100), (128, 128), (200, 96), (256, 256), (128, 320), (256, 512)]
)
def test_many_chunks_and_heads(path, K, V, dtype):
    """Tiles on their way while others are used: what a few chunks of few heads do not show."""
    if path == "hopper" and K not in (64, 128, 256):
        pytest.skip("the kernels for Hopper take heads of 64, 128 and 256 dimensions")
    inputs = arguments(T=1024, H=6, HV=6, K=K, V=V, dtype=dtype)
    given = gradients_given(inputs)
    compare(gradients(inputs, given), exact_gradients(inputs, given), dtype)


def test_what_need_not_be_rounded_is_not(path):
    """A model of all roundings has dv at 3.4e-3 (3.5e-3 in chunks of 32), and at 3.9e-3 with all of
    dE rounded; the first state at 0.9e-3, and at 1.9e-3 with one half of dO, as on other devices.
    """
    inputs = arguments(T=640, V=128)
    given = gradients_given(inputs)
    found, expected = gradients(inputs, given), exact_gradients(inputs, given)
    assert_close(found["v"].double().cpu(), expected["v"].cpu(), 3.6e-3)
    if path == "hopper":
        assert_close(found["initial_state"].double().cpu(), expected["initial_state"].cpu(), 1.4e-3)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("T", [64, 192, 1024])
@pytest.mark.parametrize("V", [64, 128, 256])
def test_heads_of_256_dimensions(path, V, T, dtype):
    """Whole chunks; a short one would send the call to the portable kernels."""
    inputs = arguments(T=T, H=3, HV=3, K=256, V=V, dtype=dtype)
    given = gradients_given(inputs)
    compare(gradients(inputs, given), exact_gradients(inputs, given), dtype)


@pytest.mark.parametrize("H, HV", [(1, 1), (3, 3), (2, 8)])
@pytest.mark.parametrize("T", [256, 260])
def test_grouped_value_heads_of_256_dimensions(path, H, HV, T):
    inputs = arguments(T=T, H=H, HV=HV, K=256, V=128)
    given = gradients_given(inputs)
    compare(gradients(inputs, given), exact_gradients(inputs, given))


@pytest.mark.parametrize("flow", ["o", "S"])
@pytest.mark.parametrize("missing", ["g", "initial_state"])
def test_what_is_left_out_of_heads_of_256_dimensions(path, missing, flow):
    inputs = {**arguments(T=320, K=256, V=128), missing: None}
    given = gradients_given(inputs)
    found = gradients(inputs, given, flow=flow)
    compare(found, exact_gradients(inputs, given, flow=flow))


def test_heads_of_256_dimensions_in_pieces_repeat_their_bits(path, in_pieces):
    inputs = arguments(B=5, T=448, H=2, HV=4, K=256, V=128)
    given = gradients_given(inputs)
    whole = gradients(inputs, given)
    equal(gradients(inputs, given), whole)
    compare(whole, exact_gradients(inputs, given))
    cut = in_pieces(16)
    equal(gradients(inputs, given), whole)
    assert sum(cut()) == 5 > max(cut())


@pytest.mark.parametrize("T, ends", [(128, None), (129, None), (128, 64), (130, 17)])
def test_heads_of_256_dimensions_go_to_hopper_in_whole_chunks(backward_runs, T, ends):
    inputs = arguments(B=1, T=T, N=ends and 2, K=256)
    options = {"cu_seqlens": torch.tensor([0, ends, T], device="cuda")} if ends else {}
    given = gradients_given(inputs)
    compare(gradients(inputs, given, **options), exact_gradients(inputs, given, **options))
    ((found, sizes),) = backward_runs
    hopper = torch.cuda.get_device_capability() == (9, 0)
    assert found.hopper == hopper
    assert sizes.T % 64 == 0 or not hopper


@pytest.mark.parametrize("H, HV", [(1, 1), (3, 3), (2, 8)])
def test_grouped_value_heads(path, H, HV):
    inputs = arguments(H=H, HV=HV)
    given = gradients_given(inputs)
    compare(gradients(inputs, given), exact_gradients(inputs, given))


@pytest.mark.parametrize("lengths", [[0, 17, 0, 128, 1, 64, 200, 0], [63] * 40, [1] * 70])
def test_packed_sequences(path, lengths):
    inputs = arguments(B=1, T=sum(lengths), N=len(lengths))
    options = {"cu_seqlens": torch.tensor([0, *lengths], device="cuda").cumsum(0)}
    given = gradients_given(inputs)
    expected = exact_gradients(inputs, given, chunk_gated_delta_rule, **options)
    compare(gradients(inputs, given, **options), expected)


@pytest.mark.parametrize("flow", ["o", "S"])
@pytest.mark.parametrize("missing", ["g", "initial_state"])
def test_what_is_left_out(path, missing, flow):
    inputs = {**arguments(), missing: None}
    given = gradients_given(inputs)
    found = gradients(inputs, given, flow=flow)
    compare(found, exact_gradients(inputs, given, flow=flow))


def test_state_first_by_values(path):
    inputs = arguments(V=128)
    inputs["initial_state"] = inputs["initial_state"].mT.contiguous()
    given = gradients_given(inputs)
    options = {"state_v_first": True}
    compare(gradients(inputs, given, **options), exact_gradients(inputs, given, **options))


def test_everything_inside(path):
    inputs = arguments()
    inputs["g"], inputs["beta"] = 2.0 + inputs["g"], inputs["beta"] - 1.0
    inputs["A_log"] = torch.linspace(-1, 1, 4, device="cuda")
    inputs["dt_bias"] = torch.linspace(0.5, -0.5, 4, device="cuda")
    options = dict.fromkeys(
        ["use_qk_l2norm_in_kernel", "use_gate_in_kernel", "use_beta_sigmoid_in_kernel"], True
    )
    given = gradients_given(inputs)
    found = gradients(inputs, given, **options)
    expected = exact_gradients(inputs, given, **options)
    for name in ("A_log", "dt_bias"):
        x, right = found.pop(name), expected.pop(name)
        assert_close(x.double().cpu(), right.cpu(), GRADIENT_BFLOAT16_NUMBERS)
    compare(found, expected)


def test_resets_and_strong_decays(path):
    inputs = arguments(T=200)
    inputs["g"][:, 20:30] = -20.0
    inputs["g"][:, 150:] = -2.0
    inputs["g"][:, [0, 5, 6, 100, 195]] = -math.inf  # the last in a chunk that is not whole
    given = gradients_given(inputs)
    compare(gradients(inputs, given), exact_gradients(inputs, given))


def test_tokens_that_write_nothing(path):
    inputs = arguments(T=200)
    inputs["beta"][:, ::3] = 0.0
    given = gradients_given(inputs)
    compare(gradients(inputs, given), exact_gradients(inputs, given))


def test_from_an_empty_state_the_first_decay_has_no_gradient(path):
    inputs = {**arguments(), "initial_state": None}
    dg = gradients(inputs, gradients_given(inputs))["g"].abs()
    assert dg[:, 0].max() < 1e-2 * dg[:, 1:].max()


@pytest.mark.parametrize("K", [64, 100, 128])
def test_two_runs_agree_to_the_bit(K):
    inputs = arguments(B=1, T=500, K=K, V=128, N=4)
    options = {"cu_seqlens": torch.tensor([0, 0, 37, 357, 500], device="cuda")}
    given = gradients_given(inputs)
    first = gradients(inputs, given, **options)
    for _ in range(3):
        equal(gradients(inputs, given, **options), first)


@pytest.mark.parametrize("K, V", [(64, 64), (128, 128), (100, 60)])
def test_a_sequence_does_not_feel_its_neighbours(K, V):
    inputs = arguments(B=1, T=400, K=K, V=V, N=3)
    options = {"cu_seqlens": torch.tensor([0, 97, 301, 400], device="cuda")}
    alone = slice(97, 301)
    do, dS = gradients_given(inputs)
    found = []
    for _ in range(2):
        found.append(gradients(inputs, (do, dS), **options))
        for x in (do, *(inputs[name] for name in ("q", "k", "v", "g", "beta"))):
            x[:, : alone.start] = torch.nan
            x[:, alone.stop :] = torch.nan
        dS[[0, 2]] = torch.nan
        inputs["initial_state"][[0, 2]] = torch.nan
    before, after = found
    assert torch.equal(before.pop("initial_state")[1], after.pop("initial_state")[1])
    for name, x in before.items():
        assert torch.equal(x[:, alone], after[name][:, alone]), name


@pytest.mark.parametrize("unaligned", ["q", "v", "do"])
def test_memory_that_the_copy_engine_cannot_read(unaligned):
    inputs = arguments()
    given = gradients_given(inputs)
    expected = exact_gradients(inputs, given)
    tensors = {**inputs, "do": given[0]}
    x = tensors[unaligned]
    moved = torch.empty(x.numel() + 1, dtype=x.dtype, device="cuda")[1:].view(x.shape).copy_(x)
    assert moved.data_ptr() % 16
    tensors[unaligned] = moved
    do = tensors.pop("do")
    compare(gradients(tensors, (do, given[1])), expected)


def test_gradients_that_lie_apart_in_memory(path):
    inputs = arguments()
    do, dS = gradients_given(inputs)
    apart = (do.transpose(1, 3).contiguous().transpose(1, 3), dS.mT.contiguous().mT)
    equal(gradients(inputs, apart), gradients(inputs, (do, dS)))


@pytest.mark.parametrize("T", [192, 200])
@pytest.mark.parametrize("v_first", [False, True])
def test_in_pieces_all_gradients_keep_their_bits(path, in_pieces, v_first, T):
    inputs = arguments(B=5, T=T, V=128)
    if v_first:
        inputs["initial_state"] = inputs["initial_state"].mT.contiguous()
    given = gradients_given(inputs)
    whole = gradients(inputs, given, state_v_first=v_first)
    found = in_pieces(2 * 4 * 2)  # two sequences of four heads and two slices
    equal(gradients(inputs, given, state_v_first=v_first), whole)
    assert found() == [2, 2, 1]


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float32])
def test_pieces_that_start_anywhere(in_pieces, dtype):
    inputs = arguments(B=5, T=33, H=1, HV=1, K=19, V=5, dtype=dtype)
    given = gradients_given(inputs)
    whole = gradients(inputs, given)
    found = in_pieces(1)
    equal(gradients(inputs, given), whole)
    assert found() == [1] * 5


def test_a_cuda_graph_replays_the_pieces(path, in_pieces):
    inputs = arguments(B=3)
    given = gradients_given(inputs)
    whole = gradients(inputs, given)
    in_pieces(4)
    equal(replayed(inputs, given)[1], whole)


@pytest.mark.parametrize("B, T, H, HV, bar", [(4, 4096, 16, 32, 918e6), (16, 2048, 8, 8, 457e6)])
def test_a_step_of_training_has_the_same_bits_again_and_little_memory(B, T, H, HV, bar):
    """From an empty memory, the outputs' gradient alone; bars are flash-qla 0.1.3's."""
    properties = torch.cuda.get_device_properties("cuda")
    if (properties.major, properties.minor, properties.multi_processor_count) != (9, 0, 132):
        pytest.skip("the bars are an H100's: capability 9.0, 132 multiprocessors")
    generator = torch.Generator("cuda").manual_seed(0)

    def normal(*size):
        return torch.randn(*size, generator=generator, device="cuda")

    q, k = (torch.nn.functional.normalize(normal(B, T, H, 128), dim=-1) for _ in range(2))
    v, do = (normal(B, T, HV, 128).bfloat16() for _ in range(2))
    g, beta = -0.1 * normal(B, T, HV).abs(), 2 * torch.sigmoid(normal(B, T, HV))
    inputs = {"q": q.bfloat16(), "k": k.bfloat16(), "v": v, "g": g, "beta": beta}
    del q, k
    leaves = {name: x.requires_grad_() for name, x in inputs.items()}

    def step():
        o, _ = chunk_gated_delta_rule(**leaves, backend="triton")
        return torch.autograd.grad(o, list(leaves.values()), do)

    first = step()
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    second = step()
    assert torch.cuda.max_memory_allocated() - before <= bar
    for x, y in zip(first, second, strict=True):
        assert torch.equal(x, y)


@pytest.mark.parametrize("K", [100, 128])
def test_a_cuda_graph_replays_both_passes(K):
    inputs = arguments(K=K)
    given = gradients_given(inputs)
    expected, found = replayed(inputs, given)
    equal(found, expected)


@pytest.mark.parametrize("K, N", [(16, 70_000), (64, 70_000), (60, 2**31 // (60 * 64) + 2)])
def test_more_sequences_than_a_short_axis_of_the_grid_holds(K, N):
    """In the last case, 32 bits do not count the numbers in their states either."""
    free, _ = torch.cuda.mem_get_info()
    if N > 70_000 and free < 60e9:
        pytest.skip(f"needs 60 GB of free device memory, has {free / 1e9:.0f}")
    inputs = arguments(B=1, T=3, H=1, HV=1, K=K, V=64)
    many = {name: x.expand(N, *x.shape[1:]).contiguous() for name, x in inputs.items()}
    given = gradients_given(inputs)
    given_many = [x.expand(N, *x.shape[1:]).contiguous() for x in given]
    one, found = gradients(inputs, given), gradients(many, given_many)
    for name, x in found.items():
        assert torch.equal(x, one[name].expand_as(x)), name


def test_offsets_beyond_31_bits(path):
    free, _ = torch.cuda.mem_get_info()
    if free < 60e9:
        pytest.skip(f"needs 60 GB of free device memory, has {free / 1e9:.0f}")
    HV, K, V, last = 32, 64, 64, 200
    T = 2**31 // (HV * V) + last
    generator = torch.Generator("cuda").manual_seed(0)
    q, k, v, do = (
        torch.randn(1, T, *heads, generator=generator, device="cuda", dtype=torch.bfloat16)
        for heads in ((1, K), (1, K), (HV, V), (HV, V))
    )
    q, k = (torch.nn.functional.normalize(x, dim=-1) for x in (q, k))
    g = -0.1 * torch.rand(1, T, HV, generator=generator, device="cuda")
    beta = torch.rand(1, T, HV, generator=generator, device="cuda")
    tokens = {"q": q, "k": k, "v": v, "g": g, "beta": beta}
    ends = torch.tensor([0, T - last, T], device="cuda")
    found = gradients(tokens, (do,), flow="o", cu_seqlens=ends)
    alone = {name: x[:, -last:].contiguous() for name, x in tokens.items()}
    expected = gradients(alone, (do[:, -last:].contiguous(),), flow="o")
    for name, x in found.items():
        assert torch.equal(x[:, -last:], expected[name]), name
