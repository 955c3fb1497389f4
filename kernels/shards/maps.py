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
ComposeCase = namedtuple("ComposeCase", "HV SPANS EVERY K BK ROWS PRECISION")
TILE_OF_A_MAP = 32  # float32 operands, three products each, in registers


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
    """What is known in advance: float32 all through, so key dimensions are cut (`outputs`)."""
    BK = max(16, 1 << (K - 1).bit_length())
    return ComposeCase(
        *known, K, min(BK, TILE_OF_A_MAP), min(BK, TILE_OF_A_MAP), dot_precision(torch.float32)
    )  # fmt: skip


@triton.jit
def compose_kernel(given: ComposeGiven, case: tl.constexpr):
    K: tl.constexpr = case.K
    BK: tl.constexpr = case.BK
    span = tl.program_id(0)
    first, last = blocks_of_span(given.felt_ptr, span, given.L, case)
    begin, end, _ = piece_bounds(given.pieces_ptr, span // case.HV)
    felt = tl.load(given.felt_ptr + span) == end - begin

    r = tl.program_id(1) * case.ROWS + tl.arange(0, case.ROWS)[:, None]
    for block in range(first, last):
        so_far_ptr = given.so_far_ptr + block * K * K
        tl.debug_barrier()  # what other threads have stored is loaded
        for d in range(0, K, BK):
            j = d + tl.arange(0, BK)[None, :]
            own = (r < K) & (j < K)
            at = r * K + j
            before = (r == j).to(tl.float32)
            if block > first:
                before = tl.load(so_far_ptr - K * K + at, mask=own, other=0.0)
            tl.store(
                given.before_ptr + block * K * K + at,
                before.to(given.before_ptr.dtype.element_ty),
                mask=own,
            )
            product = tl.zeros([case.ROWS, BK], tl.float32)
            for e in range(0, K, BK):
                i = e + tl.arange(0, BK)
                so_far = (r == i[None, :]).to(tl.float32)
                if block > first:
                    row = so_far_ptr - K * K + r * K + i[None, :]
                    so_far = tl.load(row, mask=(r < K) & (i < K)[None, :], other=0.0)
                F_ptr = given.F_ptr + block * K * K + i[:, None] * K + j
                F = tl.load(F_ptr, mask=(i < K)[:, None] & (j < K), other=0.0)
                product += tl.dot(so_far, F, input_precision=case.PRECISION)
            tl.store(so_far_ptr + at, product, mask=own)
    tl.debug_barrier()
    for d in range(0, K, BK):
        j = d + tl.arange(0, BK)[None, :]
        own = (r < K) & (j < K)
        whole = (r == j).to(tl.float32)  # of no block
        if last > first:
            at = given.so_far_ptr + (last - 1) * K * K + r * K + j
            whole = tl.load(at, mask=own, other=0.0)
        to = given.whole_ptr + span.to(tl.int64) * K * K + r * K + j
        tl.store(to, tl.where(felt, whole, 0.0), mask=own)
