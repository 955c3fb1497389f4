"""Chapter 21: how often the right value is named, predicted from the keys, and memories to try."""

import numpy as np

from .. import gated_delta_rule
from ..proofs.ch21_recall import DENSITY, Z, normal
from ..proofs.ch21_stream import step_shares
from ..proofs.data import unit

WIDTH, VALUES = 32, 64  # d_v and N of the experiment


def named(mean, own, other, N=VALUES):
    """The share of right answers, from the scores' mean and variances (eq-recall-named)."""
    mean, own, other = (np.asarray(x, float)[..., None] for x in (mean, own, other))
    u = normal((mean + np.sqrt(np.maximum(own, 0)) * Z) / np.sqrt(other))
    return (u ** (N - 1)) @ DENSITY


def by_crosstalk(x, N=VALUES, d_v=WIDTH):
    """The same for a read with the weight 1 and the relative crosstalk `x` (eq-recall-scores)."""
    x = np.maximum(x, 0)
    return named(1, x / d_v, (1 + x) / d_v, N)


def moments(n, d_k, beta=1.0, alpha=1.0):
    """`lambda, zeta, xi` of every pair of n, the oldest first (eq-recall-delta)."""
    a, b = step_shares(alpha, beta, d_k)
    rho = alpha**2 * (1 - beta * (2 - beta) / d_k)
    nu = [0.0]
    for _ in range(n):
        nu.append(rho * nu[-1] + beta**2)
    rows = []
    for j in range(1, n + 1):
        mean, square, length = beta, beta**2, beta**2 + (1 - beta) ** 2 * alpha**2 * nu[j - 1] / d_k
        for m in range(1, n - j + 1):
            mean *= alpha * (1 - beta / d_k)
            square = a * square + b * rho ** (m - 1) * beta**2
            length = a * length + b * nu[j + m - 1] + beta**2 / d_k
        rows.append((mean, square, length))
    return np.array(rows).T


def of_each_pair(rule, n, d_k, N=VALUES, d_v=WIDTH, beta=1.0, alpha=1.0):
    """The predicted share for each pair, the oldest first, with random keys and values."""
    if rule == "sum":
        return np.full(n, by_crosstalk((n - 1) / d_k, N, d_v))
    if rule == "best":
        return np.full(n, by_crosstalk(n / d_k - 1, N, d_v))
    if rule == "decay":
        weights = alpha ** np.arange(n - 1, -1, -1.0)
        others = ((weights**2).sum() - weights**2) / d_k
        return named(weights, others / d_v, (weights**2 + others) / d_v, N)
    mean, square, length = moments(n, d_k, beta, alpha)
    return named(mean, square - mean**2 + (length - square) / d_v, length / d_v, N)


def predicted(rule, n, d_k, **options):
    return float(of_each_pair(rule, n, d_k, **options).mean())


def memory(rule, K, V, beta=1.0, alpha=1.0):
    """The state after these pairs, by the package; for "best", by least squares."""
    if rule == "best":
        return (np.linalg.pinv(K) @ V).T
    n = len(K)
    if rule in ("sum", "decay"):
        faded = alpha ** np.arange(n - 1, -1, -1.0) if rule == "decay" else np.ones(n)
        return V.T @ (faded[:, None] * K)
    g, strengths = np.full(n, np.log(alpha)), np.full(n, beta)
    return gated_delta_rule.chunkwise(K, K, V, g, strengths)[1]


def measured(rule, n, d_k, N=VALUES, d_v=WIDTH, draws=40, **options):
    """The share of each pair whose right value has the largest score, in memories of random pairs
    that nobody trained."""
    right = np.zeros(n)
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        K, book = unit(rng.normal(size=(n, d_k))), unit(rng.normal(size=(N, d_v)))
        own = rng.integers(N, size=n)
        S = memory(rule, K, book[own], **options)
        right += ((K @ S.T @ book.T).argmax(axis=1) == own) / draws
    return right


def from_a_table(n, d_k, keys=64):
    """The least mean crosstalk of a sum whose keys come from a table (eq-recall-vocabulary)."""
    return (n - 1) / (keys - 1) * max(0.0, keys / d_k - 1)


def table(d_k, counts=(16, 32, 48)):
    """Rows of text: a memory, and what is predicted and tried with so many pairs."""
    lines = [f"{'predicted, tried':20}" + "".join(f"{n:>8} pairs" for n in counts)]
    rows = {
        "sum of writes": ("sum", 1.0), "delta rule, once": ("delta", 1.0),
        "delta rule, beta 0.3": ("delta", 0.3), "best matrix": ("best", 1.0),
    }  # fmt: skip
    for name, (rule, beta) in rows.items():
        cells = []
        for n in counts:
            found = measured(rule, n, d_k, beta=beta).mean()
            cells.append(f"{predicted(rule, n, d_k, beta=beta):.0%}, {found:.0%}")
        lines.append(f"{name:20}" + "".join(f"{cell:>14}" for cell in cells))
    return "\n".join(lines)
