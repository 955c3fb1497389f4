"""Figures of chapter 16: bytes of each kernel, groups of warps, small gradients, recorded times."""

import ipywidgets as widgets
import numpy as np
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

from .ch14_model import Shape
from .ch16_model import (
    TRAINING,
    error_of_dv,
    floor_bytes,
    history,
    kept_inputs,
    limits,
    plan,
)
from .style import COLOUR, FORMAT, figure, live, styled

# what each kernel reads, and what it writes
FLOWS = {
    "0  inverses": ("k g β", "T c"),
    "1  chunk_states": ("k v β c T S", "H"),
    "2  state_gradients": ("q k dO β c T dS′", "dv G dS"),
    "3  chunk_gradients": ("q k v dO β c T dv H G", "dq dk dg dβ"),
}
ROLES = {"q": "query", "k": "key", "v": "value", "dO": "query", "T": "first", "Z": "error"}
ROLES |= {"H": "state", "G": "state", "S": "state", "dS": "state", "dS′": "state", "c": "decay"}
ROLES |= {"g": "decay", "β": "error", "dg": "decay", "dβ": "error", "dq": "query", "dk": "key"}
ROLES |= {"dv": "value"}
SHOWN = {"T": "L", "H": "$S_n$", "G": "d$S_n$"}


def _names(ax, x, y, names, step):
    for n, name in enumerate(names.split()):
        ax.text(x + step * n, y, SHOWN.get(name, name), va="center", ha="center",
                color=COLOUR[ROLES[name]], fontsize=11)  # fmt: skip


@styled
def four_launches():
    """Four kernels above, memory below: what goes up is read, what goes down is written."""
    fig, axes = figure(4.6, 5.2, nrows=4)
    for ax, (name, (reads, writes)) in zip(axes, FLOWS.items(), strict=True):
        ax.set(xlim=(0, 10), ylim=(0, 4.4))
        ax.axis("off")
        ax.add_patch(FancyBboxPatch((0.3, 3.2), 9.3, 0.85, boxstyle="round,pad=0.1", fc="none"))
        ax.text(5, 3.62, name, ha="center", va="center")
        ax.add_patch(Rectangle((0.1, 0), 9.8, 0.6, fc=COLOUR["quiet"], alpha=0.25, lw=0))
        ax.text(0.3, 0.28, "memory", va="center", fontsize=8)
        for arrow, names, y in (("↑", reads, 2.3), ("↓", writes, 1.3)):
            ax.text(0.2, y, arrow, va="center", color=COLOUR["quiet"])
            _names(ax, 1.0, y, names, 0.92)
    return fig


def parts_of_bytes(d=128, group=2, C=64, b=2):
    """Kernel -> array -> bytes for a token and value head of a long sequence."""
    key, value, T, state = b * d / group, b * d, b * C, b * d * d / C
    return {
        "floor": {"q, k": 4 * key, "v, dO, dV": 3 * value, "g, β, c": 16},
        "inverses": {"q, k": key, "T": T, "g, β, c": 12},
        "chunk_states": {"q, k": key, "v, dO, dV": value, "T": T, "states": state, "g, β, c": 8},
        "state_gradients": {"q, k": 2 * key, "v, dO, dV": 2 * value, "T": T, "states": state,
                            "g, β, c": 8},
        "chunk_gradients": {"q, k": 4 * key, "v, dO, dV": 3 * value, "T": T, "states": 2 * state,
                            "g, β, c": 16},
    }  # fmt: skip


@styled
def bytes_of_kernels(d=128, group=2):
    """Where the bytes of a token and value head go, kernel by kernel."""
    fig, ax = figure(6.4, 2.9)
    paint = {"q, k": "key", "v, dO, dV": "value", "T": "first", "states": "state"}
    paint |= {"g, β, c": "decay"}
    parts = parts_of_bytes(d, group)
    for row, (_, arrays) in enumerate(parts.items()):
        left = 0
        for name, size in arrays.items():
            made = name in ("T", "states")
            style = {"fc": COLOUR[paint[name]], "alpha": 0.45 if made else 0.9, "ec": "white"}
            ax.barh(row, size, left=left, height=0.62, hatch="///" if made else None, **style)
            if size > 300:
                ax.text(left + size / 2, row, name, ha="center", va="center", fontsize=8.5,
                        color=COLOUR["ink"] if made else "white")  # fmt: skip
            left += size
        ax.text(left + 25, row, f"{left:,.0f}", va="center")
    ax.set_yticks(range(len(parts)), parts)
    ax.set(ylim=(len(parts) - 0.4, -0.6), xlim=(0, 3000))
    ax.set_xlabel(f"bytes per token and value head ($d = {d}$, {group} value heads per key head)")
    return fig


