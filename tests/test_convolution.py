"""The causal convolution against a loop over tokens, written here, and against PyTorch's conv1d."""

import math

import pytest
import torch
from tolerances import FORMS, assert_close
from torch.autograd import forward_ad

from gdn_ref import causal_conv1d, causal_conv1d_update

WIDTHS = pytest.mark.parametrize("W", [1, 2, 3, 4, 6])
LENGTHS = [[17], [5, 12], [0, 3, 0, 0, 13, 1, 0], [1] * 6, [2, 4, 3]]


def inputs(B=2, T=17, D=5, W=4, N=None, dtype=torch.float64, seed=0):
    random = torch.Generator().manual_seed(seed)

    def normal(*shape):
        return torch.randn(*shape, generator=random, dtype=torch.float64).to(dtype)

    tensors = {"x": normal(B, T, D), "weight": normal(D, W), "bias": normal(D)}
    return tensors | {"initial_state": normal(B if N is None else N, D, W - 1)}


def packed(lengths, **options):
    x = inputs(B=1, T=sum(lengths), N=len(lengths), **options)
    return x | {"cu_seqlens": torch.tensor([0, *lengths]).cumsum(0)}


def oracle(x, weight, bias=None, initial_state=None, cu_seqlens=None, activation="silu"):
    """Token by token: push the input into a window of W, multiply, move on."""
    D, W = weight.shape
    ends = [(b, 0, x.shape[1]) for b in range(len(x))]
    if cu_seqlens is not None:
        ends = [(0, a, b) for a, b in zip(cu_seqlens.tolist(), cu_seqlens.tolist()[1:])]  # noqa: B905
    y, states = torch.full_like(x, math.nan), []
    for n, (b, begin, end) in enumerate(ends):
        past = x.new_zeros(D, W - 1) if initial_state is None else initial_state[n]
        for t in range(begin, end):
            window = torch.cat([past, x[b, t][:, None]], dim=1)
            z = (weight * window).sum(1) + (0 if bias is None else bias)
            y[b, t] = z * torch.sigmoid(z) if activation else z
            past = window[:, 1:]
        states.append(past)
    return y, torch.stack(states)


@WIDTHS
@pytest.mark.parametrize("activation", ["silu", None])
@pytest.mark.parametrize("T", [0, 1, 2, 17])
def test_padded_is_the_loop(T, W, activation):
    x = inputs(T=T, W=W)
    found = causal_conv1d(**x, output_final_state=True, activation=activation)
    for a, b in zip(found, oracle(**x, activation=activation), strict=True):
        assert_close(a, b, FORMS)
        assert a.is_contiguous()


@WIDTHS
@pytest.mark.parametrize("lengths", LENGTHS)
@pytest.mark.parametrize("offsets", [torch.int32, torch.int64])
def test_packed_is_the_loop_for_each(lengths, W, offsets):
    x = packed(lengths, W=W)
    x["cu_seqlens"] = x["cu_seqlens"].to(offsets)
    for a, b in zip(causal_conv1d(**x, output_final_state=True), oracle(**x), strict=True):
        assert_close(a, b, FORMS)


def test_pytorch_computes_the_same():
    x = inputs()
    conv = torch.nn.Conv1d(5, 5, 4, padding=3, groups=5, dtype=torch.float64)
    theirs = conv(x["x"].mT)[..., :17].mT
    ours, state = causal_conv1d(x["x"], conv.weight.squeeze(1), conv.bias, activation=None)
    assert_close(ours.detach(), theirs.detach(), FORMS)
    assert state is None


def test_a_packed_sequence_does_not_see_its_neighbours():
    x = packed([4, 0, 13])
    before, states = causal_conv1d(**x, output_final_state=True)
    x["x"][:, :4] += 100
    x["initial_state"][:2] += 100
    after, later = causal_conv1d(**x, output_final_state=True)
    assert torch.equal(before[:, 4:], after[:, 4:])
    assert torch.equal(states[2], later[2])


def test_no_output_sees_a_later_input():
    x = inputs()
    before, _ = causal_conv1d(**x)
    x["x"][:, 9:] = math.nan
    assert torch.equal(before[:, :9], causal_conv1d(**x)[0][:, :9])


def test_split_anywhere_is_the_whole():
    x = inputs()
    whole, last = causal_conv1d(**x, output_final_state=True)
    rows, state = [], x.pop("initial_state")
    for part in x.pop("x").split([1, 2, 9, 5], dim=1):
        y, state = causal_conv1d(part, **x, initial_state=state, output_final_state=True)
        rows.append(y)
    assert_close(torch.cat(rows, 1), whole, FORMS)
    assert_close(state, last, FORMS)


