"""Chapter 2: which of many candidates a read names, and what becomes of a key that is reused."""

from math import erf, sqrt

import numpy as np
from numpy.polynomial.hermite_e import hermegauss

from .. import linear_attention
from ..proofs.data import unit
from .style import COLOUR, figure, styled


def recognised(n, candidates, d_k=128, d_v=128, seed=0, reads=256, best=False):
    """The share of reads whose nearest candidate is the value that was written."""
    rng = np.random.default_rng(seed)
    K, book = unit(rng.normal(size=(n, d_k))), unit(rng.normal(size=(candidates, d_v)))
    own = rng.permutation(candidates)[:n]
    S = linear_attention.chunkwise(K, K, book[own])[1]
    if best:
        S = (np.linalg.pinv(K) @ book[own]).T
    return np.mean((K[:reads] @ S.T @ book.T).argmax(axis=1) == own[:reads])


def recognition_formula(n, candidates, d_k=128, d_v=128):
    """The same share if all scores were normal with the variances behind eq-retrieval-margin."""
    z, weight = hermegauss(80)
    own = 1 + np.sqrt((n - 1) / (d_k * d_v)) * z
    wrong = np.sqrt((1 + (n - 1) / d_k) / d_v)
    below = np.array([0.5 * (1 + erf(x / sqrt(2))) for x in own / wrong])  # one wrong score
    return np.sum(weight * below ** (candidates - 1)) / np.sum(weight)


def pairs_named(level, candidates, d_k=128, d_v=128):
    """The most pairs of which `recognition_formula` names at least the share `level`."""
    low, high = 2, 2**14
    while high - low > 1:
        middle = (low + high) // 2
        enough = recognition_formula(middle, candidates, d_k, d_v) >= level
        low, high = (middle, high) if enough else (low, middle)
    return low


def renamed(write, names=100, candidates=4096, d=128, draws=20):
    """Write each key with one value, then each with another; `write(K, V)` returns the state.

    Returns the shares of the reads that name the second and the first value.
    """
    shares = np.zeros(2)
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        K, book = unit(rng.normal(size=(names, d))), unit(rng.normal(size=(candidates, d)))
        old, new = rng.permutation(candidates)[: 2 * names].reshape(2, names)
        S = write(np.concatenate([K, K]), book[np.concatenate([old, new])])
        named = (K @ S.T @ book.T).argmax(axis=1)
        shares += np.array([np.mean(named == new), np.mean(named == old)]) / draws
    return shares


@styled
def recognition(d=128):
    """Share of values that are recognised among N candidates, against the pairs written."""
    fig, ax = figure(5.2, 3.4)
    n = np.unique(np.geomspace(32, 2048, 80).astype(int))
    dots = (64, 128, 256, 512, 768, 1024, 1536, 2048)
    for candidates, role, marker in ((2048, "first", "s"), (16384, "second", "o")):
        formula = [recognition_formula(count, candidates) for count in n]
        ax.semilogx(n, formula, color=COLOUR[role], base=2)
        share = [recognised(count, candidates) for count in dots]
        ax.semilogx(
            dots, share, marker, color=COLOUR[role], base=2, label=f"{candidates:,} candidates"
        )
    best = [recognised(count, 16384, best=True) for count in dots]
    ax.semilogx(
        dots, best, "D", mfc="none", color=COLOUR["ink"], base=2, label="the same, best matrix"
    )
    ax.axvline(d, color=COLOUR["quiet"], lw=0.8, ls=":")
    ax.text(d * 0.96, 0.6, "$n = d_k$", color=COLOUR["quiet"], ha="right")
    ax.set_xticks(
        dots[:4] + dots[5:6] + dots[7:], [str(x) for x in dots[:4] + dots[5:6] + dots[7:]]
    )
    ax.minorticks_off()
    ax.set(xlabel="pairs written, $n$", ylabel="values recognised", ylim=(0, 1.04))
    ax.legend(loc="lower left")
    return fig
