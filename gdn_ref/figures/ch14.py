"""Figures of chapter 14: three designs, their bytes, and the roofline."""

import ipywidgets as widgets
import numpy as np
from matplotlib.patches import FancyBboxPatch, Rectangle

from .ch14_model import (
    BANDWIDTH,
    PEAK,
    RIDGE,
    Shape,
    floor_bytes,
    limits,
    overlap_flops,
    scan_flops,
    segment_flops,
)
from .style import COLOUR, figure, live, styled

LIMITS = {"bytes": "bytes", "FLOPs": "flops", "chain": "time"}  # name -> colour

# what each kernel reads, and what it writes; those that are no input and no output in the middle
FLOWS = {
    "the floor": [("one kernel", "q k v g β S", "o S′")],
    "three kernels": [
        ("prepare", "k v g β", "W U c"),
        ("states", "k W U c S", "H E S′"),
        ("outputs", "q k E H c", "o"),
    ],
    "two kernels": [("transform", "k g β", "T c"), ("scan", "q k v T c S", "o S′")],
}
ROLES = {"q": "query", "k": "key", "W": "key", "g": "decay", "β": "error", "c": "decay"}
ROLES |= {"S": "state", "S′": "state", "H": "state", "T": "first", "E": "error"}
NAMES = {"H": "$S_n$", "S′": "$S'$"}


@styled
def data_flow():
    """Kernels above, memory below: what goes up is read, what goes down is written."""
    fig, ax = figure(6.4, 4.4)
    ax.set(xlim=(0, 19.5), ylim=(-0.5, 13.5))
    ax.axis("off")
    for row, (design, kernels) in enumerate(FLOWS.items()):
        y = 9.4 - 4.7 * row
        ax.text(0, y + 3.1, design, va="center", fontweight="bold")
        ax.add_patch(Rectangle((4.2, y - 0.4), 15.2, 0.8, fc=COLOUR["quiet"], alpha=0.25, lw=0))
        ax.text(4.4, y - 0.03, "memory", va="center", fontsize=9)
        for n, (name, reads, writes) in enumerate(kernels):
            x = 4.5 + 5.1 * n
            box = FancyBboxPatch((x, y + 2.65), 4.2, 0.9, boxstyle="round,pad=0.1", fc="none")
            ax.add_patch(box)
            ax.text(x + 2.1, y + 3.1, name, ha="center", va="center")
            for arrow, names, height in (("↑", reads, 1.85), ("↓", writes, 0.95)):
                ax.text(x - 0.1, y + height, arrow, va="center", color=COLOUR["quiet"])
                _names(ax, x + 0.45, y + height, names.split())
    return fig


def _names(ax, x, y, names):
    for n, name in enumerate(names):
        colour = COLOUR[ROLES.get(name, "value")]
        ax.text(x + 0.68 * n, y, NAMES.get(name, name), va="center", color=colour)


def bytes_by_array(d=128, group=2, C=64, b=2):
    """Bytes for a token and value head of a long sequence, by design and array."""
    key, value, small = b * d / group, b * d, 4
    floor = {"q": key, "k": key, "v, o": 2 * value, "g, β, c": 2 * small}
    two = floor | {"k": 2 * key, "g, β, c": 4 * small, "T": 2 * b * C}
    three = floor | {"k": 3 * key, "g, β, c": 5 * small, "W, U": 4 * value, "E": 2 * value}
    three["states"] = 2 * b * d * d / C
    return {"floor": floor, "two kernels": two, "three kernels": three}


@styled
def bytes_of_designs(d=128, group=2):
    """Where the bytes of a token and value head go."""
    fig, ax = figure(6.2, 2.5)
    paint = {"q": "query", "k": "key", "v, o": "value", "g, β, c": "decay", "T": "first"}
    paint |= {"W, U": "quiet", "E": "error", "states": "state"}
    for row, parts in enumerate(bytes_by_array(d, group).values()):
        left = 0
        for name, size in parts.items():
            made = name in ("T", "W, U", "E", "states")
            style = {"fc": COLOUR[paint[name]], "alpha": 0.45 if made else 0.9, "ec": "white"}
            ax.barh(row, size, left=left, height=0.62, hatch="///" if made else None, **style)
            if size > 110:
                colour = COLOUR["ink"] if made else "white"
                ax.text(left + size / 2, row, name, ha="center", va="center", color=colour)
            left += size
        ax.text(left + 30, row, f"{left:,.0f}", va="center")
    ax.set_yticks(range(3), bytes_by_array(d, group))
    ax.set(ylim=(2.6, -0.6), xlim=(0, 4050))
    ax.set_xlabel(f"bytes per token and value head ($d = {d}$, {group} value heads per key head)")
    return fig


