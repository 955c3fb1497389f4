"""The gated delta rule: a memory that fades and corrects itself (Gated DeltaNet).

    S_t = alpha_t S_{t-1} (I - beta_t k_t k_t^T) + beta_t v_t k_t^T
    o_t = S_t q_t                                             (eq-gdn-recurrence)

In words: decay, read, correct, write, then read out. `g = log(alpha)`, `[..., T]`, natural log,
at most 0 (`-inf` resets the memory); `beta`, `[..., T]`, 0 to 1, up to 2 for negative
eigenvalues. Keys are expected to have unit norm (nothing here normalises them). Other shapes as
in `linear_attention`. Source: Yang, Kautz, Hatamizadeh, "Gated Delta Networks", 2024; its output
equation is corrected here (`Gamma` in place of the causal mask, see the errata page).
"""

from array_api_compat import array_namespace

from . import wy
from .chunking import add_outer, decay, matvec, scan_chunks, scan_tokens, transpose, zero_state
from .types import Array


def step(S: Array, q: Array, k: Array, v: Array, g: Array, beta: Array) -> tuple[Array, Array]:
    """One token (eq-gdn-step): decay, read, correct, write, read out. Returns `(o, S)`."""
    alpha = array_namespace(g).exp(g)
    S = alpha[..., None, None] * S
    delta = beta[..., None] * (v - matvec(S, k))
    S = add_outer(S, delta, k)
    return matvec(S, q), S


def chunk(S: Array, q: Array, k: Array, v: Array, g: Array, beta: Array) -> tuple[Array, Array]:
    """C tokens at once; row r of `delta` is the `delta` of token r in `step`.

    (I + A) delta = B (V - diag(gamma) K S^T)                    (eq-gdn-chunk-delta)
    O  = diag(gamma) Q S^T + (Gamma . Q K^T) delta               (eq-gdn-chunk-output)
    S' = gamma_C S + delta^T diag(gamma_C / gamma_i) K           (eq-gdn-chunk-state)
    """
    gamma, Gamma = decay(g)
    gamma_C, to_end = gamma[..., -1], Gamma[..., -1, :]
    A = wy.interaction(k, beta, Gamma)
    delta = wy.solve(A, beta[..., None] * (v - gamma[..., None] * (k @ transpose(S))))
    O = gamma[..., None] * (q @ transpose(S)) + (Gamma * (q @ transpose(k))) @ delta
    S = gamma_C[..., None, None] * S + transpose(delta) @ (to_end[..., None] * k)
    return O, S


def recurrent(
    q: Array, k: Array, v: Array, g: Array, beta: Array, S: Array | None = None
) -> tuple[Array, Array]:
    """Token by token. Returns `(O, S)`."""
    return scan_tokens(step, zero_state(k, v) if S is None else S, (q, k, v), (g, beta))


def chunkwise(
    q: Array, k: Array, v: Array, g: Array, beta: Array, S: Array | None = None,
    chunk_size: int = 64,
) -> tuple[Array, Array]:  # fmt: skip
    """Chunk by chunk. Returns `(O, S)`."""
    S = zero_state(k, v) if S is None else S
    return scan_chunks(chunk, S, (q, k, v), (g, beta), chunk_size)


def parallel(
    q: Array, k: Array, v: Array, g: Array, beta: Array, S: Array | None = None
) -> tuple[Array, Array]:
    """All tokens at once: one triangular system of the sequence's length. Returns `(O, S)`."""
    return chunkwise(q, k, v, g, beta, S, chunk_size=max(1, q.shape[-2]))
