"""Compile the convolution's kernels ahead of time; otherwise as `aot.py`, whose process this is."""

import json
import sys

import torch
from aot import NAME, compile_for

from gdn_ref.kernels.causal_conv import (
    CHANNELS,
    STEP_CHANNELS,
    TOKENS,
    WARPS,
    causal_conv_kernel,
    causal_conv_step_kernel,
)
from gdn_ref.kernels.causal_conv_backward import (
    OUTPUT_GRADIENT_WARPS,
    input_gradient_kernel,
    output_gradient_kernel,
)

if __name__ == "__main__":
    report = {}
    for capability in map(int, sys.argv[1:]):
        for dtype in (torch.bfloat16, torch.float16, torch.float32):
            for W in (2, 3, 4):
                x = f"*{NAME[dtype]}"
                tensors = {
                    "x_ptr": x, "weight_ptr": x, "bias_ptr": x, "S_first_ptr": x, "y_ptr": x,
                    "S_last_ptr": x, "pool_ptr": "*fp32", "slot_idx_ptr": "*i64",
                    "dy_ptr": x, "dz_ptr": x, "dx_ptr": x, "dS_last_ptr": x, "dS_first_ptr": x,
                    "shares_ptr": "*fp32", "cu_seqlens_ptr": "*i64", "N": "i32", "T": "i32",
                }  # fmt: skip
                constants = {"D": 8192, "W": W, "HAS_BIAS": True, "SILU": True, "PACKED": True}
                prefill = {**constants, "C": TOKENS, "BD": CHANNELS, "HAS_S": True}
                step = {**constants, "BW": 4 if W > 3 else W - 1, "BD": STEP_CHANNELS}
                step["HAS_SLOTS"] = True
                less = {"bias_ptr": None, "S_first_ptr": None, "cu_seqlens_ptr": None}
                less |= {"HAS_BIAS": False, "HAS_S": False, "PACKED": False, "SILU": False}
                for kernel, flags, what in (
                    (causal_conv_kernel, prefill, "all"),
                    (causal_conv_kernel, {**prefill, **less}, "bare"),
                    (causal_conv_step_kernel, step, "all"),
                    (output_gradient_kernel, prefill, "all"),
                    (output_gradient_kernel, {**prefill, **less}, "bare"),
                    (input_gradient_kernel, prefill, "all"),
                ):
                    name = f"sm_{capability} {kernel.__name__} {what} W={W} {dtype}"
                    wide = kernel is output_gradient_kernel
                    options = {"num_warps": OUTPUT_GRADIENT_WARPS if wide else WARPS}
                    flags = {n: flag for n, flag in flags.items() if n in kernel.arg_names}
                    report[name] = compile_for(capability, kernel, tensors, flags, options)
    json.dump(report, sys.stdout, indent=1)
