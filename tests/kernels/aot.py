"""Compile every kernel ahead of time, with no GPU, and report registers and spills as JSON.

A process of its own: it must not see TRITON_INTERPRET. Run as `python tests/kernels/aot.py 80 90`.
"""

import json
import re
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path

import torch
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource

from gdn_ref.kernels.activations import activate_kernel, activation_gradients_kernel
from gdn_ref.kernels.activations import tile_rule as activation_tile_rule
from gdn_ref.kernels.backward import gradient_tiles
from gdn_ref.kernels.chunk_gradients import chunk_gradients_kernel
from gdn_ref.kernels.chunk_gradients_hopper import chunk_gradients_hopper_kernel
from gdn_ref.kernels.chunk_scan import chunk_scan_kernel
from gdn_ref.kernels.chunk_scan_hopper import chunk_scan_hopper_kernel
from gdn_ref.kernels.chunk_states import chunk_states_kernel
from gdn_ref.kernels.chunk_states_hopper import chunk_states_hopper_kernel
from gdn_ref.kernels.decode import tile_rule as recurrent_tile_rule
from gdn_ref.kernels.forward import dot_precision, tile_rule
from gdn_ref.kernels.hopper import BK, BV, C
from gdn_ref.kernels.on_hopper import JOINED_ROWS, WIDTH, state_registers
from gdn_ref.kernels.recurrent import recurrent_kernel
from gdn_ref.kernels.segments import join_segments_kernel, segment_maps_kernel
from gdn_ref.kernels.state_gradients import state_gradients_kernel
from gdn_ref.kernels.state_gradients_hopper import state_gradients_hopper_kernel
from gdn_ref.kernels.ut_transform import ut_transform_kernel
from gdn_ref.kernels.ut_transform_16bit import ut_transform_16bit_kernel

NAME = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}
CASES = [  # K, V, dtype: every tile that the rule gives, and a head dimension that fills none
    *((D, D, dtype) for D in (64, 128, 256) for dtype in (torch.bfloat16, torch.float32)),
    (100, 60, torch.float16),
]
STATE = {"S_v": 1, "S_k": 64, "HAS_S": True, "PACKED": True, "SCALED": True}


def configurations():
    """`(name, kernel, signature, constants, options)` of every shipped tile, for any GPU."""
    for K, V, dtype in CASES:
        exact = dtype == torch.float32
        vectors, solved = f"*{NAME[dtype]}", "*fp32" if exact else "*fp16"
        tiles = tile_rule(K, dtype, 64)
        sizes = {"K": K, "C": tiles["C"], "BK": tiles["BK"]}
        transform = {
            "k_ptr": vectors, "g_ptr": "*fp32", "beta_ptr": "*fp32",
            "c_ptr": "*fp64" if exact else "*fp32", "UT_ptr": solved, "cu_seqlens_ptr": "*i64",
            "N": "i32", "T": "i32", "total": "i32", "H": "i32", "group": "i32",
        }  # fmt: skip
        scan = {
            "q_ptr": vectors, "k_ptr": vectors, "v_ptr": vectors, "c_ptr": transform["c_ptr"],
            "UT_ptr": solved, "S_first_ptr": "*fp32", "o_ptr": vectors, "S_last_ptr": "*fp32",
            "cu_seqlens_ptr": "*i64", "scale": "fp32", "T": "i32", "total": "i32",
            "beta_ptr": "*fp32",
        }  # fmt: skip
        case = f"K={K} V={V} {str(dtype).removeprefix('torch.')}"
        constants = {**sizes, "HAS_G": True, "PACKED": True, "SCALED": True}
        constants["PRECISION"] = "tf32x3" if exact else "tf32"
        options = {"num_warps": tiles["transform_warps"], "num_stages": 1}
        yield f"transform {case}", ut_transform_kernel, transform, constants, options
        if not exact and K <= 128:
            constants = {"K": K, "BK": tiles["BK"], "HAS_G": True, "PACKED": True, "SCALED": True}
            constants |= {"HOPPER": False, "strength_ptr": None}
            kernel, options = ut_transform_16bit_kernel, {"num_warps": 1}
            yield f"transform 16 bits {case}", kernel, transform, constants, options
        constants = {**sizes, **STATE, "H": 4, "HV": 8, "V": V, "BV": tiles["BV"]}
        constants |= {"PRECISION": dot_precision(dtype), "STAGES": tiles["stages"]}
        options = {"num_warps": tiles["scan_warps"]}
        for shares in (1, 4):
            constants = {**constants, "SHARES": shares}
            name = f"scan {case}" + ", shares" * (shares > 1)
            yield name, chunk_scan_kernel, scan, constants, options


