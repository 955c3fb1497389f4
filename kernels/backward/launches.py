"""The backward pass on the GPU: its launches.

    0  c and T_inv             `forward.transform`, if the forward pass has not kept them
    1  the states S            `states`, forwards from chunk to chunk, if it has not kept these
    2  their gradients dS', Z  `state_gradients`, backwards from chunk to chunk
    3  all other gradients     `chunk_gradients`, chunks in parallel

each in a form for Hopper where there is one (`made_for_hopper`). 1 and 2 do not wait for each
other. Z goes to the place of dV, as `numbers.factor` says. No atomics: every number has one
program that adds it up, always in one order. As in `forward.launches`, a class holds what follows
from dtypes, heads and flags; `Backward` looks at the tensors and cuts a batch, `Gradients` has the
launches.

Reference: `gdn_ref.backward.gradients`.
"""

from contextlib import nullcontext
from threading import local

import torch

from ..forward.launches import Transform, transform_memory
from ..host import gpu
from ..host.launch import Steps, aligned, cdiv, launcher, on_device
from ..host.layout import laid_out
from ..host.memory import contiguous, fill, in_dtype, like, new
from ..host.plan import Plan, scan_launcher, scan_programs
from ..host.routes import made_for_hopper, wants_whole_chunks
from ..host.tiles import dot_precision, gradient_tiles, tile_rule
from .chunk_gradients import ChunkGradientsCase, chunk_gradients_kernel
from .pieces import by_sequence, piece_length, pieces, programs_at_once
from .state_gradients import StateGradientsCase, state_gradients_kernel
from .states import StatesCase, chunk_states_kernel
from .whole_chunks import WholeChunks

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
    run = Backward(scale, chunk_size)
    return run(q, k, v, g, beta, initial_state, cu_seqlens, do, dS_last)


class Backward:
    """`chunk_backward` for calls whose first seven tensors look alike.

    Called with the last three as the forward pass has kept them, or None. All else that decides
    how a call runs is looked at again, and what follows from it is kept for the next call.
    """

    def __init__(self, scale, chunk_size, batch_invariant=False):
        self.scale, self.chunk_size, self.known = scale, chunk_size, {}
        self.batch_invariant = batch_invariant

    def __call__(
        self, q, k, v, g, beta, S, cu_seqlens, do, dS_last, c=None, T_inv=None, states=None,
    ):  # fmt: skip
        do = in_dtype(do, v.dtype)
        q, k, v, g, beta, cu_seqlens, do = map(contiguous, (q, k, v, g, beta, cu_seqlens, do))
        # a sequence of such heads takes a multiple of 128 bytes: each piece is aligned as all are
        hopper = made_for_hopper(k, v, self.chunk_size) and aligned(q, k, v, do)
        if hopper and beta.numel() and wants_whole_chunks(k, v, cu_seqlens, self.chunk_size):
            whole = WholeChunks(k, cu_seqlens, self.chunk_size)
            q, k, v, g, beta, do = map(whole.lay, (q, k, v, g, beta, do))
            given = (q, k, v, g, beta, S, whole.cu_seqlens)
            *gradients, dS = self.launch(hopper, *given, do, dS_last)
            return *map(whole.take, gradients), dS
        kept = c, T_inv, states
        return self.launch(hopper, q, k, v, g, beta, S, cu_seqlens, do, dS_last, *kept)

    def launch(
        self, hopper, q, k, v, g, beta, S, cu_seqlens, do, dS_last, c=None, T_inv=None, states=None,
    ):  # fmt: skip
        """The same for tensors as the kernels take them; on `hopper` with those made for it."""
        S, v_first = laid_out(S)
        dS_last, dS_v_first = laid_out(dS_last)
        dq, dk, dv, dbeta = like(q), like(k), like(v), like(beta, torch.float32)
        dg = None if g is None else like(dbeta)
        N = len(k) if cu_seqlens is None else len(cu_seqlens) - 1
        dS_first = new(v, (N, *v.shape[2:], k.shape[3]), torch.float32)
        given, results = (q, k, v, g, beta, S, cu_seqlens), (dq, dk, dv, dg, dbeta, dS_first)
        if beta.numel() == 0:  # no token: the states stay
            fill(dS_first, dS_last)
            return results
        kept = c is not None and T_inv.shape[1] == gradient_chunk(k, v, self.chunk_size, hopper)
        # as they are unless hooks of autograd have copied them
        kept = kept and aligned(T_inv) and (states is None or aligned(states))
        c, T_inv, states = by_sequence(c, T_inv, states, v) if kept else (None, None, None)
        kind = (hopper, kept, v_first, dS_last is not None, dS_v_first, dot_precision(v.dtype))
        kind += (self.batch_invariant,)
        if kind not in self.known:
            self.known[kind] = Gradients(given, self.scale, self.chunk_size, *kind)
        gradients = self.known[kind]
        with on_device(v):
            gradients(*given, do, dS_last, *results, c, T_inv, states)
        return results


