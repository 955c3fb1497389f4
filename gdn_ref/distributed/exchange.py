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
from .messages import meet, side_by_side
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
    meet(ctx, like.device)
    before, after = neighbours(reverse)
    mine = ctx.mine[::-1] if reverse else ctx.mine
    left, states, sent = {}, {}, []

    def at_once(piece):
        return before(piece) is None or known(piece)

    def onward(piece):
        """What a piece sends, if the next one is on another rank."""
        if after(piece).rank == ctx.rank:
            return []
        return [(left[id(piece)].contiguous(), after(piece).rank)]

    def send(messages, arriving=()):
        sent.append((messages, side_by_side(ctx, messages, arriving)))

    outgoing, arriving = [], []
    for piece in mine:
        if after(piece) is not None and at_once(piece):
            left[id(piece)] = leave(piece, None)
            outgoing += onward(piece)
        source = before(piece)
        if source is not None and source.rank != ctx.rank and at_once(source):
            states[piece.index] = torch.empty_like(like)
            arriving.append((states[piece.index], source.rank))
    send(outgoing, arriving)
    for piece in mine:
        source = before(piece)
        if source is None:
            continue
        if source.rank == ctx.rank:
            states[piece.index] = left[id(source)]
        elif not at_once(source):
            states[piece.index] = torch.empty_like(like)
            send([], [(states[piece.index], source.rank)])
        if after(piece) is not None and id(piece) not in left:
            left[id(piece)] = leave(piece, states[piece.index])
            send(onward(piece))
    with answered(ctx, "sending states"):
        for _, works in sent:
            for work in works:
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
