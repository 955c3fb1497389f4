"""A whole call: activations, then the kernels of one of the two forms; and backwards.

`gdn_ref.ops` checks the arguments first, and keeps what `rule_for` returns for calls that look
alike. From there a call goes to the launches of a pass (`forward.launches.Forward`), which knows
the sizes, and to the driver (`host.launch.Launch`).

Reference: `gdn_ref.ops.activated`.
"""

from functools import partial

import torch

from .activations import Activations
from .backward.launches import Backward, same_chunks
from .decode.launches import Recurrent
from .forward.launches import Forward
from .host.launch import side_by_side
from .host.layout import in_dtype


def rule_for(tensors, dtype, gradient, chunk_size, options):
    """What runs calls whose tensors look like these: a function of them, outputs and final states.

    Parameters
    ----------
    tensors : q, k, v, g, beta, A_log, dt_bias, initial_state, cu_seqlens
        As those of `gdn_ref.chunk_gated_delta_rule`; token by token gk and gv may follow.
    dtype : in which the chunk form takes `q`, `k` and `v`
    gradient : whether a backward pass may follow
    chunk_size : 16, 32 or 64, or None to go token by token
    options : scale, v_first, norm, sigmoid, negative, as for `decode.launches.Recurrent`
    """
    if chunk_size is None:
        recurrent = Recurrent(*tensors, **options)
        return partial(OneWay.apply, recurrent) if gradient else recurrent
    rule = Rule(tensors, dtype, chunk_size, gradient, **options)
    return partial(Differentiable.apply, rule) if gradient else rule.forward


class Rule:
    """The chunk form, both ways, for calls that look alike."""

    def __init__(
        self, tensors, dtype, chunk_size, keep, *, scale, v_first, norm, sigmoid, negative,
    ):  # fmt: skip
        q, k, v, g, beta, A_log, dt_bias, S, _ = tensors
        six = (q, k, g, beta, A_log, dt_bias)
        self.activations = Activations(*six, dtype, norm, sigmoid, negative)
        dtypes = (q.dtype, k.dtype, v.dtype, torch.float32 if S is None else S.dtype)
        self.ready = dtypes == (dtype, dtype, dtype, torch.float32)
        self.ready = self.ready and not any(self.activations.acts_on)
        self.dtype, self.chunk_size, self.keep = dtype, chunk_size, keep
        self.scale, self.v_first = scale, v_first
        self.chunks, self.gradients = {}, Backward(scale, chunk_size)

    def activate(
        self, activations, q, k, v, g, beta, A_log, dt_bias, initial_state, cu_seqlens,
    ):  # fmt: skip
        """The seven tensors that the kernels take."""
        q, k, g, beta = activations.forward(q, k, g, beta, A_log, dt_bias)
        v = in_dtype(v, self.dtype)
        S = None if initial_state is None else in_dtype(initial_state, torch.float32)
        return q, k, v, g, beta, S, cu_seqlens

    def forward(self, *tensors):
        """Outputs in v's dtype, and final states; what `backward` can use again, if kept."""
        if self.ready:
            activated = (*tensors[:5], *tensors[7:])
        else:
            activated = self.activate(self.activations, *tensors)
        _, k, v, *_, cu_seqlens = activated
        keep = self.keep and same_chunks(k, v, cu_seqlens, self.chunk_size)
        if keep not in self.chunks:
            options = {"scale": self.scale, "v_first": self.v_first}
            options |= {"chunk_size": self.chunk_size, "keep": keep}
            self.chunks[keep] = Forward(*activated, **options)
            if tensors[2].is_cuda:
                self.compile(*tensors)
        o, S, *kept = self.chunks[keep](*activated)
        return in_dtype(o, tensors[2].dtype), S, *kept

    def compile(self, *tensors):
        """All that a call needs, and its backward pass, at the same time; nothing is run.

        Whether the last states will have a gradient is not known yet: it is taken that they have
        none.
        """
        with side_by_side():
            o, _, *kept = self.forward(*tensors)
            if self.keep:
                self.backward(o, None, *tensors, kept=kept)

    def backward(self, do, dS, *tensors, kept=()):
        """Gradients of the tensors, None for those that have none."""
        q, k, v, g, beta, A_log, dt_bias, S, _ = tensors
        six = (q, k, g, beta, A_log, dt_bias)
        activations = self.activations.lying_as(*six)
        *given, S, cu_seqlens = self.activate(activations, *tensors)
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


class Differentiable(torch.autograd.Function):
    """A `Rule` both ways. Between the two passes its tensors are kept, and decays and inverses."""

    @staticmethod
    def forward(ctx, rule, *tensors):
        ctx.rule = rule
        o, S, *kept = rule.forward(*tensors)
        ctx.save_for_backward(*tensors, *kept)
        ctx.set_materialize_grads(False)
        return o, S

    @staticmethod
    def backward(ctx, do, dS):
        rule, saved = ctx.rule, ctx.saved_tensors  # which a checkpoint hands out only once
        tensors, kept = saved[:9], saved[9:]
        do = torch.zeros_like(tensors[2]) if do is None else do
        if torch.is_grad_enabled():  # create_graph=True
            return None, *Once.apply(rule.backward, do, dS, *tensors)
        return None, *rule.backward(do, dS, *tensors, kept=kept)


class Once(torch.autograd.Function):
    """A backward pass where a second derivative may follow: it must not be taken for zero."""

    @staticmethod
    def forward(ctx, backward, *tensors):
        return backward(*tensors)

    @staticmethod
    def backward(ctx, *gradients):
        raise ValueError("backend: Triton has no second derivative; backend='reference' has one")


class OneWay(torch.autograd.Function):
    """Token by token where a gradient may be asked for, which must not be taken for zero."""

    @staticmethod
    def forward(ctx, recurrent, *tensors):
        return recurrent(*tensors)

    @staticmethod
    def backward(ctx, *gradients):
        raise ValueError(
            "backend: Triton has no gradient with gk or gv; backend='reference' has one"
        )
