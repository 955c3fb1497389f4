"""Figures of chapter 19: the block, its convolution, its gate at the start, its norms, its size."""

import ipywidgets as widgets
import numpy as np
import torch
from matplotlib.patches import Rectangle

from ..layers import GatedDeltaNet
from ..proofs import ch19_gate, ch19_sizes
from .ch19_parts import BY_KEY, PARTS, numbers
from .ch20_models import MODELS
from .style import COLOUR, bare, figure, heat, live, styled


def successor_layer(letters, W=2, shift=1):
    """A layer with weights set by hand: its answer to a letter is the one that followed it.

    One head, one channel a letter. Queries and values are the token's own letter, keys the letter
    `shift` tokens back; every token writes in full and nothing fades.
    """
    net = GatedDeltaNet(letters, 1, letters, head_v_dim=letters, conv_size=W, dtype=torch.float64)
    with torch.no_grad():
        for linear in (net.q_proj, net.k_proj, net.v_proj, net.g_proj):
            linear.weight.copy_(20 * torch.eye(letters))
        net.g_proj.weight.fill_(1.0)
        net.o_proj.weight.copy_(torch.eye(letters))
        net.a_proj.weight.zero_()
        net.A_log.fill_(-60.0)  # the decay is 1
        net.b_proj.weight.fill_(60.0)  # the write strength is 1
        net.conv1d.weight.zero_()
        net.conv1d.weight[:, 0, -1] = 1.0
        net.conv1d.weight[letters : 2 * letters] = 0.0
        net.conv1d.weight[letters : 2 * letters, 0, -1 - shift] = 1.0
    return net.requires_grad_(False)


def predictions(net, text):
    """For each token of a list of letters, the letter that the layer answers; None for nothing."""
    y = net(torch.eye(net.hidden_size, dtype=torch.float64)[list(text)][None])[0]
    return [int(row.argmax()) if row.max() > 1e-3 else None for row in y]


@styled
def register(text="ABCA"):
    """Each token writes its letter under the letter before it; the last one asks."""
    fig, ax = figure(6.0, 2.7)
    bare(ax, 9.4, 4.2)
    rows = (("token", text, "ink"), ("writes the value", text, "value"),
            ("under the key", " " + text[:-1], "key"), ("asks for", text, "query"))  # fmt: skip
    for row, (name, letters, role) in enumerate(rows):
        y = 3.2 - row
        ax.text(3.0, y + 0.45, name, ha="right", va="center", color=COLOUR[role], fontsize=11)
        for t, letter in enumerate(letters):
            found = row in (1, 2) and t == text.index(text[-1]) + 1
            asks = row == 3 and t == len(text) - 1
            ax.add_patch(Rectangle((3.4 + 1.4 * t, y), 1.2, 0.85, fill=False, ec=COLOUR[role],
                                   lw=2.6 if found or asks else 0.8))  # fmt: skip
            ax.text(4.0 + 1.4 * t, y + 0.42, letter, ha="center", va="center", color=COLOUR[role],
                    fontsize=13)  # fmt: skip
    return fig


@styled
def band(W=4, T=8):
    """One channel's convolution as a matrix: from the state and the inputs to the sums."""
    fig, ax = figure(5.6, 3.2)
    taps = np.array([0.1, 0.2, 0.4, 0.8])[-W:]
    matrix = np.zeros((T, T + W - 1))
    for t in range(T):
        matrix[t, t : t + W] = taps
    heat(ax, matrix, "", -1, 1)
    ax.axvline(W - 1.5, color=COLOUR["state"], lw=2.5)
    ax.set_xticks([(W - 2) / 2, W - 1, T + W - 2], ["state", "token 1", f"token {T}"])
    ax.set_yticks([0, T - 1], ["sum 1", f"sum {T}"])
    ax.tick_params(length=0)
    return fig


@styled
def gate_start(heads=4096, seed=19):
    """Share of fresh heads that remember longer than so many tokens: formula, and drawn heads."""
    fig, ax = figure(6.0, 3.2)
    lives = drawn_half_lives(heads, seed)
    ax.semilogx(
        np.sort(lives), 1 - np.arange(heads) / heads, color=COLOUR["quiet"], lw=5, alpha=0.4
    )
    at = np.logspace(-0.4, 4.8, 300)
    ax.semilogx(at, ch19_gate.longer(at), color=COLOUR["decay"], lw=1.8)
    for tokens in (1, 64, 1024):
        share = ch19_gate.longer(tokens)
        ax.plot(tokens, share, "o", color=COLOUR["ink"], mfc="none", mew=1.5)
        unit = "token" if tokens == 1 else "tokens"
        ax.text(tokens * 1.25, share + 0.02, f"{share:.1%} over {tokens:,} {unit}")
    ax.set(xlabel="half-life at a = 0, tokens", ylabel="share of the heads", ylim=(0, 1.05))
    ax.minorticks_off()
    return fig


def drawn_half_lives(heads=4096, seed=19):
    """Half-lives at a = 0 of a fresh layer of so many heads."""
    torch.manual_seed(seed)
    net = GatedDeltaNet(1, heads, 1, dtype=torch.float64)
    rate = net.A_log.exp() * torch.nn.functional.softplus(net.dt_bias)
    return (np.log(2) / rate.detach()).numpy()


