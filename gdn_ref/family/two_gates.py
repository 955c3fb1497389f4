"""Two gates: the delta rule with a decay, an erase gate and a write gate per channel.

    S_t = S_{t-1} D_t (I - (e_t . k_t) k_t^T) + (w_t . v_t) k_t^T           (eq-family-two-gates)

The dot is elementwise. In words: decay, read with the gated key, erase along the key, write the
gated value. The erase gate `e` is `[..., T, d_k]`, the write gate `w` is `[..., T, d_v]`, `g` as
in `general_rule`. With `e = w = beta` and one `g` for all channels it is the gated delta rule.
"""

from array_api_compat import array_namespace

from ..types import Array
from .shapes import check, shape


def arguments(
    q: Array, k: Array, v: Array, g: Array, erase: Array, write: Array
) -> tuple[Array, Array, Array, Array, Array, Array]:
    """The rule as the general rule's `(q, k, v, a, b, g)`: `a = D (e . k)` and `b = k`.

    A gate whose last axis is 1 is the same for all channels.
    """
    T, d_k, d_v = check({"k": k, "q": q, "g": g}, {"v": v})
    for name, gate, size in (("erase", erase, d_k), ("write", write, d_v)):
        if shape(gate)[-2:] not in ((T, size), (T, 1)):
            raise ValueError(f"{name}: expected [..., {T}, {size}], got shape {shape(gate)}")
    a = array_namespace(g).exp(g) * erase * k
    return q, k, write * v, a, k, g
