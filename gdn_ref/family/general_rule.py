"""The general rule: a decay per channel, and what is read, erased and written each on its own.

    S_t = S_{t-1} (D_t - a_t b_t^T) + v_t k_t^T
    o_t = S_t q_t                                             (eq-family-recurrence)

`D_t = diag(exp(g_t))`, and `g`, `[..., T, d_k]`, is a natural log-decay per channel, at most 0. The
state is read with `a`, the read is erased along `b`, `v` is written along `k`; all but `v`, `[...,
T, d_v]`, are `[..., T, d_k]`, and the state is `[..., d_v, d_k]`. What is written is `v`, with its
write strength or gate inside. With `g = -inf` a channel keeps nothing, but the read comes first and
is erased all the same: such a token is a reset only where its `a` is zero, as it is in a rule that
decays before it reads.

**Sub-chunks.** Every score of a chunk is a sum over channels with a decay inside,

    P_ri = sum_d x_r[d] Gamma_ri[d] y_i[d],   Gamma_ri = exp(g_{i+1} + ... + g_r),   i <= r

(eq-family-interaction). With one decay per head `Gamma_ri` leaves the sum, and `P` is a matrix
product times a mask. With a decay per channel it does not. Splitting it as `gamma_r / gamma_i`
would give a matrix product again, but `1 / gamma_i` overflows as soon as a chunk forgets. So split
it at a border `m` between the two tokens instead, `i <= m <= r` (eq-family-split):

    Gamma_ri = Gamma_rm . Gamma_mi,      P_ri = sum_d (x_r Gamma_rm)[d] (Gamma_mi y_i)[d]

Both factors are at most 1. One border serves all pairs on its two sides, so the lower left block
of `P` is one matrix product. The two blocks on the diagonal are halved again, until a sub-chunk
has at most `SUB_CHUNK` tokens and the sum over channels is taken as it stands. Nothing is divided
by a decay, and every exponent is a sum of log-decays: at most 0, or `-inf`.
"""

from array_api_compat import array_namespace, device

from .. import wy
from ..chunking import (
    add_outer,
    decay,
    matvec,
    scan_chunks,
    scan_tokens,
    transpose,
    zero_state,
)
from ..types import Array
from .shapes import check

SUB_CHUNK = 16  # tokens whose scores are summed channel by channel, without a border


def step(
    S: Array, q: Array, k: Array, v: Array, a: Array, b: Array, g: Array
) -> tuple[Array, Array]:
    """One token (eq-family-recurrence): read, decay, erase, write, read out. Returns `(o, S)`."""
    D = array_namespace(g).exp(g)
    read = matvec(S, a)
    S = add_outer(add_outer(D[..., None, :] * S, -read, b), v, k)
    return matvec(S, q), S


def chunk(
    S: Array, q: Array, k: Array, v: Array, a: Array, b: Array, g: Array
) -> tuple[Array, Array]:
    """C tokens at once; row r of `R` is what token r reads, `S_{r-1} a_r`.

    (I + A^b) R = (gamma_{r-1} . a_r) S^T + A^k V                              (eq-family-read)
    O  = (gamma_r . q_r) S^T + P^k V - P^b R                                   (eq-family-output)
    S' = S D_{gamma_C} + V^T (Gamma_{C,i} . k_i) - R^T (Gamma_{C,i} . b_i)     (eq-family-state)
    """
    gamma, to_end = from_start(g), to_border(g)
    before = one_later(gamma, first=1.0)
    R = wy.solve(reads(a, b, g), (before * a) @ transpose(S) + reads(a, k, g) @ v)
    O = (gamma * q) @ transpose(S) + scores(q, k, g) @ v - scores(q, b, g) @ R
    S = gamma[..., -1:, :] * S + transpose(v) @ (to_end * k) - transpose(R) @ (to_end * b)
    return O, S


