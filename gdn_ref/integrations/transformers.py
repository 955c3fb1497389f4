"""gdn_ref's operators inside the hybrid models of transformers: in with one call, and out again.

The Gated DeltaNet layers of transformers find their two operators under two global names of their
modeling file. `use_gdn_ref` gives each such layer of one model a class of its own: a subclass whose
`forward` is transformers' own code, except that the two names mean our functions. Nothing global
changes and no weight is touched; `remove_gdn_ref` puts the first class back.
"""

import functools
import inspect
import sys
from types import CellType, FunctionType, MethodType
from typing import Generic, TypeVar

from torch import nn

from ..ops import chunk_gated_delta_rule, fused_recurrent_gated_delta_rule
from ..types import Backend
from ..validation import check_backend

OLDEST = (5, 17)
OPERATORS = {  # transformers' name -> our function
    "torch_chunk_gated_delta_rule": chunk_gated_delta_rule,
    "torch_recurrent_gated_delta_rule": fused_recurrent_gated_delta_rule,
}
CONVOLUTION = "causal_conv1d_fn"
ARGUMENTS = {"self", "query", "key", "value", "g", "beta", "chunk_size", "initial_state"}
ARGUMENTS |= {"output_final_state", "use_qk_l2norm_in_kernel", "kwargs"}
LAYERS = {  # transformers.models.<folder>.modeling_<folder> -> its Gated DeltaNet layer
    "qwen3_next": "Qwen3NextGatedDeltaNet",
    "qwen3_5": "Qwen3_5GatedDeltaNet",
    "qwen3_5_moe": "Qwen3_5MoeGatedDeltaNet",
    "qwen4_exp": "Qwen4ExpTextGatedDeltaNet",
    "olmo_hybrid": "OlmoHybridGatedDeltaNet",
}
KNOWN = {(f"transformers.models.{m}.modeling_{m}", name) for m, name in LAYERS.items()}
Model = TypeVar("Model", bound=nn.Module)
MODELS = "Qwen3-Next, Qwen3.5 (dense and MoE), Qwen4-Exp, Olmo-Hybrid"


def use_gdn_ref(model: Model, backend: Backend = "auto") -> "Swap[Model]":
    """Let every Gated DeltaNet layer of a transformers model compute with gdn_ref's functions.

    Prefill and training call `chunk_gated_delta_rule`, a cached step of one token calls
    `fused_recurrent_gated_delta_rule`. Projections, convolution, norms, cache and padding stay
    transformers' own. `state_dict` keeps its keys and its tensors; `copy.deepcopy`, `pickle` and
    `torch.save` of the model keep the swap, and other models do not see it.

    Parameters
    ----------
    model : torch.nn.Module
        Holds Gated DeltaNet layers of transformers 5.17 or newer: a Qwen3-Next, Qwen3.5 (dense
        or MoE, text or vision), Qwen4-Exp or Olmo-Hybrid model, or a part of one. Any device and
        dtype.
    backend : {"auto", "reference", "triton"}
        As in `gdn_ref.chunk_gated_delta_rule`. "auto" follows the tensors, so that a model on a
        CPU runs the reference even where Triton and flash-linear-attention are installed.

    Returns
    -------
    Swap
        Its `remove()` puts transformers' operators back; in a `with` statement, leaving does.

    Raises
    ------
    TypeError
        `model` is no module, or `backend` no string.
    ValueError
        `model` has no such layer, uses gdn_ref already, or has a layer whose `forward` was
        replaced; `backend` is unknown. The model is then unchanged.
    RuntimeError
        This version of transformers is too old, or its layers call other operators.

    Notes
    -----
    transformers passes its layers options that its plain operators ignore; so do ours, except
    `cu_seq_lens_q`, the offsets of packed sequences, which they obey. (Its plain convolution does
    not.) Swap before `torch.compile`.
    """
    check_module(model)
    check_backend(backend)
    if any(isinstance(layer, UsesGdnRef) for layer in model.modules()):
        raise ValueError("model: expected one without gdn_ref, got one that uses it: remove first")
    layers = [x for x in model.modules() if (type(x).__module__, type(x).__name__) in KNOWN]
    if not layers:
        raise ValueError(
            f"model: expected Gated DeltaNet layers of transformers ({MODELS}), got "
            f"{type(model).__name__}, which has none"
        )
    ours = {theirs: swapped_class(theirs, backend) for theirs in {type(x) for x in layers}}
    for layer in layers:
        check_forward(layer)
    for layer in layers:
        change_class(layer, ours[type(layer)])
    return Swap(model)