def poisoned_pool(state, slots, dtype=torch.float64):
    """A pool of NaN with the states in these slots."""
    pool = torch.full((max(slots) + 3, *state.shape[1:]), math.nan, dtype=dtype)
    pool[slots] = state.to(dtype)
    return pool


@WIDTHS
@pytest.mark.parametrize("T", [1, 2, 5])
def test_update_is_the_loop_and_leaves_other_slots_alone(W, T):
    x, slots = inputs(B=3, T=T, W=W), [4, 0, 3]
    pool = poisoned_pool(x["initial_state"], slots)
    y, last = oracle(**x)
    del x["initial_state"]
    found = causal_conv1d_update(pool=pool, **x, slot_idx=torch.tensor(slots))
    assert_close(found, y, FORMS)
    assert_close(pool[slots], last, FORMS)
    others = [s for s in range(len(pool)) if s not in slots]
    assert pool[others].isnan().all()


def test_update_of_a_ragged_batch():
    x, slots = packed([2, 0, 1, 4]), [5, 1, 2, 0]
    pool = poisoned_pool(x["initial_state"], slots)
    y, last = oracle(**x)
    before = pool.clone()
    del x["initial_state"]
    found = causal_conv1d_update(pool=pool, **x, slot_idx=torch.tensor(slots, dtype=torch.int32))
    assert_close(found, y, FORMS)
    assert_close(pool[slots], last, FORMS)
    assert torch.equal(pool[1], before[1])  # no token, no change
    assert pool[[3, 4, 6, 7]].isnan().all()


@pytest.mark.interpreter
@pytest.mark.parametrize("backend", ["reference", "triton"])
def test_autograd_knows_that_the_pool_has_changed(backend):
    if backend == "triton":
        pytest.importorskip("triton")
    x = inputs(B=2, T=1, dtype=torch.float32)
    pool, factor = x.pop("initial_state"), torch.ones(1, requires_grad=True)
    later = (factor * pool).sum()
    causal_conv1d_update(pool=pool, **x, backend=backend)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        later.backward()


def test_update_without_slots_takes_the_first_ones():
    x = inputs(B=2, T=1)
    pool = poisoned_pool(x["initial_state"], [0, 1])
    y, last = oracle(**x)
    del x["initial_state"]
    assert_close(causal_conv1d_update(pool=pool, **x), y, FORMS)
    assert_close(pool[:2], last, FORMS)
    assert pool[2:].isnan().all()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32, torch.float64])
def test_dtypes_of_pool_and_tokens_may_differ(dtype):
    x = inputs(B=2, T=2, dtype=torch.float32)
    pool = x.pop("initial_state").to(dtype) / 3
    kept = pool.clone()
    y, _ = oracle(**{name: t.double() for name, t in x.items()}, initial_state=kept.double())
    found = causal_conv1d_update(pool=pool, **x, slot_idx=torch.tensor([0, 1]))
    assert found.dtype == torch.float32 and pool.dtype == dtype
    assert_close(found, y, 1e-6)
    assert torch.equal(pool, torch.cat([kept[..., 2:], x["x"].mT.to(dtype)], dim=-1))


def test_sixteen_bits_are_computed_in_float32():
    x = {name: t.bfloat16() for name, t in inputs().items()}
    y, state = causal_conv1d(**x, output_final_state=True)
    assert y.dtype == state.dtype == torch.bfloat16
    exact, _ = oracle(**{name: t.double() for name, t in x.items()})
    assert_close(y.double(), exact, 3e-3)  # one rounding
    with torch.autocast("cpu", dtype=torch.bfloat16):
        single = {name: t.float() for name, t in inputs().items()}
        y, _ = causal_conv1d(**single)
    assert_close(y, oracle(**inputs())[0], 1e-6)


@pytest.mark.parametrize("lengths", [None, [3, 0, 2]])
def test_gradients(lengths):
    x = inputs(T=5, D=2, W=3) if lengths is None else packed(lengths, D=2, W=3)
    cu_seqlens = x.pop("cu_seqlens", None)
    leaves = [t.requires_grad_() for t in x.values()]

    def run(x, weight, bias, S):
        options = {"initial_state": S, "output_final_state": True, "cu_seqlens": cu_seqlens}
        return causal_conv1d(x, weight, bias, **options)

    assert torch.autograd.gradcheck(run, leaves)


