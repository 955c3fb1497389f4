"""Gated linear attention (GLA): a decay per channel, nothing is erased.

    S_t = Diag(alpha_t) S_{t-1} + k_t v_t^T
    o_t = S_t^T q_t

Source: Yang, Wang, Shen, Panda, Kim, "Gated Linear Attention Transformers with Hardware-Efficient
Training", 2024 (arXiv 2312.06635), whose vectors are rows and whose state is `[d_k, d_v]`. The
layer makes `alpha_t = sigmoid(...)^(1/16)`; its code passes `gk = log(alpha)`, as here. Keys are
not normalised; the code multiplies `q` by `d_k^-1/2`, which here is up to the caller.

=============  ====================
here           GLA
=============  ====================
`q`, `k`, `v`  the same
`g`            `gk = log(alpha_t)`
`a`, `b`       0
`S`            the transpose of `S`
=============  ====================
"""

from array_api_compat import array_namespace

from ..chunking import outer
from ..types import Array
from .printed_form import diag, run_transposed
from .shapes import check


def published(
    q: Array, k: Array, v: Array, gk: Array, S: Array | None = None
) -> tuple[Array, Array]:
    """The source's recurrence, token by token. Returns `(O, S)`."""
    exp = array_namespace(gk).exp

    def transition(S, gk, k, v):
        return diag(exp(gk)) @ S + outer(k, v)

    return run_transposed(transition, (q, gk, k, v), (), S)


def general(
    q: Array, k: Array, v: Array, gk: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The same as arguments of the general rule."""
    check({"k": k, "q": q, "gk": gk}, {"v": v})
    zero = array_namespace(k).zeros_like(k)
    return q, k, v, zero, zero, gk
