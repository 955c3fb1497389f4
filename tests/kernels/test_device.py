"""On a CUDA device: bfloat16 (which the interpreter gets wrong), tf32, repeatability, graphs."""

from types import SimpleNamespace

import pytest
import torch
from tolerances import (
    KERNEL_BFLOAT16,
    KERNEL_FLOAT16,
    KERNEL_FLOAT32,
    KERNEL_TF32,
    assert_close,
    relative_error,
)

from gdn_ref import chunk_gated_delta_rule, prepared, wy
from gdn_ref.chunking import decay
from gdn_ref.kernels.forward import launches as kernels
from gdn_ref.kernels.forward.hopper import launches as on_hopper
from gdn_ref.kernels.forward.padding import padded_sizes, pays
from gdn_ref.kernels.forward.transform_mma import Transform16BitCase, ut_transform_16bit_kernel
from gdn_ref.kernels.host import gpu
from gdn_ref.kernels.host.launch import launcher, types
from gdn_ref.proofs.data import hard_inputs

pytestmark = pytest.mark.gpu


def arguments(B=2, T=300, H=2, HV=4, K=128, V=64, dtype=torch.bfloat16):
    q, k, v, g, beta, S = (
        torch.from_numpy(x).cuda() for x in hard_inputs(T=T, d_k=K, d_v=V, batch=(B, HV))
    )
    q, k, v = (x.transpose(1, 2).to(dtype) for x in (q[:, :H], k[:, :H], v))
    g, beta = (x.transpose(1, 2).float() for x in (g, beta))
    return {"q": q, "k": k, "v": v, "g": g, "beta": beta, "initial_state": S.mT.float()}


def both(inputs, **options):
    exact = {name: x.double() for name, x in inputs.items()}
    o, S = chunk_gated_delta_rule(**inputs, output_final_state=True, backend="triton", **options)
    return (o, S), chunk_gated_delta_rule(**exact, output_final_state=True, **options)


@pytest.mark.parametrize("chunk_size", [16, 32, 64])
@pytest.mark.parametrize(
    "K, V", [(20, 5), (24, 130), (60, 100), (64, 64), (100, 60), (128, 128), (200, 16), (256, 256)]
)
@pytest.mark.parametrize(
    "dtype, precision, tolerance",
    [
        (torch.bfloat16, "highest", KERNEL_BFLOAT16),
        (torch.float16, "highest", KERNEL_FLOAT16),
        (torch.float32, "high", KERNEL_TF32),
        (torch.float32, "highest", KERNEL_FLOAT32),
    ],
)
def test_every_configuration_we_ship(K, V, chunk_size, dtype, precision, tolerance):
    torch.set_float32_matmul_precision(precision)
    try:
        found, expected = both(arguments(K=K, V=V, dtype=dtype), chunk_size=chunk_size)
    finally:
        torch.set_float32_matmul_precision("highest")
    for x, exact in zip(found, expected, strict=True):
        assert_close(x.double().cpu(), exact.cpu(), tolerance)


@pytest.mark.parametrize("dtype, tolerance", [
    (torch.bfloat16, KERNEL_BFLOAT16), (torch.float16, KERNEL_FLOAT16)
])  # fmt: skip
@pytest.mark.parametrize(
    "K, V", [(64, 64), (100, 100), (128, 128), (200, 96), (256, 256), (128, 320), (256, 512)]
)
def test_many_chunks_and_heads(K, V, dtype, tolerance):
    """Tiles on their way while others are used: what a few chunks of few heads do not show."""
    inputs = arguments(T=1024, H=6, HV=6, K=K, V=V, dtype=dtype)
    for x, exact in zip(*both(inputs), strict=True):
        assert_close(x.double().cpu(), exact.cpu(), tolerance)


def test_auto_takes_triton_and_two_runs_agree_to_the_bit():
    inputs = arguments()
    first, second = (chunk_gated_delta_rule(**inputs, output_final_state=True) for _ in range(2))
    chosen = chunk_gated_delta_rule(**inputs, output_final_state=True, backend="triton")
    for a, b, c in zip(first, second, chosen, strict=True):
        assert torch.equal(a, b)
        assert torch.equal(a, c)


