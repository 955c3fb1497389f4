"""Compile every kernel ahead of time, with no GPU, and report registers and spills as JSON.

A process of its own: it must not see TRITON_INTERPRET. Run as `python tests/kernels/aot.py 90
forward`, with a compute capability and one of `FAMILIES`. A kernel is compiled if it is another one
than that of the record (`key_of`); `python tests/kernels/aot.py --record` brings that up to date.
"""

import datetime
import hashlib
import json
import multiprocessing
import platform
import re
import subprocess
import sys
import tempfile
from collections import namedtuple
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path

import torch
import triton
from triton._C.libtriton import ir, passes
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource
from triton.compiler.compiler import make_backend
from triton.experimental.gluon import language as gl
from triton.experimental.gluon._runtime import GluonASTSource
from triton.language import constexpr

from gdn_ref.kernels.activations import activate_kernel, activation_gradients_kernel, row_tiles
from gdn_ref.kernels.backward.chunk_gradients import chunk_gradients_kernel
from gdn_ref.kernels.backward.hopper.chunk_gradients.kernel import chunk_gradients_hopper_kernel
from gdn_ref.kernels.backward.hopper.launches import state_registers
from gdn_ref.kernels.backward.hopper.state_gradients import state_gradients_hopper_kernel
from gdn_ref.kernels.backward.hopper.states import chunk_states_hopper_kernel
from gdn_ref.kernels.backward.state_gradients import state_gradients_kernel
from gdn_ref.kernels.backward.states import chunk_states_kernel
from gdn_ref.kernels.common.numbers import C
from gdn_ref.kernels.conv.backward import (
    OUTPUT_GRADIENT_WARPS,
    input_gradient_kernel,
    output_gradient_kernel,
)
from gdn_ref.kernels.conv.forward import (
    CHANNELS,
    STEP_CHANNELS,
    TOKENS,
    WARPS,
    causal_conv_kernel,
    causal_conv_step_kernel,
)
from gdn_ref.kernels.decode.kernel import recurrent_kernel
from gdn_ref.kernels.decode.launches import warp_tiles
from gdn_ref.kernels.first import Sizes, first_kernel
from gdn_ref.kernels.forward.hopper.chain import BK, BV
from gdn_ref.kernels.forward.hopper.fused.kernel import chunk_fused_kernel
from gdn_ref.kernels.forward.hopper.launches import JOINED_ROWS, WIDTH
from gdn_ref.kernels.forward.hopper.scan import chunk_scan_hopper_kernel
from gdn_ref.kernels.forward.hopper.segments import join_segments_kernel, segment_maps_kernel
from gdn_ref.kernels.forward.scan import chunk_scan_kernel
from gdn_ref.kernels.forward.transform import ut_transform_kernel
from gdn_ref.kernels.forward.transform_mma import ut_transform_16bit_kernel
from gdn_ref.kernels.forward.weigh import HEADS, weigh_kernel
from gdn_ref.kernels.host.tiles import dot_precision, gradient_tiles, tile_rule
from gdn_ref.kernels.shards.blocks import take_case, take_kernel
from gdn_ref.kernels.shards.bounds import felt_case, felt_kernel, growth_case, growth_kernel
from gdn_ref.kernels.shards.maps import compose_case, compose_kernel
from gdn_ref.kernels.shards.outputs import (
    add_up_case,
    add_up_kernel,
    correct_case,
    correct_kernel,
    product_case,
    product_kernel,
)

RECORD = Path(__file__).parents[2] / "book" / "_data" / "bench" / "compiled.json"
NAME = {torch.float32: "fp32", torch.float16: "fp16", torch.bfloat16: "bf16"}
CASES = [  # K, V, dtype: every tile that the rule gives, and a head dimension that fills none
    *((D, D, dtype) for D in (64, 128, 256) for dtype in (torch.bfloat16, torch.float32)),
    (100, 60, torch.float16),
]
STATE = {"S_v": 1, "S_k": 64, "HAS_S": True, "PACKED": True, "SCALED": True}