class Gradients:
    """The launches, for contiguous tensors: writes all gradients, keeps nothing else.

    A padded batch goes in pieces of a few sequences, so that inverses, states and their gradients
    are in memory for one piece at a time. Packed sequences go all at once: the host does not know
    where they end.
    """

    def __init__(
        self, tensors, scale, chunk_size, hopper, kept, v_first, has_dS, dS_v_first, precision,
        batch_invariant,
    ):  # fmt: skip
        k, v = tensors[1:3]
        memory = gpu.has_tensor_memory(v.device)
        tiles = gradient_tiles(k.shape[3], v.dtype, chunk_size, hopper, memory)
        self.plan = plan = Plan(tensors, tiles)
        self.hopper, self.keeps_R, self.room_for_both = hopper, False, None
        self.span_of = lambda plan, sizes: 1
        self.transform = None if kept else Transform(plan, scaled=False)
        if not hopper:
            rest = ChunkGradients(plan, scale, precision, short=False)
            self.by_span = {1: (States(plan, precision, v_first), rest)}
            self.find_dstates = StateGradients(plan, scale, precision, has_dS, dS_v_first)
            return
        from ..forward.hopper import spans
        from .hopper import launches as on_hopper

        self.keeps_R, self.room_for_both = on_hopper.keeps_R(plan.K), on_hopper.room_for_both
        if not batch_invariant:
            self.span_of = spans.span_of
        self.by_span = {
            span: (
                on_hopper.HopperStates(plan, v_first, span),
                on_hopper.HopperChunkGradients(plan, scale, span),
            )
            for span in spans.SPANS
        }
        self.find_dstates = on_hopper.HopperStateGradients(plan, scale, has_dS, dS_v_first)
        self.find_short = ChunkGradients(plan, scale, precision, short=True)

    def __call__(self, *tensors):
        v, cu_seqlens = tensors[2], tensors[6]
        whole = self.plan.sizes(v, cu_seqlens)
        lengths = self.lengths(whole, v)
        for n, piece in zip(lengths, pieces(tensors, lengths), strict=True):
            sizes = whole
            if n < whole.N:
                sizes = self.plan.sizes(piece[2], cu_seqlens)
                if self.transform is None:  # c and T_inv are cut, but lie as they did
                    sizes = sizes._replace(head_stride=whole.total)
            self.run(sizes, *piece)

    def lengths(self, sizes, v):
        """How many sequences are in the first piece, the second, and so on."""
        plan, length, N = self.plan, sizes.N, sizes.N
        if N > 1 and not plan.packed and (room := programs_at_once(v.device, self.hopper)):
            size = 2 * sizes.slots // N * plan.HV * plan.V * plan.K * v.element_size()
            length = piece_length(N, plan.HV * cdiv(plan.V, plan.tiles["BV"]), size, room)
        return [min(length, N - first) for first in range(0, N, length)]

    def run(self, sizes, *tensors):
        """One piece."""
        q, k, v, g, beta, S, cu_seqlens, do, dS_last, *results, c, T_inv, states = tensors
        dq, dk, dv, dg, dbeta, dS_first = results
        plan, keeps_R = self.plan, self.keeps_R
        span = self.span_of(plan, sizes)
        find_states, find_rest = self.by_span[span]
        known = states is not None and states.shape[:2].numel() == sizes.spans(span)  # as many
        at_once = self.hopper and not known and self.room_for_both(plan, sizes)
        if not known:
            states = new(v, (sizes.spans(span), plan.HV, plan.V, plan.K))
        dstates = new(v, (sizes.slots, plan.HV, plan.V, plan.K))
        R = like(v, torch.float16) if keeps_R else v
        kept = (R,) if keeps_R else ()
        if self.transform is not None:
            steps, given = Steps(), {"k": k, "g": g, "beta": beta, "cu_seqlens": cu_seqlens}
            self.transform.add(steps, sizes)
            found = steps.run(v, given)
            c, T_inv = found["c"], found["UT"]
        try:
            if not known:
                with beside(v.device) if at_once else nullcontext():
                    find_states(sizes, k, v, beta, c, T_inv, S, states, cu_seqlens, *kept)
            # dv, but for tokens with a small beta, which the last launch puts right
            self.find_dstates(
                sizes, q, k, do, beta, c, T_inv, dS_last, dv, dstates, dS_first, cu_seqlens
            )
        finally:  # an error must not leave the other stream at work on memory that is given back
            if at_once:
                torch.cuda.current_stream().wait_stream(side_stream(v.device))
        rest = (beta, c, T_inv, do, dv, states, dstates, dq, dk, dg, dbeta, cu_seqlens)
        find_rest(sizes, q, k, R, *rest)
        if self.hopper and (plan.packed or sizes.T % plan.C):
            self.find_short(sizes, q, k, R, *rest)


