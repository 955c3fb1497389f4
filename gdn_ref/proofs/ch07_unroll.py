"""Chapter 7: what r tokens of the delta rule make of a state, and maps that compose.

Induction steps take one more token after any r tokens; the matrices so far stay symbols.
"""

import numpy as np
from sympy import MatrixSymbol, ZeroMatrix

from .. import affine, delta_rule
from . import lines
from .data import hard_inputs, relative_error
from .modular import join
from .page import on_page
from .registry import definition, verifies
from .symbols import FACTOR, WRITE, I_k, S, beta, d_k, d_v, k, v
from .token_forms import modular_tokens

definition(
    "eq-delta-products",
    "What r tokens do to the state they receive, and what they write into an empty one.",
)

P = MatrixSymbol("P", d_k, d_k)
H = MatrixSymbol("H", d_v, d_k)
SO_FAR = {  # the products over the tokens before the last
    x: lambda at, x=x: at(rf"\mathbf{{{x}}}^{{{at.n - 1}}}") for x in "PHFG"
}


def products(K, V, beta, sign=-1, write=lambda b: b):
    """`P` and `H` of all tokens, one factor after the other, in any arithmetic."""
    P, H = np.eye(K.shape[1], dtype=np.int64), V[:1].T @ K[:1] * 0
    for t in range(len(K)):
        k = K[t : t + 1]  # a row
        P = P + sign * ((P @ k.T) @ k) * beta[t]
        H = H + sign * ((H @ k.T) @ k) * beta[t] + (V[t : t + 1].T @ k) * write(beta[t])
    return P, H


def token_loop(x):
    """All states of the delta rule, `[T + 1, d_v, d_k]`, in any arithmetic."""
    states = [x.S]
    for t in range(len(x.K)):
        S, k = states[-1], x.K[t]
        delta = (x.V[t] - S @ k) * x.beta[t]
        states.append(S + delta[:, None] * k[None, :])
    return join(states)


@verifies(
    "eq-delta-unrolled",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "newest factor on the left": {"P_next": FACTOR * P},
        "earlier writes left alone": {"H_next": H + WRITE},
        "the new write erased too": {"H_next": (H + WRITE) * FACTOR},
        "nothing written": {"H_next": H * FACTOR},
        "factors of the wrong sign": {
            "P_next": P * (I_k + beta * k * k.T),
            "H_next": H * (I_k + beta * k * k.T) + WRITE,
        },
        "beta left out of the write": {"H_next": H * FACTOR + v * k.T},
    },
)
def unrolled(P_next=P * FACTOR, H_next=H * FACTOR + WRITE):
    """Base, r = 0: the empty product P = I and the empty sum H = 0 leave S. Step: a token reads,
    corrects and writes (eq-delta-rule-recurrence), which takes S P + H to S P' + H'.
    """
    state = S * P + H
    base = state.subs({P: I_k, H: ZeroMatrix(d_v, d_k)}) - S
    step = state + beta * (v - state * k) * k.T - (S * P_next + H_next)
    on_page("eq-delta-unrolled", S * P_next + H_next, letters=SO_FAR)
    return [base, step]


@verifies(
    "eq-delta-unrolled",
    method="modular",
    covers="64 tokens, d_k=64, d_v=48",
    mutants={
        "newest factor on the left": {"use": lambda P, H: (P.T, H)},
        "nothing written": {"use": lambda P, H: (P, H * 0)},
        "factors of the wrong sign": {"sign": 1},
        "beta left out of the write": {"write": lambda b: b * 0 + 1},
    },
)
def unrolled_at_real_size(use=lambda P, H: (P, H), **changed):
    """S P + H, multiplied out factor by factor, against 64 tokens: degree at most 193.

    The factors are symmetric, so the product in the opposite order is the transpose.
    """

    def after(x):
        P, H = use(*products(x.K, x.V, x.beta, **changed))
        return x.S @ P + H

    on_page("eq-delta-unrolled", lambda at: after(lines.so_far(at)))
    x = modular_tokens(d_k=64, d_v=48, number_of_chunks=1)
    return after(x) - token_loop(x)[len(x.K)]


