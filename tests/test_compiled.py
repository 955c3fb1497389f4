"""The reference under `torch.compile` and `torch.export`: one graph, whatever the lengths are."""

import pytest
import torch
import torch.autograd.forward_ad as forward_ad
from torch._dynamo.testing import CompileCounterWithBackend

from gdn_ref import (
    GatedDeltaNet,
    chunk_gated_delta_rule,
    decode,
    fused_recurrent_gated_delta_rule,
)

OPS = [chunk_gated_delta_rule, fused_recurrent_gated_delta_rule]
BOTH = pytest.mark.parametrize("op", OPS, ids=["chunk", "recurrent"])
OFFSETS = [[0, 3, 3, 9, 70], [0, 64, 65, 100, 130, 130, 131], [0, 1, 2, 3]]


def inputs(T=70, B=2, N=None, H=3, HV=6, K=8, V=7, dtype=torch.float64):
    """Keys of norm one, varied decays, states; no two sizes alike, or they would share a symbol."""
    random = torch.Generator().manual_seed(T)
    normal = lambda *size: torch.randn(*size, generator=random, dtype=torch.float64)
    x = {
        "q": normal(B, T, H, K),
        "k": torch.nn.functional.normalize(normal(B, T, H, K), dim=-1),
        "v": normal(B, T, HV, V),
        "g": -normal(B, T, HV).abs(),
        "beta": normal(B, T, HV).sigmoid(),
        "initial_state": normal(B if N is None else N, HV, K, V),
    }
    return {name: tensor.to(dtype) for name, tensor in x.items()}


def packed(offsets, **sizes):
    x = inputs(offsets[-1], B=1, N=len(offsets) - 1, **sizes)
    return x | {"cu_seqlens": torch.tensor(offsets)}


def compiled(function):
    """`function` as one graph a size that is no symbol, and what counts the graphs."""
    torch.compiler.reset()
    counter = CompileCounterWithBackend("aot_eager")
    return torch.compile(function, fullgraph=True, dynamic=True, backend=counter), counter


def trained(run, x):
    """Results, and gradients: zero where nothing arrives, where only compiled code says so."""
    x = {name: a.clone().requires_grad_(a.is_floating_point()) for name, a in x.items()}
    results = run(x)
    sum(y.sin().sum() for y in results).backward()
    leaves = [a for a in x.values() if a.requires_grad]
    return [*results, *(torch.zeros_like(a) if a.grad is None else a.grad for a in leaves)]


def assert_same_bits(found, expected):
    for x, right in zip(found, expected, strict=True):
        torch.testing.assert_close(x, right, rtol=0, atol=0)
        assert x.stride() == right.stride()


@BOTH
@pytest.mark.parametrize("batch_invariant", [False, True])
def test_one_graph_for_any_length(op, batch_invariant):
    def rule(x):
        options = {"output_final_state": True, "use_qk_l2norm_in_kernel": True}
        return op(**x, **options, batch_invariant=batch_invariant)

    run, counter = compiled(rule)
    for T in (70, 2, 64, 65, 130):
        assert_same_bits(trained(run, inputs(T)), trained(rule, inputs(T)))
    assert counter.frame_count == 1


@BOTH
def test_one_graph_for_any_offsets(op):
    rule = lambda x: op(**x, output_final_state=True)
    run, counter = compiled(rule)
    for offsets in OFFSETS:
        assert_same_bits(trained(run, packed(offsets)), trained(rule, packed(offsets)))
    assert counter.frame_count == 1


@BOTH
@pytest.mark.parametrize("T", [0, 1])
def test_no_token_and_one(op, T):
    rule = lambda x: op(**x, output_final_state=True)
    assert_same_bits(trained(compiled(rule)[0], inputs(T)), trained(rule, inputs(T)))