def forward_configurations(capability):
    """`(name, kernel, signature, constants, options)` of every shipped tile, for any GPU."""
    for K, V, dtype in CASES:
        exact = dtype == torch.float32
        vectors, solved = f"*{NAME[dtype]}", "*fp32" if exact else "*fp16"
        tiles = tile_rule(K, dtype, 64, tensor_memory=capability == 100)
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


def backward_configurations(capability):
    """The same for the backward pass."""
    for K, V, dtype in CASES:
        exact = dtype == torch.float32
        tiles = gradient_tiles(K, dtype, 64, tensor_memory=capability == 100)
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


def first_configurations(capability):
    """The same for the kernel that one reads first."""
    for K, V, dtype in CASES:
        vectors = dict.fromkeys(("q_ptr", "k_ptr", "v_ptr", "o_ptr"), f"*{NAME[dtype]}")
        numbers = dict.fromkeys(("g_ptr", "beta_ptr", "S_ptr", "S_last_ptr"), "*fp32")
        signature = {**vectors, **numbers, "scale": "fp32", "T": "i32"}
        BK = 1 << (K - 1).bit_length()
        sizes = Sizes(4, 8, K, V, LOG_C=5, BK=BK, BV=32)
        name = f"first K={K} V={V} {str(dtype).removeprefix('torch.')}"
        yield name, first_kernel, signature, {"n": sizes}, {}


def recurrent_configurations(capability):
    """The same for the token-by-token kernel, everything inside: many states, and a few."""
    sizes = ((64, 64), (128, 128), (256, 256), (100, 60))
    pools = ("fp32", "bf16")
    cases = [(K, V, pool, 10_000, False) for K, V in sizes for pool in pools]
    cases += [(128, 128, pool, 32, False) for pool in pools]
    cases += [(K, V, pool, 10_000, True) for K, V in sizes[1:] for pool in pools]
    for K, V, pool, states, once in cases:
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
        BK, BV, warps = warp_tiles(states, K, V, once)
        v_first = pool == "bf16" and not once
        constants = {"H": 16, "HV": 32, "K": K, "V": V, "S_slot": 32 * K * V, "BK": BK, "BV": BV}
        constants |= {"S_v": K, "S_k": 1} if v_first else {"S_v": 1, "S_k": V}
        constants |= dict.fromkeys(["NORM", "SIGMOID", "NEGATIVE"], True) | {"IN_PLACE": not few}
        constants |= dict.fromkeys(["gk_ptr", "gv_ptr", "gk_stride", "gv_stride"])
        constants["EARLY"] = few and capability >= 90
        name = f"recurrent K={K} V={V} BV={BV} pool {pool}" + ", one token" * once
        yield name, recurrent_kernel, signature, constants, {"num_warps": warps}


def activation_configurations(capability):
    """The same for norm, gate and write strength, and their gradients."""
    for K, group in ((64, 1), (100, 3), (128, 2), (256, 1)):
        vectors = [f"{d}{name}_ptr" for d in ("", "d") for name in ("q", "k", "unit_q", "unit_k")]
        numbers = ["g", "beta", "A_log", "dt_bias", "log_decay", "strength"]
        numbers = [f"{d}{name}_ptr" for d in ("", "d") for name in numbers]
        signature = dict.fromkeys(vectors, "*bf16") | dict.fromkeys(numbers, "*fp32")
        signature |= {"rows": "i32"}
        signature |= {f"{name}_stride": "i32" for name in ("q", "k", "g", "beta")}
        constants = {"H": 16, "HV": 16 * group, "K": K, "FACTOR": 2.0}
        constants |= row_tiles(K, group)
        for kernel in (activate_kernel, activation_gradients_kernel):
            name = f"activations {kernel.__name__} K={K}"
            yield name, kernel, signature, constants, {"num_warps": 4}


