"""Figures of chapter 12: one chunk backwards in numbers, two roles, mistakes, memory, precision."""

import ipywidgets as widgets
import numpy as np
from matplotlib.colors import BoundaryNorm
from matplotlib.patches import Rectangle

from .. import backward, wy
from ..chunking import decay
from ..proofs.ch12_mutants import MUTANTS, NAMES
from .ch12_measure import (
    error_table,
    kept_by_autograd,
    kept_by_hand,
    parts_of_dg,
    precision_of_dg,
    problem,
)
from .style import COLOUR, RULE, directions, figure, heat, live, styled

STEPS = (
    "what was kept, and what comes in",
    "dE: the outputs and the next state",
    "solve, row 3",
    "solve, row 2",
    "solve, row 1",
    "values and write strengths",
    "queries and keys",
    "dS, for the chunk before",
    "the log-decays",
)
PLACES = {  # name -> x, y of its first cell, title, role, step in which it is computed
    "K": (6, 24, "K", "key", 0),
    "Q": (104, 24, "Q", "query", 0),
    "E": (202, 24, "E", "error", 0),
    "S": (300, 24, "S", "state", 0),
    "A": (6, 130, "Ã", "key", 0),
    "dO": (202, 130, "dO", "query", 0),
    "dnext": (300, 130, "dS′", "state", 0),
    "dE": (6, 236, "dE", "error", 1),
    "Z": (104, 236, "Z", "error", 2),
    "dV": (202, 236, "dV", "value", 5),
    "dbeta": (300, 236, "dβ", "error", 5),
    "dQ": (6, 342, "dQ", "query", 6),
    "dK": (104, 342, "dK", "key", 6),
    "dS": (202, 342, "dS", "state", 7),
    "dg": (300, 342, "dg", "decay", 8),
}
USES = (
    "",
    "Q K dO dnext",
    "A dE",
    "A dE",
    "A dE",
    "Z E S K",
    "dO S E K Q dV dnext",
    "dnext dO Q dV K",
    "Q dQ K dK S dnext E",
)
CELL = (46, 24)
SMALL = {  # the parts of the small chunk that no slider moves
    "Q": [[1.0, 0], [1, 0], [0, 1]],
    "V": [[2.0, 1], [1, 3], [0, 2]],
    "S": [[1.0, 0], [0, 1]],
    "dO": [[1.0, 0], [0, 1], [1, 1]],
    "dnext": [[0.5, 0.5], [0, 0.5]],
}


def small_chunk(angle=53, beta=1.0, alpha=0.8):
    """A chunk of three tokens, keys `angle` degrees apart, with all its gradients."""
    x = {name: np.array(rows) for name, rows in SMALL.items()}
    x["K"] = directions(angle * np.arange(3))
    g, strengths = np.full(3, np.log(alpha)), np.full(3, beta)
    gamma, Gamma = decay(g)
    x["A"] = wy.interaction(x["K"], strengths, Gamma)
    right = beta * (x["V"] - gamma[:, None] * (x["K"] @ x["S"].T))
    x["E"] = wy.solve(x["A"], right)
    scores = Gamma * (x["Q"] @ x["K"].T)
    x["dE"] = scores.T @ x["dO"] + Gamma[-1][:, None] * (x["K"] @ x["dnext"].T)
    x["Z"] = wy.solve_transposed(x["A"], x["dE"])
    found = backward.chunk(x["S"], x["Q"], x["K"], x["V"], g, strengths, x["dO"], x["dnext"])
    x["dS"], x["dQ"], x["dK"], x["dV"], dg, dbeta = found
    return x | {"dg": dg[:, None], "dbeta": dbeta[:, None]}


def ready(name, row):
    """The step that computes a row: the solve begins with the last one."""
    return PLACES[name][4] + (2 - row if name == "Z" else 0)


