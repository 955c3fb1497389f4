"""A whole call: activations, then the kernels of one of the two forms; and backwards.

`gdn_ref.ops` checks the arguments first, and keeps what `rule_for` returns for calls that look
alike. From there a call goes to the launches of a pass (`forward.launches.Forward`), which knows
what to do for its sizes, and to the driver (`host.launch.Launch`).

Reference: `gdn_ref.ops.activated`.
"""

from functools import partial

import torch

from .activations import Activations
from .backward.launches import Backward, same_chunks
from .decode.launches import Recurrent
from .forward.launches import Forward
from .host.autograd import Differentiable, OneWay
from .host.launch import side_by_side
from .host.memory import in_dtype, like
from .host.routes import wants_whole_chunks


def rule_for(tensors, dtype, gradient, chunk_size, options):
    """What runs calls whose tensors look like these: a function of them, outputs and final states.

    Parameters
    ----------
    tensors : q, k, v, g, beta, A_log, dt_bias, initial_state, cu_seqlens
        As those of `gdn_ref.chunk_gated_delta_rule`; token by token gk and gv may follow.
    dtype : in which the chunk form takes `q`, `k` and `v`
    gradient : whether a backward pass may follow
    chunk_size : 16, 32 or 64, or None to go token by token
    options : scale, v_first, norm, sigmoid, negative, batch_invariant, as for
        `decode.launches.Recurrent`
    """
    if chunk_size is None:
        recurrent = Recurrent(*tensors, **options)
        return partial(OneWay.apply, recurrent) if gradient else recurrent
    rule = Rule(tensors, dtype, chunk_size, gradient, **options)
    if gradient:
        return partial(Differentiable.apply, rule)
    if not rule.ready:
        return rule.forward
    rule.for_kernels(tensors)
    return rule.chunks.whole_call


class Rule:
    """The chunk form, both ways, for calls that look alike."""

    def __init__(
        self, tensors, dtype, chunk_size, gradient, *, scale, v_first, norm, sigmoid, negative,
        batch_invariant=False,
    ):  # fmt: skip
        q, k, v, g, beta, A_log, dt_bias, S, _ = tensors
        six = (q, k, g, beta, A_log, dt_bias)
        self.activations = Activations(*six, dtype, norm, sigmoid, negative)
        dtypes = (q.dtype, k.dtype, v.dtype, torch.float32 if S is None else S.dtype)
        self.ready = dtypes == (dtype, dtype, dtype, torch.float32)
        self.ready = self.ready and not any(self.activations.acts_on)
        self.dtype, self.chunk_size, self.v_first = dtype, chunk_size, v_first
        self.gradient = gradient
        self.options = {"scale": scale, "v_first": v_first, "chunk_size": chunk_size}
        self.options["batch_invariant"] = batch_invariant
        self.chunks, self.gradients = None, Backward(scale, chunk_size, batch_invariant)

    def activate(
        self, activations, q, k, v, g, beta, A_log, dt_bias, initial_state, cu_seqlens,
    ):  # fmt: skip
        """The seven tensors that the kernels take."""
        q, k, g, beta = activations.forward(q, k, g, beta, A_log, dt_bias)
        v = in_dtype(v, self.dtype)
        S = None if initial_state is None else in_dtype(initial_state, torch.float32)
        return q, k, v, g, beta, S, cu_seqlens

    def forward(self, q, k, v, g, beta, A_log, dt_bias, S, cu_seqlens):
        """Outputs in v's dtype, and final states; what `backward` can use again, if kept."""
        given = self.for_kernels((q, k, v, g, beta, A_log, dt_bias, S, cu_seqlens))
        o, S, *kept = self.chunks(*given)
        if kept and wants_whole_chunks(k, v, cu_seqlens, self.chunk_size):
            kept = ()  # the backward pass lays its tokens out anew
        return in_dtype(o, v.dtype), S, *kept

    def for_kernels(self, tensors):
        """The seven tensors that the kernels take. For the first, all is compiled and planned."""
        if self.chunks is None and tensors[2].is_cuda:
            with side_by_side():
                self.rehearse(tensors)
        *tokens, _, _, S, cu_seqlens = tensors
        given = (*tokens, S, cu_seqlens)
        if not self.ready:
            given = self.activate(self.activations, *tensors)
        if self.chunks is None:
            self.chunks = self.plan(given)
        return given

    def plan(self, given):
        """The launches of the forward pass; with `c` and `T_inv`, if the other can use them."""
        _, k, v, *_ = given
        keep = self.gradient and same_chunks(k, v, self.chunk_size)
        return Forward(*given, keep=keep, **self.options)

    def rehearse(self, tensors):
        """Go where a call and its backward pass will, and run nothing: kernels are compiled.

        First where it takes longest. Whether the last states will have a gradient is not known
        yet: it is taken that they have none.
        """
        q, k, _, g, beta, A_log, dt_bias, *_ = tensors
        given = self.activate(self.activations, *tensors)
        chunks = self.plan(given)
        if self.gradient:
            *tokens, S, cu_seqlens = given
            S = S if S is None or self.v_first else S.mT
            _, _, v, *_ = tokens
            kept = chunks.kept(v, cu_seqlens) if chunks.keep else ()
            dq, dk, _, dg, dbeta, _ = self.gradients(*tokens, S, cu_seqlens, like(v), None, *kept)
            self.activations.back((q, k, g, beta, A_log, dt_bias), dq, dk, dg, dbeta)
        chunks(*given)

    def again(self, *tensors):
        """What the backward pass computes before it needs its gradients."""
        q, k, _, g, beta, A_log, dt_bias, *_ = tensors
        activations = self.activations.lying_as(q, k, g, beta, A_log, dt_bias)
        return activations, self.activate(activations, *tensors)

    def backward(self, do, dS, *tensors, kept=(), again=None):
        """Gradients of the tensors, None for those that have none."""
        q, k, v, g, beta, A_log, dt_bias, S, _ = tensors
        six = (q, k, g, beta, A_log, dt_bias)
        activations, (*given, S, cu_seqlens) = again or self.again(*tensors)
        if not self.v_first:
            S, dS = (None if x is None else x.mT for x in (S, dS))
        dq, dk, dv, dg, dbeta, dS = self.gradients(*given, S, cu_seqlens, do, dS, *kept)
        dq, dk, dg, dbeta, dA_log, ddt_bias = activations.backward(six, given[3], dq, dk, dg, dbeta)
        dS = None if S is None else dS if self.v_first else dS.mT
        gradients = (dq, dk, dv, dg, dbeta, dA_log, ddt_bias, dS, None)
        return tuple(
            None if dx is None else in_dtype(dx, x.dtype)
            for x, dx in zip(tensors, gradients, strict=True)
        )
