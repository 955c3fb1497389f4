"""What the outputs of a shard get of the state before it, O += O_F S^T, and back: dO^T O_F.

A program of `correct` has some rows of a block's O_F, and adds to the same rows of the outputs what
they read of the block's state (eq-shard-state), for some value dimensions. No two blocks have a row
in common. One of `product` has some numbers of the state, and all rows of a block; another launch
adds up the blocks of a span, so that the order of the sum is always the same.

Reference: `gdn_ref.distributed.response.Response.correct`, `product`.
"""

from collections import namedtuple

import torch
import triton
import triton.language as tl

from ..host.launch import cdiv, launcher, on_device, types
from ..host.memory import new
from ..host.tiles import dot_precision
from .blocks import blocks_of_span, place_of_block

CorrectGiven = namedtuple("CorrectGiven", "O_F_ptr S_ptr felt_ptr pieces_ptr o_ptr L")
ProductGiven = namedtuple("ProductGiven", "do_ptr O_F_ptr felt_ptr pieces_ptr M_ptr L")
OutputsCase = namedtuple("OutputsCase", "HV SPANS EVERY K V ROWS BK BV PRECISION")
AddUpGiven = namedtuple("AddUpGiven", "M_ptr felt_ptr sum_ptr L")
AddUpCase = namedtuple("AddUpCase", "HV SPANS EVERY SIZE NUMBERS")


def correct(o, O_F, S, felt, spans):
    """In place, for `[1, T, HV, V]`, `[blocks, L, K]` and `[.., HV, V, K]`, all in one piece."""
    V, K = S.shape[2:]
    case = correct_case(spans.known, K, V, O_F.dtype)
    start = launcher(correct_kernel, case, types(O_F, S, o), num_warps=4)
    with on_device(o):
        grid = (spans.blocks, cdiv(spans.L, case.ROWS), cdiv(V, case.BV))
        start(grid, (O_F, S, felt, spans.pieces, o), (spans.L,))


def product(do, O_F, felt, spans):
    """`[spans, V, K]`, float32, of `[1, T, HV, V]` and `[blocks, L, K]`, in one piece."""
    V, K = do.shape[3], O_F.shape[2]
    M = new(O_F, (spans.blocks, V, K), torch.float32)
    total = new(O_F, (spans.count, V, K), torch.float32)
    case, sums = product_case(spans.known, K, V, O_F.dtype), add_up_case(spans.known, K, V)
    start = launcher(product_kernel, case, types(do, O_F), num_warps=4)
    add = launcher(add_up_kernel, sums, types(O_F), num_warps=4)
    with on_device(do):
        grid = (spans.blocks, cdiv(V, case.BV), cdiv(K, case.BK))
        start(grid, (do, O_F, felt, spans.pieces, M), (spans.L,))
        grid = (spans.count, cdiv(sums.SIZE, sums.NUMBERS), 1)
        add(grid, (M, felt, total), (spans.L,))
    return total


def correct_case(known, K, V, dtype):
    """What is known in advance: float32 takes twice the room, and three products each.

    Only there are key dimensions cut: sums of larger products go wrong in tensor memory (`tiles`).
    """
    ROWS, most_BK, most_BV = (32, 64, 32) if dtype == torch.float32 else (64, 256, 128)
    BK, BV = min(tile_of(K), most_BK), min(tile_of(V), most_BV)
    BV = min(BV, 64) if BK > 128 else BV
    return OutputsCase(*known, K, V, ROWS, BK, BV, dot_precision(dtype))


def product_case(known, K, V, dtype):
    """The same of the way back, whose sum is over rows: it is low, as `tiles` wants it."""
    tile = 32 if dtype == torch.float32 else 64
    BK, BV = min(tile_of(K), tile), min(tile_of(V), 32)
    return OutputsCase(*known, K, V, tile, BK, BV, dot_precision(dtype))


