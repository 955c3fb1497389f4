"""Figures of chapter 3 that count with PyTorch: FLOPs, and the tensors that autograd keeps."""

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from .. import linear_attention
from ..proofs.ch03_cost import flops
from .ch03 import chunk_flops
from .style import COLOUR, figure, styled


def counted_flops(tokens, chunk_size, d_k=128, d_v=128):
    """FLOPs of the package's chunk form as PyTorch counts them, on tensors without data."""
    q, k = torch.empty(2, tokens, d_k, device="meta")
    v = torch.empty(tokens, d_v, device="meta")
    with FlopCounterMode(display=False) as counter:
        linear_attention.chunkwise(q, k, v, chunk_size=chunk_size)
    return counter.get_total_flops()


def kept_numbers(tokens, chunk_size, d_k=128, d_v=128):
    """How many computed numbers autograd keeps for the backward pass: `(states, scores)`.

    The inputs themselves and the constant mask are not counted.
    """
    shapes = ((tokens, d_k), (tokens, d_k), (tokens, d_v), (d_v, d_k))
    inputs = [torch.zeros(shape, requires_grad=True) for shape in shapes]
    given = {x.untyped_storage().data_ptr() for x in inputs[:3]}
    kept = {}

    def keep(x):
        home = x.untyped_storage()
        if x.requires_grad and home.data_ptr() not in given:
            kept[home.data_ptr()] = (home, tuple(sorted(x.shape)), x.numel())
        return x

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda x: x):
        linear_attention.chunkwise(*inputs[:3], inputs[3], chunk_size=chunk_size)
    sizes = [(shape, count) for _, shape, count in kept.values()]
    square = tuple(sorted((d_v, d_k)))
    states = sum(count for shape, count in sizes if shape == square)
    return states, sum(count for _, count in sizes) - states


@styled
def flops_against_length(d=128, C=64):
    """FLOPs of the three forms against the length: lines by formula, marks counted."""
    fig, ax = figure(5.4, 3.6)
    T = np.array([8, 2**17])
    lines = {
        "one product": (4 * T**2 * d, "first", "-."),
        f"chunks of {C}": (T * chunk_flops(C, d, d), "ink", "-"),
        "recurrence": (4 * T * d * d, "second", "--"),
    }
    for name, (count, role, dashes) in lines.items():
        ax.loglog(T, count, dashes, color=COLOUR[role], label=name)
    for tokens in (8, 16):  # counting numbers are slow, and the recurrence is linear
        ax.plot(tokens, flops("recurrent", tokens, d, d), "o", ms=5, color=COLOUR["second"])
    for tokens in 2 ** np.arange(6, 15, 2):
        ax.plot(tokens, counted_flops(tokens, C, d, d), "s", ms=5, color=COLOUR["ink"])
    for tokens in 2 ** np.arange(4, 18, 3):
        with_state = counted_flops(tokens, tokens, d, d)
        ax.plot(tokens, with_state - 4 * tokens * d * d, "^", ms=5, color=COLOUR["first"])
    for crossing, side in ((d, "right"), (C + d, "left")):
        ax.axvline(crossing, color=COLOUR["quiet"], lw=0.8, ls=":")
        ax.text(crossing * (0.9 if side == "right" else 1.1), 6e5, f"{crossing}", ha=side)
    ax.set_xticks([8, 64, 1024, 8192, 2**17], ["8", "64", "1 Ki", "8 Ki", "128 Ki"])
    ax.minorticks_off()
    ax.set(xlabel=f"tokens $T$ ($d_k = d_v = {d}$)", ylabel="FLOPs per head")
    ax.legend(loc="upper left")
    return fig


@styled
def storage(d=128, tokens=1024):
    """Numbers kept per token for the backward pass, counted in autograd and as formulas."""
    fig, ax = figure(5.4, 3.4)
    C = np.geomspace(4, 1024, 200)
    ax.loglog(C, d * d / C, "-.", color=COLOUR["state"], label="states, $d_k d_v / C$", base=2)
    ax.loglog(C, C, "--", color=COLOUR["key"], label="scores, $C$", base=2)
    ax.loglog(C, d * d / C + C, color=COLOUR["ink"], label="both", base=2)
    for size in 2 ** np.arange(3, 11):
        states, scores = (count / tokens for count in kept_numbers(tokens, int(size), d, d))
        if size != d:  # there states and scores have one shape and cannot be told apart
            ax.plot(size, states, "o", ms=4, color=COLOUR["state"])
            ax.plot(size, scores, "o", ms=4, color=COLOUR["key"])
        ax.plot(size, states + scores, "s", ms=5, color=COLOUR["ink"])
    ax.axvline(d, color=COLOUR["quiet"], lw=0.8, ls=":")
    ax.text(d * 1.08, 5, rf"$C = \sqrt{{d_k d_v}} = {d}$")
    ax.set_xticks([4, 16, 64, 256, 1024], ["4", "16", "64", "256", "1024"])
    ax.set_yticks([4, 32, 256, 2048], ["4", "32", "256", "2048"])
    ax.minorticks_off()
    ax.set(xlabel=f"chunk size $C$ ($d_k = d_v = {d}$)", ylabel="numbers kept per token")
    ax.legend(loc="upper right")
    return fig
