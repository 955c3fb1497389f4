"""The forward pass on the GPU: two launches. `host` has the rules that pick kernel and tiles.

    1  c and UT, or T_inv if a backward pass may follow    `transform`, chunks in parallel
    2  outputs and last states                             `scan`, from chunk to chunk

or, for batches that fill a Hopper GPU, one for all of it (`hopper.fused`), after c alone (`weigh`);
that has the same for a backward pass.
Heads of odd sizes may be padded first (`padding`), and on Hopper a long sequence is cut into
segments (`hopper.launches`). Each class here holds what follows from dtypes, heads and flags alone;
its objects are called with tensors, of any length, and launch.

Reference: `gdn_ref.gated_delta_rule.chunkwise`.
"""

from functools import cache

import torch

from ..host import gpu
from ..host.launch import aligned, launcher
from ..host.memory import contiguous, fill, like, new
from ..host.plan import Plan, scan_launcher, scan_programs
from ..host.routes import has_transform_mma, made_for_hopper
from ..host.tiles import dot_precision, tile_rule
from .padding import PaddedForward, pays
from .scan import ScanCase, chunk_scan_kernel
from .shares import shares
from .transform import TransformCase, ut_transform_kernel
from .transform_mma import Transform16BitCase, ut_transform_16bit_kernel


def chunk_forward(
    q, k, v, g, beta, scale=1.0, initial_state=None, cu_seqlens=None, chunk_size=64, **options
):
    """Outputs and final state of the gated delta rule, chunk by chunk.

    Parameters
    ----------
    q, k, v, g, beta, cu_seqlens
        As for `Forward`.
    scale : factor on `q`, applied in float32
    initial_state : [N, HV, V, K] float32, or None for the empty memory
    chunk_size : 16, 32 or 64
    options : `batch_invariant`, as for `Forward`

    Returns
    -------
    o : [B, T, HV, V], in v's dtype
    final_state : [N, HV, V, K] float32; in memory as `initial_state` is, or else [N, HV, K, V]
    """
    tensors = (q, k, v, g, beta, initial_state, cu_seqlens)
    options |= {"scale": scale, "chunk_size": chunk_size}
    return chunk_forward_like(*tensors, **options)(*tensors)


def chunk_forward_like(q, k, v, g, beta, initial_state, cu_seqlens, **options):
    """`chunk_forward` for seven tensors that look like these: a function of them."""
    v_first = initial_state is not None and not initial_state.mT.is_contiguous()
    transposed = initial_state is not None and not v_first
    S = initial_state.mT if transposed else initial_state
    forward = Forward(q, k, v, g, beta, S, cu_seqlens, v_first=v_first, **options)

    def run(q, k, v, g, beta, initial_state, cu_seqlens):
        S = initial_state.mT if transposed else initial_state
        o, S, *kept = forward(q, k, v, g, beta, S, cu_seqlens)
        return o, S if v_first else S.mT, *kept

    return run


class Forward:
    """Outputs and final states of seven tensors that look like these, as `gdn_ref.ops` checks them.

    Parameters
    ----------
    q, k : [B, T, H, K]; float32, float16 or bfloat16, and v the same
    v : [B, T, HV, V]
    g : [B, T, HV] natural log-decay, or None for no decay; any floating dtype, as `beta`
    beta : [B, T, HV]
    S : [N, HV, K, V] float32, or [N, HV, V, K] if `v_first`, or None for the empty memory
    cu_seqlens : [N + 1] integers, or None: B sequences of T tokens
    scale, chunk_size : as for `chunk_forward`
    keep : whether a backward pass may follow: results besides are `c` and `T_inv`, which it needs
    batch_invariant : whether a sequence has the same bits whatever it comes with: no segments,
        and no other kernel where it comes with many
    """

    def __init__(
        self, q, k, v, g, beta, S, cu_seqlens,
        *, scale, v_first, chunk_size, keep=False, batch_invariant=False,
    ):  # fmt: skip
        tensors = (q, k, v, g, beta, S, cu_seqlens)
        self.apart = [i for i, x in enumerate(tensors) if x is not None and not x.is_contiguous()]
        tiles = tile_rule(k.shape[3], v.dtype, chunk_size, gpu.has_tensor_memory(v.device))
        self.plan = plan = Plan(tensors, tiles)
        self.keep, self.v_first = keep, v_first
        scaled = not keep  # beta goes into the matrix, but the backward pass wants it apart
        self.transform = Transform(plan, scaled, keep)
        self.scan = Scan(plan, scale, v_first, scaled)
        self.on_hopper, self.fused = made_for_hopper(k, v, chunk_size), None
        if self.on_hopper:
            from .hopper.fused.launches import Fused
            from .hopper.launches import HopperScan

            if not batch_invariant:
                self.fused = Fused.of(plan, scale, v_first, keep)
            self.early = Transform(plan, scaled, keep, hopper=True)
            self.hopper_scan = HopperScan(plan, scale, v_first, scaled, not batch_invariant)
        options = {"scale": scale, "v_first": v_first, "chunk_size": chunk_size, "keep": keep}
        self.padded = None
        if not batch_invariant:  # which pays for segments alone
            self.padded = PaddedForward.of(Forward, k, v, chunk_size, options)

    def __call__(self, q, k, v, g, beta, S, cu_seqlens):
        plan, tensors = self.plan, (q, k, v, g, beta, S, cu_seqlens)
        sizes = plan.sizes(v, cu_seqlens)
        if self.padded is not None and pays(plan, sizes):
            return self.padded(*tensors)
        if self.apart:
            tensors = [contiguous(x) if i in self.apart else x for i, x in enumerate(tensors)]
            q, k, v, g, beta, S, cu_seqlens = tensors
        o, S_last = like(v), self.new_states(sizes.N, v) if S is None else like(S)
        if sizes.total == 0:  # the states stay
            fill(S_last, S)
            return (
                (o, S_last, *new_transform(k, plan.HV, plan.C, True)) if self.keep else (o, S_last)
            )
        with gpu.on_device(v):
            # the copy engine reads tiles from addresses that are multiples of 16 bytes only
            if self.on_hopper and aligned(q, k, v):
                if self.fused is not None and self.fused.pays(sizes):
                    return o, S_last, *self.fused(sizes, q, k, v, g, beta, S, o, S_last)
                c, UT, strength = self.early(sizes, k, g, beta, cu_seqlens)
                self.hopper_scan(sizes, q, k, v, strength, c, UT, S, o, S_last, cu_seqlens)
            else:
                c, UT, _ = self.transform(sizes, k, g, beta, cu_seqlens)
                self.scan(sizes, q, k, v, beta, c, UT, S, o, S_last, cu_seqlens)
        return (o, S_last, c, UT) if self.keep else (o, S_last)

    def new_states(self, N, v):
        """Memory for the last states."""
        K, V = self.plan.K, self.plan.V
        rows, columns = (V, K) if self.v_first else (K, V)
        return new(v, (N, self.plan.HV, rows, columns), torch.float32)