@styled
def backward_flow(step=3, angle=53, beta=1.0, alpha=0.8):
    """The chunk of three tokens after some steps of its backward pass.

    Thick frames are what the newest step computed, dashed ones what it used.
    """
    fig, axes = figure(5.4, 5.8)
    values = small_chunk(angle, beta, alpha)
    for name in USES[step].split():
        x, y, _, role, _ = PLACES[name]
        rows, columns = values[name].shape
        frame = {"fill": False, "ls": "--", "lw": 1.5, "ec": COLOUR[role]}
        axes.add_patch(
            Rectangle((x - 3, y - 3), columns * CELL[0] + 6, rows * CELL[1] + 6, **frame)
        )
    for name, (x, y, title, role, _) in PLACES.items():
        axes.text(x, y - 8, title, fontsize=9, color=COLOUR["ink"])
        for (row, column), value in np.ndenumerate(values[name]):
            at = ready(name, row)
            corner = (x + column * CELL[0], y + row * CELL[1])
            width = 2.2 if at == step else 0.8
            colour = COLOUR[role] if at <= step else COLOUR["faint"]
            face = {"facecolor": "white", "edgecolor": colour, "lw": width}
            axes.add_patch(Rectangle(corner, *CELL, zorder=1 + (at == step), **face))
            if at <= step:
                place = (corner[0] + CELL[0] / 2, corner[1] + CELL[1] / 2)
                text = f"{value + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "−")
                axes.text(*place, text, ha="center", va="center", fontsize=8, zorder=4)
    axes.set(xlim=(0, 400), ylim=(420, 0), aspect="equal")
    axes.axis("off")
    axes.set_title(f"{step}: {STEPS[step]}", fontsize=10)
    return fig


def backward_flow_widget():
    """`backward_flow` with sliders: step, angle between keys, write strength, decay."""
    return live(
        backward_flow,
        step=widgets.IntSlider(value=3, min=0, max=8, description="step"),
        angle=widgets.IntSlider(value=53, min=0, max=90, description="angle"),
        beta=widgets.FloatSlider(value=1.0, min=0, max=2, step=0.05, description="β"),
        alpha=widgets.FloatSlider(value=0.8, min=0.05, max=1, step=0.05, description="α"),
    )


def score_gradients(T=24):
    """`J` of one chunk: for each pair of tokens, product times gradient (eq-grad-crossing)."""
    q, k, v, g, beta, S, dO, dS = problem(T, 24, 16)
    return parts_of_dg(S, q, k, v, g - 0.15, beta / 2, dO, dS)[0]


@styled
def border(r=10):
    """The pairs that a log-decay lies between, and what dot products add up in their place."""
    fig, axes = figure(6.2, 3.2, ncols=2)
    J = score_gradients()
    limit = float(np.quantile(abs(J[J != 0]), 0.97))
    C = len(J)
    for panel, title in zip(axes, ("dot products", "crossing"), strict=True):
        heat(panel, J, title, -limit, limit)
        panel.set(xlabel="read: token $i$")
    axes[0].set_ylabel("reading: token $s$")
    frame = {"fill": False, "lw": 2, "ec": COLOUR["decay"]}
    axes[0].add_patch(Rectangle((-0.5, r - 0.5), C, C - r, **frame))
    axes[0].add_patch(Rectangle((r - 0.5, -0.5), C - r, C, ls="--", **frame))
    axes[1].add_patch(Rectangle((-0.5, r - 0.5), r, C - r, **frame))
    return fig


