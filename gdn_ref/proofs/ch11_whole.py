"""The chunk form run as a whole: against the token recurrence, entry by entry and at real size.

`ch11_chunk` has the induction steps, and says how likely a wrong form is to pass.
"""

import numpy as np

from .. import gated_delta_rule
from ..chunking import scan_chunks
from . import lines
from .ch11_mutants import EQUIVALENT, MUTANTS, ONE_SOLVE, forms
from .data import logs, relative_error
from .page import on_page
from .registry import verifies
from .token_forms import (
    FORM,
    Chunk,
    chunkwise,
    float64_tokens,
    modular_tokens,
    polynomial_tokens,
    recurrence,
)

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
