"""Memory for what the kernels make, and for what has to be copied first: the only door to it.

While kernels are only compiled (`launch.side_by_side`) none is written or read, so nothing is
copied, and a single number stands in for all of a result's.
"""

from contextvars import ContextVar

import torch

rehearsal = ContextVar("rehearsal", default=False)
compiling = rehearsal.get  # are kernels only compiled?


def new(x, size, dtype=None):
    """A tensor of this size where `x` is, in its dtype or another one."""
    dtype = dtype or x.dtype
    if compiling():
        return x.new_empty(1, dtype=dtype).expand(size)
    return x.new_empty(*size, dtype=dtype)  # a tuple takes PyTorch half a microsecond more


def like(x, dtype=None):
    """The same for the size of `x`, in one piece."""
    if compiling():
        return new(x, x.shape, dtype)
    return torch.empty_like(x, dtype=dtype, memory_format=torch.contiguous_format)


def contiguous(x):
    """`x` in one piece; None stays None."""
    return x if x is None or compiling() else x.contiguous()


def fill(x, source):
    """Write `source`, or zeros if it is None, to all of `x`."""
    if compiling():
        return
    x.zero_() if source is None else x.copy_(source)


def in_dtype(x, dtype):
    """`x.to(dtype)`, which takes its time on the host even when there is nothing to do."""
    if x.dtype == dtype:
        return x
    return like(x, dtype) if compiling() else x.to(dtype)
