"""One look for every figure: colours with one meaning each, and no paint but the marks.

The background is transparent: the book's style sheet turns lightness around in dark mode and
keeps the hues. The colours are those of `book/_static/gdn.css` in light mode, where the figures
that move take them from; `tests/book/test_access.py` sees to it that they can be read and told
apart, also by colour-blind readers.
"""

import io
from functools import cache, wraps
from pathlib import Path

import ipywidgets as widgets
import matplotlib.pyplot as plt
import numpy as np
from matplotlib import font_manager
from matplotlib.patches import Rectangle

TYPE = Path(__file__).parent / "type"  # the pages' face, made by book/site/type

COLOUR = {
    # roles: what a token writes and asks for, and what becomes of it
    "key": "#1377b9",
    "value": "#c45408",
    "query": "#006f53",
    "state": "#6e2f8a",
    "decay": "#6a4900",
    "error": "#cd2a63",
    # costs
    "bytes": "#5c54d4",
    "flops": "#781824",
    "time": "#787830",
    "weights": "#00566c",
    # series: what has no role, such as sequences, kernels, seeds and rules that are compared
    "first": "#506496",
    "second": "#824632",
    "third": "#28325a",
    "fourth": "#5a788c",
    "fifth": "#643246",
    # entries of a matrix by their sign, in the hues of its map
    "plus": "#6e2f8a",
    "minus": "#c45408",
    "quiet": "#767676",
    "faint": "#d0d0d0",
    "ink": "#1a1a1a",
}
ROLES = ("key", "value", "query", "state", "decay", "error")
COSTS = ("bytes", "flops", "time", "weights")
SERIES = ("first", "second", "third", "fourth", "fifth")

# what is compared in more than one chapter, in the same colour everywhere
RULE = {"linear": "first", "decay": "second", "delta": "third", "gated": "fifth",
        "attention": "fourth"}  # fmt: skip
FORMAT = {"float16": "first", "bfloat16": "second", "float32": "third", "tf32": "fourth",
          "float8_e4m3": "fifth", "float8_e5m2": "ink"}  # fmt: skip

# matrices: white is zero, purple is written, orange is negative
STATE_MAP = "PuOr"
DECAY_MAP = "YlOrBr"  # what is left of a write: none to all

ARROW = {"length_includes_head": True, "head_width": 0.09, "width": 0.02, "zorder": 3}

RC = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "savefig.transparent": True,
    "figure.dpi": 100,
    "svg.fonttype": "path",
    "svg.hashsalt": "gdn_ref",
    "font.family": "GDN Text",
    "font.monospace": "GDN Mono",
    "font.size": 10,
    "mathtext.fontset": "cm",  # as the formulas of the pages
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": COLOUR["quiet"],
    "axes.labelcolor": COLOUR["ink"],
    "xtick.color": COLOUR["quiet"],
    "ytick.color": COLOUR["quiet"],
    "legend.frameon": False,
}


@cache
def add_faces():
    """Make the faces known to Matplotlib: not on import, when a browser may have none yet."""
    for face in sorted(TYPE.glob("*.ttf")):
        font_manager.fontManager.addfont(face)


def look(**changes):
    """A context in which Matplotlib has the book's look, with some settings of your own."""
    add_faces()
    return plt.rc_context({**RC, **changes})


def styled(draw):
    """Draw in the book's look: text, legends and arrows take theirs when they are made."""

    @wraps(draw)
    def drawn(*arguments, **options):
        with look():
            return draw(*arguments, **options)

    return drawn


@styled
def figure(width=6.4, height=3.2, **subplots):
    """A figure of `width` by `height` inches in the book's style, and its axes.

    It belongs to nobody's global state: a cell shows it by returning it, once.
    """
    fig, axes = plt.subplots(figsize=(width, height), layout="constrained", **subplots)
    plt.close(fig)
    return fig, axes


def live(draw, **sliders):
    """The figure `draw(**values)` above its sliders; a slider's new value draws it again."""
    picture = widgets.HTML()

    @styled
    def redraw(change=None):
        text = io.StringIO()
        fig = draw(**{name: slider.value for name, slider in sliders.items()})
        fig.savefig(text, format="svg", metadata={"Date": None})  # the same values, the same text
        picture.value = "<svg" + text.getvalue().partition("<svg")[2]

    for slider in sliders.values():
        slider.observe(redraw, names="value")
    redraw()
    return widgets.VBox([picture, *sliders.values()])


def bare(ax, width, height):
    """An empty area of `width` by `height` units, square ones, without frame or ticks."""
    ax.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    ax.axis("off")


def directions(degrees):
    """Unit vectors of the plane, `[..., 2]`."""
    return np.stack([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))], axis=-1)


def cells(ax, array, x, y, limit, numbers=None, size=10):
    """Draw a matrix as squares of side 1, its upper left corner at (x, y)."""
    rows, columns = array.shape
    ax.imshow(
        array,
        cmap=STATE_MAP,
        vmin=-limit,
        vmax=limit,
        extent=(x, x + columns, y - rows, y),
        origin="upper",
    )
    for r in range(rows):
        for c in range(columns):
            ax.add_patch(
                Rectangle((x + c, y - r - 1), 1, 1, fill=False, ec=COLOUR["quiet"], lw=0.5)
            )
            if numbers:
                dark = abs(array[r, c]) > 0.6 * limit
                ax.text(
                    x + c + 0.5,
                    y - r - 0.5,
                    f"{array[r, c]:{numbers}}".replace("-", "−"),
                    ha="center",
                    va="center",
                    fontsize=size,
                    color="white" if dark else COLOUR["ink"],
                )


def heat(ax, matrix, title, low, high, cmap=STATE_MAP, size=10):
    """A matrix as an image without frame, from `low` to `high`; returns it for a colour bar."""
    image = ax.imshow(matrix, cmap=cmap, vmin=low, vmax=high)
    ax.set_title(title, fontsize=size)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    return image
