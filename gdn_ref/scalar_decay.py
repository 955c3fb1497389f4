"""Scalar decay: a memory that fades (Mamba-2, RetNet).

    S_t = alpha_t S_{t-1} + v_t k_t^T        o_t = S_t q_t        (eq-scalar-decay-recurrence)

`g = log(alpha)`, `[..., T]`, natural log, at most 0; `-inf` resets the memory. Other shapes as
in `linear_attention`. Source: Dao and Gu, "Transformers are SSMs", 2024.
"""

from array_api_compat import array_namespace

from .chunking import decay, matvec, outer, scan_chunks, scan_tokens, transpose, zero_state
from .types import Array


def step(S: Array, q: Array, k: Array, v: Array, g: Array) -> tuple[Array, Array]:
    """One token: decay, write, read. Returns `(o, S)`."""
    alpha = array_namespace(g).exp(g)
    S = alpha[..., None, None] * S + outer(v, k)
    return matvec(S, q), S


def chunk(S: Array, q: Array, k: Array, v: Array, g: Array) -> tuple[Array, Array]:
    """C tokens at once (eq-scalar-decay-chunk): `Gamma` stands where the causal mask stood."""
    gamma, Gamma = decay(g)
    gamma_C, to_end = gamma[..., -1], Gamma[..., -1, :]
    O = gamma[..., None] * (q @ transpose(S)) + (Gamma * (q @ transpose(k))) @ v
    S = gamma_C[..., None, None] * S + transpose(v) @ (to_end[..., None] * k)
    return O, S


def recurrent(
    q: Array, k: Array, v: Array, g: Array, S: Array | None = None
) -> tuple[Array, Array]:
    """Token by token. Returns `(O, S)`."""
    return scan_tokens(step, zero_state(k, v) if S is None else S, (q, k, v), (g,))


def chunkwise(
    q: Array, k: Array, v: Array, g: Array, S: Array | None = None, chunk_size: int = 64
) -> tuple[Array, Array]:
    """Chunk by chunk. Returns `(O, S)`."""
    return scan_chunks(chunk, zero_state(k, v) if S is None else S, (q, k, v), (g,), chunk_size)


def parallel(q: Array, k: Array, v: Array, g: Array, S: Array | None = None) -> tuple[Array, Array]:
    """All tokens at once, `O = diag(gamma) Q S^T + (Gamma . Q K^T) V`. Returns `(O, S)`."""
    return chunkwise(q, k, v, g, S, chunk_size=max(1, q.shape[-2]))
