"""A sequence that several programs share, when there are few heads. Exact: nothing is cut off.

Each program walks from the sequence's first chunk, and carries the state; but it has outputs of its
own. Up to its own first chunk it is silent, and a silent chunk takes `SILENT` of the time of one
with outputs. With x = 1 - SILENT, n programs end all together if the first p of them have
(1 - x^p) / (1 - x^n) of the chunks. So the walk takes SILENT / (1 - x^n) of the time that one alone
would need: 0.71, 0.64 and 0.62 for 2, 3 and 4.

Where heads are very few and sequences long, `hopper.segments` do better, which no program walks
through.
"""

import math

import triton
import triton.language as tl

SILENT = 0.6
MOST = 4  # a fifth program would save a hundredth
LOG_REST = tl.constexpr(math.log2(1 - SILENT))


def shares(chunks, programs, multiprocessors):
    """How many programs share a sequence of so many chunks, where there are `programs` without."""
    return max(min(multiprocessors // programs, MOST, chunks), 1)


def walk(chunks, n):
    """The time that `n` programs need for a sequence, in chunks with outputs."""
    return chunks * SILENT / (1 - (1 - SILENT) ** n)


@triton.jit
def share(tokens, p, SHARES: tl.constexpr, C: tl.constexpr):
    """Program `p` of those that share so many tokens: its tokens, how many chunks of them it is
    silent for, and whether it has the sequence's end.

    A program for which no chunk is left comes out with 0 tokens. If all are left with none, the
    first has the end.
    """
    chunks = (tokens + C - 1) // C
    begin = share_of_chunks(chunks, p, SHARES)
    end = share_of_chunks(chunks, p + 1, SHARES)
    last = (end == chunks) & ((begin < end) | (p == 0))
    tokens = tl.where(begin < end, tl.minimum(end * C, tokens), 0)
    return tokens, tl.where(begin < end, begin, 0), last


@triton.jit
def share_of_chunks(chunks, p, SHARES: tl.constexpr):
    """How many of the chunks the first `p` of the programs have."""
    part = (1 - tl.exp2(p * LOG_REST)) / (1 - tl.exp2(SHARES * LOG_REST))
    return tl.where(p == SHARES, chunks, (chunks * part + 0.5).to(tl.int32))
