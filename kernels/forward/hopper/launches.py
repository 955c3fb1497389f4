"""The launches of the forward pass on Hopper, and the rule that cuts sequences for a few heads.

`prepare_scan` takes the sizes of calls that look alike (`host.plan.Plan`), and returns a function
of their tensors that does little but launch. Kernels get tiles: a `tiling` describes to the copy
engine how a matrix lies in memory and how large its tiles are.

Reference: `gdn_ref.gated_delta_rule.chunkwise`.
"""

import torch

from ...common.numbers import C
from ...common.triton_private import tiling
from ...host import gpu
from ...host.launch import cdiv, prepare_launch
from ...host.layout import state_layout
from ..shares import shares, walk
from .chain import BK, BV
from .scan import chunk_scan_hopper_kernel
from .segments import join_segments_kernel, segment_maps_kernel

JOINED_ROWS = 16  # rows of the state that one program carries from segment to segment
MAPS = 0.7  # the time of a chunk of the maps of segments, in chunks with outputs
WIDTH = 128  # key dimensions that the chain, and the gradients of one chunk, hold in registers


def prepare_scan(plan, scale, v_first, scaled):
    """The scan over chunks; arguments and results as those of the portable `prepare_scan`, but for
    beta, which is the transform's `strength`.

    Without segments the scan may start while the UT transform ends: it sets itself up, then waits.
    (With segments its programs would take the room that those before them need.)
    """
    N, T, HV, K, V = plan.N, plan.T, plan.HV, plan.K, plan.V
    slices = V // BV.value
    n, length = cut(plan.total / N, N * HV * slices, K, plan.device) if N else (1, None)
    segmented = length is not None
    sizes = (N, T, plan.total, length or 0, plan.H, HV)
    shared = {"K": K, "V": V, **state_layout(K, V, v_first)}
    flags = {"HAS_S": plan.has_S, "PACKED": plan.packed}
    UT = {"SCALED": scaled}
    slots = N
    keys, values, matrices = tilings_of(plan, BK.value)
    tilings = (keys, keys, values, matrices, values)
    if segmented:
        slots = T // length + N if plan.packed else N * cdiv(T, length)
        find_maps = prepare_launch(
            segment_maps_kernel, (slots * HV * (slices + K // BV.value),), sizes,
            {**shared, **flags, **UT}, plan.types, tilings[1:4], num_warps=4, maxnreg=128,
        )  # fmt: skip
        join = prepare_launch(
            join_segments_kernel, (N * HV, V // JOINED_ROWS), (T, length, HV),
            {**shared, "ROWS": JOINED_ROWS, **flags}, plan.types, num_warps=8,
        )  # fmt: skip
        flags["HAS_S"] = True
    start = prepare_launch(
        chunk_scan_hopper_kernel, (slots * n * HV * slices,), (scale, *sizes),
        {**shared, **flags, "SEGMENTED": segmented, **UT, "SHARES": n},
        plan.types, tilings, num_warps=4, launch_pdl=not segmented,
    )  # fmt: skip

    def run(q, k, v, beta, c, UT, S, o, S_last, cu_seqlens):
        states = S
        if segmented:
            maps = v.new_empty((slots, HV, V + K, K), dtype=torch.float32)
            states = v.new_empty((slots, HV, V, K), dtype=torch.float32)
            find_maps(k, v, UT, beta, c, S, maps, cu_seqlens)
            join(maps, S, states, cu_seqlens)
        start(q, k, v, UT, o, beta, c, o, states, S_last, cu_seqlens)

    return run


def cut(tokens, programs, K, device):
    """How sequences of about `tokens` each are cut: programs that share one; tokens a segment.

    Where `programs`, one for a slice of a state, leave multiprocessors idle, there are two ways,
    `shares` and `segments`; the faster one is taken, in chunks with outputs. Of segments there are
    as many as multiprocessors, of at least 8 chunks; a chunk of their maps takes `MAPS`, the two
    launches some 8 chunks. A map of heads beyond 128 dimensions is more than registers hold.
    """
    chunks = cdiv(int(tokens), C.value)
    n = shares(chunks, programs, device)
    segment = max(cdiv(chunks, max(gpu.multiprocessors(device) // programs, 1)), 8)
    if K <= WIDTH and (1 + MAPS) * segment + 8 < walk(chunks, n):
        return 1, segment * C.value
    return n, None


def tilings_of(plan, key_columns):
    """Tiles of queries and keys, of values and what is like them, and of the chunks' matrices."""
    return (
        tiling(plan.dtype, plan.total, plan.H * plan.K, C.value, key_columns),
        tiling(plan.dtype, plan.total, plan.HV * plan.V, C.value, BV.value),
        tiling(torch.float16, plan.HV * plan.head_stride, C.value, C.value, C.value),
    )
