"""Plausible mistakes in the chunk form, and the equivalent forms that are none.

A mistake replaces lines of `FORM`. Each is listed under the equation that it breaks, so that the
check of that equation can show that it would have caught it.
"""

import numpy as np

from . import lines
from .modular import join, reciprocal
from .token_forms import (
    FORM,
    decay_mask,
    ones_below,
    rows,
    solve,
    strict,
)


def gamma_before(x):
    """`gamma_{r-1}`: the decay up to the token before, 1 for the first."""
    return join([x.alpha[:1] * 0 + 1, x.gamma[:-1]], np.concatenate)


def Gamma_with_the_writer(x):
    """`alpha_i ... alpha_r`: one factor too many, the decay at the token that wrote."""
    return x.Gamma * x.alpha[None, :]


def Gamma_without_the_reader(x):
    """`alpha_i ... alpha_{r-1}`: shifted by one token."""
    first = x.alpha[:1] * 0
    return decay_mask(join([first, x.alpha[:-1]], np.concatenate))


def Gamma_reversed(x):
    """The decays of the chunk taken in reverse order."""
    return decay_mask(x.alpha[::-1])


def Gamma_both_ways(x):
    """Later tokens seen too, decayed by their distance."""
    return x.Gamma + strict(x.Gamma).T


def solve_upper(x, X):
    """`(I + A^T)^-1 X`: row r needs the rows below it."""
    return solve(x.A.T[::-1, ::-1], X[::-1])[::-1]


def solve_inclusive(x, X, mask):
    """`(I + tril(A, 0))^-1 X`: the token's own key on the diagonal."""
    own = reciprocal(((x.K * x.K) @ np.ones(x.K.shape[1], dtype=np.int64)) * x.beta + 1)
    return solve(rows(own, mask), rows(own, X))


def causal(x):
    return ones_below(len(x.alpha), 0)


