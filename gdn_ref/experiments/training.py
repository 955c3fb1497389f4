"""Train a small model from a seed; train many side by side; the mean over seeds, and how sure.

A batch is a pair of integer arrays `[B, T]`: tokens, and the answers wanted, `IGNORED` where none
is. A task is a function that draws one from a `numpy.random.Generator`. Jobs go to other processes,
so a task is a function of a module, or a `functools.partial` of one.
"""

import math
import multiprocessing
import time
from concurrent.futures import ProcessPoolExecutor, as_completed

import numpy as np
import torch
from torch.nn.functional import cross_entropy

from .models import Model

IGNORED = -100
UNTIED = 1 << 32  # the seed of the tests' batches is far from those of the training's
T_975 = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)  # Student's, 1 to 9 d.f.


def train(
    model, task, tests, *, seed, steps, learning_rate=3e-3, weight_decay=0.01, warmup=0.1,
    clip=1.0, every=None, examine=None, device="cpu",
):  # fmt: skip
    """Train one model with AdamW, a linear warm-up and a cosine to zero.

    Parameters
    ----------
    model : dict
        Arguments of `Model`.
    task : callable
        Draws a training batch from a generator; all batches have one shape.
    tests : dict of callables
        Name -> draws the batch of a test, always the same one whatever the seed.
    seed : int
        Of the weights and of the training batches.
    steps : int
    learning_rate, weight_decay, warmup, clip : float
        The largest rate; the share of steps that warm up; the largest norm of a gradient. Biases,
        norms and what has `_no_weight_decay` do not decay.
    every : int, optional
        Test after each so many steps, too.
    examine : callable, optional
        What else to record of the trained model: `examine(net)` gives something for JSON.
    device : str
        On a GPU the layers run Triton kernels, and a step is replayed as one CUDA graph.

    Returns
    -------
    dict
        `accuracy`: test -> share of wanted answers that are right. `curve`: the same after each
        `every` steps, with `step` and the training `loss`. `parameters`, `seconds`, `examined`.
    """
    started = time.perf_counter()
    torch.manual_seed(seed)
    net = Model(**model).to(device)
    rng = np.random.default_rng(seed)
    examinations = {
        name: on(device, draw(np.random.default_rng(UNTIED + i)))
        for i, (name, draw) in enumerate(tests.items())
    }
    graphed = device != "cpu"
    rate = torch.zeros((), device=device)
    optimizer = torch.optim.AdamW(
        groups(net, weight_decay), lr=rate, foreach=graphed, capturable=graphed
    )
    batch = on(device, task(rng))

    def step():
        optimizer.zero_grad(set_to_none=True)
        logits = net(batch[0])
        loss = cross_entropy(logits.flatten(0, 1), batch[1].flatten(), ignore_index=IGNORED)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), clip, foreach=True)
        optimizer.step()
        return loss.detach()

    go, curve = (captured(step) if graphed else step), []
    for i in range(steps):
        rate.fill_(learning_rate * schedule(i, steps, warmup))
        for x, drawn in zip(batch, task(rng), strict=True):
            x.copy_(torch.from_numpy(drawn))
        loss = go()
        if every and (i + 1) % every == 0:
            found = {name: accuracy(net, *test) for name, test in examinations.items()}
            curve.append({"step": i + 1, "loss": round(float(loss), 5), **found})
    return {
        "accuracy": {name: accuracy(net, *test) for name, test in examinations.items()},
        "curve": curve,
        "parameters": sum(x.numel() for x in net.parameters() if x.requires_grad),
        "seconds": round(time.perf_counter() - started, 2),
        "examined": None if examine is None else examine(net),
    }


def on(device, batch):
    """Two integer arrays as tensors of this device."""
    return tuple(torch.from_numpy(np.asarray(x, dtype=np.int64)).to(device) for x in batch)


def groups(net, weight_decay):
    """The parameters that decay, matrices but for the gate's and the embedding; and the others."""
    decay, keep = [], []
    for name, x in net.named_parameters():
        if x.requires_grad:
            exempt = x.ndim < 2 or getattr(x, "_no_weight_decay", False) or "embedding" in name
            (keep if exempt else decay).append(x)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": keep, "weight_decay": 0.0}]


def schedule(i, steps, warmup):
    """The factor on the rate at step i: up in a line, down in half a cosine."""
    rise = max(1, round(warmup * steps))
    if i < rise:
        return (i + 1) / rise
    return 0.5 * (1 + math.cos(math.pi * (i - rise) / max(1, steps - rise)))


def captured(step):
    """`step` as a CUDA graph. The rate is 0 while it warms up, so nothing is learned."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        loss = step()

    def replay():
        graph.replay()
        return loss

    return replay


@torch.no_grad()
def accuracy(net, tokens, answers):
    """Share of the wanted answers that the model gives, four digits."""
    wanted = answers != IGNORED
    right = (net(tokens).argmax(-1) == answers) & wanted
    return round((right.sum() / wanted.sum()).item(), 4)


def run_many(jobs, workers, report=None):
    """`train(**job)` for each of the jobs, in their order, in `workers` processes.

    `report(index, result)` is called as soon as a job is done.
    """
    results = [None] * len(jobs)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, context, initializer=torch.set_num_threads,
                             initargs=(1,)) as pool:  # fmt: skip
        found = {pool.submit(train, **job): i for i, job in enumerate(jobs)}
        for done in as_completed(found):
            results[found[done]] = done.result()
            if report is not None:
                report(found[done], done.result())
    return results


def interval(values):
    """Mean over seeds, and Student's 95 % interval, `(mean, low, high)`.

    The seeds are taken for independent draws from one normal distribution; of accuracies near 1
    that is rough, and the values themselves are in the record. One value has no interval: NaN.
    """
    x = np.asarray(values, dtype=float)
    if x.ndim != 1 or not 1 <= len(x) <= 10:
        raise ValueError(f"values: expected 1 to 10 numbers, got shape {list(x.shape)}")
    if len(x) == 1:
        return float(x[0]), math.nan, math.nan
    half = T_975[len(x) - 2] * x.std(ddof=1) / math.sqrt(len(x))
    return float(x.mean()), float(x.mean() - half), float(x.mean() + half)
