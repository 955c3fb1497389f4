"""Forward and backward pass beside its peers: time, memory, errors, on one GPU in one run.

    python kernels/bench/compare_backward.py --json book/_data/bench/training_h100.json

Needs a CUDA GPU. The training shapes, bfloat16, hard inputs, initial state, gradients of the
outputs and of the last state. `device` and `eager` as in `compare.py`; `memory` is what both passes
allocate at their peak beyond inputs and given gradients, results included. Errors of every
gradient, relative Frobenius against float64, are those of two sequences of at most 1024 tokens.
"""

import argparse
import math
import time
import warnings
from dataclasses import replace
from pathlib import Path

import torch
from compare import (
    CONTENDERS,
    copy_bandwidth,
    device_us,
    eager_us,
    geometric_mean,
    ours,
    write_record,
)
from shapes import TRAINING, inputs
from tqdm import tqdm

NAMES = ("q", "k", "v", "g", "beta", "initial_state")


def both_passes(call, arguments, do, dS):
    """A function that runs forwards and backwards, and returns the six gradients."""
    *leaves, cu_seqlens = arguments
    leaves = [x.detach().requires_grad_() for x in leaves]

    def run():
        o, S = call(*leaves, cu_seqlens)
        return torch.autograd.grad([o, S], leaves, [do.to(o.dtype), dS.to(S.dtype)])

    return run


def training_inputs(shape):
    q, k, v, g, beta, S, cu_seqlens = inputs(shape, "hard")
    q, k, v = (x.bfloat16() for x in (q, k, v))
    random = torch.Generator("cuda").manual_seed(1)
    do, dS = (torch.randn(x.shape, generator=random, device="cuda") for x in (v, S))
    return (q, k, v, g, beta, S, cu_seqlens), do.bfloat16(), dS


def errors(calls, shape):
    """Each contender's error of each gradient."""
    arguments, do, dS = training_inputs(replace(shape, B=min(shape.B, 2), T=min(shape.T, 1024)))
    exact = [None if x is None else x.double() for x in arguments]
    expected = both_passes(ours("reference"), exact, do.double(), dS.double())()
    found = {}
    for name, call in calls.items():
        try:
            gradients = both_passes(call, arguments, do, dS)()
        except Exception as error:  # a contender that refuses says why
            found[name] = f"{type(error).__name__}: {error}".splitlines()[0][:120]
            continue
        found[name] = {
            f"d{x}": ((a.double() - b).norm() / b.norm()).item()
            for x, a, b in zip(NAMES, gradients, expected, strict=True)
        }
    return found


def figures(call, shape):
    """Time and memory of one contender."""
    arguments, do, dS = training_inputs(shape)
    run = both_passes(call, arguments, do, dS)
    begin = time.perf_counter()
    run()
    torch.cuda.synchronize()
    found = {"first_s": time.perf_counter() - begin}
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    first = run()
    found["memory_bytes"] = torch.cuda.max_memory_allocated() - before
    found["repeats"] = all(map(torch.equal, first, run()))
    del first
    found["eager_us"] = eager_us(run)
    torch.cuda.synchronize()
    try:
        found["device_us"] = device_us(run)
    except Exception as error:  # not every peer can be captured
        found["no_graph"] = f"{type(error).__name__}: {error}".splitlines()[0][:120]
        torch.cuda.synchronize()
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--contenders", default="gdn_ref,fla,flash-qla")
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

    begin, rows = time.perf_counter(), []
    bandwidth = copy_bandwidth()
    for shape in tqdm(TRAINING):
        if time.perf_counter() - begin > args.seconds:
            break
        row = {"shape": str(shape), "errors": errors(calls, shape), "runs": {}}
        for name, call in calls.items():
            if isinstance(row["errors"][name], dict):
                row["runs"][name] = figures(call, shape)
            torch.cuda.empty_cache()
        rows.append(row)
        show(row)

    summary = {}
    for peer in calls:
        for what in ("device_us", "eager_us", "memory_bytes"):
            pairs = [(row["runs"].get(peer, {}), row["runs"].get("gdn_ref", {})) for row in rows]
            ratios = [peers[what] / own[what] for peers, own in pairs if what in peers.keys() & own]
            if ratios and peer != "gdn_ref":
                summary[f"{peer} {what}"] = {
                    "shapes": len(ratios),
                    "geometric_mean": geometric_mean(ratios),
                    "least": min(ratios),
                }
                mean = geometric_mean(ratios)
                print(f"{peer} {what}: {mean:.2f} times ours, least {min(ratios):.2f}")
    what = "forward and backward pass, bfloat16, hard inputs, all six gradients"
    found = {"copy_bytes_per_s": bandwidth, "summary": summary, "rows": rows}
    write_record(args.json, what, found, calls)


def show(row):
    print(row["shape"])
    for name, found in row["runs"].items():
        times = " ".join(
            f"{x[:-3]} {found[x]:.0f} us" for x in ("device_us", "eager_us") if x in found
        )
        bits = "same bits" if found["repeats"] else "other bits"
        worst = " ".join(f"{x} {error:.1e}" for x, error in row["errors"][name].items())
        print(f"  {name:10} {times}, {found['memory_bytes'] / 1e6:.0f} MB, {bits}, {worst}")


if __name__ == "__main__":
    main()