def kernels_on_the_roof(d=128, group=2, C=64, b=2):
    """FLOPs and bytes of each kernel, for a token and value head; the solve is left out."""
    key, value, s = b * d / group, b * d, -(-d // 64)
    T, state = b * C, b * d * d / C
    return {
        "transform": (d * (C + 16) / group, key + 12 + T, "two"),
        "scan": (6 * d * d + 4 * C * d + 2 * s * C * d, 2 * key + 2 * value + T + 4, "two"),
        "prepare": (d * (C + 16) / group + 4 * C * d, key + 3 * value + 12, "three"),
        "states": (4 * d * d, key + 3 * value + state + 4, "three"),
        "outputs": (2 * d * d + 4 * C * d, 2 * key + 2 * value + state + 4, "three"),
    }


def _roof(ax):
    at = np.array([1, RIDGE, 2000])
    ax.loglog(at, np.minimum(at * BANDWIDTH, PEAK) / 1e12, color=COLOUR["ink"], lw=1.6)
    ax.axvline(RIDGE, color=COLOUR["quiet"], lw=0.8, ls=":")
    ax.set(xlabel="FLOPs a byte", ylabel=r"$10^{12}$ FLOPs a second", xlim=(6, 2000))
    ax.set(ylim=(1, 2500))


PLACES = {  # of the kernels' names
    "transform": (10, -10),
    "scan": (-52, 8),
    "prepare": (-76, -2),
    "states": (8, -13),
    "outputs": (-66, 10),
}


@styled
def kernels_under_the_roof():
    """Every kernel of both designs at its intensity, under the roof of an H100."""
    fig, ax = figure(5.6, 3.6)
    _roof(ax)
    marks = {"two": ("o", "first", "none"), "three": ("s", "second", COLOUR["second"])}
    for name, (flops, moved, design) in kernels_on_the_roof().items():
        shape_, role, fill = marks[design]
        x = flops / moved
        y = min(x * BANDWIDTH, PEAK) / 1e12
        ax.plot(x, y, shape_, ms=8, color=COLOUR[role], mfc=fill, mew=2)
        ax.annotate(f"{name} {x:.0f}", (x, y), PLACES[name], textcoords="offset points",
                    color=COLOUR[role])  # fmt: skip
    ax.text(RIDGE * 1.06, 12, f"ridge {RIDGE:.0f}", color=COLOUR["quiet"])
    ax.set_ylim(10, 2500)
    ax.text(7, 1400, "circles: two kernels, squares: three", fontsize=9)
    return fig


def forward(C=64, heads=32, d=128, T=32768, segments=1):
    """One sequence in numbers: bytes, FLOPs and the microseconds of each limit."""
    x = Shape((T,), max(heads // 2, 1), heads, d, d)
    segments = min(segments, -(-T // C))
    flops = scan_flops(x, C) + overlap_flops(x, C)
    flops += segment_flops(x, segments, C) if segments > 1 else 0
    times = limits(x, segments, C)
    return x, flops, times, floor_bytes(x) / BANDWIDTH * 1e6


@styled
def roofline(C=64, heads=32, d=128, T=32768, segments=1):
    """The moving figure's picture: the whole forward pass under the roof, and its limits."""
    x, flops, times, floor = forward(C, heads, d, T, segments)
    fig, (ax, bars) = figure(4.8, 4.8, nrows=2, height_ratios=(1.7, 1))
    _roof(ax)
    intensity = flops / (times["bytes"] * BANDWIDTH / 1e6)
    roof = min(intensity * BANDWIDTH, PEAK) / 1e12
    reached = flops / max(times.values()) / 1e6
    ax.plot([intensity, intensity], [reached, roof], color=COLOUR["time"], lw=2)
    ax.plot(intensity, roof, "o", ms=8, mfc="none", color=COLOUR["ink"])
    ax.plot(intensity, reached, "o", ms=8, color=COLOUR["time"])
    binds = max(times, key=times.get)
    decide = "the chain decides" if binds == "chain" else f"the {binds} decide"
    ax.set_title(f"{intensity:.0f} FLOPs a byte; {decide}", fontsize=10)
    ax.set(ylim=(min(1, reached / 2), 2500))
    rows = {"floor": floor} | times
    for row, (name, time) in enumerate(rows.items()):
        colour = COLOUR[LIMITS.get(name, "quiet")]
        bars.barh(row, time, left=0, color=colour, height=0.65, log=True)
        bars.text(time * 1.1, row, f"{time:.3g}", va="center", fontsize=9)
    low = min(rows.values()) / 4
    bars.set(xlim=(low, max(rows.values()) * 4), ylim=(3.6, -0.6), xlabel="microseconds")
    bars.set_yticks(range(4), rows)
    return fig


def roofline_widget():
    """`roofline` with sliders: chunk size, value heads, width, tokens, segments."""
    sizes = {"C": (64, (16, 32, 64, 128, 256)), "heads": (32, (1, 2, 4, 8, 16, 32, 64, 128))}
    sizes |= {"d": (128, (32, 64, 128, 256))}
    sizes |= {"T": (32768, tuple(2**n for n in range(6, 19)))}
    sizes |= {"segments": (1, (1, 2, 4, 8, 16, 32))}
    return live(
        roofline,
        **{
            name: widgets.SelectionSlider(options=options, value=value, description=name)
            for name, (value, options) in sizes.items()
        },
    )
