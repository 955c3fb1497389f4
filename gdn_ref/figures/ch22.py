"""Figures of chapter 22: a walk on three mirrors, one token repeated, steps, and trained models."""

from collections import Counter

import ipywidgets as widgets
import numpy as np

from ..experiments import permutations, training
from .ch14_model import record
from .style import COLOUR, RULE, figure, live, styled

SWAPS = {"a": (0, 1), "b": (1, 2), "c": (0, 2)}
START = (1.0, 2.0, 3.0)


def walk(word, beta):
    """The contents of three boxes after each letter of `word`, `[len(word) + 1, 3]`."""
    rows = [np.array(START)]
    for letter in word:
        if letter not in SWAPS:
            raise ValueError(f"word: expected letters of a, b, c, got {letter!r}")
        k = np.zeros(3)
        k[list(SWAPS[letter])] = np.sqrt(0.5), -np.sqrt(0.5)
        rows.append(rows[-1] - beta * (rows[-1] @ k) * k)  # eq-transition-rows
    return np.array(rows)


def place(rows):
    """Where contents lie in the plane of their sum, `[..., 2]`."""
    x, y, z = np.moveaxis(np.asarray(rows, dtype=float), -1, 0)
    return np.stack([(x - y) / np.sqrt(2), (2 * z - x - y) / np.sqrt(6)], axis=-1)


@styled
def state_walk(word="abcab", beta=2.0):
    """The moving figure's picture: a point that three swaps mirror in three lines."""
    fig, ax = figure(5.2, 4.2)
    for letter, pair in SWAPS.items():
        along = np.array([-0.5 if i in pair else 1 for i in range(3)])
        ax.plot(*place(2 + np.outer([-1.3, 1.3], along)).T, "--", color=COLOUR["key"], lw=1.2)
        ax.text(*place(2 + 1.5 * along), letter, color=COLOUR["key"], ha="center", va="center")
    for p in permutations.all_of(3):
        row = 1.0 + np.array(p)
        ax.plot(*place(row), "o", mfc="none", color=COLOUR["quiet"], ms=5)
        label = " ".join(str(i + 1) for i in p)
        ax.text(*place(2 + 1.25 * (row - 2)), label, ha="center", va="center")
    points = place(walk(word, beta))
    ax.plot(*points.T, color=COLOUR["state"], lw=1.5, alpha=0.7)
    ax.plot(*points[-2:].T, color=COLOUR["state"], lw=3)
    ax.plot(*points[-1], "o", color=COLOUR["state"], ms=9)
    ax.set(aspect="equal", xlim=(-2.1, 2.1), ylim=(-2.1, 2.1))
    ax.axis("off")
    return fig


def walk_widget():
    """`state_walk` with a word to type and a slider; other letters are left out."""
    field = widgets.Text(value="abcab", description="swaps")

    def draw(word, beta):
        return state_walk("".join(letter for letter in word.lower() if letter in SWAPS), beta)

    strength = widgets.FloatSlider(value=2, min=0, max=2, step=0.05, description="β")
    return live(draw, word=field, beta=strength)


def answers_of(beta, count, alpha=1.0, at_first=0.0, value=0.5):
    """The state's answer at one unit key while the same token comes `count` times."""
    found = [at_first]
    for _ in range(count):
        found.append(alpha * (1 - beta) * found[-1] + beta * value)
    return np.array(found)


@styled
def repeated_token(count=16):
    """One token again and again: where its answer goes, for five strengths (eq-repeat-step)."""
    fig, ax = figure(5.8, 3.3)
    lines = ((0.3, "first", "-", "s"), (1.0, "second", "-", "v"), (1.5, "third", "--", "^"),
             (1.9, "fourth", "--", "d"), (2.0, "fifth", "-", "o"))  # fmt: skip
    for beta, role, dashes, mark in lines:
        y = answers_of(beta, count)
        ax.plot(range(count + 1), y, dashes, marker=mark, ms=4, lw=1.2, color=COLOUR[role],
                label=f"β = {beta:g}")  # fmt: skip
    ax.set(xlabel="times the token has come", ylabel="answer at its key", ylim=(-0.05, 1.05))
    fig.legend(loc="outside upper center", ncols=5, fontsize=9)
    return fig


@styled
def steps_needed():
    """How many permutations of three, four and five boxes need how many steps."""
    fig, axes = figure(6.4, 2.6, ncols=3)
    for ax, count in zip(axes, (3, 4, 5), strict=True):
        found = Counter(map(permutations.fewest_steps, permutations.all_of(count)))
        ax.bar(list(found), list(found.values()), color=COLOUR["first"], width=0.7)
        for steps, number in found.items():
            ax.text(steps, number, str(number), ha="center", va="bottom", fontsize=9)
        ax.set(title=f"{count} boxes", xlabel="steps", xticks=range(5), yticks=[])
        ax.set_xlim(-0.6, 4.6)
        ax.spines["left"].set_visible(False)
    axes[0].set_ylabel("permutations")
    return fig


