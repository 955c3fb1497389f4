"""Chapter 12: the gradient of the state that a chunk receives."""

from functools import cache

from sympy import MatrixSymbol, Trace

from .ch12_chunk import (
    at_real_size,
    dS,
    forms,
    of_the_package,
    package,
    the_package,
)
from .ch12_form import BACKWARD, rows
from .ch12_solve import INVERSE
from .page import ALL, on_page
from .registry import verifies
from .symbols import K, S, V, d_k, d_v, gamma, r
from .token_forms import REAL_SIZE

P, Dg, De, B = (MatrixSymbol(n, r, r) for n in ("P", "D_gamma", "D_end", "B"))
Q, dO = MatrixSymbol("Q", r, d_k), MatrixSymbol("dO", r, d_v)
WHOLE = ALL | {
    "P": r"\mathbf{P}", "D_gamma": r"\mathbf{D}_\gamma", "D_end": r"\mathbf{D}_\rightarrow",
    "B": r"\mathbf{B}", "dO": r"\mathrm{d}\mathbf{O}", "dS": r"\mathrm{d}\mathbf{S}'",
    "A": r"\tilde{\mathbf{A}}", "gamma": r"\gamma_C",
}  # fmt: skip


@cache
def derivative_by_the_state():
    solved = INVERSE * B * (V - Dg * K * S.T)
    by_outputs = Trace(dO.T * (Dg * Q * S.T + P * solved)).diff(S)
    by_state = Trace(dS.T * (gamma * S + solved.T * De * K)).diff(S)
    return by_outputs + by_state


@verifies(
    "eq-grad-state",
    method="algebra",
    covers="every C, d_k, d_v",
    mutants={
        "undecayed dS": {"carried": dS},
        "outputs left out": {"outputs": 0 * dS},
        "undecayed outputs in dS": {"outputs": dO.T * Q},
        "corrections added": {"sign": -1},
    },
)
def the_chunk_differentiated(carried=gamma * dS, outputs=dO.T * Dg * Q, sign=1):
    """sympy differentiates <dO, O> + <dS', S'> of the whole chunk by S, E written as a solve.

    B, Dg and De are symmetric.
    """
    Z = INVERSE.T * (P.T * dO + De * K * dS.T)
    claim = carried + outputs - sign * Z.T * B * Dg * K
    on_page("eq-grad-state", claim, letters=WHOLE)
    return (derivative_by_the_state() - claim).doit().subs({X.T: X for X in (B, Dg, De)})


@verifies(
    "eq-grad-state",
    method="modular",
    covers=REAL_SIZE,
    mutants=forms(
        undecayed_dS={
            "dS": lambda x: x.dS_next + rows(x.gamma, x.dO).T @ x.Q - rows(x.gamma, x.dV).T @ x.K
        },
        corrections_left_out={
            "dS": lambda x: x.dS_next * x.gamma[-1] + rows(x.gamma, x.dO).T @ x.Q
        },
        undecayed_corrections_in_dS={
            "dS": lambda x: x.dS_next * x.gamma[-1] + rows(x.gamma, x.dO).T @ x.Q - x.dV.T @ x.K
        },
    ),
)
def first_state(form=BACKWARD):
    """dS back through both chunks."""
    return at_real_size(form, "dS")


@verifies(
    "eq-grad-state",
    method="float64",
    covers="gdn_ref.backward, chunks of 16",
    mutants=package("undecayed dS", "undecayed outputs in dS", "undecayed corrections in dS"),
)
def first_state_of_the_package(mistake=None):
    """dS of the package against the reversed loop."""
    on_page("eq-grad-state", of_the_package(mistake, "S"), floats=True)
    return the_package(mistake, "S")
