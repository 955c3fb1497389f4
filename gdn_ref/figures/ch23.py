"""Figures of chapter 23: six rules, sub-chunks, decays that overflow, conditions, the knobs."""

from dataclasses import dataclass

import ipywidgets as widgets
import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.patches import Patch

from ..chunking import transpose
from ..family import general_rule, two_gates
from ..proofs.data import relative_error, unit
from .style import COLOUR, STATE_MAP, figure, live, styled

DECAYS, ERASES = ("none", "head", "channel"), ("none", "scalar", "channel")
NAMES = {  # (decay, erase, write gate, steps) -> the published rule
    ("none", "none", False, 1): "linear attention",
    ("head", "none", False, 1): "Mamba-2; RetNet with a constant decay",
    ("channel", "none", False, 1): "GLA",
    ("none", "scalar", False, 1): "DeltaNet; TTT with a linear inner model, a batch of one",
    ("head", "scalar", False, 1): "Gated DeltaNet",
    ("channel", "scalar", False, 1): "KDA",
    ("channel", "channel", True, 1): "Gated DeltaNet-2",
    ("none", "scalar", False, 2): "DeltaProduct",
    ("head", "scalar", False, 2): "Gated DeltaProduct",
}


@dataclass(frozen=True)
class Knobs:
    """Which parts of the two-gates rule are on."""

    decay: str = "head"
    erase: str = "scalar"
    write: bool = False
    steps: int = 1

    @property
    def name(self):
        return NAMES.get((self.decay, self.erase, self.write, self.steps), "not in our table")

    @property
    def equation(self):
        """The recurrence of one step, as mathtext."""
        D = {"none": "", "head": r"\alpha_t", "channel": r"\mathbf{D}_t"}[self.decay]
        erase = {
            "none": "",
            "scalar": r"(\mathbf{I}-\beta_t k_t k_t^\top)",
            "channel": r"(\mathbf{I}-(e_t\odot k_t)\,k_t^\top)",
        }[self.erase]
        plain = "v_t" if self.erase == "none" else r"\beta_t v_t"
        write = r"(w_t\odot v_t)" if self.write else plain
        return rf"$\mathbf{{S}}_t=\mathbf{{S}}_{{t-1}}\,{D}\,{erase}+{write}\,k_t^\top$"

    def bytes_per_token(self, d_k=128, d_v=128):
        """What a head loads and stores per token: 2 bytes a number, 4 a log-decay."""
        gates = {"none": 0, "scalar": 1, "channel": d_k}[self.erase]
        if self.write:
            gates += d_v
        elif self.erase == "channel":
            gates += 1  # the strength of the write, a number of its own
        decay = {"none": 0, "head": 1, "channel": d_k}[self.decay]
        return 2 * (d_k + d_v + self.steps * (d_k + d_v + gates)) + 4 * decay

    def products(self, d_k=128, d_v=128, C=64):
        """FLOPs of the matrix products and the solve of one chunk: squares are counted whole."""
        rows = self.steps * C
        scores = 2 * C * rows * (d_k + d_v)  # P, and P times what was written
        states = 2 * d_k * d_v * (C + rows)  # O_0, and the new state
        if self.erase == "none":
            return scores + states
        return scores + states + 2 * rows**2 * d_k + rows**2 * d_v + 2 * d_k * d_v * rows

    def elementwise(self, d_k=128, C=64, c=16):
        """FLOPs beside them: the pairs inside sub-chunks, summed channel by channel."""
        if self.decay != "channel":
            return 0
        rows = self.steps * C
        matrices = 1 if self.erase == "none" else 2
        return matrices * 3 * d_k * rows * (c + 1) // 2


KEYS = np.array([[1.0, 0, 0], [0, 1, 0], [0.6, 0.8, 0], [0, 0, 1], [1, 0, 0], [0, 0.6, 0.8]])
VALUES = np.array([[1.0], [1], [-1], [1], [-1], [1]])
OLD = np.array([[0.5, 0.5, 0.5]])


def example(knobs):
    """The states, `[7, 3]`, of a memory with one value dimension: a row of three channels.

    The first channel forgets fast, the last one does not; one decay for all is their mean. A
    second step of a token repeats it with the key turned around. All write with strength 1 unless
    a write gate is on, so that rules differ in what they erase.
    """
    rates = np.array([0.5, 0.8, 1.0])
    alpha = {"none": np.ones(3), "head": np.full(3, rates.mean()), "channel": rates}[knobs.decay]
    erase = {"none": 0.0, "scalar": 1.0, "channel": np.array([1.0, 0.8, 0.2])}[knobs.erase]
    write = 0.4 if knobs.write else 1.0
    states, S = [OLD], OLD
    for k, v in zip(KEYS, VALUES, strict=True):
        for step in range(knobs.steps):
            key = k[::-1] if step else k
            g = np.log(alpha) * (step == 0)
            gates = erase + 0 * key, write + 0 * v
            x = (row[None] for row in (key, key, v, g, *gates))  # a sequence of one token
            _, S = general_rule.recurrent(*two_gates.arguments(*x), S)
        states.append(S)
    return np.concatenate(states)