def remove_gdn_ref(model: nn.Module) -> None:
    """Put transformers' operators back; a model without ours is left as it is.

    `Swap.remove` does the same. This one serves a copied or loaded model, which has no `Swap`.
    """
    check_module(model)
    for layer in model.modules():
        if isinstance(layer, UsesGdnRef):
            change_class(layer, layer.theirs)


class Swap(Generic[Model]):
    """A model that computes with gdn_ref, and the way back. It prints what calls what.

    Attributes
    ----------
    model : torch.nn.Module
        The swapped model.
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    def __repr__(self) -> str:
        model = type(self.model).__name__
        swapped = [(name, x) for name, x in self.model.named_modules() if isinstance(x, UsesGdnRef)]
        if not swapped:
            return f"Swap({model}): removed, its layers call transformers' own operators"
        names, layers = zip(*swapped, strict=True)
        lines = [f"Swap({model}, backend={layers[0].backend!r})"]
        for theirs in dict.fromkeys(x.theirs for x in layers):
            mine = [name for name, x in swapped if x.theirs is theirs]
            place = mine[0] if len(mine) == 1 else f"{mine[0]} to {mine[-1]}"
            lines.append(f"{len(mine)} {theirs.__name__}, {place or 'the model itself'}")
        lines += [f"{name} -> gdn_ref.{ours.__name__}" for name, ours in OPERATORS.items()]
        return "\n  ".join(lines)

    def remove(self) -> None:
        """Put transformers' operators back; a second call does nothing."""
        remove_gdn_ref(self.model)

    def __enter__(self) -> Model:
        return self.model

    def __exit__(self, *exception: object) -> None:
        self.remove()


class UsesGdnRef:
    """A swapped layer: `theirs` is transformers' class of it. Copies and pickles keep the swap."""

    def __reduce_ex__(self, protocol):
        return new_layer, (self.theirs, self.backend), self.__getstate__()


def new_layer(theirs, backend):
    """An empty swapped layer, for `copy` and `pickle` to fill."""
    ours = swapped_class(theirs, backend)
    return ours.__new__(ours)


@functools.cache
def swapped_class(theirs, backend):
    """A subclass of the layer class `theirs` whose `forward` calls our functions."""
    check_contract(theirs)
    names = {name: as_called(ours, backend) for name, ours in OPERATORS.items()}
    convolution = inspect.unwrap(theirs.forward).__globals__.get(CONVOLUTION)
    if convolution is not None:
        names[CONVOLUTION] = convolution_as_called(convolution, backend)
    members = {
        "__module__": __name__,
        "theirs": theirs,
        "backend": backend,
        "forward": with_names(theirs.forward, names),
    }
    return type(f"{theirs.__name__}UsingGdnRef", (UsesGdnRef, theirs), members)


def as_called(operator, backend):
    """`operator` under transformers' contract: options that it does not have are ignored."""
    known = frozenset(inspect.signature(operator).parameters)

    def called(query, key, value, **options):
        options = {name: x for name, x in options.items() if name in known}
        cp = cp_context()
        if cp is None:
            return operator(query, key, value, **options, backend=backend)
        check_sharded(options)
        from .. import distributed

        return distributed.chunk_gated_delta_rule(
            query, key, value, **options, backend=backend, cp_context=cp
        )

    return called


