"""What autograd sees of the kernels: a call both ways, and what a call has no derivative of.

A derivative that is missing must not be taken for zero, so each is refused in a sentence.
"""

import torch


class Differentiable(torch.autograd.Function):
    """A `Rule` both ways. Between the two passes its tensors are kept, and decays and inverses."""

    @staticmethod
    def forward(ctx, rule, *tensors):
        ctx.rule, ctx.count = rule, len(tensors)
        o, S, *kept = rule.forward(*tensors)
        ctx.save_for_backward(*tensors, *kept)
        ctx.set_materialize_grads(False)
        return o, S

    @staticmethod
    def backward(ctx, do, dS):
        rule, saved = ctx.rule, ctx.saved_tensors  # which a checkpoint hands out only once
        tensors, kept = saved[: ctx.count], saved[ctx.count :]
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
