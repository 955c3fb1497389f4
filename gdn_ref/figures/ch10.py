"""Figures of chapter 10: five steps, four rules, the alpha-beta map, the horizon, the orders."""

import ipywidgets as widgets
import numpy as np

from ..proofs.ch10_orders import ORDERS, error
from ..proofs.data import hard_inputs, unit
from .style import ARROW, COLOUR, RULE, STATE_MAP, directions, figure, live, styled

STATE, KEY, VALUE = np.array([[2.0, 1], [0, 5]]), np.array([0.6, 0.8]), np.array([5.0, 0])


def _tiles(axes, numbers, title, role="ink"):
    """A small matrix as tiles with their numbers; a vector is a column."""
    numbers = np.atleast_2d(numbers.T).T
    axes.imshow(numbers, cmap=STATE_MAP, vmin=-9, vmax=9)
    for (i, j), number in np.ndenumerate(numbers):
        axes.text(j, i, f"{number:.3g}".replace("-", "−"), ha="center", va="center")
    axes.set_title(title, fontsize=10, color=COLOUR[role])
    axes.set(xticks=[], yticks=[])


@styled
def five_steps(alpha=0.5, beta=0.5):
    """The example by hand: the state before the token, and what each step makes (eq-gdn-step)."""
    decayed = alpha * STATE
    read = decayed @ KEY
    delta = beta * (VALUE - read)
    after = decayed + np.outer(delta, KEY)
    fig, axes = figure(5.0, 3.4, nrows=2, ncols=3)
    shown = (
        (STATE, "before: $\\mathbf{S}_{t-1}$", "state"),
        (decayed, "1. decay: $\\bar{\\mathbf{S}}$", "decay"),
        (read, "2. read: $r$", "key"),
        (delta, "3. correct: $\\delta$", "value"),
        (after, "4. write: $\\mathbf{S}_t$", "state"),
        (after @ KEY, "5. read out: $o$", "query"),
    )
    for panel, (numbers, title, role) in zip(axes.flat, shown, strict=True):
        _tiles(panel, numbers, title, role)
    return fig


LOOK = {  # rule -> colour, dashes
    "linear attention": (RULE["linear"], ":"),
    "decay alone": (RULE["decay"], "--"),
    "delta rule": (RULE["delta"], "-."),
    "gated delta rule": (RULE["gated"], "-"),
}


@styled
def four_rules(found):
    """`ch10_program.all_rules()`: errors of the file's own names, and of those it has not set."""
    fig, axes = figure(5.2, 5.2, nrows=2, sharex=True)
    for rule, shown in found.items():
        role, dashes = LOOK[rule]
        for panel, error_ in zip(axes, shown.T, strict=True):
            panel.semilogy(error_, dashes, color=COLOUR[role], label=rule)
    axes[0].set(ylabel="error, own names", ylim=(5e-3, 30))
    axes[1].set(ylabel="error, names not set", xlabel="assignment", ylim=(5e-3, 30))
    for start in range(0, len(shown), 50):
        for panel in axes:
            panel.axvline(start, color=COLOUR["quiet"], lw=0.6)
    fig.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig


def share_left(alpha, beta, tokens, d=128):
    """Of the squared length of an old state, after tokens with random keys (eq-gdn-horizon)."""
    return (alpha**2 * (1 - beta * (2 - beta) / d)) ** np.asarray(tokens)


def half_gone(alpha, beta, d=128):
    """Tokens until half of the squared length of an old state is gone (eq-gdn-horizon)."""
    return np.log(0.5) / np.log(share_left(alpha, beta, 1, d))


def measured_share(alpha, beta, tokens=300, d=128, d_v=16, seed=0):
    """The same for one stream of random unit keys: the old state's part of the state alone."""
    rng = np.random.default_rng(seed)
    S = rng.normal(size=(d_v, d))
    left = [(S * S).sum()]
    for k in unit(rng.normal(size=(tokens, d))):
        S = alpha * (S - beta * np.outer(S @ k, k))
        left.append((S * S).sum())
    return np.array(left) / left[0]


@styled
def horizon():
    """What is left of an old state, by both gates; and how late half of it can be gone."""
    fig, (axes, lower) = figure(5.0, 5.8, nrows=2)
    token = np.arange(301)
    for alpha, beta, role, dashes in (
        (1.0, 0.5, RULE["delta"], "--"),
        (1.0, 1.0, RULE["delta"], "-"),
        (0.99, 0.0, RULE["decay"], "-"),
        (0.99, 1.0, RULE["gated"], "-"),
    ):
        name = rf"$\alpha = {alpha:g}$, $\beta = {beta:g}$"
        axes.semilogy(token, share_left(alpha, beta, token), dashes, color=COLOUR[role], label=name)
        axes.semilogy(token[::20], measured_share(alpha, beta)[::20], "o", ms=4, color=COLOUR[role])
    axes.axhline(0.5, color=COLOUR["quiet"], lw=0.8)
    axes.set(xlabel="tokens with random keys", ylabel="share of the old state", ylim=(1e-4, 1.3))
    axes.legend(loc="lower left")
    alone = np.logspace(0, 4, 200)
    lower.loglog(alone, alone, ":", color=COLOUR["quiet"])
    for beta, dashes in ((0.1, "-."), (0.5, "--"), (1.0, "-")):
        both = half_gone(0.5 ** (0.5 / alone), beta)
        lower.loglog(alone, both, dashes, color=COLOUR[RULE["gated"]], label=rf"$\beta = {beta:g}$")
    lower.set(xlabel="half gone by the decay alone, tokens", ylabel="half gone by both")
    lower.legend(loc="upper left")
    return fig


