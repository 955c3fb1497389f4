"""How far into a piece the state before it is felt: the bound of `gdn_ref.distributed.felt`.

    c_t = sum over s <= t of  g_s + ln max(1, |1 - step_s|),     step_s = beta_s |k_s|^2

Two launches (eq-shard-felt). A program of the first has a block of tokens, and finds by how much c
grows in it, and a bound above all that it adds on the way. A program of the second has a value head
of a piece, walks along its blocks, and remembers the last one that can feel the state.

Reference: `gdn_ref.distributed.felt.Bounds`.
"""

from collections import namedtuple
from math import log

import torch
import triton
import triton.language as tl

from ..host.launch import cdiv, launcher, on_device, types
from ..host.memory import new
from .blocks import piece_bounds

ROWS_AT_ONCE = 4096  # numbers that a program loads at a time

GrowthGiven = namedtuple("GrowthGiven", "g_ptr step_ptr pieces_ptr growth_ptr blocks")
GrowthCase = namedtuple("GrowthCase", "HV BHV ROWS BLOCK")
FeltGiven = namedtuple("FeltGiven", "growth_ptr pieces_ptr felt_ptr blocks")
FeltCase = namedtuple("FeltCase", "HV TILE BLOCK STATES OUTPUTS")


def answered(g, step, pieces, longest, least, block):
    """`[pieces, HV]`, int32: the tokens of each piece to be answered for, by value head.

    All, where the state after the piece feels the one before it; else those whose outputs do.

    g, step : [1, T, HV] in one piece, float32; g may be None
    pieces : [pieces, 3], int64: the first row of a piece, its end, its place among the states
    longest : tokens of the longest piece; `least`, of a state's number and of an output's
    """
    HV, blocks = step.shape[2], max(cdiv(longest, block), 1)
    growth = new(step, (len(pieces), 2, blocks, HV), torch.float64)
    felt = new(step, (len(pieces), HV), torch.int32)
    case = growth_case(HV, block)
    find = launcher(growth_kernel, case, types(step, g), num_warps=8)
    walk = launcher(felt_kernel, felt_case(HV, block, *least), types(step), num_warps=4)
    with on_device(step):
        find((blocks, len(pieces), 1), (g, step, pieces, growth), (blocks,))
        walk((HV, len(pieces), 1), (growth, pieces, felt), (blocks,))
    return felt


def growth_case(HV, block):
    """What the first kernel knows in advance."""
    BHV = 1 << (HV - 1).bit_length()
    return GrowthCase(HV, BHV, max(1, min(block, ROWS_AT_ONCE // BHV)), block)


def felt_case(HV, block, states, outputs):
    """What the second one does: `least` as logarithms."""
    return FeltCase(HV, 128, block, log(states), log(outputs))


@triton.jit
def growth_kernel(given: GrowthGiven, case: tl.constexpr):
    HV: tl.constexpr = case.HV
    ROWS: tl.constexpr = case.ROWS
    BLOCK: tl.constexpr = case.BLOCK
    block = tl.program_id(0)
    begin, end, _ = piece_bounds(given.pieces_ptr, tl.program_id(1))
    h = tl.arange(0, case.BHV)
    beyond = tl.zeros([case.BHV], tl.float64)  # of |1 - step| over 1
    total = tl.zeros([case.BHV], tl.float64)
    largest = tl.full([case.BHV], float("-inf"), tl.float64)
    for row in range(0, BLOCK, ROWS):
        t = begin + block * BLOCK + row + tl.arange(0, ROWS)
        valid = (t < end)[:, None] & (h < HV)[None, :]
        at = t[:, None] * HV + h[None, :]
        step = tl.load(given.step_ptr + at, mask=valid, other=0.0).to(tl.float64)
        more = tl.max(tl.maximum(-step, step - 2), axis=0)
        beyond = tl.maximum(beyond, more) + tl.sum(step * 0, axis=0)  # which keeps a NaN
        if given.g_ptr is not None:
            g = tl.load(given.g_ptr + at, mask=valid, other=0.0).to(tl.float64)
            total += tl.sum(g, axis=0)
            largest = tl.maximum(largest, tl.max(g, axis=0))
    whole = BLOCK * tl.log(1 + beyond)
    inside = whole
    if given.g_ptr is not None:
        inside = tl.maximum(BLOCK * largest + inside, 0.0)
        whole += total
        inside = tl.where(whole == whole, inside, whole)
    to = (tl.program_id(1) * 2 * given.blocks + block) * HV + h
    tl.store(given.growth_ptr + to, whole, mask=h < HV)
    tl.store(given.growth_ptr + to + given.blocks * HV, inside, mask=h < HV)


@triton.jit
def felt_kernel(given: FeltGiven, case: tl.constexpr):
    HV: tl.constexpr = case.HV
    TILE: tl.constexpr = case.TILE
    BLOCK: tl.constexpr = case.BLOCK
    head, piece = tl.program_id(0), tl.program_id(1)
    begin, end, _ = piece_bounds(given.pieces_ptr, piece)
    ptr = given.growth_ptr + piece * 2 * given.blocks * HV + head
    c = tl.zeros([], tl.float64)  # at the end of the tile before, less its last block
    states = tl.zeros([], tl.int64)
    outputs = tl.zeros([], tl.int64)
    blocks = tl.cdiv(end - begin, BLOCK)
    for first in range(0, blocks, TILE):
        b = first + tl.arange(0, TILE)
        before = tl.load(ptr + (b - 1) * HV, mask=(b < blocks) & (b > 0), other=0.0)
        inside = tl.load(ptr + (given.blocks + b) * HV, mask=b < blocks, other=0.0)
        bound = c + tl.cumsum(before, 0) + inside
        c += tl.sum(before, axis=0)
        after = tl.where(b < blocks, b + 1, 0)  # a NaN is felt
        states = tl.maximum(states, tl.max(tl.where(bound < case.STATES, 0, after), 0))
        outputs = tl.maximum(outputs, tl.max(tl.where(bound < case.OUTPUTS, 0, after), 0))
    states = tl.minimum(states * BLOCK, end - begin)
    outputs = tl.minimum(outputs * BLOCK, end - begin)
    felt = tl.where(states == end - begin, states, outputs)
    tl.store(given.felt_ptr + piece * HV + head, felt.to(tl.int32))