LOOKS = {  # mixers -> name, role, dashes, mark
    "attention": ("attention", RULE["attention"], ":", "x"),
    "decay": ("decay only", RULE["decay"], ":", "+"),
    "gated": ("gated, β to 1", RULE["gated"], "--", "v"),
    "delta": ("delta, β to 1", RULE["delta"], "--", "v"),
    "delta-1x2": ("2 steps, β to 1", "first", "--", "^"),
    "gated-2": ("gated, β to 2", RULE["gated"], "-", "o"),
    "delta-2": ("delta, β to 2", RULE["delta"], "-", "o"),
    "delta-2 delta-2": ("two layers, β to 2", "ink", "-.", "D"),
    "delta-2x2": ("2 steps, β to 2", "first", "-", "s"),
    "gated-2x2": ("2 steps, gated, β to 2", RULE["gated"], "-", "s"),
    "delta-2x3": ("3 steps, β to 2", "second", "-", "^"),
    "delta-2x4": ("4 steps, β to 2", "ink", "-", "P"),
}
TITLES = {
    "Z2": "parity", "Z5": "counting to 5", "S3": "three boxes, $S_3$",
    "S3 graded": "$S_3$, three tokens", "S5 swaps": "$S_5$, swaps alone",
    "S5 graded": "$S_5$, five tokens", "S5": "five boxes, $S_5$",
}  # fmt: skip


def rows_of(found, task):
    """The rows of a record that are of one task."""
    return [row for row in found["rows"] if row["task"] == task]


def band(ax, x, values, looks):
    """Mean over seeds with its interval; `values` is `[seeds, len(x)]`, accuracies."""
    name, role, dashes, mark = looks
    mean, low, high = np.array([training.interval(column) for column in np.transpose(values)]).T
    ax.fill_between(
        x, np.maximum(low, 0), np.minimum(high, 1), color=COLOUR[role], alpha=0.15, lw=0
    )
    ax.plot(x, mean, dashes, marker=mark, ms=4, lw=1.4, color=COLOUR[role], label=name)


@styled
def panels(found, tasks, what, xlabel):
    """A panel for each of four tasks; `what(row)` gives x and the values of each seed."""
    fig, axes = figure(6.8, 6.6, nrows=2, ncols=2, sharey=True)
    for ax, task in zip(axes.flat, tasks, strict=True):
        for row in rows_of(found, task):
            band(ax, *what(row), LOOKS[row["mixers"]])
        ax.axhline(1 / found["outputs"][task], color=COLOUR["quiet"], lw=0.8)
        ax.set(title=TITLES[task], xlabel=xlabel, ylim=(0, 1.03))
        ax.legend(loc="upper left", bbox_to_anchor=(0, -0.2), fontsize=8, ncols=2)
    for ax in axes[:, 0]:
        ax.set_ylabel("right answers")
    return fig


@styled
def curves(found=None, tasks=("Z2", "Z5", "S3", "S5 graded")):
    """Accuracy at the length of training against steps."""
    found = found or record("state_tracking_h100")
    return panels(found, tasks, lambda row: (row["steps"], row["curves"]), "steps of training")


@styled
def lengths(found=None, tasks=("Z2", "Z5", "S3", "S5 graded")):
    """Accuracy of the last answers against the length of the word."""
    found = found or record("state_tracking_h100")

    def of(row):
        return [int(n) for n in row["accuracy"]], np.transpose(list(row["accuracy"].values()))

    fig = panels(found, tasks, of, "tokens")
    for ax in fig.axes:
        ax.set_xscale("log", base=2)
        ax.set_xticks(found["lengths"], [str(n) for n in found["lengths"]])
        ax.minorticks_off()
    return fig


def table(found, length=None):
    """Right answers at a length of a record, by default the one of its training: a line a model."""
    length = str(length or found["lengths"][0])
    lines = [f"right answers at {length} tokens"]
    for task in TITLES:
        for row in rows_of(found, task):
            mean, low, high = training.interval(row["accuracy"][length])
            name = f"{TITLES[task].replace('$', ''):20} {LOOKS[row['mixers']][0]:23}"
            lines.append(f"{name} {mean:.3f}   95 %: {max(low, 0):.3f} to {min(high, 1):.3f}")
    return "\n".join(lines)


def life(b):
    """After how many reflections of strength `2 sigma(b)` half is left (eq-tracking-life)."""
    x = np.exp(-np.asarray(b, dtype=float))
    return np.log(2) / (np.log1p(x) - np.log1p(-x))


def trained_logits(found, mixers="delta-2", bit=1):
    """The largest logit of a trained parity model for a bit, over its heads: one for each seed."""
    (row,) = [row for row in rows_of(found, "Z2") if row["mixers"] == mixers]
    return np.array([max(logits[bit]) for logits in row["logits"]])


def reach_table(found, mixers="delta-2"):
    """Each seed of a trained parity model: its logit for a one, its reach, what it gets right."""
    (row,) = [row for row in rows_of(found, "Z2") if row["mixers"] == mixers]
    lines = ["logit   half left after   right at " + ", ".join(row["accuracy"]) + " tokens"]
    for b, *right in zip(trained_logits(found, mixers), *row["accuracy"].values(), strict=True):
        tokens = 2 * life(b)  # every other bit is a one
        lines.append(f"{b:5.2f} {tokens:9,.0f} tokens   " + "  ".join(f"{x:.2f}" for x in right))
    return "\n".join(lines)
