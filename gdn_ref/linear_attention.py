"""Linear attention: a memory that only adds.

    S_t = S_{t-1} + v_t k_t^T        o_t = S_t q_t        (eq-linear-attention-recurrence)

Shapes, everywhere in this package: `q`, `k` `[..., T, d_k]`; `v`, `o` `[..., T, d_v]`; the state
`S` `[..., d_v, d_k]`. A scale is folded into `q`. `S=None` is the empty memory.
Source: Katharopoulos et al., "Transformers are RNNs", 2020.
"""

from .chunking import causal_mask, matvec, outer, scan_chunks, scan_tokens, transpose, zero_state
from .types import Array


def step(S: Array, q: Array, k: Array, v: Array) -> tuple[Array, Array]:
    """One token: write `v k^T`, then read with `q`. Returns `(o, S)`."""
    S = S + outer(v, k)
    return matvec(S, q), S


def chunk(S: Array, q: Array, k: Array, v: Array) -> tuple[Array, Array]:
    """C tokens at once (eq-linear-attention-chunk). Returns `(O, S)`."""
    M = causal_mask(q)
    O = q @ transpose(S) + (M * (q @ transpose(k))) @ v
    return O, S + transpose(v) @ k


def recurrent(q: Array, k: Array, v: Array, S: Array | None = None) -> tuple[Array, Array]:
    """Token by token. Returns `(O, S)`."""
    return scan_tokens(step, zero_state(k, v) if S is None else S, (q, k, v))


def chunkwise(
    q: Array, k: Array, v: Array, S: Array | None = None, chunk_size: int = 64
) -> tuple[Array, Array]:
    """Chunk by chunk. Returns `(O, S)`."""
    return scan_chunks(chunk, zero_state(k, v) if S is None else S, (q, k, v), (), chunk_size)


def parallel(q: Array, k: Array, v: Array, S: Array | None = None) -> tuple[Array, Array]:
    """All tokens at once, `O = Q S^T + (M . Q K^T) V` (eq-linear-attention-parallel)."""
    return chunkwise(q, k, v, S, chunk_size=max(1, q.shape[-2]))
