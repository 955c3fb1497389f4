"""The Triton backward pass, in the interpreter: against autograd of the token loop, and by stage.

Every gradient is compared in relative Frobenius norm with the one that autograd finds in float64.
"""

import math
import threading
from contextlib import contextmanager
from functools import partial
from itertools import product
from types import SimpleNamespace

import pytest
import torch
from tolerances import GRADIENT_FLOAT16, GRADIENT_FLOAT32, assert_close
from torch.autograd import forward_ad
from torch.utils.checkpoint import checkpoint

from gdn_ref import backward, chunk_gated_delta_rule, fused_recurrent_gated_delta_rule, wy
from gdn_ref.chunking import decay
from gdn_ref.gated_delta_rule import chunk as chunk_forward
from gdn_ref.kernels.backward import launches as kernels
from gdn_ref.kernels.backward.chunk_gradients import (
    ChunkGradientsCase,
    ChunkGradientsGiven,
    chunk_gradients_kernel,
)
from gdn_ref.kernels.backward.hopper import launches as on_hopper
from gdn_ref.kernels.backward.state_gradients import (
    StateGradientsCase,
    StateGradientsGiven,
    state_gradients_kernel,
)
from gdn_ref.kernels.backward.states import StatesCase, StatesGiven, chunk_states_kernel
from gdn_ref.kernels.common.numbers import LEAST
from gdn_ref.kernels.host import gpu
from gdn_ref.kernels.host import launch as host_launch
from gdn_ref.proofs.data import hard_inputs

triton = pytest.importorskip("triton")
pytestmark = [pytest.mark.interpreter, pytest.mark.usefixtures("unwritten_memory_is_nan", "fenced")]

INSIDE = dict.fromkeys(
    ["use_qk_l2norm_in_kernel", "use_gate_in_kernel", "use_beta_sigmoid_in_kernel"], True
)


def arguments(B=1, T=40, H=1, HV=2, K=12, V=7, N=None, seed=0):
    """Hard inputs in the layout of `ops`, float32, as a dictionary."""
    q, k, v, g, beta, S = (
        torch.from_numpy(x).float()
        for x in hard_inputs(T=T, d_k=K, d_v=V, batch=(max(B, N or B), HV), seed=seed)
    )
    tokens_first = (x[:B].transpose(1, 2) for x in (q[:, :H], k[:, :H], v, g, beta))
    q, k, v, g, beta = tokens_first
    return {"q": q, "k": k, "v": v, "g": g, "beta": beta, "initial_state": S[: N or B].mT}


def gradients_given(o, S, seed=1):
    """Random gradients of the outputs and of the final states."""
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(x.shape, generator=generator).to(x.dtype) for x in (o, S)]


def results(rule, inputs, **options):
    """Fresh leaves of `inputs`, and what the rule makes of them: outputs, final states."""
    leaves = {name: x if x is None else x.detach().clone() for name, x in inputs.items()}
    for x in leaves.values():
        if x is not None:
            x.requires_grad_()
    return leaves, rule(**leaves, output_final_state=True, **options)


def compare(inputs, tolerance=GRADIENT_FLOAT32, dtype=torch.float32, flow="both", **options):
    """Every gradient with Triton against the token loop's in float64; returns Triton's."""
    given = {n: x.to(dtype) if n in ("q", "k", "v") else x for n, x in inputs.items()}
    exact = {n: x if x is None else x.double() for n, x in given.items()}
    leaves, found = results(chunk_gated_delta_rule, given, backend="triton", **options)
    options.pop("chunk_size", None)
    exact, expected = results(fused_recurrent_gated_delta_rule, exact, **options)
    flowing = {"both": slice(None), "o": slice(0, 1), "S": slice(1, None)}[flow]
    d_found = gradients_given(*found)
    d_expected = [x.double() for x in d_found]
    torch.autograd.backward(found[flowing], d_found[flowing])
    torch.autograd.backward(expected[flowing], d_expected[flowing])
    for name, x in leaves.items():
        if x is not None:
            right = exact[name].grad
            right = torch.zeros_like(x) if right is None else right  # q, to the state alone
            assert x.grad.dtype == x.dtype
            assert_close(x.grad, right, tolerance)
    return {name: x.grad for name, x in leaves.items() if x is not None}


@pytest.mark.parametrize("chunk_size", [16, 32, 64])
@pytest.mark.parametrize("T", [1, 16, 33, 70])
def test_any_length_and_chunk_size(T, chunk_size):
    compare(arguments(T=T), chunk_size=chunk_size)


def test_dv_of_one_token_is_rounded_once():
    """dE = dS k, which float32 holds and float16 does not; T_inv is one, so dV = beta dE."""
    q, k, v = torch.zeros(1, 1, 1, 16), torch.zeros(1, 1, 1, 16), torch.zeros(1, 1, 1, 64)
    k[..., 0], k[..., 1] = 1.0, 2**-6
    dS = torch.randn(1, 1, 16, 64, generator=torch.Generator().manual_seed(0)).half().float()
    q, k, v = (x.half().requires_grad_() for x in (q, k, v))
    beta = torch.full((1, 1, 1), 0.7)
    options = {"output_final_state": True, "backend": "triton"}
    _, last = chunk_gated_delta_rule(q, k, v, torch.zeros(1, 1, 1), beta, **options)
    (dv,) = torch.autograd.grad(last, v, dS)
    dE = dS[0, 0, 0] + 2**-6 * dS[0, 0, 1]
    right, twice = (0.7 * dE).half(), (0.7 * dE.half().float()).half()
    assert torch.equal(dv[0, 0, 0], right) and not torch.equal(right, twice)


