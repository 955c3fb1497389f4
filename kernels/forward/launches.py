"""The forward pass on the GPU: two launches. `host` has the rules that pick kernel and tiles.

    1  c and UT, or T_inv if a backward pass may follow    `transform`, chunks in parallel
    2  outputs and last states                             `scan`, from chunk to chunk

or, for batches that fill a Hopper GPU, one for all of it (`hopper.fused`), after c alone (`weigh`);
that has the same for a backward pass.
Heads of odd sizes may be padded first (`padding`), and on Hopper a long sequence is cut into
segments (`hopper.launches`). Each class here holds what follows from dtypes, heads and flags alone,
and adds what it does for some sizes to `Steps`, which each call runs, and finds if they are not
known (`Twice`).

Reference: `gdn_ref.gated_delta_rule.chunkwise`.
"""

from functools import cache

import torch

from ..host import gpu
from ..host.launch import Steps, Twice, aligned, launcher
from ..host.memory import contiguous, fill, new
from ..host.plan import Plan, call_sizes, scan_launcher, scan_programs
from ..host.routes import has_transform_mma, made_for_hopper
from ..host.tiles import dot_precision, tile_rule
from .padding import PaddedForward, pays
from .scan import ScanCase, chunk_scan_kernel
from .shares import shares
from .transform import TransformCase, ut_transform_kernel
from .transform_mma import Transform16BitCase, ut_transform_16bit_kernel

KEPT = ("c", "UT", "spans")  # what a backward pass can use; the last not in all calls


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
    keep : whether a backward pass may follow: results besides are `c` and `T_inv`, which it needs,
        and one state of each span of chunks, [N, spans, HV, V, K] as v, or None
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
        self.stages = {False: (Transform(plan, scaled, keep), Scan(plan, scale, v_first, scaled))}
        self.on_hopper, self.fused = made_for_hopper(k, v, chunk_size), None
        if self.on_hopper:
            from .hopper.fused.launches import Fused
            from .hopper.launches import HopperScan

            if not batch_invariant:
                self.fused = Fused.of(plan, scale, v_first, keep)
            early = Transform(plan, scaled, keep, hopper=True)
            scan = HopperScan(plan, scale, v_first, early.strength, not batch_invariant)
            self.stages[True] = early, scan
        options = {"scale": scale, "v_first": v_first, "chunk_size": chunk_size, "keep": keep}
        self.results = ("o", "S_last") + KEPT * keep
        self.steps = Twice(self.steps_of)
        self.padded = None
        if not batch_invariant:  # which pays for segments alone
            self.padded = PaddedForward.of(Forward, k, v, chunk_size, options)

    def __call__(self, q, k, v, g, beta, S, cu_seqlens):
        plan, tensors = self.plan, (q, k, v, g, beta, S, cu_seqlens)
        if self.padded is not None and pays(plan, plan.sizes(v, cu_seqlens)):
            return self.padded(*tensors)
        if self.apart:
            tensors = [contiguous(x) if i in self.apart else x for i, x in enumerate(tensors)]
            q, k, v, g, beta, S, cu_seqlens = tensors
        B, T, *_ = v.shape
        N = B if cu_seqlens is None else cu_seqlens.shape[0] - 1
        # the copy engine reads tiles from addresses that are multiples of 16 bytes only
        hopper = self.on_hopper and aligned(q, k, v)
        given = {"q": q, "k": k, "v": v, "g": g, "beta": beta, "S": S, "cu_seqlens": cu_seqlens}
        found = self.steps[B, T, N, hopper].run(v, given)
        if B * T == 0:  # the states stay
            fill(found["S_last"], S)
        return tuple(map(found.get, self.results))

    def steps_of(self, B, T, N, hopper):
        """What is done for N sequences in a batch of these sizes; on `hopper` or not."""
        plan, found = self.plan, Steps()
        sizes = call_sizes(B, T, N, plan.C, plan.packed)
        rows, columns = (plan.V, plan.K) if self.v_first else (plan.K, plan.V)
        found.memory += [
            ("o", (B, T, plan.HV, plan.V), plan.dtype),
            ("S_last", (N, plan.HV, rows, columns), torch.float32),
        ]
        if hopper and sizes.total and self.fused is not None and self.fused.pays(sizes):
            self.fused.add(found, sizes)
            return found
        transform, scan = self.stages[hopper]
        transform.add(found, sizes)
        if sizes.total:
            scan.add(found, sizes)
        return found

    def kept(self, v, cu_seqlens):
        """Memory like what a call keeps, whose tensors are aligned."""
        (B, T), N = v.shape[:2], len(v) if cu_seqlens is None else len(cu_seqlens) - 1
        memory = self.steps[B, T, N, self.on_hopper].memory
        made = {name: new(v, size, dtype) for name, size, dtype in memory if name in KEPT}
        return tuple(map(made.get, KEPT))

    def whole_call(self, q, k, v, g, beta, A_log, dt_bias, S, cu_seqlens):
        """As `rule.Rule.forward`, where nothing comes before these launches."""
        return self(q, k, v, g, beta, S, cu_seqlens)