@pytest.mark.parametrize("T", [0, 5])
@pytest.mark.parametrize("chunk_size", [None, 64])
def test_no_result_of_the_operator_lies_in_an_argument(T, chunk_size):
    *tokens, S = inputs(T).values()
    given = (*tokens, S.mT, None, None, None, 1.0, chunk_size, False)
    operator = torch.ops.gdn_ref.reference_forward.default
    torch.library.opcheck(operator, given, test_utils=("test_schema", "test_faketensor"))


def test_decays_of_channels():
    rule = lambda x: fused_recurrent_gated_delta_rule(**x, output_final_state=True)
    run, counter = compiled(rule)
    for T in (5, 9):
        x = inputs(T)
        x["gk"], x["gv"] = -x["k"].repeat_interleave(2, 2).abs(), -x["v"].abs()
        assert_same_bits(trained(run, x), trained(rule, x))
    assert counter.frame_count == 1


@BOTH
@pytest.mark.parametrize("left_out", ["g", "initial_state"])
def test_what_may_be_left_out(op, left_out):
    x = inputs(9)
    x["initial_state"] = x["initial_state"].mT.contiguous()
    x.pop(left_out)
    rule = lambda x: op(**{"g": None} | x, output_final_state=True, state_v_first=True)
    run = compiled(rule)[0]
    assert_same_bits(trained(run, x), trained(rule, x))


@pytest.mark.parametrize("kept", [0, 1], ids=["outputs", "state"])
def test_a_gradient_of_one_result_alone(kept):
    rule = lambda x: chunk_gated_delta_rule(**x, output_final_state=True)[kept : kept + 1]
    assert_same_bits(trained(compiled(rule)[0], inputs()), trained(rule, inputs()))


def test_gradients_of_some_arguments_alone():
    def weighted(x):
        given = {name: a if name in "vg" else a.detach() for name, a in x.items()}
        return chunk_gated_delta_rule(**given)[:1]

    expected = trained(weighted, inputs())
    assert sum(bool(x.any()) for x in expected) == 3
    assert_same_bits(trained(compiled(weighted)[0], inputs()), expected)


def test_inductor_keeps_the_numbers():
    rule = lambda x: chunk_gated_delta_rule(
        **x, output_final_state=True, use_qk_l2norm_in_kernel=True
    )
    torch.compiler.reset()
    run = torch.compile(rule, fullgraph=True, dynamic=True)
    for T in (70, 33):
        for x, right in zip(trained(run, inputs(T)), trained(rule, inputs(T)), strict=True):
            torch.testing.assert_close(x, right, rtol=1e-12, atol=1e-12)


def test_decoding_of_packed_sequences():
    rule = lambda x: (decode(**x), x["pool"])
    run, counter = compiled(rule)
    for offsets in ([0, 4, 4, 8, 11], [0, 1, 4, 7, 9, 9]):
        x = packed(offsets)
        pool = x.pop("initial_state")
        x["slot_idx"] = torch.arange(len(pool)).flip(0)
        found, expected = run(x | {"pool": pool.clone()}), rule(x | {"pool": pool.clone()})
        assert_same_bits(found, expected)
    assert counter.frame_count == 1


def test_bad_offsets_are_refused_when_it_runs():
    run, _ = compiled(lambda x: chunk_gated_delta_rule(**x))
    for offsets in ([0, 3, 3, 9], [0, 4, 8, 9]):
        run(packed(offsets))
    for wrong in ([1, 3, 3, 9], [0, 3, 3, 8], [0, 5, 4, 9]):
        x = packed([0, 3, 3, 9]) | {"cu_seqlens": torch.tensor(wrong)}
        with pytest.raises(ValueError, match="^cu_seqlens: expected"):
            run(x)


class Rule(torch.nn.Module):
    def forward(self, q, k, v, g, beta, cu_seqlens=None):
        return chunk_gated_delta_rule(
            q, k, v, g, beta, output_final_state=True, cu_seqlens=cu_seqlens
        )


