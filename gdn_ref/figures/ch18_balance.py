"""Figure of chapter 18: which pairs of a query and a key each rank has, and zig-zag shards."""

import torch

from ..distributed import CPContext
from .ch18_model import causal_work
from .style import COLOUR, figure, styled

NAMES = {"contiguous": "one shard per rank", "zigzag": "zig-zag: two shards per rank"}


def owners(R, layout):
    """The rank of each shard, by the package's layout."""
    return CPContext.alone(torch.tensor([0, 2 * R]), 0, R, layout).owners


def shares(R, layout, T=2**20):
    """The work of each rank, in that of the mean."""
    held = owners(R, layout)
    found = [0.0] * R
    for rank, work in zip(held, causal_work(T, len(held)), strict=True):
        found[rank] += work
    return [work * R / sum(found) for work in found]


@styled
def balance(R=4):
    """Causal attention cut into shards, as a triangle; below it the work of each rank."""
    rows = {"nrows": 2, "ncols": 2, "height_ratios": (3, 1)}
    fig, axes = figure(6.4, 4.4, sharex="row", sharey="row", **rows)
    tint = [0.95 - 0.65 * p / max(R - 1, 1) for p in range(R)]
    for (layout, name), top, bottom in zip(NAMES.items(), *axes, strict=True):
        held = owners(R, layout)
        m = len(held)
        for i, rank in enumerate(held):
            a, b = i / m, (i + 1) / m
            band = [0, a, b, 0], [a, a, b, b]
            top.fill(*band, color=COLOUR["first"], alpha=tint[rank], lw=0)
            top.text(-0.03, (a + b) / 2, f"rank {rank}", ha="right", va="center", fontsize=9)
            if i + 1 < m:
                near = rank == held[i + 1]
                at = ((a + b) / 2 + 0.07, (a + b) / 2), (b + 0.5 / m + 0.07, b + 0.5 / m)
                look = {"arrowstyle": "-" if near else "-|>", "color": COLOUR["state"], "lw": 1.4}
                look |= {"linestyle": ":"} if near else {}
                top.annotate("", at[1], at[0], arrowprops=look | {"shrinkA": 2, "shrinkB": 2})
        top.text(0.64, 0.3, "state", color=COLOUR["state"])
        top.set(xlim=(-0.3, 1.12), ylim=(1.01, -0.03))
        top.set_title(name, fontsize=10)
        top.axis("off")
        bars = bottom.bar(range(R), shares(R, layout), width=0.7, color=COLOUR["first"])
        for bar, alpha in zip(bars, tint, strict=True):
            bar.set_alpha(alpha)
        bottom.axhline(1, color=COLOUR["ink"], lw=1, ls="--")
        bottom.set(ylim=(0, 2), yticks=(0, 1, 2))
        bottom.set_xticks(range(R), [f"rank {p}" for p in range(R)])
        bottom.tick_params(axis="x", length=0)
    axes[1, 0].set_ylabel("work\n(mean: 1)")
    return fig