class Transform:
    """The UT transform of k, g and beta: `c`, `UT` and, as `strength` says, one tensor more.

    Unless `scaled`, the second is `T_inv` itself. With `hopper` the scan for Hopper follows, and
    `k` is aligned.

    c, UT : as `transform_memory` says, with `room` or without
    strength : the name of what the scan for Hopper multiplies by: None if `scaled`; else "beta" or,
        up to 128 key dimensions, "strength", in float32, as `c` lies, one head after the other
    """

    def __init__(self, plan, scaled, room=False, hopper=False):
        self.plan, self.scaled, self.room = plan, scaled, room
        tiles = plan.tiles
        constants = {"K": plan.K, "BK": tiles["BK"], "HAS_G": plan.has_g}
        constants |= {"PACKED": plan.packed, "SCALED": scaled}
        self.in_blocks = has_transform_mma(plan)
        self.by_head = self.in_blocks and hopper and not scaled
        self.strength = None if scaled else "strength" if self.by_head else "beta"
        if self.in_blocks:
            kernel, options = ut_transform_16bit_kernel, {"num_warps": 1}
            case = Transform16BitCase(**constants, HOPPER=hopper)
        else:
            kernel = ut_transform_kernel
            options = {"num_warps": tiles["transform_warps"], "num_stages": 1}
            precision = "tf32x3" if plan.exact else "tf32"
            case = TransformCase(**constants, C=plan.C, PRECISION=precision)
        self.launch = launcher(kernel, case, plan.types, **options)
        more = ("strength" if self.by_head else None,) * self.in_blocks
        self.names = ("k", "g", "beta", "c", "UT", *more, "cu_seqlens")

    def add(self, steps, sizes):
        plan, H, HV = self.plan, self.plan.H, self.plan.HV
        c, UT = transform_memory(HV * sizes.total, plan.C, self.room, plan.exact)
        steps.memory += [("c", *c), ("UT", *UT)]
        if self.by_head:
            steps.memory.append(("strength", *c))
        if sizes.total:
            numbers = (sizes.N, sizes.T, sizes.total, H, HV // H)
            steps.launches.append((self.launch, (sizes.slots, H, 1), self.names, numbers, ()))


def transform_memory(rows, C, room, exact):
    """Size and dtype of what the UT transform makes of so many tokens, those of all heads.

    c : [HV * B * T], the chunks' cumulative log-decays in base 2; float64 for `exact` inputs
    UT : [HV * B * T, C], rows of the chunks' matrices; float32 for `exact` inputs, else float16.
        With `room` there are C rows more: `backward` cuts off the first sequences, and the copy
        engine is told of as many rows as before.
    """
    c = (rows,), torch.float64 if exact else torch.float32
    return c, ((rows + C if room else rows, C), torch.float32 if exact else torch.float16)


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

    def add(self, steps, sizes):
        programs = scan_programs(self.plan, sizes)
        n = shares(sizes.length // self.plan.C, programs, self.plan.multiprocessors)
        names = ("q", "k", "v", "beta", "c", "UT", "S", "o", "S_last", "cu_seqlens")
        numbers = (self.scale, sizes.T, sizes.total)
        steps.launches.append((self.launch(n), (programs * n, 1, 1), names, numbers, ()))
