"""Argument checks for `convolution`, `decoding` and `layers`, in the manner of `validation`."""

import math
from numbers import Real

import torch

from . import validation

ACTIVATIONS = ("silu", None)
CONV_STATE = ("N", "D", "W - 1")
RECURRENT_STATE = ("N", "HV", "K", "V")


def check_convolution(x, weight, bias, state, state_name, state_axis, cu_seqlens):
    """Types, dtypes, devices and every axis. Returns the number of sequences."""
    sizes = {}
    validation.check_tensor("x", x, ("B", "T", "D"), sizes)
    validation.check_tensor("weight", weight, ("D", "W"), sizes)
    if sizes["D"] < 1 or sizes["W"] < 1:
        raise ValueError(f"weight: expected D >= 1 and W >= 1, got shape {list(weight.shape)}")
    sizes["W - 1"] = sizes["W"] - 1
    if bias is not None:
        validation.check_tensor("bias", bias, ("D",), sizes)
    N = sizes["B"]
    if cu_seqlens is not None:
        validation.check_cu_seqlens(cu_seqlens, N, sizes["T"], None)
        N = cu_seqlens.shape[0] - 1
    if state_axis == "N":
        sizes["N"] = N
    if state is not None or state_axis != "N":
        validation.check_tensor(state_name, state, (state_axis, "D", "W - 1"), sizes)
    check_devices(x, weight=weight, bias=bias, cu_seqlens=cu_seqlens, **{state_name: state})
    return N


def check_devices(x, **others):
    """All of the other tensors lie where `x` does."""
    for name, tensor in others.items():
        if tensor is not None and tensor.device != x.device:
            raise ValueError(f"{name}: expected device {x.device} like x, got {tensor.device}")


def check_slot_idx(slot_idx, N, pool):
    """An integer for each sequence, or None and slots enough."""
    name, slots = "slot_idx", pool.shape[0]
    if slot_idx is None:
        if slots < N:
            raise ValueError(f"pool: expected a slot for each of {N} sequences, got {slots}")
        return
    check_integers(name, slot_idx, "N")
    if slot_idx.shape != (N,):
        raise ValueError(
            f"{name}: expected shape [N] = [{N}], got {list(slot_idx.shape)} "
            f"({validation.legend('N')})"
        )
    if slot_idx.device != pool.device:
        raise ValueError(f"{name}: expected device {pool.device} like pool, got {slot_idx.device}")


def check_slots(slot_idx, pool):
    """Slots of the pool, no two alike, as far as they can be read."""
    values, slots = validation.read_offsets("slot_idx", slot_idx), pool.shape[0]
    if not values:
        return
    for slot in (min(values), max(values)):
        if not 0 <= slot < slots:
            raise ValueError(f"slot_idx: expected slots from 0 to {slots - 1}, got {slot}")
    if len(set(values)) < len(values):
        twice = next(slot for slot in values if values.count(slot) > 1)
        raise ValueError(f"slot_idx: expected no slot twice, got {twice} more than once")


def check_sequences(sequences, state):
    """Rows of a state, as far as they can be read without waiting."""
    name, N = "sequences", len(state)
    check_integers(name, sequences, "M")
    if sequences.ndim != 1:
        raise ValueError(f"{name}: expected shape [M], got {list(sequences.shape)}")
    if sequences.device != state.device:
        raise ValueError(f"{name}: expected device {state.device}, got {sequences.device}")
    if torch.compiler.is_compiling() or validation.reading_waits(sequences):
        return
    for n in sequences.tolist():
        if not 0 <= n < N:
            raise ValueError(f"{name}: expected numbers from 0 to {N - 1}, got {n}")


def check_integers(name, x, axis):
    """A tensor of indices."""
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name}: expected a torch.Tensor [{axis}], got {type(x).__name__}")
    if x.dtype not in validation.OFFSETS:
        raise ValueError(f"{name}: expected int32 or int64, got {x.dtype}")


def check_activation(activation):
    if activation not in ACTIVATIONS:
        raise ValueError(f"activation: expected 'silu' or None, got {activation!r}")


