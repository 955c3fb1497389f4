"""The gated delta rule unrolled: what r tokens do to a state, and what they write."""

import numpy as np
from sympy import MatrixSymbol, ZeroMatrix

from . import lines
from .ch07_unroll import SO_FAR
from .page import on_page
from .registry import definition, verifies
from .symbols import D, I_k, K, S, U, alpha, beta, d_k, d_v, gamma, k, no_tokens, v
from .token_forms import decay_from_start, modular_tokens, products_of, recurrence

definition("eq-gdn-products", "The two parts of a chunk: what it does to a state, what it writes.")

P = MatrixSymbol("P", d_k, d_k)
F = MatrixSymbol("F", d_k, d_k)
G = MatrixSymbol("G", d_v, d_k)
FACTOR = I_k - beta * k * k.T  # what one token does to a state, decay apart
WRITE = beta * v * k.T  # what one token adds to it


@verifies(
    "eq-gdn-unrolled",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "factors in the opposite order": {"F_next": alpha * FACTOR * F},
        "earlier writes left alone": {"G_next": G + WRITE},
        "earlier writes not decayed": {"G_next": G * FACTOR + WRITE},
        "the write transformed too": {"G_next": alpha * (G + WRITE) * FACTOR},
        "factors of the wrong sign": {
            "F_next": alpha * F * (I_k + beta * k * k.T),
            "G_next": alpha * G * (I_k + beta * k * k.T) + WRITE,
        },
        "beta left out of the write": {"G_next": alpha * G * FACTOR + v * k.T},
    },
)
def unrolled(F_next=alpha * F * FACTOR, G_next=alpha * G * FACTOR + WRITE):
    """Base, r = 0: the empty product F = I and the empty sum G = 0 leave S. Step: a token decays,
    reads, corrects and writes (eq-gdn-step), which takes S F + G to S F' + G'.
    """
    state = S * F + G
    base = state.subs({F: I_k, G: ZeroMatrix(d_v, d_k)}) - S
    faded = alpha * state
    step = faded + beta * (v - faded * k) * k.T - (S * F_next + G_next)
    on_page("eq-gdn-unrolled", S * F_next + G_next, letters=SO_FAR)
    return [base, step]


@verifies(
    "eq-gdn-unrolled",
    method="modular",
    covers="C=64, d_k=128, d_v=96",
    mutants={
        "F without the decay": {"F": lambda P, gamma: P},
        "factors in the opposite order": {"F": lambda P, gamma: P.T * gamma},
        "nothing written": {"writes": 0},
    },
)
def unrolled_at_real_size(F=lambda P, gamma: P * gamma, writes=1):
    """S F + G, both multiplied out factor by factor, against 64 tokens: degree at most 257."""

    def after(x):
        P, G = products_of(x)
        return x.S @ F(P, decay_from_start(x.alpha)[-1]) + G * writes

    on_page("eq-gdn-unrolled", lambda at: after(lines.so_far(at)))
    tokens = modular_tokens(number_of_chunks=1)
    return after(tokens) - recurrence(tokens)[2]


@verifies(
    "eq-gdn-transition",
    method="algebra",
    covers="every r, d_k",
    mutants={
        "gamma without the new token": {"gamma_next": gamma},
        "alpha counted twice": {"gamma_next": gamma * alpha**2},
        "factors in the opposite order": {"P_next": FACTOR * P},
    },
)
def decays_leave_the_product(gamma_next=gamma * alpha, P_next=P * FACTOR):
    """Base, r = 0: F = P = I, gamma = 1. Step: scalars commute with matrices,
    F' = (gamma P) alpha (I - beta k k^T) = gamma' P', multiplied out.
    """
    base = (gamma * P).subs({gamma: 1, P: I_k}) - I_k
    F_next = (gamma * P) * (alpha * I_k - alpha * beta * k * k.T)
    on_page("eq-gdn-transition", gamma_next * P_next, letters=SO_FAR)
    return [base, F_next.expand() - (gamma_next * P_next).expand()]


@verifies(
    "eq-gdn-transition",
    method="modular",
    covers="64 tokens, d_k=32",
    mutants={
        "gamma without the new token": {"late": 1},
        "alpha counted twice": {"power": 2},
        "factors in the opposite order": {"order": lambda P: P.T},
    },
)
def decays_leave_the_product_at_real_size(late=0, power=1, order=lambda P: P):
    """The factors with their decays, one after the other, against gamma_r P^r: degree at most 256.

    The factors are symmetric, so the product in the opposite order is the transpose.
    """
    tokens = modular_tokens(d_k=32, d_v=2, number_of_chunks=1)
    F = np.eye(tokens.K.shape[1], dtype=np.int64)
    for t in range(len(tokens.K)):
        key = tokens.K[t : t + 1]  # a row
        F = (F - ((F @ key.T) @ key) * tokens.beta[t]) * tokens.alpha[t]

    def taken_out(x):
        gamma = decay_from_start(x.alpha)[-1 - late]
        return order(products_of(x)[0]) * (gamma if power == 1 else gamma * gamma)

    on_page("eq-gdn-transition", lambda at: taken_out(lines.so_far(at)))
    return F - taken_out(tokens)


@verifies(
    "eq-gdn-writes",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "u of the delta rule": {"u": beta * (v - U.T * K * k)},
        "Gamma without the reader's decay": {"u": beta * (v - U.T * D * K * k)},
        "beta left out of u": {"u": v - alpha * U.T * D * K * k},
        "old writes added": {"u": beta * (v + alpha * U.T * D * K * k)},
        "earlier writes not decayed": {"earlier": U.T * D * K},
    },
)
def writes(u=beta * (v - alpha * U.T * D * K * k), earlier=alpha * U.T * D * K):
    """Base, r = 0: nothing. Step: G^r = U^T D K, with D = diag(Gamma_ri), gains one row of U.

    The new row of Gamma is alpha times the old one, and 1 for the token itself.
    """
    G_r = U.T * D * K
    base = no_tokens(G_r) - ZeroMatrix(d_v, d_k)
    step = alpha * G_r * FACTOR + WRITE - (earlier + u * k.T)
    on_page("eq-gdn-writes", earlier + u * k.T)
    on_page("eq-gdn-writes", u, of=1)
    return [base, step]
