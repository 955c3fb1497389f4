"""The launches of the kernels for Hopper, and the rule that cuts sequences for a few heads.

Each `prepare_...` takes the sizes of calls that look alike (`plan.Plan`), and returns a function
of their tensors that does little but launch. Kernels get tiles: a `tiling` describes to the copy
engine how a matrix lies in memory and how large its tiles are.

Reference: `gdn_ref.gated_delta_rule.chunkwise`, `gdn_ref.backward.gradients`.
"""

from functools import cache, lru_cache

import torch
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor

from .chunk_gradients_hopper import chunk_gradients_hopper_kernel
from .chunk_scan_hopper import chunk_scan_hopper_kernel
from .chunk_states_hopper import chunk_states_hopper_kernel
from .hopper import BK, BV, C
from .launch import cdiv, multiprocessors, prepare_launch
from .plan import state_layout
from .segments import join_segments_kernel, segment_maps_kernel
from .shares import shares, walk
from .state_gradients_hopper import state_gradients_hopper_kernel

JOINED_ROWS = 16  # rows of the state that one program carries from segment to segment
MAPS = 0.7  # the time of a chunk of the maps of segments, in chunks with outputs
WIDTH = 128  # key dimensions that the gradients of one chunk have room for at a time


def prepare_scan(plan, scale, v_first, scaled):
    """The scan over chunks; arguments and results as those of `forward.prepare_scan`, but for beta,
    which is the transform's `strength`.

    Without segments the scan may start while the UT transform ends: it sets itself up, then waits.
    (With segments its programs would take the room that those before them need.)
    """
    N, T, HV, K, V = plan.N, plan.T, plan.HV, plan.K, plan.V
    slices = V // BV.value
    n, length = cut(plan.total / N, N * HV * slices, K, plan.device) if N else (1, None)
    segmented = length is not None
    sizes = (N, T, plan.total, length or 0, plan.H, HV)
    shared = {"K": K, "V": V, **state_layout(plan, v_first)}
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


