"""Token by token on the GPU: one launch, over a pool of states or over a batch of its own.

References: `gdn_ref.decoding.decode` and `gdn_ref.gated_delta_rule.recurrent`.
"""

from functools import cache, lru_cache

import torch
from torch.autograd.graph import increment_version

from ..host import gpu
from ..host.launch import cdiv, launcher, on_device, types
from ..host.layout import state_layout, stride_of_tokens, width_of_token
from .kernel import RecurrentCase, recurrent_kernel

PROGRAMS = 132  # one for each multiprocessor of an H100
STATE_OF_A_WARP = 4096  # numbers: 128 registers a thread
PIECE = 64  # values of a row of the state that are read in one piece, where that pays
MANY = 30 * PROGRAMS  # warps from which on it does
PER_TOKEN = 7  # q, k, v, g, beta, gk and gv, the first of the kernel's pointers
SMALL = (7, 8, 12, 13)  # A_log, dt_bias, cu_seqlens and slot_idx among the kernel's pointers


class Decode:
    """Updates a pool, returns the outputs, for ten tensors that look like these.

    `gdn_ref.decode` checks the arguments first.

    Parameters
    ----------
    q, k : [B, T, H, K]; any floating dtypes but float64, here and below, in any mixture
    v : [B, T, HV, V]
    g : [B, T, HV] natural log-decay, raw if `A_log` is given, or None for no decay
    beta : [B, T, HV] write strength, raw if `sigmoid`
    A_log, dt_bias : [HV] parameters of the gate, or None
    pool : [slots, HV, K, V], or [slots, HV, V, K] if `state_v_first`; each slot in one piece
    cu_seqlens : [N + 1] integers, or None: B sequences of T tokens
    slot_idx : [N] integers, no two alike, or None: sequence n has slot n
    scale : factor on `q`
    norm : whether queries and keys are divided by their norms
    sigmoid, negative : whether the write strength is `sigmoid(beta)`, and whether twice that
    """

    def __init__(
        self, q, k, v, g, beta, A_log, dt_bias, pool, cu_seqlens, slot_idx,
        *, scale, state_v_first, norm, sigmoid, negative,
    ):  # fmt: skip
        pointers = (q, k, v, g, beta, None, None, A_log, dt_bias, pool, v, pool)
        pointers += (cu_seqlens, slot_idx)
        flags = {"IN_PLACE": True, "NORM": norm, "SIGMOID": sigmoid, "NEGATIVE": negative}
        self.tokens = Tokens(pointers, scale, state_v_first, flags)

    def __call__(self, q, k, v, g, beta, A_log, dt_bias, pool, cu_seqlens, slot_idx):
        o = torch.empty_like(v, memory_format=torch.contiguous_format)
        if pool.shape[0] == 0:  # no slot is taken, and there is none that could be read for nothing
            return o.zero_()
        self.tokens(
            q, k, v, g, beta, None, None, A_log, dt_bias, pool, o, pool, cu_seqlens, slot_idx
        )
        increment_version(pool)  # autograd, if it has kept the pool, must know
        return o


class Recurrent:
    """Outputs, and final states in float32, for tensors that look like these.

    `S` is [N, HV, K, V], or [N, HV, V, K] if `v_first`, or None for the empty memory; so are the
    final states. `gk`, [B, T, HV, K], and `gv`, [B, T, HV, V], are natural log-decays of channels,
    or None. `batch_invariant`: one tile for any number of sequences. The rest as for `Decode`.
    """

    def __init__(
        self, q, k, v, g, beta, A_log, dt_bias, S, cu_seqlens, gk=None, gv=None,
        *, scale, v_first, norm, sigmoid, negative, batch_invariant=False,
    ):  # fmt: skip
        HV, V, K = v.shape[2], v.shape[3], k.shape[3]
        self.size = (HV, V, K) if v_first else (HV, K, V)
        flags = {"IN_PLACE": False, "NORM": norm, "SIGMOID": sigmoid, "NEGATIVE": negative}
        last = v.new_empty((0, *self.size), dtype=torch.float32)
        pointers = (q, k, v, g, beta, gk, gv, A_log, dt_bias, S, v, last, cu_seqlens, None)
        self.tokens = Tokens(pointers, scale, v_first, flags, batch_invariant)

    def __call__(self, q, k, v, g, beta, A_log, dt_bias, S, cu_seqlens, gk=None, gv=None):
        o = torch.empty_like(v, memory_format=torch.contiguous_format)
        N = v.shape[0] if cu_seqlens is None else cu_seqlens.shape[0] - 1
        last = v.new_empty(N, *self.size, dtype=torch.float32)
        S = S if S is None or S.is_contiguous() else S.contiguous()
        self.tokens(q, k, v, g, beta, gk, gv, A_log, dt_bias, S, o, last, cu_seqlens, None)
        return o, last


