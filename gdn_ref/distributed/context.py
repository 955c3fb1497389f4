"""Who holds which tokens: sequences packed along T, cut into shards, one or two a rank.

A **piece** is what one shard holds of one sequence. The pieces of a sequence form a chain, and the
state goes along it: only where a chain goes from one rank to another must anything be sent. A
sequence border on a shard's border, an empty shard, and a sequence over many ranks need no rule of
their own.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise
from typing import Literal, get_args

import torch
import torch.distributed as dist

from .. import validation
from .agreement import agree, control_group

Layout = Literal["contiguous", "zigzag", "halves"]
Exchange = Literal["auto", "ring", "all_gather", "tree"]
LAYOUTS, EXCHANGES = get_args(Layout), get_args(Exchange)


@dataclass(eq=False)
class Piece:
    """What one shard holds of one sequence: rows `begin` to `end` of its rank's tensors."""

    sequence: int
    rank: int
    index: int  # among the pieces of its rank
    begin: int
    end: int
    before: "Piece | None" = field(default=None, repr=False)  # of the same sequence
    after: "Piece | None" = field(default=None, repr=False)

    @property
    def rows(self) -> slice:
        return slice(self.begin, self.end)


def cut(offsets, lengths, owners):
    """All pieces of all ranks, in the order of their tokens.

    Parameters
    ----------
    offsets : [N + 1] ints, where the sequences begin and end
    lengths : tokens of each shard
    owners : the rank that holds each shard; a rank's shards lie one after the other
    """
    held, count, last, pieces = Counter(), Counter(), {}, []
    borders = list(accumulate(lengths, initial=0))
    for shard, (begin, end) in enumerate(pairwise(borders)):
        rank, is_last = owners[shard], shard == len(lengths) - 1
        for n, (first, stop) in enumerate(pairwise(offsets)):
            size = min(end, stop) - max(begin, first)
            empty = first == stop and begin <= first and (first < end or is_last)
            if size <= 0 and not (empty and n not in last):
                continue
            row = held[rank]
            piece = Piece(n, rank, count[rank], row, row + max(size, 0), before=last.get(n))
            count[rank] += 1
            if piece.before is not None:
                piece.before.after = piece
            held[rank], last[n] = piece.end, piece
            pieces.append(piece)
    return pieces


def by_sequence(pieces):
    """The pieces of each sequence, `{sequence: pieces}`."""
    found = {}
    for piece in pieces:
        found.setdefault(piece.sequence, []).append(piece)
    return found


def in_order(held):
    """Of the rows that each rank holds: how many, and all of them, or None if they lie in order."""
    rows = torch.cat(held)
    same = torch.equal(rows, torch.arange(len(rows)))
    return [len(x) for x in held], None if same else rows


