"""Chapter 7: multiplications of the dense scan and of the vectors w and u, counted as they run."""

from itertools import product

import numpy as np
from sympy import expand, summation, symbols

from .. import affine
from .ch07_unroll import tree
from .counting import multiplications
from .page import side, value
from .registry import verifies

n, r, d_k, d_v = symbols("n r d_k d_v", positive=True, integer=True)
VECTORS = side(
    "eq-wy-cost",
    otherwise=n * (n - 1) / 2 * (2 * d_k + d_v) + n * (d_k + d_v),
    C=n,
    d_k=d_k,
    d_v=d_v,
)


def dense_cost(maps, d_k, d_v):
    """Merging `maps` dense maps into one: each merge is F F' and G F'."""
    return (maps - 1) * (d_k**3 + d_v * d_k**2)


def factored_cost(tokens, d_k, d_v):
    """`W` and `U` of `tokens` tokens by the recursion."""
    return tokens * (tokens - 1) * (2 * d_k + d_v) // 2 + tokens * (d_k + d_v)


def state_cost(tokens, d_k, d_v):
    """The token loop, without the readout: a read and a write a token."""
    return 2 * tokens * d_k * d_v


@verifies(
    "eq-scan-cost",
    method="enumeration",
    covers="counted, trees of 1 to 7 maps, d_k, d_v to 4",
    mutants={
        "the writes left out": {"cost": lambda n, a, b: (n - 1) * a**3},
        "one merge a map": {"cost": lambda n, a, b: n * (a**3 + b * a**2)},
        "matrix times vector": {"cost": lambda n, a, b: (n - 1) * (a**2 + b * a)},
    },
)
def scan_is_counted(cost=dense_cost):
    """Counted while the tree of merges runs on numbers that count."""
    residual = []
    for tokens, a, b in product(range(1, 8), range(1, 5), range(1, 5)):
        shapes = [(a, a), (b, a)] * tokens
        counted = multiplications(
            lambda *parts: tree(list(zip(parts[::2], parts[1::2], strict=True)), affine.compose),
            *shapes,
        )
        residual.append(counted - cost(tokens, a, b))
        residual.append(counted - value("eq-scan-cost", otherwise=counted, n=tokens, d_k=a, d_v=b))
    return residual


@verifies(
    "eq-wy-cost",
    method="algebra",
    covers="every C, d_k, d_v",
    mutants={
        "overlaps for W and again for U": {"token": r * (3 * d_k + d_v) + d_k + d_v},
        "beta for free": {"token": r * (2 * d_k + d_v)},
        "its own key among the overlaps": {"token": (r + 1) * (2 * d_k + d_v) + d_k + d_v},
    },
)
def one_token_after_the_other(token=r * (2 * d_k + d_v) + d_k + d_v):
    """A token with r before it: r overlaps, r multiples of a w and of a u, one of each by beta."""
    return expand(summation(token, (r, 0, n - 1)) - VECTORS)


def vectors_on_arrays(K, V, beta):
    """The recursion of W and U; the overlaps of the keys are shared by the two."""
    W, U = [K[0] * beta[0]], [V[0] * beta[0]]
    for t in range(1, len(K)):
        seen = K[:t] @ K[t]
        W.append((K[t] + seen @ np.array(W)) * beta[t])
        U.append((V[t] + seen @ np.array(U)) * beta[t])


@verifies(
    "eq-wy-cost",
    method="enumeration",
    covers="counted, C to 6, d_k, d_v to 4",
    mutants={
        "overlaps for free": {
            "cost": lambda C, a, b: C * (C - 1) * (a + b) // 2 + C * (a + b),
        },
        "all pairs": {"cost": lambda C, a, b: C * C * (2 * a + b) + C * (a + b)},
        "beta for free": {"cost": lambda C, a, b: C * (C - 1) * (2 * a + b) // 2},
    },
)
def vectors_are_counted(cost=factored_cost):
    """Counted while the recursion runs on numbers that count; signs cost nothing."""
    residual = []
    for C, a, b in product(range(1, 7), range(1, 5), range(1, 5)):
        counted = multiplications(vectors_on_arrays, (C, a), (C, b), (C,))
        residual.append(counted - cost(C, a, b))
        residual.append(counted - value("eq-wy-cost", otherwise=counted, C=C, d_k=a, d_v=b))
    return residual


@verifies(
    "eq-wy-cost",
    method="polynomial",
    covers="C = 2, 4, ..., 128, d_k and d_v symbols",
    part="merging in a tree costs the first summand too",
    mutants={
        "overlaps for free": {"merge": lambda b: b**2 * (d_k + d_v)},
        "every merge at full size": {"merge": lambda b: n**2 * (2 * d_k + d_v)},
    },
)
def merges_cost_the_same(merge=lambda b: b**2 * (2 * d_k + d_v)):
    """Merging blocks of b rows costs b^2 (2 d_k + d_v); the C / 2b merges of each level, summed
    over b = 1, 2, 4, ..., C / 2, make C (C - 1) / 2 (2 d_k + d_v)."""
    residual = []
    for levels in range(1, 8):
        C = 2**levels
        total = sum(C // (2 * 2**m) * merge(2**m) for m in range(levels))
        residual.append(expand(total + C * (d_k + d_v) - VECTORS.subs(n, C)))
    return residual
