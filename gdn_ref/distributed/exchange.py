"""States along a chain of pieces: `S_out = S_in F + G` at each, so that a scan finds every `S_in`.

Only maps or states go round, never tokens, in float32 at least. There are three ways:

    ring        a rank waits for its state, applies its map, and sends the state on
    all-gather  a rank sends its map to each, and applies all maps before its own pieces
    tree        a rank sends maps of longer and longer stretches, twice as far each time (`tree`)

`cost` derives what each costs and chooses. Ring and all-gather do the same products in the same
order, and so agree to the last bit. Backward the same with the chain reversed and F transposed.
"""

import torch
import torch.distributed as dist

from .agreement import answered
from .cost import chosen, neighbours, widest
from .tree import leaving, tree


def incoming(ctx, maps, like, reverse=False):
    """The state before each of this rank's pieces that has a piece before it: `{index: state}`.

    Parameters
    ----------
    ctx : CPContext
    maps : {index: (F, G)} of this rank's pieces; F is None where no piece comes before
    like : a state, `[HV, V, K]`, for shape, dtype and device
    reverse : whether the scan goes from the last token to the first
    """
    s = like.numel() * like.element_size()
    how = chosen(ctx, s, s // like.shape[1] * like.shape[2])
    if how == "ring":
        return ring(ctx, lambda piece, S: leaving(maps[piece.index], S), like, reverse)
    return {"all_gather": all_gather, "tree": tree}[how](ctx, maps, like, reverse)


def ring(ctx, leave, like, reverse=False, known=lambda piece: False):
    """From rank to rank: receive, `leave(piece, S)`, send. What needs no waiting goes first.

    `known(piece)`: whether `leave` takes no notice of the state that comes in.
    """
    before, after = neighbours(reverse)
    mine = ctx.mine[::-1] if reverse else ctx.mine
    left, states, sent = {}, {}, []

    def send_on(piece):
        target = after(piece)
        if target is not None and target.rank != ctx.rank:
            S = left[id(piece)].contiguous()
            ctx.bytes_sent += S.numel() * S.element_size()
            with answered(ctx, "sending a state"):
                sent.append((dist.isend(S, group=ctx.group, group_dst=target.rank), S))

    for piece in mine:
        if after(piece) is not None and (before(piece) is None or known(piece)):
            left[id(piece)] = leave(piece, None)
            send_on(piece)
    for piece in mine:
        source = before(piece)
        if source is None:
            continue
        if source.rank == ctx.rank:
            S = left[id(source)]
        else:
            S = torch.empty_like(like)
            with answered(ctx, "receiving a state"):
                dist.recv(S, group=ctx.group, group_src=source.rank)
        states[piece.index] = S
        if after(piece) is not None and id(piece) not in left:
            left[id(piece)] = leave(piece, S)
            send_on(piece)
    with answered(ctx, "sending states"):
        for work, _ in sent:
            work.wait()
    return states


def all_gather(ctx, maps, like, reverse=False):
    """Every rank gets all maps that lead on, and applies those before its own pieces, in order."""
    before, after = neighbours(reverse)
    (HV, V, K), places, counts = like.shape, {}, [0] * ctx.ranks
    for piece in ctx.pieces:
        if after(piece) is not None:
            places[id(piece)] = piece.rank, counts[piece.rank]
            counts[piece.rank] += 1
    room = widest(ctx, reverse)
    if room == 0:
        return {}
    own = like.new_zeros(room, HV, V + K, K)
    for piece in ctx.mine:
        if id(piece) in places:
            F, G = maps[piece.index]
            own[places[id(piece)][1], :, :V] = G
            if F is not None:
                own[places[id(piece)][1], :, V:] = F
    everyone = [torch.empty_like(own) for _ in range(ctx.ranks)]
    with answered(ctx, "gathering maps"):
        dist.all_gather(everyone, own, group=ctx.group)
    ctx.bytes_sent += own.numel() * own.element_size() * (ctx.ranks - 1)

    def state_before(piece):
        chain, S = [], None
        while before(piece) is not None:
            piece = before(piece)
            chain.append(piece)
        for piece in reversed(chain):
            rank, place = places[id(piece)]
            G, F = everyone[rank][place].split([V, K], dim=1)
            S = leaving((F if before(piece) is not None else None, G), S)
        return S.contiguous()

    entered = [p for p in ctx.mine if before(p) is not None]
    return {piece.index: state_before(piece) for piece in entered}