def shifted(x):
    """A copy that starts between multiples of 16 bytes."""
    copy = x.new_empty(x.numel() + 1)[1:].view(x.shape).copy_(x)
    assert copy.data_ptr() % 16
    return copy


COPIES = {  # what hooks of autograd may make of a tensor
    "none": lambda x: x,
    "cloned": torch.clone,
    "apart": lambda x: torch.stack([x, x], -1)[..., 0],
    "shifted": shifted,
}


@pytest.mark.parametrize("copy", COPIES)
@pytest.mark.parametrize("T", [32, 33])
def test_what_is_kept_is_used_again(monkeypatch, T, copy):
    """But not by the copy engine, which takes aligned tiles only."""
    transforms, transform = [], kernels.Transform

    def noted(*arguments, **options):
        transforms.append(arguments)
        return transform(*arguments, **options)

    monkeypatch.setattr("gdn_ref.prepared._remembered", {})
    monkeypatch.setattr(kernels, "Transform", noted)
    with torch.autograd.graph.saved_tensors_hooks(COPIES[copy], lambda x: x):
        compare(arguments(T=T, B=2), chunk_size=16)
    assert bool(transforms) == (copy == "shifted")


@pytest.mark.parametrize("use_reentrant", [False, True])
def test_a_call_may_be_made_again_instead_of_kept(use_reentrant):
    options = {"output_final_state": True, "backend": "triton", "chunk_size": 16}
    found = []
    for again in (False, True):
        leaves = {name: x.clone().requires_grad_() for name, x in arguments(T=33).items()}

        def rule(*tensors, leaves=leaves):
            return chunk_gated_delta_rule(**dict(zip(leaves, tensors, strict=True)), **options)

        run = partial(checkpoint, rule, use_reentrant=use_reentrant) if again else rule
        o, S = run(*leaves.values())
        torch.autograd.backward([o, S], gradients_given(o, S))
        found.append([x.grad for x in leaves.values()])
    for x, y in zip(*found, strict=True):
        assert torch.equal(x, y)


def test_gradients_are_asked_for_twice_and_added():
    leaves, results_ = results(chunk_gated_delta_rule, arguments(T=33), backend="triton")
    for _ in range(2):
        torch.autograd.backward(results_, gradients_given(*results_), retain_graph=True)
    again, results_ = results(chunk_gated_delta_rule, arguments(T=33), backend="triton")
    torch.autograd.backward(results_, gradients_given(*results_))
    for name, x in leaves.items():
        assert torch.equal(x.grad, 2 * again[name].grad), name


def test_what_is_kept_does_not_depend_on_the_number_of_tokens(monkeypatch):
    """Compiled code for any number of them would be made again for each remainder."""
    monkeypatch.setattr(gpu, "has_hopper_engines", lambda device: True)
    v = torch.empty(1, 64, 2, 64, dtype=torch.float16)
    for K in (64, 128, 256):
        assert kernels.same_chunks(SimpleNamespace(shape=(1, None, 2, K)), v, 64)


@pytest.mark.parametrize("flow", ["o", "S"])
def test_a_gradient_of_one_result_alone(flow):
    compare(arguments(B=2), flow=flow, chunk_size=16)


@pytest.mark.parametrize("K, V", [(2, 1), (16, 16), (100, 60), (24, 130), (256, 18)])
def test_any_head_dimension(K, V):
    compare(arguments(K=K, V=V), chunk_size=32)


@pytest.mark.parametrize("H, HV", [(1, 1), (3, 3), (2, 6)])
def test_grouped_value_heads(H, HV):
    compare(arguments(H=H, HV=HV, T=20), chunk_size=16)


@pytest.mark.parametrize("chunk_size", [16, 64])
def test_float16(chunk_size):
    compare(arguments(T=70, V=70), GRADIENT_FLOAT16, torch.float16, chunk_size=chunk_size)


@pytest.mark.parametrize("lengths", [[40], [13, 27], [0, 7, 0, 0, 20, 0], [1] * 4, [16, 32, 2]])
def test_packed_sequences(lengths):
    cu_seqlens = torch.tensor([0, *lengths]).cumsum(0)
    inputs = arguments(T=sum(lengths), N=len(lengths))
    compare(inputs, cu_seqlens=cu_seqlens, chunk_size=16)


def test_offsets_that_lie_apart_in_memory():
    cu_seqlens = torch.tensor([[0, 9], [17, 9], [40, 9]], dtype=torch.int32)[:, 0]
    compare(arguments(N=2), cu_seqlens=cu_seqlens, chunk_size=16)


