"""`torch.compile` takes the Triton backend into one graph; in the interpreter, on a CPU."""

import pytest
import torch
from tolerances import KERNEL_FLOAT32, assert_close
from torch.utils.checkpoint import checkpoint

from gdn_ref import chunk_gated_delta_rule, ops
from gdn_ref.proofs.data import hard_inputs

pytest.importorskip("triton")
pytestmark = pytest.mark.interpreter


def arguments(N=2, T=70, H=1, HV=2, K=12, V=20, dtype=torch.float32):
    q, k, v, g, beta, S = (
        torch.from_numpy(x).float() for x in hard_inputs(T=T, d_k=K, d_v=V, batch=(N, HV))
    )
    q, k, v = (x.transpose(1, 2).to(dtype) for x in (q[:, :H], k[:, :H], v))
    g, beta = (x.transpose(1, 2) for x in (g, beta))
    return {"q": q, "k": k, "v": v, "g": g, "beta": beta, "initial_state": S.mT.contiguous()}


def compiled(**options):
    torch.compiler.reset()
    return torch.compile(
        lambda x: chunk_gated_delta_rule(**x, output_final_state=True, backend="triton", **options),
        fullgraph=True,
        backend="aot_eager",
    )


@pytest.mark.parametrize("state_v_first", [False, True])
@pytest.mark.parametrize("with_g, with_state", [(True, True), (False, True), (True, False)])
def test_one_graph_gives_the_same(with_g, with_state, state_v_first):
    inputs = arguments()
    inputs["g"] = inputs["g"] if with_g else None
    S = inputs["initial_state"]
    inputs["initial_state"] = (S.mT.contiguous() if state_v_first else S) if with_state else None
    found = compiled(state_v_first=state_v_first)(inputs)
    expected = chunk_gated_delta_rule(
        **inputs, output_final_state=True, state_v_first=state_v_first, backend="reference"
    )
    for x, right in zip(found, expected, strict=True):
        assert_close(x, right, KERNEL_FLOAT32)
        assert x.stride() == right.contiguous().stride()


def test_packed_sequences_and_other_lengths():
    run = compiled()
    for T in (50, 70):
        inputs = arguments(N=1, T=T)
        inputs["initial_state"] = inputs["initial_state"].half().repeat(3, 1, 1, 1)
        inputs["cu_seqlens"] = torch.tensor([0, 17, 17, T])
        expected = chunk_gated_delta_rule(**inputs, output_final_state=True, backend="reference")
        for x, right in zip(run(inputs), expected, strict=True):
            assert_close(x, right, KERNEL_FLOAT32)
            assert x.dtype == torch.float32


@pytest.mark.parametrize("with_g, with_state", [(True, True), (False, True), (True, False)])
def test_gradients_in_one_graph(with_g, with_state):
    inputs = arguments()
    if not with_g:
        inputs["g"] = None
    if not with_state:
        inputs["initial_state"] = None
    leaves = {name: x.requires_grad_() for name, x in inputs.items() if x is not None}
    random = torch.Generator().manual_seed(1)

    def run(call):
        o, S = call()
        do, dS = (torch.randn(x.shape, generator=random.manual_seed(1)) for x in (o, S))
        return torch.autograd.grad([o, S], list(leaves.values()), [do, dS])

    found = run(lambda: compiled()(inputs))
    expected = run(
        lambda: chunk_gated_delta_rule(**inputs, output_final_state=True, backend="reference")
    )
    for name, x, right in zip(leaves, found, expected, strict=True):
        assert x.dtype == right.dtype, name
        assert_close(x, right, KERNEL_FLOAT32)


PARTITIONED = "aot_eager_decomp_partition"  # decides what to keep, and what to compute again
RULE = {"output_final_state": True, "backend": "triton", "chunk_size": 16}
RAW = {"A_log": torch.tensor([-1.0, 1.0]), "dt_bias": torch.tensor([0.5, -0.5])}
OFFSETS = {"cu_seqlens": torch.tensor([0, 17, 17, 40])}
SMALL = {"N": 1, "T": 40, "K": 5, "V": 7}

