"""Figures of chapter 20: what a hybrid stack keeps, forgets, multiplies and moves."""

import ipywidgets as widgets
import numpy as np

from .. import delta_rule
from ..proofs import ch20_model as m
from .ch14_model import BANDWIDTH
from .ch20_models import MODELS, NEXT
from .style import COLOUR, figure, live, styled

MIB = 2**20
CONTEXTS = 2.0 ** np.arange(6, 21)


def layer_bytes(x, T):
    """What each layer of the stack keeps, in order: every fourth is attention (3:1)."""
    every = x.layers // x.full
    rows, state = m.row_bytes(x) * T, m.layer_state_bytes(x)
    return np.array([state if (n + 1) % every else rows for n in range(x.layers)])


@styled
def stack(x=NEXT, contexts=(256, 1056, 8192)):
    """The layers of a stack side by side, each as high as what it keeps."""
    fig, axes = figure(6.4, 4.0, nrows=len(contexts), sharex=True)
    every = x.layers // x.full
    roles = ["key" if (n + 1) % every == 0 else "state" for n in range(x.layers)]
    top = layer_bytes(x, contexts[-1]).max() / MIB
    for ax, T in zip(axes, contexts, strict=True):
        kept = layer_bytes(x, T) / MIB
        ax.bar(np.arange(x.layers) + 1, kept, color=[COLOUR[role] for role in roles], width=0.8)
        ax.set(ylim=(0, 1.12 * top), yticks=[0, 8, 16], xlim=(0, x.layers + 1))
        ax.set_title(f"{T:,} tokens: {kept.sum():,.0f} MiB", fontsize=10, loc="left")
    axes[0].text(x.layers - 8, 0.5 * top, "states", color=COLOUR["state"], ha="right")
    axes[0].text(x.layers, 0.5 * top, "attention", color=COLOUR["key"], ha="right")
    axes[1].set_ylabel("MiB a layer")
    axes[-1].set(xlabel="layer", xticks=[1, *range(4, x.layers + 1, 4)])
    return fig


@styled
def memory_against_context():
    """Bytes of one sequence: the hybrid, and attention in every layer, four models."""
    fig, axes = figure(6.4, 4.6, nrows=2, ncols=2, sharex=True, sharey=True)
    for ax, (name, x) in zip(axes.flat, MODELS.items(), strict=True):
        everywhere = m.with_share(x, x.layers)
        at = m.crossover(x)
        ax.loglog(CONTEXTS, m.kept_bytes(everywhere, CONTEXTS) / MIB, "--", color=COLOUR["quiet"])
        ax.loglog(CONTEXTS, m.kept_bytes(x, CONTEXTS) / MIB, color=COLOUR["bytes"], lw=2)
        states = np.full_like(CONTEXTS, m.state_bytes(x) / MIB)
        ax.loglog(CONTEXTS, states, ":", color=COLOUR["state"], lw=1.6)
        ax.plot(at, m.kept_bytes(x, at) / MIB, "o", color=COLOUR["ink"], ms=6, mfc="none", mew=1.6)
        ax.set_title(f"{name}: {at:,.0f} tokens", fontsize=10)
        ax.set_xticks([2**8, 2**12, 2**16, 2**20], ["256", "4 Ki", "64 Ki", "1 Mi"])
        ax.minorticks_off()
        ax.set(ylim=(6, 6e5))
    axes[0, 0].text(2**13, 4000, "attention\neverywhere", color=COLOUR["quiet"], ha="right")
    axes[0, 0].text(2**16.3, 500, "hybrid", color=COLOUR["bytes"])
    axes[0, 0].text(2**16, 22, "its states", color=COLOUR["state"])
    fig.supxlabel("context, tokens", fontsize=10)
    fig.supylabel("MiB a sequence", fontsize=10)
    return fig


