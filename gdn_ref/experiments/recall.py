"""Multi-query associative recall: which models return the value that was written under a key.

    python -m gdn_ref.experiments.recall --json FILE --device cuda --workers 16

trains every model of the plan from five seeds. `--reduced` is the run that chapter 21 makes: a
smaller task and shorter training, on two cores in about half a minute. The task is MQAR of Arora et
al. (arXiv 2312.04927) in a small form, with two variants: fillers between the pairs, and names
that are written twice, of which the newest value counts.
"""

import argparse
import datetime
import json
import platform
import time
from functools import partial

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
    "overwriting": {"names": 16, "writes": 2},
    "many": {"writes": 2},  # as many names as in "plain", each written twice
}
STACKS = (("gated",) * 2, ("attention",) * 2, ("gated", "attention"), ("attention", "gated"))
RATES = dict.fromkeys(RULES, 5e-3)
STEPS = 2000
SEEDS = range(5)
TRIED = (2e-3, 5e-3, 1e-2)  # learning rates of `--tune`, with seeds that are not among the five
TUNING = range(100, 102)


def job(task, mixers, d_k, seed, *, rate=None, steps=STEPS, size=FULL, device="cpu", tests=None):
    """The arguments of `train` for one model."""
    task = size | TASKS[task]
    names = task["names"]
    known = tests or sorted({names // 8, names // 4, names // 2, 3 * names // 4, names})
    many = partial(recall, **task | {"batch": 256})
    return {
        "model": SIZES
        | {
            "vocabulary": 1 + task["keys"] + task["values"] + FILLERS,
            "outputs": task["values"],
            "mixers": mixers,
            "head_dim": d_k,
        },
        "task": partial(recall, **task),
        "tests": {str(n): partial(many, known=n) for n in known},
        "seed": seed,
        "steps": steps,
        "learning_rate": rate or min(RATES[name] for name in mixers),
        "device": device,
    }


def plan(tune=False, seeds=SEEDS):
    """`(task, mixers, d_k, seed, rate)` of every model."""
    if tune:
        return [("plain", (rule,), 16, seed, rate)
                for rule in RULES for rate in TRIED for seed in TUNING]  # fmt: skip
    found = [("plain", (rule,), d_k, seed, None)
             for d_k in (32, 16, 8) for rule in RULES for seed in seeds]  # fmt: skip
    found += [(task, (rule,), 16, seed, None)
              for task in ("overwriting", "noisy") for rule in RULES for seed in seeds]  # fmt: skip
    found += [("many", mixers, 8, seed, None) for mixers in STACKS for seed in seeds]
    return found


def run(models, workers, **options):
    """Train these models; one row each, with its accuracy by the number of names."""
    started = time.perf_counter()

    def report(i, result):
        print(
            f"{time.perf_counter() - started:6.0f} s  {models[i]}  {result['accuracy']}", flush=True
        )

    jobs = [job(*model[:4], rate=model[4], **options) for model in models]
    rows = []
    for x, found in zip(jobs, run_many(jobs, workers, report), strict=True):
        task, mixers, d_k, seed, _ = models[len(rows)]
        rows.append({
            "task": task, "mixers": list(mixers), "d_k": d_k, "seed": seed,
            "rate": x["learning_rate"], "accuracy": found["accuracy"],
            "parameters": found["parameters"], "seconds": found["seconds"],
        })  # fmt: skip
    return rows, round(time.perf_counter() - started, 1)


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", help="where the record goes")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--tune", action="store_true", help="try the learning rates instead")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--limit", type=int, help="only the first so many models")
    given = parser.parse_args(arguments)
    models = plan(given.tune, range(given.seeds))[: given.limit]
    rows, seconds = run(models, given.workers, steps=given.steps, device=given.device)
    found = {"date": datetime.date.today().isoformat(), "machine": machine(given.device),
             "seconds": seconds, "workers": given.workers, "steps": given.steps,
             "size": FULL, "rows": rows}  # fmt: skip
    if given.json:
        with open(given.json, "w", encoding="utf-8") as file:
            file.write(json.dumps(found, indent=1) + "\n")


def machine(device):
    found = {"torch": torch.__version__, "python": platform.python_version()}
    if device == "cuda":
        import triton

        found |= {"gpu": torch.cuda.get_device_name(), "triton": triton.__version__}
    return found


if __name__ == "__main__":
    main()