@pytest.mark.parametrize("dtype, tolerance", [
    (torch.bfloat16, KERNEL_BFLOAT16), (torch.float16, KERNEL_FLOAT16)
])  # fmt: skip
@pytest.mark.parametrize("T", [1, 40, 64, 200, 640])
@pytest.mark.parametrize("V", [64, 192])
def test_heads_of_256_dimensions(V, T, dtype, tolerance):
    inputs = arguments(T=T, H=3, HV=6, K=256, V=V, dtype=dtype)
    for v_first in (False, True):
        found, expected = both(inputs, state_v_first=v_first)
        for x, exact in zip(found, expected, strict=True):
            assert_close(x.double().cpu(), exact.cpu(), tolerance)
        inputs["initial_state"] = inputs["initial_state"].mT.contiguous()


@pytest.mark.parametrize("K", [128, 256])
def test_packed_on_the_device(K):
    inputs = arguments(B=1, T=300, K=K)
    S = inputs["initial_state"]
    inputs["initial_state"] = S.expand(5, *S.shape[1:]).contiguous()
    cu_seqlens = torch.tensor([0, 0, 17, 200, 200, 300], device="cuda")
    found, expected = both(inputs, cu_seqlens=cu_seqlens)
    for x, exact in zip(found, expected, strict=True):
        assert_close(x.double().cpu(), exact.cpu(), KERNEL_BFLOAT16)


@pytest.mark.parametrize("ends", [None, [0, 0, 17, 200, 300]])
@pytest.mark.parametrize("K, V", [(60, 100), (64, 64), (128, 128), (256, 64)])
def test_what_nobody_has_written_is_not_read(K, V, ends, unwritten_memory_is_nan):
    """All memory is NaN before the call: the transform, maps, results, a short chunk's rest."""
    options = {} if ends is None else {"cu_seqlens": torch.tensor(ends, device="cuda")}
    inputs = arguments(B=1 if ends else 2, K=K, V=V)
    if ends:
        S = inputs["initial_state"]
        inputs["initial_state"] = S.expand(4, *S.shape[1:]).contiguous()
    found, expected = both(inputs, **options)
    for x, exact in zip(found, expected, strict=True):
        assert_close(x.double().cpu(), exact.cpu(), KERNEL_BFLOAT16)


