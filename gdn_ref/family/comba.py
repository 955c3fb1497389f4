"""Comba: one decay per head beside the erasing, and an output that is corrected too.

    S_t = S_{t-1} (alpha_t I - beta_t p_t k_t^T) + beta_t v_t k_t^T
    o_t = S_t (q_t - d p_t)

Source: Hu et al., "Comba: Improving Bilinear RNNs with Closed-loop Control", 2025
(arXiv 2506.02475); the equations are those of its code in flash-linear-attention. The state is
read with `p_t` to correct both the value and the output: the key times a number `b` of its head, a
sigmoid, so that less is erased than written (strengths `b beta` and `beta`). `d` is a number per
head. Keys and queries have unit norm; `g = log(alpha)` as in Gated DeltaNet; `q`, corrected, is
scaled by `d_k^-1/2` in the code.

A reset, `g = -inf`, does not empty this memory: what was read of the old state is still erased.

The layer of fla-core 0.6.0 (`layers/comba.py`) is another rule. It has its operator divide `q`, `k`
and `p` by their norms, and a positive `b` cancels in `b k / |b k|`: as much is erased as written.
`b` and `d` act in the output alone, where `q - d b k` is taken before the norms.

A scalar plus rank one: the state is read before it decays, `a` has no decay in it, where Gated
DeltaNet reads after. In fla-core 0.6.0 the kernels and `naive_chunk_comba` do that;
`naive_recurrent_comba` decays first, another recurrence.

======================  =============
here                    Comba
======================  =============
`q`                     `q - d p`
`k`, `S`                the same
`a`, `b`                `beta p`, `k`
`v`                     `beta v`
`g`, for every channel  `log(alpha)`
======================  =============
"""

from array_api_compat import array_namespace

from ..chunking import outer
from ..types import Array
from .general_rule import per_channel
from .printed_form import identity, number, run
from .shapes import check


def published(
    q: Array,
    k: Array,
    v: Array,
    p: Array,
    g: Array,
    beta: Array,
    d: Array | float,
    S: Array | None = None,
) -> tuple[Array, Array]:
    """The source's recurrence, token by token. Returns `(O, S)`. `d` is `[...]`, one per head."""
    exp = array_namespace(g).exp

    def transition(S, p, k, v, g, beta):
        alpha, beta = number(exp(g)), number(beta)
        return S @ (alpha * identity(k) - beta * outer(p, k)) + beta * outer(v, k)

    return run(transition, (q - number(d) * p, p, k, v), (g, beta), S)


def general(
    q: Array, k: Array, v: Array, p: Array, g: Array, beta: Array, d: Array | float
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The same as arguments of the general rule."""
    check({"k": k, "q": q, "p": p}, {"v": v}, {"g": g, "beta": beta})
    beta = beta[..., None]
    return q - number(d) * p, k, beta * v, beta * p, k, per_channel(g, k)
