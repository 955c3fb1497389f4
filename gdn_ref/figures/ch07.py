"""Figures of chapter 7: a product as a sum, the scan that fails, ranks, costs and the order."""

import ipywidgets as widgets
import numpy as np
from matplotlib.patches import Rectangle

from .. import delta_rule, wy
from ..proofs.ch07_cost import dense_cost, factored_cost, state_cost
from ..proofs.ch07_unroll import products, token_maps, tree
from ..proofs.data import equal_cosine_keys, hard_inputs, relative_error, unit
from .style import COLOUR, STATE_MAP, figure, live, styled


def _heat(axes, matrix, title="", limit=1.0, **text):
    """A matrix as squares, white for zero, with thin lines between its cells."""
    rows, columns = matrix.shape
    image = axes.imshow(matrix, cmap=STATE_MAP, vmin=-limit, vmax=limit)
    axes.set_xticks(np.arange(columns + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(rows + 1) - 0.5, minor=True)
    axes.grid(which="minor", color=COLOUR["quiet"], lw=0.2)
    axes.tick_params(which="both", length=0, labelbottom=False, labelleft=False)
    axes.set_title(title, fontsize=10, **text)
    return image


def some_keys(tokens=4, d_k=8):
    """A few correlated unit keys, with strengths 1, 0.8, 0.6, ..."""
    _, K, *_ = hard_inputs(tokens, d_k, cosine=0.3, seed=7)
    return K, 1 - 0.2 * np.arange(tokens)


@styled
def product_and_sum():
    """The product of 0 to 4 factors, and what each factor takes away (eq-wy-product)."""
    K, beta = some_keys()
    so_far = [products(K[:r], K[:r], beta[:r])[0] for r in range(1, len(K) + 1)]
    before = [np.eye(K.shape[1]), *so_far[:-1]]
    fig, axes = figure(4.8, 3.2, nrows=2, ncols=len(K))
    for r, (old, new) in enumerate(zip(before, so_far, strict=True), start=1):
        image = _heat(axes[0, r - 1], new, rf"$\mathbf{{P}}^{r}$")
        rank = np.linalg.matrix_rank(old - new)
        _heat(axes[1, r - 1], old - new, f"rank {rank}", limit=0.6)
    axes[0, 0].set_ylabel("product so far")
    axes[1, 0].set_ylabel("taken away")
    fig.colorbar(image, ax=axes[0], shrink=0.8, ticks=[-1, 0, 1])
    return fig


@styled
def partial_products(r=3, cosine=0.5, beta=1.0, newest="right"):
    """The product of r factors, I - W^T K, and the two thin matrices behind it."""
    K = equal_cosine_keys(6, cosine)[:r]
    strengths = np.full(r, beta)
    W = wy.w(K, strengths)
    P, _ = products(K, K, strengths)
    product, total = (P if newest == "right" else P.T), np.eye(6) - W.T @ K
    fig, ((left, right), (thin, wide)) = figure(4.6, 4.8, nrows=2, ncols=2)
    order = rf"$\mathbf{{P}}_1\cdots\mathbf{{P}}_{r}$"
    if newest == "left":
        order = rf"$\mathbf{{P}}_{r}\cdots\mathbf{{P}}_1$"
    _heat(left, product, order)
    _heat(right, total, r"$\mathbf{I} - \mathbf{W}^\top\mathbf{K}$")
    _heat(thin, W.T, r"$\mathbf{W}^\top$")
    _heat(wide, K, r"$\mathbf{K}$")
    rank = np.linalg.matrix_rank(np.eye(6) - product, tol=1e-9)
    gap = np.abs(product - total).max()
    fig.suptitle(f"rank {rank}; product and sum differ by {gap:.2f}", fontsize=10)
    return fig


def partial_products_widget():
    """`partial_products` with sliders: tokens, cosine, strength, and the order of the factors."""
    return live(
        partial_products,
        r=widgets.IntSlider(value=3, min=1, max=6, description="tokens r"),
        cosine=widgets.FloatSlider(value=0.5, min=0, max=1, step=0.05, description="cosine"),
        beta=widgets.FloatSlider(value=1.0, min=0, max=2, step=0.05, description="β"),
        newest=widgets.ToggleButtons(options=["right", "left"], description="newest"),
    )


@styled
def scan_tree(tokens=8, d_k=32):
    """A tree of merges: the height of a box is the measured rank of I - F (eq-affine-compose)."""
    _, K, V, *_ = hard_inputs(tokens, d_k)
    maps = token_maps(K, V, np.full(tokens, 0.8))
    fig, axes = figure(4.4, 3.2)
    level, centres = 0, np.arange(tokens) + 0.5
    while True:
        for centre, (F, _) in zip(centres, maps, strict=True):
            rank = np.linalg.matrix_rank(np.eye(d_k) - F)
            height = 0.09 * rank
            axes.add_patch(
                Rectangle((centre - 0.3, level), 0.6, height, color=COLOUR["state"], lw=0)
            )
            axes.text(centre, level + height + 0.06, str(rank), ha="center")
        if len(maps) == 1:
            break
        parents = centres.reshape(-1, 2).mean(axis=1)
        for n, centre in enumerate(centres):
            tall = level + 0.09 * 2**level + 0.3
            axes.plot([centre, parents[n // 2]], [tall, level + 1.2], color=COLOUR["quiet"], lw=1)
        maps = [tree(maps[n : n + 2]) for n in range(0, len(maps), 2)]
        centres, level = parents, level + 1.25
    axes.set(xlim=(0, tokens), ylim=(0, level + 1.2), xticks=[], yticks=[])
    axes.set_ylabel("merges, level by level")
    axes.set_xlabel(f"{tokens} tokens, one map each")
    axes.spines[:].set_visible(False)
    return fig


SOURCES = {
    "random keys": ("-", "first"),
    "cosine 0.5": ("--", "second"),
    "16 words": (":", "third"),
}


def scan_keys(name, tokens=256, d_k=64, seed=0):
    """Unit keys of three kinds: independent, correlated, or drawn from a vocabulary of 16."""
    if name == "cosine 0.5":
        return hard_inputs(tokens, d_k, seed=seed)[1]
    rng = np.random.default_rng(seed)
    if name == "16 words":
        return unit(rng.normal(size=(16, d_k)))[rng.integers(16, size=tokens)]
    return unit(rng.normal(size=(tokens, d_k)))


def ranks(name, share=None, tokens=256, d_k=64):
    """Rank of I - F after each level of the scan, of its first map; or how many singular values
    exceed `share` of the largest."""
    K = scan_keys(name, tokens, d_k)
    maps = token_maps(K, K[:, :1], np.random.default_rng(1).uniform(0, 1, tokens))
    found, block = [], 1
    while block <= tokens:
        values = np.linalg.svd(np.eye(d_k) - tree(maps[:block])[0], compute_uv=False)
        found.append(int((values > (share or 1e-10) * values[0]).sum()))
        block *= 2
    return np.array(found)


@styled
def rank_growth():
    """Measured ranks against the number of tokens merged (eq-wy-rank)."""
    fig, axes = figure(4.6, 3.4)
    blocks = 2 ** np.arange(9)
    for name, (style, role) in SOURCES.items():
        wide = {"lw": 6, "alpha": 0.4} if name == "random keys" else {"lw": 2}
        axes.loglog(blocks, ranks(name), style, color=COLOUR[role], label=name, **wide)
    rough = ranks("random keys", share=0.1)
    axes.loglog(blocks, rough, "-.", color=COLOUR["quiet"], label="random, above 10 %")
    axes.axhline(64, color=COLOUR["quiet"], lw=0.8)
    axes.text(1, 68, "$d_k = 64$: dense", color=COLOUR["quiet"])
    axes.set(xlabel="tokens in one map", ylabel=r"rank of $\mathbf{I} - \mathbf{F}$")
    axes.set_xticks(blocks[::2], blocks[::2])
    axes.set_yticks([1, 4, 16, 64], [1, 4, 16, 64])
    axes.set_ylim(0.8, 110)
    axes.minorticks_off()
    axes.legend(loc="lower right")
    return fig


def chunked_cost(tokens, d_k, d_v, C=64):
    """The vectors of each chunk by eq-wy-cost, then `W S^T` and `E^T K` once a chunk."""
    return tokens // C * (factored_cost(C, d_k, d_v) + 2 * C * d_k * d_v)


@styled
def scan_cost(d=128):
    """Multiplications for the last state, four ways (eq-scan-cost, eq-wy-cost)."""
    tokens = 2 ** np.arange(1, 16)
    curves = {
        "scan of dense maps": (tokens, dense_cost, "-", "second"),
        "one long run, factored": (tokens, factored_cost, "--", "first"),
        "chunks of 64, factored": (tokens[tokens >= 64], chunked_cost, "-", "third"),
        "token by token": (tokens, state_cost, ":", "ink"),
    }
    fig, axes = figure(4.6, 3.6)
    for name, (n, cost, style, role) in curves.items():
        work = [cost(int(x), d, d) for x in n]
        axes.loglog(n, work, style, color=COLOUR[role], label=name, lw=2)
    axes.set(xlabel="tokens", ylabel="multiplications")
    fig.legend(loc="outside upper center", ncols=2)
    return fig


@styled
def one_more_row():
    """The induction step as shapes: a column on W^T, a row under K (eq-wy-matrix)."""
    fig, axes = figure(4.4, 2.0)
    boxes = (  # x, y, width, height, role, text, new
        (0.0, 0, 2.2, 2.2, "ink", r"$\mathbf{P}^{r}$", False),
        (2.9, 0, 2.2, 2.2, "ink", r"$\mathbf{I}$", False),
        (5.7, 0, 1.1, 2.2, "state", r"$\mathbf{W}^\top$", False),
        (6.8, 0, 0.6, 2.2, "state", r"$w_r$", True),
        (7.7, 1.1, 2.2, 1.1, "key", r"$\mathbf{K}$", False),
        (7.7, 0.5, 2.2, 0.6, "key", r"$k_r^\top$", True),
    )
    for x, y, width, height, role, text, new in boxes:
        shade = {"facecolor": COLOUR[role], "alpha": 0.55 if new else 0.15}
        axes.add_patch(Rectangle((x, y), width, height, **shade, lw=0))
        axes.add_patch(Rectangle((x, y), width, height, fill=False, color=COLOUR[role], lw=1.2))
        axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=12)
    for x, sign in ((2.55, "="), (5.45, "$-$")):
        axes.text(x, 1.1, sign, ha="center", va="center", fontsize=14)
    sizes = ((1.1, -0.3, "$d_k \\times d_k$"), (6.55, -0.3, "$d_k \\times r$"))
    for x, y, text in (*sizes, (8.8, 0.2, "$r \\times d_k$")):
        axes.text(x, y, text, ha="center", va="center", color=COLOUR["ink"])
    axes.set(xlim=(-0.1, 10), ylim=(-0.5, 2.3), aspect="equal")
    axes.set_axis_off()
    return fig


def reversed_error(cosine, beta, tokens=16, d_k=64, seed=0):
    """Relative error of the state when the product is multiplied in the opposite order."""
    q, K, V, _, _, S = hard_inputs(tokens, d_k, 16, cosine=cosine, seed=seed)
    if cosine == 0:
        K = np.linalg.qr(K.T)[0].T
    strengths = np.full(tokens, beta)
    P, H = products(K, V, strengths)
    right = delta_rule.recurrent(q, K, V, strengths, S)[1]
    return relative_error(S @ P.T + H, right)


@styled
def order_error():
    """Error of the opposite order against the cosine of the keys (eq-wy-transpose)."""
    fig, axes = figure(4.4, 3.2)
    cosines = np.linspace(0, 1, 21)
    for beta, style in ((0.5, ":"), (1.0, "--"), (1.5, "-")):
        errors = [np.mean([reversed_error(c, beta, seed=n) for n in range(5)]) for c in cosines]
        axes.plot(cosines, errors, style, color=COLOUR["error"], label=rf"$\beta = {beta:g}$")
    axes.set(xlabel="mean cosine of the keys", ylabel="relative error of the state", ylim=(0, None))
    axes.legend(loc="upper right")
    return fig
