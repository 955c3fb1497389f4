"""Calls that look alike are checked once: what runs them is remembered.

A model makes the same call again and again, with other numbers. All but the numbers decides whether
a call is right, and how it runs; finding that out takes longer on the host than small kernels take
on a GPU.
"""

import torch
from torch.autograd import forward_ad

MOST_REMEMBERED = 1024
_remembered = {}  # how a call looks -> what runs it


def prepared(prepare, tensors, options):
    """`prepare(*tensors, *options)`, or what it returned for a call that looked like this one.

    `prepare` checks everything but numbers and returns a function of the tensors. It must keep
    none of them. `options` are hashable. While `torch.compile` traces, nothing is remembered.
    """
    if torch.compiler.is_compiling():
        return prepare(*tensors, *options)
    settings = (
        torch.is_grad_enabled(),
        forward_ad._current_level,
        torch.backends.cuda.matmul.fp32_precision,  # the old switches set it, too
    )
    try:
        key = (prepare, options, settings, *[look(x) for x in tensors])
        run = _remembered.get(key)
    except (TypeError, RuntimeError):  # sizes that are symbols, or none, as of nested tensors
        return prepare(*tensors, *options)
    if run is None:
        run = prepare(*tensors, *options)
        if len(_remembered) >= MOST_REMEMBERED:
            _remembered.pop(list(_remembered)[0], None)  # the oldest
        _remembered[key] = run
    return run


def look(x):
    """All about a tensor but its numbers: tensors that look alike pass the same checks."""
    if x is None:
        return None
    if not isinstance(x, torch.Tensor):
        return type(x)
    return x.shape, x.stride(), x.dtype, x.device, x.requires_grad
