"""The reference backend of `gdn_ref.ops`: the rule modules, run on the ecosystem's layout.

Value head `h` reads key head `h // (HV // H)`. So heads are split into `[H, HV // H]`, where
queries and keys have an axis of length 1, and broadcasting shares them: nothing is copied.
"""

from contextlib import nullcontext
from functools import partial
from itertools import pairwise, starmap

import torch

from . import delta_rule, gated_delta_rule, validation


def forward(q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size):
    """Outputs and final state, in float32 at least; differentiable in every tensor.

    Parameters
    ----------
    q, k : [B, T, H, K]
    v : [B, T, HV, V]
    g : [B, T, HV] natural log-decay, or None for no decay
    beta : [B, T, HV]
    scale : factor on `q`
    initial_state : [N, HV, V, K], or None for the empty memory
    cu_seqlens : [N + 1] offsets of packed sequences, or None: B sequences of T tokens
    chunk_size : tokens in a chunk, or None to go token by token

    Returns
    -------
    o : [B, T, HV, V], in v's dtype
    final_state : [N, HV, V, K], a new tensor
    """
    dtype = torch.promote_types(v.dtype, torch.float32)
    B, _, H, K = k.shape
    HV, V = v.shape[2:]
    if initial_state is None:
        N = B if cu_seqlens is None else len(cu_seqlens) - 1
        initial_state = torch.zeros(N, HV, V, K, dtype=dtype, device=v.device)

    S = initial_state.to(dtype).unflatten(1, (H, HV // H))
    vectors = [heads_first(x.to(dtype), H) for x in (q.to(dtype) * scale, k, v)]
    scalars = [heads_first(x.to(dtype), H) for x in (g, beta) if x is not None]
    rule = delta_rule if g is None else gated_delta_rule
    scan = rule.recurrent if chunk_size is None else partial(rule.chunkwise, chunk_size=chunk_size)

    if cu_seqlens is None:
        sequences = [(slice(None), S)]
    else:
        offsets = cu_seqlens.tolist()
        validation.check_offsets(offsets, k.shape[1])  # in compiled code for the first time
        sequences = zip(starmap(slice, pairwise(offsets)), S.split(1), strict=False)
    outputs, states = [vectors[-1][..., :0, :]], [S[:0]]
    with without_autocast(v.device.type):
        for tokens, S_n in sequences:
            rows = (x[..., tokens, :] for x in vectors)
            o_n, S_n = scan(*rows, *(x[..., tokens] for x in scalars), S=S_n)
            outputs.append(o_n)
            states.append(S_n)
    o = torch.cat(outputs, dim=-2).movedim(3, 1).flatten(2, 3)
    return o.to(v.dtype).contiguous(), torch.cat(states).flatten(1, 2)


def without_autocast(device_type):
    """Autocast, which would put the products in 16 bits, off; the meta device has none."""
    if torch.amp.is_autocast_available(device_type):
        return torch.autocast(device_type, enabled=False)
    return nullcontext()


def heads_first(x, H):
    """`[B, T, heads, ...]` to `[B, H, heads // H, T, ...]`."""
    return x.unflatten(2, (H, x.shape[2] // H)).movedim(1, 3)
