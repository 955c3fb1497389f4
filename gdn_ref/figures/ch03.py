"""Figures of chapter 3: the triangle in blocks, two passes, and what a chunk size costs."""

import ipywidgets
import numpy as np
from matplotlib.patches import FancyArrowPatch, Rectangle

from .style import COLOUR, figure, styled

TOKENS = 24  # of the moving figure and its twin
RIDGE = 989.4e12 / 3.35e12  # H100: dense bfloat16 FLOPs in the time that one byte takes
RIDGE_ORDINARY = 66.9e12 / 3.35e12  # the same card without its tensor cores


def harmonic(d_k, d_v):
    """The harmonic mean of the two widths, `2 d_k d_v / (d_k + d_v)`."""
    return 2 * d_k * d_v / (d_k + d_v)


def chunk_flops(C, d_k, d_v):
    """FLOPs per token of the chunk form (eq-flops-chunk)."""
    return 4 * d_k * d_v + 2 * C * (d_k + d_v)


def chunk_bytes(C, d_k, d_v, token_bytes=2, state_bytes=4):
    """Bytes per token of the chunk form, the state through memory (eq-bytes-chunk)."""
    return 2 * state_bytes * d_k * d_v / C + 2 * token_bytes * (d_k + d_v)


def best_chunk_size(d_k, d_v, state_bytes=4, ridge=RIDGE):
    """The size at which FLOPs and traffic together take least time (eq-best-chunk-size)."""
    return np.sqrt(ridge * state_bytes * harmonic(d_k, d_v) / 2)