@styled
def answers():
    """One memory, six rules: the six tokens, and its three channels after each of them."""
    fig, axes = figure(6.2, 3.5, nrows=3, ncols=3, sharex=True, sharey=True)
    for panel in axes[0]:
        colours = np.zeros((3, 7, 4))
        colours[:, 1:] = to_rgba(COLOUR["key"])
        colours[:, 1:, 3] = 0.5 * KEYS.T
        panel.imshow(colours, aspect="auto")
        for token, (k, v) in enumerate(zip(KEYS, VALUES[:, 0], strict=True), 1):
            for channel in np.flatnonzero(k):
                panel.text(token, channel, f"{k[channel]:g}", ha="center", va="center", fontsize=8)
            panel.text(token, -0.7, f"{v:+g}".replace("-", "−"), ha="center", va="bottom",
                       fontsize=9, color=COLOUR["value"])  # fmt: skip
        panel.tick_params(bottom=False)
    first = axes[0, 0]
    first.text(-0.15, -0.7, "value", ha="center", va="bottom", fontsize=9, color=COLOUR["value"])
    first.text(0, 1, "key", ha="center", va="center", fontsize=9, color=COLOUR["key"])
    for erase, row in (("none", axes[1]), ("scalar", axes[2])):
        for decay, panel in zip(DECAYS, row, strict=True):
            knobs = Knobs(decay, erase)
            panel.imshow(example(knobs).T, cmap=STATE_MAP, vmin=-2.5, vmax=2.5, aspect="auto")
            panel.set_title(knobs.name.partition(";")[0], fontsize=10)
            panel.set(xticks=range(7), yticks=range(3), yticklabels=["1", "2", "3"])
    for panel in axes[:, 1:].flat:
        panel.tick_params(left=False)
    fig.supylabel("channel", fontsize=10)
    fig.supxlabel("tokens so far", fontsize=10)
    return fig