def loudness(size, eps, scale=1.0):
    """Root mean square after the norm, of an output of root mean square `size` before it."""
    size = scale * np.asarray(size, dtype=float)
    return size / np.sqrt(size**2 + eps)


@styled
def norm_scale(K=128, eps=1e-6):
    """What leaves the norm against what enters it, with and without the scale of the queries."""
    fig, ax = figure(6.0, 3.2)
    size = np.logspace(-5, 1, 200)
    for scale, role, line in ((1.0, "quiet", "--"), (K**-0.5, "query", "-")):
        ax.loglog(size, loudness(size, eps, scale), line, color=COLOUR[role], lw=2)
        knee = np.sqrt(eps) / scale
        ax.plot(knee, loudness(knee, eps, scale), "o", color=COLOUR[role], mfc="none", mew=1.6)
    ax.text(1.4e-4, 0.35, "without scale", color=COLOUR["quiet"], ha="right")
    ax.text(2e-3, 0.05, f"with {K}$^{{-1/2}}$", color=COLOUR["query"])
    ax.set(xlabel="rms of S q, one head", ylabel="rms after the norm", ylim=(5e-4, 2))
    ax.minorticks_off()
    return fig


def parts_of(x, what):
    """Parameters or FLOPs of a layer by group of parts."""
    groups = {"q k v": ["qkv"], "gates a, b": ["a", "b", "alpha"], "output gate": ["z"],
              "convolution": ["conv"], "the rule": ["rule"], "output": ["norm", "out"]}  # fmt: skip
    return {
        name: sum(getattr(BY_KEY[key], what)(x) for key in keys) for name, keys in groups.items()
    }


@styled
def sizes():
    """Parameters and FLOPs of one layer by part, four published models."""
    fig, axes = figure(6.6, 3.6, nrows=2)
    roles = ("key", "decay", "first", "second", "state", "third")
    for ax, what, unit in zip(
        axes, ("parameters", "flops"), ("million parameters", "MFLOP per token"), strict=True
    ):
        for row, x in enumerate(MODELS.values()):
            left = 0.0
            for (name, count), role in zip(parts_of(x, what).items(), roles, strict=True):
                ax.barh(row, count / 1e6, left=left, color=COLOUR[role], height=0.7, label=name)
                left += count / 1e6
        ax.set_yticks(range(len(MODELS)), MODELS)
        ax.invert_yaxis()
        ax.set_xlabel(unit)
    handles, labels = axes[0].get_legend_handles_labels()
    fig.legend(handles[:6], labels[:6], loc="outside upper center", ncols=6, fontsize=8)
    return fig


@styled
def padding():
    """What is left of a memory after padding on the right, heads of a fresh layer."""
    fig, ax = figure(6.0, 3.0)
    pads = np.arange(0, 257)
    for share, line in ((0.1, ":"), (0.5, "-"), (0.9, "--")):
        life = np.quantile(drawn_half_lives(), share)
        left = 0.5 ** (pads / life)
        ax.plot(pads, left, line, color=COLOUR["decay"], lw=2, label=f"{life:.3g} tokens")
    ax.legend(title="half-life")
    ax.set(xlabel="tokens of padding on the right", ylabel="left of the memory", ylim=(0, 1.08))
    return fig


@styled
def block_diagram(part="rule", model="Qwen3-Next 80B-A3B"):
    """The block, one box picked out, and what it computes, learns and costs in a model."""
    fig, ax = figure(6.0, 6.6)
    chosen, x = BY_KEY[part], MODELS[model]
    ax.set(xlim=(0, 400), ylim=(535, 0), aspect="equal")
    ax.axis("off")
    for box in PARTS:
        left, top, width, height = box.place
        for source in box.after:
            a, b, c, d = BY_KEY[source].place
            start = min(max(left + width / 2, a + 8), a + c - 8)
            end = min(max(start, left + 8), left + width - 8)
            ax.annotate("", (end, top), (start, b + d), arrowprops={"arrowstyle": "->", "lw": 0.8,
                        "color": COLOUR["quiet"]})  # fmt: skip
        on = box is chosen
        ax.add_patch(Rectangle((left, top), width, height, fill=False, ec=COLOUR[box.role],
                               lw=3 if on else 1.2))  # fmt: skip
        ax.text(left + width / 2, top + height / 2, box.title, ha="center", va="center", fontsize=9)
    found = numbers(chosen, x)
    ax.text(6, 480, f"{chosen.formula.replace('$', '')}\n{chosen.says}\n{model}: {found['shape']}; "
            f"{found['parameters']:,} parameters; {found['flops']:,} FLOPs per token",
            va="top", fontsize=9)  # fmt: skip
    return fig


def block_diagram_widget():
    """The block with a menu for the box and one for the model."""
    return live(
        block_diagram,
        part=widgets.Dropdown(options=[(p.title, p.key) for p in PARTS], value="rule",
                              description="box"),
        model=widgets.Dropdown(options=list(MODELS), description="model"),
    )  # fmt: skip


def table():
    """One line a published model: parameters, FLOPs a token, bytes of a layer's cache."""
    for name, x in MODELS.items():
        parameters, flops = (sum(parts_of(x, what).values()) for what in ("parameters", "flops"))
        kept = ch19_sizes.cache_bytes(x)
        yield name, parameters, flops, parts_of(x, "flops")["the rule"] / flops, kept
