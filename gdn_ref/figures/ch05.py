"""Figures of chapter 5: one step on the recall loss, overwriting, repetition, a long stream."""

import ipywidgets as widgets
import numpy as np

from .. import delta_rule, linear_attention, scalar_decay
from ..proofs.ch05_memory import solved_memory
from ..proofs.data import hard_inputs, unit
from .style import ARROW, COLOUR, RULE, bare, cells, directions, figure, live, styled

RECALLS_BOTH = 0.8, 0.5  # the row that answers both tokens of the loss bowl
FIRST_KEY = 20  # degrees


@styled
def erase_and_write(S, k, v):
    """`S - (S k) k^T + v k^T`, in numbers."""
    erased, written = np.outer(S @ k, k).round(9), np.outer(v, k)
    fig, ax = figure(5.2, 1.7)
    bare(ax, 12.8, 3.6)
    names = (
        r"$\mathbf{S}$",
        r"$(\mathbf{S}\mathbf{k})\,\mathbf{k}^\top$",
        r"$\mathbf{v}\,\mathbf{k}^\top$",
        r"$\mathbf{S}\;$after",
    )
    for n, array in enumerate((S, erased, written, S - erased + written)):
        cells(ax, array, 0.2 + 3.45 * n, 2.3, 9, numbers="g")
        ax.text(1.2 + 3.45 * n, 2.7, names[n], ha="center", fontsize=12)
    for n, sign in enumerate("−+="):
        ax.text(2.93 + 3.45 * n, 1.3, sign, ha="center", va="center", fontsize=16)
    return fig


def rows_of(angle, writes, beta, start):
    """The keys, and one row of the memory after 0, 1, 2, ... writes of the tokens in turn."""
    keys = directions([FIRST_KEY, FIRST_KEY + angle])
    values = keys @ RECALLS_BOTH
    path = [np.asarray(start, dtype=float)]
    for t in range(writes):
        k, v = keys[t % 2], values[t % 2]
        path.append(path[-1] + beta * (v - path[-1] @ k) * k)
    return keys, values, np.array(path)


@styled
def loss_bowl(beta=1.0, angle=60, writes=6, s_x=-1.0, s_y=-0.9):
    """The losses of two tokens over one row of the memory, and the path of the writes."""
    keys, values, path = rows_of(angle, writes, beta, (s_x, s_y))
    fig, axes = figure(4.8, 4.4)
    x, y = np.meshgrid(np.linspace(-2, 2, 161), np.linspace(-1.7, 1.7, 137))
    total = sum((v - k[0] * x - k[1] * y) ** 2 / 2 for k, v in zip(keys, values, strict=True))
    axes.contour(x, y, total, levels=[0.05, 0.2, 0.45, 0.8, 1.25], colors=COLOUR["quiet"],
                 linewidths=0.6)  # fmt: skip
    for name, k in zip(("$k_1$", "$k_2$"), keys, strict=True):
        along = np.array([-k[1], k[0]])
        axes.plot(*(RECALLS_BOTH + np.outer([-4, 4], along)).T, "--", color=COLOUR["key"], lw=1)
        axes.arrow(0, 0, *(0.6 * k), color=COLOUR["key"], **ARROW)
        axes.text(*(0.78 * k), name, ha="center", va="center", color=COLOUR["key"])
    axes.plot(*path.T, "-o", color=COLOUR["state"], ms=4, lw=1.4)
    axes.text(*(path[0] + [-0.12, -0.2]), "$s$", color=COLOUR["state"])
    axes.plot(*RECALLS_BOTH, "*", color=COLOUR["value"], ms=11)
    axes.set(aspect="equal", xlim=(-2, 2), ylim=(-1.7, 1.7), xticks=[], yticks=[])
    off = np.abs(values - keys @ path[-1])
    axes.set_title(f"after {writes} writes: off by {off[0]:.2f} and {off[1]:.2f}", fontsize=10)
    return fig


def loss_bowl_widget():
    """`loss_bowl` with sliders: strength, angle between the keys, writes, the starting row."""
    return live(
        loss_bowl,
        beta=widgets.FloatSlider(value=1.0, min=0, max=2, step=0.05, description="β"),
        angle=widgets.IntSlider(value=60, min=10, max=90, description="k1 to k2"),
        writes=widgets.IntSlider(value=2, min=0, max=20, description="writes"),
        s_x=widgets.FloatSlider(value=-1.0, min=-1.8, max=1.8, step=0.1, description="s, first"),
        s_y=widgets.FloatSlider(value=-0.9, min=-1.5, max=1.5, step=0.1, description="s, second"),
    )


