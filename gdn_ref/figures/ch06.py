"""Figures of chapter 6: one transition in two and three dimensions, its spectrum, growth."""

import ipywidgets as widgets
import numpy as np

from .style import ARROW, COLOUR, SERIES, directions, figure, live, styled

LANDMARKS = {0: "identity", 1: "projection", 2: "reflection"}


def case_name(beta):
    """What the transition with a unit key does at this strength."""
    if beta in LANDMARKS:
        return LANDMARKS[beta]
    return "partial erasure" if beta < 1 else "overshoot" if beta < 2 else "growth"


def transition(key, beta):
    """I - beta k k^T (eq-transition)."""
    return np.eye(len(key)) - beta * np.outer(key, key)


def _plane(axes, key, size=2.0):
    across = np.array([-key[1], key[0]])
    axes.plot(*np.outer(across, [-size, size]), "--", color=COLOUR["quiet"], lw=1)
    axes.arrow(0, 0, *key, color=COLOUR["key"], **ARROW)
    axes.text(*(1.15 * key + 0.04), "$k$", color=COLOUR["key"])
    axes.set(aspect="equal", xlim=(-size, size), ylim=(-size, size), xticks=[], yticks=[])
    for spine in axes.spines.values():
        spine.set_visible(False)


def _row_and_image(axes, row, key, beta):
    image = transition(key, beta) @ row
    axes.plot(*np.stack([row, image], axis=1), ":", color=COLOUR["key"], lw=2, zorder=2)
    axes.arrow(0, 0, *row, color=COLOUR["quiet"], **ARROW)
    axes.arrow(0, 0, *image, color=COLOUR["state"], **ARROW)
    if beta:
        axes.text(*(1.06 * row), "$s$", color=COLOUR["quiet"])
    axes.text(*(image + [0.08, -0.18]), "$Ps$" if beta else "$Ps = s$", color=COLOUR["state"])
    return image


@styled
def six_strengths(row=(1.5, 0.9), angle=60):
    """One row and its image at the strengths of eq-transition-cases, and beyond them."""
    fig, axes = figure(4.8, 6.4, nrows=3, ncols=2)
    key = directions(angle)
    for panel, beta in zip(axes.flat, (0, 0.5, 1, 1.5, 2, 2.5), strict=True):
        _plane(panel, key)
        _row_and_image(panel, np.array(row), key, beta)
        panel.set(xlim=(-1.7, 2.1), ylim=(-2.5, 1.3))
        panel.set_title(rf"$\beta = {beta:g}$: {case_name(beta)}", fontsize=10)
    return fig


@styled
def rows_of_a_state(seed=0, count=60):
    """The rows of a `count` x 2 state, before and after one token (eq-transition-rows)."""
    rng = np.random.default_rng(seed)
    state = rng.normal(size=(count, 2)) * [0.9, 0.5] + [0.7, 0.2]
    key = np.array([0.8, 0.6])
    fig, axes = figure(5.4, 2.5, ncols=3)
    for panel, beta in zip(axes, (0.5, 1.0, 2.0), strict=True):
        _plane(panel, key, size=2.4)
        after = state @ transition(key, beta)
        panel.plot(*np.stack([state, after], axis=1).T, "-", color=COLOUR["key"], lw=0.4)
        panel.plot(*state.T, "o", ms=3, mfc="none", color=COLOUR["quiet"])
        panel.plot(*after.T, "o", ms=3, color=COLOUR["state"])
        panel.set_title(rf"$\beta = {beta:g}$" + f"\n{case_name(beta)}", fontsize=10)
    return fig


@styled
def spectrum(decay=0.9):
    """Eigenvalues and norm against beta ||k||^2 (eq-transition-eigenvalues, eq-transition-norm)."""
    share = np.linspace(0, 3, 301)
    fig, (upper, lower) = figure(4.8, 5.2, nrows=2)
    for alpha, style in ((1.0, "-"), (decay, "--")):
        upper.plot(share, alpha * (1 - share), style, color=COLOUR["key"])
        upper.plot(share, alpha + 0 * share, style, color=COLOUR["quiet"])
        lower.plot(
            share,
            alpha * np.maximum(1, abs(1 - share)),
            style,
            color=COLOUR["state"],
            label=rf"$\alpha = {alpha:g}$",
        )
    upper.text(1.0, 0.5, "across $k$: $d-1$ times", color=COLOUR["quiet"])
    upper.text(0.1, -1.2, "along $k$: once", color=COLOUR["key"])
    upper.set(xlabel=r"$\beta\,\|k\|^2$", ylabel="eigenvalues")
    lower.set(xlabel=r"$\beta\,\|k\|^2$", ylabel="norm", ylim=(0, 2.2))
    lower.legend(loc="lower left")
    for panel in (upper, lower):
        panel.axhline(0, color=COLOUR["quiet"], lw=0.6)
        panel.axvspan(2, 3, color=COLOUR["error"], alpha=0.12, lw=0)
    lower.text(2.5, 0.3, "can\ngrow", color=COLOUR["error"], ha="center")
    return fig


@styled
def growth_curves(runs):
    """State norms, relative to the first, against tokens; `runs` maps a name to a list."""
    fig, axes = figure(5.4, 3.2)
    for (name, norms), role, style in zip(runs.items(), SERIES, ("-", "--", "-."), strict=False):
        axes.semilogy(range(len(norms)), norms, style, color=COLOUR[role], label=name)
    axes.set(xlabel="token", ylabel="norm of the state, start = 1")
    axes.legend(loc="upper left")
    return fig


