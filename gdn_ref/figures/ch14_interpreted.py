"""Chapter 14: what the Triton kernels ask of memory, counted in Triton's interpreter.

Triton reads TRITON_INTERPRET when the kernels are imported: set it before.
"""

from collections import Counter
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np
import torch
from triton.runtime.interpreter import interpreter_builder

from ..kernels.forward import launches as forward
from ..kernels.host import launch as host_launch


class Counts:
    """Of each kernel: bytes that its programs ask for, distinct bytes, FLOPs of its products."""

    def __init__(self):
        self.asked, self.flops, self.cells = Counter(), Counter(), {}
        self.kernel = None

    def access(self, kind, pointers, mask):
        width = pointers.get_element_ty().primitive_bitwidth // 8
        cells = np.broadcast_to(pointers.data, mask.data.shape)[mask.data.astype(bool)]
        self.asked[self.kernel] += width * cells.size
        self.cells.setdefault((self.kernel, kind, width), set()).update(cells.ravel().tolist())

    def distinct(self, kernel):
        """Bytes that have to come from memory, or go there, at least once."""
        found = self.cells.items()
        return sum(width * len(cells) for (name, _, width), cells in found if name == kernel)


@contextmanager
def counting():
    """`Counts` of all prepared launches."""
    counts, builder, run = Counts(), interpreter_builder, host_launch.Launch.__call__
    load, store, dot = builder.create_masked_load, builder.create_masked_store, builder.create_dot

    def counted_launch(launch, *rest):
        counts.kernel = launch.kernel.fn.__name__
        run(launch, *rest)

    def counted_load(pointers, mask, *rest):
        counts.access("read", pointers, mask)
        return load(pointers, mask, *rest)

    def counted_store(pointers, value, mask, *rest):
        counts.access("written", pointers, mask)
        return store(pointers, value, mask, *rest)

    def counted_dot(a, b, *rest):
        counts.flops[counts.kernel] += 2 * a.data.size * b.data.shape[-1]
        return dot(a, b, *rest)

    with ExitStack() as stack:
        stack.enter_context(patch.object(host_launch.Launch, "__call__", counted_launch))
        stack.enter_context(patch.object(builder, "create_masked_load", counted_load))
        stack.enter_context(patch.object(builder, "create_masked_store", counted_store))
        stack.enter_context(patch.object(builder, "create_dot", counted_dot))
        yield counts


def half_inputs(T, H, HV, K, V):
    """One sequence in float16, `normal(*size)` for more, and a first state `[V, K]`."""
    draw = torch.Generator().manual_seed(0)

    def normal(*size):
        return torch.randn(*size, generator=draw)

    tokens = (normal(1, T, H, K).half(), normal(1, T, H, K).half() / K**0.5)
    tokens += (normal(1, T, HV, V).half(), -normal(1, T, HV).exp(), normal(1, T, HV).sigmoid())
    return tokens, normal, normal(1, HV, K, V).mT


def count(T=64, H=1, HV=2, K=16, V=16, chunk_size=16):
    """Run the forward pass of one sequence, float16 with a state, and count."""
    tokens, _, S = half_inputs(T, H, HV, K, V)
    with counting() as counts:
        forward.chunk_forward(*tokens, initial_state=S, chunk_size=chunk_size)
    return counts