def shard_configurations(capability):
    """The same for what a shard feels of the state before it, in 32 spans of 32 value heads."""
    known, options = (32, 32, 32), {"num_warps": 4}
    places = {"felt_ptr": "*i32", "pieces_ptr": "*i64", "L": "i32"}
    numbers = dict.fromkeys(("g_ptr", "step_ptr", "M_ptr", "sum_ptr", "F_ptr"), "*fp32")
    numbers |= {"growth_ptr": "*fp64", "blocks": "i32"}

    def row(kernel, kinds, case, name="", options=options):
        fields = kernel.fn.__annotations__["given"]._fields
        kinds = {**places, **numbers, **kinds}
        label = f"{kernel.__name__.removesuffix('_kernel')} of a shard{name}"
        return label, kernel, {x: kinds[x] for x in fields}, case._asdict(), options

    yield row(growth_kernel, {}, growth_case(32, 256), options={"num_warps": 8})
    yield row(felt_kernel, {}, felt_case(32, 256, 2.0**-25, 2.0**-9))
    for K, V, dtype in CASES:
        name, vectors = f" K={K} V={V} {str(dtype).removeprefix('torch.')}", f"*{NAME[dtype]}"
        kinds = dict.fromkeys(("q_ptr", "k_ptr", "block_q_ptr", "block_k_ptr"), vectors)
        kinds |= dict.fromkeys(("O_F_ptr", "o_ptr", "do_ptr", "before_ptr"), vectors)
        for x in ("beta_ptr", "block_g_ptr", "block_beta_ptr", "S_ptr", "so_far_ptr", "whole_ptr"):
            kinds[x] = "*fp32"
        yield row(take_kernel, kinds, take_case(known, 16, K, True), name)
        yield row(compose_kernel, kinds, compose_case(known, K), name)
        yield row(correct_kernel, kinds, correct_case(known, K, V, dtype), name)
        yield row(product_kernel, kinds, product_case(known, K, V, dtype), name)
        yield row(add_up_kernel, kinds, add_up_case(known, K, V), name)


def hopper_configurations(capability):
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
            variants = ((False, False, 1), (False, True, 1), (False, False, 4), (True, False, 1))
            for (by_length, segmented, shares), scaled in product(variants, (True, False)):
                if segmented and K > 128 or by_length and not scaled:
                    continue
                name = f"hopper scan {case}" + ", by length" * by_length + ", segments" * segmented
                name += ", shares" * (shares > 1) + ", training" * (not scaled)
                flags = {**constants, "BY_LENGTH": by_length, "SEGMENTED": segmented}
                flags |= {"SCALED": scaled, "SHARES": shares}
                flags |= {"beta_ptr": None} if scaled else {}
                yield name, chunk_scan_hopper_kernel, signature, flags, {"num_warps": 4}
            if K <= 128:
                options, flags = {"num_warps": 4, "maxnreg": 128}, {**constants, "SCALED": False}
                yield f"hopper maps {case}", segment_maps_kernel, signature, flags, options
        if K <= 128:
            del constants["SCALED"]
            constants = {**constants, "ROWS": JOINED_ROWS}
            yield f"joining K={K}", join_segments_kernel, signature, constants, {"num_warps": 8}
            for dtype in (gl.float16, gl.bfloat16):
                tiles = dict.fromkeys("qkvo", descriptor([C.value, BK.value], dtype))
                fused = {**signature, **tiles, "o_ptr": f"*{dtype.name}", "strength_ptr": "*fp32"}
                flags = {"K": K, "V": 128, "S_v": 1, "S_k": 128, "HAS_S": True, "SPAN": 1}
                name, options = f"hopper fused K={K} V=128 {dtype.name}", {"num_warps": 4}
                less = {"T_inv": None, "T_ptr": None, "states": None}
                yield name, chunk_fused_kernel, fused, flags | less, options
                fused |= {"T_inv": descriptor([C.value, C.value], gl.float16), "T_ptr": "*fp16"}
                less = {"states": None}
                yield f"{name}, training", chunk_fused_kernel, fused, flags | less, options
                fused |= {"states": descriptor([C.value, BK.value], dtype)}
                flags |= {"SPAN": 8}
                yield f"{name}, training, spans", chunk_fused_kernel, fused, flags, options
    weighed = dict.fromkeys(["g_ptr", "beta_ptr", "c_ptr", "strength_ptr"], "*fp32")
    weighed |= dict.fromkeys(["T", "total", "HV"], "i32")
    flags = {"C": C.value, "HEADS": HEADS, "HAS_G": True}
    yield "hopper weigh", weigh_kernel, weighed, flags, {}


