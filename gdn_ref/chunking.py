"""Tokens and chunks: scanning over either, and the decay between two tokens of a chunk.

Every rule in this package is one function of a state and some tokens: `step` takes one token,
`chunk` takes several at once. Scanning `step` gives the recurrent form, scanning `chunk` the
chunkwise form, and one `chunk` over the whole sequence the parallel form.

Layout: tokens are rows (the last axis but one), heads and batch stand in front, the state is
`[..., d_v, d_k]`. Any array that follows the Python array API works (NumPy, PyTorch, ...).
"""

from collections.abc import Callable, Sequence

import numpy as np
from array_api_compat import array_namespace, device

from .types import AnyArray, Array


def outer(a: Array, b: Array) -> Array:
    """`a b^T` over the last axis: `[..., m]` and `[..., n]` give `[..., m, n]`."""
    return a[..., :, None] * b[..., None, :]


def add_outer(S: Array, a: Array, b: Array) -> Array:
    """`S + a b^T`. PyTorch does it in one pass, in whatever order S lies in memory."""
    if hasattr(S, "addcmul"):
        return S.addcmul(a[..., :, None], b[..., None, :])
    return S + outer(a, b)


def matvec(M: Array, x: Array) -> Array:
    """`M x` over the last axes: `[..., m, n]` and `[..., n]` give `[..., m]`."""
    return (x[..., None, :] @ transpose(M))[..., 0, :]  # a column on the right would be slow


def transpose(M: Array) -> Array:
    """Swap the last two axes."""
    return M.mT


def zero_state(k: Array, v: Array) -> Array:
    """The empty memory, `[..., d_v, d_k]`, for keys `[..., T, d_k]` and values `[..., T, d_v]`."""
    xp = array_namespace(k, v)
    batch = np.broadcast_shapes(tuple(k.shape[:-2]), tuple(v.shape[:-2]))
    dtype = xp.result_type(k.dtype, v.dtype)
    return xp.zeros((*batch, v.shape[-1], k.shape[-1]), dtype=dtype, device=device(v))


def count_tokens(vectors: Sequence[AnyArray], scalars: Sequence[AnyArray]) -> int:
    """T, of which each of the `vectors`, `[..., T, d]`, and `scalars`, `[..., T]`, has as many.

    A scan takes slices, and a slice past the end is short without a word; one of length 1 would
    even broadcast, and take the causal mask with it.
    """
    shapes = [tuple(getattr(x, "shape", ())) for x in (*vectors, *scalars)]
    found = [shape[-2:-1] for shape in shapes[: len(vectors)]]
    found += [shape[-1:] for shape in shapes[len(vectors) :]]
    if () in found or any(T != found[0] for T in found):
        raise ValueError(
            f"tokens: expected {len(vectors)} arrays [..., T, d] and {len(scalars)} arrays "
            f"[..., T] with the same T, got shapes {', '.join(map(str, shapes))}"
        )
    return found[0][0]


def check_state(k: AnyArray, v: AnyArray, **states: AnyArray) -> None:
    """Each of `states` is `[..., d_v, d_k]`: a row or a column of length 1 would broadcast."""
    sizes = v.shape[-1], k.shape[-1]
    for name, S in states.items():
        shape = tuple(getattr(S, "shape", ()))
        if shape[-2:] != sizes:
            expected = "[..., d_v, d_k] = [..., {}, {}]".format(*sizes)
            raise ValueError(f"{name}: expected {expected}, got shape {shape}")


def cut(x: Array, axis: int, T: int, size: int | None = None) -> Sequence[Array]:
    """`x` cut along `axis`, the last (-1) or the one before (-2), which has T tokens.

    Into chunks of `size`, the last of which has what is left; without `size`, into single tokens,
    which have this axis no more. PyTorch cuts all at once: as the gradient of each slice is as long
    as `x`, that of slices made one by one takes time that is quadratic in T.
    """
    if hasattr(x, "unbind"):
        return x.unbind(axis) if size is None else x.split(int(size), axis)
    places = range(T)
    if size is not None:
        places = [slice(start, min(start + size, T)) for start in range(0, T, size)]
    return [x[..., place] if axis == -1 else x[..., place, :] for place in places]


