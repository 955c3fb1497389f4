"""What the launches of a pass share: its sizes and the tiles it works in."""

import torch

from .launch import cdiv, prepare_launch, types
from .layout import state_layout


class Plan:
    """The sizes that all launches of a pass share, and the tiles they work in."""

    def __init__(self, tensors, tiles):
        q, k, v, g, beta, S, cu_seqlens = tensors
        self.B, self.T, self.H, self.K = k.shape
        self.HV, self.V = v.shape[2:]
        self.packed = cu_seqlens is not None
        self.N = cu_seqlens.shape[0] - 1 if self.packed else self.B
        self.total = self.head_stride = self.B * self.T  # the latter in c and UT
        self.has_g, self.has_S = g is not None, S is not None
        self.dtype, self.device = v.dtype, v.device
        self.exact = v.dtype == torch.float32
        self.tiles = tiles
        C = tiles["C"]
        self.slots = self.T // C + self.N if self.packed else self.B * cdiv(self.T, C)
        self.types = types(self.total, v, q, k, g, beta, S, cu_seqlens)


def prepare_walk(plan, precision, kernel, numbers, v_first, flags):
    """A launch that goes from chunk to chunk, from a state that lies as `v_first` says."""
    tiles = plan.tiles
    constants = {"H": plan.H, "HV": plan.HV, "K": plan.K, "V": plan.V}
    constants |= state_layout(plan.K, plan.V, v_first)
    constants |= {"C": tiles["C"], "BK": tiles["BK"], "BV": tiles["BV"], **flags}
    constants |= {"PRECISION": precision, "STAGES": tiles["stages"]}
    programs = plan.N * plan.HV * cdiv(plan.V, tiles["BV"]) * flags.get("SHARES", 1)
    warps = tiles["scan_warps"]
    return prepare_launch(kernel, (programs,), numbers, constants, plan.types, num_warps=warps)
