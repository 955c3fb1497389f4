"""One rank's part alone: what the other ranks would send is there, so that it waits for nobody."""

from unittest.mock import patch

import torch
import torch.distributed as dist
from rank_calls import passes
from rank_times import seconds

from gdn_ref import distributed
from gdn_ref.distributed import cost, relay, rule


def given_states(cp, maps, like, reverse=False):
    """What would come from the other ranks; zeros take as long."""
    before, _ = cost.neighbours(reverse)
    return {p.index: torch.zeros_like(like) for p in cp.mine if before(p) is not None}


def no_ring(cp, leave, like, reverse=False):
    """The relay's part of one rank: every state is there."""
    before, after = cost.neighbours(reverse)
    states = given_states(cp, None, like, reverse)
    for p in cp.mine:
        if after(p) is not None:
            leave(p, states.get(p.index))
    return states


def part(given, tokens, do, cp, parallel, device):
    """Both passes of one rank alone, which waits for nobody: seconds."""
    calls = passes(
        distributed.chunk_gated_delta_rule, [cp.shard(x) for x in tokens], cp.shard(do),
        cp_context=cp, parallel=parallel,
    )  # fmt: skip
    with patch.object(rule, "incoming", given_states), patch.object(relay, "ring", no_ring):
        return [seconds(call, given.rows, device) for call in calls]


def parts(given, tokens, do, device):
    """Of one sequence in equal shards: each rank's part alone, and how much more a token takes on
    another rank than on the first one, forward."""
    cu_seqlens, R = torch.tensor([0, given.tokens]), dist.get_world_size()
    cp = distributed.CPContext.alone(cu_seqlens, dist.get_rank(), R)
    found = [None] * R
    dist.all_gather_object(found, part(given, tokens, do, cp, "sequence", device))
    first, *others = (forward for forward, _ in found)
    return found, max(max(others, default=0) / first - 1, 0)
