"""Chapter 15: work in pieces. Padding, slices of the values, blocks of the inverse, segments."""

import numpy as np

from .. import affine, gated_delta_rule
from ..chunking import decay
from . import modular
from .data import hard_inputs, relative_error, worst
from .page import on_page
from .registry import verifies
from .token_forms import rows, solve, strict


@verifies(
    "eq-padding-token",
    method="float64",
    covers="50 tokens in a tile of 64, d_k = 12, d_v = 7",
    mutants={
        "the state fades a little": {"kept": 0.99},
        "its deltas are 1": {"delta_pad": 1},
    },
    inputs={
        "padding that decays": {"g_pad": -0.1},
        "padding that repeats the last token": {"repeat": True},
        "padding that writes": {"beta_pad": 1.0, "repeat": True},
        "a value at an empty key": {"beta_pad": 1.0, "v_pad": 1.0},
    },
)
def missing_tokens_change_nothing(
    kept=1, delta_pad=0, g_pad=0.0, beta_pad=None, v_pad=0.0, repeat=False
):
    """Outputs and state of the chunk without its padding, and the padding's deltas, which are 0."""

    def corrections(S, k, v, gamma, Gamma, beta):
        A = strict(rows(beta, Gamma * (k @ k.T)))
        return solve(A, rows(beta, v - rows(gamma, k @ S.T)))

    def of_one_token(at):
        """Of the page's token, as a chunk of its own; where g is 0 it does not decay."""
        k, v = (at(rf"\boldsymbol{{{x}}}_t").T for x in "kv")
        gamma = np.array([np.exp(float(at("g_t"))) if at("g_t") != 0 else 1])
        beta = np.array([at(r"\beta_t")])
        return corrections(at(r"\mathbf{S}_{t-1}"), k, v, gamma, np.eye(1, dtype=int), beta).T

    nothing = lambda at: 0 * at(r"\boldsymbol{v}_t") + delta_pad
    on_page("eq-padding-token", of_one_token, nothing)
    on_page("eq-padding-token", lambda at: kept * at(r"\mathbf{S}_{t-1}"), of=1)
    q, k, v, g, beta, S = hard_inputs(T=50)

    def longer(x, fill=0.0):
        last = x[-1:] if repeat else np.full_like(x[-1:], fill)
        return np.concatenate([x, np.repeat(last, 14, axis=0)])

    g_long = np.concatenate([g, np.full(14, g_pad)])
    beta_long = longer(beta)
    if beta_pad is not None:
        beta_long[50:] = beta_pad
    k_long, v_long = longer(k), longer(v, v_pad)
    O, S_next = gated_delta_rule.chunk(S, longer(q), k_long, v_long, g_long, beta_long)
    delta = corrections(S, k_long, v_long, *decay(g_long), beta_long)
    right, last = gated_delta_rule.chunk(S, q, k, v, g, beta)
    error = worst((O[:50], S_next), (right, kept * last))
    return max(error, np.abs(delta[50:] - delta_pad).max())


@verifies(
    "eq-value-slices",
    method="float64",
    covers="slices of 1, 3 and 8 rows, d_k = 12, d_v = 24",
    mutants={
        "keys cut instead": {"axis": 1},
        "rows of S one slice late": {"shift": 1},
    },
)
def rows_of_the_state_never_meet(axis=0, shift=0):

    def sliced(S, q, k, v, g, beta, rows):
        return gated_delta_rule.chunk(np.roll(S, shift, axis=0)[rows], q, k, v[:, rows], g, beta)

    def printed(at):
        names = (
            r"\mathbf{S}_{J:}",
            r"\mathbf{Q}",
            r"\mathbf{K}",
            r"\mathbf{V}_{:J}",
            "g",
            r"\beta",
        )
        return sliced(*map(at, names), slice(None))

    on_page("eq-value-slices", printed)
    q, k, v, g, beta, S = hard_inputs(T=40, d_k=12, d_v=24)
    O, S_next = gated_delta_rule.chunk(S, q, k, v, g, beta)
    errors = []
    for start, end in ((0, 1), (5, 8), (16, 24)):
        rows = slice(start, end)
        if axis == 1:
            part = gated_delta_rule.chunk(S[:, :end], q[:, :end], k[:, :end], v, g, beta)
            errors.append(relative_error(part[0], O))
            continue
        part = sliced(S, q, k, v, g, beta, rows)
        errors.append(worst(part, (O[:, rows], S_next[rows])))
    return max(errors)


