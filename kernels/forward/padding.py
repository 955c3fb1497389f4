"""Heads of other sizes than the kernels for Hopper take, with zeros after each vector.

Reference: `gdn_ref.gated_delta_rule.chunkwise`.
"""

from torch.nn.functional import pad

from ..host import gpu
from ..host.launch import cdiv


def sizes_that_pay(tokens, N, HV, K, V, v, chunk_size):
    """Head dimensions to pad to with zeros, or None.

    The scan for Hopper takes 64 and 128 key dimensions and multiples of 64 value dimensions. Copies
    to those sizes cost more than they bring, except where sequences are so long, and heads so few,
    that they are cut into segments; only that scan does it.
    """
    K_padded, V_padded = 64 if K <= 64 else 128, cdiv(V, 64) * 64
    if (K, V) == (K_padded, V_padded) or K > 128 or N == 0 or chunk_size != 64:
        return None
    if v.element_size() != 2 or not gpu.has_hopper_engines(v.device):
        return None
    from .hopper import launches as on_hopper

    _, length = on_hopper.cut(tokens / N, N * HV * V_padded // 64, K_padded, v.device)
    return None if length is None else (K_padded, V_padded)


def in_padded_heads(prepare_forward, K, V, options):
    """`prepare_forward` with zeros after each vector, which change no number; its results, cut."""
    v_first = options["v_first"]
    ready = []

    def run(q, k, v, g, beta, S, cu_seqlens):
        own_K, own_V = k.shape[3], v.shape[3]
        q, k = (pad(x, (0, K - own_K)) for x in (q, k))
        v = pad(v, (0, V - own_V))
        if S is not None:
            rows, columns = (V - own_V, K - own_K) if v_first else (K - own_K, V - own_V)
            S = pad(S, (0, columns, 0, rows))
        tensors = (q, k, v, g, beta, S, cu_seqlens)
        if not ready:
            ready.append(prepare_forward(*tensors, **options))
        o, S, *kept = ready[0](*tensors)
        rows, columns = (own_V, own_K) if v_first else (own_K, own_V)
        return o[..., :own_V].contiguous(), S[..., :rows, :columns].contiguous(), *kept

    return run
