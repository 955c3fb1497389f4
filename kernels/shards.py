"""What the outputs of a shard get of the state before it, once that is known: O += O_F S^T.

A program has some rows of a block's O_F, and adds to the same rows of the outputs what they read of
the block's state (eq-shard-state), for some value dimensions. No two blocks have a row in common.
Rows of a block that are past the end of its piece have no place of their own, and nobody's outputs.

Reference: `gdn_ref.distributed.response.Response.correct`.
"""

from collections import namedtuple

import torch
import triton
import triton.language as tl

from .host.launch import cdiv, launcher, on_device, types
from .host.tiles import dot_precision

CorrectGiven = namedtuple("CorrectGiven", "O_F_ptr S_ptr at_ptr whose_ptr o_ptr L")
CorrectCase = namedtuple("CorrectCase", "HV K V ROWS BK BV PRECISION")


def correct(o, O_F, S, at, whose):
    """In place, for `[1, T, HV, V]`, `[blocks, L, K]`, `[.., HV, V, K]`, `[blocks, L, 1]` and
    `[blocks]`, all in one piece: `at` has rows of `[T HV, V]`, `whose` matrices of S."""
    (HV, V), (blocks, L, K) = o.shape[2:], O_F.shape
    case = correct_case(HV, K, V, O_F.dtype)
    start = launcher(correct_kernel, case, types(O_F, S, o), num_warps=4)
    with on_device(o):
        start((blocks, cdiv(L, case.ROWS), cdiv(V, case.BV)), (O_F, S, at, whose, o), (L,))


def correct_case(HV, K, V, dtype):
    """What is known in advance: float32 takes twice the room, and three products each.

    Only there are key dimensions cut: sums of larger products go wrong in tensor memory (`tiles`).
    """
    tile, widest = (32, 64) if dtype == torch.float32 else (64, 256)
    BK, BV = (max(16, 1 << (n - 1).bit_length()) for n in (K, V))
    return CorrectCase(HV, K, V, tile, min(BK, widest), min(BV, tile), dot_precision(dtype))


@triton.jit
def correct_kernel(given: CorrectGiven, case: tl.constexpr):
    K: tl.constexpr = case.K
    V: tl.constexpr = case.V
    BK: tl.constexpr = case.BK
    PRECISION: tl.constexpr = case.PRECISION
    block = tl.program_id(0).to(tl.int64)
    r = tl.program_id(1) * case.ROWS + tl.arange(0, case.ROWS)
    i = tl.program_id(2) * case.BV + tl.arange(0, case.BV)
    whose = tl.load(given.whose_ptr + block)
    first = tl.load(given.at_ptr + block * given.L)
    row = tl.load(given.at_ptr + block * given.L + r, mask=r < given.L, other=-1)
    own = (row == first + r * case.HV)[:, None]  # past the end of a piece all are its last one
    there = own & (i < V)[None, :]

    read = tl.zeros([case.ROWS, case.BV], tl.float32)
    for begin in tl.static_range(0, K, BK):
        d = begin + tl.arange(0, BK)[None, :]
        O_F_at = (block * given.L + r)[:, None] * K + d
        O_F = tl.load(given.O_F_ptr + O_F_at, mask=own & (d < K), other=0.0)
        S_at = (whose * V + i)[:, None] * K + d
        S = tl.load(given.S_ptr + S_at, mask=(i < V)[:, None] & (d < K), other=0.0)
        read += tl.dot(O_F, tl.trans(S.to(O_F.dtype)), input_precision=PRECISION)
    o_ptr = given.o_ptr + row[:, None] * V + i[None, :]
    o = tl.load(o_ptr, mask=there, other=0.0)
    tl.store(o_ptr, (o.to(tl.float32) + read).to(o.dtype), mask=there)
