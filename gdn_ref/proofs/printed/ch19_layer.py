r"""Chapter 19's layer and convolution, taken apart: what the package computes on the way.

The rule normalises, gates and squashes inside of one call. A memory that is the identity, or that
is empty, shows each of these by what is left in it.
"""

from functools import cache

import numpy as np
import torch

from ... import gated_delta_rule
from ...convolution import causal_conv1d, causal_conv1d_update
from ...layers import GatedDeltaNet, GatedDeltaNetCache, GatedRMSNorm
from ...ops import fused_recurrent_gated_delta_rule, unit_rows
from .values import Depends, Family, Refused, entries, is_number
from .world import World


def column(x, d):
    """A column of d entries as a tensor `[d]`."""
    if np.shape(x) != (d, 1):
        raise Refused(f"a shape {np.shape(x)} where {d} entries are expected")
    return torch.from_numpy(np.array(x, dtype=float).reshape(-1))


def array(x):
    """A tensor `[d]` as a column vector."""
    return x.detach().numpy().reshape(-1, 1)


def sigmoid(x):
    if not is_number(x):
        raise Refused("a sigmoid of what is no number")
    return float(1 / (1 + np.exp(-x)))


def unit_norm(eps, d_v):
    """The layer's norm with neither weight nor gate: the one undoes the other."""
    if eps < 0:
        raise Refused("a negative number under the root")
    net = GatedRMSNorm(d_v, float(eps), dtype=torch.float64).requires_grad_(False)
    gate = torch.ones(d_v, dtype=torch.float64)
    net.weight.div_(torch.nn.functional.silu(gate))
    return lambda o: net(o, gate)


def one_token(*given, **options):
    """The public function on q, k, v, g, beta of one token, and a state: `o`, `S` `[K, V]`."""
    *token, S = (torch.as_tensor(x, dtype=torch.float64)[None, None] for x in given)
    q, k, v, g, beta = (x[None] for x in token)
    o, S = fused_recurrent_gated_delta_rule(
        q, k, v, g=g, beta=beta, initial_state=S, output_final_state=True, **options
    )
    return o[0, 0, 0].numpy(), S[0, 0].numpy()


def normalised(q, k):
    """Query and key as the rule uses them: it reads the identity, and writes 1 to nothing."""
    eye, none = np.eye(len(q)), np.zeros((len(q), 1))
    o, _ = one_token(q, k, 0 * q, 0, 0, eye, use_qk_l2norm_in_kernel=True)
    _, S = one_token(q, k, [1], 0, 1, none, use_qk_l2norm_in_kernel=True)
    return o[:, None], S