def scores(x: Array, y: Array, g: Array) -> Array:
    """`P_ri = sum_d x_r[d] Gamma_ri[d] y_i[d]` for `i <= r`, else 0: `[..., C, C]`."""
    xp = array_namespace(x, y, g)
    C = x.shape[-2]
    if C <= SUB_CHUNK:
        return sum_over_channels(x, y, g)
    m = C // 2  # the border: tokens before it are seen as they are there
    early = scores(x[..., :m, :], y[..., :m, :], g[..., :m, :])
    late = scores(x[..., m:, :], y[..., m:, :], g[..., m:, :])
    seen = to_border(g[..., :m, :]) * y[..., :m, :]
    across = (from_start(g[..., m:, :]) * x[..., m:, :]) @ transpose(seen)
    unseen = xp.zeros((*across.shape[:-2], m, C - m), dtype=across.dtype, device=device(across))
    above, below = xp.concat([early, unseen], axis=-1), xp.concat([across, late], axis=-1)
    return xp.concat([above, below], axis=-2)


def sum_over_channels(x: Array, y: Array, g: Array) -> Array:
    """`scores` as they stand, an array of `C C d_k` entries: inside a sub-chunk only."""
    xp = array_namespace(x, y, g)
    _, Gamma = decay(transpose(g))  # [..., d_k, C, C]
    x, y = transpose(x)[..., :, None], transpose(y)[..., None, :]
    return xp.sum(x * Gamma * y, axis=-3)


def reads(a: Array, y: Array, g: Array) -> Array:
    """`A_ri = sum_d a_r[d] Gamma_{r-1,i}[d] y_i[d]` for `i < r`, else 0 (eq-family-interaction).

    Token r reads the state that token r - 1 left: the scores of the row before.
    """
    xp = array_namespace(a, y, g)
    return xp.tril(xp.roll(scores(xp.roll(a, -1, axis=-2), y, g), 1, axis=-2), k=-1)


def from_start(g: Array) -> Array:
    """`gamma_r = exp(g_1 + ... + g_r)`, the decay from before the first token to token r."""
    xp = array_namespace(g)
    return xp.exp(xp.cumulative_sum(g, axis=-2))


def to_border(g: Array) -> Array:
    """`Gamma_mi = exp(g_{i+1} + ... + g_m)`, the decay from token i to the last one."""
    xp = array_namespace(g)
    later = one_later(xp.flip(g, axis=-2), first=0.0)  # g_m ... g_{i+1}, from the last token up
    return xp.exp(xp.flip(xp.cumulative_sum(later, axis=-2), axis=-2))


def one_later(x: Array, first: float) -> Array:
    """Row r holds row r - 1 of `x`, the first row holds `first`."""
    xp = array_namespace(x)
    return xp.concat([xp.full_like(x[..., :1, :], first), x[..., :-1, :]], axis=-2)


def recurrent(
    q: Array, k: Array, v: Array, a: Array, b: Array, g: Array, S: Array | None = None
) -> tuple[Array, Array]:
    """Token by token. Returns `(O, S)`."""
    check({"k": k, "q": q, "a": a, "b": b, "g": g}, {"v": v}, state=S)
    S = zero_state(k, v) if S is None else S
    return scan_tokens(values_last(step), S, (q, a, b, g, k, v))


def chunkwise(
    q: Array, k: Array, v: Array, a: Array, b: Array, g: Array, S: Array | None = None,
    chunk_size: int = 64,
) -> tuple[Array, Array]:  # fmt: skip
    """Chunk by chunk. Returns `(O, S)`."""
    check({"k": k, "q": q, "a": a, "b": b, "g": g}, {"v": v}, state=S)
    S = zero_state(k, v) if S is None else S
    return scan_chunks(values_last(chunk), S, (q, a, b, g, k, v), (), chunk_size)


def values_last(rule):
    """`rule` with its vectors in the order in which a scan passes them."""
    return lambda S, q, a, b, g, k, v: rule(S, q, k, v, a, b, g)


def per_channel(g: Array, k: Array) -> Array:
    """One log-decay per head, `[..., T]`, given to every channel: `[..., T, d_k]` as `k`."""
    return g[..., None] + array_namespace(k).zeros_like(k)
