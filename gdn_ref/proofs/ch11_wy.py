"""The WY form: a product of factors as one low-rank term, and its rows as a triangular system."""

import numpy as np

from .. import wy
from ..chunking import decay
from .ch11_mutants import EQUIVALENT, forms
from .data import hard_inputs, relative_error
from .registry import definition, verifies
from .symbols import D, I_k, K, U, W, alpha, beta, k, v
from .token_forms import FORM, decay_mask, first_chunk, modular_tokens, products, rows, strict

definition("eq-gdn-interaction", "How much each token's read sees of each earlier token's write.")

FACTOR = I_k - beta * k * k.T
w_new = beta * (k - W.T * K * k)
u_new = beta * (v - U.T * K * k)
u_gated_new = beta * (v - alpha * U.T * D * K * k)


@verifies(
    "eq-wy-product",
    method="algebra",
    covers="every r, d_k",
    mutants={
        "beta left out of w": {"w": k - W.T * K * k},
        "w without the earlier tokens": {"w": beta * k},
        "earlier tokens added": {"w": beta * (k + W.T * K * k)},
        "W and K swapped": {"w": beta * (k - K.T * W * k)},
        "factors in the opposite order": {"last": lambda P: FACTOR * P},
    },
)
def product_of_factors(w=w_new, last=lambda P: P * FACTOR):
    """Base, r = 1: w = beta k. Step: P^r = I - W^T K, times one factor, gains one row of W."""
    base = FACTOR - (I_k - (beta * k) * k.T)
    P = I_k - W.T * K
    step = last(P) - (P - w * k.T)
    return [base, step]


@verifies(
    "eq-wy-sum",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "beta left out of u": {"u": v - U.T * K * k},
        "u without the earlier tokens": {"u": beta * v},
        "earlier tokens added": {"u": beta * (v + U.T * K * k)},
        "earlier writes left alone": {"last": lambda H: H},
    },
)
def sum_of_writes(u=u_new, last=lambda H: H * FACTOR):
    """Base, r = 1: u = beta v. Step: H^r = U^T K, times one factor, plus one write."""
    write = beta * v * k.T
    base = write - (beta * v) * k.T
    H = U.T * K
    step = last(H) + write - (H + u * k.T)
    return [base, step]


@verifies(
    "eq-wy-w",
    method="algebra",
    covers="every r, d_k",
    mutants={
        "beta left out of A": {"row": k.T * K.T},
        "sign of A": {"row": -beta * k.T * K.T},
        "A with its diagonal": {"own": beta * k.T * k},
        "beta left out on the right": {"right": k.T},
        "Gamma in A": {"row": beta * k.T * K.T * D},
    },
)
def system_of_w(row=beta * k.T * K.T, own=0 * k.T * k, right=beta * k.T):
    """One token more borders (I + A) W = B K by a row; base, r = 0: the empty system.

    Row r + 1 of A = tril(B K K^T, -1) is beta k^T K^T, then 0 for the token itself.
    """
    w = w_new.T
    return (row * W) + (own * w) + w - right


@verifies(
    "eq-wy-w",
    method="modular",
    covers="C=64, d_k=128",
    mutants=forms("eq-wy-w"),
)
def product_at_real_size(form=FORM):
    """I - W^T K with W from the triangular system, against the product of 64 factors.

    The product has degree 3 a token, 192 in all, and so has W^T K: a wrong W passes with
    probability at most 192 / p, below 1e-16.
    """
    x = first_chunk(modular_tokens(), form)
    P, _ = products(modular_tokens())
    return np.eye(x.K.shape[1], dtype=np.int64) - x.W.T @ x.K - P


@verifies(
    "eq-wy-u",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "beta left out of A": {"row": alpha * k.T * K.T * D},
        "M for Gamma": {"row": beta * k.T * K.T},
        "Gamma without the reader's decay": {"row": beta * k.T * K.T * D},
        "sign of A": {"row": -alpha * beta * k.T * K.T * D},
        "beta left out on the right": {"right": v.T},
    },
)
def system_of_u(row=alpha * beta * k.T * K.T * D, right=beta * v.T):
    """One token more borders (I + A~) U~ = B V by a row; base, r = 0: the empty system.

    Row r + 1 of A~ = tril(B (Gamma . K K^T), -1) is beta k^T K^T diag(alpha Gamma_ri).
    """
    u = u_gated_new.T
    return row * U + u - right


@verifies(
    "eq-wy-u",
    method="modular",
    covers="C=64, d_k=128, d_v=96",
    mutants=forms("eq-wy-u"),
)
def writes_at_real_size(form=FORM):
    """U~^T diag(gamma_C / gamma_i) K against the writes of 64 tokens into an empty state.

    Degree at most 4 a token, 256 in all: a wrong U passes with probability at most 256 / p,
    about 1e-16.
    """
    x = first_chunk(modular_tokens(), form)
    _, G = products(modular_tokens())
    return x.U.T @ rows(x.Gamma[-1], x.K) - G


@verifies(
    "eq-wy-u",
    method="modular",
    covers="C=64, d_k=128, d_v=96, strict or inclusive Gamma inside A~",
    mutants={
        "Gamma with the reversed decays": {
            "change": {
                "A_gated": lambda x: rows(x.beta, strict(decay_mask(x.alpha[::-1])) * (x.K @ x.K.T))
            }
        },
        "no Gamma": {"change": {"A_gated": lambda x: x.A}},
    },
)
def strict_or_inclusive(change=EQUIVALENT["strict Gamma inside the gated A"]):
    """The diagonal of Gamma does not matter inside A~: `tril(., -1)` cuts it off."""
    return first_chunk(modular_tokens(), FORM | change).U - first_chunk(modular_tokens()).U


@verifies(
    "eq-wy-u",
    method="float64",
    covers="gdn_ref.wy.u, C=50",
    mutants={
        "the delta rule's U": {"u": lambda K, V, beta, Gamma: wy.u(K, V, beta)},
        "no solve": {"u": lambda K, V, beta, Gamma: beta[:, None] * V},
    },
)
def the_package_solves(u=wy.u):
    """The package's U~ put back into its own recursion, row by row."""
    _, K, V, g, strength, _ = hard_inputs()
    Gamma = decay(g)[1]
    U = u(K, V, strength, Gamma)
    recursion = [
        strength[t] * (V[t] - (Gamma[t, :t] * (K[:t] @ K[t])) @ U[:t]) for t in range(len(V))
    ]
    return relative_error(U, np.stack(recursion))
