"""Gradients of the chunkwise gated delta rule, by hand: no autograd, and nothing kept but states.

Given the gradients `dO` of the outputs and `dS_next` of the state that a chunk hands on, `chunk`
returns those of its inputs and of the state that it received. `gradients` walks over the chunks in
reverse. Names and layouts are those of `gated_delta_rule`; the gradient of `x` is `dx`.
"""

from array_api_compat import array_namespace

from . import wy
from .chunking import check_state, count_tokens, decay, transpose, zero_state
from .gated_delta_rule import chunk as chunk_forward
from .types import Array


def chunk(
    S: Array, q: Array, k: Array, v: Array, g: Array, beta: Array, dO: Array, dS_next: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """Gradients of one chunk: `dS, dq, dk, dv, dg, dbeta`.

    The chunk is computed again from the state `S` that it received. Its one system is solved once
    forward, for `delta`, and once transposed, for `Z`; row r of `Z` is what the gradient of the
    state after token r answers at that token's key. The gradient of the solve's matrix is never
    formed: `-tril(Z delta^T)` is all that is needed of it.
    """
    xp = array_namespace(q)
    gamma, Gamma = decay(g)
    to_end, gamma_C = Gamma[..., -1, :, None], gamma[..., -1, None, None]
    gamma, B = gamma[..., None], beta[..., None]
    A = wy.interaction(k, beta, Gamma)
    delta = wy.solve(A, B * (v - gamma * (k @ transpose(S))))
    scores = Gamma * (q @ transpose(k))

    # what enters the outputs and the next state, then back through the solve
    ddelta = transpose(scores) @ dO + to_end * (k @ transpose(dS_next))
    Z = wy.solve_transposed(A, ddelta)
    dscores = Gamma * (dO @ transpose(delta))  # of q k^T
    doverlap = -xp.tril(B * Gamma * (Z @ transpose(delta)), k=-1)  # of k k^T

    dq = gamma * (dO @ S) + dscores @ k
    dv = B * Z
    # a key reads (the old state, and earlier keys) and is read (by later keys, queries, S_next)
    dk_reading = doverlap @ k - gamma * (dv @ S)
    dk_read = transpose(doverlap) @ k + transpose(dscores) @ q + to_end * (delta @ dS_next)
    overlap = xp.tril(Gamma * (k @ transpose(k)), k=-1)
    dbeta = xp.sum(Z * (v - gamma * (k @ transpose(S)) - overlap @ delta), axis=-1)
    dS = gamma_C * dS_next + transpose(gamma * dO) @ q - transpose(gamma * dv) @ k

    # a decay scales what its token reads, and its inverse what later tokens read of it
    dc = xp.sum(q * dq + k * (dk_reading - dk_read), axis=-1)
    S_next = gamma_C * S + transpose(delta) @ (to_end * k)
    dc_C = xp.sum(S_next * dS_next, axis=(-2, -1))
    after = xp.cumulative_sum(xp.flip(dc, axis=-1), axis=-1)  # from the last token on
    dg = xp.flip(after, axis=-1) + dc_C[..., None]
    return dS, dq, dk_reading + dk_read, dv, dg, dbeta


def gradients(
    q: Array, k: Array, v: Array, g: Array, beta: Array, S: Array | None = None,
    dO: Array | None = None, dS: Array | None = None, chunk_size: int = 64,
) -> tuple[Array, Array, Array, Array, Array, Array]:  # fmt: skip
    """Gradients of `gated_delta_rule.chunkwise`: `dq, dk, dv, dg, dbeta, dS`.

    Parameters
    ----------
    q, k : [..., T, d_k]
    v : [..., T, d_v]
    g, beta : [..., T]
    S : [..., d_v, d_k], the state before the first token; None: empty
    dO : [..., T, d_v], the gradient of the outputs; None: zero
    dS : [..., d_v, d_k], the gradient of the last state; None: zero
    chunk_size : tokens in a chunk; the result does not depend on it

    Returns
    -------
    dq, dk, dv, dg, dbeta : as q, k, v, g, beta
    dS : the gradient of the state before the first token
    """
    if not hasattr(chunk_size, "__index__") or chunk_size < 1:
        raise ValueError(f"chunk_size: expected an integer of at least 1, got {chunk_size}")
    xp = array_namespace(q, k, v)
    S = zero_state(k, v) if S is None else S
    dS = xp.zeros_like(S) if dS is None else dS
    dO = xp.zeros_like(v) if dO is None else dO
    T = count_tokens((q, k, v, dO), (g, beta))
    check_state(k, v, S=S, dS=dS)
    parts = [slice(start, min(start + chunk_size, T)) for start in range(0, T, chunk_size)]
    received = []
    for part in parts:
        received.append(S)
        _, S = chunk_forward(S, *_cut(part, q, k, v), g[..., part], beta[..., part])
    found = []
    for part, S in zip(reversed(parts), reversed(received), strict=True):
        tokens = (*_cut(part, q, k, v), g[..., part], beta[..., part])
        dS, *rest = chunk(S, *tokens, *_cut(part, dO), dS)
        found.append(rest)
    if not found:
        return (*(xp.zeros_like(x) for x in (q, k, v, g, beta)), dS)
    dq, dk, dv, dg, dbeta = zip(*reversed(found), strict=True)
    vectors = (xp.concat(x, axis=-2) for x in (dq, dk, dv))
    return (*vectors, *(xp.concat(x, axis=-1) for x in (dg, dbeta)), dS)


def _cut(part, *vectors):
    return (x[..., part, :] for x in vectors)
