"""What it gives the backward pass to keep one state of several chunks: time, bytes, errors.

    python kernels/bench/spans.py --span 8 --json _build/bench/spans.json

Needs a Hopper GPU. Each run adds its row to the file:

both      both passes of 16 sequences of 2,048 tokens, 8 heads of 128: rested twice, and held
kernels   the median of each kernel of a piece, by the profiler
errors    of the six gradients of a smaller batch against float64, with decays near .95, and with
          decays a hundred times slower, so that states last
"""

import argparse
import json
from pathlib import Path
from statistics import median

import torch
from compare import HELD_S, device_us, relative, write_record
from compare_backward import NAMES, both_passes, training_inputs
from shapes import Shape
from torch.profiler import ProfilerActivity, profile

import gdn_ref
from gdn_ref.kernels.backward.hopper import launches

TIMED, CHECKED = Shape(2048, 8, 8, 128, 128, 16), Shape(1024, 8, 8, 128, 128, 3)


def rule(q, k, v, g, beta, S, cu_seqlens, backend="triton"):
    return gdn_ref.chunk_gated_delta_rule(
        q, k, v, g, beta, initial_state=S, output_final_state=True, backend=backend
    )


def errors(slower):
    """Of the gradients, where logarithms of decays are divided by `slower`."""
    (q, k, v, g, beta, S, _), do, dS = training_inputs(CHECKED)
    arguments = (q, k, v, g / slower, beta / (2 if slower > 1 else 1), S, None)
    exact = [None if x is None else x.double() for x in arguments]
    right = both_passes(lambda *x: rule(*x, backend="reference"), exact, do.double(), dS.double())()
    found = both_passes(rule, arguments, do, dS)()
    return {x: relative(a, b) for x, a, b in zip(NAMES, found, right, strict=True)}


def by_kernel(run, passes=9):
    """Kernel -> its median, us."""
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for _ in range(passes):
            run()
        torch.cuda.synchronize()
    times = {}
    for event in profiler.events():
        times.setdefault(event.name, []).append(event.device_time_total)
    return {name: median(x) for name, x in times.items() if name.endswith("hopper_kernel")}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--span", type=int, required=True, help="chunks for which a state is kept")
    parser.add_argument("--json", type=Path, help="add a row to the record in this file")
    given = parser.parse_args()
    launches.SPANS = (given.span, 1)
    launches.span_of = lambda plan, sizes: given.span
    row = {"span": given.span, "errors": errors(1), "errors, slow decays": errors(100)}
    run = both_passes(rule, *training_inputs(TIMED))
    run()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    row["memory_bytes"] = torch.cuda.max_memory_allocated() - before
    row["both_us"] = [device_us(run) for _ in range(2)]
    row["held_us"] = device_us(run, warm_s=HELD_S, rounds=1)
    row["kernels_us"] = by_kernel(run)
    print(row)
    if given.json:
        rows = json.loads(given.json.read_text())["rows"] if given.json.exists() else []
        write_record(given.json, f"both passes of {TIMED}, by span", {"rows": [*rows, row]})


if __name__ == "__main__":
    main()
