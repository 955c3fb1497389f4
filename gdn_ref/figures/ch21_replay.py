"""A trained head, replayed: 128 recorded tokens, four rules, and gates that may be forced.

`python -m gdn_ref.figures.ch21_replay` writes the record into the figure `head-replay`; a test
fails when they differ.
"""

import json
import re
from functools import cache
from pathlib import Path

import ipywidgets as widgets
import numpy as np

from ..experiments.one_head import BAR, IGNORED, NAMES, NONE, QUESTION, VALUES
from .ch14_model import record
from .style import COLOUR, figure, heat, live, styled
from .table import Table

FIGURE = Path(__file__).parents[2] / "book" / "_static" / "figures" / "head-replay.js"
BLOCK = re.compile(
    r"(?<=    // from the record: begin\n).*?(?=    // from the record: end\n)", re.S
)

EPSILON = 1e-5  # of the layer's output norm
RULES = {"attention": "softmax attention", "linear": "linear attention", "delta": "delta rule",
         "gated": "gated delta rule"}  # fmt: skip
GATES = {"recorded": "recorded", "alpha": "all α = 1", "beta": "all β = 1"}


@cache
def head():
    """The record as arrays."""
    return {name: np.array(x) for name, x in record("one_head_cpu")["head"].items()}


def word(token):
    """How a token is shown."""
    if token < NAMES:
        return chr(ord("a") + token)
    return str(token - NAMES + 1) if token < QUESTION else {QUESTION: "?", BAR: "|"}[token]


def answer(value):
    return "none" if value == NONE else str(value + 1)


def gates(choice="recorded", forced=()):
    """`alpha, beta` with one of the choices, and single numbers forced: (name, token, number)."""
    found = {"alpha": head()["alpha"].copy(), "beta": head()["beta"].copy()}
    if choice in found:
        found[choice][:] = 1
    for name, token, number in forced:
        found[name][token] = number
    return found["alpha"], found["beta"]


def unit(x):
    return x / np.sqrt((x * x).sum(-1, keepdims=True) + 1e-6)


def reads(rule, alpha, beta):
    """What each question reads, `[questions, d_v]`, and the states after each token."""
    h = head()
    asked = np.flatnonzero(h["tokens"] == QUESTION)
    if rule == "attention":
        scores = np.where(
            np.arange(len(h["tokens"])) <= asked[:, None], h["q"] @ h["k"].T, -np.inf
        ) / np.sqrt(h["k"].shape[1])
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ h["v"], None
    q, k, v = unit(h["q"]) * h["q"].shape[1] ** -0.5, unit(h["k"]), h["v"]
    S, states = np.zeros((v.shape[1], k.shape[1])), []
    for t in range(len(k)):
        if rule == "gated":
            S = alpha[t] * S
        old = 0 if rule == "linear" else S @ k[t]
        S = S + beta[t] * np.outer(v[t] - old, k[t])
        states.append(S)
    states = np.array(states)
    return np.einsum("nvk,nk->nv", states[asked], q), states


def named(read):
    """Probabilities of the answers to a read, by the rest of the model, `[questions, 9]`."""
    h = head()
    o = read / np.sqrt((read * read).mean(-1, keepdims=True) + EPSILON)
    x = h["residual"] + (h["gate"] * o) @ h["out"].T
    logits = x / np.sqrt((x * x).mean(-1, keepdims=True)) @ h["readout"].T + h["bias"]
    p = np.exp(logits - logits.max(-1, keepdims=True))
    return p / p.sum(-1, keepdims=True)


def wanted():
    """The right answers, one for each question."""
    answers = head()["answers"]
    return answers[answers != IGNORED]


def right(rule, *choice):
    """Which questions a rule answers rightly under these gates."""
    return named(reads(rule, *gates(*choice))[0]).argmax(-1) == wanted()


def first_shown():
    """The token at which the figure starts: a question that the delta rule alone gets wrong."""
    asked = np.flatnonzero(head()["tokens"] == QUESTION)
    return int(asked[right("gated") & ~right("delta")][0]) + 1


