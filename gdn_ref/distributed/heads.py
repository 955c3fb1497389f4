"""Head parallelism ("Ulysses"): all tokens of some heads on each rank, by an all-to-all and back.

Heads know nothing of each other, so the rule needs no exchange of its own. What goes round are the
tokens: a rank sends (R - 1) / R of its q, k, v, g, beta and o, and as much of their gradients.
No flop is done twice. But no more ranks than key heads can take part.
"""

import torch
import torch.distributed as dist

from ..ops import chunk_gated_delta_rule as one_rank
from .agreement import answered
from .context import in_order


def by_heads(cp, options, q, k, v, g, beta, A_log, dt_bias, S):
    """Outputs of this rank's tokens, and last states, `[N, HV, V, K]`, of what ends here."""
    tokens = [None if x is None else gathered(cp, x[0], *cp.held)[None] for x in (q, k, v, g, beta)]
    starts, ends = rows_of(cp, "before"), rows_of(cp, "after")
    if S is not None:
        S = gathered(cp, S[starts[cp.rank]], *in_order(starts))
    gate = [None if x is None else x.chunk(cp.ranks)[cp.rank] for x in (A_log, dt_bias)]
    o, S = one_rank(
        *tokens, initial_state=S, output_final_state=True, state_v_first=True, A_log=gate[0],
        dt_bias=gate[1], cu_seqlens=cp.cu_seqlens.to(q.device), **options,
    )  # fmt: skip
    o, S = handed_out(cp, o[0], *cp.held)[None], handed_out(cp, S, *in_order(ends))
    return o, S.new_zeros(cp.N, *S.shape[1:]).index_copy(0, ends[cp.rank].to(S.device), S)


def rows_of(cp, side):
    """The sequences that start ("before") or end ("after") on each rank."""
    found = [[] for _ in range(cp.ranks)]
    for piece in cp.pieces:
        if getattr(piece, side) is None:
            found[piece.rank].append(piece.sequence)
    return [torch.tensor(rows, dtype=torch.long) for rows in found]


def gathered(cp, x, counts, rows):
    """Rows of this rank, all heads -> all rows, in order, of this rank's heads."""
    x = Exchange.apply(cp, x, counts, True)
    return x if rows is None else x.index_select(0, torch.argsort(rows.to(x.device)))


def handed_out(cp, x, counts, rows):
    """`gathered`, undone."""
    x = x if rows is None else x.index_select(0, rows.to(x.device))
    return Exchange.apply(cp, x, counts, False)


class Exchange(torch.autograd.Function):
    """An all-to-all; its gradient is the other one."""

    @staticmethod
    def forward(ctx, cp, x, counts, to_heads):
        ctx.rest = cp, counts, to_heads
        return exchange(cp, x, counts, to_heads)

    @staticmethod
    def backward(ctx, dx):
        cp, counts, to_heads = ctx.rest
        return None, exchange(cp, dx, counts, not to_heads), None, None


def exchange(cp, x, counts, to_heads):
    """`[own rows, heads, ..]` to `[all rows, heads / R, ..]`, or back."""
    R, own = cp.ranks, counts[cp.rank]
    if to_heads:
        parts, rest = x.chunk(R, dim=1), (x.shape[1] // R, *x.shape[2:])
        sizes = counts
    else:
        parts, rest = x.split(counts), x.shape[1:]
        sizes = [own] * R
    per_row = torch.Size(rest).numel()
    received = x.new_empty(sum(sizes) * per_row)
    with answered(cp, "all-to-all of heads"):
        dist.all_to_all_single(
            received, torch.cat([part.flatten() for part in parts]), [n * per_row for n in sizes],
            [part.numel() for part in parts], group=cp.group,
        )  # fmt: skip
    elsewhere = sum(part.numel() for part in parts) - parts[cp.rank].numel()
    cp.bytes_sent += elsewhere * x.element_size()
    if to_heads:
        return received.view(sum(sizes), *rest)
    return torch.cat(received.view(R, own, *rest).unbind(0), dim=1)