@pytest.mark.parametrize("K", [20, 60, 64, 100, 128])
@pytest.mark.parametrize("T", [1, 40, 64, 200])
@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize("hopper", [True, False])
def test_the_16_bit_transform_is_the_solve(K, T, scaled, hopper):
    if hopper and K not in (64, 128):
        pytest.skip("rows of other heads are not aligned, or not for Hopper")
    inputs, C = arguments(B=1, T=T, K=K, dtype=torch.float16), 64
    k, g, beta = (inputs[name].contiguous() for name in ("k", "g", "beta"))
    g[:, T // 2] = -torch.inf
    c = torch.full((4, T), torch.nan, device="cuda")
    UT = torch.full((4, T, C), torch.nan, device="cuda", dtype=torch.float16)
    strengths = torch.full_like(c, torch.nan)
    chunks = -(-T // C)
    case = Transform16BitCase(
        K=K, BK=max(16, 1 << (K - 1).bit_length()), HAS_G=True, PACKED=False, SCALED=scaled,
        HOPPER=hopper,
    )  # fmt: skip
    launcher(ut_transform_16bit_kernel, case, types(k, g, beta), num_warps=1)(
        (chunks, 2, 1),
        (k, g, beta, c, UT, None if scaled else strengths, None),
        (1, T, T, 2, 2),
    )
    for j in range(chunks):
        part = slice(j * C, min(T, j * C + C))
        for hv in range(4):
            rule = (x[0, part, at].double().cpu() for x, at in ((k, hv // 2), (g, hv), (beta, hv)))
            keys, log_decay, strength = rule
            A = wy.interaction(keys, strength, decay(log_decay)[1])
            found = UT[hv, part].double().cpu()
            right = torch.diag(strength if scaled else torch.ones_like(strength))
            assert_close(found[:, : len(A)], wy.solve(A, right), KERNEL_FLOAT16)
            assert not found[:, len(A) :].any()
    if not scaled:
        assert torch.equal(strengths, beta[0].T.float())


def test_long_sequences_of_odd_heads_are_padded():
    inputs = arguments(B=1, T=4000, H=1, HV=2, K=60, V=100)
    plan = SimpleNamespace(K=60, V=100, HV=2, multiprocessors=132)
    assert pays(plan, SimpleNamespace(N=1, total=4000, length=4000))
    assert padded_sizes(60, 100) == (64, 128)
    for v_first in (False, True):
        found, expected = both(inputs, state_v_first=v_first)
        for x, exact in zip(found, expected, strict=True):
            assert_close(x.double().cpu(), exact.cpu(), KERNEL_BFLOAT16)
        assert found[0].is_contiguous() and found[1].is_contiguous()
        inputs["initial_state"] = inputs["initial_state"].mT.contiguous()


def test_hopper_and_the_portable_scan_agree(monkeypatch):
    inputs = arguments(K=64, V=128)
    found = chunk_gated_delta_rule(**inputs, output_final_state=True)
    monkeypatch.setattr(gpu, "has_hopper_engines", lambda device: False)
    monkeypatch.setattr(prepared, "_remembered", {})
    portable = chunk_gated_delta_rule(**inputs, output_final_state=True)
    for x, other in zip(found, portable, strict=True):
        assert_close(x.double().cpu(), other.double().cpu(), KERNEL_BFLOAT16)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("K, V", [(64, 128), (128, 64), (100, 60), (256, 128)])
def test_sequences_for_few_heads(monkeypatch, K, V, packed):
    """Programs that share a sequence find what one finds, to the bit; segments nearly so."""
    # decays close to one: what an early chunk leaves must reach the last
    inputs = arguments(B=1, T=3000, H=1, HV=2, K=K, V=V)
    inputs["g"] = inputs["g"] / 500
    options = {}
    if packed:
        S = inputs["initial_state"]
        inputs["initial_state"] = S.expand(5, *S.shape[1:]).contiguous()
        options["cu_seqlens"] = torch.tensor([0, 0, 1700, 1731, 2936, 3000], device="cuda")
    found, errors = {}, {}
    for way in [(1, None), (2, None), (3, None), (4, None), (1, 512)][: 4 if K > 128 else 5]:
        monkeypatch.setattr(prepared, "_remembered", {})
        monkeypatch.setattr(on_hopper, "cut", lambda *sizes, way=way: way)
        monkeypatch.setattr(kernels, "shares", lambda *sizes, way=way: way[0])
        found[way], expected = both(inputs, **options)
        pairs = zip(found[way], expected, strict=True)
        errors[way] = [relative_error(x.double().cpu(), exact.cpu()) for x, exact in pairs]
    whole = errors.pop((1, None))
    for (shares, _), these in errors.items():
        if shares > 1:
            assert all(map(torch.equal, found[1, None], found[shares, None]))
        assert all(e <= 1.2 * one <= 6e-3 for e, one in zip(these, whole, strict=True))


@pytest.mark.parametrize("K, V", [(64, 64), (128, 128), (100, 60), (256, 128)])
def test_a_sequence_does_not_see_its_neighbours(K, V):
    inputs = arguments(B=1, T=400, K=K, V=V)
    S = inputs["initial_state"]
    inputs["initial_state"] = S.expand(3, *S.shape[1:]).contiguous()
    cu_seqlens = torch.tensor([0, 97, 301, 400], device="cuda")
    alone = slice(97, 301)
    options = {"output_final_state": True, "cu_seqlens": cu_seqlens}
    o, S = chunk_gated_delta_rule(**inputs, **options)
    for name in ("q", "k", "v", "g", "beta"):
        inputs[name][:, : alone.start] = torch.nan
        inputs[name][:, alone.stop :] = torch.nan
    o_again, S_again = chunk_gated_delta_rule(**inputs, **options)
    assert torch.equal(o[:, alone], o_again[:, alone])
    assert torch.equal(S[1], S_again[1])


def test_a_cuda_graph_replays_the_call():
    inputs = arguments()
    expected, _ = chunk_gated_delta_rule(**inputs)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        o, _ = chunk_gated_delta_rule(**inputs)
    o.zero_()
    graph.replay()
    torch.cuda.synchronize()
    assert torch.equal(o, expected)


def test_gradients_on_the_device():
    inputs = {name: x.float().requires_grad_() for name, x in arguments(T=70, K=32, V=16).items()}
    exact = {name: x.detach().double().requires_grad_() for name, x in inputs.items()}
    for given in (inputs, exact):
        o, _ = chunk_gated_delta_rule(**given)
        o.square().sum().backward()
    for name, x in inputs.items():
        assert_close(x.grad.cpu(), exact[name].grad.cpu(), 1e-4)
