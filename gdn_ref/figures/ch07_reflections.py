"""Six keys that act on sixty rows in three dimensions, one after the other and in one WY step.

The page's figure `reflections` has the same rows and keys; `tests/book/test_reflections.py` holds
the points that it draws to these.
"""

import ipywidgets as widgets
import numpy as np
from matplotlib.patches import Circle

from .. import wy
from .style import COLOUR, figure, live, styled

KEYS = ((75, 5), (5, 50), (-15, -20), (45, -50), (100, 45), (30, 10))  # degrees round, and up


def on_sphere(places):
    """The unit vectors at these degrees round and up, `[..., 3]`."""
    around, up = np.radians(np.moveaxis(np.asarray(places, float), -1, 0))
    return np.stack([np.cos(up) * np.cos(around), np.cos(up) * np.sin(around), np.sin(up)], -1)


def screw(count=60):
    """Rows along a screw which narrows, `[count, 3]`: its mirror image turns the other way."""
    along = np.linspace(0, 1, count)
    angle, thick = 6 * np.pi * along, 0.42 - 0.25 * along
    x, y = 0.3 + thick * np.cos(angle), 0.15 + thick * np.sin(angle)
    return np.stack([x, y, 1.5 * along - 0.65], -1)


def step_by_step(rows, K, beta):
    """The rows before, and after each of the keys (eq-transition-rows)."""
    path = [rows]
    for k, strength in zip(K, beta, strict=True):
        path.append(path[-1] - strength * np.outer(path[-1] @ k, k))
    return path


def at_once(rows, K, beta):
    """The same in one step (eq-wy-matrix)."""
    return rows - (rows @ wy.w(K, beta).T) @ K


def seen(points, turn, tilt):
    """Right and up of points `[..., 3]`, from `turn` degrees round and `tilt` degrees up."""
    t, u = np.radians([turn, tilt])
    right = [-np.sin(t), np.cos(t), 0]
    up = [-np.sin(u) * np.cos(t), -np.sin(u) * np.sin(t), np.cos(u)]
    return np.asarray(points) @ np.stack([right, up], -1)


@styled
def reflections(taken=3, beta=2.0, turn=30, tilt=18):
    """The rows before and after `taken` keys, and rings where one WY step puts them."""
    K, strengths = on_sphere(KEYS)[:taken], np.full(taken, float(beta))
    *_, last = path = step_by_step(screw(), K, strengths)
    landed = at_once(screw(), K, strengths)
    fig, axes = figure(4.2, 4.2)
    around = np.arange(0, 361, 7.5)
    for fixed in (-60, -30, 0, 30, 60):
        axes.plot(*seen(on_sphere([(t, fixed) for t in around]), turn, tilt).T,
                  color=COLOUR["faint"], lw=0.5)  # fmt: skip
    axes.add_patch(Circle((0, 0), 1, fill=False, color=COLOUR["quiet"], lw=0.8))
    for row, end in zip(path[-2] if taken else last, last, strict=True):
        axes.plot(*seen([row, end], turn, tilt).T, color=COLOUR["key"], lw=0.4)
    axes.plot(*seen(screw(), turn, tilt).T, ".-", color=COLOUR["quiet"], ms=3, lw=0.5)
    axes.plot(*seen(last, turn, tilt).T, "o-", color=COLOUR["state"], ms=3, lw=0.5)
    axes.plot(*seen(landed, turn, tilt).T, "o", mfc="none", color=COLOUR["ink"], ms=5.5, mew=0.6)
    for number, (x, y) in enumerate(seen(K, turn, tilt), start=1):
        axes.plot(x, y, "o", color=COLOUR["key"], ms=13)
        axes.text(x, y, number, color="white", ha="center", va="center_baseline", weight="bold")
    axes.set(aspect="equal", xlim=(-1.5, 1.5), ylim=(-1.5, 1.5))
    axes.set_axis_off()
    gap = np.linalg.norm(last - landed, axis=1).max()
    axes.set_title(f"{taken} keys, determinant {np.prod(1 - strengths):.2f}; "
                   f"both ways differ by {gap:.0e}", fontsize=10)  # fmt: skip
    return fig


def reflections_widget():
    """`reflections` with sliders: keys applied, their strength, and the view."""
    return live(
        reflections,
        taken=widgets.IntSlider(value=3, min=0, max=6, description="keys"),
        beta=widgets.FloatSlider(value=2.0, min=0, max=2, step=0.05, description="β"),
        turn=widgets.IntSlider(value=30, min=-180, max=180, description="turn"),
        tilt=widgets.IntSlider(value=18, min=-90, max=90, description="tilt"),
    )
