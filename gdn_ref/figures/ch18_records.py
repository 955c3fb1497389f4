"""Chapter 18: what two cards were predicted to do, and what was recorded.

`kernels/bench/across_ranks.py` wrote the records: two H200, with each rank's part alone; another
pair; a pair that ran the first version; two H200 in float32; two H100, which ran the version after
that of the first; two H200 with packed sequences in order and by length, and with twice and thrice
the tokens, and a last run of each batch; fla's ranks on two H200; and each rank's part in turn on
one H100, likewise. Speeds are in those of one card of the same kind.
"""

import json

import torch

from ..distributed import CPContext
from ..distributed.felt import LEAST, Bounds
from .ch18_model import (
    GROUPS,
    Layer,
    beyond_flops,
    forward_time,
    relay_speedup,
    shard_speedups,
    token_seconds,
)
from .places import RECORDS
from .style import COLOUR, figure, styled
from .table import Table

PASSES = {"forward": "forward", "both": "both passes"}
TWO_CARDS, OTHER_PAIR, FIRST = "two_h200", "two_h200_other", "two_h200_first"
FEWER_BLOCKS, HALVES = "two_h100_blocks", "two_h100_halves"
IN_ORDER, BY_LENGTH = "two_h200_in_order", "two_h200_by_length"
TWICE, TWICE_AGAIN, THRICE = "two_h200_double", "two_h200_double_again", "two_h200_long"
THRICE_AGAIN = "two_h200_long_again"
ZIGZAG, LAST, FLA = "two_h200_zigzag", "two_h200_last", "two_h200_fla"


def record(name):
    return json.loads((RECORDS / f"ranks_{name}.json").read_text())


def felt_tokens(T=2**18, heads=(16, 32), decay=True, dtype=torch.float32):
    """Of the second of two ranks: its tokens that feel the state, by value head; states have this
    dtype, or outputs, of which the same is asked. The decays are drawn as in the benchmark, up to
    exp(-7) in the first value head and up to 1 in the last."""
    rank = CPContext.alone(torch.tensor([0, T]), 1, 2)
    torch.manual_seed(0)
    size = (1, rank.length, heads[1])
    g = -torch.exp(torch.linspace(-7, 0, heads[1])) * torch.rand(size) if decay else None
    k, beta = torch.empty(1, rank.length, heads[0], 0), torch.rand(size)
    least = LEAST * torch.finfo(dtype).eps
    options = {"use_qk_l2norm_in_kernel": True}
    options |= {"use_gate_in_kernel": False, "use_beta_sigmoid_in_kernel": False}
    return Bounds(options, (k, k, k, g, beta), {}, rank, torch.float32).felt(least)[0]


def by_flops(way, passes):
    """Before any run: all tokens of a shard feel the state, and links as assumed."""
    if way == "relay":
        return relay_speedup(2)
    if way == "heads":  # the model has no backward pass of it
        T = 2**18
        return T * token_seconds() / forward_time(2, T, "heads") if passes == "forward" else None
    return shard_speedups(2, beyond_flops(backward=passes == "both"))[0]


def beyond_felt(layer=None, C=64):
    """x by FLOPs if only what is felt is answered: in a second run, which finds the products of
    keys with keys and with queries again."""
    layer, tokens = layer or Layer(), felt_tokens()
    felt_share = sum(tokens) / (len(tokens) * 2**17)
    return felt_share * (layer.again(C) + 4 * C * layer.d_k) / layer.forward(C)


def in_turn(way, passes):
    """By the slower rank's part alone; a relay waits for one group of heads more."""
    if way == "heads":
        return None
    if way == "sequence":
        run = record(TWO_CARDS)
        parts = [part[list(PASSES).index(passes)] for part in run["parts_s"]]
        return run["batches"]["one sequence"]["one"][f"{passes}_s"] / max(parts)
    parts = [rank[way][f"{passes}_beyond"] for rank in record("in_turn_h100")["ranks"]["2"]]
    return 2 / (1 + max(parts)) / (1 + 1 / GROUPS)


def measured(way, passes, batch="one sequence", run=TWO_CARDS):
    """Two cards; pairs along a ring."""
    name = "sequence, ring" if way == "sequence" else way
    return record(run)["batches"][batch][name][f"{passes}_speedup"]


WAYS = {"sequence": "pairs", "relay": "relay", "heads": "all-to-all"}
HOW = {"by formula": by_flops, "parts alone": in_turn, "two cards": measured}


def table():
    """Both passes of each way, by each of `HOW`, packed and in zig-zag shards; times one card."""
    rows = []
    for way, name in WAYS.items():
        for passes, text in PASSES.items():
            found = [of(way, passes) for of in HOW.values()]
            found += [measured(way, passes, batch) for batch in ("packed", "zig-zag")]
            cells = (None if x is None else f"{x:.2f}" for x in found)
            rows.append((f"{name}, {text}", *cells))
    return Table(("times one card", *HOW, "packed", "zig-zag"), rows)


def errors():
    """Least and largest error of one sequence against one card, of all results and ways."""
    ways = record(TWO_CARDS)["batches"]["one sequence"]
    found = [x for way in ways.values() for x in way.get("errors", {}).values() if x]
    return min(found), max(found)


@styled
def two_cards():
    """Predicted and measured, way by way."""
    fig, axes = figure(6.4, 2.6, ncols=2, sharey=True)
    looks = {
        "by formula": ("o", "none", "quiet"), "parts alone": ("s", "none", "first"),
        "two cards": ("D", "second", "second"),
    }  # fmt: skip
    for ax, (passes, title) in zip(axes, PASSES.items(), strict=True):
        for n, way in enumerate(WAYS):
            ax.axhline(n, color=COLOUR["quiet"], lw=0.4)
            for how, (marker, fill, edge) in looks.items():
                x = HOW[how](way, passes)
                if x is not None:
                    look = {
                        "mfc": COLOUR.get(fill, fill),
                        "mec": COLOUR[edge],
                        "ms": 10 if how == "by formula" else 7,
                    }
                    ax.plot(x, n, marker, ls="", label=how if n == 0 else None, **look)
        ax.axvline(1, color=COLOUR["ink"], lw=1, ls="--")
        ax.set(xlim=(0, 2.05), ylim=(2.6, -0.6), xlabel="times as fast as one card")
        ax.set_yticks(range(len(WAYS)), WAYS.values())
        ax.tick_params(axis="y", length=0)
        ax.set_title(title, fontsize=10, loc="left")
    fig.legend(
        *axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=3, fontsize=9
    )
    return fig
