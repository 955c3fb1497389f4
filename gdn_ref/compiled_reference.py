"""The reference as two operators that `torch.compile` and `torch.export` place in a graph.

Traced line by line, its loops over chunks and sequences would make another graph for every number
of them, and offsets would have to be read in the middle. An operator hides both: one graph takes
any length. Only compiled code calls them, and what they run is `reference.forward` as it stands.

They are defined without an entry for autograd. A `torch.library.custom_op` has one, below which
nothing records, while `backward` has autograd itself go through the forward pass.
"""

import torch
from torch import library

from . import reference

TENSORS = ("q", "k", "v", "g", "beta", "initial_state", "gk", "gv")  # None may be all but q, k, v
GIVEN = (
    "Tensor q, Tensor k, Tensor v, Tensor? g, Tensor beta, Tensor? initial_state, Tensor? gk, "
    "Tensor? gv, Tensor? cu_seqlens, float scale, int? chunk_size, bool batch_invariant"
)

library.define("gdn_ref::reference_forward", f"({GIVEN}) -> (Tensor, Tensor)")
library.define(
    "gdn_ref::reference_backward", f"(Tensor? do, Tensor? dS, bool[] wanted, {GIVEN}) -> Tensor[]"
)


def forward(
    q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size, gk=None, gv=None,
    *, batch_invariant=False,
):  # fmt: skip
    """As `reference.forward`, or with `batch_invariant` as `reference.one_by_one`."""
    if chunk_size is None and cu_seqlens is None and k.shape[1] == 1:  # no loop: one step
        given = (q, k, v, g, beta, scale, initial_state, None, None, gk, gv)
        return (reference.one_by_one if batch_invariant else reference.forward)(*given)
    tensors = (q, k, v, g, beta, initial_state, gk, gv)
    options = (float(scale), chunk_size, batch_invariant)
    return torch.ops.gdn_ref.reference_forward(*tensors, cu_seqlens, *options)


def run(q, k, v, g, beta, initial_state, gk, gv, cu_seqlens, scale, chunk_size, batch_invariant):
    """The reference, from the operators' order of arguments."""
    forward = reference.one_by_one if batch_invariant else reference.forward
    return forward(q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size, gk, gv)


@library.impl("gdn_ref::reference_forward", "default")
def _(*given):
    """Outputs and final state, in pieces of memory of their own."""
    with torch.no_grad():
        o, S = run(*given)
    return o.clone() if o.numel() == 0 else o, S.contiguous()


@library.register_fake("gdn_ref::reference_forward")
def _(q, k, v, g, beta, initial_state, gk, gv, cu_seqlens, *options):
    dtype = torch.promote_types(v.dtype, torch.float32)
    N = v.shape[0] if cu_seqlens is None else cu_seqlens.shape[0] - 1
    o = torch.empty_like(v, memory_format=torch.contiguous_format)
    return o, v.new_empty((N, v.shape[2], v.shape[3], k.shape[3]), dtype=dtype)


@library.impl("gdn_ref::reference_backward", "default")
def _(do, dS, wanted, *given):
    """The gradients of the tensors that are `wanted`: the forward pass again, then autograd's."""
    tensors, rest = given[: len(TENSORS)], given[len(TENSORS) :]
    with torch.enable_grad():
        tensors = [
            x if x is None else x.detach().requires_grad_(needs)
            for x, needs in zip(tensors, wanted, strict=True)
        ]
        leaves = [x for x, needs in zip(tensors, wanted, strict=True) if needs]
        results = [(y, dy) for y, dy in zip(run(*tensors, *rest), (do, dS), strict=True)
                   if dy is not None and y.requires_grad]  # fmt: skip
        outputs, cotangents = zip(*results, strict=True)
        found = torch.autograd.grad(outputs, leaves, cotangents, materialize_grads=True)
    return [dx.contiguous() for dx in found]


@library.register_fake("gdn_ref::reference_backward")
def _(do, dS, wanted, *given):
    leaves = [x for x, needs in zip(given, wanted, strict=False) if needs]
    return [torch.empty_like(x, memory_format=torch.contiguous_format) for x in leaves]


def keep(ctx, inputs, output):
    """What the backward pass starts from."""
    *tensors, ctx.scale, ctx.chunk_size, ctx.batch_invariant = inputs
    ctx.save_for_backward(*tensors)
    ctx.set_materialize_grads(False)


def gradients(ctx, do, dS):
    """One for each argument of the forward pass."""
    tensors = ctx.saved_tensors
    options = (ctx.scale, ctx.chunk_size, ctx.batch_invariant)
    wanted = ctx.needs_input_grad[: len(TENSORS)]
    if do is None and dS is None:
        return (None,) * (len(tensors) + len(options))
    found = iter(Once.apply(do, dS, wanted, *tensors, *options))
    return *[next(found) if needs else None for needs in wanted], None, None, None, None


class Once(torch.autograd.Function):
    """The backward pass where a second derivative may follow: it must not be taken for zero."""

    @staticmethod
    def forward(ctx, *given):
        return tuple(torch.ops.gdn_ref.reference_backward(*given))

    @staticmethod
    def backward(ctx, *gradients):
        raise ValueError("torch.compile: expected one derivative of compiled code, got two")


library.register_autograd("gdn_ref::reference_forward", gradients, setup_context=keep)
