"""Gradients of the general rule, by hand: the recurrence run from the last token to the first.

Forward, token t reads `r_t = S_{t-1} a_t` and leaves `S_t = S_{t-1} D_t - r_t b_t^T + v_t k_t^T`.
Let `dS_t` be the gradient of all later tokens, and of the last state, in `S_t`, and `Lambda_t` the
same with the token's own output:

    Lambda_t = dS_t + do_t q_t^T
    dq_t = S_t^T do_t        dv_t = Lambda_t k_t        dk_t = Lambda_t^T v_t
    dr_t = -Lambda_t b_t     db_t = -Lambda_t^T r_t     da_t = S_{t-1}^T dr_t
    dg_t = exp(g_t) . sum over rows of S_{t-1} . Lambda_t
    dS_{t-1} = Lambda_t D_t + dr_t a_t^T = Lambda_t (D_t - b_t a_t^T)

So the gradient runs through the transposed transitions, in reverse. Where `g` is `-inf` its
gradient is 0. For a special case, the gradients of its own arguments follow by the chain rule from
these; where `a` holds the decay, as in `a = D (e . k)`, `g` has a part in both.
"""

from array_api_compat import array_namespace

from ..chunking import check_state, matvec, outer, transpose, zero_state
from ..types import Array
from .general_rule import step
from .shapes import axes_in_front, check


def token(
    S: Array, q: Array, k: Array, v: Array, a: Array, b: Array, g: Array, dO: Array, dS_next: Array
) -> tuple[Array, Array, Array, Array, Array, Array, Array]:
    """Gradients of one token that received `S`: `dS, dq, dk, dv, da, db, dg`."""
    xp = array_namespace(S)
    D = xp.exp(g)
    read = matvec(S, a)
    _, S_next = step(S, q, k, v, a, b, g)
    Lambda = dS_next + outer(dO, q)
    dread = -matvec(Lambda, b)
    dS = Lambda * D[..., None, :] + outer(dread, a)
    dq, dk, dv = matvec(transpose(S_next), dO), matvec(transpose(Lambda), v), matvec(Lambda, k)
    da, db = matvec(transpose(S), dread), -matvec(transpose(Lambda), read)
    dg = D * xp.sum(S * Lambda, axis=-2)
    return dS, dq, dk, dv, da, db, dg


def gradients(
    q: Array, k: Array, v: Array, a: Array, b: Array, g: Array, S: Array | None = None,
    dO: Array | None = None, dS: Array | None = None,
) -> tuple[Array, Array, Array, Array, Array, Array, Array]:  # fmt: skip
    """Gradients of `general_rule`, in whichever form: `dq, dk, dv, da, db, dg, dS`.

    Parameters
    ----------
    q, k, v, a, b, g, S : as in `general_rule.recurrent`, the axes in front the same for all
    dO : [..., T, d_v], the gradient of the outputs; None: zero
    dS : [..., d_v, d_k], the gradient of the last state; None: zero

    Returns
    -------
    dq, dk, dv, da, db, dg : as q, k, v, a, b, g
    dS : the gradient of the state before the first token
    """
    T, *_ = check({"k": k, "q": q, "a": a, "b": b, "g": g}, {"v": v}, state=S)
    xp = array_namespace(q, k, v)
    S = zero_state(k, v) if S is None else S
    dO = xp.zeros_like(v) if dO is None else dO
    dS = xp.zeros_like(S) if dS is None else dS
    axes_in_front("dO", dO, "[..., T, d_v]", *v.shape[-2:])
    check_state(k, v, dS=dS)
    received = []
    for t in range(T):
        received.append(S)
        _, S = step(S, *(x[..., t, :] for x in (q, k, v, a, b, g)))
    found = []
    for t in reversed(range(T)):
        dS, *rest = token(received[t], *(x[..., t, :] for x in (q, k, v, a, b, g, dO)), dS)
        found.append(rest)
    if not found:
        return (*(xp.zeros_like(x) for x in (q, k, v, a, b, g)), dS)
    columns = zip(*reversed(found), strict=True)
    return (*(xp.stack(x, axis=-2) for x in columns), dS)
