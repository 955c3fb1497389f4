"""The Triton kernels as operators that `torch.compile` places in a graph without looking inside.

Only compiled code calls them: an operator costs more on the host than the kernels' own launches.
"""

import torch
from torch import Tensor

from . import validation
from .prepared import CHUNKS, DECODE, RULE, prepared


@torch.library.custom_op("gdn_ref::chunk_forward", mutates_args=())
def forward(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor | None, beta: Tensor, scale: float,
    initial_state: Tensor | None, cu_seqlens: Tensor | None, chunk_size: int,
    batch_invariant: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Outputs and final state; as `reference.forward`, and `batch_invariant` as the kernels'."""
    from .kernels.forward.launches import chunk_forward_like

    tensors = (q, k, v, g, beta, initial_state, cu_seqlens)
    options = {"scale": scale, "chunk_size": chunk_size, "batch_invariant": batch_invariant}
    return remembered(chunk_forward_like, tensors, CHUNKS, options)(*tensors)


@torch.library.custom_op("gdn_ref::chunk_forward_keep", mutates_args=())
def forward_keep(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor | None, beta: Tensor, scale: float,
    initial_state: Tensor | None, cu_seqlens: Tensor | None, chunk_size: int,
    batch_invariant: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """`forward` in training: also `c` and `T_inv`, empty where `backward` cannot use them."""
    from .kernels.backward.launches import new_kept, same_chunks
    from .kernels.forward.launches import chunk_forward_like

    tensors = (q, k, v, g, beta, initial_state, cu_seqlens)
    keep = same_chunks(k, v, chunk_size)
    options = {"scale": scale, "chunk_size": chunk_size, "keep": keep}
    options["batch_invariant"] = batch_invariant
    o, S, *kept = remembered(chunk_forward_like, tensors, CHUNKS, options)(*tensors)
    c, T_inv, *_ = kept or new_kept(k, v, chunk_size)
    T_inv[len(c) :].zero_()  # the room, which no kernel writes: results follow from arguments
    return o, S, c, T_inv


def remembered(prepare, tensors, roles, options):
    """`prepare(*tensors, **options)`, once for calls that look alike."""
    return prepared(prepare_with, tensors, roles, (prepare, tuple(options.items())))


def prepare_with(*tensors_and_options):
    """What `prepared` calls the first time."""
    *tensors, prepare, options = tensors_and_options
    return prepare(*tensors, **dict(options))


@forward.register_fake
def fake_forward(q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size, *_):
    """The results' shapes, dtypes and strides."""
    K, V = k.shape[3], v.shape[3]
    validation.check_triton(v.device, v.dtype, K, V, chunk_size)
    N = v.shape[0] if cu_seqlens is None else cu_seqlens.shape[0] - 1
    v_first = initial_state is not None and not initial_state.mT.is_contiguous()
    size = (N, v.shape[2], V, K) if v_first else (N, v.shape[2], K, V)
    S = v.new_empty(size, dtype=torch.float32)
    return torch.empty_like(v, memory_format=torch.contiguous_format), S if v_first else S.mT


@forward_keep.register_fake
def _(q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size, *_):
    o, S = fake_forward(q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size)
    from .kernels.backward.launches import new_kept

    return o, S, *new_kept(k, v, chunk_size)


@torch.library.custom_op("gdn_ref::chunk_backward", mutates_args=())
def backward(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor | None, beta: Tensor, scale: float,
    initial_state: Tensor | None, cu_seqlens: Tensor | None, chunk_size: int,
    do: Tensor, dS: Tensor | None, c: Tensor | None = None, T_inv: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of `forward`, as `chunk_backward` of the kernels; `dg` is empty without `g`."""
    tensors = (q, k, v, g, beta, initial_state, cu_seqlens)
    run = prepared(backward_for, tensors, CHUNKS, (scale, chunk_size))
    dq, dk, dv, dg, dbeta, dS_first = run(*tensors, do, dS, c, T_inv)
    return dq, dk, dv, beta.new_empty(0) if dg is None else dg, dbeta, dS_first


def backward_for(q, k, v, g, beta, initial_state, cu_seqlens, scale, chunk_size):
    """For `prepared`: the backward pass after any forward pass that looks like this."""
    from .kernels.backward.launches import Backward

    return Backward(scale, chunk_size)


@backward.register_fake
def _(q, k, v, g, beta, scale, S, cu_seqlens, chunk_size, do, dS, c=None, T_inv=None):
    vectors = (torch.empty_like(x, memory_format=torch.contiguous_format) for x in (q, k, v))
    dbeta = torch.empty_like(beta, dtype=torch.float32, memory_format=torch.contiguous_format)
    dg = beta.new_empty(0) if g is None else torch.empty_like(dbeta)
    N = v.shape[0] if cu_seqlens is None else cu_seqlens.shape[0] - 1
    dS_first = v.new_empty((N, v.shape[2], v.shape[3], k.shape[3]), dtype=torch.float32)
    return *vectors, dg, dbeta, dS_first


def keep(ctx, inputs, output):
    """What the backward pass starts from."""
    *given, ctx.scale, initial_state, cu_seqlens, ctx.chunk_size, _ = inputs
    _, _, *kept = output
    ctx.save_for_backward(*given, initial_state, cu_seqlens, *kept)
    ctx.mark_non_differentiable(*kept)
    ctx.set_materialize_grads(False)


def gradients(ctx, do, dS, *_):
    """One for each argument of `forward`."""
    q, k, v, g, beta, S, cu_seqlens, *kept = ctx.saved_tensors
    do = torch.zeros_like(v) if do is None else do
    given = (q, k, v, g, beta, ctx.scale, S, cu_seqlens, ctx.chunk_size)
    dq, dk, dv, dg, dbeta, dS = backward(*given, do, dS, *kept)
    dg, dS = None if g is None else dg, None if S is None else dS
    return dq, dk, dv, dg, dbeta, None, dS, None, None, None


for operator in (forward, forward_keep):
    operator.register_autograd(gradients, setup_context=keep)


@torch.library.custom_op("gdn_ref::recurrent_forward", mutates_args=())
def recurrent(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor | None, beta: Tensor, A_log: Tensor | None,
    dt_bias: Tensor | None, initial_state: Tensor | None, cu_seqlens: Tensor | None,
    gk: Tensor | None = None, gv: Tensor | None = None,
    *, scale: float, norm: bool, sigmoid: bool, negative: bool, v_first: bool,
    batch_invariant: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Outputs and final state, token by token; see `Recurrent` of the kernels."""
    from .kernels.decode.launches import Recurrent

    tensors = (q, k, v, g, beta, A_log, dt_bias, initial_state, cu_seqlens, gk, gv)
    options = {"scale": scale, "v_first": v_first, "norm": norm}
    options |= {"sigmoid": sigmoid, "negative": negative, "batch_invariant": batch_invariant}
    return remembered(Recurrent, tensors, RULE, options)(*tensors)


@recurrent.register_fake
def _(q, k, v, g, beta, A_log, dt_bias, S, cu_seqlens, gk=None, gv=None, *, v_first, **options):
    (K, V), dtype = (k.shape[3], v.shape[3]), v.dtype
    for x in (q, k):
        dtype = torch.promote_types(dtype, x.dtype)
    validation.check_triton(v.device, dtype, K, V, 64)
    N = v.shape[0] if cu_seqlens is None else cu_seqlens.shape[0] - 1
    size = (N, v.shape[2], V, K) if v_first else (N, v.shape[2], K, V)
    o = torch.empty_like(v, memory_format=torch.contiguous_format)
    return o, v.new_empty(size, dtype=torch.float32)


def no_gradient(ctx, *gradients):
    """Of the token by token form, which a gradient reaches only with gk or gv."""
    from .kernels.host.autograd import OneWay

    OneWay.backward(ctx, *gradients)


recurrent.register_autograd(no_gradient)


@torch.library.custom_op("gdn_ref::decode", mutates_args=("pool",))
def decode(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor | None, beta: Tensor, A_log: Tensor | None,
    dt_bias: Tensor | None, pool: Tensor, cu_seqlens: Tensor | None, slot_idx: Tensor | None,
    scale: float, state_v_first: bool, norm: bool, sigmoid: bool, negative: bool,
) -> Tensor:  # fmt: skip
    """Outputs, and states in `pool`; arguments as those of `Decode` of the kernels."""
    from .kernels.decode.launches import Decode

    tensors = (q, k, v, g, beta, A_log, dt_bias, pool, cu_seqlens, slot_idx)
    options = {"scale": scale, "state_v_first": state_v_first, "norm": norm}
    options |= {"sigmoid": sigmoid, "negative": negative}
    return remembered(Decode, tensors, DECODE, options)(*tensors)


@decode.register_fake
def _(q, k, v, g, beta, A_log, dt_bias, pool, *others):
    for dtype in (v.dtype, pool.dtype):
        validation.check_triton(v.device, dtype, k.shape[3], v.shape[3], 64)
    return torch.empty_like(v, memory_format=torch.contiguous_format)
