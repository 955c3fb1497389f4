"""Figures of chapter 18: who sends what, bytes against tokens, orders of work, what goes wrong."""

from itertools import pairwise

import ipywidgets as widgets
import numpy as np
from matplotlib.patches import Rectangle

from .. import affine, gated_delta_rule
from ..proofs.ch18_exchange import EXCHANGES, Network
from ..proofs.data import hard_inputs
from .ch18_model import GROUPS, Layer, beyond_flops, forward_time, token_seconds
from .style import COLOUR, FORMAT, figure, live, styled

WAYS = {
    "ring": "first", "tree": "second", "all-gather": "third", "heads": "fourth",
    "ring attention": "fifth",
}  # fmt: skip
HOW = ("ring", "all-gather", "tree")


class Steps(Network):
    """A network that writes down its messages, round by round."""

    def __init__(self, ranks):
        super().__init__(ranks, 0, 1, 1, 1)
        self.rounds = []

    def send(self, *messages):
        self.rounds.append([(source, target) for source, target, _ in messages])


def rounds(how, R):
    """`(source, target)` of all messages of each round."""
    network = Steps(R)
    EXCHANGES[how](R, network)
    return network.rounds


def informed(how, R, step):
    """How many ranks before it each rank has the map of, after so many rounds."""
    have = [{p} for p in range(R)]
    for messages in rounds(how, R)[:step]:
        before = [set(x) for x in have]
        for source, target in messages:
            have[target] |= before[source]
    return [len([q for q in have[p] if q < p]) for p in range(R)]


@styled
def exchange(R=4, step=2, how="ring"):
    """The moving figure's picture: ranks, their pairs, the messages of a round, who is ready."""
    fig, ax = figure(6.2, 2.7)
    ax.set(xlim=(-0.1, R), ylim=(2.9, -0.5))
    ax.axis("off")
    made = rounds(how, R)
    done = max(0, min(step - 1, len(made)))
    ready = [have == p for p, have in enumerate(informed(how, R, done))]
    for p in range(R):
        ax.add_patch(Rectangle((p, 0), 0.86, 0.4, fc=COLOUR["quiet"], alpha=0.85, lw=0))
        ax.text(p + 0.43, -0.12, f"rank {p}", ha="center", fontsize=9)
        if step >= 1:
            for n, (name, role) in enumerate((("F", "decay"), ("G", "state"))):
                if name == "F" and p == 0:
                    continue
                at = p + 0.06 + 0.4 * n
                ax.add_patch(Rectangle((at, 0.6), 0.34, 0.5, fc=COLOUR[role], alpha=0.45, lw=0))
                ax.text(at + 0.17, 0.87, name, ha="center", va="center")
            look = {"fc": "none", "ec": COLOUR["quiet"], "ls": ":"}
            look = {"fc": COLOUR["state"], "alpha": 0.45, "lw": 0} if ready[p] else look
            ax.add_patch(Rectangle((p + 0.26, 2.1), 0.34, 0.5, **look))
            ax.text(p + 0.43, 2.37, "S", ha="center", va="center")
    if done:
        for source, target in made[done - 1]:
            look = {"arrowstyle": "-|>", "color": COLOUR[WAYS[how]], "lw": 1.4}
            ax.annotate("", (target + 0.43, 2.05), (source + 0.43, 1.15), arrowprops=look)
    ax.set_title(f"{how}: {done} of {len(made)} rounds, {sum(ready)} of {R} ranks have their state",
                 fontsize=10)  # fmt: skip
    return fig


def exchange_widget():
    """`exchange` with sliders."""
    return live(
        exchange,
        R=widgets.IntSlider(value=4, min=2, max=8, description="ranks"),
        step=widgets.IntSlider(value=2, min=0, max=8, description="step"),
        how=widgets.ToggleButtons(options=HOW, value="ring", description="exchange"),
    )


