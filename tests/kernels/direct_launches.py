"""Launch every kernel on a Hopper GPU that is not there, directly and in Triton's own way.

Triton compiles for it and goes its way as ever, but the C functions at the end of it are ours: they
write down what they are given. Both ways must give them the same, but for what watches a launch.

A process of its own: it must not see TRITON_INTERPRET. Prints JSON: of each kernel the launches
compared, and how many Python functions a warm call enters.
"""

import inspect
import json
import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace

import torch
import triton
from triton import JITFunction
from triton.backends.nvidia import driver as nvidia
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor
from triton.runtime.cache import triton_key

import gdn_ref
from gdn_ref import decoding, ops
from gdn_ref.kernels.backward import launches as backward
from gdn_ref.kernels.backward.hopper import launches as backward_on_hopper
from gdn_ref.kernels.common import triton_private
from gdn_ref.kernels.host import gpu, launch

BEFORE_3_7 = not hasattr(nvidia, "annotate_arguments")
# what tells those who watch a launch of it, in the order of the C function's arguments
WATCHING = {10, 11, 12} if BEFORE_3_7 else {8, 9, 10}

written = []  # what the C function is given
compared = Counter()


class Gpu(nvidia.CudaDriver):
    """What Triton asks a driver for."""

    def __init__(self):
        self.launcher_cls = nvidia.CudaLauncher
        self.utils = SimpleNamespace(
            load_binary=lambda name, *rest: (None, name, 0, 0, 1024),
            get_device_properties=lambda device: {"max_shared_mem": 232448},
            launch=lambda *arguments: written.append(arguments),
            build_signature_metadata=tuple,
            fill_tma_descriptor=lambda *arguments: ("tiles", *arguments),
            fill_tma_descriptor_tiled=lambda *arguments: ("tiles", *arguments),
        )
        self.get_current_stream = lambda device: 7
        self.get_current_device = lambda: 0
        self.get_device_capability = lambda device=0: (9, 0)

    def get_active_torch_device(self):
        return torch.device("cpu")


def plain(arguments):
    """The C function's arguments without those that watch; tensors as addresses."""
    if not BEFORE_3_7:
        *arguments, listed = arguments
        arguments = [*arguments, *listed]
    arguments = [x for i, x in enumerate(arguments) if i not in WATCHING]
    *arguments, given, _ = arguments  # what comes last is compiled in
    return [
        x.data_ptr() if isinstance(x, torch.Tensor) else 0 if x is None else x
        for x in (*arguments, "given", *given)
    ]


def compare(kernel, run):
    """A launch goes both ways."""
    written.clear()
    run()
    launch.watched, known = lambda: True, launch.watched
    run()
    launch.watched = known
    directly, ordinarily = written
    flat = directly if BEFORE_3_7 else [*directly, *directly[-1]]
    assert flat[-1] is None, f"{kernel.fn.__name__}: what is compiled in is handed over"
    flat = [*flat, *flat[-2]]
    name = kernel.fn.__name__
    objects = (torch.Tensor, TensorDescriptor)
    assert not any(isinstance(x, objects) for x in flat), f"{name}: not started directly"
    assert plain(directly) == plain(ordinarily), name
    compared[name] += 1


def compare_ways(run):
    """`Launch.__call__`, each of which goes both ways."""

    def both(known, *rest):
        run(known, *rest)  # compiles, if it is the first
        compare(known.kernel, lambda: run(known, *rest))

    return both


def pretend():
    """Have kernels prepared as on an H100 for tensors that are in the host's memory."""
    triton.runtime.driver.set_active(Gpu())
    nvidia.PyKernelArg = lambda nested_tuple, type: (nested_tuple, type)
    nvidia.compile_module_from_src, nvidia.library_dirs = lambda **options: Gpu().utils, list
    ops.validation.check_triton = decoding.validation.check_triton = lambda *arguments: None
    gpu.multiprocessors = lambda device: 132
    gpu.has_hopper_engines = gpu.has_warp_products = gpu.starts_early = lambda device: True
    backward_on_hopper.room_for_both = lambda *known: False  # there is no other stream
    backward.programs_at_once = lambda device, hopper: 132


def calls(dtype, B, T, H, state=True, lengths=None, D=64, **options):
    """One call of all that launches kernels."""
    vectors = [torch.randn(B, T, H, D, dtype=dtype) for _ in range(3)]
    g, beta = -torch.rand(B, T, H), torch.rand(B, T, H)
    N = B if lengths is None else len(lengths)
    leaves = [x.requires_grad_() for x in (*vectors, g, beta, torch.randn(N, H, D, D))]
    *tokens, S = leaves
    cu_seqlens = None if lengths is None else torch.tensor([0, *lengths]).cumsum(0)
    options |= {"cu_seqlens": cu_seqlens, "backend": "triton"}
    results = gdn_ref.chunk_gated_delta_rule(
        *tokens, initial_state=S if state else None, output_final_state=state, **options
    )
    given = [x for x in results if x is not None]
    torch.autograd.grad(
        given, leaves[: len(leaves) - (not state)], list(map(torch.ones_like, given))
    )
    with torch.no_grad():
        gdn_ref.decode(*tokens, S, torch.arange(N), **options)
        gdn_ref.fused_recurrent_gated_delta_rule(
            *tokens[:3], g=g, beta=beta, initial_state=S if state else None, **options
        )
        for name in ("gk", "gv"):
            gdn_ref.fused_recurrent_gated_delta_rule(
                *tokens[:3], beta=beta, **{name: -torch.rand(B, T, H, D)}, **options | {"g": g}
            )