def hopper_backward_configurations(capability):
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
            signature |= {"T_ptr": "*fp16"}
            signature |= {"cu_seqlens_ptr": "*i64", "scale": "fp32"}
            signature |= dict.fromkeys(["N", "spans", "T", "total", "H", "HV"], "i32")
            case, options = f"K={K} V=128 {dtype.name}", {"num_warps": 4}
            sizes = {"K": K, "V": 128, "PACKED": True, "BY_LENGTH": False, "SPAN": 1}
            by_length = {"BY_LENGTH": True}
            states = signature | dict.fromkeys(["k", "states"], descriptor([c, BK.value], dtype))
            states |= {"S_first_ptr": "*fp32"}
            flags = {**sizes, "S_v": K, "S_k": 1, "HAS_S": True}
            if K > 128:
                states |= {"R": descriptor([c, bv], gl.float16)}
            else:
                flags |= {"R": None}
            name, limit = f"hopper-backward states {case}", {"maxnreg": state_registers(K)}
            for more, order in (("", {}), (", by length", by_length)):
                given = states, {**flags, **order}, {**options, **limit}
                yield name + more, chunk_states_hopper_kernel, *given
            if K <= WIDTH:
                spans = {**flags, "PACKED": False, "SPAN": 8}
                name += ", in spans"
                yield name, chunk_states_hopper_kernel, states, spans, {**options, **limit}
            for kernel, what, tiles, flag in (
                *(
                    (
                        state_gradients_hopper_kernel,
                        f"state gradients{more}",
                        signature,
                        {"S_v": K, "S_k": 1, "HAS_DS": True, **order},
                    )
                    for more, order in (("", {}), (" by length,", by_length))
                ),
                (
                    chunk_gradients_hopper_kernel,
                    "gradients",
                    signature | parts,
                    {"HAS_G": True, "H": 16, "HV": 32, "STATES": 2, "GRADIENTS": 2},
                ),
                *(
                    (
                        chunk_gradients_hopper_kernel,
                        f"gradients in spans, {states} states,",
                        signature | parts,
                        {"HAS_G": True, "H": 16, "HV": HV, "PACKED": False, "SPAN": 8}
                        | {"STATES": states, "GRADIENTS": gradients},
                    )
                    for HV, states, gradients in ((16, 2, 2), (32, 4, 1))
                ),
            )[: 5 if K <= WIDTH else 3]:
                yield (
                    f"hopper-backward {what} {case}",
                    kernel,
                    {x: tiles[x] for x in tiles if x not in flag},
                    {**sizes, **flag},
                    options,
                )


def whole_chunk_configurations(capability):
    """What the backward pass on Hopper runs of the portable kernels, in chunks of 64."""
    for name, kernel, signature, constants, options in backward_configurations(capability):
        tiles = {**constants, "C": C.value}
        if "bfloat16" in name and constants["K"] <= 128 and kernel is not state_gradients_kernel:
            tiles |= {"SHORT": True} if kernel is chunk_gradients_kernel else {}
            yield f"{name}, as on Hopper", kernel, signature, tiles, options


def convolution_configurations(capability):
    """The same for the convolution, of three widths, with all options and without."""
    for dtype, W in product(NAME, (2, 3, 4)):
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
        step |= {"HAS_SLOTS": True, "EARLY": capability >= 90}
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
            name = f"convolution {kernel.__name__} {what} W={W} {str(dtype)[6:]}"
            wide = kernel is output_gradient_kernel
            pointers = kernel.fn.__annotations__["given"]._fields
            flags = {n: x for n, x in flags.items() if n in pointers or not n.endswith("_ptr")}
            options = {"num_warps": OUTPUT_GRADIENT_WARPS if wide else WARPS}
            yield name, kernel, tensors, flags, options


def descriptor(shape, dtype):
    layout = gl.NVMMASharedLayout.get_default_for(shape, dtype)
    return f"tensordesc<{dtype.name}{shape},{layout!r}>"