def test_one_graph_padded_and_packed():
    torch.compiler.reset()
    run = torch.compile(causal_conv1d, fullgraph=True, backend="aot_eager")
    for x in (inputs(), packed([4, 0, 13])):
        found = run(**x, output_final_state=True)
        for a, b in zip(found, oracle(**x), strict=True):
            assert_close(a, b, FORMS)


BAD = {  # what is wrong: changes to good arguments, error, message
    "x is no tensor": ({"x": [1.0]}, TypeError, "x: expected a torch.Tensor"),
    "x has two axes": ({"x": torch.ones(3, 5)}, ValueError, r"x: expected 3 axes \[B, T, D\]"),
    "whole numbers": (
        {"x": torch.ones(2, 3, 5, dtype=torch.int64)},
        ValueError,
        "x: expected a dt",
    ),
    "channels differ": ({"weight": torch.ones(4, 4)}, ValueError, r"weight: .*\[5, 4\]"),
    "no channel": (
        {"x": torch.ones(2, 3, 0), "weight": torch.ones(0, 4)},
        ValueError,
        "weight: expected D >= 1 and W >= 1",
    ),
    "no width": ({"weight": torch.ones(5, 0)}, ValueError, "weight: expected D >= 1 and W >= 1"),
    "bias": ({"bias": torch.ones(4)}, ValueError, r"bias: .*\[5\], got \[4\]"),
    "activation": ({"activation": "gelu"}, ValueError, "activation: expected 'silu' or None"),
    "backend": ({"backend": "cuda"}, ValueError, "backend: expected one of"),
    "device": (
        {"bias": torch.ones(5, device="meta")},
        ValueError,
        "bias: expected device cpu like",
    ),
    "offsets": ({"cu_seqlens": torch.tensor([0, 3])}, ValueError, "cu_seqlens: expected B = 1"),
}
BAD_PREFILL = BAD | {
    "state": ({"initial_state": torch.ones(2, 5, 4)}, ValueError, r"state: .*\[2, 5, 3\]"),
    "batch": ({"initial_state": torch.ones(3, 5, 3)}, ValueError, r"state: .*\[2, 5, 3\]"),
    "flag": ({"output_final_state": 1}, TypeError, "output_final_state: expected True or"),
    "keyword": ({"cu_seqlen": None}, TypeError, "unexpected keyword argument 'cu_seqlen'"),
}
SLOTS = torch.tensor([4, 1])
BAD_UPDATE = BAD | {
    "no pool": ({"pool": None}, TypeError, "pool: expected a torch.Tensor"),
    "pool": ({"pool": torch.ones(6, 5, 4)}, ValueError, r"pool: .*\[6, 5, 3\], got \[6, 5, 4\]"),
    "strides": ({"pool": torch.ones(6, 3, 5).mT}, ValueError, "pool: expected a contiguous"),
    "list": ({"slot_idx": [4, 1]}, TypeError, r"slot_idx: expected a torch.Tensor \[N\]"),
    "float": ({"slot_idx": SLOTS.double()}, ValueError, "slot_idx: expected int32 or int64"),
    "count": ({"slot_idx": SLOTS[:1]}, ValueError, r"slot_idx: .*shape \[N\] = \[2\], got .*\[1\]"),
    "twice": ({"slot_idx": torch.tensor([1, 1])}, ValueError, "slot_idx: expected no slot twice"),
    "beyond": ({"slot_idx": torch.tensor([1, 6])}, ValueError, "slot_idx: .*0 to 5, got 6"),
    "below": ({"slot_idx": torch.tensor([-1, 1])}, ValueError, "slot_idx: .*0 to 5, got -1"),
    "slots elsewhere": (
        {"slot_idx": SLOTS.to("meta")},
        ValueError,
        "slot_idx: expected device cpu like pool",
    ),
    "full": (
        {"slot_idx": None, "pool": torch.ones(1, 5, 3)},
        ValueError,
        "pool: expected a slot for each of 2",
    ),
    "gradient": ({"weight": torch.ones(5, 4).requires_grad_()}, ValueError, "weight: .*no grad"),
    "bias's": ({"bias": torch.ones(5).requires_grad_()}, ValueError, "bias: .*no grad"),
    "pool's": ({"pool": torch.ones(6, 5, 3).requires_grad_()}, ValueError, "pool: .*no grad"),
}


