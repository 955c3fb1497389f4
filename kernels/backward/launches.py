"""The backward pass on the GPU: its launches.

    0  c and T_inv             `forward.transform`, if the forward pass has not kept them
    1  the states S            `states`, forwards from chunk to chunk
    2  their gradients dS', Z  `state_gradients`, backwards from chunk to chunk
    3  all other gradients     `chunk_gradients`, chunks in parallel

each in a form for Hopper where `goes_to_hopper` says so. 1 and 2 do not wait for each other. Z goes
to the place of dV, as `state_gradients.factor` says. No atomics: every number has one program that
adds it up, always in one order.

Work that is the same for calls that look alike is done once, in three steps: `prepare_backward`
looks at the tensors, `prepare_pieces` cuts a batch, `prepare_piece` prepares the launches.

Reference: `gdn_ref.backward.gradients`.
"""

from contextlib import nullcontext
from threading import local

import torch

from ..forward.launches import new_transform, prepare_transform
from ..host import gpu
from ..host.launch import aligned, cdiv, prepare_launch
from ..host.layout import in_dtype, laid_out
from ..host.plan import Plan, prepare_walk
from ..host.routes import goes_to_hopper
from ..host.tiles import dot_precision, gradient_tiles, tile_rule
from .chunk_gradients import chunk_gradients_kernel
from .pieces import by_sequence, piece_length, pieces, programs_at_once
from .state_gradients import state_gradients_kernel
from .states import chunk_states_kernel

_streams = local()  # of a thread: device -> stream


def chunk_backward(q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size, do, dS_last):
    """Gradients of `forward.launches.chunk_forward`: `dq, dk, dv, dg, dbeta, dS_first`.

    Parameters
    ----------
    q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size
        As given to `chunk_forward`.
    do : [B, T, HV, V], the gradient of the outputs
    dS_last : [N, HV, V, K], the gradient of the last states, or None for zero

    Returns
    -------
    dq, dk, dv : as q, k, v
    dg : [B, T, HV] float32, or None if g is
    dbeta : [B, T, HV] float32
    dS_first : [N, HV, V, K] float32
    """
    run = prepare_backward(scale, chunk_size)
    return run(q, k, v, g, beta, initial_state, cu_seqlens, do, dS_last)


def prepare_backward(scale, chunk_size):
    """`chunk_backward` for calls whose first seven tensors look alike.

    `run(q, k, v, g, beta, S, cu_seqlens, do, dS_last, c, T_inv)`, the last two as the forward pass
    has kept them, or None. All else that decides how a call runs is looked at again, and what
    follows from it is kept for the next call.
    """
    ready = {}

    def run(q, k, v, g, beta, S, cu_seqlens, do, dS_last, c=None, T_inv=None):
        q, k, v, beta, do = (x.contiguous() for x in (q, k, v, beta, in_dtype(do, v.dtype)))
        g, cu_seqlens = (None if x is None else x.contiguous() for x in (g, cu_seqlens))
        S, v_first = laid_out(S)
        dS_last, dS_v_first = laid_out(dS_last)
        dq, dk, dv = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        dbeta = v.new_empty(beta.shape, dtype=torch.float32)
        dg = None if g is None else torch.empty_like(dbeta)
        N = len(k) if cu_seqlens is None else len(cu_seqlens) - 1
        dS_first = v.new_empty((N, *v.shape[2:], k.shape[3]), dtype=torch.float32)
        given, results = (q, k, v, g, beta, S, cu_seqlens), (dq, dk, dv, dg, dbeta, dS_first)
        if beta.numel() == 0:  # no token: the states stay
            dS_first.zero_() if dS_last is None else dS_first.copy_(dS_last)
            return results
        # a sequence of such heads takes a multiple of 128 bytes: each piece is aligned as all are
        hopper = goes_to_hopper(k, v, cu_seqlens, chunk_size) and aligned(q, k, v, do)
        kept = c is not None and T_inv.shape[1] == gradient_chunk(k, v, chunk_size, hopper)
        kept = kept and aligned(T_inv)  # as it is unless hooks of autograd have copied it
        c, T_inv = by_sequence(c, T_inv, v) if kept else (None, None)
        kind = (hopper, kept, v_first, dS_last is not None, dS_v_first, dot_precision(v.dtype))
        if kind not in ready:
            ready[kind] = prepare_pieces(given, scale, chunk_size, *kind)
        lengths, steps = ready[kind]
        with gpu.on_device(v):
            cut = pieces((*given, do, dS_last, *results, c, T_inv), lengths)
            for step, piece in zip(steps, cut, strict=True):
                step(*piece)
        return results

    return run


def prepare_pieces(tensors, scale, chunk_size, hopper, kept, *kind):
    """How many sequences are in the first piece, the second, and so on; and what runs each.

    A padded batch goes in pieces of a few sequences, so that inverses, states and their gradients
    are in memory for one piece at a time. Packed sequences go all at once: the host does not know
    where they end.
    """
    k, v = tensors[1:3]
    memory = gpu.has_tensor_memory(v.device)
    tiles = gradient_tiles(k.shape[3], v.dtype, chunk_size, hopper, memory)
    whole = Plan(tensors, tiles)
    length = N = whole.N
    if not whole.packed and (room := programs_at_once(v.device, hopper)):
        size = 2 * whole.slots // N * whole.HV * whole.V * whole.K * v.element_size()
        length = piece_length(N, whole.HV * cdiv(whole.V, tiles["BV"]), size, room)
    lengths = [min(length, N - first) for first in range(0, N, length)]
    steps = {}  # for the last piece, which may be shorter, and for all others
    for n, piece in zip(lengths, pieces(tensors, lengths), strict=True):
        if n not in steps:
            plan = Plan(piece, tiles)
            if kept:  # c and T_inv are cut, but lie as they did
                plan.head_stride = whole.total
            steps[n] = prepare_piece(plan, scale, hopper, kept, *kind)
    return lengths, [steps[n] for n in lengths]


