"""Messages between ranks, so that no backend waits for itself.

NCCL has two rules. Where two ranks send to each other before they receive, the messages have to go
in one batch, for each of them may wait until the other is received. And the first batch of a group
makes its communicator, for which all ranks must come. Gloo has neither.
"""

import torch
import torch.distributed as dist

from .agreement import answered


def meet(ctx, device):
    """All ranks of the group at once, the first time."""
    if ctx.group is None or ctx.met:
        return
    with answered(ctx, "the first message"):
        dist.all_reduce(torch.zeros(1, device=device), group=ctx.group)
    ctx.met = True


def side_by_side(ctx, outgoing, arriving):
    """Send and receive tensors, `(tensor, rank)` each; return when all is there that arrives.

    Messages between the same two ranks are in the same order on both. What comes back is what still
    goes out: to be waited for, its tensors kept until then.
    """
    sends = [dist.P2POp(dist.isend, x, group=ctx.group, group_peer=to) for x, to in outgoing]
    receipts = [dist.P2POp(dist.irecv, x, group=ctx.group, group_peer=at) for x, at in arriving]
    ctx.bytes_sent += sum(x.numel() * x.element_size() for x, _ in outgoing)
    if not sends and not receipts:
        return []
    with answered(ctx, "exchanging states"):
        works = dist.batch_isend_irecv(sends + receipts)
        each = len(works) == len(sends) + len(receipts)  # NCCL has one for all of them
        late = works[: len(sends)] if each else []
        for work in works[len(late) :]:
            work.wait()
    return late
