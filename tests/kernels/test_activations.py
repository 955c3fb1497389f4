"""Unit vectors, gate and write strength in Triton, both ways, against PyTorch in float64."""

import pytest
import torch
from tolerances import assert_close

from gdn_ref import chunk_gated_delta_rule
from gdn_ref.ops import log_decay, unit_rows

pytest.importorskip("triton")
pytestmark = [pytest.mark.interpreter, pytest.mark.usefixtures("unwritten_memory_is_nan", "fenced")]

from gdn_ref.kernels.activations import Activations  # noqa: E402

NAMES = ("q", "k", "g", "beta", "A_log", "dt_bias")
TOLERANCE = {torch.float32: 2e-6, torch.float16: 1e-3, torch.bfloat16: 8e-3}


def raw(B=2, T=37, H=2, HV=6, K=12, dtype=torch.float32, seed=0):
    """What a layer has: vectors of any length, numbers on both sides of zero."""
    generator = torch.Generator().manual_seed(seed)
    shapes = [(B, T, H, K)] * 2 + [(B, T, HV)] * 2 + [(HV,)] * 2
    x = [3 * torch.randn(shape, generator=generator) for shape in shapes]
    x[4] = x[4] / 3
    return [t.to(dtype) for t in x]


def expected(q, k, g, beta, A_log, dt_bias, norm=True, sigmoid=True, negative=False):
    if norm:
        q, k = unit_rows(q), unit_rows(k)
    if A_log is not None:
        g = log_decay(g, A_log, dt_bias)
    if sigmoid:
        beta = (2 if negative else 1) * torch.sigmoid(beta)
    return q, k, g, beta


def compare(x, dtype=torch.float32, norm=True, sigmoid=True, negative=False):
    """Both directions of `x`, into vectors of this dtype."""
    rule = Activations(*x, dtype, norm, sigmoid, negative)
    exact = [None if t is None else t.double().requires_grad_() for t in x]
    right = expected(*exact, norm, sigmoid, negative)
    found = rule.forward(*x)
    for a, b in zip(found, right, strict=True):
        if b is not None:
            assert_close(a.double().cpu(), b.detach().cpu(), TOLERANCE[a.dtype])
    assert found[0].dtype == found[1].dtype == dtype

    generator = torch.Generator().manual_seed(1)
    d = [None if y is None else torch.randn(y.shape, generator=generator) for y in right]
    d = [y if y is None else y.to(x[0].device) for y in d]
    d[:2] = (y.to(dtype) for y in d[:2])
    gradients = rule.backward(x, found[2], *d)
    kept = [(y, dy.double()) for y, dy in zip(right, d, strict=True) if y is not None]
    torch.autograd.backward(*zip(*kept, strict=True))
    for name, t, dx, leaf in zip(NAMES, x, gradients, exact, strict=True):
        if t is None:
            assert dx is None, name
        else:
            assert_close(dx.double().cpu(), leaf.grad.cpu(), 2 * TOLERANCE[t.dtype])
            assert dx.dtype == (t.dtype if name in "qk" else torch.float32)
    return found, gradients


@pytest.mark.parametrize("K", [2, 12, 64, 100, 256])
@pytest.mark.parametrize("H, HV", [(1, 1), (2, 2), (2, 6)])
def test_any_head(K, H, HV):
    compare(raw(K=K, H=H, HV=HV, T=9), negative=True)


@pytest.mark.gpu
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
@pytest.mark.parametrize("K, H, HV", [(60, 2, 6), (64, 1, 1), (128, 16, 32), (256, 3, 3)])
def test_any_head_on_a_device(K, H, HV, dtype):
    compare([x.cuda() for x in raw(K=K, H=H, HV=HV, T=300, dtype=dtype)], dtype, negative=True)


@pytest.mark.parametrize("B, T", [(1, 1), (3, 200)])
def test_any_number_of_tokens(B, T):
    compare(raw(B=B, T=T))


def test_float16():
    x = raw(dtype=torch.float16)
    compare(x, torch.float16)
    x[1], x[3], x[4] = x[1].float(), x[3].float(), x[4].float()
    compare(x)


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("sigmoid", [False, True])
@pytest.mark.parametrize("gate", ["no g", "ready", "raw", "raw, no bias"])
def test_what_is_ready_stays(norm, sigmoid, gate):
    x = raw(T=5)
    if gate == "no g":
        x[2] = None
    if not gate.startswith("raw"):
        x[4] = None
    if gate != "raw":
        x[5] = None
    found, gradients = compare(x, norm=norm, sigmoid=sigmoid)
    for i, ready in enumerate((not norm, not norm, not gate.startswith("raw"), not sigmoid)):
        if ready:
            assert found[i] is x[i], NAMES[i]


def test_calls_that_differ_are_compiled_apart(monkeypatch):
    """By what goes in, what comes out, and what is left out; None lies at an aligned address."""
    known = []
    noted = "gdn_ref.kernels.host.launch.Launch.__call__"
    monkeypatch.setattr(noted, lambda launch, *rest: known.append(launch))
    single, half = raw(T=5), raw(T=5, dtype=torch.float16)
    calls = [(x, dtype) for x in (single, half) for dtype in (torch.float32, torch.float16)]
    calls = [(x, dtype, True, True) for x, dtype in calls]
    calls += [(single, torch.float32, False, True), (single, torch.float32, True, False)]
    for x, *options in calls:
        Activations(*x, *options, False).forward(*x)
    assert len(set(known)) == len(known) == 6