def scan_tokens(
    step: Callable[..., tuple[Array, Array]], S: Array, vectors: Sequence[Array],
    scalars: Sequence[Array] = (),
) -> tuple[Array, Array]:  # fmt: skip
    """The recurrent form: `o, S = step(S, *vectors_t, *scalars_t)` token by token.

    `vectors` are arrays `[..., T, d]`, the values last; `scalars` are arrays `[..., T]`.
    Returns the outputs `[..., T, d_v]` and the last state.
    """
    values = vectors[-1]
    T = count_tokens(vectors, scalars)
    check_state(*vectors[-2:], S=S)
    if T == 0:
        return values, S
    rows = [cut(x, -2, T) for x in vectors] + [cut(x, -1, T) for x in scalars]
    outputs = []
    for token in zip(*rows, strict=True):
        o, S = step(S, *token)
        outputs.append(o)
    return array_namespace(values).stack(outputs, axis=-2), S


def scan_chunks(
    chunk: Callable[..., tuple[Array, Array]], S: Array, vectors: Sequence[Array],
    scalars: Sequence[Array] = (), chunk_size: int = 64,
) -> tuple[Array, Array]:  # fmt: skip
    """The chunkwise form: `O, S = chunk(S, *vectors_C, *scalars_C)` chunk by chunk.

    Arguments as in `scan_tokens`. The last chunk holds what is left, so the length need not be
    a multiple of `chunk_size`.
    """
    if not hasattr(chunk_size, "__index__") or chunk_size < 1:
        raise ValueError(f"chunk_size: expected an integer of at least 1, got {chunk_size}")
    values = vectors[-1]
    T = count_tokens(vectors, scalars)
    check_state(*vectors[-2:], S=S)
    if T == 0:
        return values, S
    pieces = [cut(x, -2, T, chunk_size) for x in vectors]
    pieces += [cut(x, -1, T, chunk_size) for x in scalars]
    outputs = []
    for piece in zip(*pieces, strict=True):
        O, S = chunk(S, *piece)
        outputs.append(O)
    return array_namespace(values).concat(outputs, axis=-2), S


def causal_mask(x: Array) -> Array:
    """`M`, `[C, C]`: one where row `r` may see column `i <= r`; for `x` of shape `[..., C, d]`."""
    xp = array_namespace(x)
    C = x.shape[-2]
    return xp.tril(xp.ones((C, C), dtype=x.dtype, device=device(x)))


def decay(g: Array) -> tuple[Array, Array]:
    """The decays inside a chunk, from log-decays `g`, `[..., C]` (natural log, at most 0).

    Returns
    -------
    gamma : [..., C]
        `gamma_r = exp(g_1 + ... + g_r)`, from the state before the chunk to token r
        (eq-gamma).
    Gamma : [..., C, C]
        `Gamma_ri = exp(g_{i+1} + ... + g_r)` for `i <= r`, from token i to token r, else 0
        (eq-decay-mask). Its last row is the decay from each token to the chunk's end.

    Each entry of `Gamma` sums its own stretch of `g`: no ratio `gamma_r / gamma_i`, which is
    0/0 once the decays underflow, and no difference of cumulative sums, which is `inf - inf`
    once a `g` is `-inf` (a reset). The first mask goes into the exponent, which is 0 above the
    diagonal, so nothing overflows and no gradient is NaN; the second makes zeros of those ones.
    """
    xp = array_namespace(g)
    rows = xp.broadcast_to(g[..., :, None], (*g.shape, g.shape[-1]))
    Gamma = xp.tril(xp.exp(xp.cumulative_sum(xp.tril(rows, k=-1), axis=-2)))
    gamma = xp.exp(xp.cumulative_sum(g, axis=-1))
    return gamma, Gamma