def backward_configurations():
    """The same for the backward pass."""
    for K, V, dtype in CASES:
        exact = dtype == torch.float32
        tiles = gradient_tiles(K, dtype, 64)
        pointers = dict.fromkeys(
            ["q_ptr", "k_ptr", "v_ptr", "do_ptr", "dV_ptr", "states_ptr", "dstates_ptr", "dq_ptr",
             "dk_ptr"],
            f"*{NAME[dtype]}",
        )  # fmt: skip
        pointers |= dict.fromkeys(
            ["beta_ptr", "S_first_ptr", "dS_last_ptr", "dS_first_ptr", "dg_ptr", "dbeta_ptr"],
            "*fp32",
        )
        pointers |= {"c_ptr": "*fp64" if exact else "*fp32", "T_ptr": "*fp32" if exact else "*fp16"}
        signature = {**pointers, "cu_seqlens_ptr": "*i64", "scale": "fp32"}
        signature |= dict.fromkeys(["N", "T", "total"], "i32")
        constants = {"H": 4, "HV": 8, "K": K, "V": V, "C": tiles["C"], "BK": tiles["BK"]}
        constants |= {"PACKED": True, "PRECISION": dot_precision(dtype)}
        case = f"K={K} V={V} {str(dtype).removeprefix('torch.')}"
        options = {"num_warps": tiles["scan_warps"]}
        walk = {**constants, "BV": tiles["BV"], "STAGES": tiles["stages"]}
        walk |= {"S_v": 1, "S_k": V}
        states = {**walk, "HAS_S": True}
        yield f"backward states {case}", chunk_states_kernel, signature, states, options
        walk["HAS_DS"] = True
        yield f"backward state gradients {case}", state_gradients_kernel, signature, walk, options
        constants |= {"BV": tiles["gradient_BV"], "HAS_G": True, "SHORT": False}
        options = {"num_warps": tiles["gradient_warps"]}
        yield f"backward gradients {case}", chunk_gradients_kernel, signature, constants, options


def recurrent_configurations():
    """The same for the token-by-token kernel, everything inside: many states, and a few."""
    sizes = ((64, 64), (128, 128), (256, 256), (100, 60))
    cases = [(K, V, pool, 10_000) for K, V in sizes for pool in ("fp32", "bf16")]
    for K, V, pool, states in [*cases, (128, 128, "fp32", 32), (128, 128, "bf16", 32)]:
        vectors = dict.fromkeys(["q_ptr", "k_ptr", "v_ptr", "o_ptr"], "*bf16")
        few = states == 32
        activated = "*bf16" if few else "*fp32"  # a layer's own numbers, as its projections are
        numbers = dict.fromkeys(["g_ptr", "beta_ptr"], activated)
        numbers |= dict.fromkeys(["A_log_ptr", "dt_bias_ptr"], "*fp32")
        kept = dict.fromkeys(["S_first_ptr", "S_last_ptr"], f"*{pool}")
        offsets = dict.fromkeys(["cu_seqlens_ptr", "slot_idx_ptr"], "*i64")
        strides = dict.fromkeys([f"{x}_stride" for x in ("q", "k", "v", "g", "beta")], "i32")
        signature = {
            **vectors,
            **numbers,
            **kept,
            **offsets,
            **strides,
            "scale": "fp32",
            "T": "i32",
        }
        BK, BV = recurrent_tile_rule(states, K, V)
        v_first = pool == "bf16"
        constants = {"H": 16, "HV": 32, "K": K, "V": V, "S_slot": 32 * K * V, "BK": BK, "BV": BV}
        constants |= {"S_v": K, "S_k": 1} if v_first else {"S_v": 1, "S_k": V}
        constants |= dict.fromkeys(["NORM", "SIGMOID", "NEGATIVE"], True) | {"IN_PLACE": not few}
        name = f"recurrent K={K} V={V} BV={BV} pool {pool}"
        yield name, recurrent_kernel, signature, constants, {"num_warps": 1}


