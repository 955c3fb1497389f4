"""What feels the state before a piece, in blocks of equal length; a span is what one head feels.

A program is told how many tokens of each piece and head are answered for, and finds from these
which span its block is of: no table of blocks goes to the device, or comes from it. `take` copies
the tokens of all blocks, so that they are sequences of one head of the ordinary rule. Tokens past
the end of a piece become zeros, and change nothing.

Reference: `gdn_ref.distributed.response.respond`.
"""

from collections import namedtuple

import triton
import triton.language as tl

from ..common.numbers import NORM_EPSILON
from ..host.launch import cdiv, launcher, on_device, types
from ..host.memory import contiguous, new

TakeGiven = namedtuple(
    "TakeGiven",
    "q_ptr k_ptr g_ptr beta_ptr felt_ptr pieces_ptr "
    "block_q_ptr block_k_ptr block_g_ptr block_beta_ptr L",
)
TakeCase = namedtuple("TakeCase", "HV SPANS EVERY H K BK ROWS NORM")


class Spans:
    """What the kernels are told of the spans, one of each piece and value head.

    pieces : [pieces, 3], int64: the first row of a piece, its end, its place among the states
    HV, L, blocks : value heads; tokens of a block; and how many blocks all spans have together
    """

    def __init__(self, pieces, HV, L, blocks):
        self.pieces, self.L, self.blocks, self.count = pieces, L, blocks, len(pieces) * HV
        self.known = (HV, self.count, 1 << (self.count - 1).bit_length())


def take(q, k, g, beta, felt, spans, norm, dtype):
    """`q, k`, `[blocks, L, 1, K]`, in this dtype, and of length 1 if `norm`; `g, beta`, `[blocks,
    L, 1]`.

    Of `[1, T, H, K]` and `[1, T, HV]`; g may be None. `felt`: `[pieces, HV]`, int32, how many
    tokens of a piece are answered for.
    """
    q, k, g, beta = map(contiguous, (q, k, g, beta))
    size, (H, K) = (spans.blocks, spans.L, 1), k.shape[2:]
    made = [new(x, (*size, K), dtype) for x in (q, k)]
    made += [None if x is None else new(x, size) for x in (g, beta)]
    case = take_case(spans.known, H, K, norm)
    start = launcher(take_kernel, case, types(q, k, g, beta, made[0]), num_warps=4)
    with on_device(q):
        tensors = (q, k, g, beta, felt, spans.pieces, *made)
        start((spans.blocks, cdiv(spans.L, case.ROWS), 1), tensors, (spans.L,))
    return made


def take_case(known, H, K, norm):
    """What is known in advance: the rows of a program are 16 numbers a thread."""
    BK = 1 << (K - 1).bit_length()
    return TakeCase(*known, H, K, BK, 2048 // BK, norm)


@triton.jit
def piece_bounds(pieces_ptr, piece):
    """Its first row, the end of them, and its place among the states."""
    at = pieces_ptr + 3 * piece
    return tl.load(at), tl.load(at + 1), tl.load(at + 2)


@triton.jit
def many_blocks(felt_ptr, L, case: tl.constexpr):
    """Of every span how many blocks it has."""
    span = tl.arange(0, case.EVERY)
    return tl.cdiv(tl.load(felt_ptr + span, mask=span < case.SPANS, other=0), L)


@triton.jit
def blocks_of_span(felt_ptr, span, L, case: tl.constexpr):
    """The first block of a span, and the end of them."""
    many, every = many_blocks(felt_ptr, L, case), tl.arange(0, case.EVERY)
    first = tl.sum(tl.where(every < span, many, 0), 0).to(tl.int64)
    return first, first + tl.sum(tl.where(every == span, many, 0), 0)


@triton.jit
def place_of_block(felt_ptr, pieces_ptr, block, L, case: tl.constexpr):
    """Its first token, the end of its piece, its value head; and whose state it feels."""
    many = many_blocks(felt_ptr, L, case)
    span = tl.sum((tl.cumsum(many, 0) <= block).to(tl.int32), 0)
    first = tl.sum(tl.where(tl.arange(0, case.EVERY) < span, many, 0), 0)
    begin, end, index = piece_bounds(pieces_ptr, span // case.HV)
    head = span % case.HV
    return begin + (block - first).to(tl.int64) * L, end, head, index * case.HV + head


@triton.jit
def take_row(x_ptr, at, valid, NORM: tl.constexpr):
    """Rows of queries or keys, of length 1 if asked (`activations`)."""
    x = tl.load(x_ptr + at, mask=valid, other=0.0).to(tl.float32)
    if NORM:
        x *= tl.rsqrt(tl.sum(x * x, axis=1) + NORM_EPSILON)[:, None]
    return x


@triton.jit
def take_kernel(given: TakeGiven, case: tl.constexpr):
    H: tl.constexpr = case.H
    HV: tl.constexpr = case.HV
    K: tl.constexpr = case.K
    block = tl.program_id(0)
    row = tl.program_id(1) * case.ROWS + tl.arange(0, case.ROWS)
    begin, end, head, _ = place_of_block(given.felt_ptr, given.pieces_ptr, block, given.L, case)
    t = begin + row
    valid = (t < end) & (row < given.L)
    to = block.to(tl.int64) * given.L + row
    d = tl.arange(0, case.BK)[None, :]
    at = ((t * H + head // (HV // H)) * K)[:, None] + d
    there = valid[:, None] & (d < K)
    own = (row < given.L)[:, None] & (d < K)
    q = take_row(given.q_ptr, at, there, case.NORM)
    tl.store(
        given.block_q_ptr + to[:, None] * K + d, q.to(given.block_q_ptr.dtype.element_ty), mask=own
    )
    k = take_row(given.k_ptr, at, there, case.NORM)
    tl.store(
        given.block_k_ptr + to[:, None] * K + d, k.to(given.block_k_ptr.dtype.element_ty), mask=own
    )
    beta = tl.load(given.beta_ptr + t * HV + head, mask=valid, other=0.0)
    tl.store(given.block_beta_ptr + to, beta, mask=row < given.L)
    if given.g_ptr is not None:
        g = tl.load(given.g_ptr + t * HV + head, mask=valid, other=0.0)
        tl.store(given.block_g_ptr + to, g, mask=row < given.L)
