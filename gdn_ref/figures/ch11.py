"""Figures of chapter 11: a chunk's data flow, its triangular system, and what the slips cost."""

import ipywidgets
import numpy as np

from .. import wy
from ..chunking import decay
from ..proofs import ch11_extra as slips
from ..proofs.data import hard_inputs, relative_error
from .ch11_flow import chunk_flow as chunk_flow
from .style import COLOUR, figure, heat, styled


@styled
def interaction_and_inverse(C=24):
    """`A`, gated `A`, and the inverse of the gated system, on one chunk."""
    _, k, _, g, beta, _ = hard_inputs(T=C)
    Gamma = decay(g)[1]
    gated = wy.interaction(k, beta, Gamma)
    shown = {
        r"$\mathbf{A}$": wy.interaction(k, beta),
        r"$\tilde{\mathbf{A}}$: with decay": gated,
        r"$(\mathbf{I}+\tilde{\mathbf{A}})^{-1}$": wy.solve(gated, np.eye(C)),
    }
    fig, axes = figure(6.6, 2.4, ncols=3)
    for ax, (title, matrix) in zip(axes, shown.items(), strict=True):
        image = heat(ax, matrix, title, -1.5, 1.5)
    fig.colorbar(image, ax=axes, shrink=0.85)
    return fig


CIRCULATING = {  # slip -> the colour and the dashes of its line
    "output: mask M": ("first", "-"),
    "W: gated solve, rows scaled": ("second", "--"),
    "state: minus sign": ("third", "-."),
    "read: undecayed state": ("fourth", ":"),
}


@styled
def slip_errors(seeds=3):
    """The error of the circulating formulas against the decay of a token."""
    alphas = 1 - np.logspace(-4, -0.5, 15)
    fig, ax = figure(6.0, 3.4)
    for slip, (role, dashes) in CIRCULATING.items():
        errors = [
            np.mean([slips.error(slip, _with_decay(alpha, seed), 32) for seed in range(seeds)])
            for alpha in alphas
        ]
        ax.loglog(1 - alphas, errors, color=COLOUR[role], ls=dashes, lw=2, label=slip)
    ax.axhline(5e-2, color=COLOUR["quiet"], lw=0.8)
    ax.text(1.1e-4, 7e-2, "a test's tolerance of 5e-2", color=COLOUR["quiet"])
    ax.set(xlabel=r"forgotten per token, $1 - \alpha$", ylabel="relative error", ylim=(1e-6, 30))
    ax.legend(loc="lower right")
    return fig


@styled
def hidden_slips():
    """Which slip shows on which data: the error of each, and a ring where it hides."""
    table = slips.errors_by_data()
    errors = np.array([[column[slip] for column in table.values()] for slip in slips.SLIPS])
    fig, ax = figure(6.6, 3.9)
    ax.imshow(np.log10(np.maximum(errors, 1e-4)), cmap="Purples", vmin=-4, vmax=1.5, aspect="auto")
    for (row, column), error in np.ndenumerate(errors):
        hidden = error <= 1e-6
        text = "hides" if hidden else f"{error:.2g}"
        dark = error > 0.06
        ax.text(
            column,
            row,
            text,
            ha="center",
            va="center",
            fontsize=8,
            color="white" if dark else COLOUR["error" if hidden else "ink"],
            weight="bold" if hidden else "normal",
        )
    names = [
        name.replace(" and ", ",\n").replace(" in a ", "\nin a ").replace(" keys", "\nkeys")
        for name in table
    ]
    ax.set_xticks(range(len(names)), names, fontsize=8)
    ax.set_yticks(range(len(slips.SLIPS)), slips.SLIPS, fontsize=8)
    ax.tick_params(length=0)
    ax.xaxis.tick_top()
    ax.spines[:].set_visible(False)
    return fig


FORMS = ("plain solve, rows scaled", "gated solve, gamma inside", "gated solve, rows scaled")


def w_weights(form, C=8, alpha=0.8, cosine=0.7, beta=1.0):
    """Weights on the keys: row r of W-left-arrow is `sum_i weights_ri k_i`; keys of one cosine."""
    overlap = np.full((C, C), cosine)
    gamma, Gamma = decay(np.full(C, np.log(alpha)))
    A = np.tril(beta * (overlap if form == FORMS[0] else Gamma * overlap), -1)
    inside = np.diag(gamma) if form == FORMS[1] else np.eye(C)
    weights = beta * wy.solve(A, inside)
    return weights if form == FORMS[1] else gamma[:, None] * weights


@styled
def two_w_forms(form=FORMS[2], C=8, alpha=0.8, cosine=0.7, beta=1.0):
    """The weights of one form beside the right ones, and the difference."""
    right = w_weights(FORMS[0], C, alpha, cosine, beta)
    shown = w_weights(form, C, alpha, cosine, beta)
    fig, axes = figure(6.6, 2.5, ncols=3)
    off = np.tril(np.ones((C, C)), -1)
    error = relative_error(shown, right)
    titles = ("right: either form", form, f"difference, {error:.1%} of the whole")
    for ax, title, matrix in zip(axes, titles, (right, shown, shown - right), strict=True):
        image = heat(ax, off * matrix, title, -0.5, 0.5, size=9)
    fig.colorbar(image, ax=axes, shrink=0.85, label="weight on key $i$")
    return fig


def two_w_forms_widget():
    """The weights of the three ways to form W: the twin of the page's moving figure."""

    def draw(form=FORMS[2], alpha=0.8, cosine=0.7, beta=1.0):
        return two_w_forms(form, 8, alpha, cosine, beta)

    sliders = {"alpha": (0.5, 1.0, 0.01), "cosine": (0.0, 0.95, 0.05), "beta": (0.1, 2.0, 0.1)}
    return ipywidgets.interactive(draw, form=list(FORMS), **sliders)


def _with_decay(alpha, seed):
    q, k, v, g, beta, S = hard_inputs(T=96, d_k=32, d_v=24, seed=seed)
    return q, k, v, np.full_like(g, np.log(alpha)), beta, S
