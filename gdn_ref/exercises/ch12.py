"""Exercises of chapter 12: a token by hand, a solve, the write strength, a border."""

import numpy as np

from .. import backward, wy
from ..chunking import decay
from ..figures.ch12_measure import dg_by_crossing, parts_of_dg
from ..proofs.data import hard_inputs, relative_error
from . import TOLERANCE, Wrong, exercise


@exercise("12-token")
def token(answer):
    """dS_1 and dg_2 of the example by hand when the loss is the second entry of o_2."""
    dS, dg = answer
    dS = np.asarray(dS, dtype=float)
    if dS.shape != (2, 2):
        raise Wrong(f"the gradient of a 2 x 2 state is 2 x 2; yours is {dS.shape}")
    S, k, alpha, beta = np.array([[2, 0], [1, 0.5]]), np.array([0.6, 0.8]), 0.5, 0.5
    whole = np.outer([0, 1], [1, 0])
    right = alpha * (whole - beta * np.outer(whole @ k, k))
    if not abs(dS[0]).max() <= TOLERANCE:  # nor if it is NaN
        raise Wrong("dS_1: the loss reads one row of the state, and a token never mixes rows")
    if abs(dS - alpha * whole).max() < TOLERANCE:
        raise Wrong("dS_1: it is decayed; what does the correction at k_2 take off?")
    if not abs(dS - right).max() <= TOLERANCE:
        raise Wrong("dS_1: form Lambda, then z, then the line of the state")
    if not abs(float(dg) - (S * right).sum()) <= TOLERANCE:
        raise Wrong("dg_2: it is the inner product of two matrices; which state belongs to dS_1?")


@exercise("12-solve")
def solve(answer):
    """`answer(A, E, dE)` gives dR and dA of (I + A) E = R."""
    for C in (1, 2, 17):
        _, k, v, g, beta, _ = hard_inputs(C, 8, 5)
        A = wy.interaction(k, beta, decay(g)[1])
        E, dE = wy.solve(A, v), np.random.default_rng(C).normal(size=v.shape)
        dR, dA = (np.asarray(x) for x in answer(A, E, dE))
        Z = wy.solve_transposed(A, dE)
        if np.shape(dR) != E.shape or np.shape(dA) != A.shape:
            raise Wrong(f"dR has the shape of R, dA that of A; yours: {np.shape(dR), np.shape(dA)}")
        if not np.linalg.norm(dR - Z) <= TOLERANCE * np.linalg.norm(Z):
            turned = C > 1 and relative_error(dR, wy.solve(A, dE)) < TOLERANCE
            raise Wrong("dR: " + ("a gradient goes through the transpose" if turned
                                  else "which system has dE on its right side?"))  # fmt: skip
        if not np.abs(np.triu(dA)).max() <= TOLERANCE:
            raise Wrong("dA: A has entries below its diagonal only, and so has its gradient")
        right = -np.tril(Z @ E.T, -1)
        if not np.abs(dA - right).max() <= TOLERANCE:
            sign = np.abs(dA + right).max() < TOLERANCE
            raise Wrong("dA: " + ("look at the sign" if sign else "row r of Z meets row i of E"))


@exercise("12-strength")
def strength(answer):
    """`answer(Z, E, S, k, v, g)` gives dbeta, without dividing by beta."""
    q, k, v, g, beta, S = hard_inputs(24, 8, 5)
    rng = np.random.default_rng(0)
    dO, dS = rng.normal(size=v.shape), rng.normal(size=S.shape)
    for strengths in (beta, np.where(np.arange(24) % 3, beta, 0.0)):
        gamma, Gamma = decay(g)
        A = wy.interaction(k, strengths, Gamma)
        E = wy.solve(A, strengths[:, None] * (v - gamma[:, None] * (k @ S.T)))
        scores = Gamma * (q @ k.T)
        dE = scores.T @ dO + Gamma[-1][:, None] * (k @ dS.T)
        found = np.asarray(answer(wy.solve_transposed(A, dE), E, S, k, v, g))
        right = backward.chunk(S, q, k, v, g, strengths, dO, dS)[5]
        if found.shape != right.shape:
            raise Wrong(f"one number a token: expected shape {right.shape}, got {found.shape}")
        if not relative_error(found, right) <= TOLERANCE:
            first = abs(found[0] - right[0]) < TOLERANCE
            where = "the first token is off: it reads the old state, decayed, and nothing else"
            where = "the first token is right; what do the others also read?" if first else where
            raise Wrong(f"off by {relative_error(found, right):.0%}; {where}")


@exercise("12-border")
def border(answer):
    """`answer(J, a, b, old)` gives dg without taking anything off again."""
    for g in (np.full(32, -0.05), np.full(32, np.log(1e-3))):
        q, k, v, _, beta, S = hard_inputs(32, 16, 16)
        rng = np.random.default_rng(0)
        given = (S, q, k, v, g, beta / 2, rng.normal(size=v.shape), rng.normal(size=S.shape))
        right = dg_by_crossing(*given)
        found = np.asarray(answer(*parts_of_dg(*given)))
        if found.shape != right.shape:
            raise Wrong(f"one number a token: expected shape {right.shape}, got {found.shape}")
        if not relative_error(found, right) <= TOLERANCE:
            raise Wrong(f"off by {relative_error(found, right):.0%} in float64; from which tokens, "
                        "and to which, does anything pass the decay of token r?")  # fmt: skip
        single = parts_of_dg(*(x.astype(np.float32) for x in given))
        errors = abs(np.asarray(answer(*single)) / right - 1)
        if not np.median(errors) <= 1e-5:
            raise Wrong("right in float64; in float32, with strong decays, large terms cancel")