def test_vectors_cut_from_one_row_are_taken_as_they_lie():
    x = raw()
    B, T, H, K = x[0].shape
    row = torch.cat([t.flatten(2) for t in x[:4]], dim=2)
    cuts = row.split([t.flatten(2).shape[2] for t in x[:4]], dim=2)
    apart = [cut.unflatten(2, t.shape[2:]) for cut, t in zip(cuts, x[:4], strict=True)]
    rule = Activations(*apart, *x[4:], torch.float32, True, True, False)
    assert rule.apart == []
    for a, b in zip(compare([*apart, *x[4:]])[0], compare(x)[0], strict=True):
        assert torch.equal(a, b)


def test_other_strides_are_copied():
    x = raw()
    spread = [t.mT.contiguous().mT if t.ndim > 1 else t.repeat_interleave(2)[::2] for t in x]
    assert not any(t.is_contiguous() for t in spread)
    for a, b in zip(compare(spread)[0], compare(x)[0], strict=True):
        assert torch.equal(a, b)


@pytest.mark.parametrize("i", range(4))
def test_each_tensor_lies_in_its_own_way(i):
    x = raw(T=9)
    wide = torch.cat([x[i], x[i]], dim=2)[:, :, : x[i].shape[2]]
    right, _ = compare(x)
    for t in (wide, x[i].mT.contiguous().mT):
        assert not t.is_contiguous()
        for a, b in zip(compare([*x[:i], t, *x[i + 1 :]])[0], right, strict=True):
            assert torch.equal(a, b)


def test_a_row_of_zeros_and_extremes():
    x = raw(T=4)
    x[0][:, 1] = 0
    x[2][:, 0], x[2][:, 1] = 80.0, -80.0
    x[3][:, 0], x[3][:, 1] = 80.0, -80.0
    found, gradients = compare(x)
    assert found[0][:, 1].abs().max() == 0
    assert all(t.isfinite().all() for t in (*found, *gradients))


def test_no_tokens():
    x = raw(T=0)
    rule = Activations(*x, torch.float32, True, True, False)
    found = rule.forward(*x)
    assert [t.shape for t in found] == [t.shape for t in x[:4]]
    for dx, t in zip(rule.backward(x, found[2], *found), x, strict=True):
        assert dx.shape == t.shape and not dx.any()


COPIES = {  # what hooks of autograd may make of a tensor
    "none": lambda t: t,
    "close": lambda t: t.clone(memory_format=torch.contiguous_format),
    "apart": lambda t: torch.stack([t, t], -1)[..., 0],
}


def test_what_is_kept_may_come_back_as_a_copy_that_lies_otherwise():
    # as with `save_on_cpu` on a device; queries and keys are slices, as in the layer
    q, k, g, beta, A_log, dt_bias = raw(T=20)
    given = (torch.stack([q, k], 2), torch.randn(2, 20, 6, 5), torch.stack([g, beta], 2))
    found = []
    for pack in COPIES.values():
        leaves = [t.clone().requires_grad_() for t in (*given, A_log, dt_bias)]
        qk, v, numbers, A_log, dt_bias = leaves
        (q, k), (g, beta) = qk.unbind(2), numbers.unbind(2)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
            o, _ = chunk_gated_delta_rule(
                q, k, v, g, beta, use_qk_l2norm_in_kernel=True,
                use_gate_in_kernel=True, A_log=A_log, dt_bias=dt_bias,
                use_beta_sigmoid_in_kernel=True, backend="triton", chunk_size=16,
            )  # fmt: skip
        found.append(torch.autograd.grad(o, leaves, torch.ones_like(o)))
    for other in found[1:]:
        for a, b in zip(found[0], other, strict=True):
            assert torch.equal(a, b)


@pytest.mark.parametrize("chunk_size", [16, 64])
def test_little_is_kept(chunk_size):
    """Autograd holds what the caller holds anyway; and c and T_inv, where the chunks are the same.

    (In float32 the backward pass cannot take chunks of 64.)
    """
    q, k, g, beta, A_log, dt_bias = (t.requires_grad_() for t in raw(T=20))
    v = torch.randn(2, 20, 6, 5, requires_grad=True)
    held = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: held.append(t) or t, lambda t: t):
        chunk_gated_delta_rule(
            q, k, v, g, beta, use_qk_l2norm_in_kernel=True, use_gate_in_kernel=True, A_log=A_log,
            dt_bias=dt_bias, use_beta_sigmoid_in_kernel=True, backend="triton",
            chunk_size=chunk_size,
        )  # fmt: skip
    own = {t.data_ptr() for t in (q, k, v, g, beta, A_log, dt_bias)}
    more = [t.shape for t in held if t.data_ptr() not in own]
    numbers = 2 * 20 * 6
    assert more == ([(numbers,), (numbers + 16, 16)] if chunk_size == 16 else [])
    assert {t.data_ptr() for t in held} >= own