TRAINED = {  # what is unlike the plain call: sizes, inputs, options
    "short_last_chunk": ({}, {}, {}),
    "whole_chunks": ({"N": 2, "T": 32}, {}, {}),
    "grouped_heads": ({"H": 2, "HV": 4, "T": 20}, {}, {}),
    "packed": ({}, {**OFFSETS, "initial_state": None}, {}),
    "no_decay": ({"T": 20}, {"g": None}, {}),
    "no_first_state": ({"T": 20}, {"initial_state": None}, {}),
    "state_first_by_values": ({"T": 20, "K": 20}, {}, {"state_v_first": True}),
    "float16": ({"T": 70, "dtype": torch.float16}, {}, {"chunk_size": 64}),
    "no_tokens": ({"T": 0}, {}, {}),
    "other_chunks_backwards": ({"T": 70}, {}, {"chunk_size": 64}),
}


def trained(run, inputs, flow=slice(None)):
    """Results of `run`, and the gradients of its leaves."""
    leaves = {
        n: x.detach().clone().requires_grad_(x.is_floating_point())
        for n, x in inputs.items()
        if x is not None
    }
    found = list(run({**inputs, **leaves}))
    random = torch.Generator().manual_seed(1)
    given = [torch.randn(x.shape, generator=random).to(x.dtype) for x in found]
    torch.autograd.backward(found[flow], given[flow])
    return [x.detach() for x in found], [x.grad for x in leaves.values() if x.requires_grad]


def assert_same_bits(found, expected):
    for results, right in zip(found, expected, strict=True):
        for x, y in zip(results, right, strict=True):
            y = torch.zeros_like(x) if y is None else y  # of q, to the state alone
            assert torch.equal(x, y)


@pytest.fixture
def transforms(monkeypatch):
    """The UT transforms launched from now on."""
    from gdn_ref.kernels.host import launch as host_launch

    found, run = [], host_launch.Launch.__call__

    def noted(launch, *rest):
        found.extend(["transform"] * launch.kernel.fn.__name__.startswith("ut_transform"))
        run(launch, *rest)

    monkeypatch.setattr(host_launch.Launch, "__call__", noted)
    return found


@pytest.mark.parametrize("case", TRAINED)
def test_training_keeps_c_and_T_inv_and_every_bit(transforms, case):
    sizes, changed, options = TRAINED[case]
    inputs = {**arguments(**{**SMALL, **sizes}), **changed}
    if "state_v_first" in options:
        inputs["initial_state"] = inputs["initial_state"].mT.contiguous()
    run = lambda x: chunk_gated_delta_rule(**x, **{**RULE, **options})
    expected = trained(run, inputs)
    launched = len(transforms)
    torch.compiler.reset()
    found = trained(torch.compile(run, fullgraph=True, backend=PARTITIONED), inputs)
    assert_same_bits(found, expected)
    often = {"no_tokens": 0, "other_chunks_backwards": 2}.get(case, 1)
    assert launched == len(transforms) - launched == often


@pytest.mark.parametrize("flow", [slice(0, 1), slice(1, 2)])
def test_a_gradient_of_one_result_alone(flow):
    inputs = arguments(**SMALL)
    run = lambda x: chunk_gated_delta_rule(**x, **RULE)
    torch.compiler.reset()
    found = trained(torch.compile(run, fullgraph=True, backend=PARTITIONED), inputs, flow)
    assert_same_bits(found, trained(run, inputs, flow))


def test_with_the_gate_inside_bits_are_those_of_pytorchs_activations(transforms):
    inputs = {**arguments(**SMALL), **RAW}

    def outside(x):
        q, k, v, g, beta, S, A_log, dt_bias = x.values()
        q, k, g = ops.unit_rows(q), ops.unit_rows(k), ops.log_decay(g, A_log, dt_bias)
        return chunk_gated_delta_rule(q, k, v, g, torch.sigmoid(beta), initial_state=S, **RULE)

    inside = ["use_qk_l2norm_in_kernel", "use_gate_in_kernel", "use_beta_sigmoid_in_kernel"]
    options = {**RULE, **dict.fromkeys(inside, True)}
    torch.compiler.reset()
    run = torch.compile(
        lambda x: chunk_gated_delta_rule(**x, **options), fullgraph=True, backend="aot_eager"
    )
    found = trained(run, inputs)
    assert len(transforms) == 1
    assert_same_bits(found, trained(outside, inputs))


