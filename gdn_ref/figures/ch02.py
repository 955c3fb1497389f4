"""Figures of chapter 2: overlaps of keys, crosstalk, the best matrix, growth."""

import ipywidgets
import numpy as np

from .. import linear_attention
from ..proofs.data import unit
from .style import COLOUR, RULE, SERIES, STATE_MAP, directions, figure, styled

HALF_MAX = 65_504  # the largest float16


FEATURES = {
    "none": lambda x: x,
    "SiLU": lambda x: x / (1 + np.exp(-x)),
    "ReLU": lambda x: np.maximum(x, 0),
    "ELU + 1": lambda x: np.where(x > 0, x + 1, np.exp(np.minimum(x, 0))),
}


def keys_of(feature, n, d_k=128, seed=0):
    """`n` unit keys: a feature map of normal numbers, then the norm."""
    return unit(FEATURES[feature](np.random.default_rng(seed).normal(size=(n, d_k))))


def effective_width(feature, d_k=128, n=8000):
    """One over the mean squared overlap of two different keys (eq-effective-width)."""
    K = keys_of(feature, n, d_k)
    total = np.sum((K.T @ K) ** 2)  # of all pairs of keys, those of a key with itself included
    return n * (n - 1) / (total - n)


def squared_errors(K, d_v=64, seed=1, memory="sum"):
    """Mean squared error of reading back random values of length one, written under `K`."""
    V = unit(np.random.default_rng(seed).normal(size=(len(K), d_v)))
    S = linear_attention.chunkwise(K, K, V)[1]
    if memory == "least squares":
        S = (np.linalg.pinv(K) @ V).T
    read = K @ S.T
    if memory == "scaled":
        read = read * np.sum(read * V) / np.sum(read**2)
    return np.mean(np.sum((read - V) ** 2, axis=1))


@styled
def overlaps(n=24, d_k=32):
    """The Gram matrix of orthonormal, random and positive keys."""
    rng = np.random.default_rng(0)
    kinds = {
        "orthonormal": np.linalg.qr(rng.normal(size=(d_k, d_k)))[0][:n],
        "random": keys_of("none", n, d_k),
        "random, ReLU": keys_of("ReLU", n, d_k),
    }
    fig, axes = figure(6.2, 2.7, ncols=3)
    for ax, (name, K) in zip(axes, kinds.items(), strict=True):
        gram = K @ K.T
        image = ax.imshow(gram, cmap=STATE_MAP, vmin=-1, vmax=1)
        ax.set_title(name, fontsize=10)
        ax.set_xlabel(f"crosstalk {squared_crosstalk(gram):.2f}")
        ax.set_xticks([])
        ax.set_yticks([])
    axes[0].set_ylabel("read at key $j$")
    fig.colorbar(image, ax=axes, shrink=0.8, label="share of value $i$")
    return fig


def squared_crosstalk(gram):
    """Mean over the reads of the squared shares of other values."""
    return (np.sum(gram**2) - np.sum(np.diag(gram) ** 2)) / len(gram)