@verifies(
    "eq-delta-unrolled",
    method="float64",
    covers="gdn_ref.delta_rule.recurrent, 50 tokens, d_k=12, d_v=7",
    mutants={
        "tokens in the opposite order": {"order": slice(None, None, -1)},
        "no state": {"keep": 0},
    },
)
def the_package_unrolls(order=slice(None), keep=1):
    """S P + H against the package's loop."""

    def after(S, K, V, beta):
        P, H = products(K[order], V[order], beta[order])
        return keep * S @ P + H

    def printed(at):
        x = lines.so_far(at)
        return after(x.S, x.K, x.V, x.beta)

    on_page("eq-delta-unrolled", printed)
    q, K, V, _, strength, S0 = hard_inputs()
    return relative_error(after(S0, K, V, strength), delta_rule.recurrent(q, K, V, strength, S0)[1])


def maps(count):
    """`count` affine maps, every matrix a symbol."""
    names = range(1, count + 1)
    return [(MatrixSymbol(f"F_{n}", d_k, d_k), MatrixSymbol(f"G_{n}", d_v, d_k)) for n in names]


@verifies(
    "eq-affine-compose",
    method="algebra",
    covers="every d_k, d_v",
    mutants={
        "in the opposite order": {
            "compose": lambda first, then: (then[0] * first[0], then[1] * first[0] + first[1])
        },
        "factors swapped": {
            "compose": lambda first, then: (then[0] * first[0], first[1] * then[0] + then[1])
        },
        "first write not carried": {
            "compose": lambda first, then: (first[0] * then[0], first[1] + then[1])
        },
    },
)
def composition(compose=lambda first, then: (first[0] * then[0], first[1] * then[0] + then[1])):
    """Two maps in a row are one map; and the writes of three may be grouped either way."""
    one, two, three = maps(3)
    F, G = compose(one, two)
    in_a_row = (S * one[0] + one[1]) * two[0] + two[1]
    left = compose(compose(one, two), three)
    right = compose(one, compose(two, three))
    names = {f"{x}_{n}": rf"\mathbf{{{x}}}_{n}" for x in "FG" for n in (1, 2)}
    on_page("eq-affine-compose", (F, G), letters=names)
    return [in_a_row - (S * F + G), left[1] - right[1]]


def token_maps(K, V, beta):
    """Each token of the delta rule as a dense map `(I - beta k k^T, beta v k^T)`."""
    identity = np.eye(K.shape[1])
    return [
        (identity - b * np.outer(k, k), b * np.outer(v, k))
        for k, v, b in zip(K, V, beta, strict=True)
    ]


def tree(maps, compose=affine.compose):
    """All maps as one: neighbours are merged, level by level."""
    while len(maps) > 1:
        pairs = zip(maps[::2], maps[1::2], strict=False)
        odd = maps[len(maps) - len(maps) % 2 :]
        maps = [compose(*pair) for pair in pairs] + odd
    return maps[0]


def capped(rank):
    """A composition that keeps the `rank` largest singular values of `I - F`: not exact."""

    def compose(first, then):
        F, G = affine.compose(first, then)
        identity = np.eye(len(F))
        left, values, right = np.linalg.svd(identity - F)
        return identity - (left[:, :rank] * values[:rank]) @ right[:rank], G

    return compose


@verifies(
    "eq-affine-compose",
    method="float64",
    covers="gdn_ref.affine.compose, a tree of 50 tokens",
    mutants={
        "in the opposite order": {"compose": lambda first, then: affine.compose(then, first)},
        "second map only": {"compose": lambda first, then: then},
    },
)
def the_package_composes(compose=affine.compose):
    """The maps of 50 tokens, merged in a tree, against the token loop."""
    q, K, V, _, strength, S0 = hard_inputs()
    whole = tree(token_maps(K, V, strength), compose)
    names = [[rf"\mathbf{{{x}}}_{n}" for x in "FG"] for n in (1, 2)]
    printed = lambda at: compose(*(tuple(map(at, pair)) for pair in names))
    on_page("eq-affine-compose", printed, floats=True)
    return relative_error(affine.apply(whole, S0), delta_rule.recurrent(q, K, V, strength, S0)[1])
