"""Answers to the exercises of chapter 12: right ones, and wrong ones with the hint they get."""

import numpy as np
import torch

from gdn_ref import wy
from gdn_ref.chunking import decay

CROSSED = np.array([[0, 0], [0.41, -0.12]])


def by_autograd(A, E, dE):
    A = torch.from_numpy(A).requires_grad_()
    R = torch.from_numpy(E) + A.detach() @ torch.from_numpy(E)
    R.requires_grad_()
    torch.linalg.solve(torch.eye(len(A)) + A.tril(-1), R).backward(torch.from_numpy(dE))
    return R.grad, A.grad


def by_back_substitution(A, E, dE):
    for r in reversed(range(len(A))):
        dE[:r] -= A[r, :r, None] * dE[r]
    dA = [[-(z @ e) if i < r else 0 for i, e in enumerate(E)] for r, z in enumerate(dE)]
    return [dE, np.array(dA)]


def through(A, E, dE, solve=wy.solve_transposed, lower=lambda X: -np.tril(X, -1)):
    Z = solve(A, dE)
    return Z, lower(Z @ E.T)


def by_the_loop(Z, E, S, k, v, g):
    """What each token finds in the state before it writes."""
    found = np.empty(len(k))
    for t in range(len(k)):
        S *= np.exp(g[t])
        found[t] = Z[t] @ (v[t] - S @ k[t])
        S += np.outer(E[t], k[t])
    return found


def strength(Z, E, S, k, v, g, diagonal=-1, decayed=True, masked=True):
    gamma, Gamma = decay(g)
    scores = np.tril((Gamma if masked else 1) * (k @ k.T), diagonal)
    read = (gamma[:, None] if decayed else 1) * (k @ S.T) + scores @ E
    return np.einsum("rd,rd->r", Z, v - read)


def crossing_in_one_sum(J, a, b, old):
    before, after = np.tri(len(a), k=-1), np.tri(len(a)).T
    return np.diag(after @ J @ before.T) + before @ b + after @ a + old


def crossing_in_place(J, a, b, old):
    """What token r lets in and out is added to what passed the border before it."""
    b = np.append(0, b[:-1])
    a[:] = a[::-1].cumsum()[::-1]
    a += b.cumsum()
    a += [J[r:, :r].sum() for r in range(len(a))]
    return a + old


def in_double(J, a, b, old):
    """The stub's sums, in float64: of the same numbers, so that they cancel exactly enough."""
    J, a, b = (x.astype(np.float64) for x in (J, a, b))
    dc = J.sum(axis=1) - J.sum(axis=0) + a - b
    return np.cumsum(dc[::-1])[::-1] + b.sum() + old


def by_sums(J, a, b, old):
    dc = J.sum(axis=1) - J.sum(axis=0) + a - b
    return np.cumsum(dc[::-1])[::-1] + b.sum() + old


def crossing(J, a, b, old, reader=0, writer=0, keep=1):
    n = range(len(a))
    across = np.array([J[r + reader :, : r + writer].sum() + b[: r + writer].sum() for r in n])
    return across + np.array([a[r:].sum() for r in n]) + keep * old


RIGHT = {
    "12-token": [
        (CROSSED, np.float64(0.35)),
        [torch.tensor(CROSSED), torch.tensor(0.35, dtype=torch.float64)],
        ([[0, 0], [41 / 100, -3 / 25]], 7 / 20),
    ],
    "12-solve": [
        by_autograd,
        by_back_substitution,
        lambda A, E, dE: through(
            A, E, dE, solve=lambda A, X: np.linalg.inv(np.eye(len(A)) + A).T @ X
        ),
    ],
    "12-strength": [by_the_loop, strength],
    "12-border": [crossing_in_one_sum, crossing_in_place, in_double],
}

WRONG = {
    "12-token": [
        (([[0.41, -0.12], [0, 0]], 0.82), "never mixes rows"),
        (([[0, 0], [0.5, 0]], 0.5), "what does the correction at k_2 take off"),
        (([[0, 0], [0.82, -0.24]], 0.35), "form Lambda, then z"),
        ((CROSSED, 0.41), "which state belongs to dS_1"),
        ((CROSSED[1], 0.35), "2 x 2; yours is (2,)"),
    ],
    "12-solve": [
        (lambda *x: through(*x, solve=wy.solve), "a gradient goes through the transpose"),
        (lambda A, E, dE: (dE, -np.tril(dE @ E.T, -1)), "which system has dE"),
        (lambda *x: through(*x, lower=np.negative), "A has entries below its diagonal only"),
        (lambda *x: through(*x, lower=lambda X: np.tril(X, -1)), "look at the sign"),
        (lambda *x: through(*x, lower=lambda X: -np.tril(X.T, -1)), "row r of Z meets row i of E"),
        (lambda *x: through(*x)[::-1], "dR has the shape of R"),
    ],
    "12-strength": [
        (lambda Z, E, *x: strength(Z, 0 * E, *x), "what do the others also read"),
        (lambda *x: strength(*x, diagonal=0), "the first token is off"),
        (lambda *x: strength(*x, decayed=False), "the first token is off"),
        (lambda *x: strength(*x, masked=False), "what do the others also read"),
        (lambda Z, E, *x: (Z * E).sum(axis=1), "off by"),
        (lambda Z, E, S, k, v, g: strength(Z, E, S, k, v, g)[:, None], "one number a token"),
    ],
    "12-border": [
        (by_sums, "large terms cancel"),
        (lambda *x: crossing(*x, writer=1), "from which tokens"),
        (lambda *x: crossing(*x, reader=1), "from which tokens"),
        (lambda *x: crossing(*x, keep=0), "in float64"),
        (lambda J, a, b, old: crossing(J.T, a, b, old), "in float64"),
        (lambda J, a, b, old: crossing(J, a, b, old).sum(), "one number a token"),
    ],
}
