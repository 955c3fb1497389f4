"""A chunk as a map: `S -> S F + G`, and maps that compose.

    F = gamma_C (I - W^T K)        G = U^T diag(gamma_C / gamma_i) K        (eq-affine-chunk)

Maps `F` `[..., d_k, d_k]`, `G` `[..., d_v, d_k]`. Composition is associative but not commutative,
so chunks, segments and devices may be combined in any grouping, in order.
"""

from collections.abc import Iterable

from array_api_compat import array_namespace, device

from . import wy
from .chunking import decay, transpose
from .types import Array


def chunk_map(k: Array, v: Array, g: Array, beta: Array) -> tuple[Array, Array]:
    """The map `(F, G)` of one chunk of the gated delta rule."""
    xp = array_namespace(k)
    gamma, Gamma = decay(g)
    gamma_C, to_end = gamma[..., -1], Gamma[..., -1, :]
    identity = xp.eye(k.shape[-1], dtype=k.dtype, device=device(k))
    F = gamma_C[..., None, None] * (identity - transpose(wy.w(k, beta)) @ k)
    G = transpose(wy.u(k, v, beta, Gamma)) @ (to_end[..., None] * k)
    return F, G


def compose(first: tuple[Array, Array], then: tuple[Array, Array]) -> tuple[Array, Array]:
    """`first`, then `then` (eq-affine-compose): `(F1 F2, G1 F2 + G2)`."""
    F1, G1 = first
    F2, G2 = then
    return F1 @ F2, G1 @ F2 + G2


def apply(map_: tuple[Array, Array], S: Array) -> Array:
    """`S F + G`, the state after the chunk."""
    F, G = map_
    return S @ F + G


def scan(maps: Iterable[tuple[Array, Array]]) -> list[tuple[Array, Array]]:
    """The running compositions of a list of maps: entry n takes the first state past map n."""
    composed = []
    for map_ in maps:
        composed.append(compose(composed[-1], map_) if composed else map_)
    return composed
