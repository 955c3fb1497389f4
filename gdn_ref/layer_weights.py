"""The weights of `GatedDeltaNet` from and to the layers of other libraries.

A state dict is a dictionary from names to tensors. Each function takes one and returns another,
and copies no more than it has to:

    layer.load_state_dict(from_qwen3_next(theirs, num_heads=16))

============================ ==================== ================== ========================
ours                         fla 0.6              Qwen3-Next         Qwen3.5
============================ ==================== ================== ========================
`q_proj`, `k_proj`, `v_proj` the same             `in_proj_qkvz`     `in_proj_qkv`
`g_proj`                     the same             `in_proj_qkvz`     `in_proj_z`
`b_proj`, `a_proj`           the same             `in_proj_ba`       `in_proj_b`, `in_proj_a`
`conv1d`                     `q_conv1d` and so on the same           the same
`A_log`, `dt_bias`           the same             the same           the same
`o_norm`, `o_proj`           the same             `norm`, `out_proj` `norm`, `out_proj`
============================ ==================== ================== ========================

The channels of `conv1d` and the rows of `in_proj_qkv` are those of q, k and v in this order.
Olmo-Hybrid's state dict is ours as it is, both ways; Qwen4-Exp's is Qwen3.5's. Qwen3-Next
interleaves: the rows of `in_proj_qkvz` are, for one key head after the other, its q, its k, and the
v and z (our g) of all its value heads; those of `in_proj_ba` its heads' b and their a.

What a state dict does not say has to be said to the layer: the number of heads, `norm_eps` (1e-5
in fla and Olmo-Hybrid, `config.rms_norm_eps` in Qwen's), `allow_neg_eigval`. A layer of fla says it
itself: `from_fla` takes one in the place of its state dict, and `GatedDeltaNet.from_fla` makes the
whole of ours. A layer of fla without gate or convolution has no counterpart here; nor has one of
fla or Qwen4-Exp whose output gate is a sigmoid (`output_gate_activation`,
`config.output_gate_type`), which its weights do not tell.

What is no state dict raises `TypeError`; one without a weight that is needed, or a number of heads
that does not divide the value heads, `ValueError`.
"""

from collections.abc import Mapping

import torch
from torch import nn

from . import drop_in

QWEN = {"norm.weight": "o_norm.weight", "out_proj.weight": "o_proj.weight"}
OURS = (
    *(f"{name}_proj.weight" for name in "qkvgbao"),
    "conv1d.weight",
    "A_log",
    "dt_bias",
    "o_norm.weight",
)


def check(weights, *names):
    """`weights` is the state dict of one layer, and has `names`."""
    if not isinstance(weights, Mapping):
        raise TypeError(f"weights: expected a state dict, got {type(weights).__name__}")
    for name in names:
        if name not in weights:
            raise ValueError(
                f"weights: expected the state dict of one layer, which has {name}, "
                f"got {len(weights)} names without it"
            )


def check_heads(num_heads, weights):
    """`num_heads` key heads share the value heads evenly."""
    value_heads = len(weights["A_log"])
    if not isinstance(num_heads, int) or isinstance(num_heads, bool):
        raise TypeError(f"num_heads: expected an integer, got {type(num_heads).__name__}")
    if num_heads < 1 or value_heads % num_heads:
        raise ValueError(f"num_heads: expected a divisor of HV = {value_heads}, got {num_heads}")


def from_fla(weights: Mapping[str, torch.Tensor] | nn.Module) -> dict[str, torch.Tensor]:
    """From `fla.layers.GatedDeltaNet`, or its state dict: the three convolutions become one."""
    if is_of_fla(weights):
        options_of_fla(weights)
        weights = weights.state_dict()
    check(weights, *(f"{c}_conv1d.weight" for c in "qkv"))
    ours = {name: x for name, x in weights.items() if "_conv1d." not in name}
    for kind in ("weight", "bias"):
        if f"q_conv1d.{kind}" in weights:
            ours[f"conv1d.{kind}"] = torch.cat([weights[f"{c}_conv1d.{kind}"] for c in "qkv"])
    return ours


def is_of_fla(layer):
    """Whether it is a `fla.layers.GatedDeltaNet`, without importing that."""
    return isinstance(layer, nn.Module) and any(
        theirs.__name__ == "GatedDeltaNet" and theirs.__module__.startswith("fla.layers.")
        for theirs in type(layer).__mro__
    )


