"""Figures of chapter 1: a cache and a state, their bytes and operations, masks, one matrix."""

import ipywidgets as widgets
import numpy as np
from matplotlib.patches import Rectangle

from .. import linear_attention
from ..proofs.ch01_cost import softmax_read
from ..proofs.counting import multiplications
from .style import COLOUR, RULE, STATE_MAP, bare, cells, directions, figure, styled

# five tokens in the plane: two orthogonal keys, one between them, the first again, one more
KEY_DEGREES = (0, 90, 45, 0, 135)
VALUES = (2.0, 0.0, -1.0), (0.0, 1.0, 2.0), (1.0, -2.0, 0.0), (-1.0, 1.0, 1.0), (0.0, 2.0, -2.0)


@styled
def cache_and_state():
    """What is kept after 2, 4 and 8 tokens: rows of keys and values, or one matrix."""
    rng = np.random.default_rng(1)
    K, V = rng.normal(size=(8, 4)), rng.normal(size=(8, 3))
    fig, ax = figure(5.2, 4.1)
    bare(ax, 25, 19.5)
    ax.text(0, 18.8, "softmax attention: a cache of rows")
    ax.text(0, 7.3, "linear attention: one matrix")
    for column, tokens in enumerate((2, 4, 8)):
        x = 0.2 + 8.6 * column
        cells(ax, K[:tokens], x, 16.8, 3)
        cells(ax, V[:tokens], x + 4.4, 16.8, 3)
        ax.text(x + 2, 17.1, r"$\mathbf{K}$", color=COLOUR["key"], ha="center", fontsize=12)
        ax.text(x + 5.9, 17.1, r"$\mathbf{V}$", color=COLOUR["value"], ha="center", fontsize=12)
        cells(ax, V[:tokens].T @ K[:tokens], x + 1.7, 5.4, 8)
        ax.text(x + 3.7, 5.7, r"$\mathbf{S}$", color=COLOUR["state"], ha="center", fontsize=12)
        ax.text(x + 3.7, 1.1, f"{tokens} tokens:", ha="center")
        ax.text(x + 3.7, 0.0, f"{tokens * 7} numbers or 12", ha="center")
    return fig


@styled
def bytes_against_tokens(cache_per_token, state, crossover):
    """Bytes of a cache and of the states, against the tokens read so far."""
    tokens = np.array([1, 2**17])
    fig, ax = figure(5.2, 3.2)
    ax.loglog(tokens, cache_per_token * tokens, color=COLOUR["key"], lw=2)
    ax.loglog(tokens, [state, state], color=COLOUR["state"], lw=2, ls="--")
    ax.plot(crossover, state, "o", color=COLOUR["ink"], ms=5)
    ax.annotate(f"{crossover} tokens", (crossover, state), (crossover * 1.3, state / 5))
    ax.text(2000, 2.5e9, "cache of keys\nand values", color=COLOUR["key"], ha="right")
    ax.text(1.5e4, state * 1.5, "states", color=COLOUR["state"])
    ax.set_yticks(
        [2**17, 2**20, 2**24, 2**30, 2**34], ["128 KiB", "1 MiB", "16 MiB", "1 GiB", "16 GiB"]
    )
    ax.set_xticks([1, 128, 1024, 8192, 131072], ["1", "128", "1 Ki", "8 Ki", "128 Ki"])
    ax.minorticks_off()
    ax.set(xlabel="tokens read so far", ylabel="bytes kept, whole model")
    return fig


@styled
def by_hand(keys, values):
    """`v_1 k_1^T + v_2 k_2^T = S_2`, in numbers."""
    first, second = (np.outer(v, k) for v, k in zip(values, keys, strict=True))
    fig, ax = figure(4.8, 1.6)
    bare(ax, 13, 3.7)
    names = (
        r"$\mathbf{v}_1\mathbf{k}_1^\top$",
        r"$\mathbf{v}_2\mathbf{k}_2^\top$",
        r"$\mathbf{S}_2$",
    )
    for n, (name, array) in enumerate(zip(names, (first, second, first + second), strict=True)):
        cells(ax, array, 0.5 + 4.8 * n, 2.3, 9, numbers="g")
        ax.text(1.5 + 4.8 * n, 2.7, name, ha="center", fontsize=13)
    ax.text(3.9, 1.3, "+", ha="center", va="center", fontsize=16)
    ax.text(8.7, 1.3, "=", ha="center", va="center", fontsize=16)
    return fig


@styled
def score_spectra(tokens=64, d=4):
    """Singular values of the scores with and without the exponential."""
    rng = np.random.default_rng(0)
    Q, K = rng.normal(size=(2, tokens, d))
    linear = np.linalg.svd(Q @ K.T, compute_uv=False)
    softmax = np.linalg.svd(np.exp(Q @ K.T), compute_uv=False)
    fig, ax = figure(5.2, 3.0)
    number = np.arange(1, tokens + 1)
    ax.semilogy(number, softmax / softmax[0], "o", ms=3.5, color=COLOUR[RULE["attention"]])
    ax.semilogy(number[:d], (linear / linear[0])[:d], "s", ms=5, color=COLOUR[RULE["linear"]])
    ax.axvline(d + 0.5, color=COLOUR[RULE["linear"]], lw=1, ls="--")
    ax.text(
        d + 1.2,
        1e-9,
        f"without the exponential\nall others are zero: rank {d}",
        color=COLOUR[RULE["linear"]],
    )
    ax.text(26, 3e-3, "with the exponential", color=COLOUR[RULE["attention"]])
    ax.set(
        xlabel=f"singular value, by rank ({tokens} queries and keys, $d_k = {d}$)",
        ylabel="relative to the largest",
    )
    return fig