def measured_crosstalk(feature, n, d_k=128):
    """`squared_errors` of the plain sum, averaged until about 512 reads were made."""
    draws = range(max(1, 512 // n))
    return np.mean([squared_errors(keys_of(feature, n, d_k, s), seed=s + 1000) for s in draws])


@styled
def crosstalk_growth(d_k=128):
    """Mean squared crosstalk against the number of pairs: formula and package, four features."""
    fig, ax = figure(5.2, 3.6)
    n = np.unique(np.geomspace(4, 4096, 60).astype(int))
    dots = 2 ** np.arange(2, 13, 2)
    for (name, role), marker in zip(zip(FEATURES, SERIES, strict=False), "osD^", strict=True):
        width = d_k if name == "none" else effective_width(name, d_k)
        ax.loglog(n, (n - 1) / width, color=COLOUR[role], lw=1.5)
        measured = [measured_crosstalk(name, count, d_k) for count in dots]
        label = "random directions" if name == "none" else f"after {name}"
        ax.loglog(
            dots, measured, marker, color=COLOUR[role], ms=5, label=f"{label}: {width:.3g} wide"
        )
    past = n[n > d_k]
    ax.loglog(past, past / d_k - 1, "--", color=COLOUR["quiet"], label="least possible")
    ax.axhline(1, color=COLOUR["quiet"], lw=0.8)
    ax.set(xlabel="pairs written, $n$", ylabel="mean squared crosstalk", ylim=(1e-2, 5e3))
    ax.legend(loc="upper left", fontsize=9)
    return fig


@styled
def three_memories(d_k=64):
    """Mean squared error of the sum, of the sum with the best factor, and of the best matrix."""
    fig, ax = figure(5.2, 3.4)
    load = np.linspace(0.01, 3, 300)
    curves = {
        "sum": (load, RULE["linear"], "-"),
        "scaled": (load / (1 + load), "fifth", "--"),
        "least squares": (np.maximum(0, 1 - 1 / load), "ink", "-"),
    }
    dots = np.array([8, 16, 32, 48, 64, 80, 96, 128, 160, 192])
    for (name, (curve, role, dashes)), marker in zip(curves.items(), "osD", strict=True):
        ax.plot(load, curve, dashes, color=COLOUR[role])
        measured = [squared_errors(keys_of("none", n, d_k), memory=name) for n in dots]
        label = {"sum": "sum of the writes", "scaled": "the sum, best factor"}.get(name, name)
        ax.plot(dots / d_k, measured, marker, color=COLOUR[role], ms=5, label=label)
    ax.set(xlabel="pairs per dimension, $n / d_k$", ylabel="mean squared error", ylim=(-0.03, 2))
    ax.legend(loc="upper left")
    return fig


def denominators(feature, tokens=2**16, d_k=32, seed=0):
    """The sum of weights q^T (k_1 + ... + k_t) of normalised linear attention, token by token."""
    rng = np.random.default_rng(seed)
    q = FEATURES[feature](rng.normal(size=d_k))
    k = FEATURES[feature](rng.normal(size=(tokens, d_k)))
    return np.abs(np.cumsum(k @ q))


@styled
def growth(d_k=32, draws=16):
    """The same sums, with features that are positive and with both signs, and float16's end."""
    fig, ax = figure(5.2, 3.2)
    tokens = np.unique(np.geomspace(1, 2**16, 200).astype(int))
    shown = {"ReLU": ("third", "-", "ReLU features"), "none": ("first", "--", "both signs")}
    for name, (role, dashes, label) in shown.items():
        runs = np.array([denominators(name, d_k=d_k, seed=seed) for seed in range(draws)])
        typical = np.sqrt(np.mean(runs**2, axis=0))
        ax.loglog(tokens, typical[tokens - 1], dashes, color=COLOUR[role], label=label)
    ax.axhline(HALF_MAX, color=COLOUR["quiet"], lw=1)
    ax.text(1.2, HALF_MAX * 1.3, "float16 ends at 65,504", color=COLOUR["quiet"])
    ax.set(xlabel="tokens", ylabel="size of the denominator", ylim=(1, 2e6))
    ax.legend(loc="lower right")
    return fig


def plane_reads(angles, best=False):
    """Unit keys of the plane and what each returns of one-hot values: `(K, [n, n])`."""
    K = directions(angles)
    return K, K @ np.linalg.pinv(K, rcond=1e-9) if best else K @ K.T


START = (0, 60, 150, 30, 105)  # degrees of the keys of the moving figure


@styled
def crosstalk(n=3, best=False, angles=START):
    """Keys in the plane, and for each read its share of every value."""
    K, reads = plane_reads(angles[:n], best)
    error = np.mean(np.sum((reads - np.eye(n)) ** 2, axis=1))
    fig, (left, right) = figure(5.6, 2.9, ncols=2)
    turn = np.linspace(0, 2 * np.pi, 200)
    left.plot(np.cos(turn), np.sin(turn), color=COLOUR["quiet"], lw=0.8)
    for j, key in enumerate(K, start=1):
        left.plot(*np.stack([0 * key, key], axis=1), "-o", color=COLOUR["key"], markevery=[1])
        left.text(*(1.2 * key), f"$k_{j}$", ha="center", va="center")
    left.set(aspect="equal", xlim=(-1.4, 1.4), ylim=(-1.4, 1.4))
    left.axis("off")
    right.imshow(reads, cmap=STATE_MAP, vmin=-1.3, vmax=1.3)
    for (row, column), share in np.ndenumerate(reads):
        ink = "white" if abs(share) > 0.7 else COLOUR["ink"]
        text = f"{share + 0.0:.2f}".replace("-0.00", "0.00").replace("-", "−")
        right.text(column, row, text, ha="center", va="center", fontsize=9, color=ink)
    right.set_xticks(range(n), [f"$v_{i}$" for i in range(1, n + 1)])
    right.set_yticks(range(n), [f"read at $k_{j}$" for j in range(1, n + 1)])
    left.set_title(f"mean squared error {error:.2f}", fontsize=10)
    return fig


def crosstalk_widget():
    """`crosstalk` with sliders: the twin of the page's moving figure."""

    def draw(n=3, best=False, k1=START[0], k2=START[1], k3=START[2], k4=START[3], k5=START[4]):
        return crosstalk(n, best, (k1, k2, k3, k4, k5))

    turns = {f"k{j}": ipywidgets.IntSlider(start, 0, 359) for j, start in enumerate(START, start=1)}
    return ipywidgets.interactive(draw, n=ipywidgets.IntSlider(3, 2, 5), best=False, **turns)
