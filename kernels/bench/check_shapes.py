"""Errors of the Triton forward on every listed shape, against the float64 token recurrence.

    python kernels/bench/check_shapes.py --json book/_data/bench/forward_errors_h100.json

Needs a CUDA GPU. Every case runs on listed and on hard data (`shapes.inputs`), in float32 (both
matmul precisions), float16 and bfloat16; the error is relative Frobenius over the whole tensor, and
outputs are allocated full of NaN. Several processes share the GPU: the recurrence is a long row
of small launches.
"""

import argparse
import datetime
import json
import platform
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import torch
import triton
from shapes import MODELS, PACKED, PADDED, TRAINING, inputs
from tqdm import tqdm

from gdn_ref import chunk_gated_delta_rule, gated_delta_rule

DTYPES = {  # name -> (dtype, torch.set_float32_matmul_precision)
    "float32 highest": (torch.float32, "highest"),
    "float32 high": (torch.float32, "high"),
    "float16": (torch.float16, "highest"),
    "bfloat16": (torch.bfloat16, "highest"),
}
BOUND = {"float32 highest": 1e-5, "float32 high": 3e-3, "float16": 4e-3, "bfloat16": 4e-3}


def oracle(q, k, v, g, beta, S, cu_seqlens):
    """Outputs and final state of the token recurrence in float64, in the layout of `ops`."""
    groups = v.shape[2] // q.shape[2]
    q, k, v, g, beta = (x.double().transpose(1, 2) for x in (q, k, v, g, beta))
    scaled = (q * q.shape[-1] ** -0.5).repeat_interleave(groups, 1)
    k = k.repeat_interleave(groups, 1)
    S = S.double().mT
    if cu_seqlens is None:
        o, S = gated_delta_rule.recurrent(scaled, k, v, g, beta, S)
        return o.transpose(1, 2), S.mT
    outputs, states = [], []
    ends = cu_seqlens.tolist()
    for n, (begin, end) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
        rows = slice(begin, end)
        vectors = (x[:, :, rows] for x in (scaled, k, v))
        scalars = (x[:, :, rows] for x in (g, beta))
        o, last = gated_delta_rule.recurrent(*vectors, *scalars, S[n : n + 1])
        outputs.append(o)
        states.append(last)
    return torch.cat(outputs, 2).transpose(1, 2), torch.cat(states).mT


def relative(actual, expected):
    """Relative Frobenius error; NaN or an unwritten element gives NaN or a large number."""
    return ((actual.double() - expected).norm() / expected.norm()).item()


def check(shape, data):
    """Errors in every dtype: `{name: {"o": ..., "state": ...}}`."""
    # outputs are allocated uninitialised: filled with NaN, an element nobody writes shows
    torch.use_deterministic_algorithms(True)
    torch.utils.deterministic.fill_uninitialized_memory = True
    q, k, v, g, beta, S, cu_seqlens = inputs(shape, data)
    expected_o, expected_S = oracle(q, k, v, g, beta, S, cu_seqlens)
    errors = {}
    for name, (dtype, precision) in DTYPES.items():
        torch.set_float32_matmul_precision(precision)
        o, final_state = chunk_gated_delta_rule(
            q.to(dtype), k.to(dtype), v.to(dtype), g, beta, initial_state=S,
            output_final_state=True, cu_seqlens=cu_seqlens, backend="triton",
        )  # fmt: skip
        errors[name] = {"o": relative(o, expected_o), "state": relative(final_state, expected_S)}
    torch.set_float32_matmul_precision("highest")
    del expected_o, expected_S, o, final_state
    torch.cuda.empty_cache()  # the other processes need the room
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the results to this file")
    parser.add_argument("--shapes", default="padded,packed,models,training")
    parser.add_argument("--jobs", type=int, default=4, help="processes (default 4)")
    args = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("needs a CUDA GPU, and PyTorch sees none")
    lists = {"padded": PADDED, "packed": PACKED, "models": MODELS, "training": TRAINING}
    cases = [
        (group, shape, data)
        for group in args.shapes.split(",")
        for shape in lists[group]
        for data in ("listed", "hard")
    ]
    rows = []
    with ProcessPoolExecutor(args.jobs, get_context("spawn")) as pool:
        work = [pool.submit(check, shape, data) for _, shape, data in cases]
        for (group, shape, data), future in zip(tqdm(cases), work, strict=True):
            rows.append(
                {"list": group, "shape": str(shape), "data": data, "errors": future.result()}
            )
    worst = {
        name: {
            what: max((row["errors"][name][what] for row in rows), key=lambda e: (e != e, e))
            for what in ("o", "state")
        }
        for name in DTYPES
    }
    result = {
        "what": "relative Frobenius error of the Triton forward against the float64 recurrence",
        "date": datetime.date.today().isoformat(),
        "gpu": torch.cuda.get_device_name(),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "triton": triton.__version__,
        },
        "bounds": BOUND,
        "worst": worst,
        "rows": rows,
    }
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(result, indent=1) + "\n")
    failed = 0
    for row in rows:
        over = {n: e for n, e in row["errors"].items() if not max(e.values()) <= BOUND[n]}
        failed += bool(over)
        if over:
            sizes = {n: f"{e['o']:.1e} {e['state']:.1e}" for n, e in over.items()}
            print(row["shape"], row["data"], sizes)
    for name, size in worst.items():
        found = f"o {size['o']:.2e}  state {size['state']:.2e}"
        print(f"worst {name:16} {found}  bound {BOUND[name]:.0e}")
    print(f"{len(rows) - failed} of {len(rows)} cases within their bounds")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
