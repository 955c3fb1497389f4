"""Chapter 8: the inverse as a sum of powers of A, and what keys of one cosine do to either."""

import numpy as np
from sympy import ZZ, binomial, gammasimp, powsimp, ring, simplify, symbols

from .. import wy
from .ch08_inverses import powers, squarings, substitution
from .ch08_system import interaction
from .data import equal_cosine_keys, relative_error
from .page import on_page
from .registry import verifies
from .token_forms import first_chunk, modular_tokens, ones_below


@verifies(
    "eq-neumann",
    method="modular",
    covers="C=64, d_k=128, both forms",
    mutants={
        "no signs": {"sign": -1},
        "one term short": {"terms": 63},
        "one factor short": {"factors": 32},
    },
)
def both_sums_at_real_size(sign=1, terms=64, factors=64):
    """Sixty-four powers, and six factors, each times I + A. The degree is at most 3 * 63."""
    x = first_chunk(modular_tokens())
    A = interaction(x.K, x.beta)
    sides = (
        lambda at: powers(sign * at(r"\mathbf{A}"), terms),
        lambda at: squarings(sign * at(r"\mathbf{A}"), factors),
    )
    on_page("eq-neumann", None, *sides)
    return [
        X + A @ X - np.eye(64, dtype=np.int64)
        for X in (powers(sign * A, terms), squarings(sign * A, factors))
    ]


a = symbols("a")
n, m = symbols("n m", integer=True, positive=True)


@verifies(
    "eq-identical-keys",
    method="polynomial",
    covers="C = 14, every power, a symbol for the overlap",
    mutants={
        "1 + a": {"entry": lambda a, n: -a * (1 + a) ** n},
        "one factor more": {"entry": lambda a, n: -a * (1 - a) ** (n + 1)},
        "any tokens chosen": {"ways": lambda n, m: binomial(n, m)},
        "one path": {"ways": lambda n, m: 1},
    },
)
def equal_overlaps(entry=lambda a, n: -a * (1 - a) ** n, ways=lambda n, m: binomial(n, m - 1)):
    """A = a on all places below the diagonal; n tokens lie between the reader and the writer."""
    chosen = lambda at: int(ways(at("n"), at.scope["m"])) * at("a") ** at.scope["m"]
    on_page("eq-identical-keys", chosen)
    on_page("eq-identical-keys", lambda at: entry(at("a"), at("n")), of=1)
    C, (_, overlap) = 14, ring("a", ZZ)
    A = np.array(ones_below(C, -1), dtype=object) * overlap
    X, residual = substitution(A), []
    for row, column in zip(*np.tril_indices(C, -1), strict=True):
        residual.append(X[row, column] - entry(overlap, int(row - column - 1)))
    power = A
    for exponent in range(1, C):
        for row, column in zip(*np.tril_indices(C, -1), strict=True):
            count = int(ways(int(row - column - 1), exponent))
            residual.append(power[row, column] - count * overlap**exponent)
        power = power @ A
    return [part if isinstance(part, int) else int(part != 0) for part in residual]


@verifies(
    "eq-identical-keys",
    method="algebra",
    covers="every C: one token more in between",
    mutants={
        "1 + a": {"left": lambda n: (1 + a) ** n},
        "any tokens chosen": {"ways": lambda n, m: binomial(n, m)},
    },
)
def one_token_more_in_between(left=lambda n: (1 - a) ** n, ways=lambda n, m: binomial(n, m - 1)):
    """What is left of the key takes one factor 1 - a; a path uses the new token or does not.

    A path with m steps over n + 1 tokens: m steps over n of them, or m - 1 steps and the new one.
    The ends: nothing in between leaves all of the key, and one step is one path.
    """
    remaining = simplify(powsimp(left(n) - a * left(n) - left(n + 1)))
    pascal = gammasimp(ways(n, m) + ways(n, m - 1) - ways(n + 1, m))
    on_page("eq-identical-keys", ways(n, m) * a**m)
    on_page("eq-identical-keys", -a * left(n), of=1)
    return [remaining, pascal, left(0) - 1, ways(n, 1) - 1]


@verifies(
    "eq-identical-keys",
    method="float64",
    covers="gdn_ref.wy, 64 keys of one cosine, 15 cases",
    mutants={"cosine left out": {"overlap": lambda beta, cosine: beta}},
)
def in_the_package(overlap=lambda beta, cosine: beta * cosine):
    """Real keys with one cosine for every pair, solved by the package."""

    def of_gap(share, gap):
        return np.where(gap >= 0, -share * (1.0 - share) ** abs(gap), 0.0)

    on_page("eq-identical-keys", lambda at: of_gap(at("a"), at("n")), of=1, floats=True)
    errors = []
    for cosine in (0.1, 0.5, 0.9, 0.99, 1.0):
        for strength in (0.3, 1.0, 2.0):
            X = wy.solve(
                wy.interaction(equal_cosine_keys(64, cosine), np.full(64, strength)), np.eye(64)
            )
            gap = np.arange(64)[:, None] - np.arange(64) - 1
            claim = np.eye(64) + of_gap(overlap(strength, cosine), gap)
            errors.append(relative_error(X, claim))
    return max(errors)
