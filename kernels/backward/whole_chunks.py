"""Sequences that end with whole chunks: a copy with tokens of zeros, which change nothing.

On Hopper the gradients of heads beyond 128 dimensions are computed of whole chunks alone. Any other
call is laid out for them first, so that a sequence has the same gradients padded, packed and alone.
Packed sequence n then begins where its first slot does, with chunk `cu_seqlens[n] // C + n`
(`common.tokens.chunk_bounds`): the host need not know where it ends.

Reference: `gdn_ref.chunking.split_chunks`, which fills up the last chunk alike.
"""

import torch

from ..host.launch import cdiv, compiling
from ..host.memory import new


class WholeChunks:
    """Where tokens go that lie as those of `k`; `cu_seqlens` are the offsets there."""

    def __init__(self, k, cu_seqlens, C):
        self.B, self.T = k.shape[:2]
        self.length, self.cu_seqlens, self.places = cdiv(self.T, C) * C, cu_seqlens, None
        if cu_seqlens is None:
            return
        N = len(cu_seqlens) - 1
        self.length = (self.T // C + N) * C
        if compiling():
            return
        n = torch.arange(N + 1, device=k.device, dtype=cu_seqlens.dtype)
        t = torch.arange(self.T, device=k.device, dtype=cu_seqlens.dtype)
        self.cu_seqlens = (cu_seqlens // C + n) * C
        owner = torch.searchsorted(cu_seqlens[1:], t, right=True)
        self.places = (t + (self.cu_seqlens - cu_seqlens)[owner]).long()

    def lay(self, x):
        """`[B, T, ...]` with zeros after each sequence; None stays None."""
        if x is None:
            return None
        laid = new(x, (self.B, self.length, *x.shape[2:]))
        if compiling():
            return laid
        if self.places is None:
            laid[:, : self.T] = x
            laid[:, self.T :] = 0
        else:
            laid.zero_()[0].index_copy_(0, self.places, x[0])
        return laid

    def take(self, laid):
        """The tokens of a tensor that lies so, `[B, T, ...]`; None stays None."""
        if laid is None or compiling():
            return laid
        if self.places is None:
            return laid[:, : self.T].contiguous()
        return laid[:, self.places]
