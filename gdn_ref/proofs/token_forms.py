"""The chunk form as a table of equations, in any arithmetic, and the token recurrence beside it.

`FORM` has one line an equation; a mutant or an equivalent form replaces lines. The same lines run
in float64, on polynomials and modulo 2^61 - 1: only `+ - * @ .T` and slices are used, and no
ratio of decays. In each line `x` is the chunk: its tokens `Q K V alpha beta`, the state `S` it
receives, and whatever the other lines define.
"""

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from sympy import ZZ, ring

from . import lines, modular
from .data import hard_inputs, relative_error
from .modular import join


@dataclass(frozen=True, eq=False)
class Tokens:
    """A sequence, the state before it, and the size of a chunk."""

    S: object  # [d_v, d_k]
    Q: object  # [T, d_k]
    K: object  # [T, d_k]
    V: object  # [T, d_v]
    alpha: object  # [T]
    beta: object  # [T]
    chunk_size: int


FORM = {
    "gamma": lambda x: decay_from_start(x.alpha),  # eq-gamma
    "Gamma": lambda x: decay_mask(x.alpha),  # eq-decay-mask
    "A": lambda x: strict(rows(x.beta, x.K @ x.K.T)),  # eq-gdn-interaction
    "A_gated": lambda x: strict(rows(x.beta, x.Gamma * (x.K @ x.K.T))),
    "W": lambda x: solve(x.A, rows(x.beta, x.K)),  # eq-wy-w
    "U": lambda x: solve(x.A_gated, rows(x.beta, x.V)),  # eq-wy-u
    "W_left": lambda x: rows(x.gamma, x.W),  # eq-gdn-w-gated
    "E": lambda x: x.U - x.W_left @ x.S.T,  # eq-gdn-delta-split
    "scores": lambda x: x.Gamma * (x.Q @ x.K.T),
    "O": lambda x: rows(x.gamma, x.Q @ x.S.T) + x.scores @ x.E,  # eq-gdn-chunk-output
    "S_next": lambda x: (
        x.S * x.gamma[-1]  # eq-gdn-chunk-state
        + x.E.T @ rows(x.Gamma[-1], x.K)
    ),
}
lines.printed_as(FORM["W"], "eq-wy-w", system=r"\mathbf{I} + \mathbf{A}")
lines.printed_as(FORM["U"], "eq-wy-u", system=r"\mathbf{I} + \tilde{\mathbf{A}}")
lines.printed_as(FORM["A_gated"], "eq-gdn-similarity")
lines.printed_as(FORM["W_left"], "eq-gdn-w-gated")
lines.printed_as(FORM["E"], "eq-gdn-delta-split")
for name, of in (("O", 0), ("S_next", 1)):
    lines.printed_as(FORM[name], "eq-scalar-decay-chunk", of=of)
lines.printed_as(FORM["O"], "eq-gdn-chunk-output")
lines.printed_as(FORM["O"], "eq-gdn-parallel", of=1)
lines.printed_as(FORM["S_next"], "eq-gdn-chunk-state")


class Chunk:
    """One chunk: its tokens, and the lines of `form` computed when they are first asked for."""

    def __init__(self, form, **given):
        self.form = form
        vars(self).update(given)

    def __getattr__(self, name):
        if name not in self.form:
            raise AttributeError(name)
        lines.use(self.form[name])
        value = self.form[name](self)
        setattr(self, name, value)
        return value


def chunks(tokens, form=FORM):
    """All chunks of the sequence, each handing its state to the next."""
    S, done = tokens.S, []
    for start in range(0, len(tokens.alpha), tokens.chunk_size):
        part = slice(start, start + tokens.chunk_size)
        given = {name: getattr(tokens, name)[part] for name in ("Q", "K", "V", "alpha", "beta")}
        done.append(Chunk(form, S=S, **given))
        S = done[-1].S_next
    return done


def first_chunk(tokens, form=FORM):
    """The first chunk alone."""
    given = vars(tokens) | {
        name: getattr(tokens, name)[: tokens.chunk_size]
        for name in ("Q", "K", "V", "alpha", "beta")
    }
    return Chunk(form, **given)


def chunkwise(tokens, form=FORM):
    """`O`, `E` (each `[T, d_v]`) and the last state, by the chunk form."""
    done = chunks(tokens, form)
    O = join([x.O for x in done], np.concatenate)
    E = join([x.E for x in done], np.concatenate)
    return O, E, done[-1].S_next


@cache
def recurrence(tokens):
    """`O`, `E` and the last state, token by token (eq-gdn-recurrence in five steps)."""
    S, outputs, deltas = tokens.S, [], []
    for t in range(len(tokens.alpha)):
        q, k, v = tokens.Q[t], tokens.K[t], tokens.V[t]
        S = S * tokens.alpha[t]
        delta = (v - S @ k) * tokens.beta[t]
        S = S + delta[:, None] * k[None, :]
        deltas.append(delta)
        outputs.append(S @ q)
    return join(outputs), join(deltas), S


