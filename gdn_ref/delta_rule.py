"""The delta rule: a memory that corrects itself (DeltaNet).

    delta_t = beta_t (v_t - S_{t-1} k_t)
    S_t = S_{t-1} + delta_t k_t^T        o_t = S_t q_t        (eq-delta-rule-recurrence)

`beta`, `[..., T]`, is the write strength: 0 to 1, up to 2 for negative eigenvalues. Keys are
expected to have unit norm (nothing here normalises them). Other shapes as in
`linear_attention`. Source: Yang et al., "Parallelizing Linear Transformers with the Delta Rule
over Sequence Length", 2024.
"""

from . import wy
from .chunking import (
    add_outer,
    causal_mask,
    matvec,
    scan_chunks,
    scan_tokens,
    transpose,
    zero_state,
)
from .types import Array


def step(S: Array, q: Array, k: Array, v: Array, beta: Array) -> tuple[Array, Array]:
    """One token: read the old value, correct it, write, read out. Returns `(o, S)`."""
    delta = beta[..., None] * (v - matvec(S, k))
    S = add_outer(S, delta, k)
    return matvec(S, q), S


def chunk(S: Array, q: Array, k: Array, v: Array, beta: Array) -> tuple[Array, Array]:
    """C tokens at once (eq-delta-rule-chunk): linear attention on corrected values `delta`."""
    M = causal_mask(q)
    A = wy.interaction(k, beta)
    delta = wy.solve(A, beta[..., None] * (v - k @ transpose(S)))
    O = q @ transpose(S) + (M * (q @ transpose(k))) @ delta
    return O, S + transpose(delta) @ k


def recurrent(
    q: Array, k: Array, v: Array, beta: Array, S: Array | None = None
) -> tuple[Array, Array]:
    """Token by token. Returns `(O, S)`."""
    return scan_tokens(step, zero_state(k, v) if S is None else S, (q, k, v), (beta,))


def chunkwise(
    q: Array, k: Array, v: Array, beta: Array, S: Array | None = None, chunk_size: int = 64
) -> tuple[Array, Array]:
    """Chunk by chunk. Returns `(O, S)`."""
    return scan_chunks(chunk, zero_state(k, v) if S is None else S, (q, k, v), (beta,), chunk_size)


def parallel(
    q: Array, k: Array, v: Array, beta: Array, S: Array | None = None
) -> tuple[Array, Array]:
    """All tokens at once: one triangular system of the sequence's length. Returns `(O, S)`."""
    return chunkwise(q, k, v, beta, S, chunk_size=max(1, q.shape[-2]))
