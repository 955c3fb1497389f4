"""The maps of a span's blocks, one after the other (eq-affine-compose).

A program has some rows of the product so far, and multiplies them with the map of each block of its
span in turn. Between two products they rest in memory, since a sum of large products is cut there.

Reference: `gdn_ref.distributed.response.joined`.
"""

from collections import namedtuple

import torch
import triton
import triton.language as tl

from ..host.launch import cdiv, launcher, on_device, types
from ..host.memory import new
from ..host.tiles import dot_precision
from .blocks import blocks_of_span, piece_bounds

ComposeGiven = namedtuple(
    "ComposeGiven", "F_ptr felt_ptr pieces_ptr so_far_ptr before_ptr whole_ptr L"
)
ComposeCase = namedtuple("ComposeCase", "HV SPANS EVERY K BK ROWS STEP PRECISION")
AT_ONCE, SUMMED = 16, 32  # rows of a product: float32, three products each, in registers


def compose(F, felt, spans, dtype):
    """Of each block's map F, `[blocks, 1, K, K]`, float32: the map of all blocks of the span before
    it, `[blocks, K, K]` in this dtype; and of each span that of all its blocks, `[spans, K, K]`,
    zero where the piece's last state does not feel its first one."""
    K = F.shape[3]
    so_far = new(F, (spans.blocks, K, K))
    before = new(F, (spans.blocks, K, K), dtype)
    whole = new(F, (spans.count, K, K))
    case = compose_case(spans.known, K)
    start = launcher(compose_kernel, case, types(F, before), num_warps=4)
    with on_device(F):
        tensors = (F, felt, spans.pieces, so_far, before, whole)
        start((spans.count, cdiv(K, case.ROWS), 1), tensors, (spans.L,))
    return before, whole


def compose_case(known, K):
    """What is known in advance: float32 all through, so what is summed over is cut (`outputs`)."""
    BK = max(16, 1 << (K - 1).bit_length())
    return ComposeCase(*known, K, BK, AT_ONCE, min(BK, SUMMED), dot_precision(torch.float32))


@triton.jit
def compose_kernel(given: ComposeGiven, case: tl.constexpr):
    K: tl.constexpr = case.K
    BK: tl.constexpr = case.BK
    span = tl.program_id(0)
    first, last = blocks_of_span(given.felt_ptr, span, given.L, case)
    begin, end, _ = piece_bounds(given.pieces_ptr, span // case.HV)
    felt = tl.load(given.felt_ptr + span) == end - begin

    r = tl.program_id(1) * case.ROWS + tl.arange(0, case.ROWS)[:, None]
    j = tl.arange(0, BK)[None, :]
    own = (r < K) & (j < K)
    so_far = (r == j).to(tl.float32)  # of no block
    for block in range(first, last):
        at = block * K * K + r * K + j
        before = so_far.to(given.before_ptr.dtype.element_ty)
        tl.store(given.before_ptr + at, before, mask=own)
        if block > first:
            tl.debug_barrier()  # what other threads have stored is loaded
        product = tl.zeros([case.ROWS, BK], tl.float32)
        for e in range(0, K, case.STEP):
            i = e + tl.arange(0, case.STEP)
            part = (r == i[None, :]).to(tl.float32)
            if block > first:
                row = given.so_far_ptr + (block - 1) * K * K + r * K + i[None, :]
                part = tl.load(row, mask=(r < K) & (i < K)[None, :], other=0.0)
            F_ptr = given.F_ptr + block * K * K + i[:, None] * K + j
            F = tl.load(F_ptr, mask=(i < K)[:, None] & (j < K), other=0.0)
            product += tl.dot(part, F, input_precision=case.PRECISION)
        so_far = product
        tl.store(given.so_far_ptr + at, so_far, mask=own)
    to = given.whole_ptr + span.to(tl.int64) * K * K + r * K + j
    tl.store(to, tl.where(felt, so_far, 0.0), mask=own)
