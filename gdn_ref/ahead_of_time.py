"""Compile ahead of the first call, which would otherwise wait for it."""

from collections.abc import Callable
from typing import ParamSpec

import torch

P = ParamSpec("P")


def precompile(function: Callable[P, object], /, *args: P.args, **kwargs: P.kwargs) -> None:
    """Compile the kernels that `function(*args, **kwargs)` and its backward pass run, and run none.

    They are compiled side by side, and kept on disk by Triton as all its kernels are. Numbers in
    the tensors do not matter, so `torch.empty` will do; dtypes, head sizes and options do, and
    whether inputs ask for a gradient. Of lengths only this matters: few heads on a long sequence
    have kernels of their own, so name one length of each kind that a model sees. For decoding it
    matters how many sequences there are, and whether each has one token.

        q, k = (torch.empty(1, 4096, 16, 128, dtype=torch.bfloat16, device="cuda") for _ in "qk")
        ...
        gdn_ref.precompile(gdn_ref.chunk_gated_delta_rule, q, k, v, g, beta)

    Parameters
    ----------
    function : callable
        `chunk_gated_delta_rule`, `fused_recurrent_gated_delta_rule`, `decode`, `causal_conv1d` or
        `causal_conv1d_update`.
    *args, **kwargs
        Its arguments. Nothing is written to them, a pool of states included.

    Raises
    ------
    ValueError
        The tensors are on no CUDA device, or the call is refused.
    """
    given = [x for x in (*args, *kwargs.values()) if isinstance(x, torch.Tensor)]
    for device in [x.device for x in given if not x.is_cuda] or ["no tensor"] * (not given):
        raise ValueError(f"args: expected CUDA tensors, got {device}")
    from .kernels.host.launch import side_by_side

    # the backward pass in this thread, which is the one that only compiles
    with side_by_side(), torch.autograd.set_multithreading_enabled(False):
        results = function(*args, **kwargs)
        results = results if isinstance(results, tuple) else (results,)
        results = [x for x in results if x is not None and x.requires_grad]
        leaves = [x for x in given if x.requires_grad]
        if results and leaves:
            torch.autograd.grad(
                results, leaves, [x.new_empty(()).expand_as(x) for x in results], allow_unused=True
            )