def room_for_both(plan):
    """Has the device room for the states and their gradients at once?

    Each is a chain from chunk to chunk, and neither waits for the other.
    """
    return 2 * plan.N * plan.HV * (plan.V // BV.value) <= multiprocessors(plan.device)


def prepare_states(plan, v_first):
    """The states that the chunks receive; arguments as in `backward.prepare_piece`, and below."""
    H, HV, K, V = plan.H, plan.HV, plan.K, plan.V
    keys, values, matrices = tilings_of(plan, BK.value)
    rows = tiling(plan.dtype, plan.slots * HV * V, K, BK.value)
    tilings = (keys, values, matrices, rows)
    if keeps_R(K):
        tilings += (tiling(torch.float16, plan.total, HV * V, BV.value),)
    start = prepare_launch(
        chunk_states_hopper_kernel, (plan.N * HV * (V // BV.value),),
        (plan.T, plan.head_stride, H, HV),
        {"K": K, "V": V, **state_layout(plan, v_first), "HAS_S": plan.has_S,
         "PACKED": plan.packed},
        plan.types, tilings, num_warps=4, maxnreg=state_registers(K),
    )  # fmt: skip

    def run(k, v, beta, c, T_inv, S, states, cu_seqlens, R=None):
        start(k, v, T_inv, states, R, beta, c, S, cu_seqlens)

    return run


def keeps_R(K):
    """Is R = V - diag(gamma) K S^T kept with the states, in float16, since it needs all of K?"""
    return K > WIDTH


def state_registers(K):
    """A thread, on average: up to 128 key dimensions two programs share a multiprocessor."""
    return 128 if K <= 128 else 168


def prepare_state_gradients(plan, scale, has_dS, v_first):
    """The gradients of the states and of the first one; the last one's lies as `v_first` says."""
    N, H, HV, K, V = plan.N, plan.H, plan.HV, plan.K, plan.V
    keys, values, matrices = tilings_of(plan, K)
    rows = tiling(plan.dtype, plan.slots * HV * V, K, K)
    start = prepare_launch(
        state_gradients_hopper_kernel, (N * HV * (V // BV.value),),
        (scale, N, plan.T, plan.head_stride, H, HV),
        {"K": K, "V": V, **state_layout(plan, v_first), "HAS_DS": has_dS,
         "PACKED": plan.packed},
        plan.types, (keys, keys, values, matrices, values, rows), num_warps=4,
    )  # fmt: skip

    def run(q, k, do, beta, c, T_inv, dS_last, Z, dstates, dS_first, cu_seqlens):
        start(q, k, do, T_inv, Z, dstates, beta, c, Z, dS_last, dS_first, cu_seqlens)

    return run


def prepare_chunk_gradients(plan, scale):
    """All other gradients of the whole chunks; `v` is R, if that is kept."""
    slots, H, HV, K, V = plan.slots, plan.H, plan.HV, plan.K, plan.V
    keys, values, matrices = tilings_of(plan, min(K, WIDTH))
    rows = tiling(plan.dtype, slots * HV * V, K, min(K, WIDTH))
    R = tiling(torch.float16, plan.total, HV * V, BV.value) if keeps_R(K) else values
    start = prepare_launch(
        chunk_gradients_hopper_kernel, (min(slots * H, multiprocessors(plan.device)),),
        (scale, plan.N, slots, plan.T, plan.head_stride),
        {"H": H, "HV": HV, "K": K, "V": V, "HAS_G": plan.has_g, "PACKED": plan.packed}, plan.types,
        (keys, keys, R, values, values, matrices, rows, rows, keys, keys), num_warps=4,
    )  # fmt: skip

    def run(
        q, k, v, beta, c, T_inv, do, Z, states, dstates, dq, dk, dg, dbeta, cu_seqlens,
    ):  # fmt: skip
        start(
            q, k, v, do, Z, T_inv, states, dstates, dq, dk, beta, c, Z, dg, dbeta, cu_seqlens
        )  # fmt: skip

    return run


def tilings_of(plan, key_columns):
    """Tiles of queries and keys, of values and what is like them, and of the chunks' matrices."""
    return (
        tiling(plan.dtype, plan.total, plan.H * plan.K, key_columns),
        tiling(plan.dtype, plan.total, plan.HV * plan.V, BV.value),
        tiling(torch.float16, plan.HV * plan.head_stride, C.value, C.value),
    )


def cut(tokens, programs, K, device):
    """How sequences of about `tokens` each are cut: programs that share one; tokens a segment.

    Where `programs`, one for a slice of a state, leave multiprocessors idle, there are two ways,
    `shares` and `segments`; the faster one is taken, in chunks with outputs. Of segments there are
    as many as multiprocessors, of at least 8 chunks; a chunk of their maps takes `MAPS`, the two
    launches some 8 chunks. A map of heads beyond 128 dimensions is more than registers hold.
    """
    chunks = cdiv(int(tokens), C.value)
    n = shares(chunks, programs, device)
    segment = max(cdiv(chunks, max(multiprocessors(device) // programs, 1)), 8)
    if K <= WIDTH and (1 + MAPS) * segment + 8 < walk(chunks, n):
        return 1, segment * C.value
    return n, None


@lru_cache(maxsize=4096)
def tiling(dtype, rows, columns, tile_columns):
    """A function that describes matrices that look alike to the copy engine, in tiles of `C` rows.

    Triton checks each descriptor it makes for 3 us: here one, and the others are made after it.
    """
    block = [C.value, tile_columns]
    base = torch.empty(0, dtype=dtype)
    checked = vars(
        TensorDescriptor(base, [rows, columns], [columns, 1], block, tile_layout(tile_columns))
    )

    def tiles(x):
        descriptor = object.__new__(TensorDescriptor)
        vars(descriptor).update(checked, base=x)
        return descriptor

    return tiles


@cache
def tile_layout(tile_columns):
    """How a tile of 16-bit numbers lies in shared memory."""
    return gl.NVMMASharedLayout.get_default_for([C.value, tile_columns], gl.float16)
