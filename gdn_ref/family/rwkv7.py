"""RWKV-7: a decay per channel, and what is read, erased and written along three directions.

    wkv_t = wkv_{t-1} (Diag(w_t) - kappa_t^T (a_t . kappa_t)) + v_t^T k_t
    y_t   = wkv_t r_t^T

Source: Peng et al., "RWKV-7 Goose with Expressive Dynamic State Evolution", 2025
(arXiv 2503.14456), whose vectors are rows. `kappa` (with a hat there, `kk` in the code) is the
removal key, of unit norm; `a` is the in-context learning rate, a sigmoid per channel; `k` (with a
tilde there) is the replacement key, not normalised. `w = exp(-exp(-1/2) sigmoid(...))`, so a
channel keeps at least .545 of itself; passed here is `log_w`. There is no scale. The bonus, a
multiple of `v_t` added to the output, is not part of the rule.

The state is read before it decays, so `a` here has no decay in it: a decay of zero would not be a
reset, since what was read of the old state is still erased. And what is erased lies along
`a . kappa`, not along what is written: this rule needs `b` and `k` apart.

========  ========================
here      RWKV-7
========  ========================
`q`       `r`, the receptance
`k`       `k`, the replacement key
`a`, `b`  `kappa`, `a . kappa`
`v`, `S`  `v`, `wkv`
`g`       `log_w`
========  ========================
"""

from array_api_compat import array_namespace

from ..chunking import outer
from ..types import Array
from .printed_form import diag, run
from .shapes import check


def published(
    r: Array, log_w: Array, k: Array, v: Array, kappa: Array, a: Array, S: Array | None = None
) -> tuple[Array, Array]:
    """The source's recurrence, token by token. Returns `(O, S)`."""
    exp = array_namespace(log_w).exp

    def transition(wkv, log_w, kappa, a, k, v):
        return wkv @ (diag(exp(log_w)) - outer(kappa, a * kappa)) + outer(v, k)

    return run(transition, (r, log_w, kappa, a, k, v), (), S)


def general(
    r: Array, log_w: Array, k: Array, v: Array, kappa: Array, a: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The same as arguments of the general rule."""
    check({"k": k, "r": r, "log_w": log_w, "kappa": kappa, "a": a}, {"v": v})
    return r, k, v, kappa, a * kappa, log_w
