"""flash-linear-attention's own context parallelism, for `across_ranks.py`.

Its kernels are tuned at their first call: some fifty variants, compiled one after the other, which
takes minutes. Here the variants of a kernel are compiled side by side before they are compared;
what cannot be compiled so is left to the tuner.
"""

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from unittest.mock import patch

import torch
import torch.distributed as dist


@contextmanager
def compiled_at_once():
    """Inside, Triton's autotuner finds all variants of a kernel compiled."""
    from triton import AsyncCompileMode
    from triton.runtime.autotuner import Autotuner

    prune = Autotuner.prune_configs

    def compiled(tuner, options):
        configs = prune(tuner, options)
        with suppress(Exception), AsyncCompileMode(threads, ignore_errors=True):
            for config in configs:
                given = {**options, **config.all_kwargs(), "warmup": True}
                tuner.fn.run(*tuner.nargs.values(), **given)
        return configs

    with ThreadPoolExecutor() as threads, patch.object(Autotuner, "prune_configs", compiled):
        yield


def fla_calls(here, do, cu_seqlens, layout):
    """The forward pass, and both, of this rank's tokens, as calls; the former has been tuned.

    ImportError if it is not installed, another error if it refuses.
    """
    from fla.ops.cp import build_cp_context
    from fla.ops.gated_delta_rule import chunk_gated_delta_rule

    context = build_cp_context(cu_seqlens.to(do.device), dist.group.WORLD, layout=layout)
    leaves = [x.detach().requires_grad_() for x in here]

    def outputs():
        return chunk_gated_delta_rule(*leaves, cp_context=context, use_qk_l2norm_in_kernel=True)[0]

    def forward():
        with torch.no_grad():
            return outputs()

    def both():
        return torch.autograd.grad(outputs(), leaves, do)

    with compiled_at_once():
        forward()
    return forward, both