@styled
def masked_scores(tokens=6):
    """All scores, the causal mask, and what is left of the scores."""
    rng = np.random.default_rng(3)
    Q, K = rng.normal(size=(2, tokens, 3))
    scores, M = Q @ K.T, np.tril(np.ones((tokens, tokens)))
    fig, axes = figure(5.8, 2.4, ncols=3)
    titles = (
        r"$\mathbf{Q}\mathbf{K}^\top$",
        r"$\mathbf{M}$",
        r"$\mathbf{M}\odot\mathbf{Q}\mathbf{K}^\top$",
    )
    limit = np.abs(scores).max()
    for ax, array, title in zip(axes, (scores, M * limit / 2, M * scores), titles, strict=True):
        ax.imshow(array, cmap=STATE_MAP, vmin=-limit, vmax=limit)
        ax.set_title(title, fontsize=13)
        ax.set_xticks(range(tokens), range(1, tokens + 1))
        ax.set_yticks(range(tokens), range(1, tokens + 1))
        ax.set_xlabel("written at $i$")
    axes[0].set_ylabel("read at $t$")
    above = [(r, c) for r in range(tokens) for c in range(r + 1, tokens)]
    for r, c in above:
        axes[0].add_patch(
            Rectangle((c - 0.5, r - 0.5), 1, 1, fill=False, hatch="////", ec=COLOUR["error"], lw=0)
        )
    return fig


@styled
def work_per_token(d=8, tokens=24):
    """Multiplications per token, counted while the code runs."""
    position = np.arange(1, tokens + 1)
    dense = [multiplications(softmax_read, (d,), (t, d), (t, d)) for t in position]
    step = multiplications(linear_attention.step, (d, d), (d,), (d,), (d,))
    fig, ax = figure(5.2, 2.9)
    ax.plot(position, dense, "o", ms=4, color=COLOUR["key"])
    ax.plot(position, np.full(tokens, step), "s", ms=4, color=COLOUR["state"])
    ax.plot([d, d], [0, step], color=COLOUR["quiet"], lw=1, ls=":")
    ax.text(d + 0.3, 20, f"$t = d = {d}$", color=COLOUR["quiet"])
    ax.text(15.5, 275, "read a cache of $t$ rows", color=COLOUR["key"], ha="right")
    ax.text(24, step - 35, "write and read a state", color=COLOUR["state"], ha="right")
    ax.set(xlabel="position $t$ of the token", ylabel="multiplications", ylim=(0, None))
    return fig


@styled
def state_matrix(tokens=3, degrees=45):
    """The state after some tokens, the keys and the query on the unit circle, the read-out."""
    K, q = directions(KEY_DEGREES), directions(degrees)
    V = np.array(VALUES)
    _, S = linear_attention.recurrent(K[:tokens], K[:tokens], V[:tokens], np.zeros((3, 2)))
    fig, (circle, ax) = figure(7.0, 3.2, ncols=2)
    angle = np.linspace(0, 2 * np.pi, 200)
    circle.plot(np.cos(angle), np.sin(angle), color=COLOUR["quiet"], lw=0.8)
    circle.set(xlim=(-1.4, 1.4), ylim=(-1.4, 1.4), aspect="equal")
    circle.axis("off")
    for n, (x, y) in enumerate(K):
        circle.annotate(
            "",
            (x, y),
            (0, 0),
            arrowprops={
                "arrowstyle": "->",
                "color": COLOUR["key"],
                "lw": 2,
                "alpha": 1 if n < tokens else 0.2,
            },
        )
    circle.plot(*q, "o", ms=9, color=COLOUR["query"])
    circle.text(
        *(1.25 * q), r"$\mathbf{q}$", color=COLOUR["query"], ha="center", va="center", fontsize=13
    )
    bare(ax, 8, 5)
    cells(ax, S, 0.5, 3.5, 5, numbers=".1f", size=9)
    cells(ax, (S @ q)[:, None], 5.5, 3.5, 5, numbers=".1f", size=9)
    ax.text(1.5, 3.8, rf"$\mathbf{{S}}_{tokens}$", ha="center", fontsize=13)
    ax.text(4.0, 2.0, r"$\mathbf{q}\;\rightarrow$", ha="center", va="center", fontsize=13)
    ax.text(6.0, 3.8, r"$\mathbf{S}\mathbf{q}$", ha="center", fontsize=13)
    return fig


def state_matrix_widget():
    """The same with sliders, for the notebook."""
    return widgets.interactive(
        lambda tokens, degrees: state_matrix(tokens, degrees),
        tokens=widgets.IntSlider(2, 0, 5, description="tokens"),
        degrees=widgets.IntSlider(0, 0, 355, 5, description="query, °"),
    )
