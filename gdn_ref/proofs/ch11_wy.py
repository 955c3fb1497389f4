"""The writes of a chunk with decay, as a triangular system."""

import numpy as np

from .. import wy
from ..chunking import decay
from . import lines
from .ch11_mutants import EQUIVALENT, forms
from .data import hard_inputs, relative_error
from .page import on_page
from .registry import definition, verifies
from .symbols import D, K, U, alpha, beta, k, v
from .token_forms import FORM, decay_mask, first_chunk, modular_tokens, products, rows, strict

definition("eq-gdn-interaction", "How much each token's read sees of each earlier token's write.")

u_gated_new = beta * (v - alpha * U.T * D * K * k)


@verifies(
    "eq-wy-u",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "gated A without beta": {"row": alpha * k.T * K.T * D},
        "ungated solve (the delta rule's U)": {"row": beta * k.T * K.T},
        "gated A without the reader's decay": {"row": beta * k.T * K.T * D},
        "gated A of the opposite sign": {"row": -alpha * beta * k.T * K.T * D},
        "no beta on the right of U": {"right": v.T},
    },
)
def system_of_u(row=alpha * beta * k.T * K.T * D, right=beta * v.T):
    """One token more borders (I + A~) U~ = B V by a row; base, r = 0: the empty system.

    Row r + 1 of A~ = tril(B (Gamma . K K^T), -1) is beta k^T K^T diag(alpha Gamma_ri).
    """
    u = u_gated_new.T
    on_page("eq-wy-u", row * U + u, right, row=True)
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
        "gated A with the reversed decays": {
            "change": {
                "A_gated": lambda x: rows(x.beta, strict(decay_mask(x.alpha[::-1])) * (x.K @ x.K.T))
            }
        },
        "ungated solve (the delta rule's U)": {"change": {"A_gated": lambda x: x.A}},
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
        "ungated solve (the delta rule's U)": {"u": lambda K, V, beta, Gamma: wy.u(K, V, beta)},
        "no solve": {"u": lambda K, V, beta, Gamma: beta[:, None] * V},
    },
)
def the_package_solves(u=wy.u):
    """The package's U~ put back into its own recursion, row by row."""

    def printed(at):
        x = lines.tokens(at)
        return np.atleast_2d(at(r"\mathbf{I} + \tilde{\mathbf{A}}")) @ u(x.K, x.V, x.beta, x.Gamma)

    on_page("eq-wy-u", printed, floats=True)
    _, K, V, g, strength, _ = hard_inputs()
    Gamma = decay(g)[1]
    U = u(K, V, strength, Gamma)
    recursion = [
        strength[t] * (V[t] - (Gamma[t, :t] * (K[:t] @ K[t])) @ U[:t]) for t in range(len(V))
    ]
    return relative_error(U, np.stack(recursion))
