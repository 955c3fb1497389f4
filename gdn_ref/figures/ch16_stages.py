"""The backward kernels, each run on its own in Triton's interpreter, and what they ask of memory.

Set TRITON_INTERPRET=1 before this module is imported. Tensors are of one head, `[T, ...]`, and
chunks have `C` tokens; every output is NaN where a kernel does not write.
"""

import math
import weakref
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import torch
import triton
import triton.language as tl
from torch.utils._python_dispatch import TorchDispatchMode

from ..kernels import rule
from ..kernels.backward import launches as backward
from ..kernels.backward.chunk_gradients import (
    ChunkGradientsCase,
    ChunkGradientsGiven,
    chunk_gradients_kernel,
    crossings,
)
from ..kernels.backward.state_gradients import (
    StateGradientsCase,
    StateGradientsGiven,
    state_gradients_kernel,
)
from ..kernels.backward.states import StatesCase, StatesGiven, chunk_states_kernel
from ..kernels.forward.transform import TransformCase, TransformGiven, ut_transform_kernel
from ..kernels.host import launch as host_launch
from .ch14_interpreted import counting, half_inputs

EXACT = {"PACKED": False, "PRECISION": "tf32x3"}


def inverses(k, g, beta, C):
    """`c` and `T_inv`, the inverse without the write strengths."""
    T, K = k.shape
    c, T_inv = _nan(1, T, dtype=torch.float64), _nan(1, T, C)
    ut_transform_kernel[triton.cdiv(T, C), 1](
        TransformGiven(_float(k), _float(g), _float(beta), c, T_inv, None, 1, T, T, 1, 1),
        TransformCase(K=K, C=C, BK=_tile(K), HAS_G=True, SCALED=False, **EXACT),
    )
    return c[0], T_inv[0]


def chunk_states(S, k, v, beta, c, T_inv, C, BV=16):
    """`[N, V, K]`, the state that each chunk receives."""
    (T, K), V = k.shape, v.shape[1]
    states = _nan(triton.cdiv(T, C), V, K)
    chunk_states_kernel[(triton.cdiv(V, BV),)](
        StatesGiven(_float(k), _float(v), _float(beta), c, T_inv, _float(S), states, None, T, T),
        StatesCase(
            1, 1, K, V, S_v=K, S_k=1, C=C, BK=_tile(K), BV=BV, HAS_S=True, STAGES=1, **EXACT
        ),
    )
    return states


def state_gradients(q, k, do, beta, c, T_inv, dS_last, C, BV=16):
    """dv, the gradient of the state that each chunk hands on, and that of the first state.

    Of a token with a small `beta` the first has Z, not dv: see `factor` in the kernel.
    """
    (T, K), V = k.shape, do.shape[1]
    dv, dstates, dS_first = _nan(T, V), _nan(triton.cdiv(T, C), V, K), _nan(V, K)
    state_gradients_kernel[(triton.cdiv(V, BV),)](
        StateGradientsGiven(
            _float(q), _float(k), _float(do), _float(beta), c, T_inv, _float(dS_last), dv, dstates,
            dS_first, None, 1.0, T, T,
        ),
        StateGradientsCase(
            1, 1, K, V, S_v=K, S_k=1, C=C, BK=_tile(K), BV=BV, HAS_DS=True, STAGES=1, **EXACT
        ),
    )  # fmt: skip
    return dv, dstates, dS_first


def chunk_gradients(q, k, v, beta, c, T_inv, do, dv, states, dstates, C, BV=16):
    """`dq, dk, dv, dg, dbeta`; `dv` is finished in its place, as in the package."""
    (T, K), V = k.shape, v.shape[1]
    dq, dk, dg, dbeta = _nan(T, K), _nan(T, K), _nan(T), _nan(T)
    chunk_gradients_kernel[triton.cdiv(T, C), 1](
        ChunkGradientsGiven(
            _float(q), _float(k), _float(v), _float(beta), c, T_inv, _float(do), dv, states,
            dstates, dq, dk, dg, dbeta, None, 1.0, 1, T, T,
        ),
        ChunkGradientsCase(
            1, 1, K, V, C=C, BK=_tile(K), BV=BV, HAS_G=True, SHORT=False, **EXACT
        ),
    )  # fmt: skip
    return dq, dk, dv, dg, dbeta


@triton.jit
def _crossings_kernel(J_ptr, a_ptr, b_ptr, out_ptr, old, C: tl.constexpr):
    t = tl.arange(0, C)
    J = tl.load(J_ptr + t[:, None] * C + t[None, :])
    tl.store(out_ptr + t, crossings(J, tl.load(a_ptr + t), tl.load(b_ptr + t), old, C))


