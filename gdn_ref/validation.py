"""Argument checks for `gdn_ref.ops`. They all run before any work, so a bad call changes nothing.

A wrong Python type raises `TypeError`, a wrong value `ValueError`; both name the argument, what
was expected and what came.
"""

import sys
import warnings
from itertools import pairwise
from numbers import Real

import torch
from torch.autograd import forward_ad
from torch.utils.weak import WeakIdKeyDictionary

AXES = {
    "B": "batch",
    "T": "tokens",
    "H": "key heads",
    "HV": "value heads",
    "K": "key dim",
    "V": "value dim",
    "N": "sequences = B or len(cu_seqlens) - 1",
    "D": "channels",
    "W": "width",
    "W - 1": "inputs kept",
}
QUERY = ("B", "T", "H", "K")
VALUE = ("B", "T", "HV", "V")
NUMBER = ("B", "T", "HV")
BACKENDS = ("auto", "reference", "triton")
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
OFFSETS = (torch.int32, torch.int64)

_read = WeakIdKeyDictionary()  # cu_seqlens -> (version, its values on the host)


def check_tensors(
    q, k, v, g, beta, initial_state, cu_seqlens, state_v_first, gk=None, gv=None,
):  # fmt: skip
    """Types, dtypes, devices and every axis; the first tensor that has an axis fixes its size."""
    sizes = {}
    check_tensor("q", q, QUERY, sizes)
    device = q.device
    check_tensor("k", k, QUERY, sizes, device)
    check_tensor("v", v, VALUE, sizes, device)
    for axis in ("H", "HV", "K", "V"):
        if sizes[axis] < 1:
            name, x = ("q", q) if axis in "HK" else ("v", v)
            raise ValueError(
                f"{name}: expected {axis} >= 1, got shape {list(x.shape)} ({legend(axis)})"
            )
    if sizes["HV"] % sizes["H"]:
        raise ValueError(
            f"v: expected HV a multiple of H = {sizes['H']}, got HV = {sizes['HV']} "
            f"({legend('H', 'HV')})"
        )
    if g is not None:
        check_tensor("g", g, NUMBER, sizes, device)
    if gk is not None:
        check_tensor("gk", gk, ("B", "T", "HV", "K"), sizes, device)
    if gv is not None:
        check_tensor("gv", gv, VALUE, sizes, device)
    check_tensor("beta", beta, NUMBER, sizes, device)
    sizes["N"] = sizes["B"]
    if cu_seqlens is not None:
        check_cu_seqlens(cu_seqlens, sizes["B"], sizes["T"], device)
        sizes["N"] = cu_seqlens.shape[0] - 1
    if initial_state is not None:
        axes = ("N", "HV", "V", "K") if state_v_first else ("N", "HV", "K", "V")
        check_tensor("initial_state", initial_state, axes, sizes, device)


def legend(*axes):
    """What these letters stand for."""
    return ", ".join(f"{axis} {AXES[axis]}" for axis in axes if axis in AXES)


def check_tensor(name, x, axes, sizes, device=None):
    """`x` is a floating tensor with these axes. Adds to `sizes` the axes it is first to have."""
    dense = isinstance(x, torch.Tensor) and x.layout is torch.strided and not x.is_nested
    if dense and x.dtype in FLOATS and x.ndim == len(axes):
        for axis, size in zip(axes, x.shape, strict=True):
            if sizes.setdefault(axis, size) != size:
                break
        else:  # all is well, which should not cost the host much
            check_device(name, x, device)
            return
    layout = f"[{', '.join(axes)}]"
    if not isinstance(x, torch.Tensor):
        raise TypeError(f"{name}: expected a torch.Tensor {layout}, got {type(x).__name__}")
    if not dense:
        kind = "a nested one" if x.is_nested else f"layout {x.layout}"
        raise ValueError(f"{name}: expected a dense tensor {layout}, got {kind}")
    if x.dtype not in FLOATS:
        expected = ", ".join(str(dtype) for dtype in FLOATS)
        raise ValueError(f"{name}: expected a dtype among {expected}, got {x.dtype}")
    if x.ndim != len(axes):
        raise ValueError(
            f"{name}: expected {len(axes)} axes {layout}, got shape {list(x.shape)} "
            f"({legend(*axes)})"
        )
    expected = [sizes.setdefault(axis, size) for axis, size in zip(axes, x.shape, strict=True)]
    raise ValueError(
        f"{name}: expected shape {layout} = {expected}, got {list(x.shape)} ({legend(*axes)})"
    )