def shards(T, ranks, layout, lengths):
    """Lengths and owners of the shards: rank r has shard r; or r and 2 ranks - 1 - r, zig-zag; or
    2 r and 2 r + 1, its halves."""
    owners = list(range(ranks))
    if layout == "zigzag":
        owners += owners[::-1]
    if layout == "halves":
        owners = [rank for rank in owners for _ in range(2)]
    if lengths is None:
        lengths = [T * (i + 1) // len(owners) - T * i // len(owners) for i in range(len(owners))]
    return list(lengths), owners


class CPContext:
    """How the tokens of a packed batch lie on the ranks of a group; from `build_cp_context`.

    Attributes
    ----------
    group : torch.distributed.ProcessGroup
        The group; `rank` is ours in it, `ranks` how many there are.
    cu_seqlens : torch.Tensor
        Offsets of the whole batch, `[N + 1]`.
    lengths : list
        Tokens of each shard; `owners` says which rank has it.
    pieces : list
        All pieces in the order of their tokens, and `mine`, those of this rank: `fresh` begin a
        sequence, `entered` go on with one, `ended` are the last of one. `chains` has the pieces of
        each sequence that is cut.
    length : int
        Tokens of this rank.
    bytes_sent : int
        What this rank has sent of states, maps, halos and heads since it was made.
    """

    def __init__(
        self, cu_seqlens: torch.Tensor, group: "dist.ProcessGroup | None", layout: Layout,
        lengths: Sequence[int] | None, exchange: Exchange, timeout_s: float,
        place: tuple[int, int] | None = None,
    ) -> None:  # fmt: skip
        self.group, self.timeout_s = group, timeout_s
        if place is None:
            place = dist.get_rank(group), dist.get_world_size(group)
            self.control = control_group(group, timeout_s)
        self.rank, self.ranks = place
        self.bytes_sent, self.met = 0, False  # whether all ranks have met in an exchange

        def check():
            validation.check_cu_seqlens(cu_seqlens, 1, int(cu_seqlens[-1]), cu_seqlens.device)
            for name, value, known in (
                ("layout", layout, LAYOUTS), ("exchange", exchange, EXCHANGES)
            ):  # fmt: skip
                if value not in known:
                    raise ValueError(f"{name}: expected one of {', '.join(known)}, got {value!r}")
            offsets = cu_seqlens.tolist()
            self.lengths, self.owners = shards(offsets[-1], self.ranks, layout, lengths)
            check_lengths(self.lengths, len(self.owners), offsets[-1])
            return {
                "cu_seqlens": offsets, "layout": layout, "lengths": self.lengths,
                "exchange": exchange, "timeout_s": timeout_s,
            }  # fmt: skip

        agree(self, "build_cp_context", check)()
        self.cu_seqlens, self.layout, self.exchange = cu_seqlens, layout, exchange
        self.pieces = cut(cu_seqlens.tolist(), self.lengths, self.owners)
        self.chains = [chain for chain in by_sequence(self.pieces).values() if len(chain) > 1]
        self.mine = [piece for piece in self.pieces if piece.rank == self.rank]
        self.fresh = [piece for piece in self.mine if piece.before is None]
        self.entered = [piece for piece in self.mine if piece.before is not None]
        self.ended = [piece for piece in self.mine if piece.after is None]
        self.length = self.mine[-1].end if self.mine else 0
        self._borders = {}

    @classmethod
    def alone(
        cls, cu_seqlens: torch.Tensor, rank: int, ranks: int, layout: Layout = "contiguous",
        lengths: Sequence[int] | None = None, exchange: Exchange = "auto",
    ) -> "CPContext":  # fmt: skip
        """What this rank of so many would have, without a group: to look at, or to time."""
        return cls(cu_seqlens, None, layout, lengths, exchange, 0, (rank, ranks))

    @property
    def N(self) -> int:
        """Sequences of the whole batch."""
        return len(self.cu_seqlens) - 1

    @property
    def local_cu_seqlens(self) -> torch.Tensor:
        """The borders of this rank's pieces."""
        return self.borders("mine", self.cu_seqlens.device)

    def borders(self, which: str, device: torch.device) -> torch.Tensor:
        """The borders of the pieces `mine`, `fresh` or `entered`, made and read once."""
        if (which, device) not in self._borders:
            sizes = [piece.end - piece.begin for piece in getattr(self, which)]
            ends = list(accumulate(sizes, initial=0))
            self._borders[which, device] = torch.tensor(ends, dtype=torch.int32, device=device)
        return self._borders[which, device]

    def runs(self, which: str) -> list[tuple[slice, slice]]:
        """The pieces `fresh` or `ended`: their places among `mine`, and their sequences.

        Few slices of each, for in a shard one sequence comes after another.
        """
        found: list[tuple[slice, slice]] = []
        for p in getattr(self, which):
            places, sequences = slice(p.index, p.index + 1), slice(p.sequence, p.sequence + 1)
            if found and found[-1][0].stop == p.index and found[-1][1].stop == p.sequence:
                before = found.pop()
                places = slice(before[0].start, places.stop)
                sequences = slice(before[1].start, sequences.stop)
            found.append((places, sequences))
        return found

    def places(self, which: str, device: torch.device) -> torch.Tensor:
        """First row, end and place among `mine` of these pieces, `[pieces, 3]`, made once."""
        if ("places", which, device) not in self._borders:
            rows = [(p.begin, p.end, p.index) for p in getattr(self, which)]
            self._borders["places", which, device] = torch.tensor(rows, device=device)
        return self._borders["places", which, device]

    def border(self, piece: Piece, device: torch.device) -> torch.Tensor:
        """`cu_seqlens` of one piece alone, made and read once."""
        if (piece.index, device) not in self._borders:
            ends = torch.tensor([0, piece.end - piece.begin], dtype=torch.int32, device=device)
            self._borders[piece.index, device] = ends
        return self._borders[piece.index, device]

    def tokens(self, rank: int | None = None) -> torch.Tensor:
        """Which tokens of the batch a rank holds, `[T_rank]`, in the order of its rows."""
        rank = self.rank if rank is None else rank
        borders = list(accumulate(self.lengths, initial=0))
        held = [
            torch.arange(begin, end)
            for owner, (begin, end) in zip(self.owners, pairwise(borders), strict=True)
            if owner == rank
        ]
        return torch.cat(held).to(self.cu_seqlens.device)

    @cached_property
    def held(self):
        """How many tokens each rank holds, and which, as `in_order` has them."""
        return in_order([self.tokens(rank).cpu() for rank in range(self.ranks)])

    def shard(self, x: torch.Tensor, dim: int = 1) -> torch.Tensor:
        """This rank's rows of a tensor of the whole batch."""
        return x.index_select(dim, self.tokens().to(x.device))

    def starts_here(self) -> list[int]:
        """The sequences whose first token is on this rank."""
        return [piece.sequence for piece in self.mine if piece.before is None]

    def ends_here(self) -> list[int]:
        """The sequences whose last token is on this rank."""
        return [piece.sequence for piece in self.mine if piece.after is None]


def build_cp_context(
    cu_seqlens: torch.Tensor, group: "dist.ProcessGroup | None" = None, *,
    layout: Layout = "contiguous", lengths: Sequence[int] | None = None,
    exchange: Exchange = "auto", timeout_s: float = 600,
) -> CPContext:  # fmt: skip
    """Lay the tokens of a packed batch on the ranks of a group. A collective: every rank calls it.

    Parameters
    ----------
    cu_seqlens : torch.Tensor, [N + 1], int32 or int64
        Offsets of the N sequences of the whole batch, the same on every rank; on the CPU, or on
        the device of the tensors. One sequence of T tokens is `torch.tensor([0, T])`.
    group : torch.distributed.ProcessGroup, optional
        The ranks, of any backend. Default: all.
    layout : {"contiguous", "zigzag", "halves"}
        Whether rank r holds shard r of R, or shards r and 2 R - 1 - r of 2 R, one after the other:
        for causal attention, whose late tokens cost more, all ranks then have the same work. With
        "halves", shards 2 r and 2 r + 1 of 2 R: the tokens of "contiguous", but a chain of states
        on a rank is half as long, and the rank answers for what its second half feels of the first.
    lengths : list of int, optional
        Tokens of each shard, in the order of the tokens; a shard may be empty. Default: as even
        as can be. For a forward pass alone `cost.balanced` gives the first rank more, which has
        less to compute.
    exchange : {"auto", "ring", "all_gather", "tree"}
        How states go along the chain; see `gdn_ref.distributed.exchange`. "auto" takes the cheapest
        by the size of a state and the longest chain; see `gdn_ref.distributed.cost`.
    timeout_s : float
        How long a rank waits for the others to make the same call before it raises. A rank that
        falls silent in the middle of an exchange is left to the group's own timeout.

    Returns
    -------
    CPContext
        For the `cp_context` of the functions here. It may serve any number of calls.

    Raises
    ------
    ValueError
        On every rank: an argument is wrong on one of them, or not the same on all.
    RuntimeError
        A rank did not come within `timeout_s`.

    Notes
    -----
    flash-linear-attention's `build_cp_context` does the same for its functions. There all shards
    are equal, and `cu_seqlens` is kept as the local one; ours is `local_cu_seqlens`.
    """
    group = dist.group.WORLD if group is None else group
    return CPContext(cu_seqlens, group, layout, lengths, exchange, timeout_s)


def check_lengths(lengths, count, T):
    """One length for each shard, none below 0, all tokens of the batch together."""
    if len(lengths) != count:
        raise ValueError(f"lengths: expected {count} shards, got {len(lengths)}")
    if any(not isinstance(n, int) or n < 0 for n in lengths):
        raise ValueError(f"lengths: expected integers of at least 0, got {lengths}")
    if sum(lengths) != T:
        raise ValueError(f"lengths: expected a sum of T = {T}, got {sum(lengths)}")