@pytest.mark.parametrize("change, error, message", BAD_PREFILL.values(), ids=BAD_PREFILL)
def test_prefill_refuses(change, error, message):
    good = {"x": torch.ones(2, 3, 5), "weight": torch.ones(5, 4)}
    causal_conv1d(**good)
    with pytest.raises(error, match=message):
        causal_conv1d(**good | change)


@pytest.mark.parametrize("change, error, message", BAD_UPDATE.values(), ids=BAD_UPDATE)
def test_update_refuses_and_leaves_the_pool_alone(change, error, message):
    good = {"x": torch.ones(2, 3, 5), "pool": torch.zeros(6, 5, 3), "weight": torch.ones(5, 4)}
    good["slot_idx"] = SLOTS
    changed = good | change
    with pytest.raises(error, match=message):
        causal_conv1d_update(**changed)
    assert not good["pool"].any()
    good["weight"].requires_grad_()
    with torch.no_grad():
        causal_conv1d_update(**good)


@pytest.mark.interpreter
@pytest.mark.parametrize("backend", ["reference", "triton"])
def test_a_forward_derivative_of_the_update_is_refused_not_dropped(backend):
    if backend == "triton":
        pytest.importorskip("triton")
    x, pool, weight = torch.ones(2, 1, 5), torch.zeros(2, 5, 3), torch.ones(5, 4)
    with forward_ad.dual_level():
        dual = forward_ad.make_dual(x, torch.ones_like(x))
        with pytest.raises(ValueError, match="^x: expected no gradient to be asked for"):
            causal_conv1d_update(dual, pool, weight, backend=backend)
    assert not pool.any()


@pytest.mark.interpreter
@pytest.mark.parametrize("name", ["x", "weight", "bias", "initial_state"])
def test_triton_refuses_numbers_that_are_not_in_memory(name):
    """PyTorch negates them when it reads them, and a kernel would not; nor does it see tangents."""
    pytest.importorskip("triton")
    x = {"x": torch.ones(2, 3, 5), "weight": torch.ones(5, 4), "bias": torch.ones(5)}
    x["initial_state"] = torch.ones(2, 5, 3)
    negated = x | {name: torch._neg_view(x[name])}
    with pytest.raises(ValueError, match=rf"^{name}: expected .* pass {name}.resolve_neg\(\)"):
        causal_conv1d(**negated, backend="triton")
    causal_conv1d(**negated, backend="reference")
    with forward_ad.dual_level():
        dual = x | {name: forward_ad.make_dual(x[name], torch.ones_like(x[name]))}
        with pytest.raises(ValueError, match=f"^{name}: expected no tangent"):
            causal_conv1d(**dual, backend="triton")


@pytest.mark.interpreter
@pytest.mark.parametrize("name", ["x", "pool", "weight", "bias"])
def test_triton_refuses_numbers_of_the_update_that_are_not_in_memory(name):
    pytest.importorskip("triton")
    x = {"x": torch.ones(2, 1, 5), "pool": torch.ones(2, 5, 3)}
    x |= {"weight": torch.ones(5, 4), "bias": torch.ones(5)}
    before, x[name] = x["pool"].clone(), torch._neg_view(x[name])
    with pytest.raises(ValueError, match=rf"^{name}: expected .* pass {name}.resolve_neg\(\)"):
        causal_conv1d_update(**x, backend="triton")
    assert name == "pool" or torch.equal(x["pool"], before)


@pytest.mark.interpreter
@pytest.mark.parametrize("name", ["cu_seqlens", "slot_idx"])
def test_triton_refuses_indices_that_are_not_in_memory(name):
    """Read on the host they are right, and a kernel would read and write outside of its tensors."""
    pytest.importorskip("triton")
    x = {"x": torch.ones(1, 2, 5), "weight": torch.ones(5, 4)}
    indices = {name: torch._neg_view(-torch.tensor([0, 1, 2][: 3 if name == "cu_seqlens" else 2]))}
    if name == "slot_idx":
        x["x"] = torch.ones(2, 1, 5)
    message = rf"^{name}: expected .* pass {name}.resolve_neg\(\)"
    with pytest.raises(ValueError, match=message):
        causal_conv1d_update(**x, pool=torch.ones(2, 5, 3), **indices, backend="triton")
    if name == "cu_seqlens":
        with pytest.raises(ValueError, match=message):
            causal_conv1d(**x, **indices, backend="triton")


def test_triton_refuses_what_it_cannot_run():
    with pytest.raises(ValueError, match="expected float16, bfloat16 or float32, got float64"):
        causal_conv1d(**inputs(), backend="triton")
