"""Chapter 19: the two norms of the block, of keys and queries and of the output."""

import numpy as np
import torch

from .. import gated_delta_rule
from ..layers import GatedRMSNorm
from ..ops import fused_recurrent_gated_delta_rule
from .ch19_block import gate_first, gated_norm, root_mean_square, sigmoid
from .data import hard_inputs, relative_error
from .page import on_page
from .registry import verifies


def root(x, eps=1e-6):
    """Under the root: the squared length and eps."""
    return np.sqrt((x * x).sum(-1, keepdims=True) + eps)


@verifies(
    "eq-qk-norm",
    method="float64",
    covers="30 tokens, raw keys and queries of length 0.002, d_k = 12, d_v = 7, nonzero state",
    mutants={
        "eps times d_k": {"length": lambda x: root(x, 12e-6)},
        "eps beside the root": {"length": lambda x: root(x, 0) + 1e-6},
        "no scale": {"scale": lambda d_k: 1.0},
        "scale on the key": {"on_key": lambda d_k: d_k**-0.5},
    },
)
def rule_normalises_inside(length=root, scale=lambda d_k: d_k**-0.5, on_key=lambda d_k: 1.0):
    """The public function on raw keys and queries against the reference on normalised ones."""

    def normalised(x, share):
        return share(x.shape[-1]) * x / length(x)

    for of, (x, share) in enumerate((("k", on_key), ("q", scale))):
        tex = rf"\boldsymbol{{{x}}}'"
        on_page(
            "eq-qk-norm", lambda at, tex=tex, share=share: normalised(at(tex).T, share).T, of=of
        )
    q, k, v, g, beta, S = hard_inputs(T=30)
    q, k = 0.002 * q, 0.002 * k

    def public(x):
        return torch.from_numpy(x)[None, :, None]

    raw = [public(x) for x in (q, k, v)]
    state = torch.from_numpy(S.T.copy())[None, None]
    o, _ = fused_recurrent_gated_delta_rule(
        *raw, g=public(g), beta=public(beta), initial_state=state, use_qk_l2norm_in_kernel=True
    )
    expected, _ = gated_delta_rule.recurrent(
        normalised(q, scale), normalised(k, on_key), v, g, beta, S
    )
    return relative_error(o[0, :, 0], expected)


@verifies(
    "eq-gated-norm",
    method="float64",
    covers="40 outputs of 6 heads, d_v = 7, length about 0.01, so that eps counts",
    mutants={
        "gate before the norm": {"form": gate_first},
        "sum in place of the mean": {
            "form": lambda o, z, w, e: gated_norm(o, z, w, 7 * e) / 7**0.5
        },
        "sigmoid as the gate": {"form": lambda o, z, w, e: gated_norm(o, z, w, e) / z},
        "eps beside the root": {
            "form": lambda o, z, w, e: (
                gated_norm(o, z, w, 0) / (1 + e / (o * o).mean(-1, keepdim=True).sqrt())
            )
        },
    },
)
def layer_normalises_then_gates(form=gated_norm):
    """The layer's norm against its formula."""

    def printed(at):
        o, z, w = (torch.from_numpy(at(rf"\boldsymbol{{{x}}}")[:, 0].astype(float)) for x in "ozw")
        return form(o, z, w, at(r"\varepsilon")).numpy()[:, None]

    def divisor(at):
        o = torch.from_numpy(at(r"\boldsymbol{o}")[:, 0].astype(float))
        return float(root_mean_square(o, at(r"\varepsilon")))

    on_page("eq-gated-norm", divisor)
    on_page("eq-gated-norm", printed, of=1)
    random = torch.Generator().manual_seed(0)
    o, z = torch.randn(2, 40, 6, 7, generator=random, dtype=torch.float64)
    norm = GatedRMSNorm(7, dtype=torch.float64)
    with torch.no_grad():
        norm.weight.uniform_(0.5, 1.5, generator=random)
        return relative_error(norm(0.004 * o, z), form(0.004 * o, z, norm.weight, norm.eps))


@verifies(
    "eq-norm-gradient",
    method="float64",
    covers="40 outputs of 6 heads, d_v = 7, against autograd through the layer's norm",
    mutants={"gate left out": {"gate": 0}, "weight left out": {"weigh": 0}},
)
def gradient_through_the_layer(gate=1, weigh=1):
    """The gradient of o for a random gradient of the gated, normalised output."""

    def through(n, dn, r, mean):
        return (dn - n * mean(n * dn)) / r

    def printed(at):
        n, dn = at(r"\boldsymbol{n}"), at(r"\mathrm d\boldsymbol{n}")
        return through(n, dn, at("r"), np.mean)

    on_page("eq-norm-gradient", printed)
    random = torch.Generator().manual_seed(0)
    o, z, dy = torch.randn(3, 40, 6, 7, generator=random, dtype=torch.float64)
    norm = GatedRMSNorm(7, dtype=torch.float64)
    with torch.no_grad():
        norm.weight.uniform_(0.5, 1.5, generator=random)
    o.requires_grad_()
    (expected,) = torch.autograd.grad(norm(o, z), o, dy)
    with torch.no_grad():
        r = torch.sqrt((o * o).mean(-1, keepdim=True) + norm.eps)
        n, dn = o / r, dy * norm.weight**weigh * (z * sigmoid(z)) ** gate
        mean = lambda x: x.mean(-1, keepdim=True)
        return relative_error(through(n, dn, r, mean), expected)
