"""Heads of other sizes than the kernels for Hopper take, with zeros after each vector.

The scan for Hopper takes 64 and 128 key dimensions and multiples of 64 value dimensions. Copies to
those sizes cost more than they bring, except where sequences are so long, and heads so few, that
they are cut into segments; only that scan does it.

Reference: `gdn_ref.gated_delta_rule.chunkwise`.
"""

from torch.nn.functional import pad

from ..host import gpu
from ..host.launch import cdiv


def padded_sizes(K, V):
    """The least head dimensions that the scan for Hopper takes."""
    return 64 if K <= 64 else 128, cdiv(V, 64) * 64


def pays(plan, sizes):
    """Would a call of these sizes be cut into segments, if its heads were padded?"""
    if sizes.N == 0:
        return False
    from .hopper import launches as on_hopper

    K, V = padded_sizes(plan.K, plan.V)
    programs = sizes.N * plan.HV * V // 64
    _, length = on_hopper.cut(sizes.length, programs, K, plan.multiprocessors)
    return length is not None


class PaddedForward:
    """The forward pass with zeros after each vector, which change no number; its results, cut."""

    @classmethod
    def of(cls, forward, k, v, chunk_size, options):
        """For heads of these sizes, or None where padding leads to no other kernels."""
        K, V = k.shape[3], v.shape[3]
        fits = (K, V) == padded_sizes(K, V) or K > 128 or chunk_size != 64
        if fits or v.element_size() != 2 or not gpu.has_hopper_engines(v.device):
            return None
        return cls(forward, options)

    def __init__(self, forward, options):
        self.new, self.options, self.forward = forward, options, None

    def __call__(self, q, k, v, g, beta, S, cu_seqlens):
        own_K, own_V = k.shape[3], v.shape[3]
        K, V = padded_sizes(own_K, own_V)
        q, k = (pad(x, (0, K - own_K)) for x in (q, k))
        v = pad(v, (0, V - own_V))
        v_first = self.options["v_first"]
        if S is not None:
            rows, columns = (V - own_V, K - own_K) if v_first else (K - own_K, V - own_V)
            S = pad(S, (0, columns, 0, rows))
        tensors = (q, k, v, g, beta, S, cu_seqlens)
        if self.forward is None:
            self.forward = self.new(*tensors, **self.options)
        o, S, *kept = self.forward(*tensors)
        rows, columns = (own_V, own_K) if v_first else (own_K, own_V)
        return o[..., :own_V].contiguous(), S[..., :rows, :columns].contiguous(), *kept
