"""A chunk as a map of states, and maps that compose."""

import numpy as np
from sympy import MatrixSymbol, symbols

from .. import affine, gated_delta_rule
from .data import hard_inputs, relative_error
from .registry import verifies
from .symbols import I_k, K, S, U, W, d_k, d_v, r
from .token_forms import FORM, first_chunk, modular_tokens, recurrence, rows, solve

gamma_C = symbols("gamma_C")
Dg = MatrixSymbol("D_gamma", r, r)  # diag(gamma_i): equal to its transpose
TO_END = gamma_C * Dg.I  # diag(gamma_C / gamma_i)
F_chunk = gamma_C * (I_k - W.T * K)
G_chunk = U.T * TO_END * K


@verifies(
    "eq-affine-chunk",
    method="algebra",
    covers="every C, d_k, d_v",
    mutants={
        "F without the decay": {"F": I_k - W.T * K},
        "F with W decayed too": {"F": gamma_C * (I_k - W.T * Dg * K)},
        "F transposed": {"F": gamma_C * (I_k - K.T * W)},
        "G without the decay": {"G": U.T * K},
        "G decayed from the start": {"G": U.T * Dg * K},
    },
)
def chunk_is_affine(F=F_chunk, G=G_chunk):
    """S' = gamma_C S + E^T De K with E = U~ - Dg W S^T, sorted by S: Dg De = gamma_C I."""
    E_T = U.T - S * W.T * Dg
    S_next = gamma_C * S + E_T * TO_END * K
    return S_next - (S * F + G)


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
    tokens = modular_tokens(number_of_chunks=1)
    x = first_chunk(tokens, form)
    F = (np.eye(x.K.shape[1], dtype=np.int64) - x.W.T @ x.K) * x.gamma[-1]
    G = x.U.T @ rows(x.Gamma[-1], x.K)
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
    *tokens, S0 = hard_inputs()
    map_ = use(*chunk_map(*tokens[1:]))
    return relative_error(affine.apply(map_, S0), gated_delta_rule.recurrent(*tokens, S0)[1])


def _maps(count):
    F = [MatrixSymbol(f"F_{n}", d_k, d_k) for n in range(1, count + 1)]
    G = [MatrixSymbol(f"G_{n}", d_v, d_k) for n in range(1, count + 1)]
    return list(zip(F, G, strict=True))


@verifies(
    "eq-affine-compose",
    method="algebra",
    covers="every d_k, d_v",
    mutants={
        "factors swapped": {
            "compose": lambda first, then: (then[0] * first[0], first[1] * then[0] + then[1])
        },
        "first write not carried": {
            "compose": lambda first, then: (first[0] * then[0], first[1] + then[1])
        },
        "second write carried instead": {
            "compose": lambda first, then: (first[0] * then[0], then[1] * first[0] + first[1])
        },
    },
)
def composition(compose=lambda first, then: (first[0] * then[0], first[1] * then[0] + then[1])):
    """Two maps in a row are one map, and three may be grouped either way."""
    one, two, three = _maps(3)
    F, G = compose(one, two)
    in_a_row = (S * one[0] + one[1]) * two[0] + two[1]
    left = compose(compose(one, two), three)
    right = compose(one, compose(two, three))
    return [in_a_row - (S * F + G), left[0] - right[0], left[1] - right[1]]


@verifies(
    "eq-affine-compose",
    method="float64",
    covers="gdn_ref.affine.compose and scan, 5 chunks of 10 tokens",
    mutants={
        "composed in the opposite order": {
            "compose": lambda first, then: affine.compose(then, first)
        },
        "second map only": {"compose": lambda first, then: then},
    },
)
def the_package_composes(compose=affine.compose):
    """Maps of five chunks, grouped ((1 2) (3 (4 5))), against the token loop."""
    *tokens, S0 = hard_inputs()
    parts = [slice(start, start + 10) for start in range(0, 50, 10)]
    maps = [affine.chunk_map(*(x[part] for x in tokens[1:])) for part in parts]
    tree = compose(compose(maps[0], maps[1]), compose(maps[2], compose(maps[3], maps[4])))
    return relative_error(affine.apply(tree, S0), gated_delta_rule.recurrent(*tokens, S0)[1])
