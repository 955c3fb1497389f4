"""Train one small layer on a task that needs both gates, and record what its head computes.

    python -m gdn_ref.experiments.one_head --json book/_data/bench/one_head_cpu.json

The task, `notes`: a stream of notes `name value`, of questions `name ?`, and of bars, after which
nothing noted before counts. Wanted at a question is the newest value of its name since the last
bar, or NONE. The layer is the model's only one, and its head the layer's only one, so that what
follows it is a readout of a few hundred numbers, which the record has as well.
"""

import argparse
import datetime
import json
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch.nn.functional import silu

from ..convolution import causal_conv1d
from ..layers import heads
from ..ops import log_decay
from .recall import HALF_LIFE, machine
from .training import IGNORED, UNTIED, on, train

NAMES, VALUES = 12, 8
NONE = VALUES  # the answer if nothing is noted
QUESTION, BAR = NAMES + VALUES, NAMES + VALUES + 1
LENGTH, HELD_OUT = 128, 256
RULES = ("attention", "linear", "delta", "gated")
MODEL = {"vocabulary": BAR + 1, "outputs": VALUES + 1, "hidden_size": 48, "num_heads": 1,
         "head_dim": 12, "mlp": 0, "half_life": HALF_LIFE}  # fmt: skip
TRAINING = {"seed": 0, "steps": 1000, "learning_rate": 1e-2}


def notes(rng, batch, length=LENGTH):
    """A batch of streams: tokens and the answers wanted, `[batch, length]` integers.

    Tokens from 0 are names, from `NAMES` values; then come the question and the bar. One statement
    in 16 is a bar; of the others, half are notes. Names are drawn so that many notes replace one,
    two thirds of the questions have a value for an answer, and most others had one before a bar.
    """
    tokens = np.zeros((batch, length + 2), dtype=int)
    answers = np.full((batch, length + 2), IGNORED)
    noted = np.full((batch, NAMES), NONE)
    once = np.zeros((batch, NAMES), dtype=bool)
    at, row = np.zeros(batch, dtype=int), np.arange(batch)
    while at.min() < length:
        bar, asks, known = rng.random(batch) < 1 / 16, *(rng.random((2, batch)) < 0.5)
        kept = noted != NONE
        lost = asks[:, None] & once & ~kept & (rng.random(batch) < 0.4)[:, None]
        wished = (kept & (asks | known)[:, None]) + 2 * lost
        name = np.argmax(rng.random((batch, NAMES)) + wished, axis=1)
        value = rng.integers(VALUES, size=batch)
        tokens[row, at] = np.where(bar, BAR, name)
        tokens[row, at + 1] = np.where(asks, QUESTION, NAMES + value)
        answers[row, at] = IGNORED
        answers[row, at + 1] = np.where(asks, noted[row, name], IGNORED)
        noted[row, name] = np.where(asks, noted[row, name], value)
        once[row, name] |= ~asks & ~bar
        noted[bar] = NONE
        at = np.minimum(at + np.where(bar, 1, 2), length)
    return tokens[:, :length], answers[:, :length]


def held_out():
    """The streams that test each model; the record has the first."""
    return notes(np.random.default_rng(UNTIED), HELD_OUT)


@torch.no_grad()
def recorded(net):
    """What the head of a trained model computes for the first stream, and what follows it.

    `q, k, v` come after the convolution, before keys and queries get norm 1; `q` at questions
    alone. The rest is the same at every question: `residual` is what the layer adds to, `gate` the
    weights of its normalised output, `out` its last projection, `readout` and `bias` the logits.
    """
    tokens, answers = held_out()
    layer, block = net.blocks[0].mixer, net.blocks[0]
    residual = net.embedding(on("cpu", (tokens[:1], answers[:1]))[0])
    x = block.before_mixer(residual)
    qkv = torch.cat([layer.q_proj(x), layer.k_proj(x), layer.v_proj(x)], dim=-1)
    qkv, _ = causal_conv1d(qkv, layer.conv1d.weight.squeeze(1), layer.conv1d.bias)
    q, k, v = (heads(y, layer.head_dim)[0, :, 0] for y in qkv.split(layer.channels, dim=-1))
    asks = torch.from_numpy(tokens[0] == QUESTION)
    gate = layer.o_norm.weight * silu(layer.g_proj(x[0, asks][0]))
    numbers = {
        "q": q[asks], "k": k, "v": v,
        "alpha": log_decay(layer.a_proj(x), layer.A_log, layer.dt_bias).exp()[0, :, 0],
        "beta": layer.b_proj(x).sigmoid()[0, :, 0],
        "residual": residual[0, asks][0], "gate": gate, "out": layer.o_proj.weight,
        "readout": net.readout.weight * net.norm.weight, "bias": net.readout.bias,
    }  # fmt: skip
    found = {name: rounded(x.tolist()) for name, x in numbers.items()}
    return {"tokens": tokens[0].tolist(), "answers": answers[0].tolist(), **found}


def rounded(x):
    """Four digits of each number of a list, or of lists."""
    return [rounded(y) for y in x] if isinstance(x, list) else float(f"{x:.4g}")


def trained(rule):
    """A model of this rule: its accuracy on the held-out streams, and the record of its head."""
    tests, examine = {"held out": lambda rng: held_out()}, recorded if rule == "gated" else None
    return train(MODEL | {"mixers": [rule]}, partial(notes, batch=32), tests,
                 examine=examine, **TRAINING)  # fmt: skip


def main(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--json", required=True, help="the record")
    path = Path(parser.parse_args(arguments).json)
    found = {rule: trained(rule) for rule in RULES}
    record = {
        "what": "a head trained on notes, questions and bars: 128 tokens of a held-out stream",
        "command": "python -m gdn_ref.experiments.one_head --json FILE",
        "date": datetime.date.today().isoformat(), **machine("cpu"),
        "model": MODEL, "training": TRAINING,
        "parameters": found["gated"]["parameters"],
        "seconds": {rule: x["seconds"] for rule, x in found.items()},
        "accuracy": {rule: x["accuracy"]["held out"] for rule, x in found.items()},
        "head": found["gated"]["examined"],
    }  # fmt: skip
    lines = json.dumps(record).replace('"head": {', '"head": {\n').replace(']], "', ']],\n"')
    path.write_text(lines.replace('], "', '],\n"') + "\n", "utf-8")


if __name__ == "__main__":
    torch.set_num_threads(1)
    main()
