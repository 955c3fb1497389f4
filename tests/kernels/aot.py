"""Compile every kernel ahead of time, with no GPU, and report registers and spills as JSON.

A process of its own: it must not see TRITON_INTERPRET. Run as `python tests/kernels/aot.py 80 90`.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from gdn_ref.kernels.chunk_inverse import chunk_inverse_kernel
from gdn_ref.kernels.chunk_scan import chunk_scan_kernel
from gdn_ref.kernels.forward import dot_precision, tile_rule

POINTER = {torch.float32: "*fp32", torch.float16: "*fp16", torch.bfloat16: "*bf16"}
CASES = [  # K, V, dtype: every tile that the rule gives, and a head dimension that fills none
    *((D, D, dtype) for D in (64, 128, 256) for dtype in (torch.bfloat16, torch.float32)),
    (100, 60, torch.float16),
]


def configurations():
    """`(name, kernel, signature, constants, warps)` of every shipped tile."""
    for K, V, dtype in CASES:
        pointer = POINTER[dtype]
        tiles = tile_rule(K, dtype, 64)
        flags = {"HAS_G": True, "PACKED": True}
        sizes = {"K": K, "C": tiles["C"], "BK": tiles["BK"]}
        inverse = {
            "k_ptr": pointer, "g_ptr": "*fp32", "beta_ptr": "*fp32", "T_inv_ptr": "*fp32",
            "cu_seqlens_ptr": "*i64", "N": "i32", "T": "i32",
            "H": "i32", "HV": "i32",
        }  # fmt: skip
        scan = {
            "q_ptr": pointer, "k_ptr": pointer, "v_ptr": pointer, "g_ptr": "*fp32",
            "beta_ptr": "*fp32", "T_inv_ptr": "*fp32", "S_first_ptr": "*fp32",
            "o_ptr": pointer, "S_last_ptr": "*fp32", "cu_seqlens_ptr": "*i64",
            "scale": "fp32", "T": "i32", "H": "i32", "HV": "i32",
        }  # fmt: skip
        case = f"K={K} V={V} {str(dtype).removeprefix('torch.')}"
        constants = {**sizes, **flags}
        yield f"inverse {case}", chunk_inverse_kernel, inverse, constants, tiles["inverse_warps"]
        constants = {**constants, "V": V, "BV": tiles["BV"], "HAS_S": True}
        constants["PRECISION"] = dot_precision(dtype)
        yield f"scan {case}", chunk_scan_kernel, scan, constants, tiles["scan_warps"]


def compile_for(capability, kernel, signature, constants, warps):
    """Registers, spilled bytes and shared memory of one kernel on one architecture."""
    source = ASTSource(
        kernel,
        {**signature, **dict.fromkeys(constants, "constexpr")},
        {(kernel.arg_names.index(name),): value for name, value in constants.items()},
        # what the launcher finds out at run time: PyTorch's memory is 16-byte aligned
        {
            (kernel.arg_names.index(name),): [["tt.divisibility", 16]]
            for name, kind in signature.items()
            if kind.startswith("*")
        },
    )
    compiled = triton.compile(
        source,
        target=GPUTarget("cuda", capability, 32),
        options={"num_warps": warps, "num_stages": 1},
    )
    tool = Path(triton.__file__).parent / "backends/nvidia/bin/cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
        cubin.write(compiled.asm["cubin"])
        cubin.flush()
        usage = subprocess.run(
            [tool, "-res-usage", cubin.name], capture_output=True, text=True, check=True
        ).stdout
    return {
        "registers": int(re.search(r"REG:(\d+)", usage)[1]),
        "spilled_bytes": int(re.search(r"STACK:(\d+)", usage)[1]),
        "shared_bytes": compiled.metadata.shared,
        "tensor_memory_columns": getattr(compiled.metadata, "tmem_size", None) or 0,
    }


if __name__ == "__main__":
    report = {
        f"sm_{capability} {name}": compile_for(capability, *rest)
        for capability in map(int, sys.argv[1:])
        for name, *rest in configurations()
    }
    json.dump(report, sys.stdout, indent=1)