@styled
def mistake_table():
    """Which gradient shows which of the mistakes."""
    errors = error_table()
    fig, axes = figure(5.0, 6.6)
    levels = [-20, -9, -2, -1, 0, 10]
    shown = np.log10(np.maximum(errors, 1e-19))
    axes.imshow(shown, cmap="Purples", norm=BoundaryNorm(levels, 256), aspect="auto")
    for (row, column), error in np.ndenumerate(errors):
        text = "right" if error < 1e-9 else f"{error:.2g}" if error < 10 else f"{error:.0f}"
        colour = COLOUR["quiet"] if error < 1e-9 else "white" if error >= 0.1 else COLOUR["ink"]
        axes.text(column, row, text, ha="center", va="center", fontsize=8, color=colour)
    labels = ("dQ", "dK", "dV", "dg", "dβ", "dS")
    assert len(labels) == len(NAMES)
    axes.set_xticks(range(len(labels)), labels)
    axes.set_yticks(range(len(MUTANTS)), MUTANTS, fontsize=8, color=COLOUR["ink"])
    axes.xaxis.tick_top()
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    return fig


@styled
def kept_numbers(d=64, T=512):
    """Numbers a token that wait for the backward pass, measured."""
    fig, axes = figure(5.4, 3.2)
    sizes = (4, 8, 16, 32, 64, 128, 256)
    chunks = [kept_by_autograd(T, d, chunk_size=C) for C in sizes]
    hand = [kept_by_hand(T, d, C) for C in sizes]
    axes.axhline(
        kept_by_autograd(T, d), color=COLOUR["quiet"], label="token loop, autograd", ls="--"
    )
    axes.loglog(sizes, chunks, "s-", ms=4, color=COLOUR["first"], label="chunks, autograd")
    axes.loglog(sizes, hand, "o-", ms=4, color=COLOUR["second"], label="chunks, by hand")
    axes.axhline(3 * d + 2, color=COLOUR["ink"], lw=1.6, ls=":", label="the inputs")
    axes.set(xlabel="chunk size C", ylabel="numbers a token")
    axes.set_xticks(sizes, [str(C) for C in sizes])
    axes.minorticks_off()
    fig.legend(loc="outside upper center", ncols=2)
    return fig


@styled
def precision_against_decay():
    """The median error of an entry of dg in float32, against the decay."""
    fig, axes = figure(5.4, 3.2)
    alphas = np.array([0.95, 0.8, 0.5, 0.2, 0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4])
    found = [precision_of_dg(np.full(64, np.log(alpha))) for alpha in alphas]
    looks = (("first", "o-"), ("second", "s--"), ("third", "v:"), ("fourth", "^-"))
    for name, (role, look) in zip(found[0], looks, strict=True):
        curve = [errors[name] for errors in found]
        axes.loglog(alphas, curve, look, ms=4, color=COLOUR[role], label=name)
    axes.invert_xaxis()
    axes.set(xlabel="decay α of every token", ylabel="median relative error")
    fig.legend(loc="outside upper center", ncols=2)
    return fig


@styled
def gradients_fade(T=64, d=32):
    """How far back the gradient of the last state reaches, for three rules."""
    fig, axes = figure(5.4, 2.9)
    q, k, v, _, _, S = hard = problem(T, d, d)[:6]
    assert len(hard) == 6
    dS = np.random.default_rng(0).normal(size=S.shape)
    rules = (
        ("nothing decays, nothing is erased", 0.0, 0.0, "linear", ":"),
        ("erasing alone, β = 1", 0.0, 1.0, "delta", "--"),
        ("decay alone, α = 0.95", np.log(0.95), 0.0, "decay", "-."),
        ("both", np.log(0.95), 1.0, "gated", "-"),
    )
    for name, g, beta, rule, dashes in rules:
        sizes = []
        for start in range(T):
            part = slice(start, None)
            steps, zeros = np.full(T - start, g), np.zeros((T - start, d))
            strengths = np.full(T - start, beta)
            back = backward.chunk(S, q[part], k[part], v[part], steps, strengths, zeros, dS)[0]
            sizes.append(np.linalg.norm(back) / np.linalg.norm(dS))
        axes.semilogy(range(T), sizes, dashes, color=COLOUR[RULE[rule]], label=name)
    axes.set(xlabel="token", ylabel="size of dS before it")
    fig.legend(loc="outside upper center", ncols=2)
    return fig
