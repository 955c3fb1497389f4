"""State tracking: which rule learns to follow a permutation, and over how many tokens.

    python -m gdn_ref.experiments.state_tracking --json book/_data/bench/state_tracking_h100.json

Each token names a permutation; after every token the model says what all so far make together.
`--reduced` trains fewer and smaller models for fewer steps, on a CPU in half a minute.
"""

import argparse
import datetime
import json
import os
import platform
import time
from functools import cache, partial
from importlib.metadata import version
from pathlib import Path

import numpy as np
import torch

from .permutations import after, all_of, moved
from .training import IGNORED, run_many

SEEDS = 5
MODEL = {"hidden_size": 64, "num_heads": 4, "head_dim": 16, "conv_size": 1, "mlp": 2}
FULL = {  # task -> the mixers of each model
    "Z2": ["attention", "decay", "gated", "delta", "gated-2", "delta-2"],
    "Z5": ["delta-1x2", "delta-2", "delta-2 delta-2", "delta-2x2"],
    "S3": ["attention", "delta-1x2", "delta-2", "delta-2x2", "gated-2x2"],
    "S5 graded": ["delta-2", "delta-2x2", "delta-2x3", "delta-2x4"],
    "S5 swaps": ["delta", "delta-2"],
    "S5": ["delta-2x2", "delta-2x4"],
}
REDUCED = {"Z2": ["delta", "delta-2"], "S3 graded": ["delta-2", "delta-2x2"]}
STEPS = {"Z2": 500, "Z5": 1500, "S3": 1500, "S5 graded": 1500, "S5 swaps": 500, "S5": 3000}
LAST = 16  # a test of a length asks for so many answers, the last


@cache
def group(name):
    """`(elements, tokens)`: all permutations of a task as tuples, and the indices of its tokens.

    `Z5` are the five rotations of five boxes, `S5` all 120 permutations of them. `S5 swaps` has the
    same elements with the ten swaps and the identity as tokens, and `S5 graded` five tokens: round
    trips of the first one to five boxes, which need 0 to 4 steps. Element 0 moves nothing.
    """
    count, boxes = int(name[1]), tuple(range(int(name[1])))
    elements = [boxes[i:] + boxes[:i] for i in boxes] if name[0] == "Z" else all_of(count)
    tokens = elements
    if name.endswith(" swaps"):
        tokens = [p for p in elements if moved(p) <= 2]
    elif name.endswith(" graded"):
        tokens = [(*boxes[1:n], 0, *boxes[n:]) for n in range(1, count + 1)]
    return elements, [elements.index(p) for p in tokens]


@cache
def table(name):
    """`[elements, tokens]`: the element that one element and then one token make together."""
    elements, tokens = group(name)
    number = {p: i for i, p in enumerate(elements)}
    return np.array([[number[after(s, elements[x])] for x in tokens] for s in elements])


def words(rng, name, batch, length, last=None, upto=None):
    """Random tokens and the products so far.

    With `last`, only that many answers at the end are wanted. With `upto`, a tuple of lengths, none
    beyond one of them, drawn for each batch: short words, which teach what one token does.
    """
    products = table(name)
    tokens = rng.integers(0, products.shape[1], size=(batch, length))
    answers, state = np.empty_like(tokens), np.zeros(batch, dtype=int)
    for t in range(length):
        state = answers[:, t] = products[state, tokens[:, t]]
    if last is not None:
        answers[:, :-last] = IGNORED
    if upto is not None:
        answers[:, rng.choice(upto) :] = IGNORED
    return tokens, answers


@torch.no_grad()
def strengths(net):
    """The write strength before its sigmoid: a list for each token, of one block's heads and steps.

    It is a function of the token in the first block alone, where there is no convolution.
    """
    first = net.blocks[0]
    if not hasattr(first.mixer, "b_proj"):
        return None
    logits = first.mixer.b_proj(first.before_mixer(net.embedding.weight))
    return [[round(x, 3) for x in row] for row in logits.tolist()]


