"""Chapter 17: what the decode kernel asks of memory, counted in Triton's interpreter.

Triton reads TRITON_INTERPRET when the kernels are imported: set it before.
"""

import torch

from gdn_ref import decode

from .ch14_interpreted import counting


def inputs(N=2, n=1, H=1, HV=2, K=16, V=16, pool_dtype=torch.float32, slots=5, dtype=torch.float16):
    """Tokens of N sequences by argument name, and a pool whose other slots are NaN."""
    draw = torch.Generator().manual_seed(0)

    def normal(*size):
        return torch.randn(*size, generator=draw)

    q, k, v = normal(N, n, H, K), normal(N, n, H, K) / K**0.5, normal(N, n, HV, V)
    tokens = {"q": q.to(dtype), "k": k.to(dtype), "v": v.to(dtype)}
    tokens |= {"g": -0.1 * normal(N, n, HV).abs(), "beta": normal(N, n, HV).sigmoid()}
    slot_idx = torch.randperm(slots, generator=draw)[:N]
    pool = torch.full((slots, HV, K, V), torch.nan, dtype=pool_dtype)
    pool[slot_idx] = normal(N, HV, K, V).to(pool_dtype)
    return tokens, pool, slot_idx


def count(**sizes):
    """Distinct bytes, and bytes asked for, of one call; sizes as those of `inputs`."""
    tokens, pool, slot_idx = inputs(**sizes)
    with counting() as counts:
        decode(**tokens, pool=pool, slot_idx=slot_idx, backend="triton")
    return counts.distinct("recurrent_kernel"), counts.asked["recurrent_kernel"]
