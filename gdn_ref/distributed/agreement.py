"""Every rank calls with the same arguments, or every rank raises; nobody waits for ever.

Before tensors go round, the ranks compare a digest of what they were given, on a group of their own
for the host (gloo, with a time limit, whatever the backend of the tensors). If one rank's arguments
are wrong, or two ranks' differ, all raise and say which; if a rank is gone, the others say that.
"""

import hashlib
from contextlib import contextmanager
from datetime import timedelta

import torch
import torch.distributed as dist

_control = {}  # (group, timeout) -> its group for the host


def control_group(group, timeout_s):
    """A gloo group of the same ranks with this time limit, made once."""
    known = (group, timeout_s)
    if known not in _control:
        _control[known] = dist.new_group(
            dist.get_process_group_ranks(group), timedelta(seconds=timeout_s), "gloo",
            use_local_synchronization=True,
        )  # fmt: skip
    return _control[known]


def agree(ctx, call, check):
    """Run `check`, and tell the other ranks what it returned, or that it raised.

    `check` returns what must be equal, as a dict of argument names and values. What comes back is
    to be called before anything else is exchanged: it returns if `check` raised on no rank and
    returned the same on all. Until then a rank may work with what it has.
    """
    return tell(ctx, call, *checked(check))


def checked(check):
    """What `check` returns, and None; or None, and what it raised."""
    try:
        return check(), None
    except (TypeError, ValueError, ImportError) as raised:
        return None, raised


def tell(ctx, call, given, error):
    """The rest of `agree`; a rank that has found no error may have its device begin before."""
    if ctx.group is None:  # a context of a rank alone
        if error is not None:
            raise error
        return lambda: None
    digest = hashlib.sha256(repr((call, given, str(error))).encode()).digest()
    mine = torch.tensor([int.from_bytes(digest[:8], "big", signed=True)])
    everyone = [torch.empty_like(mine) for _ in range(ctx.ranks)]
    with answered(ctx, call):
        work = dist.all_gather(everyone, mine, group=ctx.control, async_op=True)

    def agreed():
        with answered(ctx, call):
            work.wait()
            if error is None and all(torch.equal(mine, other) for other in everyone):
                return
            found = [None] * ctx.ranks
            text = None if error is None else f"{type(error).__name__}: {error}"
            dist.all_gather_object(found, (call, given, text), group=ctx.control)
        if error is not None:
            raise error
        raise ValueError(difference(found))

    if error is not None:
        agreed()
    return agreed


def difference(found):
    """What the ranks disagree about; `found` has the call, arguments and error of each."""
    for rank, (_, _, text) in enumerate(found):
        if text is not None:
            return f"rank {rank} refused its arguments: {text}"
    call, given, _ = found[0]
    for rank, (other_call, other, _) in enumerate(found):
        if other_call != call:
            return f"expected the same call on every rank, got {call} on 0, {other_call} on {rank}"
        for name, value in given.items():
            if other.get(name) != value:
                return (
                    f"{name}: expected the same on every rank, got {value} on rank 0 and "
                    f"{other.get(name)} on rank {rank}"
                )
    raise AssertionError("digests differ, arguments do not")


@contextmanager
def answered(ctx, call):
    """An exchange inside; if a rank is gone or late, the error says so."""
    try:
        yield
    except RuntimeError as error:
        raise RuntimeError(
            f"{call}: a rank of the group did not answer within {ctx.timeout_s} s, or has ended "
            f"(this is rank {ctx.rank} of {ctx.ranks}): {error}"
        ) from error