def test_a_head_of_a_packed_sequence_does_not_feel_its_neighbours():
    """They are NaN, which no product with a zero hides."""
    inputs = arguments(T=60, H=2, HV=4, V=19, N=3)
    inputs["do"], inputs["dS"] = gradients_given(inputs["v"], inputs["initial_state"])
    options = {"cu_seqlens": torch.tensor([0, 9, 44, 60]), "chunk_size": 16, "backend": "triton"}

    def own(name, x):
        """The share of the second sequence and the second key head."""
        return x[1, 2:] if name in ("initial_state", "dS") else x[:, 9:44, x.shape[2] // 2 :]

    found = []
    for fill in (torch.clone, lambda x: torch.full_like(x, math.nan)):
        given = {name: fill(x) for name, x in inputs.items()}
        for name, x in given.items():
            own(name, x).copy_(own(name, inputs[name]))
        d = given.pop("do"), given.pop("dS")
        leaves, results_ = results(chunk_gated_delta_rule, given, **options)
        torch.autograd.backward(results_, d)
        found.append([own(name, x.grad) for name, x in leaves.items()])
    for before, after in zip(*found, strict=True):
        assert torch.equal(before, after)


@pytest.mark.parametrize("state_v_first", [False, True])
@pytest.mark.parametrize("with_state", [False, True])
def test_state_layouts_and_no_initial_state(state_v_first, with_state):
    inputs = arguments(V=9, T=20)
    if state_v_first:
        inputs["initial_state"] = inputs["initial_state"].mT
    if not with_state:
        inputs["initial_state"] = None
    compare(inputs, state_v_first=state_v_first, chunk_size=16)


def test_no_decay_is_the_delta_rule():
    compare({**arguments(), "g": None}, chunk_size=16)


@pytest.mark.parametrize("chunk_size", [16, 64])
def test_resets_and_strong_decays(chunk_size):
    inputs = arguments(T=70)
    inputs["g"][:, 20:30] = -20.0
    inputs["g"][:, 50:] = -2.0  # ratios of cumulative decays would be 0/0 here
    resets = [0, 5, 6, 40, 67]  # the last in a chunk that is not whole
    inputs["g"][:, resets] = -math.inf
    found = compare(inputs, chunk_size=chunk_size)
    assert all(x.isfinite().all() for x in found.values())
    dg = found["g"].abs()  # nothing comes past a reset
    assert dg[:, resets].max() < 1e-6 * dg.max()


def test_strong_decays_leave_the_weak_ones_exact():
    # c falls to thousands here; differences of float32 sums would lose the small stretches
    inputs = arguments(T=64)
    inputs["g"].unflatten(1, (2, 32))[:, :, 4:20] = -110.0
    compare(inputs, chunk_size=32)


def test_under_strong_decays_each_gradient_of_a_decay_is_exact():
    # the dot form of eq-grad-decay is a difference of numbers far larger than the result
    inputs = {**arguments(T=64, HV=3), "g": torch.full((1, 64, 3), -2.0)}
    exact = {name: x.double() for name, x in inputs.items()}
    errors = []
    for chunk_size in (16, 32):
        leaves, found = results(
            chunk_gated_delta_rule, inputs, backend="triton", chunk_size=chunk_size
        )
        right, expected = results(fused_recurrent_gated_delta_rule, exact)
        given = gradients_given(*found)
        torch.autograd.backward(found, given)
        torch.autograd.backward(expected, [x.double() for x in given])
        errors.append((leaves["g"].grad / right["g"].grad - 1).abs().median().item())
    assert max(errors) < 1e-4, errors


def test_tokens_that_write_nothing():
    # beta's gradient there is what the write would bring: it must not be divided out of E
    inputs = arguments()
    inputs["beta"][:, [0, 3, 20, 39]] = 0.0
    inputs["beta"][:, [1, 17]] = LEAST.value  # the border between two ways to keep Z
    found = compare(inputs, chunk_size=16)
    assert found["beta"][:, [0, 3, 20, 39]].all()
    assert not found["v"][:, [0, 3, 20, 39]].any()


def test_from_an_empty_state_the_first_decay_has_no_gradient():
    # eq-grad-crossing: nothing comes from before the first token
    found = compare({**arguments(B=2), "initial_state": None}, chunk_size=16)
    dg = found["g"].abs()
    assert dg[:, 0].max() < 1e-5 * dg[:, 1].min()


@pytest.mark.parametrize("allow_neg_eigval", [False, True])
def test_everything_inside(allow_neg_eigval):
    inputs = arguments(T=33)
    inputs["q"], inputs["k"] = 3.0 * inputs["q"], 0.2 * inputs["k"]
    inputs["g"], inputs["beta"] = 2.0 + inputs["g"], inputs["beta"] - 1.0
    inputs |= {"A_log": torch.tensor([-1.0, 1.0]), "dt_bias": torch.tensor([0.5, -0.5])}
    compare(inputs, **INSIDE, allow_neg_eigval=allow_neg_eigval, scale=0.7, chunk_size=16)


def test_gradients_that_lie_apart_in_memory_and_that_are_expanded():
    inputs = arguments(B=2, H=2, T=20)
    assert not inputs["q"].is_contiguous()
    found = []
    for apart in (False, True):
        leaves, (o, S) = results(chunk_gated_delta_rule, inputs, backend="triton")
        do, dS = gradients_given(o, S)
        if apart:
            do, dS = do.transpose(0, 3).contiguous().transpose(0, 3), dS.mT.contiguous().mT
        torch.autograd.backward([o, S], [do, dS])
        found.append([x.grad for x in leaves.values()])
    for x, y in zip(*found, strict=True):
        assert torch.equal(x, y)
    found = []
    for total in (lambda x: x.sum(), lambda x: (x * torch.ones_like(x)).sum()):
        leaves, (o, S) = results(chunk_gated_delta_rule, inputs, backend="triton")
        (total(o) + total(S)).backward()
        found.append([x.grad for x in leaves.values()])
    for x, y in zip(*found, strict=True):
        assert torch.equal(x, y)


def test_an_input_used_twice_gets_both_gradients():
    inputs = arguments(T=20)
    del inputs["q"]
    gradients = []
    for dtype, backend in ((torch.float32, "triton"), (torch.float64, "reference")):
        leaves = {name: x.to(dtype, copy=True).requires_grad_() for name, x in inputs.items()}
        o, _ = chunk_gated_delta_rule(q=leaves["k"], **leaves, backend=backend)
        o.square().sum().backward()
        gradients.append(leaves["k"].grad)
    assert_close(*gradients, GRADIENT_FLOAT32)


@pytest.mark.parametrize("wanted", ["q", "k", "v", "g", "beta", "initial_state"])
def test_only_what_asks_gets_a_gradient(wanted):
    inputs = arguments(T=18)
    _, (o, S) = results(chunk_gated_delta_rule, inputs, backend="triton", chunk_size=16)
    given = gradients_given(o, S)
    leaves, all_results = results(chunk_gated_delta_rule, inputs, backend="triton", chunk_size=16)
    torch.autograd.backward(all_results, given)
    inputs[wanted].requires_grad_()
    alone = chunk_gated_delta_rule(
        **inputs, output_final_state=True, backend="triton", chunk_size=16
    )
    torch.autograd.backward(alone, given)
    for name, x in inputs.items():
        if name == wanted:
            assert torch.equal(x.grad, leaves[name].grad)
        else:
            assert x.grad is None, name


def test_where_nothing_asks_there_is_no_graph():
    inputs = arguments(T=3)
    o, S = chunk_gated_delta_rule(**inputs, output_final_state=True, backend="triton")
    assert not o.requires_grad and not S.requires_grad
    inputs["v"].requires_grad_()
    with torch.no_grad():
        o, S = chunk_gated_delta_rule(**inputs, output_final_state=True, backend="triton")
    assert not o.requires_grad and not S.requires_grad


def test_the_dtypes_of_the_inputs_may_differ():
    inputs = arguments(T=20)
    inputs["q"], inputs["beta"] = inputs["q"].half(), inputs["beta"].half()
    compare_exactly = {name: x.double() for name, x in inputs.items()}
    leaves, (o, S) = results(chunk_gated_delta_rule, inputs, backend="triton")
    exact, expected = results(chunk_gated_delta_rule, compare_exactly)
    given = gradients_given(o, S)
    torch.autograd.backward([o, S], given)
    torch.autograd.backward(expected, [x.double() for x in given])
    for name, x in leaves.items():
        assert x.grad.dtype == inputs[name].dtype
        tolerance = GRADIENT_FLOAT16 if x.dtype == torch.float16 else GRADIENT_FLOAT32
        assert_close(x.grad, exact[name].grad, tolerance)


@pytest.mark.parametrize("B, T", [(0, 5), (2, 0), (0, 0)])
def test_no_sequences_or_no_tokens(B, T):
    inputs = {n: x[:B] if n == "initial_state" else x[:B, :T] for n, x in arguments(B=2).items()}
    leaves, (o, S) = results(chunk_gated_delta_rule, inputs, backend="triton")
    do, dS = gradients_given(o, S)
    torch.autograd.backward([o, S], [do, dS])
    for name, x in leaves.items():
        assert x.grad.shape == inputs[name].shape
    if T == 0:
        assert torch.equal(leaves["initial_state"].grad, dS)


def test_no_tokens_and_no_gradient_of_the_state():
    leaves, (o, _) = results(
        chunk_gated_delta_rule,
        {n: x if n == "initial_state" else x[:, :0] for n, x in arguments().items()},
        backend="triton",
    )
    o.sum().backward()
    assert not leaves["initial_state"].grad.any()


def test_autocast_changes_nothing():
    inputs, found = arguments(T=20), []
    for enabled in (False, True):
        with torch.autocast("cpu", torch.bfloat16, enabled=enabled):
            leaves, (o, S) = results(chunk_gated_delta_rule, inputs, backend="triton")
            torch.autograd.backward([o, S], gradients_given(o, S))
        found.append([x.grad for x in leaves.values()])
    for x, y in zip(*found, strict=True):
        assert torch.equal(x, y)


def test_only_the_inputs_are_kept():
    inputs = {name: x.contiguous() for name, x in arguments(T=70, N=2).items()}
    inputs["initial_state"] = inputs["initial_state"].mT.contiguous()
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda x: kept.append(x) or x, lambda x: x):
        leaves, _ = results(
            chunk_gated_delta_rule, inputs, backend="triton", state_v_first=True,
            cu_seqlens=(cu_seqlens := torch.tensor([0, 20, 70])),
        )  # fmt: skip
    own = {x.data_ptr() for x in (*leaves.values(), cu_seqlens)}
    assert {x.data_ptr() for x in kept} == own


