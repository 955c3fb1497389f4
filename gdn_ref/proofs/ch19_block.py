"""Chapter 19: the whole block, written out token by token and head by head (eq-block)."""

import math

import numpy as np
import torch

from .. import gated_delta_rule
from ..layers import GatedDeltaNet
from .data import relative_error
from .page import on_page
from .registry import verifies

GATE = r"\texttt{A\_log}", r"\texttt{dt\_bias}"
SIZES = {"hidden_size": 12, "num_heads": 2, "head_dim": 6, "num_v_heads": 4, "head_v_dim": 5}


def silu(z):
    return z / (1 + torch.exp(-z))


def sigmoid(z):
    return 1 / (1 + torch.exp(-z))


def unit(x):
    """Length 1, but for what lies under the root (eq-qk-norm)."""
    return x / torch.sqrt((x * x).sum(-1, keepdim=True) + 1e-6)


def scaled(q):
    return q / math.sqrt(len(q))


def root_mean_square(o, eps):
    """With eps under the root (eq-gated-norm)."""
    return torch.sqrt((o * o).mean(-1, keepdim=True) + eps)


def gated_norm(o, z, weight, eps):
    """Divide by the root mean square, then gate (eq-gated-norm)."""
    return weight * o / root_mean_square(o, eps) * silu(z)


def gate_first(o, z, weight, eps):
    return gated_norm(o * silu(z), torch.full_like(z, 40.0), weight, eps) / 40


def convolve(x, weight):
    """Each channel mixes its last W inputs; before the first there are zeros (eq-causal-conv)."""
    W, padded = weight.shape[1], torch.cat([x.new_zeros(weight.shape[1] - 1, x.shape[1]), x])
    return torch.stack([silu((weight.T * padded[t : t + W]).sum(0)) for t in range(len(x))])


def log_decay(a, A_log, dt_bias):
    return -torch.exp(A_log) * torch.log1p(torch.exp(a + dt_bias))


def key_head(h, H, HV):
    return h // (HV // H)


def block(net, x, unit=unit, norm=gated_norm, key_head=key_head, factor=1):
    """`[T, hidden_size]` through the formulas of the chapter, with the weights of `net`."""
    w = {name.removesuffix(".weight"): y.detach() for name, y in net.state_dict().items()}
    K, V = net.head_dim, net.head_v_dim
    qkv = torch.cat([x @ w[f"{name}_proj"].T for name in "qkv"], dim=1)
    q, k, v = convolve(qkv, w["conv1d"][:, 0]).split(net.channels, dim=1)
    a, b, z = (x @ w[f"{name}_proj"].T for name in "abg")
    g = log_decay(a, w["A_log"], w["dt_bias"])
    beta, heads = factor * sigmoid(b), []
    H, HV = q.shape[1] // K, v.shape[1] // V
    for h in range(HV):
        one, S = key_head(h, H, HV), torch.zeros(V, K, dtype=x.dtype)
        key, query = (unit(y[:, K * one : K * (one + 1)]) for y in (k, q))
        value, gate = (y[:, V * h : V * (h + 1)] for y in (v, z))
        rows = []
        for t in range(len(x)):
            o, S = gated_delta_rule.step(S, scaled(query[t]), key[t], value[t], g[t, h], beta[t, h])
            rows.append(norm(o, gate[t], w["o_norm"], net.o_norm.eps))
        heads.append(torch.stack(rows))
    return torch.cat(heads, dim=1) @ w["o_proj"].T


def hard_layer(seed=0, **options):
    """A float64 layer with long memories and large projections, so that slips show."""
    torch.manual_seed(seed)
    net = GatedDeltaNet(**SIZES | options, dtype=torch.float64)
    with torch.no_grad():
        net.A_log.copy_(torch.linspace(-1, 1, len(net.A_log)))
        net.dt_bias.fill_(-3.0)
        net.o_norm.weight.uniform_(0.5, 1.5)
        for linear in (net.q_proj, net.k_proj, net.v_proj, net.a_proj, net.b_proj):
            linear.weight.mul_(3)
    return net.requires_grad_(False)


def tokens(T=40, seed=1, size=SIZES["hidden_size"]):
    """`[T, hidden_size]`, float64; any two are correlated."""
    random = torch.Generator().manual_seed(seed)
    shared = torch.randn(1, size, generator=random, dtype=torch.float64)
    return torch.randn(T, size, generator=random, dtype=torch.float64) + shared


@verifies(
    "eq-block",
    method="float64",
    covers="40 correlated tokens, 2 key and 4 value heads, d_k = 6, d_v = 5",
    mutants={
        "keys and queries keep their lengths": {"unit": lambda x: x},
        "gate before the norm": {"norm": gate_first},
        "key heads in turn": {"key_head": lambda h, H, HV: h % H},
        "strength twice as large": {"factor": 2},
    },
)
def layer_is_its_formulas(unit=unit, norm=gated_norm, key_head=key_head, factor=1):
    """The package's layer against `block`, whose lines are those of the page."""

    def tensors(at, *names):
        found = (at(x) for x in names)
        return [torch.tensor(np.squeeze(x), dtype=torch.float64) for x in found]

    def projected(at, names):
        (x,) = tensors(at, r"\boldsymbol{x}_t")
        return [columns(x @ torch.from_numpy(at(rf"\mathbf{{W}}_{n}")).T)[0] for n in names]

    def columns(*vectors):
        return tuple(x.numpy().reshape(-1, 1) for x in vectors)

    def keys(at):
        q, k = map(unit, tensors(at, r"\boldsymbol{q}'", r"\boldsymbol{k}'"))
        return columns(scaled(q), k)

    def decay(at):
        return float(log_decay(*tensors(at, r"\boldsymbol{a}", *GATE)))

    def strength(at):
        return float(factor * at(r"\beta_\text{max}") * sigmoid(*tensors(at, r"\boldsymbol{b}")))

    def output(at):
        return at(r"\mathbf{W}_o") @ at(r"\mathrm{norm}(\boldsymbol{o},\boldsymbol{z})")

    convolved = lambda at: at(r"\mathrm{conv}")(*projected(at, "qkv"))
    gates = lambda at: tuple(projected(at, "abg"))
    for of, line in ((0, convolved), (1, keys), (2, gates), (3, decay), (4, strength), (6, output)):
        on_page("eq-block", line, of=of)
    net, x = hard_layer(), tokens()
    return relative_error(net(x[None])[0], block(net, x, unit, norm, key_head, factor))
