"""What weighs tokens, for a kernel that computes its chunks' matrices itself: c and beta by head.

    c = g_1 + ... + g_r, in base 2                                        eq-gamma

In memory a token's heads lie side by side; the scan reads a head's tokens side by side. A program
has a chunk and some heads.

Reference: `gdn_ref.chunking.decay`.
"""

from collections import namedtuple

import triton
import triton.language as tl

from ..common.numbers import LOG2_E, RESET

HEADS = 16  # of a program

# pointers; c and strength are [HV, total]
WeighGiven = namedtuple("WeighGiven", "g_ptr beta_ptr c_ptr strength_ptr T total HV")
WeighCase = namedtuple("WeighCase", "C HEADS HAS_G")


@triton.jit
def weigh_kernel(given: WeighGiven, case: tl.constexpr):
    chunks, HV = tl.cdiv(given.T, case.C), given.HV
    n, chunk = tl.program_id(0) // chunks, tl.program_id(0) % chunks
    t = case.C * chunk + tl.arange(0, case.C)[:, None]
    hv = case.HEADS * tl.program_id(1) + tl.arange(0, case.HEADS)[None, :]
    ours = (t < given.T) & (hv < HV)
    token = n.to(tl.int64) * given.T + t
    beta = tl.load(given.beta_ptr + token * HV + hv, mask=ours, other=0.0).to(tl.float32)
    c = tl.zeros([case.C, case.HEADS], tl.float32)
    if case.HAS_G:
        g = tl.load(given.g_ptr + token * HV + hv, mask=ours, other=0.0).to(tl.float32) * LOG2_E
        c = tl.cumsum(tl.where(g < RESET, RESET, g), 0)
    to = hv.to(tl.int64) * given.total + token
    tl.store(given.c_ptr + to, c, mask=ours)
    tl.store(given.strength_ptr + to, beta, mask=ours)
