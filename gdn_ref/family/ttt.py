"""Test-time training (TTT) with a linear inner model: the state is a model, a token trains it.

    W_t = W_{t-1} - eta_t grad l_t(W_{t-1}),      l_t(W) = norm(W k_t - v_t)^2
    z_t = W_t q_t

Source: Sun et al., "Learning to (Learn at Test Time): RNNs with Expressive Hidden States", 2024
(arXiv 2407.04620): `f(x; W) = W x` with the training view `k = theta_K x`, the label view
`v = theta_V x` and the test view `q = theta_Q x`. The loss has no factor 1/2 there, so the
gradient is `2 (W k - v) k^T` and the step is a delta rule with `beta = 2 eta`; with the loss
halved it is `beta = eta`. Their TTT-Linear has a layer norm and a residual inside `f`, which makes
the gradient nonlinear in `W`: that is no member of this family. Nothing decays, nothing is scaled.

=============  ===========================================
here           TTT
=============  ===========================================
`q`, `k`, `v`  `theta_Q x`, `theta_K x`, `2 eta theta_V x`
`a`, `b`       `2 eta k`, `k`
`g`            0
`S`            `W`
=============  ===========================================

A mini-batch of tokens takes all its gradients at the state before its first token,

    W_t = W_{t'} - sum over s from t' + 1 to t of eta_s grad l_s(W_{t'})    (eq-family-minibatch)

So no token sees what another of its batch wrote: in the chunk form of the general rule `A^b` and
`A^k` are 0, and `R = diag(2 eta) K W_{t'}^T` needs no solve. `batch_size=1` is the rule itself,
and one batch over a whole sequence with `W_0 = 0` is linear attention.
"""

from array_api_compat import array_namespace

from .. import linear_attention
from ..chunking import matvec, outer, scan_chunks, transpose
from ..types import Array
from .deltanet import general as delta_rule
from .printed_form import number, start
from .shapes import check


def published(
    q: Array, k: Array, v: Array, eta: Array, S: Array | None = None, batch_size: int = 1
) -> tuple[Array, Array]:
    """The source's updates, token by token. Returns `(O, S)`. `eta` is `[..., T]`."""
    xp = array_namespace(q, k, v)
    check({"k": k, "q": q}, {"v": v}, {"eta": eta}, S)
    W, outputs = start(S, k, v), []
    for t in range(k.shape[-2]):
        if t % batch_size == 0:
            W_batch = W
        W = W - number(eta[..., t]) * gradient(W_batch, k[..., t, :], v[..., t, :])
        outputs.append(matvec(W, q[..., t, :]))
    return xp.stack(outputs, axis=-2) if outputs else v, W


def gradient(W: Array, k: Array, v: Array) -> Array:
    """Of the loss `||W k - v||^2` in `W`."""
    return 2 * outer(matvec(W, k) - v, k)


def general(
    q: Array, k: Array, v: Array, eta: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The same as arguments of the general rule, for batches of one token."""
    check({"k": k, "q": q}, {"v": v}, {"eta": eta})
    return delta_rule(q, k, v, 2 * eta)


def mini_batches(
    q: Array, k: Array, v: Array, eta: Array, S: Array | None = None, batch_size: int = 16
) -> tuple[Array, Array]:
    """Batch by batch: the chunk form with `A = 0`. Returns `(O, S)`."""
    check({"k": k, "q": q}, {"v": v}, {"eta": eta}, S)
    return scan_chunks(batch, start(S, k, v), (q, k, v), (eta,), batch_size)


def batch(W: Array, q: Array, k: Array, v: Array, eta: Array) -> tuple[Array, Array]:
    """One mini-batch: the errors of all its tokens at `W`, then linear attention."""
    delta = 2 * eta[..., None] * (v - k @ transpose(W))
    return linear_attention.chunk(W, q, k, delta)
