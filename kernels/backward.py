"""The backward pass on the GPU: four launches, and the rules for their tiles and for the pieces.

Only the inputs are kept from the forward pass; decays, inverses and the chunks' states are computed
again. No atomics: every number has one program that adds it up, always in one order.

Reference: `gdn_ref.backward.gradients`.
"""

from itertools import repeat

import torch

from .chunk_gradients import chunk_gradients_kernel
from .chunk_states import chunk_states_kernel
from .forward import (
    Plan,
    dot_precision,
    made_for_hopper,
    on_device,
    prepare_transform,
    tile_rule,
)
from .launch import alignment, cdiv, kinds, launch
from .state_gradients import state_gradients_kernel

LEAST_BYTES = 2**27  # of a piece's states and their gradients


def chunk_backward(q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size, do, dS_last):
    """Gradients of `forward.chunk_forward`: `dq, dk, dv, dg, dbeta, dS_first`.

    A padded batch goes in pieces of a few sequences, so that inverses, states and their gradients
    are in memory for one piece at a time. Packed sequences go all at once: the host does not know
    where they end.

    Parameters
    ----------
    q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size
        As given to `chunk_forward`.
    do : [B, T, HV, V], the gradient of the outputs
    dS_last : [N, HV, V, K] float32, the gradient of the last states, or None for zero

    Returns
    -------
    dq, dk, dv : as q, k, v
    dg : [B, T, HV] float32, or None if g is
    dbeta : [B, T, HV] float32
    dS_first : [N, HV, V, K] float32
    """
    q, k, v, beta, do = (x.contiguous() for x in (q, k, v, beta, do.to(v.dtype)))
    g, cu_seqlens = (None if x is None else x.contiguous() for x in (g, cu_seqlens))
    B, T, _, K = k.shape
    HV, V = v.shape[2:]
    N = B if cu_seqlens is None else cu_seqlens.shape[0] - 1
    dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
    dbeta = v.new_empty((B, T, HV), dtype=torch.float32)
    dg = None if g is None else torch.empty_like(dbeta)
    dS_first = v.new_empty((N, HV, V, K), dtype=torch.float32)
    results = (dq, dk, dv, dg, dbeta, dS_first)
    if N == 0:
        return results
    initial_state, strides = state_strides(initial_state, K, V)
    dS_last, dS_strides = state_strides(dS_last, K, V)

    # a sequence of such heads takes a multiple of 128 bytes: each piece is aligned as the whole is
    hopper = made_for_hopper(k, v, chunk_size) and all(alignment((q, k, v, do)))
    tiles = gradient_tiles(K, v.dtype, chunk_size, hopper)
    length = N
    if cu_seqlens is None and (room := programs_at_once(v.device, hopper)):
        size = 2 * cdiv(T, tiles["C"]) * HV * V * K * v.element_size()
        length = piece_length(N, HV * cdiv(V, tiles["BV"]), size, room)
    given = (q, k, v, g, beta, initial_state, do, dS_last)
    for piece in pieces((*given, *results), N, length):
        piece_backward(*piece, cu_seqlens, scale, strides, dS_strides, tiles, hopper)
    return results


def pieces(tensors, N, length):
    """The tensors for `length` of the N sequences at a time; None stays None."""
    if length == N:
        return [tensors]
    cut = (repeat(None) if x is None else x.split(length) for x in tensors)
    return zip(*cut, strict=False)