def test_any_batch_and_length_in_one_graph():
    from torch._dynamo.testing import CompileCounterWithBackend

    torch.compiler.reset()
    counter = CompileCounterWithBackend(PARTITIONED)
    rule = lambda x: chunk_gated_delta_rule(**x, **RULE)
    run = torch.compile(rule, fullgraph=True, backend=counter)

    def dynamic(x):
        for name, tensor in x.items():
            for axis in (0,) if name == "initial_state" else (0, 1):
                torch._dynamo.mark_dynamic(tensor, axis)
        return run(x)

    for N, T in ((2, 20), (3, 32)):
        inputs = arguments(**{**SMALL, "N": N, "T": T})
        assert_same_bits(trained(dynamic, inputs), trained(rule, inputs))
    assert counter.frame_count == 1


def test_twice_in_one_graph():
    inputs = arguments(**SMALL)

    def twice(x):
        o, S = chunk_gated_delta_rule(**x, **RULE)
        return chunk_gated_delta_rule(**{**x, "v": o, "initial_state": S}, **RULE)

    torch.compiler.reset()
    found = trained(torch.compile(twice, fullgraph=True, backend=PARTITIONED), inputs)
    assert_same_bits(found, trained(twice, inputs))


def test_hooks_may_copy_what_compiled_code_keeps(transforms):
    inputs = arguments(**SMALL)
    rule = lambda x: chunk_gated_delta_rule(**x, **RULE)
    expected = trained(rule, inputs)
    for copy in (torch.clone, lambda x: torch.stack([x, x], -1)[..., 0]):
        transforms.clear()
        torch.compiler.reset()
        run = torch.compile(rule, fullgraph=True, backend=PARTITIONED)
        with torch.autograd.graph.saved_tensors_hooks(copy, lambda x: x):
            assert_same_bits(trained(run, inputs), expected)
        assert len(transforms) == 1


@pytest.mark.parametrize("inside", [True, False])
def test_a_checkpoint_makes_the_call_again(transforms, inside):
    inputs = arguments(**SMALL)
    rule = lambda x: [y.square() for y in chunk_gated_delta_rule(**x, **RULE)]
    expected = trained(rule, inputs)
    transforms.clear()
    compile = lambda run: torch.compile(run, fullgraph=True, backend=PARTITIONED)
    again = lambda run: lambda x: checkpoint(run, x, use_reentrant=False)
    torch.compiler.reset()
    run = compile(again(rule)) if inside else again(compile(rule))
    assert_same_bits(trained(run, inputs), expected)
    assert len(transforms) == 2


def operators(graph):
    """The operators of ours in a graph."""
    names = [str(node.target) for node in graph.nodes]
    return [name.split(".")[1] for name in names if name.startswith("gdn_ref.")]


def test_nothing_is_kept_where_no_gradient_is_asked_for():
    found = []

    def backend(module, inputs):
        found.extend(operators(module.graph))
        return module

    inputs = arguments(**SMALL)
    run = torch.compile(
        lambda x: chunk_gated_delta_rule(**x, **RULE), fullgraph=True, backend=backend
    )
    torch.compiler.reset()
    results = [run(inputs)]
    inputs["v"].requires_grad_()
    with torch.no_grad():
        results.append(run(inputs))
        right = chunk_gated_delta_rule(**inputs, **RULE)
    assert found == ["chunk_forward"] * 2
    assert_same_bits(results, [right, right])
    run(inputs)
    assert found[2:] == ["chunk_forward_keep"]


