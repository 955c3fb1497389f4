"""Chapter 12: the gradient of a triangular solve, and of the products inside a chunk.

Two ways that are not the formula's own. By algebra: sympy differentiates a trace. Modulo 2^61 - 1:
forward substitution runs on dual numbers, a value and its rate of change along a random direction,
and the claimed gradient must have that slope as its product with the direction.
"""

import numpy as np
from sympy import MatrixSymbol, Trace

from . import modular
from .ch12_chunk import forms
from .ch12_form import (
    BACKWARD,
    Dual,
    backward,
    modular_loss,
    rows,
    small_tokens,
    solve_transposed,
    total,
)
from .page import on_page
from .registry import verifies
from .symbols import I_r, d_v, r
from .token_forms import solve, strict

A, R, dE = MatrixSymbol("A", r, r), MatrixSymbol("R", r, d_v), MatrixSymbol("dE", r, d_v)
INVERSE = (I_r + A).I


@verifies(
    "eq-grad-matrix",
    method="algebra",
    covers="every C, d_v",
    part="before tril: the gradient by a matrix all of whose entries may change",
    mutants={
        "sign": {"dA": INVERSE.T * dE * (INVERSE * R).T},
        "right side in place of E": {"dA": -INVERSE.T * dE * R.T},
        "dE in place of Z": {"dA": -dE * (INVERSE * R).T},
        "not transposed": {"dA": -(INVERSE * R) * (INVERSE.T * dE).T},
    },
)
def gradient_of_the_matrix(dA=-INVERSE.T * dE * (INVERSE * R).T):
    """<dE, (I + A)^-1 R> by A, against -Z E^T, and by R, against Z."""
    loss = Trace(dE.T * INVERSE * R)
    letters = {A: r"\tilde{\mathbf{A}}", R: r"\mathbf{R}", dE: r"\mathrm{d}\mathbf{E}"}
    on_page("eq-grad-matrix", INVERSE.T * dE, letters=letters)
    on_page(
        "eq-grad-matrix", lambda at: np.tril(np.atleast_2d(at.value(dA)), -1), of=1, letters=letters
    )
    return [loss.diff(A) - dA, loss.diff(R) - INVERSE.T * dE]


def one_solve():
    """A system of 16 rows: a square matrix of which the solve sees the strict lower triangle, its
    right side, and the gradient of the answer."""
    rng = np.random.default_rng(12)
    return [modular.random(rng, *shape) for shape in ((16, 16), (16, 6), (16, 6))]


def dual_solve(M, R):
    """`(I + tril(M, -1))^-1 R` by forward substitution on dual numbers."""
    A, found = Dual(strict(M.value), strict(M.rate)), [R[:1]]
    for t in range(1, len(M.value)):
        row = R[t : t + 1]
        for s in range(t):
            row = row - A[t : t + 1, s : s + 1] @ found[s]
        found.append(row)
    return found


def slope_of_a_solve(M, R, dE, by_matrix, by_right):
    """How fast <dE, E> changes along a direction of the matrix and one of the right side."""
    answer = dual_solve(Dual(M, by_matrix), Dual(R, by_right))
    return sum((total(dE[t : t + 1] * row.rate) for t, row in enumerate(answer)), start=0)


@verifies(
    "eq-grad-matrix",
    method="modular",
    covers="16 rows, d_v=6, a random direction of the whole square, and one of the right side",
    mutants={
        "no triangle": {"cut": lambda X: X},
        "the diagonal kept": {"cut": lambda X: strict(X) + X * np.eye(len(X), dtype=np.int64)},
        "sign": {"sign": 1},
        "not transposed": {"cut": lambda X: strict(X.T)},
        "dE in place of Z": {"answer": lambda A, dE: dE},
    },
)
def slopes_of_a_solve(cut=strict, sign=-1, answer=lambda A, dE: solve_transposed(A, dE)):
    """dA~ and dR times random directions, against the slopes of <dE, E> by dual numbers.

    A dual number is a value and its rate of change; forward substitution runs on them. The
    direction fills the square, and the solve sees a strict triangle of it: so does the gradient.
    Both sides have degree at most 48.
    """
    of_page = lambda at: answer(at(r"\tilde{\mathbf{A}}"), at(r"\mathrm{d}\mathbf{E}"))
    by_A = lambda at: cut(of_page(at) @ at(r"\mathbf{E}").T) * sign
    on_page("eq-grad-matrix", of_page)
    on_page("eq-grad-matrix", by_A, of=1)
    M, R, dE = one_solve()
    rng = np.random.default_rng(13)
    by_matrix, by_right = modular.random(rng, *M.shape), modular.random(rng, *R.shape)
    E, Z = solve(strict(M), R), answer(strict(M), dE)
    dA = cut(Z @ E.T) * sign
    return [
        slope_of_a_solve(M, R, dE, by_matrix, by_right * 0) - total(dA * by_matrix),
        slope_of_a_solve(M, R, dE, by_matrix * 0, by_right) - total(Z * by_right),
    ]


