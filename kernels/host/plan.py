"""What the launches of a pass share: what follows from how the tensors look, and their sizes."""

from typing import NamedTuple

import torch

from . import gpu
from .launch import cdiv, launcher, types
from .layout import state_layout


class CallSizes(NamedTuple):
    """What may be another at each call: sequences, tokens of each, sequences packed; all tokens,
    what lies from head to head in c and UT, slots for chunks; and the average length of a sequence
    in whole chunks, which decides how it is cut: so that few lengths decide it anew."""

    B: int
    T: int
    N: int
    total: int
    head_stride: int
    slots: int
    length: int

    def spans(self, chunks):
        """Stretches of so many chunks, each within a sequence; if packed, only of one."""
        return self.slots if chunks == 1 else self.N * cdiv(self.slots // self.N, chunks)


class Plan:
    """What calls that look alike share: all but the sizes that a call finds in its tensors."""

    def __init__(self, tensors, tiles):
        q, k, v, g, beta, S, cu_seqlens = tensors
        self.H, self.K = k.shape[2:]
        self.HV, self.V = v.shape[2:]
        self.packed = cu_seqlens is not None
        self.has_g, self.has_S = g is not None, S is not None
        self.dtype, self.device = v.dtype, v.device
        self.exact = v.dtype == torch.float32
        self.multiprocessors = gpu.multiprocessors(v.device)
        self.tiles, self.C = tiles, tiles["C"]
        self.types = types(v, q, k, g, beta, S, cu_seqlens)

    def sizes(self, v, cu_seqlens):
        """Those of one call."""
        B, T, *_ = v.shape
        return call_sizes(B, T, cu_seqlens.shape[0] - 1 if self.packed else B, self.C, self.packed)


def call_sizes(B, T, N, C, packed):
    """For chunks of C tokens."""
    slots = T // C + N if packed else B * cdiv(T, C)
    length = cdiv(B * T // (N or 1), C) * C
    return CallSizes(B, T, N, B * T, B * T, slots, length)


def scan_launcher(plan, precision, kernel, case, v_first, flags):
    """A kernel that goes from chunk to chunk, from a state that lies as `v_first` says.

    `case` is what the kernel's is made by.
    """
    tiles = plan.tiles
    constants = {"H": plan.H, "HV": plan.HV, "K": plan.K, "V": plan.V}
    constants |= state_layout(plan.K, plan.V, v_first)
    constants |= {"C": tiles["C"], "BK": tiles["BK"], "BV": tiles["BV"], **flags}
    constants |= {"PRECISION": precision, "STAGES": tiles["stages"]}
    return launcher(kernel, case(**constants), plan.types, num_warps=tiles["scan_warps"])


def scan_programs(plan, sizes):
    """Programs of such a kernel: one for each slice of a head's state."""
    return sizes.N * plan.HV * cdiv(plan.V, plan.tiles["BV"])
