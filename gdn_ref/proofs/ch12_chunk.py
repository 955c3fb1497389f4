"""Chapter 12: the gradients of a chunk, row by row for every size, and at real size exactly.

By algebra: token r's gradients, with the r tokens before it and the m tokens after it stacked and
never expanded. Modulo 2^61 - 1: every gradient of two chunks, entry by entry, against the token
loop walked backwards, which `ch12_token` proves. Both are polynomials of degree at most
8 * 128 + 8 in the inputs, so a wrong form passes with probability at most 1032 / p.
"""

import numpy as np
from sympy import MatrixSymbol, symbols

from . import lines
from .ch12_form import (
    BACKWARD,
    along,
    backward,
    float64_loss,
    loop,
    modular_loss,
    outer,
    reversed_loop,
    rows,
    small_tokens,
    solve_transposed,
)
from .ch12_mutants import NAMES, gradients
from .ch12_token import do, inputs
from .data import logs, relative_error
from .page import on_page, row_of
from .registry import verifies
from .symbols import D, Diagonal, E, K, S, alpha, beta, d_k, d_v, gamma, k, no_tokens, q, v
from .token_forms import REAL_SIZE, float64_tokens, modular_tokens, solve, strict

m = symbols("m", integer=True, nonnegative=True)  # tokens after token r
K_, Q_ = MatrixSymbol("K_later", m, d_k), MatrixSymbol("Q_later", m, d_k)
Z_, dO_ = MatrixSymbol("Z_later", m, d_v), MatrixSymbol("dO_later", m, d_v)
B_ = Diagonal("beta_later", m, m)
D_ = Diagonal("Gamma_later", m, m)  # decay from token r to each later one
to_end = symbols("Gamma_C")  # decay from token r to the end of the chunk
dS = MatrixSymbol("dS", d_v, d_k)  # gradient of the state after the chunk
z = MatrixSymbol("z", d_v, 1)

LATER = to_end * dS + dO_.T * D_ * Q_ - Z_.T * B_ * D_ * K_  # dS_r (eq-grad-unrolled)
LAMBDA = LATER + do * q.T
FADED = gamma * S + E.T * D * K  # alpha S_{r-1}: the state that token r reads
delta = beta * (v - FADED * k)


def after(letter):
    return lambda at: at(letter)[at.n :]


PAGE = {
    "K_later": after(r"\mathbf{K}"), "Q_later": after(r"\mathbf{Q}"),
    "Z_later": after(r"\mathbf{Z}"), "dO_later": after(r"\mathrm{d}\mathbf{O}"),
    "beta_later": lambda at: at(r"\mathbf{B}")[at.n :, at.n :],
    "Gamma_later": lambda at: np.diag(at(r"\boldsymbol{\Gamma}")[at.n :, at.n - 1]),
    "Gamma_C": lambda at: at(r"\boldsymbol{\Gamma}")[-1, at.n - 1],
    "dS": r"\mathrm{d}\mathbf{S}'", "z": row_of(r"\mathbf{Z}"),
    "do": row_of(r"\mathrm{d}\mathbf{O}"),
    "delta": row_of(r"\mathbf{E}"), "gamma": lambda at: at(rf"\gamma_{{{at.n}}}"),
    "D": lambda at: np.diag(at(r"\boldsymbol{\Gamma}")[at.n - 1, : at.n - 1]),
}  # fmt: skip


def forms(**changes):
    return {name.replace("_", " "): {"form": BACKWARD | change} for name, change in changes.items()}


def package(*names):
    """Mutants of `gdn_ref.backward` for `the_package`."""
    return {name: {"mistake": name} for name in names}


def at_real_size(form, *names):
    """Gradients of two chunks less those of the reversed loop."""
    tokens = modular_tokens()
    loss = modular_loss(tokens)
    done, right = backward(tokens, loss, form), reversed_loop(tokens, loss)
    return [(done[0].dS if n == "dS" else along(done, n)) - right[n] for n in names]


def the_package(mistake, *names):
    """Relative errors of `gdn_ref.backward.gradients` against the reversed loop, in float64."""
    tokens, loss = float64_tokens(), float64_loss()
    right = reversed_loop(tokens, loss)
    found = gradients(mistake, *inputs(), loss.dO, loss.dS, tokens.chunk_size)
    found = dict(zip(NAMES, found, strict=True))
    keys = {"q": "dQ", "k": "dK", "v": "dV", "g": "dg", "beta": "dbeta", "S": "dS"}
    return max(relative_error(found[n], right[keys[n]]) for n in names)


def of_the_package(mistake, name):
    """A gradient by `gdn_ref.backward.gradients` at the page's chunk; row r where it has one."""

    def printed(at):
        x = lines.tokens(at)
        inputs = x.Q, x.K, x.V, logs(x.alpha), x.beta, x.S
        found = gradients(mistake, *inputs, x.dO, x.dS_next, len(x.K))[NAMES.index(name)]
        return found[at.scope["r"] - 1] if found.ndim == 1 else found

    return printed


