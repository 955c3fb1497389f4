"""Gated DeltaNet-2: KDA with an erase gate per key channel and a write gate per value channel.

    S_t = (I - k_t (b_t . k_t)^T) Diag(alpha_t) S_{t-1} + k_t (w_t . v_t)^T
    o_t = S_t^T q_t

Source: Hatamizadeh, Choi, Kautz, "Gated DeltaNet-2: Decoupling Erase and Write in Linear
Attention", 2026 (arXiv 2605.22791), state `[d_k, d_v]`. Both gates are sigmoids, `b` twice that
where negative eigenvalues are allowed; keys and queries have unit norm; `g = log(alpha)` as in
KDA; the code scales `q` by `d_k^-1/2`. With `b = w = beta` it is KDA.

========  ========================================
here      Gated DeltaNet-2
========  ========================================
`q`, `k`  the same
`a`       `alpha . b . k`, with the erase gate `b`
`b`       `k`
`v`       `w . v`, with the write gate `w`
`g`       `g = log(alpha_t)`
`S`       the transpose of `S`
========  ========================================
"""

from array_api_compat import array_namespace

from ..chunking import outer
from ..types import Array
from .printed_form import diag, identity, run_transposed
from .shapes import check
from .two_gates import arguments


def published(
    q: Array, k: Array, v: Array, g: Array, b: Array, w: Array, S: Array | None = None
) -> tuple[Array, Array]:
    """The source's recurrence, token by token. Returns `(O, S)`."""
    exp = array_namespace(g).exp

    def transition(S, g, b, w, k, v):
        return (identity(k) - outer(k, b * k)) @ diag(exp(g)) @ S + outer(k, w * v)

    return run_transposed(transition, (q, g, b, w, k, v), (), S)


def general(
    q: Array, k: Array, v: Array, g: Array, b: Array, w: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The same as arguments of the general rule."""
    check({"k": k, "q": q, "g": g, "b": b}, {"v": v, "w": w})
    return arguments(q, k, v, g, erase=b, write=w)