def check_device(name, x, device):
    """`x` lives on `device` (that of q), or anywhere if `device` is None."""
    if device is not None and x.device != device:
        raise ValueError(f"{name}: expected device {device} like q, got {x.device}")


def check_cu_seqlens(cu_seqlens, B, T, device):
    """`[N + 1]` offsets 0 = first <= second <= ... <= last = T of packed sequences, B = 1."""
    name = "cu_seqlens"
    if not isinstance(cu_seqlens, torch.Tensor):
        raise TypeError(f"{name}: expected a torch.Tensor [N + 1], got {type(cu_seqlens).__name__}")
    if cu_seqlens.dtype not in OFFSETS:
        raise ValueError(f"{name}: expected int32 or int64, got {cu_seqlens.dtype}")
    if cu_seqlens.ndim != 1 or cu_seqlens.shape[0] < 1:
        raise ValueError(
            f"{name}: expected shape [N + 1], at least one entry, got {list(cu_seqlens.shape)}"
        )
    check_device(name, cu_seqlens, device)
    if B != 1:
        raise ValueError(f"{name}: expected B = 1 (sequences packed along T), got B = {B}")
    offsets = read_offsets(name, cu_seqlens)
    if offsets is not None:
        check_offsets(offsets, T)


def check_offsets(offsets, T):
    """The values of `cu_seqlens`, read on the host."""
    name = "cu_seqlens"
    if offsets[0] != 0:
        raise ValueError(f"{name}: expected to start at 0, got {offsets[0]}")
    if offsets[-1] != T:
        raise ValueError(f"{name}: expected to end at T = {T}, got {offsets[-1]}")
    for n, (begin, end) in enumerate(pairwise(offsets)):
        if end < begin:
            raise ValueError(
                f"{name}: expected offsets that never fall, got {end} after {begin} at {n + 1}"
            )


def read_offsets(name, cu_seqlens):
    """The values on the host, or None where they cannot be read.

    Reading waits for the device, so it happens once per tensor and in-place change. Tensors made
    under `torch.inference_mode` count no changes, so they are read at every call. (A change by way
    of `.data` is counted nowhere.) It cannot happen while a CUDA graph is captured or a compiler
    traces.
    """
    if torch.compiler.is_compiling():
        return None
    if cu_seqlens.is_meta:
        raise ValueError(f"{name}: expected numbers to read, got a tensor on the meta device")
    if not reading_waits(cu_seqlens):
        return cu_seqlens.tolist()
    version = None if cu_seqlens.is_inference() else cu_seqlens._version
    known = _read.get(cu_seqlens)
    if known is None or version is None or known[0] != version:
        if cu_seqlens.is_cuda and torch.cuda.is_current_stream_capturing():
            return None
        known = _read[cu_seqlens] = version, cu_seqlens.tolist()
    return known[1]


def reading_waits(x):
    """Whether reading `x` on the host has to wait for a device."""
    return x.device.type != "cpu"


def check_flags(**flags):
    """Switches are True or False: a tensor or a 1 in their place is a misplaced argument."""
    for name, flag in flags.items():
        if not isinstance(flag, bool):
            raise TypeError(f"{name}: expected True or False, got {type(flag).__name__}")


def renamed(state_v_first, transpose_state_layout):
    """`state_v_first`, given by its older name."""
    check_flags(transpose_state_layout=transpose_state_layout)
    if state_v_first:
        raise ValueError(
            "transpose_state_layout: expected state_v_first = True alone, whose older name it is, "
            "got both"
        )
    warnings.warn(
        "transpose_state_layout is the older name of state_v_first", DeprecationWarning, 3
    )
    return transpose_state_layout


def check_scale(scale):
    """A finite number, or None for the default."""
    if scale is None:
        return
    if not isinstance(scale, Real) or isinstance(scale, bool):
        raise TypeError(f"scale: expected a number or None, got {type(scale).__name__}")
    if not abs(scale) <= sys.float_info.max:  # `math.isfinite` takes no symbol of `torch.compile`
        raise ValueError(f"scale: expected a finite number, got {scale}")