def test_an_input_changed_before_the_backward_pass_is_an_error():
    leaves, (o, _) = results(chunk_gated_delta_rule, arguments(T=3), backend="triton")
    with torch.no_grad():
        leaves["v"].add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        o.sum().backward()


@pytest.mark.parametrize("power", [1, 2])
def test_a_second_derivative_is_refused_not_wrong(power):
    # dv depends on k, even if the gradient that the backward pass is given depends on nothing
    leaves, (o, _) = results(chunk_gated_delta_rule, arguments(T=3), backend="triton")
    loss = (o**power).sum()
    (expected,) = torch.autograd.grad(loss, leaves["v"], retain_graph=True)
    (dv,) = torch.autograd.grad(loss, leaves["v"], create_graph=True)
    torch.testing.assert_close(dv.detach(), expected, rtol=0, atol=0)
    with pytest.raises(ValueError, match="backend: Triton has no second derivative"):
        (loss + dv.square().sum()).backward()


@pytest.mark.parametrize("rule", [chunk_gated_delta_rule, fused_recurrent_gated_delta_rule])
def test_a_forward_derivative_is_refused_not_dropped(rule):
    inputs = arguments(T=3)
    rule(**inputs, backend="triton")  # a call that looks alike, and asks for none
    with forward_ad.dual_level():
        inputs["v"] = forward_ad.make_dual(inputs["v"], torch.ones_like(inputs["v"]))
        for _ in range(2):
            with pytest.raises(ValueError, match="^v: expected no tangent, for Triton has no der"):
                rule(**inputs, backend="triton")
        rule(**inputs | {"v": forward_ad.unpack_dual(inputs["v"]).primal}, backend="triton")