def piece_backward(
    q, k, v, g, beta, initial_state, do, dS_last, dq, dk, dv, dg, dbeta, dS_first,
    cu_seqlens, scale, strides, dS_strides, tiles, hopper,
):  # fmt: skip
    """The four launches, for contiguous tensors: writes all gradients, keeps nothing else."""
    B, T, H, K = k.shape
    HV, V = v.shape[2:]
    N, packed = dS_first.shape[0], cu_seqlens is not None
    C, BK, BV = tiles["C"], tiles["BK"], tiles["BV"]
    tensors = (q, k, v, g, beta, initial_state, cu_seqlens)
    plan = Plan(tensors, tiles)
    transform, slots = prepare_transform(plan, scaled=False), plan.slots
    states = v.new_empty((slots, HV, V, K))
    dstates = torch.empty_like(states)
    sizes, blocks = {"H": H, "HV": HV, "K": K, "V": V}, {"C": C, "BK": BK}
    flags = {"PACKED": packed, "PRECISION": dot_precision(v.dtype)}
    options = {"num_warps": tiles["scan_warps"]}
    results = (dq, dk, dv, dg, dbeta, dS_first)  # of a piece, they may start anywhere
    known = kinds(B * T, v, q, k, g, beta, initial_state, cu_seqlens, do, dS_last, *results)
    with on_device(v):
        c, T_inv = transform(alignment(tensors), k, g, beta, cu_seqlens)
        if slots and hopper:
            from . import on_hopper

            on_hopper.chunk_states(
                k, v, beta, c, T_inv, initial_state, strides, states, cu_seqlens, N, known
            )
        elif slots:
            launch(
                chunk_states_kernel, (N * HV * cdiv(V, BV),),
                (k, v, beta, c, T_inv, initial_state, states, cu_seqlens, T, B * T),
                {**sizes, **strides, **blocks, "BV": BV,
                 "HAS_S": initial_state is not None, **flags, "STAGES": tiles["stages"]},
                known, **options,
            )  # fmt: skip
        if slots and hopper:
            on_hopper.gradients(
                q, k, v, beta, do, c, T_inv, states, dstates, dS_last, dS_strides,
                dq, dk, dv, dg, dbeta, dS_first, cu_seqlens, scale, slots, known,
            )  # fmt: skip
        else:
            launch(
                state_gradients_kernel, (N * HV * cdiv(V, BV),),
                (q, k, do, beta, c, T_inv, dS_last, dv, dstates, dS_first, cu_seqlens, scale, T,
                 B * T),
                {**sizes, **dS_strides, **blocks, "BV": BV, "HAS_DS": dS_last is not None, **flags,
                 "STAGES": tiles["stages"]},
                known, **options,
            )  # fmt: skip
        short = hopper  # then the whole chunks are done
        if slots and not (short and not packed and T % C == 0):
            launch(
                chunk_gradients_kernel, (N if short else slots, H),
                (q, k, v, beta, c, T_inv, do, dv, states, dstates, dq, dk, dg, dbeta, cu_seqlens,
                 scale, N, T, B * T),
                {**sizes, **blocks, "BV": tiles["gradient_BV"], "HAS_G": g is not None,
                 "PACKED": packed, "SHORT": short, "PRECISION": flags["PRECISION"]},
                known, num_warps=tiles["gradient_warps"],
            )  # fmt: skip


def state_strides(S, K, V):
    """`S` and how it lies in memory, `[V, K]` or `[K, V]`; copied if neither."""
    if S is not None and not S.is_contiguous():
        if S.mT.is_contiguous():
            return S, {"S_v": 1, "S_k": V}
        S = S.contiguous()
    return S, {"S_v": K, "S_k": 1}


def gradient_tiles(K, dtype, chunk_size, hopper=False):
    """`forward.tile_rule` for the backward pass.

    `chunk_gradients` keeps two `[C, BK]` sums beside five `[C, C]` tiles, so what is left of
    registers, of shared memory, and of a Blackwell's tensor memory bounds the chunk; where the
    kernels for Hopper take the whole chunks, it stays 64. `gradient_BV` is the slice of value
    dimensions that `chunk_gradients` has on hand at a time.
    """
    tiles = tile_rule(K, dtype, chunk_size)
    wide = tiles["BK"] > 64
    if dtype == torch.float32:
        tiles |= {"C": min(tiles["C"], 16 if wide else 32), "gradient_BV": 16, "gradient_warps": 4}
        return tiles
    if wide and not hopper:
        tiles["C"] = min(tiles["C"], 32)
    if tiles["BK"] > 128:
        return tiles | {"BV": 32, "scan_warps": 4, "gradient_BV": 32, "gradient_warps": 8}
    return tiles | {"gradient_BV": 32, "gradient_warps": 4}


def piece_length(N, programs, size, room):
    """Sequences a piece: the fewest that cost a batch no time.

    A scan takes as long as its waves, each of `room` programs; all pieces together must need no
    more waves than the N sequences at once. A piece has at least `LEAST_BYTES`, which on an H100
    are the work of a third of a millisecond: four launches more are little beside it.

    Parameters
    ----------
    programs : of a scan, a sequence
    size : bytes of states and their gradients, a sequence
    room : programs of a scan that run at a time
    """

    def waves(sequences):
        return cdiv(sequences * programs, room)

    for n in range(cdiv(LEAST_BYTES, max(size, 1)), N):
        if N // n * waves(n) + waves(N % n) <= waves(N):
            return n
    return N


def programs_at_once(device, hopper):
    """Programs of the reverse scan that the device runs at a time, or None if it is no GPU.

    The portable kernel takes half of a multiprocessor's registers, the one for Hopper more than
    half of its shared memory.
    """
    if device.type != "cuda":
        return None
    return torch.cuda.get_device_properties(device).multi_processor_count * (1 if hopper else 2)
