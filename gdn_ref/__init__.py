"""Gated DeltaNet, from its equations to the GPU.

    import torch
    from gdn_ref import chunk_gated_delta_rule

    q, k, v = torch.randn(3, 1, 100, 2, 16)  # [batch, tokens, heads, size]
    g, beta = -0.1 * torch.rand(1, 100, 2), torch.rand(1, 100, 2)
    o, _ = chunk_gated_delta_rule(q, k, v, g, beta, use_qk_l2norm_in_kernel=True)

For a model, with PyTorch: `chunk_gated_delta_rule` for whole sequences,
`fused_recurrent_gated_delta_rule` and `decode` for a few tokens, `causal_conv1d` and
`causal_conv1d_update`, and `GatedDeltaNet`, the layer; `precompile` spares the first call a wait,
and `distributed` has them over the ranks of `torch.distributed`.
To read, with NumPy or any other array:
`linear_attention`, `scalar_decay`, `delta_rule`, `gated_delta_rule`, its gradients in `backward`,
what they are made of, `wy`, `chunking` and `affine`, and `family`, where KDA, RWKV-7 and others are
one rule.

Importing this package imports neither torch, triton nor sympy: names load on first use.
The chapters and `gdn_ref.proofs` derive and check every equation that the code cites.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # what the lazy names are
    from . import affine as affine
    from . import backward as backward
    from . import chunking as chunking
    from . import convolution as convolution
    from . import delta_rule as delta_rule
    from . import distributed as distributed
    from . import family as family
    from . import gated_delta_rule as gated_delta_rule
    from . import layer_weights as layer_weights
    from . import layers as layers
    from . import linear_attention as linear_attention
    from . import ops as ops
    from . import scalar_decay as scalar_decay
    from . import wy as wy
    from .ahead_of_time import precompile as precompile
    from .convolution import causal_conv1d as causal_conv1d
    from .convolution import causal_conv1d_update as causal_conv1d_update
    from .decoding import decode as decode
    from .layers import GatedDeltaNet as GatedDeltaNet
    from .layers import GatedDeltaNetCache as GatedDeltaNetCache
    from .ops import chunk_gated_delta_rule as chunk_gated_delta_rule
    from .ops import fused_recurrent_gated_delta_rule as fused_recurrent_gated_delta_rule

__version__ = "0.1.0"

_HOME = {  # public name -> the module that holds it
    "GatedDeltaNet": "layers",
    "GatedDeltaNetCache": "layers",
    "causal_conv1d": "convolution",
    "causal_conv1d_update": "convolution",
    "chunk_gated_delta_rule": "ops",
    "decode": "decoding",
    "fused_recurrent_gated_delta_rule": "ops",
    "precompile": "ahead_of_time",
}
_MODULES = (
    "affine",
    "backward",
    "chunking",
    "convolution",
    "delta_rule",
    "distributed",
    "family",
    "gated_delta_rule",
    "layer_weights",
    "layers",
    "linear_attention",
    "ops",
    "scalar_decay",
    "wy",
)

_NEED_TORCH = {*_HOME.values(), "distributed", "layer_weights"}

__all__ = ["__version__", *_HOME, *_MODULES]


def _load(name: str) -> Any:
    """The module's `__getattr__`."""
    if name not in _HOME and name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        module = import_module(f"{__name__}.{_HOME.get(name, name)}")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ModuleNotFoundError(
            f"gdn_ref.{name} needs PyTorch, which is not installed (pip install torch)",
            name="torch",
        ) from None
    value = module if name in _MODULES else getattr(module, name)
    globals()[name] = value
    return value


if not TYPE_CHECKING:  # a checker would take any name for one of ours
    __getattr__ = _load


def __dir__() -> list[str]:
    """The public names, those that need PyTorch only where it is installed."""
    torch = find_spec("torch") is not None
    return sorted(name for name in __all__ if torch or _HOME.get(name, name) not in _NEED_TORCH)
