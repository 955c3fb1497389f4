"""The training example with both backends: the reference on the CPU, Triton on a GPU.

    python kernels/bench/training_curves.py --json book/_data/bench/training_curves_h100.json

Needs a CUDA GPU. `examples/train_language_model.py` fixes its batches and first weights by a seed,
so with one seed the two backends should draw the same curve but for rounding, which training
enlarges. What another seed changes says how large that may be.
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


def curve(seed, gpu, *options):
    """One run of the example, in a process that sees a GPU or none."""
    environment = os.environ | {"OMP_NUM_THREADS": str(max(1, os.cpu_count() // SEEDS))}
    environment |= {} if gpu else {"CUDA_VISIBLE_DEVICES": ""}
    with TemporaryDirectory() as out:
        command = [ROOT / "examples" / "train_language_model.py", "--seed", str(seed), "--out", out]
        command = [sys.executable, *command, *options]
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(done.stderr)
        record = json.loads((Path(out) / "language_model.json").read_text())
    return {"device": record["device"], "seed": seed, "curve": record["curve"]}


def distances(rows):
    """Validation losses, bits a byte: the most that a backend changes, and that a seed does.

    At each step that the curves have, over all seeds.
    """
    losses = {
        (row["device"], row["seed"]): [x["validation_bits"] for x in row["curve"]] for row in rows
    }

    def most(pairs):
        return max(abs(x - y) for a, b in pairs for x, y in zip(losses[a], losses[b], strict=True))

    seeds = sorted({seed for _, seed in losses})
    by_backend = most((("cpu", seed), ("cuda", seed)) for seed in seeds)
    by_seed = most((("cpu", a), ("cpu", b)) for a in seeds for b in seeds)
    return by_backend, by_seed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the record to this file")
    arguments = parser.parse_args()
    if not torch.cuda.is_available():
        parser.error("needs a CUDA GPU, and PyTorch sees none")
    runs = [(seed, gpu) for gpu in (False, True) for seed in range(SEEDS)]
    with ThreadPoolExecutor(SEEDS) as pool:
        rows = list(tqdm(pool.map(curve, *zip(*runs, strict=True)), total=len(runs), unit="run"))
    for row in rows:
        last = row["curve"][-1]
        print(
            f"{row['device']:5} seed {row['seed']}: {last['validation_bits']:.4f} bits a byte "
            f"after {last['step']} steps, {last['seconds']:.0f} s"
        )
    backend, seed = distances(rows)
    print(f"at any step, at most {backend:.4f} apart by backend, {seed:.4f} by seed")
    what = "validation and training loss of examples/train_language_model.py, bits a byte"
    write_record(arguments.json, what, {"rows": rows})


if __name__ == "__main__":
    main()