MUTANTS = {
    "eq-gdn-chunk-output": {
        "M for Gamma": {"scores": lambda x: causal(x) * (x.Q @ x.K.T)},
        "strict Gamma": {"scores": lambda x: strict(x.Gamma * (x.Q @ x.K.T))},
        "Gamma with the reversed decays": {"scores": lambda x: Gamma_reversed(x) * (x.Q @ x.K.T)},
        "Gamma with the writer's decay": {
            "scores": lambda x: Gamma_with_the_writer(x) * (x.Q @ x.K.T)
        },
        "Gamma without the reader's decay": {
            "scores": lambda x: Gamma_without_the_reader(x) * (x.Q @ x.K.T)
        },
        "Gamma twice": {"scores": lambda x: x.Gamma * x.Gamma * (x.Q @ x.K.T)},
        "no mask": {"scores": lambda x: x.Q @ x.K.T},
        "Gamma both ways": {"scores": lambda x: Gamma_both_ways(x) * (x.Q @ x.K.T)},
        "Gamma transposed": {"scores": lambda x: x.Gamma.T * (x.Q @ x.K.T)},
        "K and Q swapped": {"scores": lambda x: x.Gamma * (x.K @ x.Q.T)},
        "scores of the scaled Q": {"scores": lambda x: x.Gamma * (rows(x.gamma, x.Q) @ x.K.T)},
        "Q unscaled": {"O": lambda x: x.Q @ x.S.T + x.scores @ x.E},
        "Q scaled to the chunk's end": {
            "O": lambda x: (x.Q @ x.S.T) * x.gamma[-1] + x.scores @ x.E
        },
        "Q scaled by the decay before the token": {
            "O": lambda x: rows(gamma_before(x), x.Q @ x.S.T) + x.scores @ x.E
        },
        "Q read with the wrong sign": {"O": lambda x: -rows(x.gamma, x.Q @ x.S.T) + x.scores @ x.E},
        "the state after the chunk": {
            "O": lambda x: rows(x.gamma, x.Q @ x.S_next.T) + x.scores @ x.E
        },
        "no read of the state": {"O": lambda x: x.scores @ x.E},
        "no read of the chunk": {"O": lambda x: rows(x.gamma, x.Q @ x.S.T)},
        "U for E": {"O": lambda x: rows(x.gamma, x.Q @ x.S.T) + x.scores @ x.U},
        "V for E": {"O": lambda x: rows(x.gamma, x.Q @ x.S.T) + x.scores @ x.V},
        "beta V for E": {"O": lambda x: rows(x.gamma, x.Q @ x.S.T) + x.scores @ rows(x.beta, x.V)},
    },
    "eq-gdn-chunk-state": {
        "sign of the writes": {
            "S_next": lambda x: x.S * x.gamma[-1] - x.E.T @ rows(x.Gamma[-1], x.K)
        },
        "state not decayed": {"S_next": lambda x: x.S + x.E.T @ rows(x.Gamma[-1], x.K)},
        "state decayed by the last token only": {
            "S_next": lambda x: x.S * x.alpha[-1] + x.E.T @ rows(x.Gamma[-1], x.K)
        },
        "state dropped": {"S_next": lambda x: x.E.T @ rows(x.Gamma[-1], x.K)},
        "K unscaled": {"S_next": lambda x: x.S * x.gamma[-1] + x.E.T @ x.K},
        "K scaled from the start": {
            "S_next": lambda x: x.S * x.gamma[-1] + x.E.T @ rows(x.gamma, x.K)
        },
        "K scaled with the writer's decay": {
            "S_next": lambda x: x.S * x.gamma[-1] + x.E.T @ rows(x.Gamma[-1] * x.alpha, x.K)
        },
        "K and E both scaled": {
            "S_next": lambda x: (
                x.S * x.gamma[-1] + rows(x.Gamma[-1], x.E).T @ rows(x.Gamma[-1], x.K)
            )
        },
        "Q for K": {"S_next": lambda x: x.S * x.gamma[-1] + x.E.T @ rows(x.Gamma[-1], x.Q)},
        "U for E": {"S_next": lambda x: x.S * x.gamma[-1] + x.U.T @ rows(x.Gamma[-1], x.K)},
        "V for E": {"S_next": lambda x: x.S * x.gamma[-1] + x.V.T @ rows(x.Gamma[-1], x.K)},
    },
    "eq-gdn-delta-split": {
        "sign of W S^T": {"E": lambda x: x.U + x.W_left @ x.S.T},
        "no W S^T": {"E": lambda x: x.U},
        "K for W": {"E": lambda x: x.U - rows(x.gamma, x.K) @ x.S.T},
        "W unscaled": {"W_left": lambda x: x.W},
        "W scaled by the decay before the token": {"W_left": lambda x: rows(gamma_before(x), x.W)},
        "W scaled to the chunk's end": {"W_left": lambda x: x.W * x.gamma[-1]},
        "W scaled towards the chunk's end": {"W_left": lambda x: rows(x.Gamma[-1], x.W)},
        "gated solve on raw K, rows scaled after": {
            "W_left": lambda x: rows(x.gamma, solve(x.A_gated, rows(x.beta, x.K)))
        },
        "gated solve on raw K": {"W_left": lambda x: solve(x.A_gated, rows(x.beta, x.K))},
        "ungated solve on scaled K": {"W_left": lambda x: solve(x.A, rows(x.beta * x.gamma, x.K))},
    },
    "eq-gdn-chunk-delta": {
        "S read undecayed": {"E": lambda x: solve(x.A_gated, rows(x.beta, x.V - x.K @ x.S.T))},
        "S read with the wrong sign": {
            "E": lambda x: solve(x.A_gated, rows(x.beta, x.V + rows(x.gamma, x.K @ x.S.T)))
        },
        "S read without beta": {
            "E": lambda x: solve(x.A_gated, rows(x.beta, x.V) - rows(x.gamma, x.K @ x.S.T))
        },
        "one ungated solve": {
            "E": lambda x: solve(x.A, rows(x.beta, x.V - rows(x.gamma, x.K @ x.S.T)))
        },
        "no solve": {"E": lambda x: rows(x.beta, x.V - rows(x.gamma, x.K @ x.S.T))},
        "upper solve": {
            "E": lambda x: solve_upper(x, rows(x.beta, x.V - rows(x.gamma, x.K @ x.S.T)))
        },
    },
    "eq-wy-w": {
        "no beta on the right": {"W": lambda x: solve(x.A, x.K)},
        "beta twice": {"W": lambda x: solve(x.A, rows(x.beta * x.beta, x.K))},
        "A without beta": {"A": lambda x: strict(x.K @ x.K.T)},
        "beta on the columns of A": {"A": lambda x: strict((x.K @ x.K.T) * x.beta[None, :])},
        "sign of A": {"A": lambda x: -strict(rows(x.beta, x.K @ x.K.T))},
        "Q K^T in A": {"A": lambda x: strict(rows(x.beta, x.Q @ x.K.T))},
        "A with its diagonal": {
            "W": lambda x: solve_inclusive(x, rows(x.beta, x.K), x.A),
        },
        "A upper": {"W": lambda x: solve_upper(x, rows(x.beta, x.K))},
        "inverse cut after I - A": {"W": lambda x: cut_inverse(x.A, rows(x.beta, x.K), 1)},
        "inverse cut after I - A + A^2": {"W": lambda x: cut_inverse(x.A, rows(x.beta, x.K), 2)},
    },
    "eq-wy-u": {
        "ungated solve (the delta rule's U)": {"U": lambda x: solve(x.A, rows(x.beta, x.V))},
        "no beta on the right of U": {"U": lambda x: solve(x.A_gated, x.V)},
        "decayed V": {"U": lambda x: solve(x.A_gated, rows(x.beta * x.gamma, x.V))},
        "gated A without beta": {"A_gated": lambda x: strict(x.Gamma * (x.K @ x.K.T))},
        "gated A of the opposite sign": {
            "A_gated": lambda x: -strict(rows(x.beta, x.Gamma * (x.K @ x.K.T)))
        },
        "gated A with the writer's decay": {
            "A_gated": lambda x: strict(rows(x.beta, Gamma_with_the_writer(x) * (x.K @ x.K.T)))
        },
        "gated A with the reversed decays": {
            "A_gated": lambda x: strict(rows(x.beta, Gamma_reversed(x) * (x.K @ x.K.T)))
        },
        "gated A with beta on the columns": {
            "A_gated": lambda x: strict(x.Gamma * (x.K @ x.K.T) * x.beta[None, :])
        },
        "gated inverse cut after I - A": {
            "U": lambda x: cut_inverse(x.A_gated, rows(x.beta, x.V), 1)
        },
    },
}

