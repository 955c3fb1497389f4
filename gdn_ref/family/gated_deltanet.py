"""Gated DeltaNet: one decay per head before the delta rule, the rule of this book.

    S_t = S_{t-1} (alpha_t (I - beta_t k_t k_t^T)) + beta_t v_t k_t^T
    o_t = S_t q_t

Source: Yang, Kautz, Hatamizadeh, "Gated Delta Networks", 2024 (arXiv 2412.06464). Keys and queries
have unit norm there; `g = log(alpha)` is `-exp(A) softplus(...)`, `beta` is after the sigmoid, and
the code scales `q` by `d_k^-1/2`. `gdn_ref.gated_delta_rule` is this rule, with one decay per
head kept as one number.

======================  ===================
here                    Gated DeltaNet
======================  ===================
`q`, `k`, `S`           the same
`a`, `b`                `alpha beta k`, `k`
`v`                     `beta v`
`g`, for every channel  `log(alpha)`
======================  ===================
"""

from array_api_compat import array_namespace

from ..chunking import outer
from ..types import Array
from .general_rule import per_channel
from .printed_form import identity, number, run
from .shapes import check
from .two_gates import arguments


def published(
    q: Array, k: Array, v: Array, g: Array, beta: Array, S: Array | None = None
) -> tuple[Array, Array]:
    """The source's recurrence, token by token. Returns `(O, S)`."""
    exp = array_namespace(g).exp

    def transition(S, k, v, g, beta):
        alpha, beta = number(exp(g)), number(beta)
        return S @ (alpha * (identity(k) - beta * outer(k, k))) + beta * outer(v, k)

    return run(transition, (q, k, v), (g, beta), S)


def general(
    q: Array, k: Array, v: Array, g: Array, beta: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The same as arguments of the general rule."""
    check({"k": k, "q": q}, {"v": v}, {"g": g, "beta": beta})
    strength = beta[..., None]
    return arguments(q, k, v, per_channel(g, k), strength, strength)