@styled
def sub_chunks(C=64, c=16):
    """Which pairs of a chunk are one matrix product with a border, and which are summed."""
    kind = np.zeros((C, C))

    def halve(first, last):
        if last - first <= c:
            for t in range(first, last):
                kind[t, first : t + 1] = 4
            return
        m = (first + last) // 2
        kind[m:last, first:m] = 1 + np.log2(C // (last - first))
        halve(first, m)
        halve(m, last)

    halve(0, C)
    fig, axes = figure(4.4, 3.6)
    look = {  # kind -> its name, colour and strength
        1: ("border after 32", "quiet", 0.9),
        2: ("borders after 16, 48", "quiet", 0.45),
        4: ("summed over channels", "decay", 0.9),
    }
    for value, (_, colour, strength) in look.items():
        shown = np.zeros((C, C, 4))
        shown[kind == value] = to_rgba(COLOUR[colour], strength)
        axes.imshow(shown, extent=(0.5, C + 0.5, C + 0.5, 0.5))
    axes.set(xlabel="earlier token $i$", ylabel="later token $t$", xticks=[1, 16, 32, 48, 64],
             yticks=[1, 16, 32, 48, 64])  # fmt: skip
    handles = [Patch(fc=to_rgba(COLOUR[c], a), label=name) for name, c, a in look.values()]
    axes.legend(handles=handles, loc="upper right", fontsize=8)
    return fig


def divided_scores(x, y, g):
    """The scores as one product with an inverse decay: what must not be done."""
    total = np.cumsum(g, axis=-2)
    return np.tril((x * np.exp(total)) @ transpose(y * np.exp(-total)))


def score_errors(per_token, C=64, d_k=64, seed=0):
    """Relative errors of `P` in float32, by division and by borders, for each log-decay."""
    rng = np.random.default_rng(seed)
    x, y = unit(rng.normal(size=(C, d_k))), unit(rng.normal(size=(C, d_k)))
    found = []
    for rate in per_token:
        g = -rate * rng.uniform(0.5, 1.5, size=(C, d_k))
        right = general_rule.sum_over_channels(x, y, g)
        single = [z.astype(np.float32) for z in (x, y, g)]
        with np.errstate(all="ignore"):
            wrong = divided_scores(*single)
            good = general_rule.scores(*single)
        finite = np.isfinite(wrong).all()
        found.append([relative_error(wrong, right) if finite else np.nan,
                      relative_error(good, right)])  # fmt: skip
    return np.array(found)


@styled
def division():
    """The error of both against the mean log-decay of a token."""
    rates = np.logspace(-3, 1.3, 40)
    found = score_errors(rates)
    fig, axes = figure(5.0, 3.0)
    axes.loglog(rates, found[:, 0], "-", color=COLOUR["error"], label="divided by the decays")
    axes.loglog(rates, found[:, 1], "--", color=COLOUR["first"], label="borders between sub-chunks")
    lost = rates[np.isnan(found[:, 0])]
    axes.axvspan(lost[0], rates[-1], color=COLOUR["error"], alpha=0.12, lw=0)
    axes.text(lost[0] * 1.12, 3e-7, "not finite", color=COLOUR["error"])
    axes.set(xlabel="log-decay of a token, on average, negated", ylabel="error of $P$, float32",
             ylim=(1e-7, 1e-6))  # fmt: skip
    axes.legend(loc="upper left")
    return fig


def condition_ratios(per_channel, chunks=150, C=16):
    """`(with decays, without)`: cond(I + A) of chunks from orthogonal keys to similar ones."""
    found = []
    for seed in range(chunks):
        rng = np.random.default_rng(seed)
        own, _ = np.linalg.qr(rng.normal(size=(C, C)))
        k = unit(own + rng.uniform(0, 0.5) * unit(rng.normal(size=C)))
        beta = rng.uniform(0.5, 2, size=(C, 1))
        rates = rng.exponential(10 ** rng.uniform(-2, 0.5), size=C if per_channel else 1)
        g = 0 * k - rates
        found.append(
            [
                np.linalg.cond(np.eye(C) + np.tril(general_rule.scores(beta * k, k, x), -1))
                for x in (g, 0 * g)
            ]
        )
    return np.array(found)


@styled
def conditions():
    """With one decay no chunk gets harder to solve; with a decay per channel some do."""
    fig, axes = figure(5.0, 3.2, ncols=2, sharex=True, sharey=True)
    for panel, per_channel in zip(axes, (False, True), strict=True):
        with_decay, without = condition_ratios(per_channel).T
        panel.loglog(without, with_decay, "o", ms=3, color=COLOUR["decay"])
        line = [1, 60]
        panel.loglog(line, line, ":", color=COLOUR["quiet"])
        panel.set_title("a decay per channel" if per_channel else "one decay", fontsize=10)
        panel.set_xlabel("without decay")
    axes[0].set_ylabel("condition number")
    return fig


@styled
def family(decay="head", erase="scalar", write=False, steps=1):
    """One setting of the knobs: recurrence, name, cost, and the states of the example."""
    knobs = Knobs(decay, erase, write, steps)
    fig, axes = figure(5.4, 3.2)
    axes.imshow(example(knobs).T, cmap=STATE_MAP, vmin=-2.5, vmax=2.5, aspect="auto")
    axes.set(xticks=range(7), yticks=range(3), yticklabels=["1", "2", "3"], ylabel="channel")
    cost = f"{knobs.bytes_per_token():,} bytes per token"
    cost += f", {knobs.products() / 1e6:.1f} MFLOP per chunk"
    if knobs.elementwise():
        cost += f" and {knobs.elementwise() / 1e6:.2f} outside products"
    axes.set_xlabel(f"tokens so far\n{cost}", fontsize=9)
    axes.set_title(f"{knobs.name}\n{knobs.equation}", fontsize=10)
    return fig


def family_widget():
    """`family` with its knobs: the twin of the page's moving figure."""
    return live(
        family,
        decay=widgets.Dropdown(options=DECAYS, value="head", description="decay"),
        erase=widgets.Dropdown(options=ERASES, value="scalar", description="erase"),
        write=widgets.Checkbox(value=False, description="write gate"),
        steps=widgets.Dropdown(options=(1, 2), value=1, description="steps"),
    )


SLIPS = ("Gamma of the token itself", "erase, then decay", "Gamma without the reader's decay")


def slip(name):
    """A chunk form of KDA with one mistake: `chunk(S, q, k, v, g, beta)`; None is the right one."""

    def chunk(S, q, k, v, g, beta):
        strength = beta[:, None]
        q, k, u, a, b, g = two_gates.arguments(q, k, v, g, strength + 0 * k, strength + 0 * v)
        if name == "Gamma of the token itself":
            a = np.exp(g) * a
        if name == "Gamma without the reader's decay":
            a = strength * k
        if name == "erase, then decay":  # S (I - beta k k^T) D
            a, b = strength * k, np.exp(g) * k
        return general_rule.chunk(S, q, k, u, a, b, g)

    return chunk
