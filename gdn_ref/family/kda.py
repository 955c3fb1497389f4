"""Kimi Delta Attention (KDA, in Kimi Linear): a decay per channel before the delta rule.

    S_t = (I - beta_t k_t k_t^T) Diag(alpha_t) S_{t-1} + beta_t k_t v_t^T
    o_t = S_t^T q_t

Source: Kimi Team, "Kimi Linear", 2025 (arXiv 2510.26692), state `[d_k, d_v]`. Keys and queries
have unit norm; `g = log(alpha)`, `[..., T, d_k]`, is `-exp(A) softplus(...)` or, with a lower
bound of -5, `-5 sigmoid(...)`; `beta` is after the sigmoid; the code scales `q` by `d_k^-1/2`.
The decay comes first, so the read sees a decayed state: `a = alpha . (beta k)`.

========  =======================
here      KDA
========  =======================
`q`, `k`  the same
`a`, `b`  `alpha . (beta k)`, `k`
`v`       `beta v`
`g`       `g = log(alpha_t)`
`S`       the transpose of `S`
========  =======================
"""

from array_api_compat import array_namespace

from ..chunking import outer
from ..types import Array
from .printed_form import diag, identity, number, run_transposed
from .shapes import check
from .two_gates import arguments


def published(
    q: Array, k: Array, v: Array, g: Array, beta: Array, S: Array | None = None
) -> tuple[Array, Array]:
    """The source's recurrence, token by token. Returns `(O, S)`."""
    exp = array_namespace(g).exp

    def transition(S, g, k, v, beta):
        beta = number(beta)
        return (identity(k) - beta * outer(k, k)) @ diag(exp(g)) @ S + beta * outer(k, v)

    return run_transposed(transition, (q, g, k, v), (beta,), S)


def general(
    q: Array, k: Array, v: Array, g: Array, beta: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The same as arguments of the general rule."""
    check({"k": k, "q": q, "g": g}, {"v": v}, {"beta": beta})
    return arguments(q, k, v, g, beta[..., None], beta[..., None])
