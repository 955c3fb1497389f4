"""Fences around whatever the kernels allocate: a store past either end is seen, and named.

Without them such a store changes a neighbour's numbers, or ends the process. A fence is as wide as
the tokens of a chunk of the tests' largest heads. It is looked at when the test is over, or once
there are many.
"""

import traceback

import torch

WIDE = 1 << 16  # elements on each side
MOST, LATEST = 256, 32  # buffers kept at a time, and of those, whose kernels may not have run yet
PATTERN = 0xA5  # of every byte


class Fences:
    """Allocates in the middle of a larger buffer. `check` says which buffers were overrun."""

    def __init__(self):
        self.buffers = []

    def new_empty(self, x, size, *more, dtype=None, device=None, **options):
        """As `Tensor.new_empty`."""
        size = tuple(size) if isinstance(size, (tuple, list, torch.Size)) else (size, *more)
        return self.fenced(size, dtype or x.dtype, device or x.device)

    def empty_like(self, x, *, dtype=None, device=None, memory_format=torch.preserve_format):
        """As `torch.empty_like`, for tensors in one piece up to the order of their axes."""
        order = range(x.ndim)
        if memory_format is torch.preserve_format:
            order = sorted(order, key=lambda i: (-x.stride(i), i))
        y = self.fenced([x.shape[i] for i in order], dtype or x.dtype, device or x.device)
        return y.permute([list(order).index(i) for i in range(x.ndim)])

    def fenced(self, size, dtype, device):
        """Unwritten memory of this size between two fences."""
        count = torch.Size(size).numel()
        if count == 0 or torch.device(device).type != "cpu":
            return torch.empty(size, dtype=dtype, device=device)
        if len(self.buffers) >= MOST:
            self.check()
            del self.buffers[:-LATEST]
        buffer = torch.empty(WIDE + count + WIDE, dtype=dtype)
        inside = slice(WIDE, WIDE + count)
        for fence in (buffer[: inside.start], buffer[inside.stop :]):
            fence.view(torch.uint8).fill_(PATTERN)
        who = next(f for f in reversed(traceback.extract_stack()) if f.filename != __file__)
        self.buffers.append((buffer, inside, f"{who.filename}:{who.lineno}"))
        return buffer[inside].view(size)

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


def around_everything(monkeypatch):
    """From now on what Python code of ours allocates for kernels has fences; returns them."""
    fences = Fences()
    monkeypatch.setattr(torch.Tensor, "new_empty", lambda x, *a, **o: fences.new_empty(x, *a, **o))
    monkeypatch.setattr(torch, "empty_like", fences.empty_like)
    return fences