@pytest.mark.parametrize("state_v_first", [False, True])
def test_results_may_be_changed_in_place(state_v_first):
    inputs = arguments(T=20)
    S = inputs["initial_state"]
    inputs["initial_state"] = S.mT.contiguous() if state_v_first else S.contiguous()
    options = {"backend": "triton", "chunk_size": 16, "state_v_first": state_v_first}
    found = []
    for scaled in (torch.mul, torch.Tensor.mul_):
        leaves, results_ = results(chunk_gated_delta_rule, inputs, **options)
        sum(scaled(x, 2).sum() for x in results_).backward()
        found.append([x.grad for x in leaves.values()])
    torch.testing.assert_close(*found, rtol=0, atol=0)


PIECES = {  # T, dtype, what is left out, other options
    "short_last_chunk": (20, torch.float32, None, {}),
    "whole_chunks": (32, torch.float32, None, {}),
    "state_first_by_values": (20, torch.float32, None, {"state_v_first": True}),
    "no_decay": (20, torch.float32, "g", {}),
    "no_first_state": (20, torch.float32, "initial_state", {}),
    "no_gradient_of_the_state": (20, torch.float32, None, {"flow": "o"}),
    "float16": (20, torch.float16, None, {}),
}


@pytest.mark.parametrize("case", PIECES)
def test_in_pieces_all_gradients_keep_their_bits(in_pieces, case):
    T, dtype, missing, options = PIECES[case]
    inputs = arguments(B=3, T=T, V=19)  # 4 programs a sequence, or 2 in 16 bits
    if options.get("state_v_first"):
        inputs["initial_state"] = inputs["initial_state"].mT
    if missing:
        inputs[missing] = None
    exact = dtype == torch.float32
    tolerance = GRADIENT_FLOAT32 if exact else GRADIENT_FLOAT16
    whole = compare(inputs, tolerance, dtype, chunk_size=16, **options)
    found = in_pieces(8 if exact else 4)
    parts = compare(inputs, tolerance, dtype, chunk_size=16, **options)
    assert found() == [2, 1]
    for name, x in whole.items():
        assert torch.equal(parts[name], x), name


@pytest.mark.parametrize("B, T", [(0, 5), (3, 0)])
def test_pieces_without_sequences_or_tokens(in_pieces, B, T):
    found = in_pieces(1)
    inputs = {n: x[:B] if n == "initial_state" else x[:B, :T] for n, x in arguments(B=3).items()}
    leaves, (o, S) = results(chunk_gated_delta_rule, inputs, backend="triton")
    do, dS = gradients_given(o, S)
    torch.autograd.backward([o, S], [do, dS])
    assert not found()
    if B:
        assert torch.equal(leaves["initial_state"].grad, dS)


def test_packed_sequences_stay_together(in_pieces):
    found = in_pieces(1)
    cu_seqlens = torch.tensor([0, 9, 17, 40])
    compare(arguments(N=3), cu_seqlens=cu_seqlens, chunk_size=16)
    assert found() == [3]


GIVEN_LOOKS = {  # what a call may look like that shares its seven tensors' look with another
    "plain": lambda do, dS: (do, dS),
    "no_gradient_of_the_state": lambda do, dS: (do, None),
    "state_first_by_keys": lambda do, dS: (do, dS.mT.contiguous().mT),
    "state_apart": lambda do, dS: (do, dS.transpose(0, 1).contiguous().transpose(0, 1)),
    "state_wide": lambda do, dS: (do, dS.double()),
    "state_shifted": lambda do, dS: (do, shifted(dS)),
    "outputs_apart": lambda do, dS: (do.transpose(1, 3).contiguous().transpose(1, 3), dS),
    "outputs_wide": lambda do, dS: (do.double(), dS),
    "outputs_shifted": lambda do, dS: (shifted(do), dS),
}


def contiguous_call(B=3, **sizes):
    """The seven tensors of `kernels.Backward`, `do` and `dS_last`."""
    inputs = arguments(B=B, **sizes)
    *tokens, S = (x.contiguous() for x in inputs.values())
    do, dS = gradients_given(tokens[2], S)
    return (*tokens, S, None), do, dS.mT.contiguous()