def check_inputs(layer, x, cache, cu_seqlens, attention_mask):
    """Types, shapes and devices, before any work. Returns the number of sequences."""
    sizes = {"hidden_size": layer.hidden_size, "D": sum(layer.channels)}
    sizes |= {"W - 1": layer.conv1d.kernel_size[0] - 1, "HV": layer.num_v_heads}
    sizes |= {"K": layer.head_dim, "V": layer.head_v_dim}
    validation.check_tensor("x", x, ("B", "T", "hidden_size"), sizes)
    check_like_weights(x, layer.q_proj)
    N = B = sizes["B"]
    if cu_seqlens is not None:
        validation.check_cu_seqlens(cu_seqlens, B, sizes["T"], None)
        check_devices(x, cu_seqlens=cu_seqlens)
        N = cu_seqlens.shape[0] - 1
    sizes["N"] = N
    for name, axes in (("conv_state", CONV_STATE), ("recurrent_state", RECURRENT_STATE)):
        state = getattr(cache, name)
        if state is not None:
            validation.check_tensor(f"cache.{name}", state, axes, sizes)
            check_devices(x, **{f"cache.{name}": state})
    if attention_mask is None:
        return N
    if cu_seqlens is not None:
        raise ValueError("attention_mask: expected None with cu_seqlens, which has no padding")
    if not isinstance(attention_mask, torch.Tensor):
        found = type(attention_mask).__name__
        raise TypeError(f"attention_mask: expected a torch.Tensor [B, T], got {found}")
    if attention_mask.shape != x.shape[:2]:
        expected, found = list(x.shape[:2]), list(attention_mask.shape)
        raise ValueError(f"attention_mask: expected shape [B, T] = {expected}, got {found}")
    check_devices(x, attention_mask=attention_mask)
    warm = cache.conv_state is not None or cache.recurrent_state is not None
    if warm and not torch.compiler.is_compiling() and not attention_mask.all():
        raise ValueError(
            "attention_mask: expected no padding with a cache that holds tokens, whose convolution "
            "and decay it would disturb; got zeros. Pack the sequences with cu_seqlens instead"
        )
    return N


def check_like_weights(x, projection):
    """Device, and dtype unless autocast converts; other layers than `nn.Linear` may do so, too."""
    if type(projection) is not torch.nn.Linear:
        return
    weight = projection.weight
    if x.device != weight.device:
        raise ValueError(f"x: expected device {weight.device} like the weights, got {x.device}")
    if x.dtype != weight.dtype and not torch.is_autocast_enabled(x.device.type):
        expected = f"{weight.dtype} like the weights (or autocast)"
        raise ValueError(f"x: expected {expected}, got {x.dtype}")


def check_sizes(**sizes):
    """Positive integers."""
    for name, size in sizes.items():
        if not isinstance(size, int) or isinstance(size, bool):
            raise TypeError(f"{name}: expected an integer, got {type(size).__name__}")
        if size < 1:
            raise ValueError(f"{name}: expected at least 1, got {size}")


def check_layer(num_heads, num_v_heads, norm_eps, dtype):
    """Value heads in groups of one size; a finite number not below 0; a floating dtype or None."""
    if num_v_heads % num_heads:
        expected = f"a multiple of num_heads = {num_heads}"
        raise ValueError(f"num_v_heads: expected {expected}, got {num_v_heads}")
    if not isinstance(norm_eps, Real) or isinstance(norm_eps, bool):
        raise TypeError(f"norm_eps: expected a number, got {type(norm_eps).__name__}")
    if not 0 <= norm_eps < math.inf:
        raise ValueError(f"norm_eps: expected a finite number of at least 0, got {norm_eps}")
    if dtype is not None and not isinstance(dtype, torch.dtype):
        raise TypeError(f"dtype: expected a torch.dtype, got {type(dtype).__name__}")
    if dtype is not None and dtype not in validation.FLOATS:
        expected = ", ".join(map(str, validation.FLOATS))
        raise ValueError(f"dtype: expected one of {expected}, got {dtype}")


def value_dim(head_dim, head_v_dim, expand_v):
    """V, given as it is, by its ratio to K, or not at all."""
    if expand_v is None:
        return 2 * head_dim if head_v_dim is None else head_v_dim
    if head_v_dim is not None:
        raise ValueError(f"expand_v: expected None with head_v_dim = {head_v_dim}, got {expand_v}")
    if not isinstance(expand_v, Real) or isinstance(expand_v, bool):
        raise TypeError(f"expand_v: expected a number, got {type(expand_v).__name__}")
    size = expand_v * head_dim
    if not (math.isfinite(size) and round(size) >= 1 and math.isclose(size, round(size))):
        raise ValueError(
            f"expand_v: expected a whole number of at least 1 times head_dim = {head_dim}, "
            f"got {expand_v}"
        )
    return round(size)
