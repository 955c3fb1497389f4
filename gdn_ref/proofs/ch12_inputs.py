"""Chapter 12: the gradients of what a chunk receives, its queries, keys, values, strengths, state.

The methods are those of `ch12_chunk`.
"""

from sympy import MatrixSymbol

from .ch12_chunk import (
    B_,
    D_,
    FADED,
    K_,
    LAMBDA,
    LATER,
    PAGE,
    Q_,
    Z_,
    at_real_size,
    delta,
    dO_,
    dS,
    forms,
    of_the_package,
    package,
    the_package,
    to_end,
    z,
)
from .ch12_form import BACKWARD, rows
from .ch12_token import do
from .page import on_page
from .registry import verifies
from .symbols import D, E, K, S, beta, d_v, gamma, k, q, v
from .token_forms import REAL_SIZE, strict

e = MatrixSymbol("delta", d_v, 1)  # the token's correction


@verifies(
    "eq-grad-query",
    method="algebra",
    covers="every number of tokens, d_k, d_v",
    mutants={
        "undecayed read of the queries": {"dq": S.T * do + K.T * D * E * do},
        "the state alone": {"dq": gamma * S.T * do},
        "sign": {"dq": gamma * S.T * do - K.T * D * E * do},
    },
)
def row_of_dQ(dq=gamma * S.T * do + K.T * D * E * do):
    """S_r^T do, with S_r = gamma S + sum Gamma_ri e_i k_i^T up to and with token r."""
    with_its_own = PAGE | {
        "K": lambda at: at(r"\mathbf{K}")[: at.n],
        "E": lambda at: at(r"\mathbf{E}")[: at.n],
    }
    on_page(
        "eq-grad-query", dq.T, letters=with_its_own | {"D": lambda at: at.decays(at.n)}, row=True
    )
    return FADED.T * do - dq


@verifies(
    "eq-grad-query",
    method="modular",
    covers=REAL_SIZE,
    mutants=forms(
        **{"scores' gradient strict": {"X": lambda x: strict(x.Gamma * (x.dO @ x.E.T))}},
        undecayed_read_of_the_queries={"dQ": lambda x: x.dO @ x.S + x.X @ x.K},
        transposed_X={"dQ": lambda x: rows(x.gamma, x.dO @ x.S) + x.X.T @ x.K},
        V_for_E={"X": lambda x: x.Gamma * (x.dO @ x.V.T)},
        no_write_strength_on_dv={"dV": lambda x: x.Z},
    ),
)
def queries_and_values(form=BACKWARD):
    """dQ and dV of every token."""
    return at_real_size(form, "dQ", "dV")


@verifies(
    "eq-grad-query",
    method="float64",
    covers="gdn_ref.backward, queries and values, chunks of 16",
    mutants=package(
        "scores' gradient strict",
        "undecayed read of the queries",
        "scores not transposed",
        "no write strength on dv",
    ),
)
def queries_and_values_of_the_package(mistake=None):
    """dq and dv of the package against the reversed loop."""
    on_page("eq-grad-query", of_the_package(mistake, "q"), floats=True)
    on_page("eq-grad-query", of_the_package(mistake, "v"), of=1, floats=True)
    return the_package(mistake, "q", "v")


@verifies(
    "eq-grad-key",
    method="algebra",
    covers="every number of tokens before and after, d_k, d_v",
    mutants={
        "own query left out": {"read": LATER.T * e},
        "not read by later keys": {"read": (LAMBDA + Z_.T * B_ * D_ * K_).T * e},
        "the old state not read": {"reading": -beta * K.T * D * E * z},
        "earlier keys not read": {"reading": -beta * gamma * S.T * z},
        "reads without beta": {"reading": -(gamma * S.T * z + K.T * D * E * z)},
    },
)
def two_roles(
    reading=-beta * gamma * S.T * z - beta * K.T * D * E * z,
    read=to_end * dS.T * e + Q_.T * D_ * dO_ * e + q * do.T * e - K_.T * D_ * B_ * Z_ * e,
):
    """dk = Lambda^T delta - beta (alpha S_{r-1})^T z, with both states written out."""
    on_page("eq-grad-key", reading.T, letters=PAGE, row=True)
    on_page("eq-grad-key", read.T, of=1, letters=PAGE, row=True)
    return [LAMBDA.T * e - read, -beta * FADED.T * z - reading]


WRONG_KEYS = {
    "scores' gradient strict": {"X": lambda x: strict(x.Gamma * (x.dO @ x.E.T))},
    "overlap's gradient inclusive": {"N": lambda x: -rows(x.beta, x.Gamma * (x.Z @ x.E.T))},
    "overlap's gradient of the other sign": {
        "N": lambda x: strict(rows(x.beta, x.Gamma * (x.Z @ x.E.T)))
    },
    "N_without_beta": {"N": lambda x: -strict(x.Gamma * (x.Z @ x.E.T))},
    "reading_only": {"dK": lambda x: x.dK_reading},
    "undecayed read of the keys": {"dK_reading": lambda x: x.N @ x.K - x.dV @ x.S},
    "next_state_left_out": {"dK_read": lambda x: x.N.T @ x.K + x.X.T @ x.Q},
}


@verifies("eq-grad-key", method="modular", covers=REAL_SIZE, mutants=forms(**WRONG_KEYS))
def keys(form=BACKWARD):
    """dK of every token."""
    return at_real_size(form, "dK")


@verifies(
    "eq-grad-key",
    method="float64",
    covers="gdn_ref.backward, keys, chunks of 16",
    mutants=package(
        "scores' gradient strict",
        "overlap's gradient inclusive",
        "undecayed read of the keys",
        "overlap's gradient of the other sign",
    ),
)
def keys_of_the_package(mistake=None):
    """dk of the package against the reversed loop."""
    on_page("eq-grad-key", of_the_package(mistake, "k"), of=2, floats=True)
    return the_package(mistake, "k")


@verifies(
    "eq-grad-beta",
    method="algebra",
    covers="every number of tokens, d_k, d_v",
    mutants={
        "earlier writes left out of dbeta": {"missing": v - gamma * S * k},
        "undecayed": {"missing": v - S * k - E.T * D * K * k},
        "the value alone": {"missing": v},
    },
)
def what_was_missing(missing=v - gamma * S * k - E.T * D * K * k):
    """delta_r = beta missing_r, and missing_r holds no beta_r: the derivative is z^T missing."""
    on_page("eq-grad-beta", z.T * missing, letters=PAGE)
    return (z.T * delta - beta * z.T * missing).expand()


@verifies(
    "eq-grad-beta",
    method="modular",
    covers=REAL_SIZE,
    mutants=forms(
        earlier_writes_left_out_of_dbeta={"missing": lambda x: x.V - x.read},
        delta_for_what_was_missing={"missing": lambda x: x.E},
        inclusive={"missing": lambda x: x.V - x.read - x.overlap @ x.E},
    ),
)
def strengths(form=BACKWARD):
    """dbeta of every token."""
    return at_real_size(form, "dbeta")


@verifies(
    "eq-grad-beta",
    method="float64",
    covers="gdn_ref.backward, chunks of 16",
    mutants=package("earlier writes left out of dbeta", "solve not transposed"),
)
def strengths_of_the_package(mistake=None):
    """dbeta of the package against the reversed loop."""
    on_page("eq-grad-beta", of_the_package(mistake, "beta"), floats=True)
    return the_package(mistake, "beta")
