"""Chapter 8: the recursions of w and u are triangular systems with one matrix."""

import numpy as np

from .. import wy
from . import lines
from .ch08_inverses import substitution
from .data import hard_inputs, relative_error
from .modular import join
from .page import on_page
from .registry import definition, verifies
from .symbols import K, U, W, beta, k, u_new, v, w_new
from .token_forms import first_chunk, modular_tokens, ones_below, products, rows, solve, strict

definition("eq-interaction", "How much each token reads of what each earlier token wrote.")


def interaction(K, beta):
    """`A` of eq-interaction, in any arithmetic."""
    return strict(rows(beta, K @ K.T))


SLIPS_IN_A = {
    "beta left out of A": {"matrix": lambda K, beta: strict(K @ K.T)},
    "beta on the columns of A": {"matrix": lambda K, beta: strict(rows(beta, (K @ K.T)).T)},
    "sign of A": {"matrix": lambda K, beta: -interaction(K, beta)},
    "A from the band only": {
        "matrix": lambda K, beta: interaction(K, beta) * (1 - ones_below(len(K), -2))
    },
}


@verifies(
    "eq-wy-w",
    method="algebra",
    covers="every r, d_k",
    mutants={
        "beta left out of A": {"row": k.T * K.T},
        "sign of A": {"row": -beta * k.T * K.T},
        "A with its diagonal": {"own": beta * k.T * k},
        "beta left out on the right": {"right": k.T},
    },
)
def system_of_w(row=beta * k.T * K.T, own=0 * k.T * k, right=beta * k.T):
    """One token more adds a row to (I + A) W = B K; no token is the base.

    The new row of A is beta k^T K^T, then 0 for the token itself.
    """
    w = w_new.T
    on_page("eq-wy-w", row * W + own * w + w, right, row=True)
    return (row * W) + (own * w) + w - right


@verifies(
    "eq-wy-w",
    method="modular",
    covers="C=64, d_k=128",
    mutants=SLIPS_IN_A | {"beta left out on the right": {"right": lambda K, beta: K}},
)
def product_at_real_size(matrix=interaction, right=lambda K, beta: rows(beta, K)):
    """I - W^T K with W from the triangular system, against the product of 64 factors.

    The product has degree 3 a token, 192 in all, and so has W^T K: a wrong W passes with
    probability at most 192 / p, below 1e-16.
    """

    def printed(at):
        x = lines.tokens(at)
        return x.W + matrix(x.K, x.beta) @ x.W

    on_page("eq-wy-w", printed, lambda at: right(lines.tokens(at).K, lines.tokens(at).beta))
    x = first_chunk(modular_tokens())
    W = solve(matrix(x.K, x.beta), right(x.K, x.beta))
    P, _ = products(modular_tokens())
    return np.eye(x.K.shape[1], dtype=np.int64) - W.T @ x.K - P


@verifies(
    "eq-ut-u",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "beta left out of A": {"row": k.T * K.T},
        "sign of A": {"row": -beta * k.T * K.T},
        "beta left out on the right": {"right": v.T},
    },
)
def system_of_u(row=beta * k.T * K.T, right=beta * v.T):
    """The same border with values: only the right-hand side changes."""
    u = u_new.T
    on_page("eq-ut-u", row * U + u, right, row=True)
    return row * U + u - right


@verifies(
    "eq-ut-u",
    method="modular",
    covers="C=64, d_k=128, d_v=96",
    mutants=SLIPS_IN_A | {"beta left out on the right": {"right": lambda V, beta: V}},
)
def writes_at_real_size(matrix=interaction, right=lambda V, beta: rows(beta, V)):
    """U^T K against the memory that 64 delta rule writes leave in an empty one.

    Degree at most 4 a token, 256 in all: a wrong U passes with probability at most 256 / p.
    """

    def printed(at):
        x = lines.tokens(at)
        return x.U + matrix(x.K, x.beta) @ x.U

    on_page("eq-ut-u", printed, lambda at: right(lines.tokens(at).V, lines.tokens(at).beta))
    x = first_chunk(modular_tokens())
    U = solve(matrix(x.K, x.beta), right(x.V, x.beta))
    H = x.S * 0
    for t in range(len(x.K)):
        key, value = x.K[t : t + 1], x.V[t : t + 1]
        H = H + (value.T - H @ key.T) @ key * x.beta[t]
    return U.T @ x.K - H