@pytest.mark.parametrize("strict", [False, True])
def test_an_exported_program_takes_any_length(strict):
    T = torch.export.Dim("T")
    shape = dict.fromkeys(("q", "k", "v", "g", "beta"), {1: T})

    def without_state(x):
        return {name: tensor for name, tensor in x.items() if name != "initial_state"}

    program = torch.export.export(
        Rule(), (), without_state(inputs()), dynamic_shapes=shape, strict=strict
    )
    for x in map(without_state, map(inputs, (2, 64, 131))):
        assert_same_bits(program.module()(**x), Rule()(**x))

    shape["cu_seqlens"] = {0: torch.export.Dim("N_plus_1", min=3)}
    given = without_state(packed(OFFSETS[0]))
    program = torch.export.export(Rule(), (), given, dynamic_shapes=shape, strict=strict)
    for x in map(without_state, map(packed, OFFSETS)):
        assert_same_bits(program.module()(**x), Rule()(**x))


def test_an_exported_layer_takes_any_length():
    torch.manual_seed(0)
    layer = GatedDeltaNet(16, num_heads=2, head_dim=8, num_v_heads=4, head_v_dim=5)
    shape = ({0: torch.export.Dim("B"), 1: torch.export.Dim("T")},)
    program = torch.export.export(layer, (torch.randn(3, 70, 16),), dynamic_shapes=shape)
    for x in (torch.randn(2, 9, 16), torch.randn(3, 131, 16)):
        torch.testing.assert_close(program.module()(x), layer(x))


TRANSFORMS = {
    "grad": lambda f, x: torch.func.grad(lambda x: f(x).sin().sum())(x),
    "vmap": lambda f, x: torch.func.vmap(f)(torch.stack([x, 2 * x])),
    "jvp": lambda f, x: torch.func.jvp(f, (x,), (x.cos(),))[1],
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_inside_of_compiled_code(name):
    x = inputs(20)
    v = x.pop("v")
    rule = lambda v: chunk_gated_delta_rule(v=v, **x)[0]
    run = lambda v: TRANSFORMS[name](rule, v)
    torch.compiler.reset()
    found = torch.compile(run, fullgraph=True, backend="aot_eager")(v)
    torch.testing.assert_close(found, run(v), rtol=1e-12, atol=1e-12)


def test_forward_mode_inside_of_compiled_code():
    x = inputs(20)
    v = x.pop("v")

    def run(v):
        with forward_ad.dual_level():
            o, _ = chunk_gated_delta_rule(v=forward_ad.make_dual(v, v.cos()), **x)
            return forward_ad.unpack_dual(o).tangent

    torch.compiler.reset()
    found = torch.compile(run, backend="aot_eager")(v)
    torch.testing.assert_close(found, run(v), rtol=1e-12, atol=1e-12)


def test_a_second_derivative_is_refused():
    x = inputs(9)
    torch.compiler.reset()
    run = torch.compile(lambda x: chunk_gated_delta_rule(**x)[0], backend="eager")
    v = x["v"].requires_grad_()
    (dv,) = torch.autograd.grad(run(x).sin().sum(), v, create_graph=True)
    with pytest.raises(ValueError, match="expected one derivative of compiled code, got two"):
        dv.sum().backward()


@pytest.mark.parametrize("gradient", [False, True])
def test_a_graph_runs_under_inference_mode(gradient):
    """Also one that was made where gradients were asked for."""
    x = {name: tensor.requires_grad_(gradient) for name, tensor in inputs().items()}
    f, counter = compiled(lambda **x: chunk_gated_delta_rule(**x, output_final_state=True))
    f(**x)
    for length in (70, 71):
        with torch.inference_mode():
            x = inputs(length)
            o, S = f(**x)
            assert o.is_inference() and not o.requires_grad
        expected = chunk_gated_delta_rule(**x, output_final_state=True)
        torch.testing.assert_close((o, S), expected, rtol=0, atol=0)
    assert counter.frame_count <= 3
