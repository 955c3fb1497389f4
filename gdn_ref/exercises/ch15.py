"""Exercises of chapter 15: a masked tile, a kernel for one equation, a slot, a wrong line."""

import math
from collections.abc import Sequence

import numpy as np

from ..chunking import decay
from ..proofs.ch15_transposed import transposed
from ..proofs.data import hard_inputs, relative_error
from . import Wrong, exercise

GUARD = -7.0  # what stands in memory that a kernel must not touch
FLOAT32 = 1e-5


@exercise("15-tail")
def _tail(kernel):
    import torch

    for T, C in ((10, 4), (8, 4), (3, 8)):
        memory = torch.full((3, 24), GUARD)
        x, y, out = memory[0, :T], memory[1, :T], memory[2, :T]
        x[:], y[:] = torch.linspace(0.5, 2, T), torch.linspace(-1, 1, T)
        memory[:2, T:] = math.nan
        kernel[(-(-T // C),)](x, y, out, T, C)
        if not torch.equal(memory[2, T:], torch.full((24 - T,), GUARD)):
            raise Wrong(f"with T = {T}, C = {C} it writes behind the end of `out`")
        if bool(out.isnan().any()):
            raise Wrong(f"with T = {T}, C = {C} it lets what lies behind x or y into the result")
        tiles = zip(x.split(C), y.split(C), strict=True)
        right = torch.cat([(a * b).flip(0).cumsum(0).flip(0) for a, b in tiles])
        if not relative_error(out, right) <= FLOAT32:
            raise Wrong(f"with T = {T}, C = {C} each sum goes from its token to the tile's end")


@exercise("15-scores")
def _scores(kernel):
    import torch

    for reset in (False, True):
        q, k, _, g, _, _ = hard_inputs(T=16, d_k=16)
        if reset:
            g[7] = -math.inf
        right = decay(g)[1] * (q @ k.T)
        c = np.cumsum(np.maximum(g / math.log(2), -160))
        out = torch.full((16, 16), math.nan)
        q, k, c = (torch.from_numpy(x).float() for x in (q, k, c))
        with np.errstate(all="ignore"):
            kernel[(1,)](q, k, c, out, 16, 16)
        if bool(out.isnan().any()):
            hint = "a weight above the diagonal is 2 to a positive number; where is the mask?"
            raise Wrong(
                hint if reset else "not every entry of the result is written, or one is NaN"
            )
        if relative_error(out.T, right) < 1e-3:
            raise Wrong("this is the transpose: rows are the queries' tokens")
        if bool((out.triu(1) != 0).any()):
            raise Wrong("a query must not see later tokens: above the diagonal the scores are 0")
        if bool((out.diagonal() == 0).all()):
            raise Wrong("a query sees the write of its own token")
        if not relative_error(out, right) <= 1e-3:
            what = "with a reset" if reset else "without a reset"
            raise Wrong(f"{what} the scores are off; the decay is 2 to a difference of c")


class _Watched(Sequence):
    """Numbers in a row that count how often they are read, also by a loop or a slice."""

    def __init__(self, numbers):
        self.numbers, self.reads = numbers, 0

    def __len__(self):
        return len(self.numbers)

    def __getitem__(self, index):
        found = self.numbers[index]
        self.reads += len(found) if isinstance(index, slice) else 1
        return found


@exercise("15-slot")
def _slot(owner):
    rng = np.random.default_rng(0)
    for C, N in ((16, 1), (16, 9), (64, 200)):
        lengths = rng.choice([0, 1, 15, 16, 17, 64, 65], size=N)
        ends = np.concatenate([[0], np.cumsum(lengths)]).tolist()
        firsts = [end // C + n for n, end in enumerate(ends[:-1])]
        for slot in range(ends[-1] // C + N):
            watched = _Watched(ends)
            n = owner(watched, slot, N, C)
            right = max(n for n, first in enumerate(firsts) if first <= slot)
            if n != right:
                raise Wrong(f"slot {slot} of {N} sequences, C = {C}: not sequence {n}")
            if watched.reads > 3 * math.log2(N) + 4:  # two or three a step will do
                raise Wrong(
                    f"{watched.reads} reads for {N} sequences; bisection needs about log2 N"
                )


def broken_chunk(S, q, k, v, g, beta):
    """The lines of `scan_one_chunk` by name, one of them wrong."""
    lines = transposed(S, q, k, v, g, beta)
    gamma, Gamma = decay(g)
    lines["o"] = gamma * (S @ q.T) + (Gamma[-1] * lines["delta"]) @ lines["scores"]
    return lines


@exercise("15-wrong-line")
def _wrong_line(name):
    q, k, v, g, beta, S = hard_inputs(T=16)
    wrong, right = broken_chunk(S, q, k, v, g, beta), transposed(S, q, k, v, g, beta)
    if name not in right:
        raise Wrong(f"expected one of {sorted(right)}")
    if relative_error(wrong[name], right[name]) < 1e-12:
        raise Wrong(
            f"{name} is right; compare each with the chunk form, on data with decay and a state"
        )