GROUPS = {"feed_warp": "quiet", "delta_warps": "error", "key_warps": "key"}
GROUPS |= {"pair_warps": "decay", "query_warps": "query"}
WORK = {  # group -> (column, width, what it does)
    "feed_warp": ((0, 2, "q, k"), (2, 3, "slice 1:\nS v Z dO\ndS L"), (5, 3, "slice 2"),
                  (8, 3, "next head")),
    "delta_warps": ((5, 3, "R, then E\nS dSᵀ"), (8, 3, "R, then E\nS dSᵀ"), (11, 2.4, "sums")),
    "key_warps": ((5, 3, "dK −= Z S"), (8, 3, "dK += E dS\ndK −= Z S"),
                  (11, 2.4, "dK += …\nsums"), (15, 3, "dK += Xᵀ Q\n+ N K\n+ Nᵀ K")),
    "pair_warps": ((8, 3, "X += dO Eᵀ\nY += Z Eᵀ"), (11, 2.4, "X += …\nY += …"),
                    (13.4, 1.6, "X, N"), (15, 3, "dβ, dg")),
    "query_warps": ((5, 3, "dQ += dO S\ndV"), (8, 3, "dQ += dO S\ndV"), (11, 2.4, "sums"),
                    (15, 3, "dQ += X K")),
}  # fmt: skip
HANDED = (  # what is handed over, in which column, from which group to which
    ("tiles", 5, "feed_warp", ("delta_warps", "key_warps", "query_warps")),
    ("E", 8, "delta_warps", ("key_warps", "pair_warps")),
    ("X, N", 15, "pair_warps", ("key_warps", "query_warps")),
)


@styled
def groups_of_warps():
    """Five groups of warps of kernel 3 on Hopper: one chunk, one value head, two slices."""
    fig, ax = figure(5.2, 5.4)
    ax.set(xlim=(-0.3, 18.3), ylim=(-0.8, 15.2))
    ax.axis("off")
    rows = {name: 12.6 - 3 * n for n, name in enumerate(GROUPS)}
    for name, role in GROUPS.items():
        ax.text(0.08, rows[name] + 2.1, name, va="center", fontsize=10)
        paint = {"color": COLOUR[role], "alpha": 0.25}
        for x, width, text in WORK[name]:
            ax.add_patch(Rectangle((x + 0.12, rows[name]), width - 0.24, 1.7, **paint))
            ax.text(x + width / 2, rows[name] + 0.85, text, ha="center", va="center", fontsize=8.5)
    arrow = {"arrowstyle": "-|>", "mutation_scale": 11, "lw": 1.5, "shrinkA": 0, "shrinkB": 0}
    for what, x, start, ends in HANDED:
        for end in ends:
            down = rows[start] > rows[end]
            y, y_end = rows[start] + (0 if down else 1.7), rows[end] + (1.7 if down else 0)
            ax.add_patch(FancyArrowPatch((x, y), (x, y_end), color=COLOUR["ink"], **arrow))
        ax.text(x - 0.25, rows[start] - 0.65, what, ha="right", va="center", fontsize=9,
                color=COLOUR["ink"])  # fmt: skip
    ax.text(0.08, -0.5, "time →", fontsize=9, color=COLOUR["quiet"])
    return fig


@styled
def small_gradients():
    """The error of dV when the transposed solve is done in either 16-bit type."""
    fig, ax = figure(6.0, 2.9)
    powers = np.arange(0, -31, -2)
    for dtype, mark in (("float16", "o-"), ("bfloat16", "s-")):
        errors = [error_of_dv(2.0**n, dtype) for n in powers]
        ax.loglog(2.0**powers, errors, mark, ms=4, color=COLOUR[FORMAT[dtype]], label=dtype)
    ax.axvline(2.0**-24, color=COLOUR["quiet"], ls="--", lw=1)
    ax.text(2.0**-24.4, 3e-4, "least number\nof float16", ha="left", fontsize=8,
            color=COLOUR["quiet"])  # fmt: skip
    ax.invert_xaxis()
    ax.set(xlabel="size of an entry of dO", ylabel="relative error of dV", ylim=(1e-4, 2))
    ax.legend(loc="center left")
    return fig


