"""The relay: states go from rank to rank, a few heads at a time, and nothing is computed twice.

A rank waits for the state of some heads, runs them, hands their state on, and takes the next heads,
while the next rank runs the first ones. With n groups of heads and R ranks whose runs take their
share of the time of one, the last rank begins (R - 1) / n of its time late, so that the speed-up is

    R n / (n + R - 1)        1.88 for R = 2, n = 16;  5.6 for R = 8, n = 16.

No map, no correction: the outputs are those of one rank to the last bit where a shard's border is a
chunk's. That holds where the time of a run is proportional to its heads. On a GPU that has room for
all heads at once it is not, and `rule`, which computes more but waits for nobody, is the order.
Backward the same from the last rank to the first.
"""

import torch
from torch.autograd.function import once_differentiable

from .agreement import agree
from .exchange import ring
from .local import exact_dtype, gradients, rows, run

GROUPS = 16  # of heads, at most


def head_groups(H, HV):
    """Slices of key heads and of value heads, group by group."""
    n = max(n for n in range(1, GROUPS + 1) if H % n == 0)
    h, hv = H // n, HV // n
    return [(slice(i * h, i * h + h), slice(i * hv, i * hv + hv)) for i in range(n)]


class Relay(torch.autograd.Function):
    """Both passes; arguments and results as those of `rule.Sharded`."""

    @staticmethod
    def forward(ctx, cp, options, q, k, v, g, beta, A_log, dt_bias, S_first):
        (HV, V), K = v.shape[2:], k.shape[3]
        S = v.new_zeros(len(cp.mine), HV, V, K, dtype=exact_dtype(q, k, v))  # before each piece
        if S_first is not None:
            for places, sequences in cp.runs("fresh"):
                S[places] = S_first[sequences].to(S.dtype)
        S_out, o = torch.empty_like(S), torch.empty_like(v)
        tensors = q, k, v, g, beta, A_log, dt_bias

        def some_heads(part, S_part, heads):
            """Run every piece when its state has come."""

            def leave(piece, given):
                i = slice(piece.index, piece.index + 1)
                if given is not None:
                    S_part[piece.index] = given
                gate = {"A_log": part[5], "dt_bias": part[6]}
                borders = cp.border(piece, v.device)
                o_p, S_p = run(options, rows(part[:5], [piece]), gate, S_part[i], borders)
                o[:, piece.rows, heads], S_out[i, heads] = o_p, S_p
                return S_p[0]

            states = ring(cp, leave, S_part.new_empty(S_part.shape[1:]))
            for piece in cp.mine:
                if piece.after is None:
                    leave(piece, states.get(piece.index))

        for keys, values in head_groups(k.shape[2], HV):
            some_heads(cut(tensors, keys, values), S[:, values], values)
        S_last = S.new_zeros(cp.N, HV, V, K)
        for places, sequences in cp.runs("ended"):
            S_last[sequences] = S_out[places]
        ctx.cp, ctx.options = cp, options
        ctx.save_for_backward(*tensors, S_first, S)
        return o, S_last

    @staticmethod
    @once_differentiable
    def backward(ctx, do, dS_last):
        cp, options = ctx.cp, ctx.options
        *tensors, S_first, S = ctx.saved_tensors
        agree(cp, "backward of chunk_gated_delta_rule", dict)()
        found = [None if x is None else torch.zeros_like(x) for x in tensors]
        dS_first = None if S_first is None else torch.zeros_like(S_first)

        def some_heads(part, keys, values):
            """Go back through every piece when its gradient has come."""
            places = cut(found, keys, values)

            def leave(piece, dS_out):
                dS_out = dS_last[piece.sequence, values] if dS_out is None else dS_out
                given = *rows(part[:5], [piece]), *part[5:]
                *grads, dS = gradients(
                    options, given, S[piece.index : piece.index + 1, values],
                    cp.border(piece, S.device), do[:, piece.rows, values], dS_out[None],
                )  # fmt: skip
                for place, dx in zip(places, grads, strict=True):
                    if place is not None:
                        (place[:, piece.rows] if place.ndim > 1 else place).add_(dx)
                if piece.before is None and dS_first is not None:
                    dS_first[piece.sequence, values] = dS[0].to(dS_first.dtype)
                return dS[0]

            like = S.new_empty(S[:, values].shape[1:])
            states = ring(cp, leave, like, reverse=True)
            for piece in cp.mine:
                if piece.before is None:
                    leave(piece, states.get(piece.index))

        for keys, values in head_groups(tensors[1].shape[2], S.shape[1]):
            some_heads(cut(tensors, keys, values), keys, values)
        return None, None, *found, dS_first


def cut(tensors, keys, values):
    """Some heads of q, k, v, g, beta, A_log and dt_bias."""
    q, k, v, g, beta, A_log, dt_bias = tensors
    q, k = q[:, :, keys], k[:, :, keys]
    v, g, beta = (None if x is None else x[:, :, values] for x in (v, g, beta))
    return q, k, v, g, beta, *(None if x is None else x[values] for x in (A_log, dt_bias))
