"""Two gates: the delta rule with a decay, an erase gate and a write gate per channel.

    S_t = S_{t-1} D_t (I - (e_t . k_t) k_t^T) + (w_t . v_t) k_t^T           (eq-family-two-gates)

The dot is elementwise. In words: decay, read with the gated key, erase along the key, write the
gated value. The erase gate `e` is `[..., T, d_k]`, the write gate `w` is `[..., T, d_v]`, `g` as
in `general_rule`. With `e = w = beta` and one `g` for all channels it is the gated delta rule.
"""

from array_api_compat import array_namespace


def arguments(q, k, v, g, erase, write):
    """The rule as the general rule's `(q, k, v, a, b, g)`: `a = D (e . k)` and `b = k`."""
    a = array_namespace(g).exp(g) * erase * k
    return q, k, write * v, a, k, g
