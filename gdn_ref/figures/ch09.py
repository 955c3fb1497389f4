"""Figures of chapter 9: one chunk in numbers, attention matrices, schedule, cost, precision."""

import ipywidgets as widgets
import numpy as np
from matplotlib.patches import FancyArrowPatch, Rectangle

from .. import delta_rule, wy
from ..chunking import causal_mask
from ..proofs.data import equal_cosine_keys
from .ch09_measure import precision
from .style import COLOUR, STATE_MAP, directions, figure, live, styled

STEPS = (
    "what the chunk receives",
    "A from the keys alone",
    "read the old state: B(V − KSᵀ)",
    "solve, row 1",
    "solve, row 2",
    "solve, row 3",
    "write: S′ = S + EᵀK",
    "read out: O = QSᵀ + (M ⊙ QKᵀ)E",
)
PLACES = {  # name -> x, y of its first cell, title, role, step in which it is computed
    "K": (6, 24, "K", "key", 0),
    "V": (104, 24, "V", "value", 0),
    "Q": (202, 24, "Q", "query", 0),
    "S": (300, 24, "S, old state", "state", 0),
    "A": (6, 136, "A", "key", 1),
    "R": (176, 136, "B(V − KSᵀ)", "value", 2),
    "E": (300, 136, "E, the deltas", "error", 3),
    "P": (6, 248, "M ⊙ QKᵀ", "query", 7),
    "O": (176, 248, "O", "query", 7),
    "next": (300, 248, "S′, new state", "state", 6),
}
USES = ("", "K", "KVS", "AR", "AR", "AR", "KSE", "QSPE")  # the matrices that each step uses
CELL = (46, 24)


def small_chunk(angle=53, beta=1.0):
    """Every matrix of a chunk of three tokens with keys `angle` degrees apart."""
    K = directions(angle * np.arange(3))
    V = np.array([[2.0, 1], [1, 3], [0, 2]])
    Q, S = np.array([[1.0, 0], [1, 0], [0, 1]]), np.eye(2)
    strengths = np.full(3, beta)
    A, R = wy.interaction(K, strengths), beta * (V - K @ S.T)
    O, S_next = delta_rule.chunk(S, Q, K, V, strengths)
    P = causal_mask(Q) * (Q @ K.T)
    return {"K": K, "V": V, "Q": Q, "S": S, "A": A, "R": R, "E": wy.solve(A, R), "P": P, "O": O,
            "next": S_next}  # fmt: skip


@styled
def chunk_flow(step=4, angle=53, beta=1.0):
    """The chunk of three tokens after some of its steps.

    Thick frames are what the newest step computed, dashed ones what it used.
    """
    fig, axes = figure(5.4, 4.6)
    values = small_chunk(angle, beta)
    for name in USES[step]:
        x, y, _, role, _ = PLACES[name]
        rows, columns = values[name].shape
        frame = {"fill": False, "ls": "--", "lw": 1.5, "ec": COLOUR[role]}
        axes.add_patch(
            Rectangle((x - 3, y - 3), columns * CELL[0] + 6, rows * CELL[1] + 6, **frame)
        )
    for name, (x, y, title, role, ready) in PLACES.items():
        axes.text(x, y - 8, title, fontsize=9, color=COLOUR["ink"])
        for (row, column), value in np.ndenumerate(values[name]):
            at = ready + row if name == "E" else ready
            corner = (x + column * CELL[0], y + row * CELL[1])
            width = 2.2 if at == step else 0.8
            colour = COLOUR[role] if at <= step else COLOUR["faint"]
            face = {"facecolor": "white", "edgecolor": colour, "lw": width}
            axes.add_patch(Rectangle(corner, *CELL, zorder=1 + (at == step), **face))
            if at <= step:
                place = (corner[0] + CELL[0] / 2, corner[1] + CELL[1] / 2)
                text = f"{value + 0.0:.2f}".replace("-", "−")
                axes.text(*place, text, ha="center", va="center", fontsize=8, zorder=4)
    axes.set(xlim=(0, 400), ylim=(328, 0), aspect="equal")
    axes.axis("off")
    axes.set_title(f"{step}: {STEPS[step]}", fontsize=10)
    return fig


def chunk_flow_widget():
    """`chunk_flow` with sliders: the step, the angle between neighbouring keys, the strength."""
    return live(
        chunk_flow,
        step=widgets.IntSlider(value=4, min=0, max=7, description="step"),
        angle=widgets.IntSlider(value=53, min=0, max=90, description="angle"),
        beta=widgets.FloatSlider(value=1.0, min=0, max=2, step=0.05, description="β"),
    )


LETTERS = "abcadbacdbac"


def letter_attention(cosine=0.3):
    """Twelve writes to four addresses; every query asks for the first one, `a`.

    Returns the weights of linear attention and of the delta rule, row r for the state after r.
    """
    addresses = equal_cosine_keys(4, cosine)
    K = addresses[["abcd".index(letter) for letter in LETTERS]]
    Q = np.tile(addresses[:1], (len(K), 1))
    scores = causal_mask(Q) * (Q @ K.T)
    beta = np.ones(len(K))
    return scores, scores @ wy.solve(wy.interaction(K, beta), np.diag(beta))


