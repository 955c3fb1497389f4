"""The backward pass as a table of equations, and the reverse token loop beside it.

`BACKWARD` extends the chunk form of `token_forms` by one line an equation; a mutant replaces
lines. The arithmetic is any: float64, polynomials, or modulo 2^61 - 1. The gradient of a
log-decay needs no logarithm: `dg = alpha dalpha`.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from . import lines, modular
from .modular import join
from .token_forms import (
    FORM,
    Chunk,
    chunks,
    float64_tokens,
    modular_tokens,
    ones_below,
    rows,
    solve,
    strict,
)

TOKEN = {  # one token, given the state before it and the gradient of the state after it
    "faded": lambda x: x.S * x.alpha,
    "missing": lambda x: x.v - x.faded @ x.k,
    "delta": lambda x: x.missing * x.beta,
    "after": lambda x: x.faded + outer(x.delta, x.k),
    "Lambda": lambda x: x.dS + outer(x.do, x.q),  # eq-grad-token
    "z": lambda x: x.Lambda @ x.k,
    "dS_before": lambda x: (x.Lambda - outer(x.z * x.beta, x.k)) * x.alpha,
    "dq": lambda x: x.after.T @ x.do,  # eq-grad-token-inputs
    "dk_reading": lambda x: -((x.faded.T @ x.z) * x.beta),
    "dk_read": lambda x: x.Lambda.T @ x.delta,
    "dk": lambda x: x.dk_reading + x.dk_read,
    "dv": lambda x: x.z * x.beta,
    "dbeta": lambda x: total((x.z * x.missing)[None, :]),
    "dg": lambda x: total(x.S * x.dS_before),  # eq-grad-token-decay
}

BACKWARD = FORM | {
    "to_end": lambda x: x.Gamma[-1],
    "read": lambda x: rows(x.gamma, x.K @ x.S.T),
    "overlap": lambda x: x.Gamma * (x.K @ x.K.T),
    "A_gated": lambda x: strict(rows(x.beta, x.overlap)),
    "E": lambda x: solve(x.A_gated, rows(x.beta, x.V - x.read)),
    "dE": lambda x: x.scores.T @ x.dO + rows(x.to_end, x.K @ x.dS_next.T),
    "Z": lambda x: solve_transposed(x.A_gated, x.dE),  # eq-grad-solve
    "X": lambda x: x.Gamma * (x.dO @ x.E.T),
    "N": lambda x: -strict(rows(x.beta, x.Gamma * (x.Z @ x.E.T))),
    "dQ": lambda x: rows(x.gamma, x.dO @ x.S) + x.X @ x.K,  # eq-grad-query
    "dV": lambda x: rows(x.beta, x.Z),
    "dK_reading": lambda x: x.N @ x.K - rows(x.gamma, x.dV @ x.S),  # eq-grad-key
    "dK_read": lambda x: x.N.T @ x.K + x.X.T @ x.Q + rows(x.to_end, x.E @ x.dS_next),
    "dK": lambda x: x.dK_reading + x.dK_read,
    "missing": lambda x: x.V - x.read - strict(x.overlap) @ x.E,
    "dbeta": lambda x: row_sums(x.Z * x.missing),  # eq-grad-beta
    "dS": lambda x: (
        x.dS_next * x.gamma[-1]  # eq-grad-state
        + rows(x.gamma, x.dO).T @ x.Q
        - rows(x.gamma, x.dV).T @ x.K
    ),
    "dc": lambda x: row_sums(x.Q * x.dQ + x.K * (x.dK_reading - x.dK_read)),  # eq-grad-decay
    "at_the_end": lambda x: total(x.S_next * x.dS_next),
    "dg": lambda x: from_here_on(x.dc) + x.at_the_end,
}
PRINTED = {  # the lines of these tables, in the order of the statements that print them
    "eq-grad-solve": "dE Z", "eq-grad-scores": "X N", "eq-grad-query": "dQ dV",
    "eq-grad-key": "dK_reading dK_read dK", "eq-grad-beta": "dbeta", "eq-grad-state": "dS",
    "eq-grad-decay": "dc dg",
}  # fmt: skip
OF_A_TOKEN = {
    "eq-grad-token": "Lambda z dS_before", "eq-grad-token-inputs": "dq dv dbeta dk",
    "eq-grad-token-decay": "dg",
}  # fmt: skip
NAMES = {  # of the letters of a token, on the page
    "S": r"\mathbf{S}_{t-1}", "alpha": r"\alpha_t", "beta": r"\beta_t", "after": r"\mathbf{S}_t",
    "dS": r"\mathrm{d}\mathbf{S}_t", "dS_before": r"\mathrm{d}\mathbf{S}_{t-1}",
    "Lambda": r"\boldsymbol{\Lambda}_t", "faded": r"\alpha_t\mathbf{S}_{t-1}",
} | {
    name: lambda at, tex=tex: at(tex)[:, 0]
    for name, tex in {
        "k": r"\boldsymbol{k}_t", "q": r"\boldsymbol{q}_t", "v": r"\boldsymbol{v}_t",
        "z": r"\boldsymbol{z}_t", "delta": r"\boldsymbol{\delta}_t",
        "do": r"\mathrm{d}\boldsymbol{o}_t",
        "missing": r"\boldsymbol{v}_t - \alpha_t\mathbf{S}_{t-1}\boldsymbol{k}_t",
        "dk_reading": r"-\beta_t\,\alpha_t\mathbf{S}_{t-1}^\top\boldsymbol{z}_t",
        "dk_read": r"\boldsymbol{\Lambda}_t^\top\boldsymbol{\delta}_t",
    }.items()
}  # fmt: skip
for table, labels, names in ((BACKWARD, PRINTED, None), (TOKEN, OF_A_TOKEN, NAMES)):
    for label, made in labels.items():
        for of, line in enumerate(made.split()):
            system = r"(\mathbf{I} + \tilde{\mathbf{A}})^\top" if line == "Z" else ""
            lines.printed_as(table[line], label, of, system, names)


@dataclass(frozen=True, eq=False)
class Loss:
    """A linear loss: the gradients of the outputs and of the last state."""

    dO: object  # [T, d_v]
    dS: object  # [d_v, d_k]


def solve_transposed(A, X):
    """`(I + A)^-T X` by substitution from the last row up."""
    return solve(A[::-1, ::-1].T, X[::-1])[::-1]


def row_sums(X):
    """The sum of each row."""
    return X @ np.ones(X.shape[1], dtype=np.int64)


def total(X):
    """The sum of all entries, as an array of one."""
    return row_sums(row_sums(X)[None, :])


def from_here_on(x):
    """Entry r is the sum of the entries r, r + 1, ..."""
    return ones_below(len(x), 0).T @ x


def backward(tokens, loss, form=BACKWARD):
    """The chunks of the sequence with their gradients, the first chunk first."""
    dS, done, end = loss.dS, [], len(tokens.alpha)
    for x in reversed(chunks(tokens, form)):
        start = end - len(x.alpha)
        done.append(Chunk(**vars(x), dO=loss.dO[start:end], dS_next=dS))
        dS, end = done[-1].dS, start
    return done[::-1]


def along(done, name):
    """One line of all chunks, joined along the tokens."""
    return join([getattr(x, name) for x in done], np.concatenate)


def outer(x, y):
    """`x y^T` of two vectors."""
    return x[:, None] * y[None, :]


def loop(tokens, loss, form=TOKEN):
    """Every token with its gradients, the last token first: forwards, then back."""
    names = {"q": "Q", "k": "K", "v": "V", "alpha": "alpha", "beta": "beta"}
    S, seen = tokens.S, []
    for t in range(len(tokens.alpha)):
        given = {name: getattr(tokens, many)[t] for name, many in names.items()}
        seen.append(Chunk(form, S=S, do=loss.dO[t], **given))
        S = seen[-1].after
    dS = loss.dS
    for x in reversed(seen):
        x.dS = dS
        dS = x.dS_before
    return seen


def collect(seen):
    """The gradients of all tokens as arrays."""
    stacked = {"Z": "z", "dQ": "dq", "dK": "dk", "dV": "dv"}
    arrays = {many: join([getattr(x, one) for x in seen]) for many, one in stacked.items()}
    flat = {n: join([getattr(x, n) for x in seen], np.concatenate) for n in ("dbeta", "dg")}
    return arrays | flat | {"dS": seen[0].dS_before}


@cache
def reversed_loop(tokens, loss):
    """All gradients by the token loop, walked backwards; a dict of arrays."""
    return collect(loop(tokens, loss))


class Dual:
    """A value and its rate of change along one direction: `+ - * @ .T` follow the product rule."""

    __array_ufunc__ = None

    def __init__(self, value, rate):
        self.value, self.rate = value, rate

    T = property(lambda self: Dual(self.value.T, self.rate.T))

    def __getitem__(self, index):
        return Dual(self.value[index], self.rate[index])

    def __add__(self, other):
        return Dual(self.value + other.value, self.rate + other.rate)

    def __sub__(self, other):
        return Dual(self.value - other.value, self.rate - other.rate)

    def __mul__(self, other):
        return Dual(self.value * other.value, self.rate * other.value + self.value * other.rate)

    def __matmul__(self, other):
        return Dual(self.value @ other.value, self.rate @ other.value + self.value @ other.rate)


@cache
def slope(tokens, loss, name, direction):
    """How fast the loss of the token loop changes along `direction` in the input `name`."""
    given = {n: getattr(tokens, n) for n in ("S", "Q", "K", "V", "alpha", "beta")}
    x = {n: Dual(value, value * 0) for n, value in given.items()}
    x[name] = Dual(given[name], direction)
    S, rate = x["S"], 0
    for t in range(len(tokens.alpha)):
        S = S * x["alpha"][t]
        delta = (x["V"][t] - S @ x["K"][t]) * x["beta"][t]
        S = S + delta[:, None] * x["K"][t][None, :]
        rate = total((loss.dO[t] * (S @ x["Q"][t]).rate)[None, :]) + rate
    return rate + total(loss.dS * S.rate)


@cache
def modular_loss(tokens, seed=1):
    rng = np.random.default_rng(seed)
    return Loss(modular.random(rng, *tokens.V.shape), modular.random(rng, *tokens.S.shape))


@cache
def small_tokens():
    """Enough tokens for the product rule, few enough to be quick."""
    return modular_tokens(C=8, d_k=6, d_v=5, number_of_chunks=2, seed=3)


@cache
def float64_loss():
    tokens, rng = float64_tokens(), np.random.default_rng(1)
    return Loss(rng.normal(size=tokens.V.shape), rng.normal(size=tokens.S.shape))


def package_inputs(tokens):
    """`q, k, v, g, beta, S` for the package, from tokens in float64."""
    return (tokens.Q, tokens.K, tokens.V, np.log(tokens.alpha), tokens.beta, tokens.S)