@styled
def loss_against_strength():
    """The share of the loss that is left after one step (eq-residual)."""
    fig, axes = figure(5.2, 3.2)
    beta = np.linspace(0, 2.5, 251)
    for squared, style in ((0.5, "--"), (1.0, "-"), (2.0, "-.")):
        left = (1 - beta * squared) ** 2
        axes.plot(beta, left, style, color=COLOUR["key"], label=rf"$\|k\|^2 = {squared:g}$")
        axes.plot(1 / squared, 0, "o", color=COLOUR["state"], ms=6, clip_on=False, zorder=3)
    axes.axhspan(1, 2, color=COLOUR["error"], alpha=0.12, lw=0)
    axes.text(0.06, 1.45, "worse than before", color=COLOUR["error"], va="center")
    axes.set(xlabel=r"write strength $\beta$", ylabel="loss after / before")
    axes.set(xlim=(0, 2.5), ylim=(0, 2))
    fig.legend(loc="outside upper center", ncols=3)
    return fig


@styled
def smallest_change():
    """One row: the line of rows that answer v, the step to it, and a longer way."""
    fig, axes = figure(4.8, 3.7)
    k = directions(35)
    along, value, row = np.array([-k[1], k[0]]), 1.3, np.array([-0.35, -0.55])
    foot = row + (value - row @ k) * k
    purple, blue = ({"color": COLOUR[role], "fontsize": 12} for role in ("state", "key"))
    other = foot + 1.05 * along
    axes.plot(*(foot + np.outer([-1.5, 1.6], along)).T, "--", color=COLOUR["key"], lw=1.2)
    axes.plot(*np.stack([row, row + 2 * (foot - row)]).T, ":", color=COLOUR["quiet"], lw=1.2)
    axes.plot(*np.stack([row, other]).T, color=COLOUR["quiet"], lw=1.2)
    axes.plot(*np.stack([foot, other]).T, color=COLOUR["key"], lw=2.2)
    axes.arrow(*row, *(foot - row), color=COLOUR["state"], **ARROW)
    corner = [foot - 0.16 * k, foot - 0.16 * k + 0.16 * along, foot + 0.16 * along]
    axes.plot(*np.array(corner).T, color=COLOUR["ink"], lw=0.8)
    for beta in (0.5, 1.5, 2.0):
        at = row + beta * (foot - row)
        axes.plot(*at, "o", ms=5, mfc="none", color=COLOUR["state"])
        axes.text(*(at + [0.06, -0.17]), rf"$\beta={beta:g}$", **purple)
    axes.plot(*other, "o", ms=5, color=COLOUR["quiet"])
    axes.text(*(row + [-0.12, -0.22]), "$s$", **purple)
    axes.text(*(foot + [0.12, -0.12]), r"$s$ after, $\beta=1$", **purple)
    axes.text(*(other + [-0.28, -0.05]), "$x$", color=COLOUR["quiet"], fontsize=12)
    axes.text(*(foot - 1.32 * along + [0.1, 0]), r"$x\cdot k = v$", **blue)
    axes.set(aspect="equal", xlim=(-0.9, 3.4), ylim=(-0.95, 2.35))
    axes.set_axis_off()
    return fig


SET = {4: 30.0, 16: 60.0, 28: 45.0, 40: 20.0}  # line: what it sets `timeout` to


def settings(seed=3, lines=52):
    """A file that sets `timeout` four times, `retries` once, and ten others between them.

    Keys are orthonormal. Returns the lines' keys and values, and the keys of the two.
    """
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(16, 16)))[0]
    keys, values = basis[rng.integers(2, 12, size=lines)], rng.uniform(10, 60, size=(lines, 1))
    keys[1], values[1] = basis[1], 25.0
    for line, value in SET.items():
        keys[line], values[line] = basis[0], value
    return keys, values, basis[0], basis[1]


@styled
def overwriting(decay=0.9):
    """What three memories answer after each line, for a key set often and one set once."""
    keys, values, timeout, retries = settings()
    lines = np.arange(1, len(keys) + 1)
    strength, g = np.ones(len(keys)), np.full(len(keys), np.log(decay))
    truth = {"timeout": np.full(len(keys), np.nan), "retries": np.full(len(keys), 25.0)}
    truth["retries"][0] = np.nan
    for line, value in SET.items():
        truth["timeout"][line:] = value
    fig, panels = figure(5.4, 5.0, nrows=2, sharex=True)
    for panel, name, key in zip(panels, truth, (timeout, retries), strict=True):
        asked = np.broadcast_to(key, keys.shape)
        answers = {
            "linear attention": (linear_attention.recurrent(asked, keys, values), "-.", "linear"),
            f"decay {decay:g}": (scalar_decay.recurrent(asked, keys, values, g), "--", "decay"),
            "delta rule": (delta_rule.recurrent(asked, keys, values, strength), "-", "delta"),
        }
        panel.step(lines, truth[name], where="post", color=COLOUR["quiet"], lw=5, alpha=0.35,
                   label="last value set")  # fmt: skip
        for label, ((answer, _), style, rule) in answers.items():
            colour = COLOUR[RULE[rule]]
            panel.step(lines, answer[:, 0], style, where="post", color=colour, label=label)
        panel.set(ylabel=f"answer for {name}")
    panels[1].set(xlabel="line of the file")
    fig.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig


def rounds(keys, values, beta, count, target):
    """The distance to `target`, relative to its norm, after 0, 1, ..., `count` rounds."""
    state, size = np.zeros_like(target), np.linalg.norm(target)
    distance = [1.0]
    for _ in range(count):
        _, state = delta_rule.recurrent(keys, keys, values, np.full(len(keys), beta), state)
        distance.append(np.linalg.norm(state - target) / size)
    return np.array(distance)


@styled
def repetition(count=40):
    """Writing the same pairs round after round: a solution if there is one, else near it."""
    fig, (upper, lower) = figure(5.2, 5.6, nrows=2)
    for cosine, style in ((0.0, "-"), (0.5, "--"), (0.8, "-.")):
        _, keys, values, *_ = hard_inputs(T=32, d_k=64, d_v=16, cosine=cosine)
        limit = solved_memory(np.zeros((16, 64)), keys, values)
        curve = rounds(keys, values, 1.0, count, limit)
        upper.semilogy(curve, style, color=COLOUR["state"], label=f"mean cosine {cosine:g}")
    _, keys, values, *_ = hard_inputs(T=96, d_k=64, d_v=16, cosine=0.0)
    best = np.linalg.lstsq(keys, values, rcond=None)[0].T
    for beta, style in ((1.0, "-"), (0.3, "--"), (0.1, "-."), (0.03, ":")):
        curve = rounds(keys, values, beta, count * 4, best)
        lower.semilogy(curve, style, color=COLOUR["state"], label=rf"$\beta = {beta:g}$")
    upper.set(title="32 pairs, 64 dimensions: a solution exists", ylim=(1e-4, 2))
    lower.set(title="96 pairs, 64 dimensions: none exists", ylim=(1e-2, 2))
    for panel in (upper, lower):
        panel.set(xlabel="rounds", ylabel="relative distance")
        panel.title.set_fontsize(10)
        panel.legend(loc="lower left", framealpha=0)
    return fig


def stream(beta, T=1200, d_k=64, d_v=16, seeds=4, corrects=True):
    """Squared size of the memory after each token, and what is left of a value, by age.

    Keys are random and of length 1, so are the values. What is left of v is its share in the
    answer, v . S k, averaged over all tokens of that age.
    """
    size, left, asked = np.zeros(T + 1), np.zeros(200), 0
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        keys, values = unit(rng.normal(size=(T, d_k))), unit(rng.normal(size=(T, d_v)))
        S = np.zeros((d_v, d_k))
        for t, (k, v) in enumerate(zip(keys, values, strict=True)):
            S = S + beta * np.outer(v - S @ k if corrects else v, k)
            size[t + 1] += (S**2).sum() / seeds
            if t >= 400 and t % 4 == 0:
                last = slice(t, t - 200, -1)
                left += ((keys[last] @ S.T) * values[last]).sum(1)
                asked += 1
    return size, left / asked


@styled
def long_stream(d_k=64):
    """The size of the memory over a stream, and the share of a value that is left."""
    fig, (upper, lower) = figure(5.2, 5.6, nrows=2)
    size, _ = stream(1.0, d_k=d_k, corrects=False)
    tokens, ages = np.arange(len(size)), np.arange(200)
    upper.plot(tokens, size, "--", color=COLOUR[RULE["linear"]], label="linear attention")
    for beta, style in ((1.0, "-"), (0.5, "-.")):
        size, left = stream(beta, d_k=d_k)
        settled = beta * d_k / (2 - beta)
        shrink = 1 - beta * (2 - beta) / d_k
        upper.plot(tokens, size, style, color=COLOUR[RULE["delta"]], label=rf"$\beta = {beta:g}$")
        upper.plot(tokens, settled * (1 - shrink**tokens), ":", color=COLOUR["ink"], lw=1)
        lower.plot(ages, left, style, color=COLOUR[RULE["delta"]], label=rf"$\beta = {beta:g}$")
        lower.plot(ages, beta * (1 - beta / d_k) ** ages, ":", color=COLOUR["ink"], lw=1)
    upper.set(xlabel="tokens", ylabel=r"$\|S_t\|^2$", ylim=(0, 3 * d_k))
    lower.set(xlabel="age in tokens", ylabel="share of the value left", ylim=(0, 1.05))
    upper.legend(loc="center right", framealpha=0)
    lower.legend(loc="upper right", framealpha=0)
    return fig