def recall_errors(pairs, d=64, d_v=64, error=0.01, seed=0):
    """Relative error of reading n values back: a delta-rule state, and a cache with attention."""
    random = np.random.default_rng(seed)
    K, V = random.standard_normal((pairs, d)), random.standard_normal((pairs, d_v))
    K /= np.linalg.norm(K, axis=1, keepdims=True)
    _, S = delta_rule.chunkwise(K, K, V, np.ones(pairs), chunk_size=64)
    scores = K @ K.T
    wrong = scores - 2 * np.eye(pairs)
    scale = np.log(max(pairs - 1, 1) * (1 - error) / error) / (1 - wrong.max())
    P = np.exp(scale * (scores - 1))
    read = (P / P.sum(1, keepdims=True)) @ V
    return tuple(np.linalg.norm(y - V) / np.linalg.norm(V) for y in (K @ S.T, read)) + (scale,)


@styled
def recall(d=64):
    """Recall of n pairs by a state of fixed size, and by a cache that grows."""
    fig, ax = figure(5.8, 3.2)
    pairs = 2 ** np.arange(2, 12)
    errors = np.array([recall_errors(int(n), d) for n in pairs])
    for column, role, mark in ((0, "state", "o"), (1, "key", "s")):
        ax.loglog(pairs, errors[:, column], mark + "-", color=COLOUR[role], base=2)
    ax.set_yscale("log", base=10)
    ax.axvline(d, color=COLOUR["quiet"], ls=":", lw=1)
    ax.axhline(0.01, color=COLOUR["quiet"], ls="--", lw=1)
    ax.text(d * 1.1, 2e-7, f"$d_k = {d}$", color=COLOUR["quiet"])
    ax.text(2048, 0.014, "1 %", color=COLOUR["quiet"], ha="right")
    ax.text(700, 0.3, "state", color=COLOUR["state"])
    ax.text(2048, 2e-5, "attention over a cache", color=COLOUR["key"], ha="right")
    ax.set_xticks(pairs, [f"{n:,}" for n in pairs])
    ax.minorticks_off()
    ax.set(xlabel="pairs written", ylabel="relative error of a read", ylim=(1e-7, 3))
    return fig


@styled
def flops_against_context(x=NEXT):
    """FLOPs of one token: its weights, its states, and attention."""
    fig, ax = figure(5.8, 3.4)
    everywhere = m.with_share(x, x.layers)
    T = 2.0 ** np.arange(8, 21)
    weights = 2 * m.active_weights(x) / 1e9
    ax.axhline(weights, color=COLOUR["weights"], lw=1.6)
    ax.axhline(m.step_flops(x) / 1e9, color=COLOUR["state"], lw=1.6)
    ax.loglog(T, m.attention_flops(x, T) / 1e9, color=COLOUR["key"], lw=2, base=2)
    ax.loglog(T, m.attention_flops(everywhere, T) / 1e9, "--", color=COLOUR["quiet"], base=2)
    ax.set_yscale("log", base=10)
    for stack_, role in ((x, "key"), (everywhere, "quiet")):
        at = m.flops_crossover(stack_)
        ax.plot(at, weights, "o", ms=7, mfc="none", mew=1.6, color=COLOUR[role])
    ax.text(300, weights * 1.25, "weights", color=COLOUR["weights"])
    ax.text(2**20, 0.065, "states", color=COLOUR["state"], ha="right")
    ax.text(2**18, 25, "attention", color=COLOUR["key"])
    ax.text(2**16, 130, "attention everywhere", color=COLOUR["quiet"], ha="right")
    ax.set_xticks([2**8, 2**12, 2**16, 2**20], ["256", "4 Ki", "64 Ki", "1 Mi"])
    ax.minorticks_off()
    ax.set(xlabel="context, tokens", ylabel="$10^9$ FLOPs per token", ylim=(0.03, 1000))
    return fig


def step_parts(x, T, n):
    """GB that a step moves for each of its n sequences, by kind."""
    common = m.weight_bytes(x, n, read=0)
    return {
        "weights": common / n / 1e9,
        "experts": (m.weight_bytes(x, n) - common) / n / 1e9,
        "states": 2 * m.state_bytes(x) / 1e9,
        "caches": m.cache_bytes(x, T + 1) / 1e9,
    }


PAINT = {"weights": "weights", "experts": "first", "states": "state", "caches": "key"}