@styled
def sent(tokens=18, ranks=3):
    """The moving figure's picture: bytes that the busiest rank sends, for 2^tokens tokens."""
    fig, ax = figure(6.2, 2.5)
    found = Layer().sent(2**ranks, 2**tokens)
    for n, (way, size) in enumerate(found.items()):
        ax.barh(n, size, color=COLOUR[WAYS[way]], height=0.7, left=1e5)
        ax.text(size * 1.15 + 1e5, n, f"{size / 1e6:,.1f} MB", va="center", fontsize=9)
    ax.set_xscale("log")
    ax.set(xlim=(1e5, 1e13), ylim=(4.6, -0.6), xlabel="bytes that a rank sends, forward")
    ax.set_yticks(range(5), found)
    ax.set_title(f"{2**tokens:,} tokens on {2**ranks} ranks", fontsize=10)
    return fig


def sent_widget():
    """`sent` with sliders, both in powers of two."""
    return live(
        sent,
        tokens=widgets.IntSlider(value=18, min=10, max=24, description="log2 T"),
        ranks=widgets.IntSlider(value=3, min=1, max=10, description="log2 R"),
    )


def order_times(R, order, n=GROUPS):
    """`(rank, begin, end, what)` of each run, one card taking 1; `n` groups in the relay."""
    if order == "wait":
        return [(p, p / R, (p + 1) / R, "own") for p in range(R)]
    if order == "relay":
        run = 1 / (R * n)
        return [(p, (p + i) * run, (p + i + 1) * run, "own") for p in range(R) for i in range(n)]
    x = beyond_flops()
    return [(p, 0.0, 1 / R, "own") for p in range(R)] + [
        (p, 1 / R, (1 + x) / R, "again") for p in range(1, R)
    ]


@styled
def orders(R=4, n=8):
    """What four ranks do with their time, by FLOPs: wait, hand on group by group, run at once."""
    names = {"wait": "wait for the state", "relay": f"relay, {n} groups of heads",
             "sequence": "all at once, with pairs"}  # fmt: skip
    fig, axes = figure(6.2, 4.2, nrows=3, sharex=True)
    for ax, (order, name) in zip(axes, names.items(), strict=True):
        for p, begin, end, what in order_times(R, order, n):
            role = "first" if what == "own" else "second"
            ax.add_patch(Rectangle((begin, p), end - begin - 0.003, 0.8, fc=COLOUR[role], lw=0,
                                   alpha=0.85))  # fmt: skip
        last = max(end for _, _, end, _ in order_times(R, order, n))
        ax.axvline(last, color=COLOUR["ink"], lw=1, ls="--")
        ax.set(xlim=(0, 1.02), ylim=(R, -0.2), yticks=np.arange(R) + 0.4)
        ax.set_yticklabels([f"rank {p}" for p in range(R)])
        ax.set_title(f"{name}: {1 / last:.2f} times one card", fontsize=10, loc="left")
        ax.spines["left"].set_visible(False)
        ax.tick_params(left=False)
    axes[-1].set_xlabel("time, in that of one card")
    return fig


RANKS = 2 ** np.arange(11)
CURVES = (  # order, exchange, role, style, text
    ("sequence", "tree", WAYS["tree"], "-", "pairs, tree"),
    ("sequence", "ring", WAYS["ring"], "-", "pairs, ring"),
    ("relay", "ring", "ink", "-", "relay"),
    ("heads", "", WAYS["heads"], "--", "all-to-all"),
)


def speedup(order, exchange, T=2**24, ranks=RANKS):
    """One card's time over that of R, in the model; heads end at their number."""
    most = Layer().H_k if order == "heads" else max(ranks)
    found = [T * token_seconds() / forward_time(int(R), T, order, exchange) for R in ranks]
    return np.array([s if most >= R else np.nan for s, R in zip(found, ranks, strict=True)])


@styled
def speedups(T=2**24):
    """The model to 1,024 ranks, one layer of 16 and 32 heads, 16,777,216 tokens."""
    fig, ax = figure(6.0, 3.8)
    ax.loglog(RANKS, RANKS, ":", color=COLOUR["ink"], lw=1, base=2)
    ax.text(90, 130, "ideal", rotation=38, color=COLOUR["ink"])
    for order, how, role, style, text in CURVES:
        y = speedup(order, how, T)
        ax.loglog(RANKS, y, style, color=COLOUR[role], base=2, marker="o", ms=3)
        last = np.flatnonzero(np.isfinite(y))[-1]
        ax.text(RANKS[last] * 1.12, y[last], text, color=COLOUR[role], va="center")
    ax.set(xlabel="ranks", ylabel="times as fast as one card", xlim=(0.9, 6000), ylim=(0.4, 1400))
    ax.set_xticks([1, 4, 16, 64, 256, 1024], [1, 4, 16, 64, 256, "1,024"])
    ax.set_yticks([1, 4, 16, 64, 256, 1024], [1, 4, 16, 64, 256, "1,024"])
    return fig