def convolution_as_called(theirs, backend):
    """Their convolution, `[B, D, T]`; in a `sharded` block, ours across the ranks."""

    def called(x, weight, bias=None, activation=None, **options):
        cp = cp_context()
        if cp is None:
            return theirs(x, weight, bias, activation=activation, **options)
        from .. import distributed

        y, _ = distributed.causal_conv1d(
            x.mT, weight, bias, activation=activation, backend=backend, cp_context=cp
        )
        return y.mT

    return called


def cp_context():
    """Of the `gdn_ref.distributed.sharded` block around the call, if any."""
    module = sys.modules.get("gdn_ref.distributed.sharded")
    return None if module is None else module.current()


def check_sharded(options):
    """A sharded call starts and ends its sequences: no cache, and offsets in the context alone."""
    for name in ("initial_state", "cu_seqlens"):
        if options.pop(name, None) is not None:
            raise ValueError(
                f"{name}: expected None under gdn_ref.distributed.sharded, got a value"
            )
    if options.pop("output_final_state", False):
        raise ValueError(
            "past_key_values: expected none under gdn_ref.distributed.sharded, got one"
        )


def with_names(function, names):
    """A copy of `function`, decorators included, whose innermost code sees these global names."""
    inner = getattr(function, "__wrapped__", None)
    if inner is None:
        scope, cells = function.__globals__ | names, function.__closure__
        del scope["__name__"]  # torch.compile would look the names up in the module of that name
    else:
        changed, scope = CellType(with_names(inner, names)), function.__globals__
        cells = tuple(changed if x.cell_contents is inner else x for x in function.__closure__)
        if changed not in cells:
            raise RuntimeError(f"transformers: a decorator of {function.__qualname__} is unknown")
    copy = FunctionType(function.__code__, scope, function.__name__, function.__defaults__, cells)
    copy.__kwdefaults__ = function.__kwdefaults__
    return functools.update_wrapper(copy, function)


def change_class(layer, new):
    """Make `layer` a `new`; a `forward` that accelerate's hooks have kept goes along."""
    old = type(layer).forward
    layer.__class__ = new
    for name in ("forward", "_old_forward"):
        if getattr(vars(layer).get(name), "__func__", None) is old:
            setattr(layer, name, MethodType(new.forward, layer))


def check_module(model):
    """`model` is a module of PyTorch."""
    if not isinstance(model, nn.Module):
        raise TypeError(f"model: expected a torch.nn.Module, got {type(model).__name__}")


def check_forward(layer):
    """`layer` runs the `forward` of its class, at most behind a hook of accelerate."""
    kept = vars(layer).get("_old_forward", vars(layer).get("forward", layer.forward))
    if getattr(kept, "__func__", None) is not type(layer).forward:
        raise ValueError(
            f"model: expected {type(layer).__name__} layers with their own `forward`, got one "
            "whose `forward` was replaced: swap first, or undo that"
        )


def check_contract(theirs):
    """This transformers calls its operators by the names and with the arguments that we know."""
    import transformers
    from packaging.version import parse

    got, oldest = transformers.__version__, ".".join(map(str, OLDEST))
    if parse(got).release < OLDEST:
        raise RuntimeError(f"transformers: expected {oldest} or newer, got {got}")
    forward = inspect.unwrap(theirs.forward)
    for name in OPERATORS:
        operator = forward.__globals__.get(name)
        if name not in forward.__code__.co_names or operator is None:
            raise RuntimeError(
                f"transformers {got}: expected {theirs.__name__}.forward to call {name}, "
                "which it does not: this version is newer than gdn_ref knows"
            )
        plain = getattr(type(operator), "forward", operator)  # `kernels` makes it a module
        unknown = set(inspect.signature(plain).parameters) - ARGUMENTS
        if unknown:
            raise RuntimeError(
                f"transformers {got}: expected {name} without {', '.join(sorted(unknown))}: "
                "this version is newer than gdn_ref knows"
            )
