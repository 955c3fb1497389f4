"""Figures of chapter 8: the triangular system, its paths, and the ways to invert it."""

from functools import cache
from math import comb

import ipywidgets as widgets
import numpy as np
from matplotlib.patches import Arc, Rectangle

from .. import wy
from ..proofs.ch08_inverses import WAYS, doubling_stages, paths
from ..proofs.data import equal_cosine_keys, hard_inputs, relative_error
from .style import COLOUR, figure, heat, live, styled


def correlated(C=64, cosine=0.5, strength=None, d_k=128, seed=0):
    """`A` of C unit keys with this mean cosine; strengths uniform over (0, 2) or all alike."""
    _, K, _, _, beta, _ = hard_inputs(T=C, d_k=d_k, cosine=cosine, seed=seed)
    return wy.interaction(K, beta if strength is None else np.full(C, strength))


def inverse(A):
    return wy.solve(A, np.eye(len(A), dtype=A.dtype))


@styled
def interaction_and_inverse(C=24):
    """`A`, the inverse of `I + A`, and `T`, for one chunk of correlated keys."""
    _, K, _, _, beta, _ = hard_inputs(T=C)
    A = wy.interaction(K, beta)
    shown = {
        r"$\mathbf{A}$": A,
        r"$\mathbf{X} = (\mathbf{I}+\mathbf{A})^{-1}$": inverse(A),
        r"$\mathbf{T} = \mathbf{X}\mathbf{B}$": inverse(A) * beta,
    }
    fig, axes = figure(6.6, 2.4, ncols=3)
    for ax, (title, matrix) in zip(axes, shown.items(), strict=True):
        image = heat(ax, matrix, title, -2, 2, size=12)
    fig.colorbar(image, ax=axes, shrink=0.85)
    return fig


def _graph(ax, C, chosen=(), colour=COLOUR["plus"], labels=None):
    """Tokens on a line, an arc for every edge; the arcs of `chosen`, (m, n) pairs, stand out."""
    for m in range(C):
        for n in range(m + 1, C):
            lit = (m, n) in chosen
            ax.add_patch(
                Arc(
                    ((m + n) / 2, 0),
                    n - m,
                    0.95 * (n - m),
                    theta1=0,
                    theta2=180,
                    color=colour if lit else COLOUR["quiet"],
                    alpha=1 if lit else 0.35,
                    lw=2.4 if lit else 1,
                )
            )
            if lit and labels:
                ax.text((m + n) / 2, 0.475 * (n - m) + 0.11, labels(n, m), ha="center", fontsize=10)
    ax.plot(range(C), [0] * C, "o", ms=13, color=COLOUR["key"])
    for token in range(C):
        ax.text(token, -0.015, f"{token + 1}", color="white", ha="center", va="center", fontsize=9)
    ax.set(xlim=(-0.3, C - 0.7), ylim=(-0.25, 0.475 * (C - 1) + 0.35), aspect="equal")
    ax.set_axis_off()


@styled
def four_paths():
    """The four paths from token 1 to token 4, and what each contributes to X_41."""
    fig, axes = figure(4.3, 3.2, nrows=2, ncols=2)
    for ax, path in zip(axes.flat, paths(0, 3), strict=True):
        edges = list(zip(path, path[1:], strict=False))
        sign = "+" if len(edges) % 2 == 0 else "-"
        colour = COLOUR["plus" if sign == "+" else "minus"]
        _graph(ax, 4, edges, colour, lambda n, m: f"$-A_{{{n + 1}{m + 1}}}$")
        product = "".join(f"A_{{{n + 1}{m + 1}}}" for m, n in reversed(edges))
        ax.set_title(f"${sign}{product}$", color=colour, fontsize=12)
    return fig


LINES = {0.0: ":", 0.25: "-.", 0.5: "--", 0.9: "-", 1.0: "-"}
LABELS = {0.0: (13, 1e-3), 0.25: (18, 2.5e5), 0.5: (22, 2e10), 0.9: (31, 4e14), 1.0: (32, 4e18)}


