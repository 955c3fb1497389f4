"""The launches of the forward pass in one kernel, and the rule that says for which batches it pays.

As those of `forward.launches`. It is for calls that do not ask for the same bits in any company:
these take the transform and the scan. What a backward pass needs it keeps as the transform does,
and one state of each span of chunks besides, where that pass would look for no others (`spans`).

Reference: `gdn_ref.gated_delta_rule.chunkwise`.
"""

from functools import cache, lru_cache

from ....common.numbers import C
from ....common.triton_private import tiling
from ....host.launch import cdiv, launcher
from ....host.layout import state_layout
from ...launches import transform_memory
from ...weigh import HEADS, WeighCase, weigh_kernel
from ..chain import BK, BV
from ..launches import WIDTH, tilings_of
from ..spans import kept_span
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
        state = tiling(plan.dtype, plan.K, BV.value, BK.value)
        lie = {**state_layout(plan.K, plan.V, v_first), "HAS_S": plan.has_S}

        @cache
        def launch(span):
            case = FusedCase(plan.K, plan.V, **lie, SPAN=span or 1)
            tilings = (keys, keys, values, values) + (matrices,) * keep + (state,) * (span > 0)
            return launcher(chunk_fused_kernel, case, plan.types, tilings, num_warps=4)

        self.launch = launch  # which keeps a state of every so many chunks; 0: none

    def pays(self, sizes):
        """Is the batch one for it? (`fills`)"""
        plan = self.plan
        return fills(sizes.N * plan.HV * plan.V // VALUES, plan.multiprocessors)

    def add(self, steps, sizes):
        """Memory and launches, as those of the transform and the scan: a kept `UT` is T_inv."""
        plan, T, total = self.plan, sizes.T, sizes.total
        c, T_inv = transform_memory(plan.HV * total, C.value, True, False)
        steps.memory += [("strength", *c), ("c", *c)]
        if self.keep:
            steps.memory.append(("UT", *T_inv))
        span = self.keep * kept_span(plan, sizes)
        if span:
            size = (sizes.N, sizes.spans(span) // sizes.N, plan.HV, plan.V, plan.K)
            steps.memory.append(("spans", size, plan.dtype))
        grid = (sizes.N * cdiv(T, C.value), cdiv(plan.HV, HEADS), 1)
        names = ("g", "beta", "c", "strength")
        steps.launches.append((self.weigh, grid, names, (T, total, plan.HV), ()))
        T_inv, states = "UT" if self.keep else None, "spans" if span else None
        rows = (total,) * 4 + (plan.HV * total,) * self.keep
        rows += (sizes.spans(span) * plan.HV * plan.V,) if span else ()
        steps.launches.append((
            self.launch(span), (sizes.N * plan.HV * plan.V // VALUES, 1, 1),
            ("q", "k", "v", "o", T_inv, states, "strength", "c", "o", T_inv, "S", "S_last"),
            (self.scale, T, total, plan.H, plan.HV),
            rows,
        ))  # fmt: skip


@lru_cache(maxsize=4096)
def fills(programs, multiprocessors):
    """Do so many programs leave no more multiprocessors idle than twice as many of half the size?

    A multiprocessor runs one program at a time. The scan's have half of the value dimensions, and
    take half of the time.
    """
    return 2 * cdiv(programs, multiprocessors) <= cdiv(2 * programs, multiprocessors)