EQUIVALENT = {
    "W scaled inside the gated solve": {
        "W_left": lambda x: solve(x.A_gated, rows(x.beta * x.gamma, x.K))
    },
    "rows of E scaled instead of rows of K": {
        "S_next": lambda x: x.S * x.gamma[-1] + rows(x.Gamma[-1], x.E).T @ x.K
    },
    "strict Gamma inside the gated A": {
        "A_gated": lambda x: rows(x.beta, strict(x.Gamma) * (x.K @ x.K.T))
    },
    "one solve for E": {
        "E": lambda x: solve(x.A_gated, rows(x.beta, x.V - rows(x.gamma, x.K @ x.S.T)))
    },
}


ONE_SOLVE = FORM | EQUIVALENT["one solve for E"]
lines.printed_as(ONE_SOLVE["E"], "eq-gdn-chunk-delta", system=r"\mathbf{I} + \tilde{\mathbf{A}}")


def cut_inverse(A, X, terms):
    """`(I - A + A^2 - ...) X`, cut after `terms` powers of A."""
    total = power = X
    for _ in range(terms):
        power = -(A @ power)
        total = total + power
    return total


def forms(label, form=FORM):
    """The mutants of one equation as the registry takes them: the argument `form` replaced."""
    return {name: {"form": form | change} for name, change in MUTANTS[label].items()}
