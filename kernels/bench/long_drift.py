"""Drift of a stored state over a million tokens, by storage format, against float64: on the CPU.

    python kernels/bench/long_drift.py --json book/_data/bench/long_drift.json

Three rules see the same random unit keys and normal values: linear attention, which only adds; the
delta rule, which forgets nothing but what it corrects; and the gated delta rule. All arithmetic is
float64; a state is rounded to its format whenever it is stored, after every token or after 64.
About five minutes on one core; `--tokens` makes it shorter.
"""

import argparse
import datetime
import json
import platform
import time
from pathlib import Path

import torch

from gdn_ref.figures.ch13_drift import RULES, drift


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="write the record to this file")
    parser.add_argument("--tokens", type=int, default=10**6)
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args(argv)
    torch.set_num_threads(1)
    begin = time.perf_counter()
    at, errors = drift(args.tokens, seed=args.seed)
    record = {
        "what": "relative error of a stored state, d=32, against float64 storage, on the CPU",
        "date": datetime.date.today().isoformat(),
        "versions": {"python": platform.python_version(), "torch": torch.__version__},
        "seed": args.seed,
        "seconds": round(time.perf_counter() - begin),
        "rules": {name: {"alpha": a, "beta": b, "erases": e} for name, (a, b, e) in RULES.items()},
        "tokens": at,
        "errors": errors,
    }
    if args.json:
        args.json.parent.mkdir(parents=True, exist_ok=True)
        args.json.write_text(json.dumps(record, indent=1) + "\n")
    for rule, found in errors.items():
        print(rule, *(f"{name} {x[-1]:.1e}" for name, x in found.items()), sep="  ")


if __name__ == "__main__":
    main()
