"""The launches of the forward pass in one kernel, and the rule that says for which batches it pays.

As those of `forward.launches`. It is for calls that do not ask for the same bits in any company:
these take the transform and the scan. What a backward pass needs it keeps as the transform does.

Reference: `gdn_ref.gated_delta_rule.chunkwise`.
"""

from functools import lru_cache

import torch

from ....common.numbers import C
from ....host.launch import cdiv, launcher
from ....host.layout import state_layout
from ....host.memory import like, new
from ...launches import new_transform
from ...weigh import HEADS, WeighCase, weigh_kernel
from ..chain import BK, BV
from ..launches import WIDTH, tilings_of
from .kernel import FusedCase, chunk_fused_kernel

VALUES = 2 * BV.value  # dimensions of a program
SCALES = 2.0**-20, 2.0**20  # it divides by it


class Fused:
    """Outputs and last states of sequences of one length; tensors as those of `HopperScan`."""

    @classmethod
    def of(cls, plan, scale, v_first, keep):
        """For calls of this plan, or None."""
        if plan.packed or plan.K > WIDTH or plan.V % VALUES or not SCALES[0] < scale < SCALES[1]:
            return None
        return cls(plan, scale, v_first, keep)

    def __init__(self, plan, scale, v_first, keep):
        self.plan, self.scale, self.keep = plan, scale, keep
        self.weigh = launcher(weigh_kernel, WeighCase(C.value, HEADS, plan.has_g), plan.types)
        keys, values, matrices = tilings_of(plan, BK.value)
        tilings = (keys, keys, values, values) + (matrices,) * keep
        case = FusedCase(plan.K, plan.V, **state_layout(plan.K, plan.V, v_first), HAS_S=plan.has_S)
        self.launch = launcher(chunk_fused_kernel, case, plan.types, tilings, num_warps=4)

    def pays(self, sizes):
        """Is the batch one for it? (`fills`)"""
        plan = self.plan
        return fills(sizes.N * plan.HV * plan.V // VALUES, plan.multiprocessors)

    def __call__(self, sizes, q, k, v, g, beta, S, o, S_last):
        """What is kept: `c` and `T_inv` as `new_transform` makes them, or nothing."""
        plan, T, total = self.plan, sizes.T, sizes.total
        strength = new(v, (plan.HV * total,), torch.float32)
        c, T_inv = like(strength), None
        if self.keep:
            c, T_inv = new_transform(k, plan.HV, C.value, True)
        grid = (sizes.N * cdiv(T, C.value), cdiv(plan.HV, HEADS), 1)
        self.weigh(grid, (g, beta, c, strength), (T, total, plan.HV))
        rows = (total,) * 4 + (plan.HV * total,) * self.keep
        self.launch(
            (sizes.N * plan.HV * plan.V // VALUES, 1, 1),
            (q, k, v, o, T_inv, strength, c, o, T_inv, S, S_last),
            (self.scale, T, total, plan.H, plan.HV), rows,
        )  # fmt: skip
        return (c, T_inv) if self.keep else ()


@lru_cache(maxsize=4096)
def fills(programs, multiprocessors):
    """Do so many programs leave no more multiprocessors idle than twice as many of half the size?

    A multiprocessor runs one program at a time. The scan's have half of the value dimensions, and
    take half of the time.
    """
    return 2 * cdiv(programs, multiprocessors) <= cdiv(2 * programs, multiprocessors)
