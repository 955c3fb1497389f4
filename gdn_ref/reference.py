"""The reference backend of `gdn_ref.ops`: the rule modules, run on the ecosystem's layout.

Value head `h` reads key head `h // (HV // H)`. So where there are more of them, heads are split
into `[H, HV // H]`, where queries and keys have an axis of length 1, and broadcasting shares them:
nothing is copied. A single token a sequence, as in decoding, has a way of its own (`one_token`).
"""

from contextlib import nullcontext
from functools import partial
from itertools import pairwise

import torch

from . import delta_rule, gated_delta_rule, validation
from .chunking import scan_tokens


def forward(q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size, gk=None, gv=None):
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
    gk, gv : [B, T, HV, K] and [B, T, HV, V] natural log-decays of channels, token by token alone

    Returns
    -------
    o : [B, T, HV, V], in v's dtype
    final_state : [N, HV, V, K], a new tensor
    """
    dtype = torch.promote_types(v.dtype, torch.float32)
    B, _, H, K = k.shape
    HV, V = v.shape[2:]
    if initial_state is None:
        N = B if cu_seqlens is None else cu_seqlens.shape[0] - 1
        initial_state = torch.zeros(N, HV, V, K, dtype=dtype, device=v.device)

    S = in_dtype(initial_state, dtype)
    rule = delta_rule if g is None else gated_delta_rule
    tensors = [in_dtype(x, dtype) for x in (q, k, v, g, beta) if x is not None]
    tensors[0] = tensors[0] * scale
    decays = {axis: in_dtype(x, dtype) for axis, x in ((-2, gk), (-1, gv)) if x is not None}
    if decays:
        rule, tensors = ChannelDecays(rule, tuple(decays)), [*decays.values(), *tensors]
    elif chunk_size is None and cu_seqlens is None and k.shape[1] == 1:
        with without_autocast(v.device.type):
            o, S = one_token(S, *tensors)
        return in_dtype(o, v.dtype), S

    grouped = HV != H
    S = S.unflatten(1, (H, HV // H)) if grouped else S
    count = 3 + len(decays)
    vectors = [heads_first(x, H, grouped) for x in tensors[:count]]
    scalars = [heads_first(x, H, grouped) for x in tensors[count:]]
    scan = rule.recurrent if chunk_size is None else partial(rule.chunkwise, chunk_size=chunk_size)

    with without_autocast(v.device.type):
        if cu_seqlens is None:
            o, S_last = scan(*vectors, *scalars, S=S)
        else:
            offsets = cu_seqlens.tolist()
            validation.check_offsets(offsets, k.shape[1])  # in compiled code for the first time
            lengths = [end - begin for begin, end in pairwise(offsets)]
            pieces = [x.split(lengths, dim=-2) for x in vectors]
            pieces += [x.split(lengths, dim=-1) for x in scalars]
            outputs, states = [vectors[-1][..., :0, :]], [S[:0]]
            for *tokens, S_n in zip(*pieces, S.split(1), strict=False):
                o_n, S_n = scan(*tokens, S=S_n)
                outputs.append(o_n)
                states.append(S_n)
            o, S_last = torch.cat(outputs, dim=-2), torch.cat(states)
    o = o.movedim(-2, 1)
    if grouped:
        o, S_last = o.flatten(2, 3), S_last.flatten(1, 2)
    return in_dtype(o, v.dtype).contiguous(), S_last.clone() if k.shape[1] == 0 else S_last


def one_token(S, q, k, v, *scalars):
    """`step` of the rule for one token of each sequence: what decoding waits for.

    As in `forward`, but for the scale; `scalars` are g, if there is one, and beta. A head is a row
    of its own here, so that PyTorch has few and plain products to do.
    """
    N, HV, V, K = S.shape
    if k.shape[2] != HV:
        q, k = (x.repeat_interleave(HV // k.shape[2], dim=2) for x in (q, k))
    heads = N * HV
    q, k, v = q.reshape(heads, 1, K), k.reshape(heads, 1, K), v.reshape(heads, 1, V)
    *g, beta = (x.reshape(heads, 1, 1) for x in scalars)
    S = S.reshape(heads, V, K).mT  # and all that follows is the transpose of eq-gdn-step
    for log_decay in g:
        S = torch.exp(log_decay) * S
    delta = beta * (v - torch.bmm(k, S))
    S = S.addcmul(k.mT, delta)
    o = torch.bmm(q, S)
    return o.reshape(N, 1, HV, V), S.mT.reshape(N, HV, V, K)


def one_by_one(q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size, gk=None, gv=None):
    """`forward`, a sequence at a time: no bit depends on what others there are."""
    if cu_seqlens is not None or len(q) < 2:
        given = (q, k, v, g, beta, scale, initial_state, cu_seqlens, chunk_size, gk, gv)
        return forward(*given)

    def row(x, b):
        return None if x is None else x[b : b + 1]

    results = []
    for b in range(len(q)):
        tokens = [row(x, b) for x in (q, k, v, g, beta)]
        decays = row(gk, b), row(gv, b)
        results.append(forward(*tokens, scale, row(initial_state, b), None, chunk_size, *decays))
    o, S = zip(*results, strict=True)
    return torch.cat(o), torch.cat(S)


class ChannelDecays:
    """`rule`, token by token, whose state decays along some of its axes first.

    `axes` has one for each of the log-decays that come before the rule's own vectors: -2 for
    those of key channels, whose place is a row of the state, -1 for those of value channels.
    """

    def __init__(self, rule, axes):
        self.rule, self.axes = rule, axes

    def step(self, S, *token):
        """One token: decay the channels, then what the rule does."""
        for decay, axis in zip(token, self.axes, strict=False):
            S = torch.exp(decay).unsqueeze(axis) * S
        return self.rule.step(S, *token[len(self.axes) :])

    def recurrent(self, *tensors, S):
        """Token by token. Returns `(O, S)`."""
        count = 3 + len(self.axes)
        return scan_tokens(self.step, S, tensors[:count], tensors[count:])


def in_dtype(x, dtype):
    """`x.to(dtype)`, which takes its time on the host even when there is nothing to do."""
    return x if x.dtype == dtype else x.to(dtype)


def without_autocast(device_type):
    """Autocast, which would put the products in 16 bits, off; the meta device has none."""
    if torch.amp.is_autocast_available(device_type) and torch.is_autocast_enabled(device_type):
        return torch.autocast(device_type, enabled=False)
    return nullcontext()


def heads_first(x, H, grouped):
    """`[B, T, heads, ...]` to `[B, heads, T, ...]`, or to `[B, H, heads // H, T, ...]`."""
    return x.unflatten(2, (H, x.shape[2] // H)).movedim(1, 3) if grouped else x.transpose(1, 2)
