"""Mamba-2 (state space duality, SSD): one decay per head, nothing is erased.

    h_t = exp(Delta_t A) h_{t-1} + Delta_t x_t B_t^T
    y_t = h_t C_t

Source: Dao and Gu, "Transformers are SSMs", 2024 (arXiv 2405.21060), the recurrence of one head.
`A` is one negative number per head and `Delta_t` (`dt`, after the softplus) a positive one per
token, so a step decays and weighs at once. Nothing is normalised and there is no scale. The term
`D x_t` past the state is not part of the rule. RetNet (2023) is the same with a constant decay and
no `Delta`, linear attention the same with no decay.

======================  ============================================
here                    Mamba-2
======================  ============================================
`q`, `k`, `v`           `C`, `B`, `Delta x`
`g`, for every channel  `Delta A`
`a`, `b`                0
`S`, `[d_v, d_k]`       `h`, `[P, N]` (`[N, P]` in the paper's text)
======================  ============================================
"""

from array_api_compat import array_namespace

from ..chunking import outer
from ..types import Array
from .general_rule import per_channel
from .printed_form import number, run
from .shapes import check


def published(
    x: Array, dt: Array, A: Array | float, B: Array, C: Array, S: Array | None = None
) -> tuple[Array, Array]:
    """The source's recurrence, token by token. Returns `(O, S)`.

    `x` is `[..., T, d_v]`, `dt` is `[..., T]`, `A` is `[...]`, `B` and `C` are `[..., T, d_k]`.
    """
    exp = array_namespace(x).exp

    def transition(h, B, x, dt):
        return number(exp(dt * A)) * h + number(dt) * outer(x, B)

    return run(transition, (C, B, x), (dt,), S)


def general(
    x: Array, dt: Array, A: Array | float, B: Array, C: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The same as arguments of the general rule."""
    check({"B": B, "C": C}, {"x": x}, {"dt": dt})
    zero = array_namespace(B).zeros_like(B)
    return C, B, dt[..., None] * x, zero, zero, per_channel(dt * number(A, 1), B)