def prepare_piece(plan, scale, hopper, kept, v_first, has_dS, dS_v_first, precision):
    """The launches, for contiguous tensors: writes all gradients, keeps nothing else.

    `run(q, k, v, g, beta, S, cu_seqlens, do, dS_last, dq, dk, dv, dg, dbeta, dS_first, c, T_inv)`
    """
    T = plan.T
    transform = None if kept else prepare_transform(plan, scaled=False)
    if hopper:
        from .hopper import launches as on_hopper

        at_once, keeps_R = on_hopper.room_for_both(plan), on_hopper.keeps_R(plan.K)
        find_states = on_hopper.prepare_states(plan, v_first)
        find_dstates = on_hopper.prepare_state_gradients(plan, scale, has_dS, dS_v_first)
        find_rest = [on_hopper.prepare_chunk_gradients(plan, scale)]
        if plan.packed or T % plan.tiles["C"]:
            find_rest.append(prepare_chunk_gradients(plan, scale, precision, short=True))
    else:
        at_once = keeps_R = False
        sizes, flags = (T, plan.head_stride), {"PACKED": plan.packed}
        walk = (chunk_states_kernel, sizes, v_first, {"HAS_S": plan.has_S, **flags})
        find_states = prepare_walk(plan, precision, *walk)
        walk = (state_gradients_kernel, (scale, *sizes), dS_v_first, {"HAS_DS": has_dS, **flags})
        find_dstates = prepare_walk(plan, precision, *walk)
        find_rest = [prepare_chunk_gradients(plan, scale, precision, short=False)]
    size = (plan.slots, plan.HV, plan.V, plan.K)

    def run(*tensors):
        q, k, v, g, beta, S, cu_seqlens, do, dS_last, *results, c, T_inv = tensors
        dq, dk, dv, dg, dbeta, dS_first = results
        states = v.new_empty(size)
        dstates = torch.empty_like(states)
        R = torch.empty_like(v, dtype=torch.float16) if keeps_R else v
        kept = (R,) if keeps_R else ()
        if transform is not None:
            c, T_inv = transform(k, g, beta, cu_seqlens)
        try:
            with beside(v.device) if at_once else nullcontext():
                find_states(k, v, beta, c, T_inv, S, states, cu_seqlens, *kept)
            # dv, but for tokens with a small beta, which the last launch puts right
            find_dstates(q, k, do, beta, c, T_inv, dS_last, dv, dstates, dS_first, cu_seqlens)
        finally:  # an error must not leave the other stream at work on memory that is given back
            if at_once:
                torch.cuda.current_stream().wait_stream(side_stream(v.device))
        for find in find_rest:
            find(q, k, R, beta, c, T_inv, do, dv, states, dstates, dq, dk, dg, dbeta, cu_seqlens)

    return run


def beside(device):
    """Launches go to another stream, after all that was launched before."""
    stream = side_stream(device)
    stream.wait_stream(torch.cuda.current_stream())
    return torch.cuda.stream(stream)


def side_stream(device):
    """The other stream, one for each device and thread: a thread may be capturing its own."""
    streams = vars(_streams)
    if device not in streams:
        streams[device] = torch.cuda.Stream(device)
    return streams[device]


def prepare_chunk_gradients(plan, scale, precision, short):
    """A launch for all chunks, or for those alone that are `short`, one a sequence at most."""
    tiles = plan.tiles
    constants = {"H": plan.H, "HV": plan.HV, "K": plan.K, "V": plan.V}
    constants |= {"C": tiles["C"], "BK": tiles["BK"], "BV": tiles["gradient_BV"]}
    constants |= {"HAS_G": plan.has_g, "PACKED": plan.packed, "SHORT": short}
    constants |= {"PRECISION": precision}
    return prepare_launch(
        chunk_gradients_kernel, (plan.N if short else plan.slots, plan.H),
        (scale, plan.N, plan.T, plan.head_stride), constants, plan.types,
        num_warps=tiles["gradient_warps"],
    )  # fmt: skip


def same_chunks(k, v, cu_seqlens, chunk_size):
    """Do both passes work in the same chunks, so that the forward pass can keep its inverses?"""
    hopper = goes_to_hopper(k, v, cu_seqlens, chunk_size)
    return forward_chunk(k, v, chunk_size) == gradient_chunk(k, v, chunk_size, hopper)


def new_kept(k, v, cu_seqlens, chunk_size):
    """Memory for what the forward pass keeps; none, if it keeps nothing."""
    if not same_chunks(k, v, cu_seqlens, chunk_size):
        return k.new_empty(0), k.new_empty(0, 0)
    return new_transform(k, v.shape[2], forward_chunk(k, v, chunk_size), room=True)


def forward_chunk(k, v, chunk_size):
    """Tokens a chunk of the forward pass."""
    memory = gpu.has_tensor_memory(v.device)
    return tile_rule(k.shape[3], v.dtype, chunk_size, memory)["C"]


def gradient_chunk(k, v, chunk_size, hopper):
    """Tokens a chunk of the backward pass."""
    memory = gpu.has_tensor_memory(v.device)
    return gradient_tiles(k.shape[3], v.dtype, chunk_size, hopper, memory)["C"]
