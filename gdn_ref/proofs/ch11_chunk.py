"""The chunk form itself: what each token writes, the state after the chunk, and the outputs.

Each equation is proved twice. By algebra, one induction step at symbolic size: the reader can
follow it. And by running the whole form against the token recurrence, exactly: with every entry
a symbol (small), and modulo 2^61 - 1 at the sizes a GPU uses. The state has degree at most 4 a
token in the entries of S, K, V, alpha, beta, and one more for S: so E, S' and O of 128 tokens
differ from the recurrence's by a polynomial of degree at most 4 * 128 + 2 = 514, and a wrong
form passes modulo p with probability at most 514 / p, about 2e-16.
"""

import numpy as np

from .. import gated_delta_rule
from ..chunking import scan_chunks
from . import lines
from .ch11_mutants import EQUIVALENT, MUTANTS, ONE_SOLVE, forms
from .data import logs, relative_error
from .page import on_page
from .registry import verifies
from .symbols import D, E, I_k, K, S, U, W, alpha, beta, gamma, k, no_tokens, q, v
from .token_forms import (
    FORM,
    Chunk,
    chunkwise,
    float64_tokens,
    modular_tokens,
    polynomial_tokens,
    recurrence,
)

FACTOR = I_k - beta * k * k.T
w_new = beta * (k - W.T * K * k)
u_new = beta * (v - alpha * U.T * D * K * k)


@verifies(
    "eq-gdn-delta-split",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "W unscaled": {"scale": 1},
        "W scaled by the decay before the token": {"scale": gamma},
        "gated solve on raw K, rows scaled after": {"w": beta * (k - alpha * W.T * D * K * k)},
        "sign of W S^T": {"scale": -alpha * gamma},
        "ungated u": {"u": beta * (v - U.T * K * k)},
    },
)
def delta_split(scale=alpha * gamma, w=w_new, u=u_new):
    """delta = beta (v - alpha S_r k), with S_r = S F^r + G^r written out, is u - gamma' S w.

    The row of W< is gamma' w, with gamma' = alpha gamma the decay up to the new token.
    """
    F = gamma * (I_k - W.T * K)
    G = U.T * D * K
    delta = beta * (v - alpha * (S * F + G) * k)
    on_page("eq-gdn-delta-split", (u - scale * S * w).T, row=True)
    return delta - (u - scale * S * w)


@verifies(
    "eq-gdn-chunk-delta",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "one ungated solve": {"row": beta * k.T * K.T},
        "Gamma without the reader's decay": {"row": beta * k.T * K.T * D},
        "sign of A~": {"row": -beta * alpha * k.T * K.T * D},
        "S read undecayed": {"old": beta * k.T * S.T},
        "S read with the decay before the token": {"old": beta * gamma * k.T * S.T},
        "S read without beta": {"old": alpha * gamma * k.T * S.T},
    },
)
def one_solve(row=beta * alpha * k.T * K.T * D, old=beta * alpha * gamma * k.T * S.T):
    """Base, r = 0: no equation, and gamma S + E^T D K is S. Step: one token more borders
    (I + A~) E = B (V - Dg K S^T) by a row. Its delta, with S_r = gamma S + E^T D K, is the new
    row e of E.
    """
    state = gamma * S + E.T * D * K
    e = beta * (v - alpha * state * k)
    on_page("eq-gdn-chunk-delta", row * E + e.T, beta * v.T - old, row=True)
    return [no_tokens(state) - S, row * E + e.T - (beta * v.T - old)]


@verifies(
    "eq-gdn-chunk-state",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "state not decayed by the last token": {"old": gamma * S},
        "earlier writes not decayed by it": {"earlier": E.T * D * K},
        "earlier writes decayed twice": {"earlier": alpha**2 * E.T * D * K},
        "the write decayed too": {"write": alpha},
        "sign of the writes": {"write": -1},
    },
)
def state_after_one_more(old=alpha * gamma * S, earlier=alpha * E.T * D * K, write=1):
    """Base, r = 0: S. Step: S_r = gamma S + E^T D K, with D = diag(Gamma_ri), goes through a token.

    At r = C the row of Gamma is the decay to the chunk's end.
    """
    state = gamma * S + E.T * D * K
    e = beta * (v - alpha * state * k)
    recurrence_step = alpha * state * FACTOR + beta * v * k.T
    on_page("eq-gdn-chunk-state", old + earlier + write * e * k.T)
    return [no_tokens(state) - S, recurrence_step - (old + earlier + write * e * k.T)]


@verifies(
    "eq-gdn-chunk-output",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "M for Gamma": {"scores": q.T * K.T},
        "strict Gamma": {"own": 0 * q.T * k},
        "Gamma one token late": {"scores": q.T * K.T * D},
        "Gamma twice": {"scores": alpha * q.T * K.T * D * D},
        "Q unscaled": {"scale": 1},
        "sign of the chunk's part": {"scores": -alpha * q.T * K.T * D},
    },
)
def output_row(scale=alpha * gamma, scores=alpha * q.T * K.T * D, own=q.T * k):
    """One token more reads after its own write: its row of O is (S_r q)^T.

    Its row of Gamma is alpha times the one before, and 1 for the token itself.
    """
    state = gamma * S + E.T * D * K
    e = beta * (v - alpha * state * k)
    after = alpha * state * FACTOR + beta * v * k.T
    row = scale * q.T * S.T + scores * E + own * e.T
    on_page("eq-gdn-chunk-output", row, row=True)
    return (after * q).T - row


# The whole form against the recurrence. `chunkwise` returns O, E and the last state.