def tile_of(n):
    """A power of two that a tensor core takes."""
    return max(16, 1 << (n - 1).bit_length())


def add_up_case(known, K, V):
    """What is known in advance of the sum: some numbers of the state a program."""
    return AddUpCase(*known, V * K, 1024)


@triton.jit
def correct_kernel(given: CorrectGiven, case: tl.constexpr):
    K: tl.constexpr = case.K
    V: tl.constexpr = case.V
    BK: tl.constexpr = case.BK
    block = tl.program_id(0)
    r = tl.program_id(1) * case.ROWS + tl.arange(0, case.ROWS)
    i = tl.program_id(2) * case.BV + tl.arange(0, case.BV)
    begin, end, head, whose = place_of_block(
        given.felt_ptr, given.pieces_ptr, block, given.L, case
    )  # fmt: skip
    t = begin + r
    own = (t < end) & (r < given.L)
    there = own[:, None] & (i < V)[None, :]

    read = tl.zeros([case.ROWS, case.BV], tl.float32)
    for first in tl.static_range(0, K, BK):
        d = first + tl.arange(0, BK)[None, :]
        O_F_at = (block.to(tl.int64) * given.L + r)[:, None] * K + d
        O_F = tl.load(given.O_F_ptr + O_F_at, mask=own[:, None] & (d < K), other=0.0)
        S_at = (whose * V + i)[:, None] * K + d
        S = tl.load(given.S_ptr + S_at, mask=(i < V)[:, None] & (d < K), other=0.0)
        read += tl.dot(O_F, tl.trans(S.to(O_F.dtype)), input_precision=case.PRECISION)
    o_ptr = given.o_ptr + ((t * case.HV + head) * V)[:, None] + i[None, :]
    o = tl.load(o_ptr, mask=there, other=0.0)
    tl.store(o_ptr, (o.to(tl.float32) + read).to(o.dtype), mask=there)


@triton.jit
def product_kernel(given: ProductGiven, case: tl.constexpr):
    K: tl.constexpr = case.K
    V: tl.constexpr = case.V
    block = tl.program_id(0)
    i = tl.program_id(1) * case.BV + tl.arange(0, case.BV)
    d = tl.program_id(2) * case.BK + tl.arange(0, case.BK)
    begin, end, head, _ = place_of_block(given.felt_ptr, given.pieces_ptr, block, given.L, case)
    M = tl.zeros([case.BV, case.BK], tl.float32)
    for first in range(0, given.L, case.ROWS):
        r = first + tl.arange(0, case.ROWS)
        t = begin + r
        own = (t < end) & (r < given.L)
        do_at = ((t * case.HV + head) * V)[:, None] + i[None, :]
        do = tl.load(given.do_ptr + do_at, mask=own[:, None] & (i < V)[None, :], other=0.0)
        O_F_at = (block.to(tl.int64) * given.L + r)[:, None] * K + d[None, :]
        O_F = tl.load(given.O_F_ptr + O_F_at, mask=own[:, None] & (d < K)[None, :], other=0.0)
        M += tl.dot(tl.trans(do.to(O_F.dtype)), O_F, input_precision=case.PRECISION)
    to = (block.to(tl.int64) * V + i)[:, None] * K + d[None, :]
    tl.store(given.M_ptr + to, M, mask=(i < V)[:, None] & (d < K)[None, :])


@triton.jit
def add_up_kernel(given: AddUpGiven, case: tl.constexpr):
    span = tl.program_id(0)
    first, last = blocks_of_span(given.felt_ptr, span, given.L, case)
    n = tl.program_id(1) * case.NUMBERS + tl.arange(0, case.NUMBERS)
    own = n < case.SIZE
    total = tl.zeros([case.NUMBERS], tl.float32)
    for block in range(first, last):
        total += tl.load(given.M_ptr + block * case.SIZE + n, mask=own, other=0.0)
    tl.store(given.sum_ptr + span.to(tl.int64) * case.SIZE + n, total, mask=own)
