"""Which tokens a program works on, and how it loads them. Shared by every kernel.

Tokens of all sequences lie in one long row, `[B * T]` or packed by `cu_seqlens`. A chunk never
crosses a sequence, so the last chunk of each sequence may be short; its missing tokens are read
as zeros, and a token with k = v = 0, g = 0, beta = 0 changes nothing.
"""

import triton
import triton.language as tl


@triton.jit
def sequence_bounds(cu_seqlens_ptr, n, T, PACKED: tl.constexpr):
    """First token and end of sequence `n`."""
    if PACKED:
        begin = tl.load(cu_seqlens_ptr + n).to(tl.int64)
        end = tl.load(cu_seqlens_ptr + n + 1).to(tl.int64)
    else:
        begin = n.to(tl.int64) * T
        end = begin + T
    return begin, end


@triton.jit
def first_slot(n, begin, T, C: tl.constexpr, PACKED: tl.constexpr):
    """The slot of sequence `n`'s first chunk; see `chunk_bounds`."""
    return begin // C + n if PACKED else n.to(tl.int64) * tl.cdiv(T, C)


@triton.jit
def owner(cu_seqlens_ptr, slot, N, C: tl.constexpr):
    """The packed sequence that owns `slot`; see `chunk_bounds`."""
    n = N * 0
    after = N
    while after - n > 1:
        middle = (n + after) // 2
        owns = tl.load(cu_seqlens_ptr + middle) // C + middle <= slot
        n = tl.where(owns, middle, n)
        after = tl.where(owns, after, middle)
    return n


@triton.jit
def chunk_bounds(cu_seqlens_ptr, slot, N, T, C: tl.constexpr, PACKED: tl.constexpr):
    """First token of the chunk in `slot`, and the end of its sequence (start >= end: no chunk).

    Sequence n owns the slots from `cu_seqlens[n] // C + n` on. That is room enough for its
    chunks, and it needs no table: the host knows the number of slots without looking at
    `cu_seqlens`, and a program finds its sequence by bisection.
    """
    if PACKED:
        n = owner(cu_seqlens_ptr, slot, N, C)
        begin, end = sequence_bounds(cu_seqlens_ptr, n, T, PACKED)
        start = begin + (slot - (begin // C + n)) * C
    else:
        chunks = tl.cdiv(T, C)
        begin, end = sequence_bounds(cu_seqlens_ptr, slot // chunks, T, PACKED)
        start = begin + (slot % chunks) * C
    return start, end


@triton.jit
def load_rows(ptr, rows, stride, left, columns, width: tl.constexpr):
    """The rows `rows` (any shape) of a matrix, `columns` as a last axis; beyond them zeros.

    `stride` is the distance between rows; rows from `left` on and columns from `width` on are
    missing.
    """
    at = tl.expand_dims(rows, -1) * stride + columns
    valid = tl.expand_dims(rows < left, -1) & (columns < width)
    return tl.load(ptr + at, mask=valid, other=0.0)


@triton.jit
def load_tile(ptr, stride, left, width, ROWS: tl.constexpr, COLUMNS: tl.constexpr,
              WHOLE: tl.constexpr):  # fmt: skip
    """`[ROWS, COLUMNS]`, tokens as rows; without masks where the tile is `WHOLE`."""
    r = tl.arange(0, ROWS)[:, None]
    i = tl.arange(0, COLUMNS)[None, :]
    if WHOLE:
        x = tl.load(ptr + r * stride + i)
    else:
        x = tl.load(ptr + r * stride + i, mask=(r < left) & (i < width), other=0.0)
    return x