def check_chunk_size(chunk_size):
    """A positive integer (which `True` is not)."""
    if not isinstance(chunk_size, int) or isinstance(chunk_size, bool):
        raise TypeError(f"chunk_size: expected an integer, got {type(chunk_size).__name__}")
    if chunk_size < 1:
        raise ValueError(f"chunk_size: expected at least 1, got {chunk_size}")


def check_gate(use_gate_in_kernel, g, A_log, dt_bias, v):
    """The gate's parameters come with its switch, and with a raw `g` to act on."""
    if not use_gate_in_kernel:
        for name, x in (("A_log", A_log), ("dt_bias", dt_bias)):
            if x is not None:
                raise ValueError(f"{name}: expected None unless use_gate_in_kernel=True")
        return
    for name, x in (("g", g), ("A_log", A_log)):
        if x is None:
            raise ValueError(f"{name}: expected a tensor with use_gate_in_kernel=True, got None")
    sizes = {"HV": v.shape[2]}
    check_tensor("A_log", A_log, ("HV",), sizes, v.device)
    if dt_bias is not None:
        check_tensor("dt_bias", dt_bias, ("HV",), sizes, v.device)


def check_beta_range(allow_neg_eigval, use_beta_sigmoid_in_kernel):
    """The factor 2 belongs to the sigmoid; a ready-made beta may lie in (0, 2) as it is."""
    if allow_neg_eigval and not use_beta_sigmoid_in_kernel:
        raise ValueError(
            "allow_neg_eigval: expected use_beta_sigmoid_in_kernel=True with it, got False"
        )


def check_backend(backend):
    """One of the known names."""
    if not isinstance(backend, str):
        raise TypeError(f"backend: expected a string, got {type(backend).__name__}")
    if backend not in BACKENDS:
        raise ValueError(f"backend: expected one of {', '.join(BACKENDS)}, got {backend!r}")


def check_triton(device, dtype, K, V, chunk_size):
    """Triton can run this here; if not, say why, for nothing falls back silently."""

    def refuse(reason):
        raise ValueError(f"backend: Triton cannot run this: {reason}; backend='reference' can")

    if dtype == torch.float64:
        refuse("expected float16, bfloat16 or float32, got float64")
    try:
        import triton
    except ImportError as error:
        raise ImportError(
            "backend: expected triton to be installed, and it is not (pip install triton); "
            "backend='reference' runs without it"
        ) from error
    interpreted = triton.knobs.runtime.interpret
    if interpreted and isinstance(triton.language.cdiv, triton.JITFunction):
        interpreted = False  # switched on when Triton's own functions were compiled ones already
    if device.type != "cuda" and not interpreted:
        refuse(
            f"expected CUDA tensors, got {device}, where it has only its interpreter "
            "(start Python with TRITON_INTERPRET=1 in its environment)"
        )
    if dtype == torch.bfloat16 and interpreted:
        refuse("expected float16 or float32 in the interpreter, which computes bfloat16 wrongly")
    from .kernels.host.tiles import CHUNK_SIZES, MAX_KEY_DIM, MAX_VALUE_DIM

    for axis, size, most in (("K", K, MAX_KEY_DIM), ("V", V, MAX_VALUE_DIM)):
        if size > most:
            refuse(f"expected {axis} <= {most}, got {axis} = {size}")
    if chunk_size not in CHUNK_SIZES:
        refuse(f"expected chunk_size in {CHUNK_SIZES}, got {chunk_size}")


def check_in_memory(**tensors):
    """Triton reads memory, in which these tensors' numbers stand as they are, and no tangents."""
    if torch._C._are_functorch_transforms_active():
        raise ValueError(
            "backend: Triton cannot run this: expected no transform of torch.func; "
            "backend='reference' takes them"
        )
    for name, x in tensors.items():
        if x is not None and x.is_neg():
            raise ValueError(
                f"{name}: expected its numbers in memory, got a view that negates what is there: "
                f"pass {name}.resolve_neg()"
            )
        if x is not None and forward_ad.unpack_dual(x).tangent is not None:
            raise ValueError(
                f"{name}: expected no tangent, for Triton has no derivative forwards, got a dual "
                "tensor; backend='reference' has one"
            )


def check_alone(name, **others):
    """With the argument `name`, these are None."""
    for other, value in others.items():
        if value is not None:
            raise ValueError(f"{other}: expected None with {name}, got {type(value).__name__}")