@verifies(
    "eq-ut-u",
    method="float64",
    covers="gdn_ref.wy.u and wy.w, C=50",
    mutants={
        "no solve": {"solution": lambda K, X, beta: beta[:, None] * X},
        "no beta": {"solution": lambda K, X, beta: wy.u(K, X, np.ones_like(beta))},
    },
)
def the_package_solves(solution=wy.u):
    """The package's U and W put back into their recursions, row by row."""

    def printed(at):
        x = lines.tokens(at)
        return np.atleast_2d(at(r"\mathbf{I} + \mathbf{A}")) @ solution(x.K, x.V, x.beta)

    on_page("eq-ut-u", printed, floats=True)
    _, K, V, _, strength, _ = hard_inputs()
    errors = []
    for source in (V, K):
        X = solution(K, source, strength)
        recursion = [strength[t] * (source[t] - (K[:t] @ K[t]) @ X[:t]) for t in range(len(source))]
        errors.append(relative_error(X, np.stack(recursion)))
    return max(errors)


@verifies(
    "eq-ut-transform",
    method="modular",
    covers="C=64, d_k=128, d_v=96",
    mutants={
        "beta on the rows": {"place": lambda inverse, beta: rows(beta, inverse)},
        "beta left out": {"place": lambda inverse, beta: inverse},
        "beta on both sides": {"place": lambda inverse, beta: rows(beta, rows(beta, inverse.T).T)},
        "no inverse": {"invert": lambda A: np.eye(len(A), dtype=np.int64) + A},
    },
)
def one_matrix_for_both(place=lambda inverse, beta: rows(beta, inverse.T).T, invert=substitution):
    """T K and T V against the two recursions, run vector by vector."""
    x = first_chunk(modular_tokens())
    T = place(invert(interaction(x.K, x.beta)), x.beta)
    made = lambda at: place(invert(at(r"\mathbf{A}")), np.diag(at(r"\mathbf{B}")))
    on_page("eq-ut-transform", made)
    on_page("eq-ut-transform", lambda at: made(at) @ at(r"\mathbf{K}"), of=1)
    on_page("eq-ut-transform", lambda at: made(at) @ at(r"\mathbf{V}"), of=2)
    return [T @ source - recursion(x, source) for source in (x.K, x.V)]


def recursion(x, source):
    """Row r is beta_r (source_r - sum over i < r of (k_i . k_r) row_i)."""
    found = rows(x.beta[:1], source[:1])
    for t in range(1, len(source)):
        read = (x.K[t : t + 1] @ x.K[:t].T) @ found
        found = join([found, rows(x.beta[t : t + 1], source[t : t + 1] - read)], np.concatenate)
    return found


@verifies(
    "eq-forward-substitution",
    method="modular",
    covers="C=64, 128 right-hand sides",
    mutants={
        "the first row left out": {"start": 1},
        "only the row before": {"reach": lambda t: t - 1},
        "added": {"sign": 1},
        "the right-hand side's rows for the answer's": {"above": lambda X, Y: Y},
    },
)
def rows_at_real_size(start=0, reach=lambda t: 0, sign=-1, above=lambda X, Y: X):
    """The loop's answer, multiplied by I + A, is the right-hand side: degree at most 64 + 1."""

    def row_of(A, X, Y, t):
        """Row t of the answer, from the rows above it."""
        first, row = max(start, reach(t)), Y[t : t + 1]
        if first < t:
            row = row + (A[t : t + 1, first:t] @ above(X, Y)[first:t]) * sign
        return row

    def printed(at):
        X, Y = (
            np.array([at(rf"\boldsymbol{{{x}}}_{{{i}}}")[:, 0] for i in at.range("i")])
            for x in "zy"
        )
        return row_of(at(r"\mathbf{A}"), X, Y, at.n - 1).T

    on_page("eq-forward-substitution", printed)
    x = first_chunk(modular_tokens())
    A, X = interaction(x.K, x.beta), x.K[:1]
    for t in range(1, len(x.K)):
        X = join([X, row_of(A, X, x.K, t)], np.concatenate)
    return X + A @ X - x.K