@pytest.mark.parametrize("first", ["plain", "no_gradient_of_the_state", "state_first_by_keys"])
def test_gradients_do_not_depend_on_the_look_of_the_call_before(in_pieces, first):
    found = in_pieces(2)
    tensors, do, dS = contiguous_call(T=20, HV=1, K=3, V=5)
    tensors = (*tensors[:5], tensors[5].mT, None)
    plain, without = (kernels.Backward(0.7, 16)(*tensors, do, given) for given in (dS, 0.0 * dS))
    run = kernels.Backward(0.7, 16)
    run(*tensors, *GIVEN_LOOKS[first](do, dS))
    for look, given in GIVEN_LOOKS.items():
        right = without if look == "no_gradient_of_the_state" else plain
        for x, y in zip(run(*tensors, *given(do, dS)), right, strict=True):
            assert torch.equal(x, y), look
    assert set(found()) == {2, 1}


@pytest.fixture
def launched(monkeypatch):
    """Of each launch from now on, all that it is started for; no kernel runs."""
    found = []

    def noted(launch, grid, tensors, numbers, rows=()):
        known = [x is not None and (x.dtype, x.data_ptr() % 16) for x in tensors]
        what = (launch.case, launch.options, known, numbers, rows)
        found.append((launch.kernel.fn.__name__, grid, *what))

    monkeypatch.setattr(host_launch.Launch, "__call__", noted)
    return found


@pytest.fixture(params=["portable", "hopper"])
def path(request, monkeypatch):
    """Both paths; on the second, tensors are taken to be on a Hopper GPU."""
    if request.param == "hopper":
        monkeypatch.setattr(gpu, "has_hopper_engines", lambda device: True)
        monkeypatch.setattr(gpu, "multiprocessors", lambda device: 132)
        monkeypatch.setattr(on_hopper, "room_for_both", lambda *known: False)
    return request.param


@pytest.mark.parametrize("first", GIVEN_LOOKS)
def test_launches_do_not_depend_on_the_look_of_the_call_before(path, in_pieces, launched, first):
    exact = path == "portable"
    in_pieces(16 if exact else 4)  # two sequences
    (*tokens, S, _), do, dS = contiguous_call(K=64, V=64)
    if not exact:
        tokens, do = [x.half() for x in tokens[:3]] + tokens[3:], do.half()
    others = {  # the seven tensors themselves may start elsewhere
        "same": (*tokens, S.mT, None),
        "tokens_shifted": (*map(shifted, tokens), S.mT, None),
    }
    run = kernels.Backward(1.0, 64)
    run(*others["same"], *GIVEN_LOOKS[first](do, dS))
    for (second, tensors), (look, given), precision in product(
        others.items(), GIVEN_LOOKS.items(), ("highest", "high")
    ):
        torch.set_float32_matmul_precision(precision)
        try:
            found = []
            for call in (run, kernels.Backward(1.0, 64)):
                launched.clear()
                call(*tensors, *given(do, dS))
                found.append(list(launched))
        finally:
            torch.set_float32_matmul_precision("highest")
        assert found[0] == found[1], (second, look, precision)
        for_hopper = [what for what in found[0] if "hopper" in what[0]]
        aligned = second == "same" and look != "outputs_shifted"
        assert len(for_hopper) == (6 if aligned and not exact else 0)
        assert len(found[0]) - len(for_hopper) == (4 if for_hopper else 8)


class Stream:
    """Two of them write down what is launched on each, and who waits for whom."""

    def __init__(self, name, log):
        self.name, self.log = name, log

    def wait_stream(self, other):
        self.log.append(f"{self.name} waits for {other.name}")


@pytest.fixture
def streams(monkeypatch):
    """A log of launches and waits on a Hopper GPU that is not there, and what runs a call on it."""
    log, failing = [], []
    own, side = Stream("own", log), Stream("side", log)
    here = [own]

    @contextmanager
    def on(stream):
        here.append(stream)
        try:
            yield
        finally:
            here.pop()

    def noted(launch, *rest):
        name = launch.kernel.fn.__name__
        log.append(f"{name} on {here[-1].name}")
        if name in failing:
            raise RuntimeError("no room")

    monkeypatch.setattr(host_launch.Launch, "__call__", noted)
    monkeypatch.setattr(gpu, "has_hopper_engines", lambda device: True)
    monkeypatch.setattr(kernels, "side_stream", lambda device: side)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda: here[-1])
    monkeypatch.setattr(torch.cuda, "stream", on)

    def run(room=True, fails=()):
        failing[:] = fails
        (*tokens, _, _), do, _ = contiguous_call(T=64, K=64, V=64)
        tokens = [x.half() for x in tokens[:3]] + tokens[3:]
        chains = 2 * tokens[2].shape[0] * tokens[2].shape[2]
        monkeypatch.setattr(gpu, "multiprocessors", lambda device: chains - (not room))
        kernels.Backward(1.0, 64)(*tokens, None, None, do.half(), None)

    return log, run


@pytest.mark.parametrize("fails", ["chunk_states_hopper_kernel", "state_gradients_hopper_kernel"])
def test_an_error_leaves_no_stream_at_work(streams, fails):
    """Memory goes back to PyTorch then, which knows nothing of the other stream."""
    log, run = streams
    with pytest.raises(RuntimeError, match="no room"):
        run(fails=[fails])
    assert log[-1] == "own waits for side"


