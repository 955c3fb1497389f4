"""`torch.compile` takes the Triton backend into one graph; in the interpreter, on a CPU."""

import pytest
import torch
from tolerances import KERNEL_FLOAT32, assert_close

from gdn_ref import chunk_gated_delta_rule
from gdn_ref.proofs.data import hard_inputs

pytest.importorskip("triton")
pytestmark = pytest.mark.interpreter


def arguments(N=2, T=70, H=1, HV=2, K=12, V=20):
    q, k, v, g, beta, S = (
        torch.from_numpy(x).float() for x in hard_inputs(T=T, d_k=K, d_v=V, batch=(N, HV))
    )
    q, k, v = (x.transpose(1, 2) for x in (q[:, :H], k[:, :H], v))
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


def test_what_triton_cannot_run_is_refused_while_compiling():
    inputs = arguments(K=300)
    with pytest.raises(Exception, match="K <= 256"):
        compiled()(inputs)


def test_the_operator_keeps_its_promises():
    inputs = arguments()
    S = inputs.pop("initial_state").mT
    q, k, v, g, beta = (inputs[name].contiguous() for name in ("q", "k", "v", "g", "beta"))
    arguments_ = (q, k, v, g, beta, 0.3, S, None, 64)
    torch.library.opcheck(
        torch.ops.gdn_ref.chunk_forward.default,
        arguments_,
        test_utils=("test_schema", "test_autograd_registration", "test_faketensor"),
    )
    do, dS = torch.ones_like(v), torch.ones_like(S)
    torch.library.opcheck(
        torch.ops.gdn_ref.chunk_backward.default,
        (*arguments_, do, dS),
        test_utils=("test_schema", "test_faketensor"),
    )


def test_an_operator_is_prepared_once_for_calls_that_look_alike(monkeypatch):
    from gdn_ref.kernels import backward, forward

    found = []
    for module, name in (
        (forward, "prepare_chunk_forward"), (forward, "prepare_forward"),
        (backward, "prepare_backward"), (backward, "prepare_pieces"),
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
    both(80, 1.0)
    assert len(found) == 8
    again = both(70, 1.0)
    for results, right in zip(again, first, strict=True):
        for x, y in zip(results, right, strict=True):
            assert torch.equal(x, y)
