"""The figure that opens the book: four memories read one file, and are asked after every line."""

import numpy as np

from .. import delta_rule, gated_delta_rule, linear_attention, scalar_decay
from .style import COLOUR, figure, styled

SETS = {  # line -> what it sets; all other lines set other names
    3: ("timeout", 30.0),
    8: ("retries", 25.0),
    20: ("timeout", 60.0),
}
END, LINES, NAMES = 30, 50, 16  # the first file's last line, the second's, how many names
ASKED = ("timeout", "retries")
DECAY = 0.9
RULES = ("linear attention", "scalar decay", "delta rule", "gated delta rule")


def lines(seed=1):
    """The key, the value and the log-decay of each line; the keys of the two names asked for.

    The second file begins with a decay of zero, for the rules that have one. Keys are orthonormal.
    """
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(NAMES, NAMES)))[0]
    keys = basis[rng.integers(len(ASKED), NAMES, size=LINES)]
    values = rng.uniform(10, 60, size=(LINES, 1))
    for line, (name, value) in SETS.items():
        keys[line - 1], values[line - 1] = basis[ASKED.index(name)], value
    resets = np.arange(1, LINES + 1) == END + 1
    return keys, values, resets, basis[: len(ASKED)]


def truth():
    """What each name was last set to in the file that is being read; 0 if it was not. [lines, 2]"""
    last = np.zeros((LINES, len(ASKED)))
    for line, (name, value) in SETS.items():
        last[line - 1 : END, ASKED.index(name)] = value
    return last


def answers():
    """Rule -> what it answers after each line, asked for each name, `[lines, 2]`."""
    keys, values, resets, asked = lines()
    never, one = np.where(resets, -np.inf, 0.0), np.ones(LINES)
    fading = np.where(resets, -np.inf, np.log(DECAY))
    found = {rule: np.empty((LINES, len(ASKED))) for rule in RULES}
    for column, key in enumerate(asked):
        q = np.broadcast_to(key, keys.shape)
        read = {
            "linear attention": linear_attention.recurrent(q, keys, values),
            "scalar decay": scalar_decay.recurrent(q, keys, values, fading),
            "delta rule": delta_rule.recurrent(q, keys, values, one),
            "gated delta rule": gated_delta_rule.recurrent(q, keys, values, never, one),
        }
        for rule, (O, _) in read.items():
            found[rule][:, column] = O[:, 0]
    return found


@styled
def four_answers():
    """One column for each rule, one row for each name; the answers at the end of each file."""
    fig, axes = figure(7.2, 3.3, nrows=2, ncols=4, sharex=True, sharey="row")
    right, line = truth(), np.arange(1, LINES + 1)
    for column, (rule, found) in zip(axes.T, answers().items(), strict=True):
        column[0].set_title(rule, fontsize=11, fontweight="bold")
        for ax, wanted, said in zip(column, right.T, found.T, strict=True):
            ax.fill_between(line, wanted, step="post", color=COLOUR["quiet"], alpha=0.25, lw=0)
            ax.step(line, said, where="post", color=COLOUR["state"], lw=2)
            ax.axvline(END + 0.5, color=COLOUR["quiet"], lw=0.8, ls=":")
            for at in (END, LINES):
                _verdict(ax, at, said[at - 1], wanted[at - 1])
            ax.set(xlim=(0, LINES + 1))
    for ax, name, top in zip(axes[:, 0], ASKED, (125, 46), strict=True):
        ax.set(ylabel=f"{name}?", ylim=(0, top))
    for ax in axes[1]:
        ax.set_xticks([3, 20, 41], ["line 3", "20", "next file"])
    return fig


def _verdict(ax, at, said, wanted):
    """What is said after the line `at`, above the curve, and whether it is right."""
    good = abs(said - wanted) < 0.5
    ax.annotate(
        f"{abs(said):.0f} {'✓' if good else '✗'}",
        (at, max(said, wanted)),
        xytext=(-1, 4),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize=11,
        fontweight="bold",
        color=COLOUR["ink" if good else "error"],
    )