class Rule(torch.nn.Module):
    """A module with a parameter that asks for a gradient."""

    def __init__(self):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor(0.7))

    def forward(self, x):
        return chunk_gated_delta_rule(**{**x, "v": self.factor * x["v"]}, **RULE)


@pytest.mark.parametrize("strict", [False, True])
def test_an_exported_program_keeps_nothing_and_still_has_gradients(strict):
    inputs, rule = arguments(**SMALL), Rule()
    program = torch.export.export(rule, (inputs,), strict=strict)
    assert operators(program.graph) == ["chunk_forward"]
    with torch.no_grad():
        assert_same_bits([program.module()(inputs)], [rule(inputs)])
    leaves = {name: x.requires_grad_() for name, x in inputs.items()}
    gradients = []
    for run in (program.module(), rule):
        o, S = run(leaves)
        gradients.append(torch.autograd.grad(o.sum() + S.square().sum(), list(leaves.values())))
    for x, right in zip(*gradients, strict=True):
        assert_close(x, right, KERNEL_FLOAT32)


def test_what_is_kept_has_no_gradient_and_gradients_have_none():
    tokens = [x.contiguous().requires_grad_() for x in arguments(**SMALL).values()][:5]
    o, S, *kept = torch.ops.gdn_ref.chunk_forward_keep(*tokens, 1.0, None, None, 16)
    assert o.requires_grad and S.requires_grad and not any(x.requires_grad for x in kept)
    (dv,) = torch.autograd.grad(S.sum(), tokens[2], retain_graph=True)
    assert dv.any()
    (dv,) = torch.autograd.grad(o.square().sum(), tokens[2], create_graph=True)
    with pytest.raises(RuntimeError, match="no autograd formula was registered"):
        dv.square().sum().backward()


def test_what_triton_cannot_run_is_refused_while_compiling():
    inputs = arguments(K=300)
    with pytest.raises(Exception, match="K <= 256"):
        compiled()(inputs)


@pytest.mark.parametrize("gradient, chunk_size", [(False, 16), (True, 16), (False, 64)])
def test_the_operators_keep_their_promises(gradient, chunk_size):
    *tokens, S = (
        x.contiguous().requires_grad_(gradient) for x in arguments(N=1, T=17, K=3, V=4).values()
    )
    given = (*tokens, 0.3, S.mT, None, chunk_size)
    operators = torch.ops.gdn_ref
    for operator in (operators.chunk_forward, operators.chunk_forward_keep):
        torch.library.opcheck(operator.default, given)
    if not gradient:
        o, S, *kept = operators.chunk_forward_keep(*given)
        for more in ((S,), (None,), (S, *kept)):
            torch.library.opcheck(
                operators.chunk_backward.default, (*given, o, *more),
                test_utils=("test_schema", "test_faketensor"),
            )  # fmt: skip


def test_an_operator_is_prepared_once_for_calls_that_look_alike(monkeypatch):
    from gdn_ref.kernels.backward import launches as backward
    from gdn_ref.kernels.forward import launches as forward

    found = []
    for module, name in (
        (forward, "chunk_forward_like"), (forward, "Forward"),
        (backward, "Backward"), (backward, "Gradients"),
    ):  # fmt: skip
        prepare = getattr(module, name)

        def noted(*rest, prepare=prepare, name=name, **options):
            found.append(name)
            return prepare(*rest, **options)

        monkeypatch.setattr(module, name, noted)
    monkeypatch.setattr("gdn_ref.prepared._remembered", {})
    operators = torch.ops.gdn_ref

    def both(T, factor):
        *tokens, S = (x.contiguous() for x in arguments(T=T).values())
        given = (*tokens, 0.3, factor * S, None, 64)
        return operators.chunk_forward(*given), operators.chunk_backward(*given, tokens[2], S)

    first = both(70, 1.0)
    assert len(found) == len(set(found)) == 4
    both(70, 2.0)
    assert len(found) == 4
    both(80, 1.0)  # a length is no matter
    assert len(found) == 4
    again = both(70, 1.0)
    for results, right in zip(again, first, strict=True):
        for x, y in zip(results, right, strict=True):
            assert torch.equal(x, y)