@styled
def power_sizes(C=64, strength=1.0):
    """The largest entry of A^m against m, for five cosines; and that of the inverse."""
    fig, ax = figure(5.2, 3.6)
    for cosine, dashes in LINES.items():
        A = correlated(C, cosine, strength)
        power, sizes = A, []
        for _ in range(1, C):
            sizes.append(np.abs(power).max())
            power = power @ A
        look = {"color": COLOUR["error"], "lw": 1 + cosine, "label": f"{cosine:g}"}
        ax.semilogy(range(1, C), sizes, dashes, **look)
        at, height = LABELS[cosine]
        ax.text(at, height, f"cosine {cosine:g}", color=COLOUR["error"], ha="center")
    ax.axhline(1, color=COLOUR["ink"], lw=2)
    ax.text(38, 3, "the inverse", color=COLOUR["ink"], ha="center")
    ax.set(xlabel="power $m$", ylabel=r"largest entry of $\mathbf{A}^m$", ylim=(1e-4, 1e20))
    return fig


STYLES = {
    "sum of powers": ("second", "-", "o"),
    "squarings": ("fourth", "--", "s"),
    "substitution": ("first", "-", "o"),
    "blocks of 16": ("third", "--", "^"),
    "doubling": ("fifth", ":", "d"),
}
COSINES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)


@cache
def float32_errors(cosine, strength=None, seeds=3):
    """Each way to invert, run in float32 on C = 64, against float64: mean relative errors."""
    found = {name: [] for name in WAYS}
    for seed in range(seeds):
        A = correlated(64, cosine, strength, seed=seed)
        for name, way in WAYS.items():
            found[name].append(relative_error(way(A.astype("float32")), inverse(A)))
    return {name: float(np.mean(errors)) for name, errors in found.items()}


@styled
def errors_of_five_ways():
    """Relative error in float32 against the mean cosine of the keys."""
    fig, ax = figure(5.2, 3.8)
    for name, (role, dashes, marker) in STYLES.items():
        errors = [float32_errors(cosine)[name] for cosine in COSINES]
        ax.semilogy(
            COSINES, errors, dashes, marker=marker, ms=4, color=COLOUR[role], label=name, lw=1.6
        )
    ax.axhline(1, color=COLOUR["quiet"], lw=0.8)
    ax.text(0, 1.8, "nothing right", color=COLOUR["quiet"])
    ax.set(xlabel="mean cosine of two keys", ylabel="relative error of the inverse")
    fig.legend(loc="outside upper center", ncols=3)
    return fig


@styled
def doubling(C=8):
    """The inverse by doubling, X^(1) to X^(8): neighbouring blocks are joined at each step."""
    _, K, _, _, beta, _ = hard_inputs(T=C)
    stages = doubling_stages(wy.interaction(K, beta))
    fig, axes = figure(6.6, 2.0, ncols=len(stages))
    for n, (ax, stage) in enumerate(zip(axes, stages, strict=True)):
        b = 2**n
        image = heat(ax, stage, rf"$\mathbf{{X}}^{{({b})}}$", -1.5, 1.5, size=12)
        for start in range(0, C, b):
            corner = (start - 0.5, start - 0.5)
            ax.add_patch(Rectangle(corner, b, b, fill=False, ec=COLOUR["ink"], lw=1.2))
        ax.set(xlim=(-0.7, C - 0.3), ylim=(C - 0.3, -0.7))
    fig.colorbar(image, ax=axes, shrink=0.85)
    return fig


def condition(cosine, strength, C=64):
    """The condition number of I + A for C unit keys, every two at this cosine."""
    K = equal_cosine_keys(C, cosine)
    return np.linalg.cond(np.eye(C) + wy.interaction(K, np.full(C, strength)))


