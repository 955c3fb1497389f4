"""Multi-query associative recall: which models return the value that was written under a key.

    python -m gdn_ref.experiments.recall --device cuda --workers 16 --json FILE --part sizes
    python -m gdn_ref.experiments.recall --device cuda --workers 16 --json FILE \\
        --part variants stacks --steps 3200

train the models of the record from five seeds each, `--reduced` the small plan that chapter 21 runs
on two cores. The task is the one of Arora et al. (arXiv 2312.04927) in a small form, with two
variants: fillers between the pairs, and names that are written twice, of which the newest value
counts.
"""

import argparse
import datetime
import json
import platform
import time
from functools import partial
from pathlib import Path

import numpy as np
import torch

from .training import IGNORED, run_many

RULES = ("linear", "decay", "delta", "gated", "attention")
FILLERS = 16  # tokens that stand for nothing


def recall(rng, batch, names, keys, values, known=None, writes=1, noise=0):
    """A batch of sequences: pairs of a key and a value, and then the keys again, as questions.

    Parameters
    ----------
    rng : numpy.random.Generator
    batch, names : int
        Sequences, and the most names that one of them has.
    keys, values : int
        How many keys and values there are; a sequence draws its keys from them without and its
        values with repetition, so that n values are n log2(values) bits.
    known : int, optional
        Names in each sequence; by default 1 to `names`, as many of each.
    writes : int
        How often each name is written, in any order; the newest value is wanted.
    noise : int
        Fillers after each pair.

    Returns
    -------
    tokens, answers : `[batch, names (writes (2 + noise) + 1)]` integers
        0 pads where there are fewer names; then come keys, values and fillers. Wanted are the
        answers at the questions, `IGNORED` elsewhere.
    """
    count = np.full(batch, known) if known else rng.integers(1, names + 1, batch)
    used = np.arange(names) < count[:, None]
    key = rng.permuted(np.tile(np.arange(keys), (batch, 1)), axis=1)[:, :names]

    name = np.tile(np.arange(names), writes)  # of each write; those that are not used come first
    order = np.argsort(rng.random((batch, len(name))) + used[:, name], axis=1)
    name = name[order]
    value = rng.integers(values, size=name.shape)
    newest = np.zeros((batch, names), dtype=int)
    for t in range(name.shape[1]):
        newest[np.arange(batch), name[:, t]] = value[:, t]

    fillers = rng.integers(FILLERS, size=(*name.shape, noise))
    written = np.stack([1 + take(key, name), 1 + keys + value], axis=-1)
    written = np.concatenate([written, 1 + keys + values + fillers], axis=-1)
    written = np.where(take(used, name)[..., None], written, 0).reshape(batch, -1)

    asked = np.argsort(rng.random((batch, names)) + ~used, axis=1)
    wanted = take(used, asked)
    questions = np.where(wanted, 1 + take(key, asked), 0)
    answers = np.full((batch, written.shape[1] + names), IGNORED)
    answers[:, -names:] = np.where(wanted, take(newest, asked), IGNORED)
    return np.concatenate([written, questions], axis=1), answers


def take(rows, places):
    return np.take_along_axis(rows, places, axis=1)


# The plan.

SIZES = {"hidden_size": 64, "num_heads": 1, "head_v_dim": 32, "mlp": 0}
FULL = {"batch": 128, "names": 32, "keys": 64, "values": 64}
TASKS = {
    "plain": {},
    "noisy": {"noise": 2},
    "overwriting": {"writes": 2},  # half as many names, so that as many pairs are written
    "many": {"writes": 2},  # as many names
}
RATES = dict.fromkeys(RULES, 5e-3) | {"attention": 2e-3}  # the best of `--part rates`
STEPS, SEEDS = 2500, 5
SMALL = {"batch": 32, "names": 8, "keys": 8, "values": 8}  # the reduced run
SMALL_MODEL = SIZES | {"hidden_size": 32, "head_v_dim": 16}
HALF_LIFE = 1000.0  # tokens in which a fresh head forgets half
STACKS = (("gated",) * 2, ("attention",) * 2, ("gated", "attention"), ("attention", "gated"))


def model(task, mixers, d_k, seed, rate=None, half_life=HALF_LIFE):
    """One model of the plan."""
    rate = rate or min(RATES[name] for name in mixers)
    return {"task": task, "mixers": list(mixers), "d_k": d_k, "seed": seed, "rate": rate,
            "half_life": half_life}  # fmt: skip