def lost(alpha, T=256, d=32, seed=0):
    """Error of a rank's outputs that starts from zero, token by token, relative to the outputs."""
    rng = np.random.default_rng(seed)
    q, k, v, _, _, S = hard_inputs(3 * T, d, d, cosine=0.0, seed=seed)
    g, beta = np.full(3 * T, np.log(alpha)), rng.uniform(0, 1, 3 * T)
    right, _ = gated_delta_rule.recurrent(q, k, v, g, beta, S)
    rest = slice(2 * T, None)
    zero, _ = gated_delta_rule.recurrent(q[rest], k[rest], v[rest], g[rest], beta[rest])
    size = np.linalg.norm(right[rest]) / np.sqrt(T)
    return np.linalg.norm(right[rest] - zero, axis=1) / size


@styled
def from_zero():
    """How wrong a rank is that starts from zero, against the tokens since its border."""
    fig, ax = figure(5.8, 3.1)
    for alpha, role, x, y in ((0.9, "first", 4, 3e-3), (0.99, "second", 110, 2.5e-2),
                              (0.999, "third", 150, 4.5e-1)):  # fmt: skip
        smooth = np.convolve(lost(alpha) ** 2, np.ones(8) / 8, "valid") ** 0.5
        ax.semilogy(np.arange(len(smooth)) + 4, smooth, color=COLOUR[role])
        ax.text(x, y, f"α = {alpha}", color=COLOUR[role])
    ax.set(xlabel="tokens since the rank's border", ylabel="error of the outputs, relative")
    ax.set(ylim=(1e-3, 3), xlim=(0, 256))
    return fig


FORMATS = {"bfloat16": 8, "tf32": 11, "float32": 24}  # significant bits


def rounded(x, bits):
    """To so many significant bits, to nearest."""
    m, e = np.frexp(x)
    return np.ldexp(np.round(m * 2.0**bits) / 2.0**bits, e)


def map_errors(bits, ranks=(2, 4, 8, 16, 32, 64), tokens=16, d=32, seeds=(0, 1, 2)):
    """Mean error of the state after all ranks, when pairs and states go round in few bits."""
    found = []
    for R in ranks:
        errors = []
        for seed in seeds:
            q, k, v, g, beta, S = hard_inputs(R * tokens, d, d, cosine=0.3, seed=seed)
            g, beta, true = g / 50, beta / 4, S
            for begin, end in pairwise(range(0, R * tokens + 1, tokens)):
                cut = slice(begin, end)
                F, G = affine.chunk_map(k[cut], v[cut], g[cut], beta[cut])
                true = affine.apply((F, G), true)
                S = rounded(affine.apply((rounded(F, bits), rounded(G, bits)), S), bits)
            errors.append(np.linalg.norm(S - true) / np.linalg.norm(true))
        found.append(float(np.mean(errors)))
    return found


@styled
def low_precision():
    """Error of the state against the ranks behind it, by the format of what goes round."""
    fig, ax = figure(5.8, 3.2)
    ranks = (2, 4, 8, 16, 32, 64)
    for name, bits in FORMATS.items():
        y = map_errors(bits, ranks)
        ax.loglog(ranks, y, color=COLOUR[FORMAT[name]], marker="o", ms=3, base=2)
        ax.text(70, y[-1], name, color=COLOUR[FORMAT[name]], va="center")
    ax.set_yscale("log", base=10)
    ax.set_xticks(ranks, ranks)
    ax.set(xlabel="ranks that the state has passed", ylabel="relative error of the state")
    ax.set(xlim=(1.8, 150), ylim=(1e-8, 1e-1))
    return fig
