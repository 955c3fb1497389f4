"""What a warm call costs on the host, and what other tensors and a new length cost more.

    python kernels/bench/host_path.py --json _build/bench/host_path.json

Needs a CUDA GPU. For the forward pass, both passes and a decoding step:

frames    Python functions that one warm call enters, the files they stand in, and how deep it goes
repeated  microseconds of a call whose tensors look like those before, from Python
fresh     of a call with other tensors, as long as those of some call before
new       of one with as many tokens as no call before; every kernel is compiled already

So new over fresh is what the length costs, and fresh over repeated what the tensors cost: their
tiles are described to the copy engine anew.

Times are medians over calls of a small shape, where the GPU waits for the host.
"""

import argparse
import datetime
import importlib.metadata
import json
import platform
import sys
import time
from pathlib import Path
from statistics import median

import torch

import gdn_ref

H, D = 2, 128


def tensors(T, seed=0):
    """q, k, v, g, beta and a state of one sequence."""
    torch.manual_seed(seed)
    q, k, v = (torch.randn(1, T, H, D, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    k = torch.nn.functional.normalize(k, dim=-1)
    g, beta = -0.1 * torch.rand(1, T, H, device="cuda"), torch.rand(1, T, H, device="cuda")
    return q, k, v, g, beta, torch.randn(1, H, D, D, device="cuda")


def forward(T):
    """A call of the forward pass."""
    *tokens, S = tensors(T)
    options = {"initial_state": S, "output_final_state": True}
    return lambda: gdn_ref.chunk_gated_delta_rule(*tokens, **options)


def both(T):
    """A call of both passes."""
    tokens = [x.requires_grad_() for x in tensors(T)[:5]]
    do = torch.randn_like(tokens[2])

    def call():
        o, _ = gdn_ref.chunk_gated_delta_rule(*tokens)
        torch.autograd.grad(o, tokens, do)

    return call


def decoding(N):
    """A decoding step of N sequences."""
    q, k, v, g, beta, S = tensors(N)
    pool = S.expand(N, *S.shape[1:]).contiguous()
    step = [x.transpose(0, 1).contiguous() for x in (q, k, v, g, beta)]
    return lambda: gdn_ref.decode(*step, pool, None)


def frames(call):
    """Python functions that a call enters, the package's files among theirs, and the depth."""
    entered, files, depth, deepest = 0, set(), 0, 0

    def note(frame, event, _):
        nonlocal entered, depth, deepest
        if event == "call":
            entered, depth = entered + 1, depth + 1
            deepest = max(deepest, depth)
            files.add(frame.f_code.co_filename)
        elif event == "return":
            depth -= 1

    with torch.autograd.set_multithreading_enabled(False):  # the backward pass on this thread
        sys.setprofile(note)
        call()
        sys.setprofile(None)
    files.discard(call.__code__.co_filename)
    own = sorted(name for name in files if "gdn_ref" in name or "kernels" in name)
    return {"frames": entered - 1, "files": own, "depth": deepest - 1}


def microseconds(calls):
    """The median over calls, each timed alone."""
    times = []
    for i, call in enumerate(calls):
        if i % 16 == 0:
            torch.cuda.synchronize()
        begin = time.perf_counter()
        call()
        times.append(time.perf_counter() - begin)
    torch.cuda.synchronize()
    return median(times) * 1e6


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the record to this file")
    args = parser.parse_args(argv)
    rows = {}
    for make in (forward, both, decoding):
        warm, sizes = make(200), iter(range(65, 1000))
        for call in (warm, warm, warm, make(64), make(130)):
            call()
        row, found = frames(warm), {"repeated_us": [], "fresh_us": [], "new_us": []}
        for _ in range(3):
            lengths = [next(sizes) for _ in range(60)]
            new, fresh = ([make(T) for T in lengths] for _ in range(2))
            found["repeated_us"].append(microseconds([warm] * 300))
            found["new_us"].append(microseconds(new))
            found["fresh_us"].append(microseconds(fresh))
        row["files"] = len(row["files"])
        row |= {name: min(times) for name, times in found.items()}
        for name, before in (("fresh", "repeated"), ("new", "fresh"), ("new", "repeated")):
            row[f"{name}_over_{before}"] = row[f"{name}_us"] / row[f"{before}_us"]
        rows[make.__name__] = row
        print(make.__name__, row, flush=True)
    record = {
        "gpu": torch.cuda.get_device_name(), "python": platform.python_version(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(), "rows": rows,
        "versions": {name: importlib.metadata.version(name) for name in ("torch", "triton")},
    }  # fmt: skip
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
