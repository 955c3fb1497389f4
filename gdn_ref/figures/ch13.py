"""Figures of chapter 13: conditioning, gains of the stages, budgets beside an H100, long drift."""

import ipywidgets as widgets
import numpy as np

from .ch13_budget import BITS, STAGES, chunks, gains, outside_blocks, size, tokens
from .ch13_drift import FORMATS, predicted
from .ch13_measure import WAYS, compared, inverse_errors
from .ch14_model import record
from .style import COLOUR, FORMAT, figure, live, styled

LADDER = {"float64": 53} | BITS


def overlaps(cosine, beta, alpha, C=64):
    """`A` of a chunk whose keys have one cosine, with one strength and one decay."""
    r, i = np.indices((C, C))
    return np.tril(beta * cosine * float(alpha) ** np.maximum(r - i, 0), -1)


def ladder_numbers(cosine, beta, alpha, C=64):
    """`(condition number, gain)`: of all stages up to the state together, in one format.

    For random values and an empty state before the chunk; means over the values. `|K^T Y|^2` needs
    the cosine alone, since `K K^T = (1 - c) I + c 1 1^T`.
    """
    A, I = overlaps(cosine, beta, alpha, C), np.eye(C)
    X = np.linalg.inv(I + A)
    T, to_end = X * beta, float(alpha) ** np.arange(C - 1, -1, -1)

    def through_keys(Y):
        return (1 - cosine) * (Y**2).sum(0) + cosine * Y.sum(0) ** 2  # by column

    written = to_end[:, None] * T
    state = through_keys(written).sum()
    blocks = (A * outside_blocks(C)) ** 2 @ (T**2).sum(1)
    total = 2 * (written**2).sum() + state + through_keys(to_end[:, None] * X) @ blocks
    return float(np.linalg.cond(I + A)), float(np.sqrt(total / state))


@styled
def ladder(cosine=0.5, beta=1.0, forgets=0.0):
    """The moving figure's picture: condition number against cosine, and the errors of formats."""
    alpha = 1 - forgets
    fig, (ax, bx) = figure(6.6, 3.1, ncols=2, width_ratios=(1.1, 1))
    cosines = np.linspace(0, 1, 41)
    plain = [np.linalg.cond(np.eye(64) + overlaps(c, beta, 1.0)) for c in cosines]
    decayed = [np.linalg.cond(np.eye(64) + overlaps(c, beta, alpha)) for c in cosines]
    ax.semilogy(cosines, plain, ":", color=COLOUR["quiet"])
    ax.semilogy(cosines, decayed, color=COLOUR["first"], lw=2)
    condition, gain = ladder_numbers(cosine, beta, alpha)
    ax.plot(cosine, condition, "o", color=COLOUR["ink"])
    ax.set(xlabel="cosine of the keys", ylabel="condition number", ylim=(0.8, 2e4))
    for row, bits in enumerate(LADDER.values()):
        rho, error = size(bits), size(bits) * gain
        bx.plot([rho, error], [row, row], color=COLOUR["error"], lw=3)
        bx.plot(rho, row, "|", ms=12, mew=2, color=COLOUR["ink"])
    bx.axvline(1, color=COLOUR["quiet"], lw=0.8)
    bx.set_xscale("log")
    bx.set(xlim=(1e-18, 10), ylim=(len(LADDER) - 0.5, -0.5), xlabel="error of the state, predicted")
    bx.set_yticks(range(len(LADDER)), LADDER)
    fig.suptitle(f"condition {condition:,.0f}, gain {gain:.1f}", fontsize=10)
    return fig


def ladder_widget():
    """`ladder` with sliders."""
    return live(
        ladder,
        cosine=widgets.FloatSlider(value=0.5, min=0, max=1, step=0.05, description="cosine"),
        beta=widgets.FloatSlider(value=1.0, min=0.1, max=2, step=0.1, description="β"),
        forgets=widgets.FloatSlider(value=0.0, min=0, max=0.2, step=0.01, description="1 − α"),
    )


def solve_gain(a, alpha, C):
    """The root of eq-equal-cosine-gain."""
    n = np.arange(C - 1)
    steps = (C - 1 - n) * (alpha * (1 - a)) ** (2 * n)
    return float(np.sqrt(1 + a**2 * alpha**2 / C * steps.sum()))


@styled
def strength_gains():
    """Root mean square of a column of the inverse, against strength times cosine."""
    fig, ax = figure(5.6, 3.5)
    a = np.linspace(0, 2, 161)
    lines = ((1.0, 256, "first", "-"), (1.0, 64, "second", "-"), (1.0, 16, "third", "-"),
             (0.99, 64, "fourth", "--"), (0.9, 64, "fifth", "--"))  # fmt: skip
    for alpha, C, role, dashes in lines:
        y = [solve_gain(x, alpha, C) for x in a]
        text = f"C = {C}" if alpha == 1 else f"α = {alpha}"
        ax.semilogy(a, y, dashes, color=COLOUR[role], lw=1.8)
        ax.text(2.02, y[-1], text, color=COLOUR[role], va="center")
    below = np.linspace(0, 1.995, 200)
    ax.semilogy(below, np.sqrt(2 / (2 - below)), ":", color=COLOUR["ink"], lw=1.2)
    ax.text(1.72, 3.3, "no decay, any C", color=COLOUR["ink"], ha="right")
    ax.set(xlabel="strength times cosine, $a$", ylabel="gain of the solve")
    ax.set(xlim=(0, 2.45), ylim=(0.9, 40))
    ax.set_xticks([0, 0.5, 1, 1.5, 2])
    ax.set_yticks([1, 2, 5, 10, 20], [1, 2, 5, 10, 20])
    ax.minorticks_off()
    return fig


