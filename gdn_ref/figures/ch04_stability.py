"""Four ways to compute the decay mask, in float32 with PyTorch, and where each of them breaks.

They are equal on paper, and only the last survives every column.
"""

import math
import warnings

import numpy as np
import torch

from ..chunking import decay
from .style import COLOUR, DECAY_MAP, figure, styled


def causal(C):
    return torch.ones(C, C, dtype=torch.bool).tril()


def ratio(g):
    """gamma_r / gamma_i, masked afterwards."""
    gamma = g.cumsum(-1).exp()
    return torch.where(causal(len(g)), gamma[:, None] / gamma[None, :], 0.0)


def exp_then_mask(g):
    """exp(c_r - c_i), masked afterwards."""
    c = g.cumsum(-1)
    return torch.where(causal(len(g)), (c[:, None] - c[None, :]).exp(), 0.0)


def mask_then_exp(g):
    """exp(c_r - c_i) with the mask in the exponent."""
    c = g.cumsum(-1)
    return torch.where(causal(len(g)), c[:, None] - c[None, :], -math.inf).exp()


def each_stretch(g):
    """Each stretch of g summed by itself, and the mask in the exponent (gdn_ref.chunking)."""
    return decay(g)[1]


METHODS = {
    "ratio": ratio,
    "exp, then mask": exp_then_mask,
    "mask, then exp": mask_then_exp,
    "sum each stretch": each_stretch,
}


def log_decays():
    """Name -> the log-decays of a chunk, float64."""
    rng = np.random.default_rng(4)
    reset = np.full(64, -0.05)
    reset[20] = -np.inf
    return {
        "mild\n$g = -0.05$": np.full(64, -0.05),
        "strong\n$g = -2$": np.full(64, -2.0),
        "uneven\n0 to $-100$": -100 * rng.uniform(size=64) ** 3,
        "a reset\n$g = -\\infty$": reset,
    }


def forward_error(method, g):
    """The largest error of an entry, against the same entry in float64; NaN if one is NaN."""
    right = decay(g)[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Gamma = method(torch.tensor(g, dtype=torch.float32)).double().numpy()
    return float(np.abs(Gamma - right).max())


def gradient_error(method, g):
    """The same for the gradient of the sum of the mask's entries."""
    right = torch.tensor(g, requires_grad=True)
    each_stretch(right).sum().backward()
    found = torch.tensor(g, dtype=torch.float32, requires_grad=True)
    method(found).sum().backward()
    error = (found.grad.double() - right.grad).abs().max() / right.grad.abs().max()
    return float(error)


def errors():
    """Quantity -> data -> method -> error, for the mask and for its gradient."""
    measures = {"the mask": forward_error, "its gradient": gradient_error}
    return {
        quantity: {
            data: {name: measure(method, g) for name, method in METHODS.items()}
            for data, g in log_decays().items()
        }
        for quantity, measure in measures.items()
    }


@styled
def stability_table():
    """The errors as two tables; what is not a number is marked."""
    fig, axes = figure(5.0, 4.6, nrows=2)
    for ax, (quantity, table) in zip(axes, errors().items(), strict=True):
        size = np.array([[column[name] for column in table.values()] for name in METHODS])
        shade = np.where(np.isfinite(size), np.log10(np.maximum(size, 1e-9)), np.nan)
        ax.imshow(shade, cmap=DECAY_MAP, vmin=-9, vmax=-1, aspect="auto")
        for (row, column), error in np.ndenumerate(size):
            broken = not np.isfinite(error)
            text, role = ("NaN", "error") if broken else (f"{error:.0e}", "ink")
            look = {"color": COLOUR[role], "weight": "bold" if broken else "normal"}
            ax.text(column, row, text, ha="center", va="center", **look)
        ax.set_xticks(range(len(table)), table if ax is axes[0] else [""] * len(table))
        ax.set_yticks(range(len(METHODS)), METHODS)
        ax.set_ylabel(quantity)
        ax.tick_params(length=0, labelcolor=COLOUR["ink"])
        ax.xaxis.tick_top()
        ax.spines[:].set_visible(False)
    return fig


@styled
def ratio_underflow(g=-2.0, C=64):
    """`gamma_i` in float32, and the ratio `gamma_C / gamma_i` it is asked to give."""
    gamma = np.exp(np.cumsum(np.full(C, g, dtype=np.float32)))
    with np.errstate(invalid="ignore", divide="ignore"):
        quotient = gamma[-1] / gamma
    true = decay(np.full(C, g))[1][-1]
    token = np.arange(1, C + 1)
    fig, ax = figure(5.2, 2.9)
    ax.semilogy(token, true, color=COLOUR["quiet"], lw=5, alpha=0.45)
    ax.semilogy(token, np.where(gamma > 0, gamma, np.nan), color=COLOUR["decay"], lw=2)
    gone = int(np.argmax(gamma == 0)) + 1
    ax.axvspan(gone, C, color=COLOUR["error"], alpha=0.12, lw=0)
    bad = int(np.isnan(quotient).sum())
    ax.text((gone + C) / 2, 1e-32, f"0/0: NaN\n({bad} tokens)", ha="center", color=COLOUR["error"])
    ax.text(3, 1e-20, r"$\gamma_i$ in float32", color=COLOUR["decay"])
    ax.text(13, 1e-50, r"$\Gamma_{Ci}$, summed in the exponent", color=COLOUR["quiet"])
    ax.set(xlabel=f"token $i$ of a chunk of {C}, $g = {g:g}$ each", ylabel="decay", xlim=(1, C))
    return fig


def parallel_sum(x):
    """Cumulative sums over the last axis by doubling, the way a GPU's scan adds: in log2 T steps,
    and so with other roundings at neighbouring places."""
    shift = 1
    while shift < x.shape[-1]:
        x = np.concatenate([x[..., :shift], x[..., shift:] + x[..., :-shift]], axis=-1)
        shift *= 2
    return x
