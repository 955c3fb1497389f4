"""The forward pass beside its peers: time, first call, error, bytes, on one GPU in one run.

    python kernels/bench/compare.py --json _build/bench/forward.json

Needs a CUDA GPU. Runs `gdn_ref`, its reference, and those of flash-linear-attention, flash-qla and
FlashInfer that are installed, on the same bfloat16 inputs with initial and final state. For each:

device   CUDA-graph replays after a rest, the lesser of two medians: what the GPU needs
held     the same after a second of the same call, when a GPU is at its limit of power
memory   what a call allocates at most, its results included
eager    calls from Python, one after the other: what a user waits for
first    the first call of a new configuration, compiled into an empty cache
error    outputs and state against the float64 chunk form of the reference, relative Frobenius

The floor is the time in which the inputs could be read once and the outputs written once at the
bandwidth of a large copy, measured in the same run.
"""

import argparse
import datetime
import importlib.metadata
import json
import math
import os
import platform
import tempfile
import time
import warnings
from pathlib import Path
from statistics import median

os.environ.setdefault("TRITON_CACHE_DIR", tempfile.mkdtemp())  # first calls compile
os.environ.setdefault("FLA_FLASH_QLA", "0")  # flash-linear-attention by itself

import torch
from shapes import MODELS, PACKED, PADDED, TRAINING, inputs
from tqdm import tqdm

import gdn_ref

REST_S, WARM_S, HELD_S = 0.1, 0.025, 1.0
LISTS = {"padded": PADDED, "packed": PACKED, "models": MODELS, "training": TRAINING}


def ours(backend):
    def call(q, k, v, g, beta, S, cu_seqlens):
        return gdn_ref.chunk_gated_delta_rule(
            q, k, v, g, beta, initial_state=S, output_final_state=True, cu_seqlens=cu_seqlens,
            backend=backend,
        )  # fmt: skip

    return call


def fla():
    from fla.ops.gated_delta_rule import chunk_gated_delta_rule

    def call(q, k, v, g, beta, S, cu_seqlens):
        return chunk_gated_delta_rule(
            q, k, v, g, beta, initial_state=S, output_final_state=True, cu_seqlens=cu_seqlens
        )

    return call


def flash_qla():
    from flash_qla import chunk_gated_delta_rule

    def call(q, k, v, g, beta, S, cu_seqlens):
        if k.shape[3] != 128 or v.shape[3] != 128:
            raise ValueError("heads of 128 dimensions only")
        return chunk_gated_delta_rule(
            q, k, v, g, beta, initial_state=S, output_final_state=True, cu_seqlens=cu_seqlens
        )

    return call


def flashinfer():
    """Its decays are factors and its states `[V, K]`: both are made before it is timed."""
    from flashinfer.gdn_prefill import chunk_gated_delta_rule

    made = {}

    def call(q, k, v, g, beta, S, cu_seqlens):
        B, T, HV, V = v.shape
        if k.shape[3] != 128 or V != 128:
            raise ValueError("heads of 128 dimensions only")
        if made.get("g") is not g:
            ends = torch.arange(0, B * T + 1, T, device=v.device)
            made.update(g=g, alpha=g.exp().flatten(0, 1), S=S.mT.contiguous())
            made["ends"] = ends if cu_seqlens is None else cu_seqlens
        o, S = chunk_gated_delta_rule(
            *(x.flatten(0, 1) for x in (q, k, v)), made["alpha"], beta.flatten(0, 1),
            initial_state=made["S"], output_final_state=True, cu_seqlens=made["ends"],
        )  # fmt: skip
        return o.view(v.shape), S.mT

    return call


CONTENDERS = {
    "gdn_ref": lambda: ours("triton"),
    "reference": lambda: ours("reference"),
    "fla": fla,
    "flash-qla": flash_qla,
    "flashinfer": flashinfer,
}
PACKAGES = {"fla": "fla-core", "flash-qla": "flash-qla", "flashinfer": "flashinfer-python"}


def device_us(call, replays=7, warm_s=WARM_S, rounds=2):
    """Time of one call on the GPU: the lesser of two medians of replays of a graph of several.

    The GPU rests before each, so that nobody pays for the work before: a GPU that has come to its
    limit of power lowers its clock (an H100 from 1980 to 1700 MHz). Then the graph runs for
    `warm_s`, by default as in `triton.testing.do_bench`.
    """
    calls = 3
    graph, stream = torch.cuda.CUDAGraph(), torch.cuda.Stream()
    with torch.cuda.stream(stream):
        call()
        with torch.cuda.graph(graph, stream=stream):
            for _ in range(calls):
                call()
    medians = []
    for _ in range(rounds):
        torch.cuda.synchronize()
        time.sleep(REST_S)
        begin = time.perf_counter()
        while time.perf_counter() - begin < warm_s:
            graph.replay()
            torch.cuda.synchronize()
        times = []
        for _ in range(replays):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(begin.elapsed_time(end) * 1e3 / calls)
        medians.append(median(times))
    return min(medians)


def eager_us(call, rows=12):
    """Time of one call from Python, of a row of calls of 0.05 s: the least of several rows.

    Whatever else the host does adds to it, and in a row or two on a shared host it does nothing.
    """
    begin = time.perf_counter()
    call()
    torch.cuda.synchronize()
    calls = max(1, min(500, int(0.05 / (time.perf_counter() - begin))))
    times = []
    for _ in range(rows):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e6 / calls)
    return min(times)