@styled
def bytes_and_times(shape_name=TRAINING):
    """Each kernel: the time of its bytes and of its FLOPs, and the recorded time."""
    found = limits(shape_name)
    fig, ax = figure(6.4, 3.2)
    rows = np.arange(len(found))
    for shift, (label, role, hatch) in zip(
        (-0.27, 0, 0.27),
        (
            ("by its bytes", "bytes", "//"),
            ("by its FLOPs", "flops", ".."),
            ("recorded", "time", ""),
        ),
        strict=True,
    ):
        n = ("by its bytes", "by its FLOPs", "recorded").index(label)
        values = [row[n] for row in found.values()]
        ax.barh(rows + shift, values, 0.25, color=COLOUR[role], hatch=hatch, label=label,
                edgecolor="white")  # fmt: skip
        for y, us in zip(rows + shift, values, strict=True):
            if us:
                ax.text(us, y, f" {us:,.0f}", va="center", fontsize=8, color=COLOUR["ink"])
    ax.set_yticks(rows, found)
    ax.invert_yaxis()
    ax.set(xlabel="µs", xlim=(0, 1.12 * max(max(row) for row in found.values())))
    ax.legend(loc="upper right")
    return fig


@styled
def waterfall(shape_name=TRAINING):
    """Recorded time of kernels 2 and 3 after each step."""
    panels = ("state_gradients", "chunk_gradients")
    found = [history(kernel, shape_name) for kernel in panels]
    fig, axes = figure(5.6, 5.0, nrows=2, height_ratios=[len(steps) for steps in found])
    for ax, kernel, steps in zip(axes, panels, found, strict=True):
        rows, us = np.arange(len(steps)), [time for _, time in steps]
        ax.barh(rows, us, 0.62, color=COLOUR["time"])
        for row, time in enumerate(us):
            ax.text(time, row, f"  {time:,.0f} µs", va="center", fontsize=8, color=COLOUR["ink"])
        ax.set_yticks(rows, [name for name, _ in steps], fontsize=8)
        ax.invert_yaxis()
        ax.set_title(kernel, fontsize=9, loc="left")
        ax.set(xlim=(0, 1.2 * max(us)), xticks=[])
        ax.spines["bottom"].set_visible(False)
        ax.tick_params(length=0)
    return fig


@styled
def memory_and_time(keep=False, segment=64, T=4096, heads=32, layers=24, B=4, d=128):
    """One plan: what waits between the passes, what one layer needs, what it moves."""
    x = Shape(B * (T,), heads // 2, heads, d, d)
    found, full = plan(x, keep, segment), plan(x)
    fig, axes = figure(6.2, 3.0, nrows=3)
    floor, inputs = floor_bytes(x), layers * kept_inputs(x)
    bars = (
        ("kept in all layers", {"inputs": inputs, "states": layers * found["kept"]},
         inputs + layers * plan(x, True)["kept"]),
        ("at work in one layer", found["work"], sum(full["work"].values())),
        ("moved in one layer", {"floor": floor, "more": found["moved"] - floor},
         1.35 * full["moved"]),
    )  # fmt: skip
    paint = {"inputs": "quiet", "states": "state", "inverses": "first", "gradients": "second"}
    paint |= {"floor": "quiet", "more": "bytes"}
    for ax, (title, parts, most) in zip(axes, bars, strict=True):
        left = 0
        for name, size in parts.items():
            ax.barh(0, size, left=left, color=COLOUR[paint[name]])
            if size > 0.12 * most:
                ax.text(left + size / 2, 0, name, ha="center", va="center", color="white")
            left += size
        size = f"{left / 1e12:.3g} TB" if left >= 1e12 else f"{left / 1e9:.3g} GB"
        ax.text(left + 0.01 * most, 0, size, va="center", fontsize=9)
        ax.set(xlim=(0, 1.15 * most), xticks=[], yticks=[])
        ax.set_title(title, fontsize=9, loc="left")
        ax.spines["bottom"].set_visible(False)
    return fig


def memory_and_time_widget():
    """`memory_and_time` with sliders."""

    def powers(name, first, last, value):
        options = [2**n for n in range(first, last + 1)]
        return widgets.SelectionSlider(options=options, value=value, description=name)

    return live(
        memory_and_time,
        keep=widgets.Checkbox(value=False, description="keep states and inverses"),
        segment=powers("segment", 0, 10, 64),
        T=powers("tokens", 9, 16, 4096),
        heads=powers("heads", 2, 6, 32),
        layers=widgets.IntSlider(value=24, min=1, max=96, description="layers"),
    )
