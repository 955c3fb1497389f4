"""Gradients on a CUDA device, beside those of the reference in float64."""

import torch
from tolerances import (
    GRADIENT_BFLOAT16,
    GRADIENT_BFLOAT16_NUMBERS,
    GRADIENT_FLOAT16,
    GRADIENT_FLOAT32,
    GRADIENT_TF32,
    assert_close,
)

from gdn_ref import chunk_gated_delta_rule, fused_recurrent_gated_delta_rule


def gradients_given(inputs, seed=1):
    """Random gradients of the outputs and of the final states."""
    B, _, HV, V = inputs["v"].shape
    K, S = inputs["q"].shape[3], inputs.get("initial_state")
    generator = torch.Generator("cuda").manual_seed(seed)
    shape = (B, HV, K, V) if S is None else S.shape
    normal = [
        torch.randn(x, generator=generator, device="cuda") for x in (inputs["v"].shape, shape)
    ]
    return normal[0].to(inputs["v"].dtype), normal[1]


def gradients(
    inputs, given, rule=chunk_gated_delta_rule, flow=("o", "S"), backend="triton", **options
):
    """The gradient of every tensor in `inputs`, by name."""
    leaves = {n: x.detach().requires_grad_() for n, x in inputs.items() if x is not None}
    missing = {n: None for n, x in inputs.items() if x is None}
    results = rule(**leaves, **missing, output_final_state=True, backend=backend, **options)
    chosen = [i for i, name in enumerate(("o", "S")) if name in flow]
    results, given = [results[i] for i in chosen], [given[i] for i in chosen]
    found = torch.autograd.grad(results, list(leaves.values()), given, materialize_grads=True)
    return dict(zip(leaves, found, strict=True))


def exact_gradients(inputs, given, rule=None, **options):
    """The same by autograd of the reference, in float64.

    Its recurrence keeps several states for every token, 13 GB in the largest test: so beyond 300
    tokens its chunk form, unless `rule` says which.
    """
    if rule is None:
        short = inputs["q"].shape[1] <= 300
        rule = fused_recurrent_gated_delta_rule if short else chunk_gated_delta_rule
    exact = {n: x if x is None else x.double() for n, x in inputs.items()}
    return gradients(exact, [x.double() for x in given], rule, backend="reference", **options)


def bar(name, dtype, precision="highest"):
    """The relative error that a gradient may have."""
    if dtype == torch.bfloat16:
        return GRADIENT_BFLOAT16_NUMBERS if name in ("g", "beta") else GRADIENT_BFLOAT16
    if dtype == torch.float16:
        return GRADIENT_FLOAT16
    return GRADIENT_FLOAT32 if precision == "highest" else GRADIENT_TF32


def compare(found, expected, dtype=torch.bfloat16, precision="highest"):
    """Every gradient within its bar; the message has all errors."""
    wrong = {}
    for name, x in found.items():
        try:
            assert x.isfinite().all(), "not finite"
            assert_close(
                x.double().cpu(), expected[name].double().cpu(), bar(name, dtype, precision)
            )
        except AssertionError as error:
            wrong[name] = str(error)
    assert not wrong, wrong


def replayed(inputs, given):
    """Gradients of a call on a stream, and of its replay from a graph, into zeros."""
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        expected = gradients(inputs, given)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        found = gradients(inputs, given)
    for x in found.values():
        x.zero_()
    graph.replay()
    torch.cuda.synchronize()
    return expected, found


def equal(found, expected):
    for name, x in found.items():
        assert torch.equal(x, expected[name]), name
