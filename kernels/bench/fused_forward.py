"""Check and time `fused`, the forward pass in one kernel, beside the kernels that ship.

    python kernels/bench/fused_forward.py

Needs a Hopper GPU. Small shapes are compared with the float64 reference, with short chunks and
128 and 256 value dimensions; the others are timed as `compare.device_us` does it, and compared with
what ships. The cumulative decays and the strengths, head by head, come from a kernel of their own.
"""

from functools import partial

import torch
import triton
import triton.language as tl
from compare import device_us, relative
from fused import FusedCase, chunk_fused_kernel
from shapes import Shape, inputs

import gdn_ref
from gdn_ref.kernels.common.numbers import LOG2_E, RESET
from gdn_ref.kernels.common.triton_private import tiling
from gdn_ref.kernels.host.launch import launcher, types

HEADS = 16  # of a program that weighs tokens
CHECKED = [
    Shape(300, 2, 4, 128, 128, 3),
    Shape(1000, 2, 4, 128, 256, 3),
    Shape(2048, 8, 8, 64, 128, 2),
]
TIMED = [
    Shape(8192, 16, 32, 128, 128, 4),
    Shape(4096, 16, 32, 128, 128, 4),
    Shape(1024, 16, 32, 128, 128, 8),
    Shape(2048, 8, 8, 128, 128, 16),
    Shape(2048, 16, 64, 128, 128, 2),
    Shape(8192, 16, 48, 128, 128, 4),
    Shape(16384, 16, 64, 128, 128, 1),
]


@triton.jit(do_not_specialize=["T", "total", "HV"])
def weigh_kernel(g_ptr, beta_ptr, c_ptr, strength_ptr, T, total, HV, HEADS: tl.constexpr):
    """Sums of a chunk's log-decays in base 2 (eq-gamma), and strengths, head by head."""
    n = tl.program_id(1)
    t = 64 * tl.program_id(0) + tl.arange(0, 64)[:, None]
    hv = HEADS * tl.program_id(2) + tl.arange(0, HEADS)[None, :]
    ours = (t < T) & (hv < HV)
    at = (n * T + t).to(tl.int64) * HV + hv
    g = tl.load(g_ptr + at, mask=ours, other=0.0) * LOG2_E
    beta = tl.load(beta_ptr + at, mask=ours, other=0.0)
    to = hv.to(tl.int64) * total + n * T + t
    tl.store(c_ptr + to, tl.cumsum(tl.where(g < RESET, RESET, g), 0), mask=ours)
    tl.store(strength_ptr + to, beta, mask=ours)


def fused(q, k, v, g, beta, S):
    """Outputs and last states; q, k and v in 16 bits, all else float32, each in one piece."""
    B, T, H, K = k.shape
    HV, V = v.shape[2:]
    total = B * T
    c, strength = torch.empty(2, HV, total, device=v.device)
    grid = (triton.cdiv(T, 64), B, triton.cdiv(HV, HEADS))
    weigh_kernel[grid](g, beta, c, strength, T, total, HV, HEADS)
    o, S_last = torch.empty_like(v), torch.empty_like(S)
    keys, values = tiling(v.dtype, H * K, 64, 64), tiling(v.dtype, HV * V, 64, 64)
    launch = launcher(
        chunk_fused_kernel, FusedCase(K, V, 1, V, True, False), types(v),
        (keys, keys, values, values), num_warps=4,
    )  # fmt: skip
    launch(
        (B * HV * V // 128, 1, 1), (q, k, v, o, strength, c, o, S, S_last, None),
        (K**-0.5, B, T, total, H, HV), (total,) * 4,
    )  # fmt: skip
    return o, S_last


def shipped(q, k, v, g, beta, S):
    return gdn_ref.chunk_gated_delta_rule(
        q, k, v, g, beta, initial_state=S, output_final_state=True, backend="triton"
    )


def main():
    for shape in CHECKED:
        *exact, S, _ = inputs(shape)
        given = [x.bfloat16() for x in exact[:3]] + exact[3:] + [S]
        right = gdn_ref.chunk_gated_delta_rule(
            *(x.double() for x in exact), initial_state=S.double(), output_final_state=True,
            backend="reference",
        )  # fmt: skip
        for name, call in (("fused", fused), ("shipped", shipped)):
            errors = [relative(x, y) for x, y in zip(call(*given), right, strict=True)]
            print(
                f"{shape!s:24}{name:9} errors of outputs and states {errors[0]:.2e} {errors[1]:.2e}"
            )
    for shape in TIMED:
        *exact, S, _ = inputs(shape)
        given = [x.bfloat16() for x in exact[:3]] + exact[3:] + [S]
        apart = max(relative(*pair) for pair in zip(fused(*given), shipped(*given), strict=True))
        us = [device_us(partial(call, *given)) for call in (fused, shipped)]
        print(f"{shape!s:24}fused {us[0]:7.1f} us, shipped {us[1]:7.1f} us, apart {apart:.1e}")


if __name__ == "__main__":
    main()