@verifies(
    "eq-grad-unrolled",
    method="algebra",
    covers="every number of tokens, d_k, d_v",
    mutants={
        "own output undecayed": {"own": do * q.T - alpha * beta * z * k.T},
        "sign of the correction": {"own": alpha * (do * q.T + beta * z * k.T)},
        "Z without beta": {"own": alpha * (do * q.T - z * k.T)},
    },
)
def one_token_further_back(own=alpha * (do * q.T - beta * z * k.T)):
    """Base: nothing later, dS_C = dS'. Step: dS_{r-1} = alpha (dS_r + do q^T - beta z k^T).

    Every decay in the sum takes a factor alpha, and token r joins the later tokens.
    """
    grown = alpha * to_end * dS + dO_.T * (alpha * D_) * Q_ - Z_.T * B_ * (alpha * D_) * K_
    base = no_tokens(LATER, m).subs(to_end, 1) - dS
    on_page("eq-grad-unrolled", LATER, letters=PAGE)
    return [base, alpha * (LAMBDA - beta * z * k.T) - (grown + own)]


def unrolled(x, row):
    """dS_r by eq-grad-unrolled."""
    later, decays = slice(row + 1, None), x.Gamma[row + 1 :, row]
    return (
        x.dS_next * x.Gamma[-1][row]
        + rows(decays, x.dO[later]).T @ x.Q[later]
        - rows(decays, x.dV[later]).T @ x.K[later]
    )


@verifies(
    "eq-grad-unrolled",
    method="modular",
    covers="every token of two chunks, C=8, d_k=6, d_v=5",
    mutants={
        "from the token itself on": {"shift": 0},
        "Gamma transposed": {"form": BACKWARD | {"Gamma": lambda x: x.Gamma_right.T}},
        "Z without beta": {"form": BACKWARD | {"dV": lambda x: x.Z}},
    },
)
def every_state_between(form=BACKWARD, shift=1):
    """The sum of eq-grad-unrolled against dS_r of the reversed loop."""
    of_page = lambda at: unrolled(lines.run(at, {"dV": form["dV"]}), at.n - 1)
    on_page("eq-grad-unrolled", of_page)
    tokens = small_tokens()
    loss = modular_loss(tokens)
    form = {"Gamma_right": BACKWARD["Gamma"]} | form
    seen, residuals = loop(tokens, loss), []
    for number, x in enumerate(backward(tokens, loss, form)):
        for row in range(len(x.alpha)):
            found = unrolled(x, row)
            if not shift:
                found = found + outer(x.dO[row], x.Q[row])
            residuals.append(found - seen[number * len(x.alpha) + row].dS)
    return residuals


@verifies(
    "eq-grad-solve",
    method="algebra",
    covers="every number of tokens, d_k, d_v",
    mutants={
        "sign of A": {"column": -k.T * K_.T * D_ * B_},
        "A without beta": {"column": k.T * K_.T * D_},
        "own output left out": {"right": k.T * (LATER + Z_.T * B_ * D_ * K_).T},
        "the next state left out": {"right": k.T * (q * do.T + Q_.T * D_ * dO_)},
    },
)
def one_more_row(
    column=k.T * K_.T * D_ * B_,
    right=k.T * (q * do.T + Q_.T * D_ * dO_ + to_end * dS.T),
):
    """z = Lambda k, transposed, is row r of dE less row r of A~^T times the rows of Z below.

    Later tokens may be none: then this is the last row, where the substitution starts.
    """
    on_page("eq-grad-solve", right, letters=PAGE, row=True)
    on_page("eq-grad-solve", (LAMBDA * k).T + column * Z_, right, of=1, letters=PAGE, row=True)
    return (LAMBDA * k).T - (right - column * Z_)


WRONG_SOLVES = {
    "not_transposed": {"Z": lambda x: solve(x.A_gated, x.dE)},
    "no_solve": {"Z": lambda x: x.dE},
    "ungated": {"Z": lambda x: solve_transposed(x.A, x.dE)},
    "scores_not_transposed": {"dE": lambda x: x.scores @ x.dO + rows(x.to_end, x.K @ x.dS_next.T)},
    "undecayed_to_the_end": {"dE": lambda x: x.scores.T @ x.dO + x.K @ x.dS_next.T},
    "strict_scores": {"scores": lambda x: strict(x.Gamma * (x.Q @ x.K.T))},
}


@verifies("eq-grad-solve", method="modular", covers=REAL_SIZE, mutants=forms(**WRONG_SOLVES))
def rows_are_answers(form=BACKWARD):
    """Row r of Z against Lambda_r k_r of the reversed loop."""
    return at_real_size(form, "Z")