@verifies(
    "eq-grad-inverse",
    method="modular",
    covers="16 rows, d_v=6, a random direction of the matrix",
    mutants={
        "one inverse": {"dA": lambda L, dL: -(L.T @ dL)},
        "not transposed": {"dA": lambda L, dL: -(L @ dL @ L)},
        "sign": {"dA": lambda L, dL: L.T @ dL @ L.T},
        "dE turned round": {"dL": lambda dE, R: R @ dE.T},
    },
)
def through_the_inverse(
    dA=lambda L, dL: -(L.T @ dL @ L.T), dL=lambda dE, R: dE @ R.T
):  # fmt: skip
    """-L^T dL L^T with dL = dE R^T, times a strictly lower direction, against the slope."""
    M, R, dE = one_solve()
    direction = strict(modular.random(np.random.default_rng(14), *M.shape))
    inverse = solve(strict(M), M * 0 + np.eye(len(M), dtype=np.int64))
    claimed = total(dA(inverse, dL(dE, R)) * direction)
    change = lambda at: dL(at(r"\mathrm{d}\mathbf{E}"), at(r"\mathbf{R}"))
    on_page("eq-grad-inverse", change)
    on_page("eq-grad-inverse", lambda at: np.tril(dA(at(r"\mathbf{L}"), change(at)), -1), of=1)
    return slope_of_a_solve(M, R, dE, direction, R * 0) - claimed


def slope_of_a_chunk(x, dO, dS, by_scores, by_overlap):
    """How fast a linear loss of one chunk changes with Q K^T and with K K^T, each by itself."""
    scores = Dual(x.Q @ x.K.T, by_scores) * Dual(x.Gamma, x.Gamma * 0)
    weights = rows(x.beta, x.Gamma)
    overlap = Dual(x.K @ x.K.T, by_overlap) * Dual(weights, weights * 0)
    right = rows(x.beta, x.V - x.read)
    rates = [row.rate for row in dual_solve(overlap, Dual(right, right * 0))]
    E_rate = modular.join(rates, np.concatenate)
    O_rate = scores.rate @ x.E + scores.value @ E_rate
    return total(dO * O_rate) + total(dS * (E_rate.T @ rows(x.to_end, x.K)))


@verifies(
    "eq-grad-scores",
    method="modular",
    covers="a chunk of 8, d_k=6, d_v=5, random directions of Q K^T and of K K^T",
    mutants=forms(
        strict_X={"X": lambda x: strict(x.Gamma * (x.dO @ x.E.T))},
        X_without_Gamma={"X": lambda x: strict(x.dO @ x.E.T)},
        inclusive_N={"N": lambda x: -rows(x.beta, x.Gamma * (x.Z @ x.E.T))},
        sign_of_N={"N": lambda x: strict(rows(x.beta, x.Gamma * (x.Z @ x.E.T)))},
        N_without_beta={"N": lambda x: -strict(x.Gamma * (x.Z @ x.E.T))},
    ),
)
def gradients_of_the_products(form=BACKWARD):
    """X and N times random directions, against the slopes of a chunk's loss by dual numbers."""
    tokens = small_tokens()
    x = backward(tokens, modular_loss(tokens), form)[-1]
    rng, residuals = np.random.default_rng(15), []
    for gradient in ("X", "N"):
        direction = modular.random(rng, 8, 8)
        along_it = [direction * (gradient == name) for name in ("X", "N")]
        slope = slope_of_a_chunk(x, x.dO, x.dS_next, *along_it)
        residuals.append(total(getattr(x, gradient) * direction) - slope)
    return residuals