SLIPS = {
    "read, then decay": ("first", "-."),
    "write, then decay": ("second", "--"),
    "output, then write": ("third", "-"),
}


def repeated_key(order, alpha=0.5, beta=1.8, tokens=40):
    """The size of the answer at one key that comes again and again with the value 0."""
    S, k, g = np.ones((1, 1)), np.ones(1), np.log(alpha)
    answers = [1.0]
    for _ in range(tokens):
        _, S = ORDERS[order](S, k, k, 0 * k, np.asarray(g), np.asarray(beta))
        answers.append(abs(S[0, 0]))
    return np.array(answers)


@styled
def order_slips(seeds=2):
    """Three wrong orders: their error against the decay, and one that grows (eq-gdn-order)."""
    fig, (upper, lower) = figure(5.0, 5.6, nrows=2)
    lost = np.logspace(-4, -0.3, 12)
    for order, (role, dashes) in SLIPS.items():
        found = [np.mean([error(order, _data(1 - x, s)) for s in range(seeds)]) for x in lost]
        upper.loglog(lost, found, dashes, color=COLOUR[role], label=order)
    upper.axhline(5e-2, color=COLOUR["quiet"], lw=0.8)
    upper.text(1.1e-4, 6e-2, "a tolerance of 5e-2", color=COLOUR["quiet"])
    upper.set(xlabel=r"forgotten per token, $1 - \alpha$", ylabel="error of the outputs")
    upper.legend(loc="lower right")
    for order, role, dashes in (("the rule", "ink", "-"), ("read, then decay", "first", "-.")):
        lower.semilogy(repeated_key(order), dashes, color=COLOUR[role], label=order)
    lower.set(xlabel="times that the key comes", ylabel="answer at the key")
    lower.legend(loc="lower left")
    return fig


def _data(alpha, seed):
    q, k, v, g, beta, S = hard_inputs(T=100, d_k=48, d_v=7, seed=seed)
    return q, k, v, 0 * g + np.log(alpha), beta, S


def kept_at_the_key(alpha, beta, read_first=False):
    """The weight of the old answer at the token's own unit key (eq-gdn-spectrum)."""
    return alpha - beta if read_first else alpha * (1 - beta)


@styled
def alpha_beta_map(alpha=0.7, beta=1.0, key_angle=60, read_first=False, s=(2.0, 1.2), v=1.0):
    """Left: what is kept at the key, over both gates. Right: one row of the state in the plane."""
    fig, (left, right) = figure(5.6, 3.0, ncols=2)
    a, b = np.meshgrid(np.linspace(0, 1, 41), np.linspace(0, 2, 41))
    left.imshow(kept_at_the_key(a, b, read_first), origin="lower", extent=(0, 1, 0, 2),
                aspect="auto", cmap=STATE_MAP, vmin=-2, vmax=2)  # fmt: skip
    left.plot(alpha, beta, "o", color=COLOUR["ink"])
    left.set(xlabel=r"$\alpha$", ylabel=r"$\beta$")
    kept = kept_at_the_key(alpha, beta, read_first)
    left.set_title(f"old answer kept: {kept:.2f}", fontsize=10)
    key = directions(key_angle)
    row = np.array(s)
    seen = row @ key if read_first else alpha * row @ key
    image = alpha * row + beta * (v - seen) * key
    across = np.array([-key[1], key[0]])
    right.plot(*(v * key[:, None] + np.outer(across, [-3, 3])), "--", color=COLOUR["value"], lw=1)
    right.arrow(0, 0, *key, color=COLOUR["key"], **ARROW)
    for point, role, name in (
        (row, "quiet", "before"),
        (alpha * row, "decay", "decayed"),
        (image, "state", "after"),
    ):
        right.plot(*point, "o", color=COLOUR[role], label=name)
    right.plot(*np.stack([row, alpha * row], 1), ":", color=COLOUR["decay"])
    right.plot(*np.stack([alpha * row, image], 1), "-", color=COLOUR["key"])
    right.set(aspect="equal", xlim=(-1.4, 2.6), ylim=(-2, 2), xticks=[], yticks=[])
    right.set_title(f"answers {image @ key:.2f}, wanted {v:.2f}", fontsize=10)
    right.legend(fontsize=8, loc="lower left")
    return fig


def alpha_beta_map_widget():
    """`alpha_beta_map` with sliders: the twin of the page's moving figure."""
    return live(
        alpha_beta_map,
        alpha=widgets.FloatSlider(value=0.7, min=0, max=1, step=0.01, description="α"),
        beta=widgets.FloatSlider(value=1.0, min=0, max=2, step=0.01, description="β"),
        key_angle=widgets.IntSlider(value=60, min=0, max=360, description="angle of k"),
        read_first=widgets.Checkbox(value=False, description="read before the decay"),
    )
