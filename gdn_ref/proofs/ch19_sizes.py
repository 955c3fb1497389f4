"""Chapter 19: what a layer has to learn and what it has to keep, counted on built layers."""

import torch

from ..layers import GatedDeltaNet, GatedDeltaNetCache
from .ch20_model import Hybrid
from .page import value
from .registry import verifies

CASES = ((32, 2, 8, 4, 8, 4), (24, 3, 4, 3, 8, 2), (16, 1, 6, 4, 5, 3), (20, 2, 5, 2, 10, 4))


def hybrid(hidden, H, K, HV, V, W):
    """One Gated DeltaNet layer of these sizes, in the words of chapter 20."""
    return Hybrid(1, 0, hidden, 1, 1, 1, H, HV, K, V, 1, 1, taps=W)


def named(hidden, H, K, HV, V, W):
    """The letters of the page; numbers are bfloat16, those of a state float32."""
    channels = 2 * H * K + HV * V
    return {"D": hidden, "H_v": HV, "d_k": K, "d_v": V, "W": W, "chi": channels, "b": 2, "b_S": 4}


def layer(hidden, H, K, HV, V, W, **made):
    return GatedDeltaNet(hidden, H, K, num_v_heads=HV, head_v_dim=V, conv_size=W, **made)


def parameters(x, wide=2, gates=2, mixing=1):
    """All numbers that a layer without a convolution bias learns (eq-block-parameters)."""
    values = x.value_heads * x.d_v
    matrices = x.width * (x.channels + wide * values + gates * x.value_heads)
    return matrices + x.taps * x.channels * mixing + gates * x.value_heads + x.d_v


@verifies(
    "eq-block-parameters",
    method="enumeration",
    covers="four layers of different shapes, built and counted",
    mutants={
        "no output gate": {"wide": 1},
        "one gate": {"gates": 1},
        "convolution over all channels": {"mixing": 2},
    },
)
def parameters_are_counted(**replaced):
    """The sum over a built layer's parameters, less the formula."""
    residual = []
    for sizes in CASES:
        found = sum(p.numel() for p in layer(*sizes, device="meta").parameters())
        residual.append(found - parameters(hybrid(*sizes), **replaced))
        residual.append(found - value("eq-block-parameters", otherwise=found, **named(*sizes)))
    return residual


def cache_bytes(x, b=2, b_S=4, inputs=-1, square=True):
    """Bytes that a layer keeps of one sequence, at any length (eq-layer-cache-bytes)."""
    rows = x.d_k if square else 1
    return b_S * x.value_heads * x.d_v * rows + b * (x.taps + inputs) * x.channels


@verifies(
    "eq-layer-cache-bytes",
    method="enumeration",
    covers="four layers in bfloat16, caches of two sequences after 1, 2 and 40 tokens",
    mutants={
        "W inputs": {"inputs": 0},
        "values only": {"square": False},
        "state in bfloat16": {"b_S": 2},
    },
)
def caches_are_weighed(**replaced):
    """The bytes of the tensors in a cache, less the formula."""
    residual = []
    for sizes in CASES:
        net, x = layer(*sizes, dtype=torch.bfloat16, backend="reference"), hybrid(*sizes)
        for T in (1, 2, 40):
            cache = GatedDeltaNetCache()
            with torch.no_grad():
                net(torch.zeros(2, T, x.width, dtype=torch.bfloat16), cache)
            held = cache.conv_state.nbytes + cache.recurrent_state.nbytes
            residual.append(held - 2 * cache_bytes(x, **replaced))
            formula = value("eq-layer-cache-bytes", otherwise=held // 2, **named(*sizes))
            residual.append(held - 2 * formula)
    return residual
