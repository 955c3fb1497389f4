"""What the launches of a pass share: its sizes, the tiles it works in, how states lie in memory."""

import torch

from .launch import cdiv, types


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


def state_layout(plan, v_first):
    """How a state lies in memory, as the kernels' constants."""
    return {"S_v": plan.K, "S_k": 1} if v_first else {"S_v": 1, "S_k": plan.V}
