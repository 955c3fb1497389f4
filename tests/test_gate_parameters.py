"""`A_log` and `dt_bias` through all that is done to models: float32, marked, the same numbers."""

import copy
import io

import pytest
import torch
from torch import nn

from gdn_ref import GatedDeltaNet

GATE = {"A_log", "dt_bias"}


def model(dtype=None):
    """A layer inside of a model, as it is cast and copied."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(12, 12, dtype=dtype), GatedDeltaNet(12, 2, 6, dtype=dtype))


def saved_and_loaded(net):
    file = io.BytesIO()
    torch.save(net, file)
    return torch.load(io.BytesIO(file.getvalue()), weights_only=False)


def assigned(net):
    """The weights of `net` put into another, as they are."""
    other = model()
    other.load_state_dict(net.state_dict(), assign=True)
    return other


def assigned_in_16_bits(net):
    """From a file of a library that casts everything."""
    other = model(torch.bfloat16)
    other.load_state_dict({n: x.bfloat16() for n, x in net.state_dict().items()}, assign=True)
    return other


def through_meta(net):
    """Made without memory, as large models are, then filled."""
    empty = copy.deepcopy(net).to("meta").to_empty(device="cpu")
    empty.load_state_dict(net.state_dict())
    return empty


def as_new_parameters(net):
    """PyTorch may be told to make new parameters at each cast."""
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        return net.bfloat16()
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(False)


WAYS = {
    "to bfloat16": (lambda net: net.to(torch.bfloat16), torch.bfloat16),
    "to a device and bfloat16": (lambda net: net.to("cpu", torch.bfloat16), torch.bfloat16),
    "bfloat16": (lambda net: net.bfloat16(), torch.bfloat16),
    "half": (lambda net: net.half(), torch.float16),
    "type": (lambda net: net.type(torch.float16), torch.float16),
    "16 bits and back": (lambda net: net.half().float(), torch.float32),
    "float64 and 16 bits": (lambda net: net.double().bfloat16(), torch.bfloat16),
    "new parameters": (as_new_parameters, torch.bfloat16),
    "deepcopy": (copy.deepcopy, torch.float32),
    "deepcopy of 16 bits": (lambda net: copy.deepcopy(net.bfloat16()), torch.bfloat16),
    "copy": (copy.copy, torch.float32),
    "save": (saved_and_loaded, torch.float32),
    "assign": (assigned, torch.float32),
    "assign in 16 bits": (lambda net: assigned(net.bfloat16()), torch.bfloat16),
    "meta": (through_meta, torch.float32),
}


@pytest.mark.parametrize("way, others", WAYS.values(), ids=WAYS)
def test_the_gate_stays_float32_and_marked(way, others):
    expected = {name: x.clone() for name, x in model()[1].named_parameters(recurse=False)}
    net = way(model())[1]
    found = dict(net.named_parameters())
    assert {name for name, x in found.items() if getattr(x, "_no_weight_decay", False)} == GATE
    for name, x in found.items():
        assert x.dtype == (torch.float32 if name in GATE else others), name
        assert isinstance(x, nn.Parameter) and x.requires_grad
    for name in GATE:
        assert torch.equal(found[name], expected[name]), name
    assert net(torch.randn(1, 3, 12, dtype=others)).isfinite().all()


def test_a_file_in_16_bits_is_widened():
    net = assigned_in_16_bits(model())[1]
    for name, x in model()[1].named_parameters(recurse=False):
        found = getattr(net, name)
        assert found.dtype == torch.float32 and found._no_weight_decay
        assert torch.equal(found, x.bfloat16().float())
    assert net.q_proj.weight.dtype == torch.bfloat16


def test_float64_is_no_less():
    net = model().double()[1]
    assert {x.dtype for x in net.parameters()} == {torch.float64}
    assert net.A_log._no_weight_decay and net.dt_bias._no_weight_decay


def test_an_optimizer_keeps_its_parameters_and_a_gradient_its_type():
    net = model()
    before = dict(net[1].named_parameters())
    net(torch.randn(1, 3, 12)).sum().backward()
    gradient = net[1].A_log.grad.clone()
    net.bfloat16()
    assert all(before[name] is x for name, x in net[1].named_parameters())
    assert net[1].A_log.grad.dtype == torch.float32 and torch.equal(net[1].A_log.grad, gradient)
    assert net[1].q_proj.weight.grad.dtype == torch.bfloat16


def test_frozen_stays_frozen():
    net = model(torch.bfloat16)
    net[1].A_log.requires_grad_(False)
    assert not copy.deepcopy(net)[1].A_log.requires_grad
    other = model(torch.bfloat16)
    other[1].A_log.requires_grad_(False)
    other.load_state_dict({n: x.half() for n, x in net.state_dict().items()}, assign=True)
    assert not other[1].A_log.requires_grad and other[1].dt_bias.requires_grad