def printed(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def source_of(kernel, signature, constants):
    """What Triton compiles, as its launcher would ask for it: PyTorch's memory is aligned."""
    source = GluonASTSource if kernel.is_gluon() else ASTSource
    names, given = kernel.arg_names, kernel.fn.__annotations__.get("given", namedtuple("No", ""))
    place = {name: (i,) for i, name in enumerate(names)}
    place |= {name: (names.index("given"), i) for i, name in enumerate(given._fields)}
    kinds = {**signature, **dict.fromkeys(constants, "constexpr"), "case": "constexpr"}
    pointers = [name for name in place if kinds.get(name, "").startswith("*")]
    case = {name: constants[name] for name in constants if name not in place}
    constants = {**constants, "case": namedtuple("Case", case)(*map(constexpr, case.values()))}
    kinds["given"] = given(*[kinds[name] for name in given._fields])
    return source(
        kernel,
        {name: kinds[name] for name in names},
        {place[name]: constants[name] for name in constants if name in place},
        {place[name]: [["tt.divisibility", 16]] for name in pointers},
    )


def plain_code(capability, kernel, signature, constants, options):
    """A kernel in Triton's first language, inlined, without names.

    It stays when a file moves, a comment changes or arguments are grouped, and takes a tenth of a
    second where compiling takes many.
    """
    source = source_of(kernel, signature, constants)
    backend = make_backend(GPUTarget("cuda", capability, 32))
    parsed = backend.parse_options({**options, **source.parse_options()})
    context = ir.context()
    ir.load_dialects(context)
    backend.load_dialects(context)
    functions, modules = backend.get_codegen_implementation(parsed), backend.get_module_map()
    module = source.make_ir(backend.target, parsed, functions, modules, context)
    manager = ir.pass_manager(context)
    for add in (passes.common.add_inliner, passes.common.add_canonicalizer, passes.common.add_cse):
        add(manager)
    passes.common.add_symbol_dce(manager)
    manager.run(module, "key")
    return re.sub(r'@("[^"]*"|[\w.$]+)', "@function", module.str_nodebug())


def key_of(capability, kernel, signature, constants, options):
    """A hash of what is compiled."""
    plain = plain_code(capability, kernel, signature, constants, options)
    return hashlib.sha256(f"{triton.__version__} {options} {plain}".encode()).hexdigest()[:16]


def compile_for(capability, kernel, signature, constants, options):
    """Registers, spilled bytes and shared memory of one kernel on one architecture.

    Of those for Hopper as well how many products their machine code starts and waits for.
    """
    source, target = source_of(kernel, signature, constants), GPUTarget("cuda", capability, 32)
    compiled = triton.compile(source, target=target, options=options)
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


CAPABILITIES = (80, 86, 90, 100, 120)
FAMILIES = {  # of kernels, each some seconds to compile
    "forward": (forward_configurations,),
    "backward": (backward_configurations,),
    "others": (
        first_configurations,
        recurrent_configurations,
        activation_configurations,
        shard_configurations,
    ),
    "convolution": (convolution_configurations,),
    "hopper": (hopper_configurations,),
    "hopper-backward": (hopper_backward_configurations, whole_chunk_configurations),
}
RUNS = [(capability, family) for capability in CAPABILITIES for family in FAMILIES
        if capability == 90 or "hopper" not in family]  # fmt: skip


def report(capability, family, known):
    """Name -> what each kernel of a family uses; what is `known` of one that has not changed."""
    found = {}
    for configurations in FAMILIES[family]:
        for name, *case in configurations(capability):
            key, name = key_of(capability, *case), f"sm_{capability} {name}"
            found[name] = known.get(name, {})
            if found[name].get("key") != key:
                found[name] = {"key": key, **compile_for(capability, *case)}
    return found


if __name__ == "__main__":
    known = json.loads(RECORD.read_text())["kernels"] if RECORD.exists() else {}
    if sys.argv[1:] == ["--record"]:
        with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as processes:
            runs = [processes.submit(report, *run, known) for run in RUNS]
            kernels = {name: used for run in runs for name, used in run.result().items()}
        made = {"triton": triton.__version__, "python": platform.python_version()}
        made |= {"date": str(datetime.date.today()), "kernels": kernels}
        RECORD.write_text(json.dumps(made, indent=1) + "\n")
    else:
        json.dump(report(int(sys.argv[1]), sys.argv[2], known), sys.stdout, indent=1)
