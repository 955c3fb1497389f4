"""The Triton forward as an operator that `torch.compile` places in a graph without looking inside.

Only compiled code calls it: an operator costs more on the host than the kernels' own launches. It
has no gradient yet; PyTorch says so when one is asked for.
"""

import torch
from torch import Tensor

from . import validation


@torch.library.custom_op("gdn_ref::chunk_forward", mutates_args=())
def forward(
    q: Tensor, k: Tensor, v: Tensor, g: Tensor | None, beta: Tensor, scale: float,
    initial_state: Tensor | None, cu_seqlens: Tensor | None, chunk_size: int,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """Outputs and final state; arguments and results as those of `reference.forward`."""
    from .kernels.forward import chunk_forward

    return chunk_forward(q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size)


@forward.register_fake
def _(q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size):
    K, V = k.shape[3], v.shape[3]
    validation.check_triton(v.device, v.dtype, K, V, chunk_size)
    N = v.shape[0] if cu_seqlens is None else cu_seqlens.shape[0] - 1
    v_first = initial_state is not None and not initial_state.mT.is_contiguous()
    size = (N, v.shape[2], V, K) if v_first else (N, v.shape[2], K, V)
    S = v.new_empty(size, dtype=torch.float32)
    return torch.empty_like(v, memory_format=torch.contiguous_format), S if v_first else S.mT