@styled
def epsilon_placements(epsilon=1e-6, size=128):
    """Squared norm of the normalised key for four places to put epsilon (eq-key-norm)."""
    norm = np.logspace(-7, 0, 400)
    curves = {
        r"$x\,/\sqrt{\|x\|^2+\epsilon}$": (norm**2 / (norm**2 + epsilon), "-", "first"),
        r"$x\,/\max(\|x\|,\epsilon)$": (np.minimum(1, norm / epsilon) ** 2, "--", "second"),
        r"$x\,/(\|x\|+\epsilon)$": ((norm / (norm + epsilon)) ** 2, ":", "third"),
        r"RMSNorm$(x)\,/\sqrt{d}$": (norm**2 / (norm**2 + size * epsilon), "-.", "fifth"),
    }
    fig, axes = figure(5.4, 3.6)
    for name, (squared, style, role) in curves.items():
        axes.semilogx(norm, squared, style, color=COLOUR[role], label=name)
    axes.set(xlabel=r"length of the raw key, $\|x\|$", ylabel=r"$\|k\|^2$ after the norm")
    fig.legend(loc="outside upper center", ncols=2)
    return fig


@styled
def two_reflections(theta=40):
    """A vector reflected in two lines turns by twice the angle (eq-reflection-rotation)."""
    fig, axes = figure(4.6, 4.0)
    first, second = directions([100, 100 + theta])
    start = 1.5 * directions(25)
    once = transition(first, 2.0) @ start
    twice = transition(second, 2.0) @ once
    for key, name in ((first, "$k_1$"), (second, "$k_2$")):
        _plane(axes, key)
        axes.texts[-1].set_text(name)
    marks = ((start, "quiet", "$s$"), (once, "state", "$P_1s$"), (twice, "state", "$P_2P_1s$"))
    for point, role, name in marks:
        axes.arrow(0, 0, *point, color=COLOUR[role], **ARROW)
        axes.text(*(1.12 * point), name, color=COLOUR[role], ha="center", va="center")
    turn = np.radians(np.linspace(25, 25 + 2 * theta, 50))
    axes.plot(0.6 * np.cos(turn), 0.6 * np.sin(turn), color=COLOUR["state"])
    middle = np.radians(25 + theta)
    axes.text(0.75 * np.cos(middle), 0.75 * np.sin(middle), f"{2 * theta}°", ha="center")
    axes.set(xlim=(-2, 2), ylim=(-1.6, 2))
    return fig


@styled
def householder_2d(beta=1.0, key_angle=60, s_x=1.5, s_y=0.9):
    """One row `s`, the key, the line orthogonal to it, and the image."""
    fig, axes = figure(4.6, 4.2)
    key = directions(key_angle)
    row = np.array([s_x, s_y])
    _plane(axes, key, size=2.4)
    axes.plot(*np.stack([row, transition(key, 2.0) @ row], axis=1), color=COLOUR["quiet"], lw=0.6)
    image = _row_and_image(axes, row, key, beta)
    lengths = f"|s| {np.linalg.norm(row):.2f}, |Ps| {np.linalg.norm(image):.2f}"
    axes.set_title(rf"$\beta = {beta:.2f}$: {case_name(beta)}; {lengths}", fontsize=10)
    return fig


@styled
def householder_3d(beta=1.0, angle=50, turn=30, tilt=20):
    """The unit sphere and its image, flattened along the key by 1 - beta."""
    fig, axes = figure(4.8, 4.4, subplot_kw={"projection": "3d"})
    key = np.array([0.0, 0.0, 1.0])
    long, lat = np.meshgrid(np.linspace(0, 2 * np.pi, 25), np.linspace(0, np.pi, 13))
    ball = np.stack([np.sin(lat) * np.cos(long), np.sin(lat) * np.sin(long), np.cos(lat)])
    image = np.einsum("ij,jab->iab", transition(key, beta), ball)
    axes.plot_wireframe(*ball, color=COLOUR["quiet"], lw=0.3)
    axes.plot_wireframe(*image, color=COLOUR["state"], lw=0.6)
    row = np.array([np.sin(np.radians(angle)), 0, np.cos(np.radians(angle))]) * 1.3
    arrows = ((1.5 * key, "key"), (row, "quiet"), (transition(key, beta) @ row, "state"))
    for vector, role in arrows:
        axes.quiver(0, 0, 0, *vector, color=COLOUR[role], lw=2, arrow_length_ratio=0.12)
    axes.view_init(elev=tilt, azim=turn)
    axes.set(xlim=(-1.2, 1.2), ylim=(-1.2, 1.2), zlim=(-1.2, 1.2), box_aspect=(1, 1, 1))
    axes.set_axis_off()
    axes.set_title(rf"$\beta = {beta:.2f}$: {case_name(beta)}", fontsize=10)
    return fig


def householder_2d_widget():
    """`householder_2d` with sliders: strength, the key's angle, the row's two entries."""
    return live(
        householder_2d,
        beta=widgets.FloatSlider(value=1.0, min=0, max=2, step=0.01, description="β"),
        key_angle=widgets.IntSlider(value=60, min=0, max=360, description="angle of k"),
        s_x=widgets.FloatSlider(value=1.5, min=-2, max=2, step=0.1, description="s, first"),
        s_y=widgets.FloatSlider(value=0.9, min=-2, max=2, step=0.1, description="s, second"),
    )


def householder_3d_widget():
    """`householder_3d` with sliders: strength, the angle from key to row, and the view."""
    return live(
        householder_3d,
        beta=widgets.FloatSlider(value=1.0, min=0, max=2, step=0.01, description="β"),
        angle=widgets.IntSlider(value=50, min=0, max=180, description="k to s"),
        turn=widgets.IntSlider(value=30, min=-180, max=180, description="turn"),
        tilt=widgets.IntSlider(value=20, min=-90, max=90, description="tilt"),
    )
