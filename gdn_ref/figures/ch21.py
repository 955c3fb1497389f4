"""Figures of chapter 21: weights by hand, predictions beside memories, and trained models."""

import ipywidgets as widgets
import numpy as np

from ..experiments.training import interval
from .ch21_record import NAMES, accuracies, counts
from .ch21_theory import (
    VALUES,
    by_crosstalk,
    from_a_table,
    measured,
    memory,
    of_each_pair,
    predicted,
)
from .style import COLOUR, RULE, STATE_MAP, figure, live, styled

LOOKS = {rule: (colour, mark) for (rule, colour), mark in zip(RULE.items(), "o^Dsv", strict=True)}
MEMORIES = {  # title, role, dashes, mark
    "sum": ("sum of writes", RULE["linear"], "-", "o"),
    "delta": ("delta rule, once", RULE["delta"], "--", "D"),
    "best": ("best matrix", "ink", ":", "s"),
}
BY_HAND = np.array([[1, 0], [0, 1], [0.6, 0.8]])


@styled
def three_keys():
    """The weights of all reads after three pairs in two dimensions, by three memories."""
    fig, axes = figure(6.6, 2.7, ncols=3)
    for ax, (rule, (title, *_)) in zip(axes, MEMORIES.items(), strict=True):
        weights = BY_HAND @ memory(rule, BY_HAND, np.eye(3)).T
        ax.imshow(weights, cmap=STATE_MAP, vmin=-1.3, vmax=1.3)
        for j, row in enumerate(weights):
            for i, x in enumerate(row):
                ink = "white" if abs(x) > 0.75 else COLOUR["ink"]
                text = f"{x + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "−")
                weight = "bold" if i == row.argmax() else "normal"
                ax.text(i, j, text, ha="center", va="center", color=ink, weight=weight)
        ax.set_title(title, fontsize=10)
        ax.set_xticks(range(3), [f"$v_{i}$" for i in (1, 2, 3)])
        ax.set_yticks(range(3), [f"$k_{j}$" for j in (1, 2, 3)])
    axes[0].set_ylabel("read at")
    return fig


SHOWN = np.unique(np.concatenate([np.arange(1, 17), np.arange(18, 97, 3)]))


@styled
def capacity(n=32, d_k=16, N=64):
    """The moving figure's picture: the share of right names against the pairs, three memories."""
    fig, ax = figure(6.2, 3.5)
    for rule, (title, role, dashes, mark) in MEMORIES.items():
        y = [predicted(rule, int(count), d_k, N=N) for count in SHOWN]
        ax.plot(SHOWN, y, dashes, color=COLOUR[role], lw=1.8, label=title)
        share = measured(rule, n, d_k, N=N, draws=10).mean()
        ax.plot(n, share, mark, color=COLOUR[role], ms=7)
    ax.axhline(1 / N, color=COLOUR["quiet"], lw=0.8, ls=":")
    ax.axvline(d_k, color=COLOUR["quiet"], lw=0.8)
    ax.text(d_k + 1, 0.02, "$n = d_k$", color=COLOUR["quiet"])
    ax.set(xlabel="pairs written, $n$", ylabel="values named", ylim=(0, 1.03), xlim=(0, 97))
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 0.08), fontsize=9)
    return fig


def capacity_widget():
    """`capacity` with sliders."""
    return live(
        capacity,
        n=widgets.IntSlider(value=32, min=2, max=96, description="pairs"),
        d_k=widgets.IntSlider(value=16, min=4, max=64, step=4, description="d_k"),
        N=widgets.IntSlider(value=64, min=16, max=512, step=16, description="candidates"),
    )


@styled
def untrained(d_k=16):
    """Predicted and measured shares of memories that nobody trained, four of them."""
    fig, ax = figure(5.8, 3.6)
    shown = MEMORIES | {"slow": ("delta rule, β = 0.3", "fourth", "-.", "^")}
    counts, dots = np.arange(2, 49, 2), (4, 8, 12, 16, 24, 32, 40, 48)
    for name, (title, role, dashes, mark) in shown.items():
        rule, options = ("delta", {"beta": 0.3}) if name == "slow" else (name, {})
        y = [predicted(rule, int(n), d_k, **options) for n in counts]
        ax.plot(counts, y, dashes, color=COLOUR[role])
        share = [measured(rule, n, d_k, **options).mean() for n in dots]
        ax.plot(dots, share, mark, color=COLOUR[role], ms=5, label=title)
    ax.set(xlabel="pairs written, $n$", ylabel="values named", ylim=(0, 1.03))
    ax.legend(loc="lower left", fontsize=9)
    return fig


@styled
def by_age(n=32, d_k=16):
    """The share of each pair by how many pairs were written after it."""
    fig, ax = figure(5.8, 3.4)
    later = np.arange(n)[::-1]
    looks = (("sum", {}, "sum of writes", RULE["linear"], "-", "o"),
             ("decay", {"alpha": 0.95}, "scalar decay, α = 0.95", RULE["decay"], "-.", "^"),
             ("delta", {}, "delta rule", RULE["delta"], "--", "D"))  # fmt: skip
    for rule, options, title, role, dashes, mark in looks:
        ax.plot(later, of_each_pair(rule, n, d_k, **options), dashes, color=COLOUR[role])
        share = measured(rule, n, d_k, draws=400, **options)
        ax.plot(later[::-3], share[::-3], mark, color=COLOUR[role], ms=5, label=title)
    ax.set(xlabel="pairs written since", ylabel="values named", ylim=(0, 1.03))
    ax.legend(loc="lower left", fontsize=9)
    return fig