class Tokens:
    """The launch for tensors that look like these: the kernel's pointers, in its order.

    States lie as `[V, K]` in memory if `v_first`.
    """

    def __init__(self, pointers, scale, v_first, flags, batch_invariant=False):
        q, _, v, *_, last, _, _ = pointers
        H, K = q.shape[2:]
        self.HV, self.V = v.shape[2:]
        self.K, self.scale, self.batch_invariant = K, scale, batch_invariant
        self.v_first = v_first
        strides = [0 if x is None else stride_of_tokens(x) for x in pointers[:PER_TOKEN]]
        self.copied = [i for i, stride in enumerate(strides) if stride is None]
        for i in self.copied:
            strides[i] = width_of_token(pointers[i])
        small = [i for i in SMALL if pointers[i] is not None and not pointers[i].is_contiguous()]
        self.copied += small
        if pointers[5] is None and pointers[6] is None:  # a kernel without decays of channels
            strides = strides[:5]
        self.strides = tuple(strides)
        constants = {"H": H, "HV": self.HV, "K": K, "V": self.V}
        constants |= state_layout(K, self.V, v_first)
        whole = last.is_contiguous()  # a lone slot may have any stride
        constants["S_slot"] = self.HV * K * self.V if whole else last.stride(0)
        kinds, can_be_early = types(v, *pointers), gpu.starts_early(v.device)

        @cache
        def launch(BK, BV, warps):
            few = BK * BV < STATE_OF_A_WARP  # states; many would not gain
            early = {"EARLY": can_be_early and few}
            case = RecurrentCase(**constants, BK=BK, BV=BV, **flags, **early)
            return launcher(recurrent_kernel, case, kinds, num_warps=warps)

        self.launch = launch

    def __call__(self, *pointers):
        v, cu_seqlens = pointers[2], pointers[12]
        B, T = v.shape[:2]
        N = B if cu_seqlens is None else cu_seqlens.shape[0] - 1
        if N == 0:
            return
        if self.copied:
            copied = self.copied
            pointers = [x.contiguous() if i in copied else x for i, x in enumerate(pointers)]
        if self.batch_invariant:
            tiles = warp_tiles(PROGRAMS, self.K, self.V)
        else:
            once = B * T == N and not self.v_first
            tiles = warp_tiles(N * self.HV, self.K, self.V, once)
        programs = N * self.HV * cdiv(self.V, tiles[1])
        with on_device(v):
            self.launch(*tiles)((programs, 1, 1), pointers, (self.scale, T, *self.strides))


@lru_cache(maxsize=4096)
def warp_tiles(states, K, V, once=False):
    """`BK`, `BV` and warps for this many states (sequences times value heads); nothing is tuned.

    `BK` covers the key dimension. A program is one warp, so that no sum over it waits for another
    warp, and takes as wide a slice of the value dimension as its registers hold, for long rows
    of memory in one piece. Few states are cut finer, to give every multiprocessor work, down to 8
    values: 32 bytes of float32, the least that memory delivers.

    `once` is for one token of each sequence and states whose rows are values. Many of them are as
    fast as memory is, and sums over two or four warps are found but once: so these share a slice.
    """
    BK = 1 << (K - 1).bit_length()
    whole = 1 << (V - 1).bit_length()
    BV = min(whole, STATE_OF_A_WARP // BK)
    shared = min(whole, PIECE)
    if once and shared > BV and states * cdiv(V, BV) >= MANY:
        return BK, shared, shared // BV
    while BV > 8 and states * cdiv(V, BV) < PROGRAMS:
        BV //= 2
    return BK, BV, 1
