"""Checks of chapter 5: a long stream of pairs, how large the memory grows, and where it settles."""

from itertools import product

import numpy as np
from sympy import Matrix, Rational, Symbol, expand, simplify, symbols

from .ch05_step import beta
from .page import on_page
from .registry import verifies


def size(matrix):
    """The squared Frobenius norm."""
    return sum(entry**2 for entry in matrix)


@verifies(
    "eq-delta-stream",
    method="polynomial",
    covers="d_k = 2 and 3, every state; keys over every +-e_i",
    mutants={
        "keys add up": {"share": lambda d: 1},
        "beta for beta (2 - beta)": {"lost": beta},
        "the write not squared": {"gained": beta},
        "nothing erased": {"lost": 0},
    },
)
def stream(share=lambda d: Rational(1, d), lost=beta * (2 - beta), gained=beta**2):
    """The means of P and of ||S_t||^2 over the key and the value of one token.

    Both are linear in k k^T for keys of length 1, and all that matters of the value is its mean,
    zero, and its mean square: so +-e_i and +-v stand for every such distribution.
    """
    residual = []
    for d in (2, 3):
        state, v = Matrix(2, d, symbols(f"s_1:{2 * d + 1}")), Matrix(symbols("v_1 v_2"))
        units = [sign * Matrix.eye(d)[:, axis] for axis in range(d) for sign in (1, -1)]
        mean_P, mean_size = Matrix.zeros(d, d), 0
        for unit_key, sign in product(units, (1, -1)):
            after = state + beta * (sign * v - state * unit_key) * unit_key.T
            mean_P += (Matrix.eye(d) - beta * unit_key * unit_key.T) / (4 * d)
            mean_size += size(after) / (4 * d)
        claim = (1 - lost * share(d)) * size(state) + gained * size(v)
        residual.append(mean_P - (1 - beta * share(d)) * Matrix.eye(d))
        residual.append(expand(mean_size - claim))

    def printed(at):
        letters = {beta: r"\beta", "nu": r"\nu_{t-1}", "mu": r"\mu", "d": "d_k"}
        return at.value(
            (1 - lost * share(at("d_k"))) * Symbol("nu") + gained * Symbol("mu"), letters
        )

    def left(at):
        d = at("d_k")
        return at.value(1 - beta * share(d), {beta: r"\beta"}) * np.eye(d, dtype=int)

    on_page("eq-delta-stream", left)
    on_page("eq-delta-stream", printed, of=1)
    return residual


mu, d_k, size_now = symbols("mu d_k nu", positive=True)


@verifies(
    "eq-stream-settles",
    method="algebra",
    covers="every mu, d_k and beta in (0, 2), from every start",
    mutants={
        "mu d_k": {"settled": mu * d_k},
        "beta for beta^2 in the write": {"settled": mu * d_k / (2 - beta)},
        "1 - beta for 2 - beta": {"settled": mu * beta * d_k / (1 - beta)},
    },
)
def squared_norm_settles(settled=mu * beta * d_k / (2 - beta)):
    """It is the fixed point of eq-delta-stream, and the distance to it takes the factor
    1 - beta (2 - beta) / d_k each token, which is below 1."""
    lost = beta * (2 - beta) / d_k
    after = (1 - lost) * size_now + beta**2 * mu
    nearer = after - settled - (1 - lost) * (size_now - settled)
    on_page("eq-stream-settles", settled, letters={mu: r"\mu", beta: r"\beta"})
    return [simplify(after.subs(size_now, settled) - settled), simplify(nearer)]