def with_interval(ax, x, values, role, mark, label=None):
    """One dot a seed, and the mean with its interval."""
    mean, low, high = interval(values)
    ax.plot([x] * len(values), values, ".", color=COLOUR[role], ms=4, alpha=0.5)
    ax.errorbar(x, mean, [[mean - low], [high - mean]], fmt=mark, color=COLOUR[role], ms=6,
                capsize=3, label=label)  # fmt: skip


@styled
def trained_pairs(d_k=16):
    """Trained models against the number of pairs, and what keys from a table allow a sum."""
    fig, ax = figure(6.2, 3.7)
    for place, (rule, (role, mark)) in enumerate(LOOKS.items()):
        which = ("variants", "plain", rule, d_k)
        for n in counts(*which)[1:]:
            label = NAMES[rule] if n == 32 else None
            with_interval(ax, n + 0.6 * (place - 2), accuracies(*which, names=n), role, mark, label)
    n = np.arange(6, 35)
    ax.plot(n, [by_crosstalk(from_a_table(x, d_k)) for x in n], "--", color=COLOUR[RULE["linear"]],
            lw=1)  # fmt: skip
    ax.plot(n, [by_crosstalk((x - 1) / d_k) for x in n], ":", color=COLOUR["ink"], lw=1)
    ax.set(xlabel="pairs written, $n$", ylabel="right answers", ylim=(0.5, 1.03))
    ax.set_xticks([8, 16, 24, 32])
    ax.legend(loc="lower left", fontsize=9)
    return fig


@styled
def trained_sizes(n=32):
    """Trained models with 32 pairs against the size of the state."""
    fig, ax = figure(6.2, 3.7)
    for place, (rule, (role, mark)) in enumerate(LOOKS.items()):
        for d_k in (8, 16, 32) if rule != "attention" else ():
            x = np.log2(32 * d_k) + 0.07 * (place - 1.5)
            label = NAMES[rule] if d_k == 8 else None
            with_interval(ax, x, accuracies("sizes", "plain", rule, d_k), role, mark, label)
    widths = np.geomspace(7, 37, 40)
    x = np.log2(32 * widths)
    ax.plot(x, [by_crosstalk(from_a_table(n, d)) for d in widths], "--",
            color=COLOUR[RULE["linear"]])  # fmt: skip
    ax.plot(x, [by_crosstalk((n - 1) / d) for d in widths], ":", color=COLOUR["ink"])
    ax.set(xlabel="numbers in the state, $d_k d_v$", ylabel="right answers", ylim=(0, 1.05))
    ax.set_xticks(np.log2([256, 512, 1024]), ["256", "512", "1,024"])
    ax.legend(loc="lower right", fontsize=9)
    return fig


def order_bound(n, N=VALUES):
    """The most that is right of n names written twice, without their order (eq-recall-order)."""
    f = (4 * n**2 + n - 6) / (n**2 * (2 * n - 1))
    return f + (1 - f) * (1 + 1 / N) / 2


@styled
def overwritten(d_k=16):
    """Names that are written twice: trained models, and the bound without order."""
    fig, ax = figure(6.2, 3.7)
    for place, (rule, (role, mark)) in enumerate(LOOKS.items()):
        which = ("variants", "overwriting", rule, d_k)
        for n in counts(*which):
            label = NAMES[rule] if n == 16 else None
            with_interval(
                ax, n + 0.28 * (place - 2), accuracies(*which, names=n), role, mark, label
            )
    n = np.linspace(2, 17, 60)
    ax.plot(n, order_bound(n), "--", color=COLOUR["ink"], lw=1)
    ax.set(xlabel="names, each written twice", ylabel="right answers", ylim=(0, 1.05))
    ax.set_xticks([2, 4, 8, 12, 16])
    ax.legend(loc="lower left", fontsize=9)
    return fig


STACKS = (("gated", "gated"), ("gated", "attention"), ("attention", "gated"),
          ("attention", "attention"))  # fmt: skip


@styled
def stacks():
    """Two layers: 32 names, each written twice, with states of 8 columns."""
    fig, ax = figure(6.2, 3.2)
    for place, mixers in enumerate(STACKS):
        role, mark = (LOOKS["gated"], ("ink", "^"), ("ink", "v"), LOOKS["attention"])[place]
        with_interval(ax, place, accuracies("stacks", "many", mixers, 8), role, mark)
    titles = ["gated,\ngated", "gated,\nattention", "attention,\ngated", "attention,\nattention"]
    ax.set_xticks(range(4), titles)
    ax.set(ylabel="right answers", ylim=(0, 1.05), xlim=(-0.5, 3.5))
    return fig