def block(A, a, b, n=16):
    return A[n * a : n * (a + 1), n * b : n * (b + 1)]


def left_of_the_diagonal(T_aa, row, column, first=0, left=True):
    """A block of the inverse, transposed, from those above it in its column (eq-inverse-row)."""
    X = T_aa - T_aa
    for A_ab, T_be in list(zip(row, column, strict=True))[first:]:
        X = X + T_be @ A_ab.T
    return -(X @ T_aa) if left else -(T_aa @ X)


def inverse_by_rows_of_blocks(A, first=0, left=True, n=16):
    """`(I + A)^-1` as `ut_transform_16bit_kernel` finds it: each product is transposed."""
    blocks = len(A) // n
    identity = modular.Mod(np.eye(n, dtype=np.uint64))
    zero = identity - identity
    transposes = {}
    for a in range(blocks):
        transposes[a, a] = _substitute(block(A, a, a, n), identity).T
        for e in range(a):
            row = [block(A, a, b, n) for b in range(e, a)]
            column = [transposes[b, e] for b in range(e, a)]
            transposes[a, e] = left_of_the_diagonal(transposes[a, a], row, column, first, left)
    rows = [
        modular.join([transposes[a, b].T if b <= a else zero for b in range(blocks)],
                     np.concatenate, 1)
        for a in range(blocks)
    ]  # fmt: skip
    return modular.join(rows, np.concatenate, 0)


def _substitute(A, identity):
    rows = []
    for s in range(len(A)):
        row = identity[s : s + 1]
        if rows:
            row = row - A[s : s + 1, :s] @ modular.join(rows, np.concatenate, 0)
        rows.append(row)
    return modular.join(rows, np.concatenate, 0)


@verifies(
    "eq-inverse-row",
    method="modular",
    covers="C = 64 in four blocks of 16",
    mutants={
        "the sum begins after e": {"first": 1},
        "T_aa on the other side": {"left": False},
    },
)
def a_row_of_blocks_at_a_time(first=0, left=True):
    """(I + A) times the result, less I."""

    def printed(at):
        a, between = at("a"), range(at("e"), at("a"))
        row = [at(rf"\mathbf{{A}}_{{{a},{b}}}") for b in between]
        column = [at(rf"\mathbf{{X}}_{{{b},e}}").T for b in between]
        return left_of_the_diagonal(at(r"\mathbf{X}_{aa}").T, row, column, first, left).T

    on_page("eq-inverse-row", printed)
    A = modular.random(np.random.default_rng(15), 64, 64)
    A = modular.Mod(np.tril(A.residues, -1))
    identity = modular.Mod(np.eye(64, dtype=np.uint64))
    product = (identity + A) @ inverse_by_rows_of_blocks(A, first, left)
    return (product != identity).astype(int)


@verifies(
    "eq-segment-rows",
    method="float64",
    covers="a segment of 48 tokens in chunks of 16, d_k = 12, d_v = 7",
    mutants={
        "values beside F": {"below": "ones"},
        "F from the empty state": {"start": 0.0},
    },
)
def maps_are_states_of_more_rows(below="none", start=1.0):
    """G above F, scanned as one state, against the composed maps of the chunks."""

    def scanned(k, v, g, beta, no_values):
        """The state after the tokens, of both kinds of rows."""
        d_k, d_v = k.shape[1], v.shape[1]
        rows = np.concatenate([np.zeros((d_v, d_k)), start * np.eye(d_k)])
        values = np.concatenate([v, no_values(d_k)], axis=1)
        return gated_delta_rule.chunkwise(k, k, values, g, beta, rows, chunk_size=16)[1]

    filling = np.zeros if below == "none" else np.ones
    names = (r"\mathbf{K}", r"\mathbf{V}", "g", r"\beta")
    on_page(
        "eq-segment-rows",
        lambda at: scanned(*map(at, names), lambda d: filling((len(at("g")), d))),
    )
    _, k, v, g, beta, _ = hard_inputs(T=48)
    parts = [slice(n, n + 16) for n in range(0, 48, 16)]
    F, G = affine.scan([affine.chunk_map(k[p], v[p], g[p], beta[p]) for p in parts])[-1]
    both = scanned(k, v, g, beta, lambda d: filling((48, d)))
    return worst((both[:7], both[7:]), (G, F))
