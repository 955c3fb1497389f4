"""The tree: maps of longer and longer stretches of a chain, twice as long after each round.

A piece keeps the map of the pieces before it that it knows of, `given`, and sends this map with
its own behind it to the piece `far` further on, for far = 1, 2, 4, .. After a round it knows the
2 far - 1 pieces before it, or all of them: then `given` is a state. So a chain of n pieces takes
ceil(log2 n) rounds, whatever n is, and a piece sends one map a round (Hillis and Steele's scan).
The products are those of the ring in another order, and so agree with it to rounding.
"""

import torch

from .agreement import answered
from .cost import neighbours, tree_rounds
from .messages import meet, side_by_side


def leaving(map_, S):
    """`S F + G` (eq-affine-chunk), the state after a piece; G alone where nothing comes in."""
    F, G = map_
    return G if F is None else torch.baddbmm(G, S, F)


def joined(first, second):
    """The map of two stretches, the earlier one first (eq-affine-compose)."""
    if first is None:  # nothing is known before the second
        return second
    F, G = first
    return None if F is None else torch.bmm(F, second[0]), leaving(second, G)


def tree(ctx, maps, like, reverse=False):
    """The state before each of this rank's pieces that has a piece before it."""
    meet(ctx, like.device)
    (HV, V, K), given = like.shape, {}
    before, _ = neighbours(reverse)
    for messages in tree_rounds(ctx, reverse):
        outgoing, arriving, came = [], [], []
        for source, target, is_state in messages:
            if ctx.rank not in (source.rank, target.rank):
                continue
            if source.rank == ctx.rank:
                F, G = joined(given.get(source.index), maps[source.index])
                x = (G if is_state else torch.cat([G, F], dim=1)).contiguous()
            else:
                x = like.new_empty(HV, V if is_state else V + K, K)
                arriving.append((x, source.rank))
            if target.rank == ctx.rank:
                came.append((target.index, is_state, x))
            else:
                outgoing.append((x, target.rank))
        late = side_by_side(ctx, outgoing, arriving)
        for index, is_state, x in came:
            G, F = (x, None) if is_state else x.split([V, K], dim=1)
            given[index] = joined((F, G), given[index]) if index in given else (F, G)
        with answered(ctx, "sending maps"):
            for work in late:
                work.wait()
    return {p.index: given[p.index][1] for p in ctx.mine if before(p) is not None}