class States:
    """The states that the chunks receive, for any GPU."""

    def __init__(self, plan, precision, v_first):
        self.plan = plan
        flags = {"HAS_S": plan.has_S, "PACKED": plan.packed}
        kernel, case = chunk_states_kernel, StatesCase
        self.launch = scan_launcher(plan, precision, kernel, case, v_first, flags)

    def __call__(self, sizes, *tensors):
        programs = scan_programs(self.plan, sizes)
        self.launch((programs, 1, 1), tensors, (sizes.T, sizes.head_stride))


class StateGradients:
    """Their gradients; the last one's lies as `v_first` says."""

    def __init__(self, plan, scale, precision, has_dS, v_first):
        self.plan, self.scale = plan, scale
        flags = {"HAS_DS": has_dS, "PACKED": plan.packed}
        kernel, case = state_gradients_kernel, StateGradientsCase
        self.launch = scan_launcher(plan, precision, kernel, case, v_first, flags)

    def __call__(self, sizes, *tensors):
        programs = scan_programs(self.plan, sizes)
        self.launch((programs, 1, 1), tensors, (self.scale, sizes.T, sizes.head_stride))


class ChunkGradients:
    """All other gradients of all chunks, or of those that are `short`, one a sequence at most."""

    def __init__(self, plan, scale, precision, short):
        self.plan, self.scale, self.short = plan, scale, short
        tiles = plan.tiles
        constants = {"H": plan.H, "HV": plan.HV, "K": plan.K, "V": plan.V}
        constants |= {"C": plan.C, "BK": tiles["BK"], "BV": tiles["gradient_BV"]}
        constants |= {"HAS_G": plan.has_g, "PACKED": plan.packed, "SHORT": short}
        case = ChunkGradientsCase(**constants, PRECISION=precision)
        options = {"num_warps": tiles["gradient_warps"]}
        self.launch = launcher(chunk_gradients_kernel, case, plan.types, **options)

    def __call__(self, sizes, *tensors):
        grid = (sizes.N if self.short else sizes.slots, self.plan.H, 1)
        self.launch(grid, tensors, (self.scale, sizes.N, sizes.T, sizes.head_stride))


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


def same_chunks(k, v, chunk_size):
    """Do both passes work in the same chunks, so that the forward pass can keep its inverses?"""
    hopper = made_for_hopper(k, v, chunk_size)
    return forward_chunk(k, v, chunk_size) == gradient_chunk(k, v, chunk_size, hopper)


def new_kept(k, v, chunk_size):
    """Memory for what the forward pass keeps; none, if it keeps nothing."""
    if not same_chunks(k, v, chunk_size):
        return new(k, (0,)), new(k, (0, 0))
    rows, C = v.shape[2] * k.shape[0] * k.shape[1], forward_chunk(k, v, chunk_size)
    made = transform_memory(rows, C, room=True, exact=v.dtype == torch.float32)
    return tuple([new(k, *size_and_dtype) for size_and_dtype in made])


def forward_chunk(k, v, chunk_size):
    """Tokens a chunk of the forward pass."""
    memory = gpu.has_tensor_memory(v.device)
    return tile_rule(k.shape[3], v.dtype, chunk_size, memory)["C"]


def gradient_chunk(k, v, chunk_size, hopper):
    """Tokens a chunk of the backward pass."""
    memory = gpu.has_tensor_memory(v.device)
    return gradient_tiles(k.shape[3], v.dtype, chunk_size, hopper, memory)["C"]