def options_of_fla(layer):
    """What to make our layer with, from a layer of fla that has a counterpart here."""
    if not is_of_fla(layer):
        raise TypeError(f"layer: expected a fla.layers.GatedDeltaNet, got {type(layer).__name__}")
    switches = {name: getattr(layer, name) for name in ("use_gate", "use_short_conv", "mode")}
    switches["output_gate_activation"] = getattr(layer.o_norm, "activation", "swish")
    drop_in.settle("from_fla", drop_in.LAYER, switches)
    names = ("hidden_size", "num_heads", "head_dim", "num_v_heads", "head_v_dim", "conv_size")
    options = {name: getattr(layer, name) for name in (*names, "conv_bias", "allow_neg_eigval")}
    weight = layer.q_proj.weight
    return options | {"norm_eps": layer.o_norm.eps, "device": weight.device, "dtype": weight.dtype}


def to_fla(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """To `fla.layers.GatedDeltaNet`."""
    check(weights, *OURS)
    theirs = {name: x for name, x in weights.items() if not name.startswith("conv1d.")}
    for kind in ("weight", "bias"):
        if f"conv1d.{kind}" in weights:
            parts = weights[f"conv1d.{kind}"].split(channels(weights))
            theirs |= {f"{c}_conv1d.{kind}": x for c, x in zip("qkv", parts, strict=True)}
    return theirs


def from_qwen3_5(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """From transformers' `Qwen3_5GatedDeltaNet`, dense or of a mixture of experts."""
    check(weights, *(f"in_proj_{name}.weight" for name in ("qkv", "z", "b", "a")))
    ours = {QWEN.get(name, name): x for name, x in weights.items() if "in_proj" not in name}
    values = len(weights["in_proj_z.weight"])
    keys = (len(weights["in_proj_qkv.weight"]) - values) // 2
    q, k, v = weights["in_proj_qkv.weight"].split([keys, keys, values])
    g, b, a = (weights[f"in_proj_{name}.weight"] for name in "zba")
    return ours | projections(q, k, v, g, b, a)


def to_qwen3_5(weights: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """To transformers' `Qwen3_5GatedDeltaNet`."""
    check(weights, *OURS)
    q, k, v, g, b, a = (weights[f"{name}_proj.weight"] for name in "qkvgba")
    parts = {"qkv": torch.cat([q, k, v]), "z": g, "b": b, "a": a}
    return qwen_rest(weights) | {f"in_proj_{name}.weight": x for name, x in parts.items()}


def from_qwen3_next(weights: Mapping[str, torch.Tensor], num_heads: int) -> dict[str, torch.Tensor]:
    """From transformers' `Qwen3NextGatedDeltaNet` with this number of key heads."""
    check(weights, "in_proj_qkvz.weight", "in_proj_ba.weight", "conv1d.weight", "A_log")
    check_heads(num_heads, weights)
    ours = {QWEN.get(name, name): x for name, x in weights.items() if "in_proj" not in name}
    qkvz, ba = (weights[f"in_proj_{name}.weight"] for name in ("qkvz", "ba"))
    values = len(qkvz) - len(weights["conv1d.weight"])  # rows of z: the convolution has none
    keys = len(qkvz) // 2 - values
    sizes = [rows // num_heads for rows in (keys, keys, values, values)]
    by_head = (x.unflatten(0, (num_heads, -1)) for x in (qkvz, ba))
    parts = (*next(by_head).split(sizes, dim=1), *next(by_head).chunk(2, dim=1))
    return ours | projections(*(x.flatten(0, 1) for x in parts))


def to_qwen3_next(weights: Mapping[str, torch.Tensor], num_heads: int) -> dict[str, torch.Tensor]:
    """To transformers' `Qwen3NextGatedDeltaNet` with this number of key heads."""
    check(weights, *OURS)
    check_heads(num_heads, weights)
    q, k, v, g, b, a = (
        weights[f"{name}_proj.weight"].unflatten(0, (num_heads, -1)) for name in "qkvgba"
    )
    parts = {"qkvz": [q, k, v, g], "ba": [b, a]}
    return qwen_rest(weights) | {
        f"in_proj_{name}.weight": torch.cat(x, dim=1).flatten(0, 1) for name, x in parts.items()
    }


def projections(q, k, v, g, b, a):
    """The six weights under our names."""
    parts = {"q": q, "k": k, "v": v, "g": g, "b": b, "a": a}
    return {f"{name}_proj.weight": x for name, x in parts.items()}


def qwen_rest(weights):
    """What Qwen's layers have besides projections of the input, under their names."""
    if "conv1d.bias" in weights:
        raise ValueError("weights: expected no conv1d.bias, which Qwen's layers have not, got one")
    theirs = {ours: name for name, ours in QWEN.items()}
    rest = ("conv1d.weight", "A_log", "dt_bias", *theirs)
    return {theirs.get(name, name): weights[name] for name in rest}


def channels(weights):
    """Channels of q, k and v."""
    return [len(weights[f"{name}_proj.weight"]) for name in "qkv"]