def convolutions():
    """The same for the kernels of the convolution."""
    x, weight, bias, pool = (torch.randn(n) for n in ((2, 20, 8), (8, 4), (8,), (2, 8, 3)))
    leaves = [y.requires_grad_() for y in (x, weight, bias, pool)]
    y, _ = gdn_ref.causal_conv1d(*leaves[:3], initial_state=leaves[3], backend="triton")
    torch.autograd.grad(y, leaves, y.detach())
    with torch.no_grad():
        gdn_ref.causal_conv1d_update(x[:, :1], pool, weight, backend="triton")


def compile_ahead():
    """Side by side, without a launch; what comes after has nothing left to compile."""
    compiled, do_compile = [], JITFunction._do_compile
    JITFunction._do_compile = lambda f, *rest: compiled.append(f) or do_compile(f, *rest)
    with launch.side_by_side():
        calls(torch.bfloat16, 2, 70, 2)
        convolutions()
    ahead = len(compiled)
    assert ahead > 10 and not written
    # by the thread, and waited for
    assert triton_private.hashing.ident and triton_key.cache_info().misses == 1
    assert sys.getswitchinterval() == 0.005
    hashed_as_by_triton()
    calls(torch.bfloat16, 2, 70, 2)
    convolutions()
    assert len(compiled) == ahead and len(written) >= ahead
    JITFunction._do_compile = do_compile


def hashed_as_by_triton():
    """Its hash of its own files is the same whether the largest is read in one piece or in many."""
    opened, known = [], triton_private.in_one_piece
    triton_private.in_one_piece = lambda path, mode: opened.append(path) or known(path, mode)
    triton_key.cache_clear()
    triton_private.hash_files()
    triton_private.in_one_piece = known
    assert any(Path(path).stem == "libtriton" for path in opened)
    assert triton_key() == triton_key.__wrapped__()


def started_early():
    """Kernels that start while the one before them ends: each waits for it, and no other does."""
    early = set()
    for known in launch._launches.values():
        waits = "gdc_wait()" in inspect.getsource(known.kernel.fn)
        waits &= getattr(known.case, "EARLY", True)
        segmented = getattr(known.case, "SEGMENTED", False)  # started when all has ended
        started = known.options.get("launch_pdl", False)
        assert started == (waits and not segmented), known.kernel.fn.__name__
        early |= {known.kernel.fn.__name__} if waits else set()
    return sorted(early)


def frames_of_a_warm_call(T, **options):
    """Python functions that it enters, as `kernels/bench/host_path.py` counts them on a GPU."""
    sys.path.append(str(Path(__file__).parents[2] / "kernels" / "bench"))
    from host_path import frames

    q, k, v = torch.randn(3, 1, T, 2, 64, dtype=torch.bfloat16)
    g, beta, S = -torch.rand(1, T, 2), torch.rand(1, T, 2), torch.randn(1, 2, 64, 64)
    rule = gdn_ref.chunk_gated_delta_rule if options else gdn_ref.fused_recurrent_gated_delta_rule
    options |= {"initial_state": S, "output_final_state": True, "backend": "triton"}

    def call():
        return rule(q, k, v, g=g, beta=beta, **options)

    for _ in range(3):
        call()
    # memory at a new address asks for a new description of its tiles
    found = [frames(call) for _ in range(8)]
    return {"frames": min(row["frames"] for row in found), "files": found[-1]["files"]}


if __name__ == "__main__":
    pretend()
    compile_ahead()
    warm = {
        "forward": frames_of_a_warm_call(200, chunk_size=64),
        "decoding": frames_of_a_warm_call(1),
    }
    launch.Launch.__call__ = compare_ways(launch.Launch.__call__)
    raw = {"use_gate_in_kernel": True, "A_log": torch.zeros(2), "dt_bias": torch.zeros(2)}
    raw |= {"use_qk_l2norm_in_kernel": True, "use_beta_sigmoid_in_kernel": True}
    calls(torch.float32, 2, 70, 2)
    calls(torch.bfloat16, 2, 70, 2)
    calls(torch.bfloat16, 1, 70, 2, state=False, lengths=[3, 0, 67], **raw)
    calls(torch.bfloat16, 1, 4096, 1)  # in segments
    calls(torch.bfloat16, 1, 128, 1, D=256)
    calls(torch.bfloat16, 1, 130, 1, lengths=[3, 0, 127], D=256)  # laid out in whole chunks
    convolutions()
    print(json.dumps({"launches": compared, "warm": warm, "early": started_early()}))
