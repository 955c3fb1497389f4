"""The reference on one thread of a CPU, beside the plain PyTorch functions of transformers.

    python kernels/bench/compare_cpu.py --json _build/bench/compare_cpu.json

A decoding step of one token a sequence, the forward pass over 1,024 tokens, and both passes over
them, in float32. The two run in turn, so that whatever else the machine does meets both. Times are
of the thread, in microseconds, medians over the turns; `faster` is the median of theirs / ours.
"""

import argparse
import datetime
import importlib.metadata
import json
import platform
import time
from pathlib import Path
from statistics import median

import torch
from transformers.models.qwen3_next import modeling_qwen3_next as theirs

import gdn_ref

HEADS = ((8, 128), (32, 128), (8, 64))  # and their size


def tensors(B, T, H, D, seed=0):
    """q, k, v, g, beta and a state."""
    torch.manual_seed(seed)
    q, k, v = (torch.randn(B, T, H, D) for _ in range(3))
    g, beta = -0.1 * torch.rand(B, T, H), torch.rand(B, T, H)
    return q, torch.nn.functional.normalize(k, dim=-1), v, g, beta, torch.randn(B, H, D, D)


def decoding(B, H, D, norm):
    """A step of ours, and of theirs."""
    *vectors, g, beta, S = tensors(B, 1, H, D)
    options = {"g": g, "beta": beta, "initial_state": S, "output_final_state": True}
    options["use_qk_l2norm_in_kernel"] = norm
    functions = gdn_ref.fused_recurrent_gated_delta_rule, theirs.torch_recurrent_gated_delta_rule
    return [lambda f=f: f(*vectors, **options) for f in functions]


def prefill(H, D, gradients, T=1024):
    """A call of ours over a sequence, and of theirs; with its backward pass, if asked for."""
    *tokens, S = tensors(1, T, H, D)
    for x in tokens:
        x.requires_grad_(gradients)
    *vectors, g, beta = tokens

    def call(f):
        o, _ = f(*vectors, g=g, beta=beta, initial_state=S, output_final_state=True)
        if gradients:
            torch.autograd.grad(o.sum(), tokens)

    functions = gdn_ref.chunk_gated_delta_rule, theirs.torch_chunk_gated_delta_rule
    return [lambda f=f: call(f) for f in functions]


def in_turn(ours, other, turns):
    """Both, turn by turn: who is first changes."""
    times = {ours: [], other: []}
    for turn in range(turns + 3):
        for call in (ours, other) if turn % 2 else (other, ours):
            begin = time.thread_time()
            call()
            times[call].append(1e6 * (time.thread_time() - begin))
    a, b = times[ours][3:], times[other][3:]
    faster = median(y / x for x, y in zip(a, b, strict=True))
    return {"ours_us": median(a), "theirs_us": median(b), "faster": faster}


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the record to this file")
    parser.add_argument("--turns", type=int, default=400, help="of a step; a pass has a tenth")
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    rows = {}
    for H, D in HEADS:
        for B, norm in ((1, False), (1, True), (4, False), (4, True)):
            name = f"decoding B{B} H{H} D{D}" + ", unit keys inside" * norm
            rows[name] = in_turn(*decoding(B, H, D, norm), args.turns)
        for name, gradients in (("forward", False), ("both passes", True)):
            calls = prefill(H, D, gradients)
            rows[f"{name} T1024 H{H} D{D}"] = in_turn(*calls, args.turns // 10)
        for name in list(rows)[-6:]:
            print(f"{name:40}", *(f"{key} {x:.2f}" for key, x in rows[name].items()), flush=True)
    versions = {name: importlib.metadata.version(name) for name in ("torch", "transformers")}
    record = {
        "what": "gdn_ref's reference beside transformers' PyTorch functions, one CPU thread",
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "versions": {"python": platform.python_version(), **versions},
        "machine": platform.machine(), "rows": rows,
    }  # fmt: skip
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