@cache
def uncorrected(tokens):
    """`O` and the last state, token by token, if values are written as they are."""
    S, outputs = tokens.S, []
    for t in range(len(tokens.alpha)):
        S = S * tokens.alpha[t] + tokens.V[t][:, None] * tokens.K[t][None, :]
        outputs.append(S @ tokens.Q[t])
    return join(outputs), S


@cache
def products(tokens):
    """`P` and `G` of the first chunk, factor by factor (eq-gdn-products, P without decay)."""
    return products_of(first_chunk(tokens))


def products_of(x):
    """The same of all tokens of `x`."""
    P, G = np.eye(x.K.shape[1], dtype=np.int64), x.S * 0
    for t in range(len(x.alpha)):
        k = x.K[t : t + 1]  # a row
        P = P - ((P @ k.T) @ k) * x.beta[t]
        G = G * x.alpha[t]
        G = G + (x.V[t : t + 1].T - G @ k.T) @ k * x.beta[t]
    return P, G


def difference(actual, expected):
    """What a check returns: the relative error in float64, `actual - expected` otherwise."""
    if actual.dtype == np.float64:
        return relative_error(actual, expected)
    return actual - expected


# The pieces of the lines, each for any arithmetic.


def rows(scale, X):
    """`diag(scale) X`."""
    return scale[:, None] * X


def ones_below(C, diagonal):
    """The 0/1 matrix that keeps the entries on and below a diagonal (0: the causal mask M)."""
    return np.tril(np.ones((C, C), dtype=np.int64), diagonal)


def strict(X):
    """`tril(X, -1)`."""
    return X * ones_below(len(X), -1)


def decay_from_start(alpha):
    """`gamma_r = alpha_1 ... alpha_r`."""
    products = [alpha[:1]]
    for r in range(1, len(alpha)):
        products.append(products[-1] * alpha[r : r + 1])
    return join(products, np.concatenate)


def decay_mask(alpha):
    """`Gamma_ri = alpha_{i+1} ... alpha_r` for `i <= r`, row r from row r - 1."""
    unit = np.eye(len(alpha), dtype=np.int64)
    mask = [alpha * 0 + unit[0]]
    for r in range(1, len(alpha)):
        mask.append(mask[-1] * alpha[r] + unit[r])
    return join(mask)


def solve(A, X):
    """`(I + A)^-1 X` by forward substitution: row r of the answer needs the rows above it."""
    answer = X[:1]
    for r in range(1, len(X)):
        row = X[r : r + 1] - A[r : r + 1, :r] @ answer
        answer = join([answer, row], np.concatenate)
    return answer


# The data of the three arithmetics.


REAL_SIZE = "C=64, two chunks, d_k=128, d_v=96"  # of `modular_tokens()`


@cache
def modular_tokens(C=64, d_k=128, d_v=96, number_of_chunks=2, seed=0):
    """Uniformly random elements modulo 2^61 - 1, and a state that is not zero."""
    rng, T = np.random.default_rng(seed), C * number_of_chunks
    shapes = ((d_v, d_k), (T, d_k), (T, d_k), (T, d_v), (T,), (T,))
    return Tokens(*(modular.random(rng, *shape) for shape in shapes), chunk_size=C)


@cache
def polynomial_tokens(C=4, d_k=3, d_v=3):
    """One chunk with a symbol in every place, the state's included; a chunk suffices, as the
    state it receives is arbitrary."""
    shapes = {"S": (d_v, d_k), "q": (C, d_k), "k": (C, d_k), "v": (C, d_v), "a": (C,), "b": (C,)}
    names = [
        f"{letter}{'_'.join(map(str, index))}"
        for letter, shape in shapes.items()
        for index in np.ndindex(shape)
    ]
    symbols = iter(ring(names, ZZ)[1:])
    arrays = []
    for shape in shapes.values():
        array = np.empty(shape, dtype=object)
        for index in np.ndindex(shape):
            array[index] = next(symbols)
        arrays.append(array)
    return Tokens(*arrays, chunk_size=C)


@cache
def float64_tokens(T=50, chunk_size=16):
    """`hard_inputs`: correlated keys, decays about .95, write strengths over (0, 2)."""
    Q, K, V, g, beta, S = hard_inputs(T)
    return Tokens(S, Q, K, V, np.exp(g), beta, chunk_size)


@cache
def without_decay(tokens):
    """The same tokens; nothing is forgotten."""
    return replace(tokens, alpha=tokens.alpha * 0 + 1)


@cache
def from_empty(tokens):
    """The same tokens, and no state before them."""
    return replace(tokens, S=tokens.S * 0)