def test_each_thread_has_a_stream_of_its_own(monkeypatch):
    made = []
    monkeypatch.setattr(torch.cuda, "Stream", lambda device: made.append(device) or object())
    device = torch.device("cuda", 7)
    found = [kernels.side_stream(device), kernels.side_stream(device)]
    other = threading.Thread(target=lambda: found.append(kernels.side_stream(device)))
    other.start()
    other.join()
    vars(kernels._streams).clear()
    assert found[0] is found[1] is not found[2] and made == [device, device]


@pytest.mark.parametrize("room", [True, False])
def test_states_go_beside_their_gradients_where_there_is_room(streams, room):
    log, run = streams
    run(room)
    other = "side" if room else "own"
    expected = [
        "side waits for own", f"chunk_states_hopper_kernel on {other}",
        "state_gradients_hopper_kernel on own", "own waits for side",
        "chunk_gradients_hopper_kernel on own",
    ]  # fmt: skip
    assert log[1:] == [x for x in expected if room or "waits" not in x]


@pytest.mark.parametrize(
    "N, programs, size, room, length",
    [
        (4, 64, 2**27, 132, 2),  # the bars' two shapes, on an H100
        (16, 16, 2**24, 132, 8),
        (1, 64, 2**30, 132, 1),
        (2, 64, 2**30, 132, 2),  # one wave as it is
        (8, 96, 2**27, 132, 4),  # one sequence at a time would leave a quarter of the device idle
        (4, 132, 2**27, 132, 1),
        (3, 64, 2**27, 132, 2),
        (20, 16, 2**27, 132, 7),  # 7, 7, 6 rather than 8, 8, 4
        (8, 64, 2**25, 132, 4),  # short sequences: launches would show
        (70_000, 1, 2**14, 132, 8305),
        (5, 8, 0, 132, 5),  # no tokens
    ],
)
def test_the_length_of_a_piece(N, programs, size, room, length):
    assert kernels.piece_length(N, programs, size, room) == length


def test_the_room_for_programs(monkeypatch):
    monkeypatch.setattr(gpu, "multiprocessors", lambda device: 132)
    assert kernels.programs_at_once(torch.device("cuda", 0), hopper=True) == 132
    assert kernels.programs_at_once(torch.device("cuda", 0), hopper=False) == 264
    assert kernels.programs_at_once(torch.device("cpu"), hopper=False) is None


def test_pieces_take_no_more_waves_than_the_batch():
    for N, programs, room in product(range(1, 25), (1, 3, 16, 50, 64, 96, 140, 300), (108, 132)):
        n = kernels.piece_length(N, programs, 2**27, room)
        waves = [math.ceil(len(piece) * programs / room) for piece in torch.arange(N).split(n)]
        assert sum(waves) <= math.ceil(N * programs / room)
        assert sum(map(len, torch.arange(N).split(n))) == N


def one_sequence(T, C, HV=2, K=12, V=20, seed=0):
    """One key head with HV value heads: inputs, and the reference's chunks from first to last.

    Returns float64 tensors, and for each chunk its slice, `gamma`, `(I + A)^-1`, the state that it
    received and the gradient of the state that it hands on, with the gradients `backward.chunk`.
    """
    data = hard_inputs(T=T, d_k=K, d_v=V, batch=(HV,), seed=seed)
    q, k, v, g, beta, S = (torch.from_numpy(x) for x in data)
    q, k = q[:1], k[:1]
    beta[:, 3::8] *= 0.03  # less than `state_gradients.LEAST`
    generator = torch.Generator().manual_seed(seed)
    do = torch.randn(v.shape, generator=generator, dtype=torch.float64)
    dS = torch.randn(S.shape, generator=generator, dtype=torch.float64)
    parts = [slice(at, min(at + C, T)) for at in range(0, T, C)]
    chunks = []
    state = S
    for part in parts:
        tokens = (q[:, part], k[:, part], v[:, part], g[:, part], beta[:, part])
        gamma, Gamma = decay(g[:, part])
        A = wy.interaction(k[:, part], beta[:, part], Gamma)
        identity = torch.eye(A.shape[-1], dtype=A.dtype).expand_as(A)
        chunks.append({"part": part, "tokens": tokens, "gamma": gamma, "S": state})
        chunks[-1]["T_inv"] = wy.solve(A, identity)
        _, state = chunk_forward(state, *tokens)
    gradient = dS
    for piece in reversed(chunks):
        piece["dS"] = gradient
        found = backward.chunk(piece["S"], *piece["tokens"], do[:, piece["part"]], gradient)
        piece["gradients"] = dict(zip(["S", "q", "k", "v", "g", "beta"], found, strict=True))
        gradient = found[0]
    return {"q": q, "k": k, "v": v, "beta": beta, "S": S, "do": do, "dS": dS}, chunks


def for_kernels(inputs, chunks, T, C):
    """The inputs as the kernels read them, with `c`, `T_inv`, and room full of NaN for results."""
    HV, _, V = inputs["v"].shape
    K = inputs["k"].shape[-1]
    given = {
        name: inputs[name].movedim(0, 1).float().contiguous()
        for name in ("q", "k", "v", "do", "beta")
    }
    given |= {name: inputs[name].float().contiguous() for name in ("S", "dS")}
    given["c"] = torch.cat([torch.log2(piece["gamma"]) for piece in chunks], dim=1)
    given["T_inv"] = torch.zeros(HV, T, C)
    for piece in chunks:
        rows = piece["T_inv"].shape[-1]
        given["T_inv"][:, piece["part"], :rows] = piece["T_inv"]
    for name, shape in {
        "states": (len(chunks), HV, V, K), "dstates": (len(chunks), HV, V, K), "dv": (T, HV, V),
        "dS_first": (HV, V, K), "dq": (T, 1, K), "dk": (T, 1, K), "dg": (T, HV), "dbeta": (T, HV),
    }.items():  # fmt: skip
        given[name] = torch.full(shape, math.nan)
    sizes = {"H": 1, "HV": HV, "K": K, "V": V, "C": C, "BK": max(16, triton.next_power_of_2(K))}
    return given, {**sizes, "BV": 16, "PACKED": False, "PRECISION": "tf32x3"}