def activation_configurations():
    """The same for norm, gate and write strength, and their gradients."""
    for K, group in ((64, 1), (100, 3), (128, 2), (256, 1)):
        vectors = [f"{d}{name}_ptr" for d in ("", "d") for name in ("q", "k", "unit_q", "unit_k")]
        numbers = ["g", "beta", "A_log", "dt_bias", "log_decay", "strength"]
        numbers = [f"{d}{name}_ptr" for d in ("", "d") for name in numbers]
        signature = dict.fromkeys(vectors, "*bf16") | dict.fromkeys(numbers, "*fp32")
        signature |= {"rows": "i32"}
        signature |= {f"{name}_stride": "i32" for name in ("q", "k", "g", "beta")}
        constants = {"H": 16, "HV": 16 * group, "K": K, "FACTOR": 2.0}
        constants |= activation_tile_rule(K, group)
        for kernel in (activate_kernel, activation_gradients_kernel):
            name = f"activations {kernel.__name__} K={K}"
            yield name, kernel, signature, constants, {"num_warps": 4}


def hopper_configurations():
    """The same for the kernels that only Hopper runs."""
    sizes = dict.fromkeys(["N", "T", "total", "length", "H", "HV"], "i32")
    for K in (64, 128, 256):
        for dtype in (gl.float16, gl.bfloat16):
            signature = dict.fromkeys("qkvo", descriptor([C.value, BK.value], dtype))
            signature |= {
                "UT": descriptor([C.value, C.value], gl.float16),
                "beta_ptr": "*fp32", "c_ptr": "*fp32", "o_ptr": f"*{dtype.name}",
                "S_first_ptr": "*fp32", "S_last_ptr": "*fp32", "cu_seqlens_ptr": "*i64",
                "maps_ptr": "*fp32", "starts_ptr": "*fp32", "scale": "fp32", **sizes,
            }  # fmt: skip
            case = f"K={K} V=128 {dtype.name}"
            if K <= 128:
                pointers = {"k_ptr": f"*{dtype.name}", "g_ptr": "*fp32", "UT_ptr": "*fp16"}
                pointers["strength_ptr"] = "*fp32"
                flags = {"K": K, "BK": K, "HAS_G": True, "PACKED": True, "SCALED": False}
                yield (
                    f"hopper transform {case}",
                    ut_transform_16bit_kernel,
                    {**signature, **pointers, "group": "i32"},
                    {**flags, "HOPPER": True},
                    {"num_warps": 1},
                )
            constants = {"K": K, "V": 128, **STATE}
            variants = ((False, 1), (True, 1), (False, 4))
            for (segmented, shares), scaled in product(variants, (True, False)):
                if segmented and K > 128:
                    continue
                name = f"hopper scan {case}" + ", segments" * segmented
                name += ", shares" * (shares > 1) + ", training" * (not scaled)
                flags = {**constants, "SEGMENTED": segmented, "SCALED": scaled, "SHARES": shares}
                flags |= {"beta_ptr": None} if scaled else {}
                yield name, chunk_scan_hopper_kernel, signature, flags, {"num_warps": 4}
            if K <= 128:
                options, flags = {"num_warps": 4, "maxnreg": 128}, {**constants, "SCALED": False}
                yield f"hopper maps {case}", segment_maps_kernel, signature, flags, options
        if K <= 128:
            del constants["SCALED"]
            constants = {**constants, "ROWS": JOINED_ROWS}
            yield f"joining K={K}", join_segments_kernel, signature, constants, {"num_warps": 8}


