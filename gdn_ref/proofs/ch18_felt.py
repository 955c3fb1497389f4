"""Chapter 18: how far into a shard the state before it is felt."""

from functools import partial

import numpy as np

from .page import on_page
from .registry import verifies

TOKENS, D_K = 12, 6


def tokens(kind, rng):
    """Decays, strengths and keys. Keys of one direction attain the bound: where each factor
    stretches along them, or where none does and what is orthogonal to them is only decayed."""
    g, k = -rng.uniform(0, 0.3, TOKENS), rng.normal(size=(TOKENS, D_K))
    if kind == "any":
        return g, rng.uniform(0, 2, TOKENS), k
    k = rng.uniform(0.8, 1.2, (TOKENS, 1)) * k[:1]
    least, most = (0, 2) if kind == "none stretches" else (2.1, 3)
    return g, rng.uniform(least, most, TOKENS) / (k * k).sum(1), k


def stretches(g, beta, k):
    """ln |F^t| for all t, by the singular values of the products."""
    one, found = np.eye(k.shape[1]), []
    F = one
    for decay, b, key in zip(np.exp(g), beta, k, strict=True):
        F = F @ (decay * (one - b * np.outer(key, key)))
        found.append(np.log(np.linalg.norm(F, 2)))
    return np.array(found)


def along(beta, k):
    """What a factor does along its key, but for the decay."""
    return 1 - beta * (k * k).sum(1)


def bound(g, beta, k, most=lambda x: np.maximum(1, np.abs(x))):
    """c_t, token by token (eq-shard-felt)."""
    return np.cumsum(g + np.log(most(along(beta, k))))


def of_length(g, beta, k):
    """The bound with |k| for |k|^2."""
    return bound(g, beta, k / np.sqrt(np.linalg.norm(k, axis=1, keepdims=True)))


@verifies(
    "eq-shard-felt",
    method="float64",
    covers="12 tokens, d_k=6, keys of any length; attained by keys of one direction",
    mutants={
        "decays alone": {"claim": lambda g, beta, k: np.cumsum(g)},
        "no decay": {"claim": lambda g, beta, k: bound(0 * g, beta, k)},
        "what is along the key alone": {"claim": partial(bound, most=np.abs)},
        "no modulus": {"claim": partial(bound, most=lambda x: np.maximum(1, x))},
        "the smaller of the two": {
            "claim": partial(bound, most=lambda x: np.minimum(1, np.abs(x)))
        },
        "the length not squared": {"claim": of_length},
        "the last token left out": {"claim": lambda *x: np.append(0, bound(*x)[:-1])},
        "one per cent more": {"claim": lambda *x: bound(*x) + 0.01},
    },
)
def no_product_stretches_more(claim=bound):
    """By how much a product stretches more than it may, or less where it is known to attain it."""

    def until(at):
        """Decays, strengths and keys of the page's tokens, up to t."""
        tokens = range(1, at.n + 1)
        g, beta = (np.array([at(rf"{x}_{{{s}}}") for s in tokens]) for x in ("g", r"\beta"))
        return g, beta, np.hstack([at(rf"\boldsymbol{{k}}_{{{s}}}") for s in tokens]).T

    most = lambda at: claim(*until(at))[-1]
    on_page(
        "eq-shard-felt",
        lambda at: np.exp(stretches(*until(at))[-1]),
        lambda at: np.exp(most(at)),
    )
    on_page("eq-shard-felt", most, of=1)
    rng, off = np.random.default_rng(18), []
    for kind in ("any", "none stretches", "each stretches") * 4:
        given = tokens(kind, rng)
        more = stretches(*given) - claim(*given)
        off.append(np.maximum(more, 0) if kind == "any" else np.abs(more))
    return float(np.max(off))