@pytest.mark.parametrize("v_first", [True, False])
@pytest.mark.parametrize("T, C", [(40, 16), (64, 32), (20, 64)])
def test_the_states_are_those_that_the_chunks_receive(T, C, v_first):
    inputs, chunks = one_sequence(T, C)
    x, constants = for_kernels(inputs, chunks, T, C)
    K, V, HV = constants["K"], constants["V"], constants["HV"]
    first = x["S"] if v_first else x["S"].mT.contiguous()
    chunk_states_kernel[(HV * triton.cdiv(V, 16),)](
        StatesGiven(
            x["k"], x["v"], x["beta"], x["c"], x["T_inv"], first, x["states"], None, T, T
        ),
        StatesCase(
            S_v=K if v_first else 1, S_k=1 if v_first else V, HAS_S=True, STAGES=1, **constants
        ),
    )  # fmt: skip
    for j, piece in enumerate(chunks):
        assert_close(x["states"][j], piece["S"], GRADIENT_FLOAT32)


def kept_for_later(dv, beta):
    """dV = diag(beta) Z (eq-grad-query). Where beta is small, Z itself for `chunk_gradients`."""
    small = beta < LEAST.value
    assert small.any() and not small.all()
    return torch.where(small, dv / beta, dv)


@pytest.mark.parametrize("v_first", [True, False])
@pytest.mark.parametrize("T, C, scale", [(40, 16, 1.0), (64, 32, 0.3), (20, 64, 1.0)])
def test_the_gradients_of_the_states_and_the_transposed_solve(T, C, scale, v_first):
    inputs, chunks = one_sequence(T, C)
    x, constants = for_kernels(inputs, chunks, T, C)
    HV, V, K = constants["HV"], constants["V"], constants["K"]
    last = x["dS"] if v_first else x["dS"].mT.contiguous()
    state_gradients_kernel[(HV * triton.cdiv(V, 16),)](
        StateGradientsGiven(
            x["q"] / scale, x["k"], x["do"], x["beta"], x["c"], x["T_inv"], last, x["dv"],
            x["dstates"], x["dS_first"], None, scale, T, T,
        ),
        StateGradientsCase(
            S_v=K if v_first else 1, S_k=1 if v_first else V, HAS_DS=True, STAGES=1, **constants
        ),
    )  # fmt: skip
    for j, piece in enumerate(chunks):
        assert_close(x["dstates"][j], piece["dS"], GRADIENT_FLOAT32)
        kept = kept_for_later(piece["gradients"]["v"], inputs["beta"][:, piece["part"], None])
        assert_close(x["dv"][piece["part"]].movedim(1, 0), kept, GRADIENT_FLOAT32)
    assert_close(x["dS_first"], chunks[0]["gradients"]["S"], GRADIENT_FLOAT32)


@pytest.mark.parametrize("short", [False, True])
@pytest.mark.parametrize("T, C, scale", [(40, 16, 1.0), (52, 32, 0.3), (20, 64, 1.0)])
def test_the_gradients_of_one_chunk(T, C, scale, short):
    inputs, chunks = one_sequence(T, C)
    x, constants = for_kernels(inputs, chunks, T, C)
    dv = torch.cat([piece["gradients"]["v"] for piece in chunks], dim=1)
    x["dv"].copy_(kept_for_later(dv, inputs["beta"][..., None]).movedim(0, 1))
    for j, piece in enumerate(chunks):
        x["states"][j], x["dstates"][j] = piece["S"], piece["dS"]
    before = x["dv"].clone()
    chunk_gradients_kernel[1 if short else len(chunks), 1](
        ChunkGradientsGiven(
            x["q"] / scale, x["k"], x["v"], x["beta"], x["c"], x["T_inv"], x["do"], x["dv"],
            x["states"], x["dstates"], x["dq"], x["dk"], x["dg"], x["dbeta"], None, scale, 1, T, T,
        ),
        ChunkGradientsCase(HAS_G=True, SHORT=short, **constants),
    )  # fmt: skip
    done = chunks[-1:] if short else chunks
    for piece in done:
        part, right = piece["part"], piece["gradients"]
        assert_close(scale * x["dq"][part, 0], right["q"].sum(0) * scale**2, GRADIENT_FLOAT32)
        assert_close(x["dk"][part, 0], right["k"].sum(0), GRADIENT_FLOAT32)
        for name in ("g", "beta"):
            assert_close(x["d" + name][part].T, right[name], GRADIENT_FLOAT32)
        assert_close(x["dv"][part].movedim(1, 0), right["v"], GRADIENT_FLOAT32)
    rest = slice(0, done[0]["part"].start)
    assert torch.equal(x["dv"][rest], before[rest])
    for name in ("dq", "dk", "dg", "dbeta"):
        assert x[name][rest].isnan().all()
