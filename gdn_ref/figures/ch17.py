"""Figures of chapter 17: padded and packed batches, leaks, slots, bytes of a token, drift."""

from itertools import pairwise

import ipywidgets as widgets
import numpy as np
import torch
from matplotlib.patches import Rectangle

from gdn_ref import decode

from .ch14_model import BANDWIDTH
from .ch17_drift import state_drift
from .style import COLOUR, FORMAT, SERIES, figure, live, styled

TOKENS = 64  # of the moving figure and its twin
UNIT = {torch.bfloat16: 2.0**-8, torch.float16: 2.0**-11, torch.float32: 2.0**-24}


def tiles(cu_seqlens, C):
    """For each slot: sequence, first token and end of its chunk, or None (eq-chunk-slot)."""
    N = len(cu_seqlens) - 1
    slots = [None] * (cu_seqlens[-1] // C + N)
    for n, (begin, end) in enumerate(pairwise(cu_seqlens)):
        for j, start in enumerate(range(begin, end, C)):
            slots[begin // C + n + j] = (n, start, min(start + C, end))
    return slots


def padding_share(lengths):
    """Share of a padded batch's rows that hold no token (eq-padding-share)."""
    return 1 - sum(lengths) / (len(lengths) * max(lengths))


def _box(ax, x, y, width, role, alpha=0.85, **look):
    ax.add_patch(Rectangle((x, y), width, 0.8, fc=COLOUR[role], alpha=alpha, lw=0, **look))


def _nothing(ax, x, y, width):
    ax.add_patch(Rectangle((x, y), width, 0.8, fc="none", ec=COLOUR["quiet"], hatch="////", lw=0.4))


@styled
def ruler(first=20, second=32, third=58, C=16):
    """The moving figure's picture: one row of four sequences, its slots, and the padded batch."""
    cu_seqlens = [0, *sorted((first, second, third)), TOKENS]
    slots, lengths = tiles(cu_seqlens, C), np.diff(cu_seqlens).tolist()
    fig, ax = figure(6.2, 3.9)
    ax.set(xlim=(-1, TOKENS + 1), ylim=(9.2, -1.2))
    ax.axis("off")
    for n, (begin, end) in enumerate(pairwise(cu_seqlens)):
        _box(ax, begin, 0, end - begin, SERIES[n])
        ax.text(begin, -0.15, begin, ha="center", va="bottom", fontsize=9)
    width = TOKENS / len(slots)
    for slot, chunk in enumerate(slots):
        x = slot * width
        ax.text(x + width / 2, 4.25, slot, ha="center", fontsize=9)
        if chunk is None:
            ax.add_patch(Rectangle((x + 0.3, 2.6), width - 0.6, 0.8, fc="none", ls=":",
                                   ec=COLOUR["quiet"]))  # fmt: skip
            continue
        n, start, end = chunk
        full = width - 0.6
        _box(ax, x + 0.3, 2.6, full * (end - start) / C, SERIES[n])
        if end - start < C:
            _nothing(ax, x + 0.3 + full * (end - start) / C, 2.6, full * (1 - (end - start) / C))
        ax.plot([start, x + 0.3], [0.85, 2.55], color=COLOUR[SERIES[n]], lw=0.8)
    for n, length in enumerate(lengths):
        _box(ax, 0, 5.2 + n, length, SERIES[n])
        _nothing(ax, length, 5.2 + n, max(lengths) - length)
    idle = slots.count(None)
    ax.set_title(
        f"{len(slots) - idle} chunks in {len(slots)} slots, {idle} idle; "
        f"padded: {padding_share(lengths):.0%} of the rows empty", fontsize=10,
    )  # fmt: skip
    return fig


def ruler_widget():
    """`ruler` with sliders for the three boundaries and the chunk size."""
    limits = {"min": 0, "max": TOKENS}
    sliders = {"first": 20, "second": 32, "third": 58}
    made = {name: widgets.IntSlider(value=x, **limits) for name, x in sliders.items()}
    made["C"] = widgets.SelectionSlider(options=(4, 8, 16, 32), value=16)
    for name, slider in made.items():
        slider.description = name
    return live(ruler, **made)


@styled
def padded_and_packed(lengths=(113, 37, 205, 64, 18, 90), C=64):
    """The same sequences as a batch with padding and as one row of chunks."""
    fig, (above, below) = figure(6.2, 3.3, nrows=2, height_ratios=(len(lengths), 1.3))
    longest = max(lengths)
    for n, length in enumerate(lengths):
        _box(above, 0, n, length, "first")
        _nothing(above, length, n, longest - length)
        above.text(length - 2, n + 0.42, length, color="white", ha="right", va="center", fontsize=9)
    above.set(xlim=(-1, sum(lengths) + 14), ylim=(len(lengths), -0.3), yticks=[])
    above.set_ylabel("padded", rotation=0, ha="right", va="center")
    start = 0
    for length in lengths:
        _box(below, start, 0, length, "first")
        for cut in range(C, length, C):
            below.plot([start + cut] * 2, [0, 0.8], color="white", lw=1)
        start += length
        below.plot([start] * 2, [-0.2, 1], color=COLOUR["ink"], lw=1.4)
    below.set(xlim=(-1, sum(lengths) + 14), ylim=(1.1, -0.4), yticks=[], xlabel="tokens")
    below.set_ylabel("packed", rotation=0, ha="right", va="center")
    for ax in (above, below):
        ax.spines[:].set_visible(False)
    above.set_xticks([])
    return fig


def leak(alpha, beta, T=128, d=32, seed=0):
    """Size of a leaked state after each token, relative to the leak (eq-packed-leak)."""
    rng = np.random.default_rng(seed)
    D = rng.normal(size=(d, d))
    sizes = [np.linalg.norm(D)]
    for k in rng.normal(size=(T, d)):
        k /= np.linalg.norm(k)
        D = alpha * (D - beta * np.outer(D @ k, k))
        sizes.append(np.linalg.norm(D))
    return np.array(sizes) / sizes[0]


@styled
def leaks():
    """How long a neighbour's state stays in a sequence, with and without the correction."""
    fig, ax = figure(5.8, 3.2)
    for alpha, role in ((0.9, "first"), (0.99, "second"), (0.999, "third")):
        ax.semilogy(leak(alpha, 0.5), color=COLOUR[role])
        ax.semilogy(leak(alpha, 0.0), ":", color=COLOUR[role])
    for x, y, text, role in ((12, 2.2e-2, "α = 0.9", "first"), (90, 6e-2, "0.99", "second"),
                             (112, 5.2e-1, "0.999", "third")):  # fmt: skip
        ax.text(x, y, text, color=COLOUR[role])
    ax.set(xlabel="tokens after the missing boundary", ylabel="what is left of the leak")
    ax.set(ylim=(1e-3, 1.5), xlim=(0, 128))
    return fig


@styled
def batching(steps, slots):
    """Who has which slot in each step; dark: the step that reads a prompt."""
    fig, ax = figure(6.2, 1.0 + 0.42 * slots)
    names = sorted({name for step in steps for name, _ in step.values()})
    for t, step in enumerate(steps):
        for slot, (name, first) in step.items():
            role = (*SERIES, "ink")[names.index(name)]
            _box(ax, t, slot, 0.92, role, alpha=0.95 if first else 0.45)
            if first:
                ax.text(t + 0.46, slot + 0.42, name, color="white", ha="center", va="center")
    ax.set(xlim=(-0.2, len(steps)), ylim=(slots, -0.2), xlabel="step")
    ax.set_xticks(range(0, len(steps) + 1, 5))
    ax.set_yticks(np.arange(slots) + 0.4, [f"slot {n}" for n in range(slots)])
    ax.tick_params(left=False)
    ax.spines["left"].set_visible(False)
    return fig


def token_bytes(n, b_S, N=1, H_k=16, H_v=32, d=128, b=2):
    """Bytes a token, in a call for n tokens of each of N sequences (eq-decode-bytes)."""
    return 2 * b_S * H_v * d * d / n + 2 * b * (H_k + H_v) * d + 8 * H_v


@styled
def bytes_a_token():
    """What one token of one sequence moves, against the tokens in a call."""
    fig, ax = figure(5.6, 3.1)
    n = np.arange(1, 33)
    for b_S, role, text, x, y in (
        (4, FORMAT["float32"], "float32 pool", 2.4, 2),
        (2, FORMAT["float16"], "16-bit pool", 1.06, 0.6),
    ):
        ax.loglog(n, token_bytes(n, b_S) / 1e6, color=COLOUR[role], base=2)
        ax.text(x, y, text, color=COLOUR[role])
    own = token_bytes(np.inf, 4) / 1e6
    ax.axhline(own, color=COLOUR["quiet"], ls="--", lw=1)
    ax.text(1.06, own * 1.15, "queries, keys, values, outputs, gates", color=COLOUR["quiet"])
    ax.set_xticks([1, 2, 4, 8, 16, 32], [1, 2, 4, 8, 16, 32])
    ax.set_yticks([0.0625, 0.25, 1, 4], ["0.06", "0.25", "1", "4"])
    ax.set(xlabel="tokens of a sequence in one call", ylabel="megabytes a token")
    ax.set(ylim=(0.015, 6))
    return fig


def state_time(N=64, b_S=4, H_v=32, d=128, bandwidth=BANDWIDTH):
    """Bytes of the states of N sequences, read and written once, and the microseconds they take."""
    moved = 2 * b_S * N * H_v * d * d
    return moved, moved / bandwidth * 1e6


def rounding(dtype, size=10**6, seed=0):
    """Relative size of the rounding of normal numbers: root of the sums of squares."""
    x = torch.randn(size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return ((x.to(dtype).double() - x).norm() / x.norm()).item()


def predicted(dtype, calls, tokens_a_call=1, alpha=0.999, beta=0.02, d=64):
    """The mean drift after this many calls, as an array from 1 on (eq-drift-mean)."""
    shrink = (alpha**2 * (1 - beta * (2 - beta) / d)) ** tokens_a_call
    J = np.arange(1, calls + 1)
    return rounding(dtype) * np.sqrt((1 - shrink**J) / (1 - shrink))


RUNS = (  # dtype, tokens a call, colour and dashes, text and its height
    (torch.bfloat16, 1, (FORMAT["bfloat16"], "-"), "bfloat16, every token", 5e-2),
    (torch.bfloat16, 64, (FORMAT["bfloat16"], "-."), "bfloat16, every 64 tokens", 6.2e-3),
    (torch.float16, 1, (FORMAT["float16"], "-"), "float16, every token", 1.35e-3),
    (torch.float32, 1, (FORMAT["float32"], "-"), "float32, every token", 1.2e-6),
)


def drifts(tokens=4096, heads=2, d=64):
    """Tokens, measured and predicted drift of each run."""
    found = []
    for dtype, n, *_ in RUNS:
        measured = state_drift(dtype, tokens=tokens, tokens_a_call=n, heads=heads, d=d)
        at = np.arange(n, tokens + 1, n)
        found.append((at, np.array(measured), predicted(dtype, tokens // n, n, d=d)))
    return found


@styled
def drift(found):
    """Error of a rounded state: measured, and as the mean of independent roundings."""
    fig, ax = figure(6.0, 3.6)
    for (_, _, (role, dashes), text, height), (at, measured, mean) in zip(RUNS, found, strict=True):
        ax.semilogy(at, measured, dashes, color=COLOUR[role], lw=1.6)
        ax.semilogy(at, mean, "--", color=COLOUR["ink"], lw=1)
        ax.text(4100, height, text, color=COLOUR[role], ha="right")
    ax.set(xlabel="tokens decoded", ylabel="relative error of the state", ylim=(1e-8, 2e-1))
    ax.set(xlim=(0, 4150))
    return fig


def fading(alpha, dtype, tokens=1024, d=16, seed=0):
    """Norm of a state that only fades, in a pool of `dtype`, relative to its first."""
    draw = torch.Generator().manual_seed(seed)
    pool = torch.randn(1, 1, d, d, generator=draw).to(dtype)
    first, sizes = pool.double().norm(), [1.0]
    zero = torch.zeros(1, 1, 1, d)
    g, beta = torch.full((1, 1, 1), alpha).log(), torch.zeros(1, 1, 1)
    for _ in range(tokens):
        decode(zero, zero, zero, g, beta, pool, None)
        sizes.append((pool.double().norm() / first).item())
    return sizes


@styled
def fades():
    """A state without writes in a bfloat16 pool, against its decay."""
    fig, ax = figure(5.8, 3.1)
    for alpha, role, x, y in ((0.9981, "first", 760, 0.93), (0.997, "second", 480, 0.79),
                              (0.98, "third", 120, 0.18)):  # fmt: skip
        ax.plot(fading(alpha, torch.bfloat16), color=COLOUR[role])
        ax.plot(alpha ** np.arange(1025), ":", color=COLOUR[role])
        ax.text(x, y, f"α = {alpha}", color=COLOUR[role])
    ax.set(xlabel="tokens", ylabel="norm of the state", ylim=(0, 1.05), xlim=(0, 1024))
    return fig
