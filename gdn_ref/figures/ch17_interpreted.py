"""Chapter 17: what the decode kernel asks of memory, counted in Triton's interpreter.

Triton reads TRITON_INTERPRET when the kernels are imported: set it before.
"""

from unittest.mock import patch

import torch
from triton.runtime.interpreter import interpreter_builder

from gdn_ref import decode
from gdn_ref.kernels import decode as launcher

from .ch14_interpreted import Counts


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
    counts = Counts()
    tokens, pool, slot_idx = inputs(**sizes)
    launch, builder = launcher.launch, interpreter_builder
    load, store = builder.create_masked_load, builder.create_masked_store

    def counted_launch(kernel, *arguments, **options):
        counts.kernel = kernel.fn.__name__
        launch(kernel, *arguments, **options)

    def counted_load(pointers, mask, *rest):
        counts.access("read", pointers, mask)
        return load(pointers, mask, *rest)

    def counted_store(pointers, value, mask, *rest):
        counts.access("written", pointers, mask)
        return store(pointers, value, mask, *rest)

    with (
        patch.object(launcher, "launch", counted_launch),
        patch.object(builder, "create_masked_load", counted_load),
        patch.object(builder, "create_masked_store", counted_store),
    ):
        decode(**tokens, pool=pool, slot_idx=slot_idx, backend="triton")
    return counts.distinct("recurrent_kernel"), counts.asked["recurrent_kernel"]