@cache
def block(draw):
    """A layer of one head at its last token; the memory of before is the layer's own."""
    kind, more = draw.seed % 3, draw.seed // 3
    T, D, W = 3 + kind, (5, 4, 6)[kind], (3, 2, 4)[kind]
    d_k, d_v = (3, 2, 4)[kind] + 3 * more, (2, 4, 3)[kind] + more // 2
    torch.manual_seed(draw.seed)
    twice = kind != 1
    net = GatedDeltaNet(
        D, 1, d_k, head_v_dim=d_v, conv_size=W, allow_neg_eigval=twice, dtype=torch.float64
    ).requires_grad_(False)
    net.dt_bias.fill_((-2, 1, -0.5)[kind] * draw.number())
    net.A_log.fill_((0.7, -1, -0.3)[kind] * draw.number())
    net.b_proj.weight.mul_((1, -1, 1)[kind])
    net.o_norm.weight.uniform_(0.5, 1.5)
    x, seen, past = torch.from_numpy(draw.array(1, T, D)), {}, GatedDeltaNetCache()
    net.o_norm.register_forward_pre_hook(lambda _, given: seen.update(o=given[0], z=given[1]))
    net(x[:, : T - 1], past)
    y, now = net(x)[0, -1], x[0, -1]
    raw = torch.cat([net.q_proj(x), net.k_proj(x), net.v_proj(x)], dim=-1)
    taps = net.conv1d.weight.squeeze(1)
    q_raw, k_raw, v = causal_conv1d(raw, taps)[0][0, -1].split(net.channels)
    q, k = normalised(q_raw.numpy(), k_raw.numpy())
    a, b = float(net.a_proj(now)), float(net.b_proj(now))
    decay = {"use_gate_in_kernel": True, "A_log": net.A_log, "dt_bias": net.dt_bias}
    kept = one_token([0], [0], [0], a, 0, [[1.0]], **decay)[1]
    squashed = {"use_beta_sigmoid_in_kernel": True, "allow_neg_eigval": twice}
    beta = one_token([0], [1], [1], 0, b, [[0.0]], **squashed)[1]
    memory = past.recurrent_state[0, 0].T.numpy()

    def conv(q, k, v):
        pool = past.conv_state.clone()
        parts = [column(part, d) for part, d in zip((q, k, v), net.channels, strict=True)]
        found = causal_conv1d_update(torch.cat(parts)[None, None], pool, taps)[0, 0]
        return tuple(array(part) for part in found.split(net.channels))

    def rule(q, k, v, alpha, beta):
        if not is_number(alpha) or not is_number(beta) or alpha <= 0:
            raise Refused("a decay or a strength that is none")
        q, k, v = (column(x, d).numpy() for x, d in zip((q, k, v), net.channels, strict=True))
        return gated_delta_rule.step(memory, q, k, v, np.log(alpha), np.asarray(beta))[0][:, None]

    letters = {
        r"\boldsymbol{x}_t": array(now), r"\boldsymbol{y}_t": array(y),
        r"\boldsymbol{q}'": array(q_raw), r"\boldsymbol{k}'": array(k_raw),
        r"\boldsymbol{q}": q, r"\boldsymbol{k}": k, r"\boldsymbol{v}": array(v),
        r"\boldsymbol{a}": a, r"\boldsymbol{b}": b, r"\boldsymbol{z}": array(seen["z"][0, -1, 0]),
        r"\boldsymbol{o}": array(seen["o"][0, -1, 0]), r"\alpha": kept.item(),
        r"\beta": beta.item(),
        r"\beta_\text{max}": 1 + twice, r"\texttt{A\_log}": float(net.A_log),
        r"\texttt{dt\_bias}": float(net.dt_bias), "d_k": d_k, "d_v": d_v, "conv": conv,
        "unit": lambda x: array(unit_rows(column(x, d_k))), "rule": rule, r"\sigma": sigmoid,
        "norm": lambda o, z: array(net.o_norm(column(o, d_v), column(z, d_v))),
    }  # fmt: skip
    for name in "qkvabgo":
        letters[rf"\mathbf{{W}}_{name}"] = getattr(net, f"{name}_proj").weight.numpy()
    return World(letters)


@cache
def convolution(draw):
    """One channel with a bias and earlier inputs; its gradients by autograd."""
    T, W = ((4, 3), (6, 1), (3, 4), (5, 6), (1, 5), (4, 2))[draw.seed % 6]
    x, w, bias, S = (torch.from_numpy(draw.array(*s)) for s in ((T,), (W,), (1,), (W - 1,)))
    dy = torch.from_numpy(draw.array(T))

    def package(x, w, activation="silu"):
        y, last = causal_conv1d(
            x[None, :, None], w[None], bias, initial_state=S[None, None], output_final_state=True,
            activation=activation,
        )  # fmt: skip
        return y[0, :, 0], last[0, 0]

    leaves = [leaf.clone().requires_grad_() for leaf in (x, w)]
    dx, dw = torch.autograd.grad(package(*leaves)[0], leaves, dy)
    z = package(x, w, None)[0].requires_grad_()
    (dz,) = torch.autograd.grad(torch.nn.functional.silu(z), z, dy)

    def after(t):
        """The state after token t, as the package returns it."""
        return tuple(float(s) for s in package(x[:t], w)[1]) if t else tuple(map(float, S))

    def ends(t):
        """Past the last token gradients are zero."""
        if not (t == int(t) and 1 <= t < T + W):
            raise Refused(f"no token {t}")
        return float(dz[t - 1]) if t <= T else 0.0

    z = z.detach().numpy()
    letters = {
        "x_": entries(np.concatenate([S, x]), 2 - W), "w_": entries(w.numpy(), 0), "W": W,
        "bias": float(bias), "z_": entries(z), "y_": entries(package(x, w)[0].numpy()),
        "before": Depends(lambda at: after(at["t"] - 1)),
        "after": Depends(lambda at: after(at["t"])),
        "dx_": entries(dx.numpy()), "dw_": entries(dw.numpy(), 0), "dy_": entries(dy.numpy()),
        "dz_": Family(ends), "s_": entries(torch.sigmoid(torch.from_numpy(z)).numpy()),
        r"\sigma": sigmoid,
    }  # fmt: skip
    return World(letters, {"t": range(1, T + 1), "i": range(W)})