def _triangle(ax, T, C):
    """The T x T scores: what a chunk size computes, masks away, or replaces by states."""
    for start in range(0, T, C):
        size = min(C, T - start)
        ax.add_patch(Rectangle((0, start), start, size, fc=COLOUR["state"], alpha=0.28, lw=0))
        for r in range(start, start + size):
            seen = r - start + 1
            ax.add_patch(Rectangle((start, r), seen, 1, fc=COLOUR["key"], alpha=0.75, lw=0))
            if size > seen:
                ax.add_patch(
                    Rectangle(
                        (start + seen, r),
                        size - seen,
                        1,
                        fc="none",
                        ec=COLOUR["quiet"],
                        hatch="////",
                        lw=0,
                    )
                )
        if start:
            ax.plot([0, start], [start, start], color=COLOUR["state"], lw=2.2)
    for line in range(T + 1):
        ax.plot([0, T], [line, line], color=COLOUR["quiet"], lw=0.3)
        ax.plot([line, line], [0, T], color=COLOUR["quiet"], lw=0.3)
    ax.set(xlim=(-0.2, T + 0.2), ylim=(T + 0.2, -0.2), aspect="equal", xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


@styled
def three_forms(T=12):
    """The causal triangle, walked token by token, in chunks of 4, and at once."""
    fig, axes = figure(5.4, 2.5, ncols=3)
    names = {1: "recurrence, $C = 1$", 4: "chunks, $C = 4$", T: f"one product, $C = {T}$"}
    for ax, (C, name) in zip(axes, names.items(), strict=True):
        _triangle(ax, T, C)
        ax.set_title(name, fontsize=10)
        scores, handed = T * C, T // C - 1
        ax.set_xlabel(f"{scores} scores,\n{handed} states handed on", fontsize=9)
    axes[0].set_ylabel("reader $t$")
    return fig


def multiplications(T, C, d):
    """Of the three forms for `d_k = d_v = d`; the last chunk may be shorter."""
    scores = sum(min(C, T - start) ** 2 for start in range(0, T, C))
    states = 2 * d * d * T
    return {"recurrence": states, "chunks": states + 2 * d * scores, "one product": 2 * d * T**2}


@styled
def chunk_mask(C=6, d=8, t=15, i=4):
    """The moving figure's picture: one chunk size, one pair of tokens, the three counts."""
    fig, (ax, bars) = figure(4.6, 5.0, nrows=2, height_ratios=(4, 1))
    _triangle(ax, TOKENS, C)
    ax.add_patch(Rectangle((i - 1, t - 1), 1, 1, fc="none", ec=COLOUR["ink"], lw=2))
    ax.set_title(f"C = {C}: {pair_says(C, t, i)}", fontsize=10)
    counts = multiplications(TOKENS, C, d)
    roles, longest = ("state", "ink", "key"), max(counts.values())
    for row, (count, role) in enumerate(zip(counts.values(), roles, strict=True)):
        bars.barh(row, count, color=COLOUR[role], height=0.6)
        bars.text(count + longest / 80, row, f"{count}", va="center", fontsize=9)
    bars.set_yticks(range(3), counts)
    bars.set(xlim=(0, 1.2 * longest), ylim=(2.6, -0.6), xticks=[])
    bars.set_xlabel(f"multiplications, all {TOKENS} tokens")
    return fig


def pair_says(C, t, i):
    """How reader t gets at writer i, for chunks of C tokens."""
    if (i - 1) // C < (t - 1) // C:
        return f"token {t} reads token {i} through a state"
    if i <= t:
        return f"token {t} scores token {i}"
    return "masked" if (i - 1) // C == (t - 1) // C else "never computed"


def chunk_mask_widget():
    """`chunk_mask` with sliders: the twin of the page's moving figure."""
    starts = {"C": 6, "d": 8, "t": 15, "i": 4}
    ends = {"C": TOKENS, "d": 24, "t": TOKENS, "i": TOKENS}
    return ipywidgets.interactive(
        chunk_mask,
        **{name: ipywidgets.IntSlider(starts[name], 1, ends[name]) for name in starts},
    )


@styled
def two_passes(N=4):
    """States first, outputs after: what waits for what."""
    fig, ax = figure(5.6, 2.9)
    ax.set(xlim=(-0.9, 3 * N + 0.9), ylim=(-0.2, 6.4), aspect="equal")
    ax.axis("off")
    for n in range(N):
        x = 3 * n + 0.4
        _box(ax, x, 4.6, rf"$\mathbf{{V}}_{n + 1}^\top\mathbf{{K}}_{n + 1}$", "value")
        _box(ax, x, 0.4, rf"$\mathbf{{O}}_{n + 1}$", "query")
        state = rf"$\mathbf{{S}}_{{[{n + 1}]}}$"
        ax.text(x - 0.45, 3.05, state, color=COLOUR["state"], ha="center", va="center", size=12)
        _arrow(ax, (x - 0.3, 2.7), (x + 0.6, 1.55), "state")
        _arrow(ax, (x + 1.1, 4.5), (x + 1.95, 3.45), "value")
        _arrow(ax, (x + 0.05, 3.05), (x + 2.05, 3.05), "state")
    last = rf"$\mathbf{{S}}_{{[{N + 1}]}}$"
    ax.text(3 * N - 0.05, 3.05, last, color=COLOUR["state"], ha="center", va="center", size=12)
    ax.text(-0.85, 6.0, "pass 1: all products at once, then a running sum", fontsize=9.5)
    ax.text(-0.85, -0.1, "pass 2: all outputs at once", fontsize=9.5)
    return fig


def _box(ax, x, y, text, role):
    ax.add_patch(Rectangle((x, y), 1.7, 1.0, fc="none", ec=COLOUR[role], lw=1.6))
    ax.text(x + 0.85, y + 0.5, text, ha="center", va="center", fontsize=11)


def _arrow(ax, start, end, role):
    style = {"arrowstyle": "-|>", "mutation_scale": 10, "color": COLOUR[role], "lw": 1.2}
    ax.add_patch(FancyArrowPatch(start, end, **style))


@styled
def intensity(d=128):
    """FLOPs per byte against the chunk size, the state through memory or kept on the chip."""
    fig, ax = figure(5.4, 3.4)
    C = 2.0 ** np.arange(0, 11)
    ax.loglog(C, C / 2, "o-", ms=4, color=COLOUR["first"], base=2)
    ax.loglog(C, (C + d) / 2, "s--", ms=4, color=COLOUR["second"], base=2)
    ax.text(3.2, 1.0, "state through memory: $C/2$", color=COLOUR["first"])
    ax.text(1.1, 92, "state kept on the chip: $(C + d)/2$", color=COLOUR["second"])
    for ridge, name in ((RIDGE, "tensor cores"), (RIDGE_ORDINARY, "ordinary cores")):
        ax.axhline(ridge, color=COLOUR["quiet"], lw=1, ls=":")
        ax.text(1.1, ridge * 1.12, f"{name}: {ridge:.0f}", color=COLOUR["ink"], fontsize=9)
    ax.set_xticks([1, 4, 16, 64, 256, 1024], ["1", "4", "16", "64", "256", "1024"])
    ax.set_yticks([0.5, 2, 8, 32, 128, 512], ["0.5", "2", "8", "32", "128", "512"])
    ax.minorticks_off()
    ax.set(xlabel=f"chunk size $C$ ($d_k = d_v = {d}$)", ylabel="FLOPs per byte")
    return fig


@styled
def best_size(d=128):
    """The time of FLOPs and of traffic per token against the chunk size, and their sum."""
    fig, ax = figure(5.4, 3.4)
    C = np.geomspace(16, 2048, 200)
    work, traffic = chunk_flops(C, d, d), RIDGE * chunk_bytes(C, d, d)
    for part, role, dashes, name in (
        (work, "flops", "--", "FLOPs"),
        (traffic, "bytes", "-.", "bytes"),
        (work + traffic, "time", "-", "both"),
    ):
        ax.semilogx(C, part / 1e6, dashes, color=COLOUR[role], label=name, base=2)
    best = best_chunk_size(d, d)
    for size in (64, 256):
        total = chunk_flops(size, d, d) + RIDGE * chunk_bytes(size, d, d)
        ax.plot(size, total / 1e6, "o", color=COLOUR["time"])
        ax.annotate(f"$C = {size}$", (size, total / 1e6), (size * 1.08, total / 1e6 + 0.12))
    ax.axvline(best, color=COLOUR["quiet"], lw=0.8, ls=":")
    ax.text(best * 1.06, 0.06, rf"$C_\ast = {best:.0f}$")
    ax.set_xticks([16, 64, 256, 1024], ["16", "64", "256", "1024"])
    ax.minorticks_off()
    ax.set(
        xlabel=f"chunk size $C$ ($d_k = d_v = {d}$)",
        ylabel="time per token,\nin that of $10^6$ FLOPs",
        ylim=(0, 2.2),
    )
    ax.legend(loc="upper right")
    return fig
