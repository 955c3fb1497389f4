"""A padded batch goes backwards in pieces of a few sequences: how few, and where it is cut.

No sequence asks for another's gradients, so states and their gradients can be in memory for one
piece at a time.
"""

from functools import lru_cache
from itertools import repeat

from ..host import gpu
from ..host.launch import cdiv
from ..host.memory import contiguous

LEAST_BYTES = 2**27  # of a piece's states and their gradients


@lru_cache(maxsize=4096)
def piece_length(N, programs, size, room):
    """Sequences a piece: the fewest that cost a batch no time.

    A scan takes as long as its waves, each of `room` programs; all pieces together must need no
    more waves than the N sequences at once. A piece has at least `LEAST_BYTES`, which on an H100
    are the work of a third of a millisecond: a few launches more are little beside it.

    Parameters
    ----------
    programs : of a scan, a sequence
    size : bytes of states and their gradients, a sequence
    room : programs of a scan that run at a time
    """

    def waves(sequences):
        return cdiv(sequences * programs, room)

    for n in range(cdiv(LEAST_BYTES, max(size, 1)), N):
        if N // n * waves(n) + waves(N % n) <= waves(N):
            return n
    return N


def programs_at_once(device, hopper):
    """Programs of the reverse scan that the device runs at a time, or None if it is no GPU.

    The portable kernel takes half of a multiprocessor's registers, the one for Hopper more than
    half of its shared memory.
    """
    if device.type != "cuda":
        return None
    return gpu.multiprocessors(device) * (1 if hopper else 2)


def pieces(tensors, lengths):
    """The tensors for so many sequences at a time; None stays None."""
    if len(lengths) == 1:
        return [tensors]
    # not `split`, which takes three times as long on the host
    cut = (repeat(None) if x is None else x.split_with_sizes(lengths) for x in tensors)
    return zip(*cut, strict=False)


def by_sequence(c, T_inv, states, v):
    """What the forward pass has kept, with an axis of sequences in front, to be cut along it.

    Copies that hooks of autograd have made may lie otherwise in memory.
    """
    B, T, HV = v.shape[:3]
    C = T_inv.shape[1]
    c, T_inv = contiguous(c), contiguous(T_inv)[:-C]
    c, T_inv = c.view(HV, B, T).transpose(0, 1), T_inv.view(HV, B, T, C).transpose(0, 1)
    return c, T_inv, contiguous(states)