@styled
def attention_matrices():
    """Who answers the question "what is stored under a?", after each token."""
    fig, axes = figure(5.6, 3.3, ncols=2)
    names = ("linear attention", "delta rule")
    for panel, weights, name in zip(axes, letter_attention(), names, strict=True):
        panel.imshow(weights, cmap=STATE_MAP, vmin=-1, vmax=1)
        panel.set_xticks(range(12), LETTERS)
        panel.set_yticks(range(12), LETTERS)
        panel.set(xlabel="written by", title=name)
        panel.tick_params(length=0)
    axes[0].set_ylabel("asked after")
    return fig


@styled
def schedule(chunks=4):
    """What can be done at once and what must wait, for a few chunks."""
    fig, axes = figure(5.4, 2.9)
    axes.set(xlim=(-0.5, 11.6), ylim=(chunks, -0.9))
    axes.axis("off")
    for n in range(chunks):
        _box(axes, 0.1, n, 2.5, "A, W, U", "key")
        _box(axes, 3.1 + 1.5 * n, n, 1.35, "E, S′", "state")
        _box(axes, 10.0, n, 1.5, "O", "query")
        axes.text(-0.1, n + 0.35, f"{n + 1}", ha="right", va="center", color=COLOUR["quiet"])
        _arrow(axes, (2.65, n + 0.35), (3.05 + 1.5 * n, n + 0.35), "key")
        _arrow(axes, (4.5 + 1.5 * n, n + 0.35), (9.95, n + 0.35), "quiet")
        if n + 1 < chunks:
            _arrow(axes, (4.1 + 1.5 * n, n + 0.75), (4.6 + 1.5 * n, n + 0.97), "state")
    headings = ((1.35, "all at once"), (6.3, "one after the other"), (10.75, "all at once"))
    for x, text in headings:
        axes.text(x, -0.35, text, ha="center", color=COLOUR["ink"])
    return fig


def _box(axes, x, y, width, text, role):
    axes.add_patch(Rectangle((x, y), width, 0.7, fill=False, ec=COLOUR[role], lw=1.6))
    axes.text(x + width / 2, y + 0.35, text, ha="center", va="center")


def _arrow(axes, start, end, role):
    style = {"arrowstyle": "-|>", "mutation_scale": 9, "shrinkA": 0, "shrinkB": 0}
    axes.add_patch(FancyArrowPatch(start, end, color=COLOUR[role], **style))


def flops_per_token(C, d_k, d_v):
    """FLOPs a token in the late and in the early chunk form (eq-delta-flops-chunk)."""
    late = 6 * d_k * d_v + C * (4 * d_k + 2) + (3 * C + 1) * d_v
    return late, late + (C + 1) * d_k


def chain(C, T):
    """The longest row of products: late and early (eq-delta-depth, for C of at least 2)."""
    return 2 * T / C + T, 2 * T / C + C + 1


@styled
def work_and_wait(T=4096, d=128):
    """FLOPs a token, and products that must wait for one another, against the chunk size."""
    fig, (work, wait) = figure(5.0, 5.2, nrows=2)
    C = 2.0 ** np.arange(1, 13)
    for panel, values, loop in (
        (work, flops_per_token(C, d, d), 6 * d * d + 2 * d),
        (wait, chain(C, T), 3 * T + 1),
    ):
        panel.axhline(loop, color=COLOUR["quiet"], label="token loop")
        panel.loglog(C, values[0], "--", color=COLOUR["first"], label="chunks, solved late")
        panel.loglog(C, values[1], color=COLOUR["second"], label="chunks, solved early")
        panel.axvline(64, color=COLOUR["quiet"], lw=0.6, ls=":")
        panel.set(xticks=[2, 16, 64, 256, 4096])
        panel.set_xticklabels(["2", "16", "64", "256", "4096"])
        panel.minorticks_off()
    work.set(ylabel="FLOPs per token", ylim=(4e4, 6e6))
    wait.set(ylabel="multiplications in a row", ylim=(1e2, 2e4), xlabel="chunk size C")
    handles, labels = work.get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=2)
    return fig


@styled
def precision_against_cosine():
    """Errors against how alike the keys are, for two write strengths."""
    cosines = 1 - np.array([1, 0.5, 0.2, 0.1, 0.03, 0.01, 0.003, 0.001])
    names = ("token loop, float32", "chunks, float32", "chunks, inverse in bfloat16")
    looks = (("quiet", "o-"), ("first", "s-"), ("second", "^--"))
    fig, axes = figure(5.6, 3.6, ncols=2, sharey=True)
    for panel, beta in zip(axes, (1.0, 2.0), strict=True):
        errors = np.array([precision(cosine, beta) for cosine in cosines])
        for curve, name, (role, look) in zip(errors.T, names, looks, strict=True):
            panel.loglog(1 - cosines, curve, look, ms=4, color=COLOUR[role], label=name)
        panel.set(xlabel="1 − cosine of two keys", title=rf"$\beta = {beta:g}$")
        panel.invert_xaxis()
    axes[0].set_ylabel("relative error of the outputs")
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig
