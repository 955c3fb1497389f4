"""Figures of chapter 4: the decay mask, the weights of the past, a stream's recall, half-lives."""

import ipywidgets
import numpy as np

from ..chunking import causal_mask, decay
from ..proofs.data import hard_inputs, unit
from .style import COLOUR, DECAY_MAP, STATE_MAP, figure, heat, styled

AGES = 128  # how far back `forgetting` looks


@styled
def decay_masks(C=12):
    """The causal mask, `Gamma` at a constant decay, and `Gamma` with a reset inside."""
    constant, reset = np.full(C, np.log(0.85)), np.full(C, np.log(0.85))
    reset[C // 2] = -np.inf
    shown = {
        r"$\mathbf{M}$: who may look": causal_mask(np.ones((C, 1))),
        r"$\mathbf{\Gamma}$, $\alpha = 0.85$": decay(constant)[1],
        rf"$\mathbf{{\Gamma}}$, reset at token {C // 2 + 1}": decay(reset)[1],
    }
    fig, axes = figure(6.0, 2.4, ncols=3)
    for ax, (title, mask) in zip(axes, shown.items(), strict=True):
        image = heat(ax, mask, title, 0, 1, DECAY_MAP)
        ax.set_xlabel("written by token $i$")
    axes[0].set_ylabel("seen from token $r$")
    fig.colorbar(image, ax=axes, shrink=0.85, label="what is left")
    return fig


@styled
def decay_mask_widget():
    """The decay mask with sliders: the twin of the page's moving figure."""

    def draw(alpha=0.85, C=8, reset=0):
        g = np.full(C, np.log(alpha))
        if 0 < reset <= C:
            g[reset - 1] = -np.inf
        fig, ax = figure(4.2, 3.6)
        fig.colorbar(heat(ax, decay(g)[1], r"$\mathbf{\Gamma}$", 0, 1, DECAY_MAP))
        return fig

    return ipywidgets.interactive(draw, alpha=(0.5, 1.0, 0.01), C=(2, 16), reset=(0, 16))


def weights(half_life, reset=0):
    """What is left of the tokens 0 to 128 back, for one decay and a reset some tokens back."""
    age = np.arange(AGES + 1)
    left = 0.5 ** (age / half_life)
    return np.where(age > reset, 0.0, left) if reset else left


def recall_ratio(alpha, age, d_k=128):
    """Signal against crosstalk of a read `age` tokens back in an endless stream of random unit
    keys (eq-decay-recall)."""
    signal = alpha ** (2 * age)
    return d_k * signal / (1 / (1 - alpha**2) - signal)


@styled
def forgetting(half_life=20, age=40, reset=0):
    """The weights of the past, their half-life, and the box of the same area."""
    left = weights(half_life, reset)
    fig, ax = figure(5.4, 3.0)
    ax.fill_between(np.arange(len(left)), left, step="mid", color=COLOUR["decay"], alpha=0.35, lw=0)
    ax.plot([0, AGES], [1, 1], "--", color=COLOUR["quiet"], lw=1)
    ax.plot(half_life, 0.5, "o", color=COLOUR["decay"])
    ax.plot([age, age], [0, left[age]], color=COLOUR["query"], lw=2)
    total = left.sum()
    ax.plot([0, total, total], [1, 1, 0], ":", color=COLOUR["ink"], lw=1)
    ax.set(xlim=(AGES, 0), ylim=(0, 1.1), xlabel="tokens back", ylabel="what is left")
    ax.set_title(
        rf"$\alpha = {0.5 ** (1 / half_life):.4f}$, sum {total:.1f}; {age} back: {left[age]:.3f}",
        fontsize=10,
    )
    return fig


def forgetting_widget():
    """`forgetting` with sliders: the twin of the page's moving figure."""
    sliders = {"half_life": (1, 200), "age": (0, AGES), "reset": (0, AGES)}
    starts = {"half_life": 20, "age": 40, "reset": 0}
    return ipywidgets.interactive(
        forgetting,
        **{name: ipywidgets.IntSlider(starts[name], *ends) for name, ends in sliders.items()},
    )


def stream_ratios(alpha, T=3000, d_k=128, seeds=20, ages=AGES):
    """The same ratio measured: the last state of a stream, asked at the keys of its last tokens."""
    weight = alpha ** np.arange(T)[::-1]  # the newest token weighs one
    errors = np.zeros(ages)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        k, v = unit(rng.normal(size=(T, d_k))), unit(rng.normal(size=(T, 8)))
        S = (weight[:, None] * v).T @ k
        error = k[-ages:] @ S.T - weight[-ages:, None] * v[-ages:]
        errors += (error**2).sum(1)[::-1] / seeds
    return alpha ** (2 * np.arange(ages)) / errors


def named_in_a_stream(alpha, ages, candidates=2**17, d=128, streams=200, T=2000):
    """The share of streams in which a read names the value written `age` tokens back, by age.

    The values are drawn from the candidates; the candidate whose product with the read is
    greatest is named.
    """
    rng = np.random.default_rng(4)
    book = unit(rng.standard_normal(size=(candidates, d), dtype=np.float32))
    weight = (alpha ** np.arange(T)).astype(np.float32)  # the newest token first
    reads, written = [], []
    for _ in range(streams):
        keys = unit(rng.standard_normal(size=(T, d), dtype=np.float32))
        own = rng.integers(candidates, size=T)
        overlaps = keys[list(ages)] @ keys.T
        reads.append((overlaps * weight) @ book[own])  # S k, with the sum over tokens taken last
        written.append(own[list(ages)])
    reads, written = np.stack(reads, axis=1), np.stack(written, axis=1)  # [ages, streams, ...]
    return np.array(
        [np.mean((x @ book.T).argmax(axis=1) == own) for x, own in zip(reads, written, strict=True)]
    )


@styled
def stream_recall(best_age=46):
    """Signal against crosstalk by age: formula, measurement, and the best that any decay does."""
    fig, ax = figure(5.0, 3.4)
    age = np.arange(AGES)
    best = np.sqrt(best_age / (best_age + 1))
    u = age[1:] / (age[1:] + 1)
    ax.semilogy(age[1:], recall_ratio(np.sqrt(u), age[1:]), color=COLOUR["quiet"], lw=5, alpha=0.4)
    ax.text(54, 1.5, "best decay for each age", color=COLOUR["quiet"])
    for alpha, dashes in ((0.9, "-."), (best, "-"), (0.999, "--")):
        name = rf"$\alpha = {alpha:.4f}$" if alpha == best else rf"$\alpha = {alpha:g}$"
        ax.semilogy(age, recall_ratio(alpha, age), dashes, color=COLOUR["decay"], label=name)
        ax.semilogy(age[::8], stream_ratios(alpha)[::8], "o", ms=4, color=COLOUR["decay"])
    ax.axhline(1, color=COLOUR["quiet"], lw=0.8)
    ax.set(xlabel="tokens back, $m$", ylabel="signal / crosstalk", ylim=(1e-2, 200), xlim=(0, AGES))
    ax.legend(loc="upper right", handlelength=3)
    return fig


LN_2 = np.log(2)
RANGES = {  # name -> (least A, greatest A, least softplus(dt_bias), greatest)
    "Mamba-2": (1, 16, 0.001, 0.1),
    "Gated DeltaNet in fla": (0, 16, 0.001, 0.1),
    "Qwen3-Next in transformers": (0, 16, np.log1p(np.e), np.log1p(np.e)),
}


def initial_half_lives(name, heads=200_000, seed=0):
    """Half-lives of new heads at a = 0: A uniform, softplus(dt_bias) log-uniform."""
    low, high, least, greatest = RANGES[name]
    rng = np.random.default_rng(seed)
    A = rng.uniform(low, high, size=heads)
    step = np.exp(rng.uniform(np.log(least), np.log(greatest), size=heads))
    return LN_2 / (A * step)


def retnet_half_lives(heads=8):
    """RetNet's decays are fixed, 1 - 2^(-5-h) for head h."""
    return LN_2 / -np.log1p(-(2.0 ** (-5 - np.arange(heads))))


@styled
def half_lives():
    """The half-lives that models start with: middle half, nine tenths, median."""
    fig, ax = figure(5.0, 2.6)
    for row, name in enumerate(RANGES):
        q = np.quantile(initial_half_lives(name), (0.05, 0.25, 0.5, 0.75, 0.95))
        ax.plot(q[[0, 4]], [row, row], color=COLOUR["decay"], lw=2)
        ax.plot(q[[1, 3]], [row, row], color=COLOUR["decay"], lw=8, solid_capstyle="butt")
        ax.plot(q[2], row, "o", color=COLOUR["ink"], ms=6, zorder=3)
        ax.text(q[2], row - 0.28, f"{q[2]:.2g}", ha="center", fontsize=9)
    fixed = retnet_half_lives()
    ax.plot(fixed, np.full(len(fixed), len(RANGES)), "s", color=COLOUR["quiet"], ms=5)
    ax.axvline(1, color=COLOUR["quiet"], lw=0.8)
    names = [*(name.replace(" in ", "\nin ") for name in RANGES), "RetNet, 8 heads\n(fixed)"]
    ax.set_yticks(range(len(names)), names)
    ax.set(xscale="log", xlabel="half-life in tokens", ylim=(len(RANGES) + 0.5, -0.6))
    return fig


@styled
def semiseparable(C=8, blocks=4, d_k=3):
    """The rank of each block of `Gamma` and of `Gamma . Q K^T`, measured."""
    T = C * blocks
    q, k, _, g, *_ = hard_inputs(T=T, d_k=d_k)
    Gamma = decay(2 * g)[1]
    decayed = r"$\mathbf{\Gamma} \odot \mathbf{Q}\mathbf{K}^{\top}$, $d_k = 3$"
    shown = {
        r"$\mathbf{\Gamma}$": (Gamma, 0, 1, DECAY_MAP),
        decayed: (Gamma * (q @ k.T), -1.2, 1.2, STATE_MAP),
    }
    fig, axes = figure(5.6, 3.0, ncols=2)
    for ax, (title, (matrix, *limits)) in zip(axes, shown.items(), strict=True):
        heat(ax, matrix, title, *limits)
        for row, column in zip(*np.tril_indices(blocks), strict=True):
            block = matrix[row * C : (row + 1) * C, column * C : (column + 1) * C]
            ax.text(
                (column + 0.5) * C - 0.5,
                (row + 0.5) * C - 0.5,
                f"{np.linalg.matrix_rank(block)}",
                ha="center",
                va="center",
                fontsize=13,
                color=COLOUR["ink"],
                bbox={"boxstyle": "circle,pad=0.2", "fc": "white", "ec": "none", "alpha": 0.8},
            )
        for cut in range(1, blocks):
            for line in (ax.axhline, ax.axvline):
                line(cut * C - 0.5, color=COLOUR["quiet"], lw=0.8)
    return fig
