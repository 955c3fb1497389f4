"""One look for every figure: colours with one meaning each, and no paint but the marks.

The background is transparent: the book's style sheet turns lightness around in dark mode and
keeps the hues. Colours are told apart by colour-blind readers and, by lightness, in grey; the
same names are in `book/_static/gdn.css` for the figures that move.
"""

import matplotlib.pyplot as plt

COLOUR = {
    "key": "#0072b2",
    "value": "#d55e00",
    "query": "#009e73",
    "state": "#7b3fa0",
    "decay": "#a07400",
    "error": "#c2185b",
    "quiet": "#767676",
    "ink": "#1a1a1a",
}

# matrices: white is zero, purple is written, orange is negative
STATE_MAP = "PuOr"

RC = {
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "savefig.facecolor": "none",
    "savefig.transparent": True,
    "figure.dpi": 100,
    "svg.fonttype": "path",
    "svg.hashsalt": "gdn_ref",
    "font.family": "DejaVu Sans",
    "font.size": 10,
    "mathtext.fontset": "cm",
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": COLOUR["quiet"],
    "axes.labelcolor": COLOUR["ink"],
    "xtick.color": COLOUR["quiet"],
    "ytick.color": COLOUR["quiet"],
    "legend.frameon": False,
}


def figure(width=6.4, height=3.2, **subplots):
    """A figure of `width` by `height` inches in the book's style, and its axes.

    It belongs to nobody's global state: a cell shows it by returning it, once.
    """
    with plt.rc_context(RC):
        fig, axes = plt.subplots(figsize=(width, height), layout="constrained", **subplots)
        plt.close(fig)
    return fig, axes