@styled
def decode_parts(x=NEXT, T=32768, batches=(1, 8, 64, 512)):
    """Bytes for each token that a step makes, hybrid above and attention everywhere below."""
    fig, ax = figure(6.4, 3.6)
    for group, n in enumerate(batches):
        for half, stack_ in enumerate((x, m.with_share(x, x.layers))):
            y, left = group + 0.36 * half, 0.0
            for name, size in step_parts(stack_, T, n).items():
                ax.barh(y, size, left=left, height=0.32, color=COLOUR[PAINT[name]],
                        alpha=0.9 if half == 0 else 0.5)  # fmt: skip
                left += size
            ax.text(left + 0.1, y, f"{left:.2f}", va="center", fontsize=9)
    ax.set_yticks(np.arange(len(batches)) + 0.18, [f"{n:,}" for n in batches])
    ax.set(ylim=(len(batches) - 0.35, -0.35), xlim=(0, 11.5))
    ax.set(ylabel="sequences in a step", xlabel=f"GB moved per token, context {T:,}")
    for n, (name, role) in enumerate(PAINT.items()):
        ax.text(8.2, 1.9 + 0.36 * n, name, color=COLOUR[role], va="center")
    return fig


def cost(model, context, eighths, n):
    """One point of the moving figure: the stack, what it keeps, and what a step moves."""
    x = m.with_share(MODELS[model], MODELS[model].layers * eighths // 8)
    everywhere = m.with_share(x, x.layers)
    return x, {
        "kept": m.kept_bytes(x, context),
        "caches": m.cache_bytes(x, context),
        "everywhere": m.kept_bytes(everywhere, context),
        "weights": m.weight_bytes(x, n),
        "moved": m.decode_bytes(x, context, n),
        "moved everywhere": m.decode_bytes(everywhere, context, n),
    }


@styled
def hybrid_cost(model="Qwen3-Next 80B-A3B", context=32768, eighths=2, n=8):
    """The moving figure's picture: bytes kept, and milliseconds a step, against context."""
    fig, axes = figure(4.8, 5.2, nrows=2, sharex=True)
    points = [cost(model, T, eighths, n)[1] for T in CONTEXTS]
    here = cost(model, context, eighths, n)[1]
    for ax, unit, name, other, role in (
        (axes[0], 2**30, "kept", "everywhere", "bytes"),
        (axes[1], BANDWIDTH / 1e3, "moved", "moved everywhere", "time"),
    ):
        ax.loglog(CONTEXTS, [p[other] / unit for p in points], "--", color=COLOUR["quiet"], base=2)
        ax.loglog(CONTEXTS, [p[name] / unit for p in points], color=COLOUR[role], lw=2, base=2)
        ax.plot(context, here[name] / unit, "o", ms=8, color=COLOUR["ink"])
        ax.set_yscale("log", base=10)
    axes[1].axhline(here["weights"] / BANDWIDTH * 1e3, color=COLOUR["weights"], ls=":")
    axes[0].set(ylabel="GiB per sequence", title=f"{here['kept'] / 2**30:.3g} GiB; "
                f"{here['moved'] / BANDWIDTH * 1e3:.3g} ms a step")  # fmt: skip
    axes[1].set(ylabel="ms a step, at least", xlabel="context, tokens")
    axes[1].set_xticks([2**8, 2**12, 2**16, 2**20], ["256", "4 Ki", "64 Ki", "1 Mi"])
    for ax in axes:
        ax.minorticks_off()
    return fig


def hybrid_cost_widget():
    """`hybrid_cost` with sliders: model, context, eighths of attention layers, sequences."""
    return live(
        hybrid_cost,
        model=widgets.SelectionSlider(options=list(MODELS), description="model"),
        context=widgets.SelectionSlider(
            options=[2**n for n in range(6, 21)], value=32768, description="context"
        ),
        eighths=widgets.IntSlider(2, 0, 8, description="eighths"),
        n=widgets.SelectionSlider(
            options=[2**n for n in range(11)], value=8, description="sequences"
        ),
    )