def script():
    """The record as JavaScript, a row of numbers a line."""
    numbers = record("one_head_cpu")
    parts = {"names": NAMES, "values": VALUES, "first": first_shown(), "own": numbers["accuracy"]}
    text = ""
    for name, value in (parts | numbers["head"]).items():
        if isinstance(value, list) and isinstance(value[0], list):
            rows = "".join(f"      {json.dumps(row)},\n" for row in value)
            text += f"    {name}: [\n{rows}    ],\n"
        else:
            text += f"    {name}: {json.dumps(value)},\n"
    return text


def write():
    """Renew the data in the figure's script."""
    FIGURE.write_text(BLOCK.sub(lambda _: script(), FIGURE.read_text("utf-8")), "utf-8")


def kinds():
    """Kind of token -> its places."""
    tokens = head()["tokens"]
    return {"name": tokens < NAMES, "value": (tokens >= NAMES) & (tokens < QUESTION),
            "question": tokens == QUESTION, "bar": tokens == BAR}  # fmt: skip


def gates_table():
    """What the head does with each kind of token: its gates, the least and the largest."""
    rows = []
    for kind, places in kinds().items():
        numbers = [head()[name][places] for name in ("alpha", "beta")]
        spans = [dict.fromkeys(f"{x:.4f}" for x in (y.min(), y.max())) for y in numbers]
        rows.append((kind, int(places.sum()), *map(" to ".join, spans)))
    return Table(("token", "how many", "α", "β"), rows)


def rules_table():
    """How many questions each rule answers rightly, and how many models trained with it do."""
    made = record("one_head_cpu")
    rows = [
        (name, *(int(right(rule, choice).sum()) for choice in GATES),
         f"{made['accuracy'][rule]:.1%}")
        for rule, name in RULES.items()
    ]  # fmt: skip
    versions = f"torch {made['versions']['torch']}, {made['date']}"
    head_ = (f"right of {len(wanted())}", *GATES.values(), "trained with it")
    return Table(head_, rows, f"One seed each, on a CPU, {versions}.")


@styled
def drawn(token, choice="recorded"):
    """The recorded gates, the four rules' answers, and the gated rule's state after a token."""
    alpha, beta = gates(choice)
    fig, axes = figure(7.2, 3.4, nrows=3, ncols=2, width_ratios=[4, 1], sharex="col")
    for ax in axes[:, 1]:
        ax.axis("off")
    for ax, gate, name, colour in (
        (axes[0, 0], alpha, "α", "decay"),
        (axes[1, 0], beta, "β", "key"),
    ):
        ax.bar(range(len(gate)), gate, width=0.8, color=COLOUR[colour])
        ax.set(ylim=(0, 1.05), ylabel=name)
        ax.axvline(token, color=COLOUR["ink"], lw=0.8)
    asked = np.flatnonzero(head()["tokens"] == QUESTION)
    for row, rule in enumerate(RULES):
        hit = right(rule, choice)
        axes[2, 0].plot(asked[hit], 0 * asked[hit] - row, "o", ms=3, color=COLOUR["query"])
        axes[2, 0].plot(asked[~hit], 0 * asked[~hit] - row, "x", ms=4, color=COLOUR["error"])
    axes[2, 0].set(yticks=range(0, -len(RULES), -1), yticklabels=RULES.values(), ylim=(-3.6, 0.6))
    S = reads("gated", alpha, beta)[1][token]
    place = axes[0, 1].inset_axes([0.05, -1.3, 0.95, 2.2])
    heat(place, S, "state", -np.abs(S).max(), np.abs(S).max())
    return fig


def head_replay_widget():
    """The figure in a notebook."""
    token = widgets.IntSlider(first_shown() - 1, 0, len(head()["tokens"]) - 1, description="token")
    options = [(words, choice) for choice, words in GATES.items()]
    return live(drawn, token=token, choice=widgets.Dropdown(options=options, description="gates"))


if __name__ == "__main__":
    write()