def hopper_backward_configurations():
    """The same for the backward pass on Hopper."""
    c, bv = C.value, BV.value
    for K in (64, 128, 256):
        for dtype in (gl.float16, gl.bfloat16):
            tokens = {"q": K, "k": K, "v": bv, "do": bv, "dV": bv, "dstates": K}
            signature = {name: descriptor([c, size], dtype) for name, size in tokens.items()}
            parts = dict.fromkeys(("q", "k", "S", "dS", "dq", "dk"), min(K, WIDTH))
            parts = {name: descriptor([c, size], dtype) for name, size in parts.items()}
            if K > WIDTH:
                parts["v"] = descriptor([c, bv], gl.float16)
            signature["T_inv"] = descriptor([c, c], gl.float16)
            signature |= {"dV_ptr": f"*{dtype.name}"}
            signature |= dict.fromkeys(
                ["beta_ptr", "c_ptr", "dS_last_ptr", "dS_first_ptr", "dg_ptr", "dbeta_ptr"], "*fp32"
            )
            signature |= {"cu_seqlens_ptr": "*i64", "scale": "fp32"}
            signature |= dict.fromkeys(["N", "slots", "T", "total", "H", "HV"], "i32")
            case, options = f"K={K} V=128 {dtype.name}", {"num_warps": 4}
            sizes = {"K": K, "V": 128, "PACKED": True}
            states = signature | dict.fromkeys(["k", "states"], descriptor([c, BK.value], dtype))
            states |= {"S_first_ptr": "*fp32"}
            flags = {**sizes, "S_v": K, "S_k": 1, "HAS_S": True}
            if K > 128:
                states |= {"R": descriptor([c, bv], gl.float16)}
            else:
                flags |= {"R": None}
            name, limit = f"hopper-backward states {case}", {"maxnreg": state_registers(K)}
            yield name, chunk_states_hopper_kernel, states, flags, {**options, **limit}
            for kernel, what, tiles, flag in (
                (
                    state_gradients_hopper_kernel,
                    "state gradients",
                    signature,
                    {"S_v": K, "S_k": 1, "HAS_DS": True},
                ),
                (
                    chunk_gradients_hopper_kernel,
                    "gradients",
                    signature | parts,
                    {"HAS_G": True, "H": 16, "HV": 32},
                ),
            ):
                yield (
                    f"hopper-backward {what} {case}",
                    kernel,
                    {x: tiles[x] for x in tiles if x not in flag},
                    {**sizes, **flag},
                    options,
                )


def whole_chunk_configurations():
    """What the backward pass on Hopper runs of the portable kernels, in chunks of 64."""
    for name, kernel, signature, constants, options in backward_configurations():
        tiles = {**constants, "C": C.value}
        if "bfloat16" in name and constants["K"] <= 128 and kernel is not state_gradients_kernel:
            tiles |= {"SHORT": True} if kernel is chunk_gradients_kernel else {}
            yield f"{name}, as on Hopper", kernel, signature, tiles, options


def descriptor(shape, dtype):
    layout = gl.NVMMASharedLayout.get_default_for(shape, dtype)
    return f"tensordesc<{dtype.name}{shape},{layout!r}>"


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def compile_for(capability, kernel, signature, constants, options):
    """Registers, spilled bytes and shared memory of one kernel on one architecture.

    Of those for Hopper as well how many products their machine code starts and waits for.
    """
    source = GluonASTSource if kernel.is_gluon() else ASTSource
    signature = {name: signature[name] for name in kernel.arg_names if name in signature}
    compiled = triton.compile(
        source(
            kernel,
            {**signature, **dict.fromkeys(constants, "constexpr")},
            {(kernel.arg_names.index(name),): value for name, value in constants.items()},
            # what the launcher finds out at run time: PyTorch's memory is 16-byte aligned
            {
                (kernel.arg_names.index(name),): [["tt.divisibility", 16]]
                for name, kind in signature.items()
                if kind.startswith("*")
            },
        ),
        target=GPUTarget("cuda", capability, 32),
        options=options,
    )
    tools, code = Path(triton.__file__).parent / "backends/nvidia/bin", ""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as cubin:
        cubin.write(compiled.asm["cubin"])
        cubin.flush()
        usage = printed(tools / "cuobjdump", "-res-usage", cubin.name)
        if capability == 90 and kernel.is_gluon():
            code = printed(tools / "nvdisasm", "-c", cubin.name)
    return {
        "products": code.count("HGMMA"),
        "waits": code.count("WARPGROUP.DEPBAR"),
        "registers": int(re.search(r"REG:(\d+)", usage)[1]),
        "spilled_bytes": int(re.search(r"STACK:(\d+)", usage)[1]),
        "shared_bytes": compiled.metadata.shared,
        "tensor_memory_columns": getattr(compiled.metadata, "tmem_size", None) or 0,
    }


if __name__ == "__main__":
    report = {}
    for capability in map(int, sys.argv[1:]):
        cases = [*configurations(), *backward_configurations(), *recurrent_configurations()]
        cases += activation_configurations()
        if capability == 90:
            cases += [
                *hopper_configurations(),
                *hopper_backward_configurations(),
                *whole_chunk_configurations(),
            ]
        for name, *rest in cases:
            report[f"sm_{capability} {name}"] = compile_for(capability, *rest)
    json.dump(report, sys.stdout, indent=1)