def jobs(
    plan, seeds, lengths, *, upto, batch, tested, steps, points, learning_rate, device, **model
):
    """`[(task, mixers, seed)]` and what `train` is to do for each; trained at the first length.

    The curves have `points` points.
    """
    names = [(task, m, seed) for task in plan for m in plan[task] for seed in range(seeds)]
    names.sort(key=lambda name: -steps[name[0]])  # long jobs first: no worker waits for them alone
    todo = []
    for task, mixers, seed in names:
        elements, tokens = table(task).shape
        draw, sizes = partial(words, name=task), {"vocabulary": tokens, "outputs": elements}
        todo.append({
            "model": MODEL | model | sizes | {"mixers": mixers.split()},
            "task": partial(draw, batch=batch, length=lengths[0], upto=upto),
            "tests": {str(n): partial(draw, batch=tested, length=n, last=LAST) for n in lengths},
            "seed": seed, "steps": steps[task], "device": device,
            "every": steps[task] // points if points else None,
            "learning_rate": learning_rate, "examine": strengths if task == "Z2" else None,
        })  # fmt: skip
    return names, todo


def settings(reduced, device):
    """The arguments of `jobs`: the full experiment, or the one of half a minute."""
    if reduced:
        return {
            "plan": REDUCED, "seeds": 3, "lengths": (12, 48), "upto": None, "batch": 64,
            "tested": 64, "steps": {"Z2": 60, "S3 graded": 120}, "points": 0, "learning_rate": 5e-3,
            "device": device, "hidden_size": 32, "head_dim": 8,
        }  # fmt: skip
    return {
        "plan": FULL, "seeds": SEEDS, "lengths": (40, 80, 160, 320, 640),
        "upto": (2, 5, 10, 20, 40), "batch": 256, "tested": 128, "steps": STEPS, "points": 20,
        "learning_rate": 3e-3, "device": device,
    }  # fmt: skip


def run(reduced=False, device="cpu", workers=2, report=None):
    """Train all models; returns the record."""
    begin, given = time.perf_counter(), settings(reduced, device)
    names, todo = jobs(**given)
    results = run_many(todo, workers, report and (lambda i, found: report(names[i], found)))
    rows = {}
    for (task, mixers, seed), found in zip(names, results, strict=True):
        row = rows.setdefault((task, mixers), {
            "task": task, "mixers": mixers, "parameters": found["parameters"], "seeds": [],
            "accuracy": {n: [] for n in found["accuracy"]}, "curves": [], "logits": [],
            "steps": [point["step"] for point in found["curve"]], "seconds": [],
        })  # fmt: skip
        row["seeds"].append(seed)
        row["seconds"].append(found["seconds"])
        for n, x in found["accuracy"].items():
            row["accuracy"][n].append(x)
        row["curves"].append([point[str(given["lengths"][0])] for point in found["curve"]])
        if found["examined"]:
            row["logits"].append(found["examined"])
    outputs = {task: len(group(task)[0]) for task in given["plan"]}
    on = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    packages = ["torch", "triton", "numpy"] if device == "cuda" else ["torch", "numpy"]
    del given["plan"], given["device"]
    return {
        "what": "share of right answers to the last tokens of words in groups of permutations",
        "gpu": on,
        "date": datetime.date.today().isoformat(),
        "versions": {"python": platform.python_version()} | {x: version(x) for x in packages},
        "model": MODEL | {name: given.pop(name) for name in MODEL if name in given},
        **given,
        "outputs": outputs,
        "asked": LAST,
        "seconds": round(time.perf_counter() - begin),
        "rows": list(rows.values()),
    }


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the record to this file")
    parser.add_argument("--reduced", action="store_true", help="few small models, on the CPU")
    parser.add_argument("--workers", type=int, default=min(16, os.cpu_count()))
    arguments = parser.parse_args(argv)
    if not arguments.reduced and not torch.cuda.is_available():
        parser.error("needs a CUDA GPU, and PyTorch sees none; --reduced does without")

    def report(name, found):
        print(*name, found["accuracy"], f"{found['seconds']} s", sep="  ", flush=True)

    device = "cpu" if arguments.reduced else "cuda"
    record = run(arguments.reduced, device, arguments.workers, report)
    print(f"{record['seconds']} s in all")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(json.dumps(record) + "\n")


if __name__ == "__main__":
    main()