def crossings_of(J, a, b, old):
    """dg by the function of kernel 3, from J, what is read of the old state, and what is left."""
    out = _nan(len(J))
    _crossings_kernel[(1,)](_float(J), _float(a), _float(b), out, float(old), len(J))
    return out


def launched(B, T, H, HV, D, dtype=torch.bfloat16, chunk_size=64):
    """Of each launch of a backward pass: kernel, programs, bytes of each tensor. Nothing runs.

    Chunks are those of the kernels for Hopper, as asked for; all sequences go at once.
    """
    found = []

    def note(launch, grid, tensors, *rest):
        *tiles, _, _ = launch.kernel.arg_names
        tensors = zip((*tiles, *launch.given._fields), tensors, strict=False)
        found.append((
            launch.kernel.fn.__name__, math.prod(grid),
            {name.removesuffix("_ptr"): x.nbytes for name, x in tensors
             if isinstance(x, torch.Tensor)},
        ))  # fmt: skip

    with on_paper(note):
        *tokens, S, do, dS = problem(B, T, H, HV, D, dtype)
        backward.chunk_backward(*tokens, 1.0, S, None, chunk_size, do, dS)
    return found


def problem(B, T, H, HV, D, dtype):
    """Tensors of a call and of its backward pass: q, k, v, g, beta, S, do, dS."""
    q, k = (torch.empty(B, T, H, D, dtype=dtype) for _ in range(2))
    v, do = (torch.empty(B, T, HV, D, dtype=dtype) for _ in range(2))
    g, beta = (torch.empty(B, T, HV) for _ in range(2))
    S, dS = (torch.empty(B, HV, D, D) for _ in range(2))
    return q, k, v, g, beta, S, do, dS


@contextmanager
def on_paper(note, room=None):
    """Inside, tensors have no data, launches are given to `note`, and tiles are Hopper's.

    `room`: programs of a scan that run at a time; without it a batch is not cut into pieces.
    """
    tiles = backward.gradient_tiles

    def as_on_hopper(K, dtype, chunk_size, *device):
        return tiles(K, dtype, chunk_size, hopper=True)

    with ExitStack() as stack:
        stack.enter_context(torch.device("meta"))
        stack.enter_context(patch.object(host_launch.Launch, "__call__", note))
        stack.enter_context(patch.object(backward, "gradient_tiles", as_on_hopper))
        at_once = patch.object(backward, "programs_at_once", lambda device, hopper: room)
        stack.enter_context(at_once)
        yield


class Alive(TorchDispatchMode):
    """Counts the bytes of what is allocated inside and not yet freed; `peak` is the most."""

    def __init__(self):
        super().__init__()
        self.sizes, self.peak = {}, 0

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):
        made = operation(*args, **(kwargs or {}))
        if operation in (torch.ops.aten.empty.memory_format, torch.ops.aten.new_empty.default,
                         torch.ops.aten.empty_like.default):  # fmt: skip
            storage = made.untyped_storage()
            self.sizes[storage._cdata] = storage.nbytes()
            weakref.finalize(storage, self.sizes.pop, storage._cdata)
            self.peak = max(self.peak, sum(self.sizes.values()))
        return made


def peak(B, T, H, HV, D, room=None):
    """Bytes alive at most in both passes, inputs and given gradients left out. Nothing runs."""
    with on_paper(lambda *_, **options: None, room):
        q, k, v, g, beta, S, do, dS = problem(B, T, H, HV, D, torch.bfloat16)
        tensors = (q, k, v, g, beta, None, None, S, None)
        options = {"scale": 1.0, "v_first": False, "norm": False, "sigmoid": False}
        call = rule.Rule(tensors, torch.bfloat16, 64, True, **options, negative=False)
        with Alive() as alive:
            o, S, *kept = call.forward(*tensors)  # alive while the backward pass is at work
            call.backward(do, dS, *tensors, kept=kept)
            del o, S, kept
    return alive.peak


def count(T=64, H=1, HV=2, K=16, V=16, chunk_size=16):
    """Run the backward pass of one sequence, float16 with states, and count as chapter 14 does."""
    tokens, normal, S = half_inputs(T, H, HV, K, V)
    do, dS = normal(1, T, HV, V).half(), normal(1, HV, V, K)
    with counting() as counts:
        backward.chunk_backward(*tokens, 1.0, S, None, chunk_size, do, dS)
    return counts


def _float(x):
    return x.float().contiguous()


def _nan(*shape, dtype=torch.float32):
    return torch.full(shape, math.nan, dtype=dtype)


def _tile(K):
    return max(16, triton.next_power_of_2(K))