REAL_SIZE = "C=64, two chunks, d_k=128, d_v=96"
EVERY_ENTRY = "C=4, d_k=d_v=3, every entry a symbol"


def _some(label, *names):
    return {name: {"form": FORM | MUTANTS[label][name]} for name in names}


@verifies(
    "eq-gdn-delta-split", method="modular", covers=REAL_SIZE, mutants=forms("eq-gdn-delta-split")
)
def deltas_at_real_size(form=FORM):
    """E = U~ - W< S^T against the 128 deltas of the recurrence."""
    tokens = modular_tokens()
    return chunkwise(tokens, form)[1] - recurrence(tokens)[1]


@verifies(
    "eq-gdn-chunk-delta",
    method="modular",
    covers=REAL_SIZE,
    mutants=forms("eq-gdn-chunk-delta", ONE_SOLVE),
)
def one_solve_at_real_size(form=ONE_SOLVE):
    """E by one triangular solve, without W and U, against the deltas of the recurrence."""
    tokens = modular_tokens()
    return chunkwise(tokens, form)[1] - recurrence(tokens)[1]


@verifies(
    "eq-gdn-chunk-state", method="modular", covers=REAL_SIZE, mutants=forms("eq-gdn-chunk-state")
)
def state_at_real_size(form=FORM):
    """The state after two chunks; also with the rows of E scaled instead of the rows of K."""
    tokens = modular_tokens()
    last = recurrence(tokens)[2]
    scaled_E = FORM | EQUIVALENT["rows of E scaled instead of rows of K"]
    return [chunkwise(tokens, f)[2] - last for f in ([form, scaled_E] if form is FORM else [form])]


@verifies(
    "eq-gdn-chunk-output", method="modular", covers=REAL_SIZE, mutants=forms("eq-gdn-chunk-output")
)
def output_at_real_size(form=FORM):
    """All 128 rows of O against the outputs of the recurrence."""
    tokens = modular_tokens()
    return chunkwise(tokens, form)[0] - recurrence(tokens)[0]


@verifies(
    "eq-gdn-chunk-delta",
    method="polynomial",
    covers=EVERY_ENTRY,
    mutants=_some("eq-gdn-delta-split", "W unscaled", "gated solve on raw K, rows scaled after"),
)
def deltas_entry_by_entry(form=FORM):
    """E of the chunk form equals the deltas of the recurrence as polynomials."""
    solved = lambda at: (
        np.atleast_2d(at(r"\mathbf{I} + \tilde{\mathbf{A}}")) @ lines.run(at, form).E
    )
    on_page("eq-gdn-chunk-delta", solved)
    tokens = polynomial_tokens()
    return chunkwise(tokens, form)[1] - recurrence(tokens)[1]


@verifies(
    "eq-gdn-chunk-state",
    method="polynomial",
    covers=EVERY_ENTRY,
    mutants=_some("eq-gdn-chunk-state", "K unscaled", "sign of the writes"),
)
def state_entry_by_entry(form=FORM):
    """The state after the chunk equals the recurrence's as a polynomial in every entry."""
    tokens = polynomial_tokens()
    return chunkwise(tokens, form)[2] - recurrence(tokens)[2]


@verifies(
    "eq-gdn-chunk-output",
    method="polynomial",
    covers=EVERY_ENTRY,
    mutants=_some("eq-gdn-chunk-output", "M for Gamma", "strict Gamma"),
)
def output_entry_by_entry(form=FORM):
    """The outputs equal the recurrence's as polynomials in every entry."""
    tokens = polynomial_tokens()
    return chunkwise(tokens, form)[0] - recurrence(tokens)[0]


def as_chunk(change):
    """A mutant as a function like `gdn_ref.gated_delta_rule.chunk`."""

    def chunk(S, q, k, v, g, beta):
        x = Chunk(FORM | change, S=S, Q=q, K=k, V=v, alpha=np.exp(g), beta=beta)
        return x.O, x.S_next

    return chunk


def _package_mutants(label):
    return {name: {"chunk": as_chunk(change)} for name, change in MUTANTS[label].items()}


def _of_page(chunk, at):
    x = lines.tokens(at)
    return chunk(x.S, x.Q, x.K, x.V, logs(x.alpha), x.beta)


def _package(chunk):
    x = float64_tokens()
    vectors, scalars = (x.Q, x.K, x.V), (np.log(x.alpha), x.beta)
    return scan_chunks(chunk, x.S, vectors, scalars, x.chunk_size)


@verifies(
    "eq-gdn-chunk-state",
    method="float64",
    covers="gdn_ref.gated_delta_rule.chunk, 50 tokens in chunks of 16, d_k=12, d_v=7",
    mutants=_package_mutants("eq-gdn-chunk-state"),
)
def the_package_state(chunk=gated_delta_rule.chunk):
    """The package's last state on hard inputs against the token loop."""
    on_page("eq-gdn-chunk-state", lambda at: _of_page(chunk, at)[1], floats=True)
    return relative_error(_package(chunk)[1], recurrence(float64_tokens())[2])


@verifies(
    "eq-gdn-chunk-output",
    method="float64",
    covers="gdn_ref.gated_delta_rule.chunk, 50 tokens in chunks of 16, d_k=12, d_v=7",
    mutants=_package_mutants("eq-gdn-chunk-output"),
)
def the_package_output(chunk=gated_delta_rule.chunk):
    """The package's outputs on hard inputs against the token loop."""
    on_page("eq-gdn-chunk-output", lambda at: _of_page(chunk, at)[0], floats=True)
    return relative_error(_package(chunk)[0], recurrence(float64_tokens())[0])
