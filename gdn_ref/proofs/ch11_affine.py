"""A chunk as a map of states."""

import numpy as np
from sympy import symbols

from .. import affine, gated_delta_rule
from . import lines
from .data import hard_inputs, logs, relative_error
from .page import ALL, on_page
from .registry import verifies
from .token_forms import FORM, first_chunk, modular_tokens, recurrence, rows, solve
from .words import reduce

gamma_C = symbols("gamma_C")
S, W_T, K, U_T = symbols("S W^T K U^T", commutative=False)
Dg, De = symbols("D_gamma D_end", commutative=False)  # diag(gamma_i), diag(Gamma_Ci)
F_chunk = gamma_C * (1 - W_T * K)
G_chunk = U_T * De * K
PAGE = ALL | {
    "U": r"\tilde{\mathbf{U}}", gamma_C: r"\gamma_C", De: r"\mathbf{D}_\rightarrow",
}  # fmt: skip


@verifies(
    "eq-affine-chunk",
    method="algebra",
    covers="every C, d_k, d_v, every decay, zero included",
    mutants={
        "F without the decay": {"F": 1 - W_T * K},
        "F with W decayed too": {"F": gamma_C * (1 - W_T * Dg * K)},
        "sign": {"F": gamma_C * (1 + W_T * K)},
        "G without the decay": {"G": U_T * K},
        "G decayed from the start": {"G": U_T * Dg * K},
    },
)
def chunk_is_affine(F=F_chunk, G=G_chunk):
    """S' = gamma_C S + E^T De K with E = U~ - Dg W S^T, sorted by S.

    Nothing is divided: Dg De = gamma_C I, because Gamma_Ci gamma_i = gamma_C for every decay
    (eq-decay-mask-factor). In Rocq: `chunk_map` of formal/affine.v.
    """
    E_T = U_T - S * W_T * Dg
    S_next = gamma_C * S + E_T * De * K
    on_page("eq-affine-chunk", S * F + G, letters=PAGE)
    on_page("eq-affine-chunk", F, of=1, letters=PAGE)
    on_page("eq-affine-chunk", G, of=2, letters=PAGE)
    return reduce(S_next - (S * F + G), {Dg * De: gamma_C})


@verifies(
    "eq-affine-chunk",
    method="modular",
    covers="C=64, d_k=128, d_v=96",
    mutants={
        "gated W": {"form": FORM | {"W": lambda x: solve(x.A_gated, rows(x.beta, x.K))}},
        "ungated U": {"form": FORM | {"U": lambda x: solve(x.A, rows(x.beta, x.V))}},
    },
)
def map_at_real_size(form=FORM):
    """S F + G for a random state against the state after 64 tokens: degree at most 257."""

    def map_of(x):
        F = (np.eye(x.K.shape[1], dtype=np.int64) - x.W.T @ x.K) * x.gamma[-1]
        return F, x.U.T @ rows(x.Gamma[-1], x.K)

    for n in (0, 1):
        on_page("eq-affine-chunk", lambda at, n=n: map_of(lines.run(at, form))[n], of=1 + n)
    tokens = modular_tokens(number_of_chunks=1)
    x = first_chunk(tokens, form)
    F, G = map_of(x)
    return x.S @ F + G - recurrence(tokens)[2]


@verifies(
    "eq-affine-chunk",
    method="float64",
    covers="gdn_ref.affine.chunk_map, C=50, d_k=12, d_v=7",
    mutants={
        "no decay": {"chunk_map": lambda k, v, g, beta: affine.chunk_map(k, v, 0 * g, beta)},
        "F transposed": {"use": lambda F, G: (F.T, G)},
        "no write": {"use": lambda F, G: (F, 0 * G)},
    },
)
def the_package_maps(chunk_map=affine.chunk_map, use=lambda F, G: (F, G)):
    """The package's map of a chunk, applied to a state, against the token loop."""

    def printed(at):
        x = lines.tokens(at)
        return use(*chunk_map(x.K, x.V, logs(x.alpha), x.beta))

    for n in (0, 1):
        on_page("eq-affine-chunk", lambda at, n=n: printed(at)[n], of=1 + n, floats=True)
    *tokens, S0 = hard_inputs()
    map_ = use(*chunk_map(*tokens[1:]))
    return relative_error(affine.apply(map_, S0), gated_delta_rule.recurrent(*tokens, S0)[1])
