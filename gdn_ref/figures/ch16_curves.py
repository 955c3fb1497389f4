"""Chapter 16: one model trained on a CPU, on a GPU, and there in bfloat16, with three seeds."""

from itertools import combinations

import numpy as np

from .ch14_model import record
from .style import COLOUR, FORMAT, figure, styled

CHANGES = {  # what is changed: two runs that differ by it
    "backend": ("CPU", "GPU"),
    "bfloat16": ("GPU", "GPU, bfloat16"),
}
LOOKS = {
    "seed": ("quiet", "s-"),
    "bfloat16": (FORMAT["bfloat16"], "x-"),
    "backend": ("first", "o-"),
}


def curves():
    """Validation losses: the steps, and (where it ran, seed) -> bits a byte at each of them."""
    rows = record("training_curves_h100")["rows"]
    losses = {
        (row["on"], row["seed"]): np.array([x["validation_bits"] for x in row["curve"]])
        for row in rows
    }
    return [x["step"] for x in rows[0]["curve"]], losses


def apart():
    """What is changed -> the most by which that moves the loss at each step."""
    _, losses = curves()
    seeds = sorted({seed for _, seed in losses})
    pairs = {what: [((a, n), (b, n)) for n in seeds] for what, (a, b) in CHANGES.items()}
    pairs["seed"] = [(("CPU", m), ("CPU", n)) for m, n in combinations(seeds, 2)]
    return {
        what: np.max([abs(losses[a] - losses[b]) for a, b in found], axis=0)
        for what, found in pairs.items()
    }


def ends():
    """Where it ran -> last losses, seed by seed, and the mean milliseconds of a step.

    Steps are counted from the first loss on: before that, kernels are compiled.
    """
    found = {}
    for row in record("training_curves_h100")["rows"]:
        first, last = row["curve"][0], row["curve"][-1]
        ms = 1e3 * (last["seconds"] - first["seconds"]) / (last["step"] - first["step"])
        found.setdefault(row["on"], []).append((last["validation_bits"], ms))
    return {on: ([x[0] for x in rows], np.mean([x[1] for x in rows])) for on, rows in found.items()}


@styled
def training_curves():
    """Losses above, their differences below."""
    fig, (above, below) = figure(5.2, 5.0, nrows=2, sharex=True)
    steps, losses = curves()
    marks = {"CPU": ("quiet", "-", 0), "GPU": ("first", "o", 7)}
    marks["GPU, bfloat16"] = (FORMAT["bfloat16"], "x", 4)
    for (on, seed), bits in losses.items():
        role, mark, size = marks[on]
        above.plot(steps, bits, mark, color=COLOUR[role], ms=size, mfc="none",
                   label=on * (seed == 0))  # fmt: skip
    above.set(ylabel="validation loss, bits a byte")
    above.legend()
    for what, (role, mark) in LOOKS.items():
        found = apart()[what]
        shown = np.where(found > 0, found, np.nan)
        below.semilogy(steps, shown, mark, ms=4, color=COLOUR[role], label=what)
    below.set(xlabel="step", ylabel="most apart, bits a byte", ylim=(1e-7, 20))
    below.legend(loc="upper right", ncols=3, fontsize=8.5, columnspacing=1, handlelength=1.5)
    return fig
