"""The training example with both backends: the reference on the CPU, Triton on a GPU.

    python kernels/bench/training_curves.py --json book/_data/bench/training_curves_h100.json

Needs a CUDA GPU. `examples/train_language_model.py` fixes its batches and first weights by a seed,
so with one seed all runs should draw the same curve but for rounding, which training may enlarge.
What another seed changes says how much that matters.
"""

import argparse
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

import torch
from compare import write_record
from tqdm import tqdm

ROOT = Path(__file__).parents[2]
SEEDS = 3
RUNS = {"CPU": (), "GPU": (), "GPU, bfloat16": ("--bfloat16",)}  # on what, options of the example


def curve(what, seed, *options):
    """One run of the example, in a process that sees the GPU or none."""
    environment = os.environ | {"OMP_NUM_THREADS": str(max(1, os.cpu_count() // SEEDS))}
    environment |= {"CUDA_VISIBLE_DEVICES": ""} if what == "CPU" else {}
    with TemporaryDirectory() as out:
        command = [ROOT / "examples" / "train_language_model.py", "--seed", str(seed), "--out", out]
        command = [sys.executable, *command, *RUNS[what], *options]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        record = json.loads((Path(out) / "language_model.json").read_text())
    return {"on": what, "device": record["device"], "seed": seed, "curve": record["curve"]}


def most_apart(rows):
    """What is changed -> the most by which that moves a validation loss, in bits a byte.

    A backend, float32 both times; bfloat16 on the GPU; the seed, on the CPU.
    """
    losses = {(x["on"], x["seed"]): [y["validation_bits"] for y in x["curve"]] for x in rows}
    seeds = sorted({seed for _, seed in losses})

    def most(pairs):
        return max(abs(x - y) for a, b in pairs for x, y in zip(losses[a], losses[b], strict=True))

    return {
        "backend": most((("CPU", seed), ("GPU", seed)) for seed in seeds),
        "bfloat16": most((("GPU", seed), ("GPU, bfloat16", seed)) for seed in seeds),
        "seed": most((("CPU", a), ("CPU", b)) for a in seeds for b in seeds),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the record to this file")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("needs a CUDA GPU, and PyTorch sees none")
    runs = [(what, seed) for what in RUNS for seed in range(SEEDS)]
    with ThreadPoolExecutor(SEEDS) as pool:
        rows = list(tqdm(pool.map(curve, *zip(*runs, strict=True)), total=len(runs), unit="run"))
    for row in rows:
        last = row["curve"][-1]
        print(
            f"{row['on']:13} seed {row['seed']}: {last['validation_bits']:.4f} bits a byte "
            f"after {last['step']} steps, {last['seconds']:.0f} s"
        )
    found = most_apart(rows)
    print("most apart at any step:", ", ".join(f"{x:.1e} by {what}" for what, x in found.items()))
    what = "validation and training loss of examples/train_language_model.py, bits a byte"
    write_record(arguments.json, what, {"rows": rows, "most_apart": found})


if __name__ == "__main__":
    main()