@styled
def conditioning(C=64):
    """The condition number of I + A against the cosine, for four strengths, and its bound."""
    fig, ax = figure(5.2, 3.8)
    cosines = np.linspace(0, 1, 41)
    lines = {0.5: ("first", "-"), 1.0: ("second", "--"), 2.0: ("third", "-"), 2.5: ("error", "-.")}
    for strength, (role, dashes) in lines.items():
        numbers = [condition(cosine, strength, C) for cosine in cosines]
        ax.semilogy(cosines, numbers, dashes, color=COLOUR[role], lw=2)
        text, nudge = rf"$\beta = {strength:g}$", 0.45 if strength == 0.5 else 1.0
        ax.text(1.02, numbers[-1] * nudge, text, color=COLOUR[role], va="center")
    bound = C * (2 * C - 1)  # eq-condition-bound
    ax.plot([0, 1], [bound, bound], color=COLOUR["quiet"], lw=0.8)
    ax.text(0.02, bound * 1.6, rf"bound for $\beta \leq 2$: {bound:,}", color=COLOUR["quiet"])
    ax.set(xlabel="cosine of every two keys", ylabel="condition number", xlim=(0, 1.22))
    ax.set_xticks([0, 0.25, 0.5, 0.75, 1])
    return fig


def terms(between, overlap):
    """What the paths with 1, 2, ... steps add, all weights equal (eq-identical-keys)."""
    return [comb(between, m - 1) * (-overlap) ** m for m in range(1, between + 2)]


@styled
def solve_paths(r=5, i=1, C=5, cosine=0.8, beta=1.0, path=0):
    """A cell of the inverse and its paths, keys of one cosine: the twin of the moving figure."""
    r, i, a = min(r, C), min(i, r, C), beta * cosine
    X = inverse(np.tril(np.full((C, C), a), -1))
    every = paths(i - 1, r - 1)
    chosen = every if path == 0 else [every[min(path, len(every)) - 1]]
    value = sum((-a) ** (len(one) - 1) for one in chosen)
    fig, (graph, grid, bars) = figure(6.6, 2.8, ncols=3)
    edges = {edge for one in chosen for edge in zip(one, one[1:], strict=False)}
    _graph(graph, C, edges, COLOUR["plus" if value >= 0 else "minus"])
    name = f"{len(every)} paths" if path == 0 else " → ".join(str(n + 1) for n in chosen[0])
    graph.set_title(f"{name}: {value:.3f}", fontsize=10)
    heat(grid, X, f"$X_{{{r}{i}}} = {X[r - 1, i - 1]:.3f}$", -2, 2, size=12)
    grid.add_patch(
        Rectangle((i - 1.5, r - 1.5), 1, 1, fill=False, ec=COLOUR["ink"], lw=2, zorder=3)
    )
    heights = terms(r - i - 1, a)
    roles = ["plus" if height >= 0 else "minus" for height in heights]
    bars.bar(range(1, r - i + 1), heights, color=[COLOUR[role] for role in roles])
    bars.axhline(0, color=COLOUR["quiet"], lw=0.8)
    bars.set(title=f"sum {sum(heights):.3f}", xlabel="steps", xticks=range(1, r - i + 1))
    return fig


def solve_paths_widget():
    """`solve_paths` with sliders for the cell, the keys' cosine, the strength and the path."""
    return live(
        solve_paths,
        r=widgets.IntSlider(value=5, min=1, max=6, description="row r"),
        i=widgets.IntSlider(value=1, min=1, max=6, description="column i"),
        C=widgets.IntSlider(value=5, min=3, max=6, description="tokens C"),
        cosine=widgets.FloatSlider(value=0.8, min=0, max=1, step=0.05, description="cosine"),
        beta=widgets.FloatSlider(value=1.0, min=0, max=2, step=0.1, description="β"),
        path=widgets.IntSlider(value=0, min=0, max=16, description="path, 0: all"),
    )