class Transform:
    """The UT transform of k, g and beta: `c, UT, strength`.

    Unless `scaled`, the second is `T_inv` itself. With `hopper` the scan for Hopper follows, and
    `k` is aligned.

    c, UT : as `new_transform`, with `room` or without
    strength : None if `scaled`; else beta as the scan for Hopper wants it: up to 128 key dimensions
        in float32, as `c` lies, one head after the other
    """

    def __init__(self, plan, scaled, room=False, hopper=False):
        self.plan, self.scaled, self.room = plan, scaled, room
        tiles = plan.tiles
        constants = {"K": plan.K, "BK": tiles["BK"], "HAS_G": plan.has_g}
        constants |= {"PACKED": plan.packed, "SCALED": scaled}
        self.in_blocks = has_transform_mma(plan)
        self.by_head = self.in_blocks and hopper and not scaled
        if self.in_blocks:
            kernel, options = ut_transform_16bit_kernel, {"num_warps": 1}
            case = Transform16BitCase(**constants, HOPPER=hopper)
        else:
            kernel = ut_transform_kernel
            options = {"num_warps": tiles["transform_warps"], "num_stages": 1}
            precision = "tf32x3" if plan.exact else "tf32"
            case = TransformCase(**constants, C=plan.C, PRECISION=precision)
        self.launch = launcher(kernel, case, plan.types, **options)

    def __call__(self, sizes, k, g, beta, cu_seqlens):
        H, HV = self.plan.H, self.plan.HV
        c, UT = new_transform(k, HV, self.plan.C, self.room)
        tensors, strength = (k, g, beta, c, UT), None if self.scaled else beta
        if self.by_head:
            strength = like(c)
        if self.in_blocks:
            tensors += (strength if self.by_head else None,)
        numbers = (sizes.N, sizes.T, sizes.total, H, HV // H)
        self.launch((sizes.slots, H, 1), (*tensors, cu_seqlens), numbers)
        return c, UT, strength


def new_transform(k, HV, C, room):
    """Memory for the UT transform.

    c : [HV * B * T], the chunks' cumulative log-decays in base 2; float64 for float32 inputs
    UT : [HV * B * T, C], rows of the chunks' matrices; float32 for float32 inputs, else float16.
        With `room` there are C rows more: `backward` cuts off the first sequences, and the copy
        engine is told of as many rows as before.
    """
    rows, exact = HV * k.shape[0] * k.shape[1], k.dtype == torch.float32
    c = new(k, (rows,), torch.float64 if exact else torch.float32)
    shape = (rows + C if room else rows, C)
    return c, new(k, shape, torch.float32 if exact else torch.float16)


class Scan:
    """The scan over chunks, for any GPU."""

    def __init__(self, plan, scale, v_first, scaled):
        self.plan, self.scale = plan, scale
        flags = {"HAS_S": plan.has_S, "PACKED": plan.packed, "SCALED": scaled}

        @cache
        def launch(n):
            shared = {**flags, "SHARES": n}
            precision = dot_precision(plan.dtype)
            return scan_launcher(plan, precision, chunk_scan_kernel, ScanCase, v_first, shared)

        self.launch = launch  # for n programs that share a sequence

    def __call__(self, sizes, q, k, v, beta, c, UT, S, o, S_last, cu_seqlens):
        programs = scan_programs(self.plan, sizes)
        n = shares(sizes.length // self.plan.C, programs, self.plan.multiprocessors)
        tensors = (q, k, v, beta, c, UT, S, o, S_last, cu_seqlens)
        self.launch(n)((programs * n, 1, 1), tensors, (self.scale, sizes.T, sizes.total))
