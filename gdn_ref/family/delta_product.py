"""DeltaProduct: several steps of the delta rule for each token, then one output.

    H_t = A_t H_{t-1} + B_t
    M_j = I - beta_{t,j} k_{t,j} k_{t,j}^T
    A_t = alpha_t M_n ... M_1
    B_t = sum over j of M_n ... M_{j+1} beta_{t,j} k_{t,j} v_{t,j}^T
    o_t = H_t^T q_t

Source: Siems et al., "DeltaProduct: Improving State-Tracking in Linear RNNs via Householder
Products", 2025 (arXiv 2502.10297), state `[d_k, d_v]`, `n = n_h` steps a token. The gate `alpha`
makes it Gated DeltaProduct; DeltaProduct has `g = 0`. Each step has its own unit key, value and
strength, the strength up to 2. The code scales `q` by `d_k^-1/2`.

For the general rule a token becomes `n_h` tokens: the first decays, all erase and write, the last
one's output is the token's (`outputs`). The others have the query 0.

=======================  ===============================================
here, step j of token t  DeltaProduct
=======================  ===============================================
`q`                      `q_t` at the last step, else 0
`k`                      `k_{t,j}`
`a`, `b`                 `beta_{t,j} k_{t,j}` with that decay, `k_{t,j}`
`v`                      `beta_{t,j} v_{t,j}`
`g`, for every channel   `log(alpha_t)` at the first step, else 0
`S`                      the transpose of `H`
=======================  ===============================================
"""

from array_api_compat import array_namespace

from ..chunking import matvec, outer, transpose
from ..types import Array
from . import gated_deltanet
from .printed_form import identity, number, start
from .shapes import axes_in_front, check


def published(
    q: Array, k: Array, v: Array, g: Array, beta: Array, n_h: int, S: Array | None = None
) -> tuple[Array, Array]:
    """The source's recurrence, token by token. Returns `(O, S)`.

    `q` is `[..., T, d_k]` and `g` is `[..., T]`; `k`, `v` and `beta` have `n_h T` rows, the steps
    of a token one after the other.
    """
    check_steps(q, k, v, g, beta, n_h, S)
    xp = array_namespace(q, k, v)
    H, outputs = transpose(start(S, k, v)), []
    for t in range(q.shape[-2]):
        A, B = number(xp.exp(g[..., t])) * identity(k), xp.zeros_like(H)
        for j in range(t * n_h, (t + 1) * n_h):
            k_j, v_j, strength = k[..., j, :], v[..., j, :], number(beta[..., j])
            householder = identity(k) - strength * outer(k_j, k_j)
            A, B = householder @ A, householder @ B + strength * outer(k_j, v_j)
        H = A @ H + B
        outputs.append(matvec(transpose(H), q[..., t, :]))
    return xp.stack(outputs, axis=-2) if outputs else v, transpose(H)


def general(
    q: Array, k: Array, v: Array, g: Array, beta: Array, n_h: int
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The same as arguments of the general rule, `n_h T` tokens long."""
    check_steps(q, k, v, g, beta, n_h)
    q = at_step(n_h - 1, n_h, q, axis=-2)
    g = at_step(0, n_h, g, axis=-1)
    return gated_deltanet.general(q, k, v, g, beta)


def outputs(O: Array, n_h: int) -> Array:
    """Each token's output: that of its last step."""
    *batch, rows, d_v = O.shape
    return array_namespace(O).reshape(O, (*batch, rows // n_h, n_h, d_v))[..., -1, :]


def at_step(j, n_h, x, axis):
    """Token t of `x` at its step j, zeros at its other steps; `axis` is that of the tokens."""
    xp = array_namespace(x)
    zero = xp.zeros_like(x)
    rows = xp.stack([x if i == j else zero for i in range(n_h)], axis=axis)
    shape = list(x.shape)
    shape[axis] *= n_h
    return xp.reshape(rows, tuple(shape))


def check_steps(q, k, v, g, beta, n_h, S=None):
    """Each of the T tokens of `q` and `g` has `n_h` rows of the others."""
    if not hasattr(n_h, "__index__") or n_h < 1:
        raise ValueError(f"n_h: expected an integer of at least 1, got {n_h}")
    check({"k": k}, {"v": v}, {"beta": beta}, S)
    axes_in_front("g", g, "[..., T]", *q.shape[-2:-1])
    axes_in_front("k", k, "[..., n_h T, d_k]", n_h * q.shape[-2], q.shape[-1])