def plan(part, seeds=SEEDS):
    """The models of one part, those that take longest first."""
    found = {
        "rates": [
            model("plain", [rule], 16, seed, rate)
            for rule in RULES for rate in (2e-3, 5e-3, 1e-2) for seed in (100, 101)
        ],
        "sizes": [
            model("plain", [rule], d_k, seed)
            for d_k in (32, 16, 8) for rule in RULES for seed in range(seeds)
            if rule != "attention" or d_k == 16
        ] + [
            model("plain", [rule], 16, seed, half_life=None)
            for rule in ("decay", "gated") for seed in range(seeds)
        ],
        "variants": [
            model(task, [rule], 16, seed)
            for task in TASKS if task != "many" for rule in RULES for seed in range(seeds)
        ],
        "stacks": [model("many", x, 8, seed) for x in STACKS for seed in range(seeds)],
        "reduced": [
            model("overwriting", [rule], 8, seed, 1e-2)
            for rule in ("linear", "delta", "attention") for seed in range(seeds)
        ],
    }  # fmt: skip
    if part not in found:
        raise ValueError(f"part: expected one of {', '.join(found)}, got {part!r}")
    return found[part]


def job(asked, *, steps=STEPS, size=FULL, sizes=SIZES, device="cpu"):
    """The arguments of `train` for one model of a plan."""
    task = size | TASKS[asked["task"]]
    task["names"] //= 2 if asked["task"] == "overwriting" else 1
    names = task["names"]
    known = sorted({max(1, names * part // 8) for part in (1, 2, 4, 6, 8)})
    test = partial(recall, **task | {"batch": 256})
    return {
        "model": sizes
        | {
            "vocabulary": 1 + task["keys"] + task["values"] + FILLERS,
            "outputs": task["values"],
            "mixers": asked["mixers"],
            "head_dim": asked["d_k"],
            "half_life": asked["half_life"],
        },
        "task": partial(recall, **task),
        "tests": {str(n): partial(test, known=n) for n in known},
        "seed": asked["seed"],
        "steps": steps,
        "learning_rate": asked["rate"],
        "device": device,
    }


def run(models, workers, aloud=False, **options):
    """Train these models: one row each, with its accuracy by the number of names."""
    started = time.perf_counter()

    def report(i, result):
        seconds = time.perf_counter() - started
        print(f"{seconds:5.0f} s", *list(models[i].values())[:4], result["accuracy"], flush=True)

    jobs = [job(x, **options) for x in models]
    found = run_many(jobs, workers, report if aloud else None)
    kept = ("accuracy", "parameters", "seconds")
    return [x | {key: y[key] for key in kept} for x, y in zip(models, found, strict=True)]


def reduced(workers=2, steps=400, seeds=SEEDS):
    """The rows of the small plan, on a CPU."""
    return run(plan("reduced", seeds), workers, steps=steps, size=SMALL, sizes=SMALL_MODEL)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", help="the record, to which the run is added")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--part", nargs="+", default=["sizes", "variants", "stacks"])
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--reduced", action="store_true", help="the small plan, on a CPU")
    given = parser.parse_args(arguments)
    if given.reduced:
        print(json.dumps(reduced(given.workers), indent=1))
        return
    models = [x | {"part": part} for part in given.part for x in plan(part, given.seeds)]
    started = time.perf_counter()
    rows = run(models, given.workers, aloud=True, steps=given.steps, device=given.device)
    found = {
        "parts": given.part, "seconds": round(time.perf_counter() - started),
        "workers": given.workers, "steps": given.steps, "task": FULL, "model": SIZES, "rows": rows,
    }  # fmt: skip
    if given.json:
        path = Path(given.json)
        record = json.loads(path.read_text("utf-8")) if path.exists() else {"runs": []}
        now = {"what": "accuracies of small models on associative recall, by seed",
               "date": datetime.date.today().isoformat(), **machine(given.device)}  # fmt: skip
        record = now | {"runs": record["runs"] + [found]}
        path.write_text(written(record), "utf-8")


def written(record):
    """The record as text, a row a line."""
    runs = []
    for run in record["runs"]:
        head = json.dumps({key: x for key, x in run.items() if key != "rows"})[:-1]
        rows = ",\n".join("   " + json.dumps(row) for row in run["rows"])
        runs.append(f'  {head}, "rows": [\n{rows}\n  ]}}')
    head = json.dumps({key: x for key, x in record.items() if key != "runs"}, indent=1)[:-2]
    return head + ',\n "runs": [\n' + ",\n".join(runs) + "\n ]\n}\n"


def machine(device):
    """What it ran on."""
    versions = {"python": platform.python_version(), "torch": torch.__version__}
    if device == "cpu":
        return {"cpu": platform.machine(), "versions": versions}
    import triton

    return {
        "gpu": torch.cuda.get_device_name(),
        "versions": versions | {"triton": triton.__version__},
    }


if __name__ == "__main__":
    main()
