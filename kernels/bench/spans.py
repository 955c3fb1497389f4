"""What it gives training to keep one state of several chunks: time, bytes, errors.

    python kernels/bench/spans.py --json _build/bench/spans.json

Needs a Hopper GPU. For two batches, with spans of 1 to 8 chunks whose states the backward pass
finds, and with those of 8 which the forward pass has kept:

both      both passes, rested twice and held
memory    the most that they have beside what is given
kernels   the median of each kernel of a piece, by the profiler
errors    of the six gradients of shorter sequences against float64, with decays near .95, and with
          decays a hundred times slower, so that states last
"""

import argparse
from dataclasses import replace
from pathlib import Path
from statistics import median

import torch
from compare import HELD_S, device_us, relative, write_record
from compare_backward import NAMES, both_passes, training_inputs
from shapes import Shape
from torch.profiler import ProfilerActivity, profile

import gdn_ref
from gdn_ref import prepared
from gdn_ref.kernels.forward.hopper import spans
from gdn_ref.kernels.forward.hopper.fused import launches as fused

TIMED = [Shape(2048, 8, 8, 128, 128, 16), Shape(4096, 16, 32, 128, 128, 4)]
WAYS = [(1, False), (2, False), (4, False), (8, False), (8, True)]  # chunks; kept on the way there?


def rule(q, k, v, g, beta, S, cu_seqlens, backend="triton"):
    return gdn_ref.chunk_gated_delta_rule(
        q, k, v, g, beta, initial_state=S, output_final_state=True, backend=backend
    )


def errors(shape, slower):
    """Of the gradients, where logarithms of decays are divided by `slower`."""
    (q, k, v, g, beta, S, _), do, dS = training_inputs(shape)
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
    return {name: median(x) for name, x in times.items() if name.endswith("kernel")}


def row_of(shape, span, kept):
    spans.SPANS, spans.span_of = (span, 1), lambda plan, sizes: span
    fused.kept_span = lambda plan, sizes: span if kept else 0
    prepared._remembered.clear()
    short = replace(shape, T=1024)
    row = {"shape": str(shape), "span": span, "kept": kept}
    row |= {"errors": errors(short, 1), "errors, slow decays": errors(short, 100)}
    run = both_passes(rule, *training_inputs(shape))
    run()
    before = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    run()
    row["memory_bytes"] = torch.cuda.max_memory_allocated() - before
    row["both_us"] = [device_us(run) for _ in range(2)]
    row["held_us"] = device_us(run, warm_s=HELD_S, rounds=1)
    row["kernels_us"] = by_kernel(run)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the record to this file")
    path, rows = parser.parse_args().json, []
    for shape in TIMED:
        for way in WAYS:
            rows.append(row_of(shape, *way))
            print(rows[-1], flush=True)
    write_record(path, "both passes by the chunks for which a state is kept", {"rows": rows})


if __name__ == "__main__":
    main()