KEYS = {  # (cosine, strength, decay), role, mark
    "hard inputs": ((0.5, "spread", "spread"), "first", "o"),
    "orthogonal": ((0.0, 1.0, 1.0), "second", "s"),
    "cosine 0.9": ((0.9, 1.5, 1.0), "third", "^"),
    "all equal, β = 2": ((1.0, 2.0, 0.99), "fifth", "D"),
}
STAGE_NAMES = {"A": "interaction", "T": "transform", "S": "state read", "R": "residual",
               "E": "corrections", "P": "scores", "O": "outputs"}  # fmt: skip


def stage_gains():
    """`{keys: gains}` of one chunk of 64 tokens."""
    return {name: gains(chunks(tokens(*setting, T=64))[0]) for name, (setting, *_) in KEYS.items()}


@styled
def gains_by_stage():
    """The gain of each stage, for outputs and for the state, with four kinds of keys."""
    fig, axes = figure(6.6, 3.4, ncols=2, sharey=True)
    found = stage_gains()
    for ax, what in zip(axes, ("o", "state"), strict=True):
        for name, (_, role, mark) in KEYS.items():
            x = [found[name][what][stage] or np.nan for stage in STAGES]
            ax.semilogx(x, range(len(STAGES)), mark, color=COLOUR[role], ms=6, label=name,
                        mfc="none", mew=1.6)  # fmt: skip
        ax.axvline(1, color=COLOUR["quiet"], lw=0.8)
        ax.set(title="outputs" if what == "o" else "next state", xlabel="gain", xlim=(0.02, 150))
        ax.set_xticks([0.1, 1, 10, 100], ["0.1", "1", "10", "100"])
    axes[0].set_yticks(range(len(STAGES)), [f"{STAGE_NAMES[s]}  {s}" for s in STAGES])
    axes[0].set_ylim(len(STAGES) - 0.5, -0.5)
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles, labels, loc="outside upper center", ncols=4, fontsize=9)
    return fig


@styled
def beside_the_card():
    """Recorded error of the last state against the predicted one, one mark per setting."""
    fig, ax = figure(5.4, 4.2)
    for name, mark in (("bfloat16", "o"), ("float16", "s")):
        for equal in (False, True):
            pairs = np.array([pair[name] for row, pair in compared()
                              if (row["cosine"] == 1) == equal])  # fmt: skip
            label = f"{name}, all keys equal" if equal else name
            fill = "none" if equal else None
            ax.loglog(*pairs.T, mark, color=COLOUR[FORMAT[name]], ms=5, mfc=fill, label=label)
    ends = np.array([1e-4, 0.3])
    ax.loglog(ends, ends, color=COLOUR["ink"], lw=0.8)
    ax.set(xlabel="predicted error of the state", ylabel="recorded on an H100", xlim=ends)
    ax.set_ylim(ends)
    ax.legend(fontsize=9, loc="upper left")
    return fig


COSINES = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
WAY_LOOKS = ("--s", "-o", ":d", "-^", "-v")


@styled
def ways_in_few_bits():
    """Error of the inverse, by the way it is found and the bits of the products' operands."""
    fig, ax = figure(5.6, 4.0)
    found = [inverse_errors(c) for c in COSINES]
    for name, look in zip(WAYS, WAY_LOOKS, strict=True):
        y = [errors[name] for errors in found]
        colour = COLOUR[FORMAT[name.partition(", ")[2]]]
        ax.semilogy(COSINES, y, look, ms=4, color=colour, label=name)
    ax.axhline(1, color=COLOUR["quiet"], lw=0.8)
    ax.text(0.62, 1.7, "nothing right", color=COLOUR["quiet"])
    ax.set(xlabel="mean cosine of two keys", ylabel="error of the inverse", ylim=(1e-9, 1e3))
    fig.legend(loc="outside upper center", ncols=2, fontsize=9)
    return fig


@styled
def a_million_tokens(rules=("linear attention", "delta rule")):
    """Error of a stored state against tokens: recorded, and dashed by the formulas."""
    found = record("long_drift")
    at = np.array(found["tokens"])
    fig, axes = figure(6.8, 3.7, ncols=len(rules), sharey=True)
    for ax, rule in zip(axes, rules, strict=True):
        for name in FORMATS:
            label = name.replace("float8_", "fp8 ") if rule == rules[0] else None
            color, dots = COLOUR[FORMAT[name.partition(",")[0]]], ":" if "every" in name else "-"
            ax.loglog(at, found["errors"][rule][name], dots, color=color, lw=1.7, label=label)
            ax.loglog(at, np.minimum(predicted(rule, name, at), 3), "--", color=color, lw=0.8)
        ax.set(title=rule, xlabel="tokens", ylim=(2e-8, 3))
    for name, errors in found["errors"][rules[-1]].items():
        if "every" not in name:  # on the line of float16
            text = name.replace("float8_", "fp8 ")
            axes[-1].text(1.4 * at[-1], errors[-1], text, color=COLOUR[FORMAT[name]],
                          fontsize=9, va="bottom" if "e5m2" in name else "center")  # fmt: skip
    axes[-1].set_xlim(at[0], 5e7)
    axes[-1].set_xticks([1e2, 1e4, 1e6])
    axes[0].set_ylabel("error of the state")
    fig.legend(loc="outside upper center", ncols=3, fontsize=9)
    return fig
