"""Gated DeltaNet, from its equations to the GPU.

Importing this package imports neither torch, triton nor sympy: names load on first use.
The chapters and `gdn_ref.proofs` derive and check every equation that the code cites.
"""

from importlib import import_module

__version__ = "0.1.0"

_HOME = {  # public name -> the module that holds it
    "GatedDeltaNet": "layers",
    "GatedDeltaNetCache": "layers",
    "causal_conv1d": "convolution",
    "causal_conv1d_update": "convolution",
    "chunk_gated_delta_rule": "ops",
    "decode": "decoding",
    "fused_recurrent_gated_delta_rule": "ops",
}
_MODULES = (
    "affine",
    "chunking",
    "convolution",
    "delta_rule",
    "gated_delta_rule",
    "layer_weights",
    "layers",
    "linear_attention",
    "ops",
    "scalar_decay",
    "wy",
)

__all__ = ["__version__", *_HOME, *_MODULES]


def __getattr__(name):
    if name in _HOME:
        value = getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
    elif name in _MODULES:
        value = import_module(f"{__name__}.{name}")
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
