"""Decay inside the triangular systems: A~ is similar to A, and what that means for W."""

import numpy as np
from sympy import MatrixSymbol, exp, symbols

from .ch11_mutants import EQUIVALENT, MUTANTS, forms
from .modular import reciprocal
from .page import ALL, on_page
from .registry import verifies
from .symbols import I_r, W, beta, r
from .token_forms import FORM, first_chunk, modular_tokens, polynomial_tokens, rows, solve

A = MatrixSymbol("A", r, r)  # strictly lower triangular
c_r, c_i, overlap = symbols("c_r c_i kappa")  # cumulative log-decays, and k_r^T k_i
gamma_r, one_over_gamma_i, Gamma_ri = exp(c_r), exp(-c_i), exp(c_r - c_i)


@verifies(
    "eq-gdn-similarity",
    method="algebra",
    covers="every entry r > i of every C, decays not zero, as the equation needs",
    mutants={
        "the inverse on the left": {"left": exp(-c_r), "right": exp(c_i)},
        "rows only": {"right": 1},
        "columns only": {"left": 1},
        "Gamma transposed": {"Gamma": exp(c_i - c_r)},
    },
)
def similar(left=gamma_r, right=one_over_gamma_i, Gamma=Gamma_ri):
    """Entry (r, i) of A~ is beta_r Gamma_ri kappa; of Dg A Dg^-1, gamma_r beta_r kappa / gamma_i.

    On and above the diagonal both are zero. Multiplied by Dg on the right, the equation holds for
    decays of zero too; `At_Dgamma` of formal/decay.v proves that.
    """
    divided = left * (beta * overlap) * right

    def printed(at):
        tokens = range(1, at("C") + 1)
        c = [np.log(float(at(rf"\gamma_{{{t}}}"))) for t in tokens]

        def entry(r, i):
            keys = at(rf"\boldsymbol{{k}}_{{{r}}}^\top\boldsymbol{{k}}_{{{i}}}")
            letters = {c_r: c[r - 1], c_i: c[i - 1], beta: at(rf"\beta_{{{r}}}"), overlap: keys}
            return float(divided.subs(letters)) if i < r else 0.0

        return np.array([[entry(r, i) for i in tokens] for r in tokens])

    on_page("eq-gdn-similarity", printed, floats=True)
    return (beta * Gamma * overlap - divided).expand()


@verifies(
    "eq-gdn-similarity",
    method="modular",
    covers="C=64, d_k=128, decays not zero",
    mutants={
        name: {"form": FORM | change}
        for name, change in MUTANTS["eq-wy-u"].items()
        if "A_gated" in change
    },
)
def similar_at_real_size(form=FORM):
    """A~ against Dg A Dg^-1, with the reciprocals of gamma exact modulo p.

    Cleared of its denominators the claim has degree at most 67.
    """
    x = first_chunk(modular_tokens(), form)
    return x.A_gated - rows(x.gamma, x.A) * reciprocal(x.gamma)[None, :]


Dg = MatrixSymbol("D_gamma", r, r)  # diagonal, so that it commutes with B
CLEARED = Dg * A  # A~ Dg, for every decay: Gamma_ri gamma_i = gamma_r (eq-decay-mask-factor)


@verifies(
    "eq-gdn-w-gated",
    method="algebra",
    covers="every C, d_k, every decay, zero included",
    mutants={
        "scaled inside and after": {"scale": Dg},
        "raw K inside": {"right": (I_r + A) * W},
        "ungated solve": {"gated": A * Dg},
        "sign of A~": {"gated": -CLEARED},
    },
)
def gated_w(scale=I_r, gated=CLEARED, right=Dg * (I_r + A) * W):
    """(I + A~) Dg W = B Dg K: A~ Dg = Dg A, and B Dg K = Dg B K = Dg (I + A) W.

    Nothing is divided. In Rocq: `gated_w` of formal/affine.v.
    """
    letters = ALL | {A: r"\mathbf{A}", Dg: r"\mathbf{D}_\gamma", "A~": r"\tilde{\mathbf{A}}"}
    solved = (I_r + MatrixSymbol("A~", r, r)).I * (Dg + gated) * scale * W
    on_page("eq-gdn-w-gated", solved, letters=letters)
    return (Dg + gated) * scale * W - right


@verifies(
    "eq-gdn-w-gated",
    method="modular",
    covers="C=64, d_k=128",
    mutants=forms("eq-wy-w")
    | {
        name: {"form": FORM | change}
        for name, change in MUTANTS["eq-gdn-delta-split"].items()
        if "W_left" in change
    },
)
def gated_w_at_real_size(form=FORM):
    """The two ways to W<: scale the rows of the ungated solve, or put gamma inside the gated.

    Both sides have degree at most 4 a token, 256 in all.
    """
    x = first_chunk(modular_tokens(), form)
    inside = EQUIVALENT["W scaled inside the gated solve"]["W_left"]
    return x.W_left - inside(x)


@verifies(
    "eq-gdn-w-gated",
    method="polynomial",
    covers="C=4, d_k=3",
    mutants={
        "gated solve on raw K, rows scaled after": {
            "inside": lambda x: rows(x.gamma, solve(x.A_gated, rows(x.beta, x.K)))
        },
        "gated solve on raw K": {"inside": lambda x: solve(x.A_gated, rows(x.beta, x.K))},
    },
)
def gated_w_entry_by_entry(inside=EQUIVALENT["W scaled inside the gated solve"]["W_left"]):
    """The same, every entry a symbol."""
    x = first_chunk(polynomial_tokens())
    return x.W_left - inside(x)
