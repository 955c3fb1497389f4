"""The data flow of one chunk, drawn as boxes and arrows."""

from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from .style import COLOUR, figure, styled

HEIGHT = 1.15
BOXES = {  # name -> x, y, width, role
    "S": (0.1, 3.2, 2.0, "state"),
    "v": (0.1, 4.65, 2.0, "value"),
    "k": (0.1, 6.1, 2.0, "key"),
    "q": (0.1, 0.4, 2.0, "query"),
    "A": (3.4, 6.1, 3.9, "key"),
    "R": (3.4, 3.8, 3.9, "value"),
    "P": (3.4, 0.4, 3.9, "query"),
    "E": (8.7, 4.95, 2.2, "error"),
    "next": (12.0, 4.95, 3.1, "state"),
    "O": (12.0, 0.9, 3.1, "query"),
}
TEXTS = {
    "S": "$\\mathbf{S}$\nold state",
    "v": r"$\mathbf{V}$",
    "k": r"$\mathbf{K},\ g,\ \beta$",
    "q": r"$\mathbf{Q}$",
    "A": r"$\tilde{\mathbf{A}} = \mathrm{tril}(\mathbf{B}(\mathbf{\Gamma}\odot"
    r"\mathbf{K}\mathbf{K}^\top), -1)$",
    "R": r"$\mathbf{B}(\mathbf{V} - \mathbf{D}_\gamma\mathbf{K}\mathbf{S}^\top)$",
    "P": r"$\mathbf{\Gamma}\odot\mathbf{Q}\mathbf{K}^\top$",
    "E": "solve:\ndeltas $\\mathbf{E}$",
    "next": "$\\gamma_C\\mathbf{S} + \\mathbf{E}^\\top\\mathbf{D}_\\rightarrow\\mathbf{K}$\n"
    "new state",
    "O": "$\\mathbf{D}_\\gamma\\mathbf{Q}\\mathbf{S}^\\top + (\\cdot)\\,\\mathbf{E}$\noutputs",
}
ARROWS = ["k A", "S R", "v R", "k R", "A E", "R E", "q P", "E next", "E O", "P O"]

ROUTES = {  # round the boxes: the old state dashed, what is written under the keys or read dotted
    "S O": [(2.2, 2.85), (10.6, 2.85), (11.9, 1.3)],
    "S next": [(2.2, 3.1), (11.6, 3.1), (12.6, 4.85)],
    "k next": [(1.1, 7.35), (1.1, 7.8), (13.5, 7.8), (13.5, 6.5), (13.5, 6.18)],
    "k P": [(2.2, 6.3), (2.65, 6.3), (2.65, 1.25), (3.0, 1.25), (3.32, 1.25)],
    "q O": [(1.1, 0.35), (1.1, -0.1), (13.5, -0.1), (13.5, 0.5), (13.5, 0.82)],
}


@styled
def chunk_flow():
    """Which product feeds which, in one chunk."""
    fig, ax = figure(6.8, 3.8)
    ax.set(xlim=(0, 15.3), ylim=(-0.3, 8.1), aspect="equal")
    ax.axis("off")
    for name, (x, y, width, role) in BOXES.items():
        style = {"boxstyle": "round,pad=0.05,rounding_size=.15", "fc": "none", "lw": 1.6}
        ax.add_patch(FancyBboxPatch((x, y), width, HEIGHT, ec=COLOUR[role], **style))
        middle = (x + width / 2, y + HEIGHT / 2)
        ax.text(*middle, TEXTS[name], ha="center", va="center", fontsize=9.5, color=COLOUR["ink"])
    for names in ARROWS:
        start, end = names.split()
        x, y, width, _ = BOXES[start]
        to_x, to_y, *_ = BOXES[end]
        here, there = (x + width + 0.08, y + HEIGHT / 2), (to_x - 0.08, to_y + HEIGHT / 2)
        _arrow(ax, here, there, COLOUR["quiet"])
    for names, (*way, end) in ROUTES.items():
        start = names.split()[0]
        colour, dashes = COLOUR[BOXES[start][3]], "--" if start == "S" else ":"
        ax.plot(*zip(*way, strict=True), color=colour, ls=dashes, lw=1.2)
        _arrow(ax, way[-1], end, colour, ls="--" if start == "S" else "-")
    ax.text(8.9, 2.35, "read by the queries", fontsize=8, color=COLOUR["state"], ha="right")
    ax.text(8.9, 3.25, "carried on", fontsize=8, color=COLOUR["state"], ha="right")
    ax.text(8.9, 7.5, "written under", fontsize=8, color=COLOUR["key"], ha="right")
    return fig


def _arrow(ax, start, end, colour, **style):
    style = {"arrowstyle": "-|>", "mutation_scale": 11, "color": colour, **style}
    ax.add_patch(FancyArrowPatch(start, end, shrinkA=0, shrinkB=0, **style))
