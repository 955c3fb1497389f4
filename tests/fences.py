"""Fences around whatever the kernels allocate: a store past either end is seen, and named.

Without them such a store changes a neighbour's numbers, or ends the process. A fence is as wide as
the tokens of a chunk of the tests' largest heads. It is looked at when the test is over, or once
there are many.
"""

import traceback

import torch
from torch._subclasses import FakeTensor
from torch._subclasses.functional_tensor import FunctionalTensor
from torch.utils._python_dispatch import _disable_current_modes

WIDE = 1 << 16  # elements on each side
MOST, LATEST = 256, 32  # buffers kept at a time, and of those, whose kernels may not have run yet
PATTERN = 0xA5  # of every byte
NEW_EMPTY, EMPTY_LIKE = torch.Tensor.new_empty, torch.empty_like


class Fences:
    """Allocates in the middle of a larger buffer. `check` says which buffers were overrun."""

    def __init__(self):
        self.buffers, self.down = [], False  # down: what is allocated is as without fences

    def new_empty(self, x, size, *more, dtype=None, device=None, **options):
        """As `Tensor.new_empty`."""
        size = tuple(size) if isinstance(size, (tuple, list, torch.Size)) else (size, *more)
        if self.passes_by(x, size, device):
            return NEW_EMPTY(x, size, dtype=dtype, device=device, **options)
        return self.fenced(size, None, dtype or x.dtype)

    def empty_like(self, x, *, dtype=None, device=None, memory_format=torch.preserve_format):
        """As `torch.empty_like`, for tensors in one piece up to the order of their axes."""
        options = {"dtype": dtype or x.dtype, "device": device or x.device}
        if self.passes_by(x, x.shape, device):
            return EMPTY_LIKE(x, memory_format=memory_format, **options)
        order = range(x.ndim)
        if memory_format is torch.preserve_format:
            order = sorted(order, key=lambda i: (x.stride(i), -i))
        else:
            order = reversed(order)
        strides, step = [0] * x.ndim, 1
        for i in order:  # from the axis along which numbers are neighbours
            strides[i], step = step, step * max(x.shape[i], 1)
        return self.fenced(x.shape, strides, options["dtype"])

    def passes_by(self, x, size, device):
        """Whether no fence is built: there is nothing in between, or it only stands for memory."""
        away = torch.device(device or x.device).type != "cpu"
        return self.down or away or torch.Size(size).numel() == 0 or without_memory(x)

    def fenced(self, size, strides, dtype):
        """Unwritten memory of this size between two fences."""
        size = torch.Size(size)
        if len(self.buffers) >= MOST:
            self.check()
            del self.buffers[:-LATEST]
        inside = slice(WIDE, WIDE + size.numel())
        with _disable_current_modes():  # of a test that looks on
            buffer = torch.empty(inside.stop + WIDE, dtype=dtype)
            for fence in (buffer[: inside.start], buffer[inside.stop :]):
                fence.view(torch.uint8).fill_(PATTERN)
            found = torch.empty(0, dtype=dtype)  # and no view, which could not be a result
            found.set_(buffer.untyped_storage(), WIDE, size, strides or contiguous(size))
        who = next(f for f in reversed(traceback.extract_stack()) if f.filename != __file__)
        self.buffers.append((buffer, inside, f"{who.filename}:{who.lineno}"))
        return found

    def check(self):
        """Fail if a fence has been written to; the message says whose buffer it is."""
        for buffer, inside, who in self.buffers:
            for side, fence in (
                ("before", buffer[: inside.start]),
                ("after", buffer[inside.stop :]),
            ):
                hit = (fence.view(torch.uint8) != PATTERN).sum().item()
                assert not hit, (
                    f"{hit} bytes {side} a buffer of {inside.stop - inside.start} elements were "
                    f"written to; it was allocated at {who}"
                )


def without_memory(x):
    """Whether `x` only stands for a tensor, while a graph is made."""
    return isinstance(x, (FakeTensor, FunctionalTensor)) or torch.compiler.is_compiling()


def contiguous(size):
    """The strides of a tensor in one piece."""
    return [torch.Size(size[i + 1 :]).numel() for i in range(len(size))]


def around_everything(monkeypatch):
    """From now on what Python code of ours allocates for kernels has fences; returns them."""
    fences = Fences()
    monkeypatch.setattr(torch.Tensor, "new_empty", lambda x, *a, **o: fences.new_empty(x, *a, **o))
    monkeypatch.setattr(torch, "empty_like", fences.empty_like)
    return fences
