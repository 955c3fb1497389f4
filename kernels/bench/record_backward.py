"""Device time of each kernel of a forward and backward pass, into the record of chapter 16.

    python kernels/bench/record_backward.py --json book/_data/bench/backward_h100.json

Needs a CUDA GPU. Renews what the record says of kernels, machine and date, and the last step of
each kernel's history on a shape. With `--step NAME` each history gets a step of that name instead;
earlier steps stay as they are.
"""

import argparse
import datetime
import json
import re
from pathlib import Path

import torch
import triton
from shapes import TRAINING, inputs
from torch.profiler import ProfilerActivity, profile

import gdn_ref

CALLS = 20
NAMES = {"chunk_scan": "forward scan", "ut_transform": "inverses"}
PATHS = {"_hopper": "Hopper", "_16bit": "16 bits", "": "portable"}


def times(shape):
    """Microseconds of each kernel in a pass, all pieces together, by (kernel, path)."""
    q, k, v, g, beta, S, cu_seqlens = inputs(shape)
    q, k, v = (x.bfloat16() for x in (q, k, v))
    leaves = [x.detach().requires_grad_() for x in (q, k, v, g, beta, S)]

    def call():
        o, last = gdn_ref.chunk_gated_delta_rule(
            *leaves[:5], initial_state=leaves[5], output_final_state=True, cu_seqlens=cu_seqlens,
            backend="triton",
        )  # fmt: skip
        torch.autograd.grad((o, last), leaves, (do, dS))

    do, dS = torch.randn_like(v), torch.randn_like(S)
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        for _ in range(CALLS):
            call()
        torch.cuda.synchronize()
    result = {}
    for event in found.key_averages():
        if match := re.match(r"(\w+?)(_hopper|_16bit|)_kernel", event.key):
            name = NAMES.get(match[1], match[1])
            result[name, PATHS[match[2]]] = event.device_time_total / CALLS
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", type=Path, required=True, help="the record to renew")
    parser.add_argument("--step", help="what has changed since the last step of the histories")
    arguments = parser.parse_args()
    path = arguments.json
    record = json.loads(path.read_text())
    record |= {
        "date": datetime.date.today().isoformat(),
        "gpu": torch.cuda.get_device_name(),
        "versions": record["versions"]
        | {"torch": torch.__version__.partition("+")[0], "triton": triton.__version__},
        "kernels": [],
    }
    wanted = {step["shape"] for step in record["steps"]}
    for shape in (shape for shape in TRAINING if str(shape) in wanted):
        for (kernel, way), us in times(shape).items():
            row = {"shape": str(shape), "kernel": kernel, "path": way, "us": round(us)}
            record["kernels"].append(row)
            print(*row.values())
            place = (kernel, str(shape))
            past = [s for s in record["steps"] if (s["kernel"], s["shape"]) == place]
            if past and arguments.step:
                record["steps"].append({**past[-1], "step": arguments.step, "us": round(us)})
            elif past:
                past[-1]["us"] = round(us)
    path.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
