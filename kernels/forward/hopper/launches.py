"""The launches of the forward pass on Hopper, and the rule that cuts sequences for a few heads.

As those of `forward.launches`. Kernels get tiles: a `tiling` describes to the copy engine how a
matrix lies in memory and how large its tiles are; how many rows it has follows from the sizes.

Reference: `gdn_ref.gated_delta_rule.chunkwise`.
"""

from functools import cache, lru_cache

import torch

from ...common.numbers import C
from ...common.triton_private import tiling
from ...host.launch import cdiv, launcher
from ...host.layout import state_layout
from ..shares import shares, walk
from .chain import BK, BV
from .scan import HopperScanCase, chunk_scan_hopper_kernel
from .segments import JoinCase, MapsCase, join_segments_kernel, segment_maps_kernel

JOINED_ROWS = 16  # rows of the state that one program carries from segment to segment
MAPS = 0.7  # the time of a chunk of the maps of segments, in chunks with outputs
LONG = 2048  # packed sequences of so many tokens in the mean are taken by their lengths
WIDTH = 128  # key dimensions that the chain, and the gradients of one chunk, hold in registers


class HopperScan:
    """The scan over chunks; tensors as those of the portable `Scan`, but for beta, which is called
    as the transform's `strength`.

    Without segments the scan may start while the UT transform ends: it sets itself up, then waits.
    (With segments its programs would take the room that those before them need.)
    """

    def __init__(self, plan, scale, v_first, strength, segments):
        self.plan, self.scale, self.beta, self.segments = plan, scale, strength, segments
        self.slices = plan.V // BV.value
        lie = {"K": plan.K, "V": plan.V, **state_layout(plan.K, plan.V, v_first)}
        flags, UT = {"HAS_S": plan.has_S, "PACKED": plan.packed}, {"SCALED": strength is None}
        keys, values, matrices = tilings_of(plan, BK.value)
        self.find_maps = launcher(
            segment_maps_kernel, MapsCase(**lie, **flags, **UT), plan.types,
            (keys, values, matrices), num_warps=4, maxnreg=128,
        )  # fmt: skip
        joined = JoinCase(**lie, ROWS=JOINED_ROWS, **flags)
        self.join = launcher(join_segments_kernel, joined, plan.types, num_warps=8)

        @cache
        def launch(segmented, n, order):
            first = {"HAS_S": plan.has_S or segmented, "PACKED": plan.packed}
            how = {"BY_LENGTH": order, "SEGMENTED": segmented, "SHARES": n}
            case = HopperScanCase(**lie, **first, **how, **UT)
            return launcher(
                chunk_scan_hopper_kernel, case, plan.types,
                (keys, keys, values, matrices, values), num_warps=4, launch_pdl=not segmented,
            )  # fmt: skip

        self.launch = launch  # for segments or not, n programs that share a sequence, and an order

    def add(self, steps, sizes):
        plan, slices, (_, T, N, total, head_stride, *_) = self.plan, self.slices, sizes
        HV, K, V = plan.HV, plan.K, plan.V
        n, length = cut(sizes.length, N * HV * slices, K, plan.multiprocessors, self.segments)
        numbers = (N, T, total, length or 0, plan.H, HV)
        tokens, matrices = total, HV * head_stride  # rows
        slots, states = N, "S"
        if length is not None:
            slots = T // length + N if plan.packed else N * cdiv(T, length)
            maps, states = ("maps", (slots, HV, V + K, K)), "states"
            steps.memory += [(*maps, torch.float32), (states, (slots, HV, V, K), torch.float32)]
            find_maps = (
                self.find_maps, (slots * HV * (slices + K // BV.value), 1, 1),
                ("k", "v", "UT", self.beta, "c", "S", "maps", "cu_seqlens"), numbers,
                (tokens, tokens, matrices),
            )  # fmt: skip
            join = (
                self.join, (N * HV, V // JOINED_ROWS, 1),
                ("maps", "S", "states", "cu_seqlens"), (T, length, HV), (),
            )  # fmt: skip
            steps.launches += [find_maps, join]
        order = length is None and by_length(plan, sizes)
        steps.launches.append((
            self.launch(length is not None, n, order), (slots * n * HV * slices, 1, 1),
            ("q", "k", "v", "UT", "o", self.beta, "c", "o", states, "S_last", "cu_seqlens"),
            (self.scale, *numbers), (tokens, tokens, tokens, matrices, tokens),
        ))  # fmt: skip


def by_length(plan, sizes):
    """Is the longest of packed sequences taken first? A program takes .7 us to find which it is."""
    return plan.packed and sizes.N > 1 and sizes.length >= LONG


@lru_cache(maxsize=4096)
def cut(tokens, programs, K, multiprocessors, segments=True):
    """How sequences of about `tokens` each are cut: programs that share one; tokens a segment.

    Where `programs`, one for a slice of a state, leave multiprocessors idle, there are two ways,
    `shares` and `segments`; the faster one is taken, in chunks with outputs. Of segments there are
    as many as multiprocessors, of at least 8 chunks; a chunk of their maps takes `MAPS`, the two
    launches some 8 chunks. A map of heads beyond 128 dimensions is more than registers hold.
    Shares leave every bit as it is. Segments do not, and may be forbidden.
    """
    chunks = cdiv(int(tokens), C.value)
    n = shares(chunks, programs, multiprocessors)
    segment = max(cdiv(chunks, max(multiprocessors // programs, 1)), 8)
    if segments and K <= WIDTH and (1 + MAPS) * segment + 8 < walk(chunks, n):
        return 1, segment * C.value
    return n, None


def tilings_of(plan, key_columns):
    """Tiles of queries and keys, of values and what is like them, and of the chunks' matrices."""
    return (
        tiling(plan.dtype, plan.H * plan.K, C.value, key_columns),
        tiling(plan.dtype, plan.HV * plan.V, C.value, BV.value),
        tiling(torch.float16, C.value, C.value, C.value),
    )