def copy_bandwidth():
    """Bytes a second of a large copy, read and write counted.

    PyTorch's addition of 1, a kernel that copies: on an H100 it is faster than CUDA's own copy,
    3.0 against 2.4 TB/s, and kernels are what is measured here.
    """
    x = torch.zeros(2**28, device="cuda")
    y = torch.empty_like(x)
    return 2 * x.nbytes / (device_us(lambda: torch.add(x, 1, out=y)) * 1e-6)


def relative(actual, expected):
    return ((actual.double() - expected).norm() / expected.norm()).item()


def run(call, arguments, expected):
    """All figures of one contender on one shape; a contender that refuses says why."""
    torch.cuda.synchronize()
    begin = time.perf_counter()
    try:
        o, S = call(*arguments)
        torch.cuda.synchronize()
    except Exception as error:
        return {"refuses": f"{type(error).__name__}: {error}".splitlines()[0][:120]}
    figures = {"first_s": time.perf_counter() - begin}
    figures["error_o"], figures["error_state"] = relative(o, expected[0]), relative(S, expected[1])
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    call(*arguments)
    figures["memory_bytes"] = torch.cuda.max_memory_allocated() - before
    figures["eager_us"] = eager_us(lambda: call(*arguments))
    if figures["eager_us"] > 20_000:  # a loop of small launches: a graph of them says no more
        return figures
    try:
        figures["device_us"] = device_us(lambda: call(*arguments))
        figures["held_us"] = device_us(lambda: call(*arguments), warm_s=HELD_S, rounds=1)
    except Exception as error:  # not every peer can be captured
        figures["no_graph"] = f"{type(error).__name__}: {error}".splitlines()[0][:120]
        torch.cuda.synchronize()
    return figures


def exact(arguments):
    """Outputs and state in float64, by the reference's chunk form."""
    *tensors, cu_seqlens = arguments
    return ours("reference")(*(x.double() for x in tensors), cu_seqlens)


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else None


def summary(rows):
    """How many times faster than each peer, over the shapes that both ran."""
    found = {}
    for peer in ("fla", "flash-qla", "flashinfer", "reference"):
        for what in ("device_us", "held_us", "eager_us"):
            ratios = [
                row["runs"][peer][what] / row["runs"]["gdn_ref"][what]
                for row in rows
                if what in row["runs"].get(peer, {}) and what in row["runs"]["gdn_ref"]
            ]
            if ratios:
                found[f"{peer} {what}"] = {
                    "shapes": len(ratios),
                    "geometric_mean": geometric_mean(ratios),
                    "least": min(ratios),
                }
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--lists", default="padded,packed,models,training")
    parser.add_argument("--only", default="", help="a part of the shapes' names, such as H16/32")
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    parser.add_argument("--seconds", type=float, default=math.inf, help="start no shape after this")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("needs a CUDA GPU, and PyTorch sees none")
    warnings.simplefilter("ignore")

    calls = {}
    for name in args.contenders.split(","):
        try:
            calls[name] = CONTENDERS[name]()
        except ImportError as error:
            print(f"{name}: not installed ({error})")
    cases = [(group, x) for group in args.lists.split(",") for x in LISTS[group]]
    cases = [(group, x) for group, x in cases if args.only in str(x)]
    bandwidth = copy_bandwidth()
    begin, rows = time.perf_counter(), []
    for group, shape in tqdm(cases):
        if time.perf_counter() - begin > args.seconds:
            break
        q, k, v, g, beta, S, cu_seqlens = inputs(shape, "hard")
        q, k, v = (x.bfloat16() for x in (q, k, v))
        arguments = (q, k, v, g, beta, S, cu_seqlens)
        expected = exact(arguments)
        moved = sum(x.nbytes for x in (q, k, v, v, g, beta, S, S))
        row = {"list": group, "shape": str(shape), "bytes": moved}
        row["floor_us"] = moved / bandwidth * 1e6
        row["runs"] = {name: run(call, arguments, expected) for name, call in calls.items()}
        rows.append(row)
        del arguments, expected
        torch.cuda.empty_cache()

    found = {"copy_bytes_per_s": bandwidth, "summary": summary(rows), "rows": rows}
    what = "forward of the gated delta rule, bfloat16, hard inputs, initial and final state"
    write_record(args.json, what, found, calls)
    show(rows, calls)
    for name, times in found["summary"].items():
        print(f"{name}: {times['geometric_mean']:.2f} times ours over {times['shapes']} shapes, "
              f"least {times['least']:.2f}")  # fmt: skip


def write_record(path, what, found, calls=()):
    """What was found, with the machine, the versions and the date; nowhere, if `path` is None."""
    record = {
        "what": what,
        "date": datetime.date.today().isoformat(),
        "gpu": torch.cuda.get_device_name(),
        "versions": versions(calls),
    }
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(record | found, indent=1) + "\n")


def versions(calls):
    found = {"python": platform.python_version(), "torch": torch.__version__}
    for name in ("triton", *(PACKAGES[x] for x in calls if x in PACKAGES)):
        found[name] = importlib.metadata.version(name)
    return found


def show(rows, calls):
    """One line a shape: device and eager microseconds, error of the outputs."""
    print(
        f"{'':44}{'floor':>8}" + "".join(f"{name + ': device eager error':>34}" for name in calls)
    )
    for row in rows:
        line = f"{row['list']:9}{row['shape']:35}{row['floor_us']:8.1f}"
        for found in row["runs"].values():
            if "refuses" in found:
                line += f"{'-':>34}"
            else:
                device = f"{found['device_us']:.1f}" if "device_us" in found else "-"
                line += f"{device:>14}{found['eager_us']:10.1f}{found['error_o']:10.1e}"
        print(line)


if __name__ == "__main__":
    main()
