"""Chapter 20: the stack that is counted computes both mixers."""

import torch
from torch.nn.functional import conv1d, normalize, silu, softplus

from .. import gated_delta_rule
from .ch20_cost import DENSE
from .ch20_stack import caches, full_mixer, linear_mixer, weights
from .data import worst
from .registry import verifies


@verifies(
    "eq-hybrid-decode-bytes",
    method="float64",
    covers="6 tokens, one token a step, against whole passes",
    part="no bytes: the stack that is counted computes both mixers",
    mutants={"no decay": {"decay": 0.0}, "own token left out": {"own": 0.0}},
)
def counted_stack_computes_the_mixers(decay=1.0, own=1.0):
    """Both mixers, token by token, give what their whole-sequence forms give."""
    x, T, kind = DENSE, 6, torch.float64
    layers = weights(x, kind)["layers"]
    h = torch.randn(T, 1, x.width, dtype=kind, generator=torch.Generator().manual_seed(3))
    S, window = caches(x, 0, 1, kind, kind)[0]
    K = V = torch.zeros(1, x.kv_heads, 0, x.head, dtype=kind)
    steps = []
    for t in range(T):
        _, (S, window) = linear_mixer(x, layers[0], h[t], S, window)
        o, (k, v) = full_mixer(x, layers[-1], h[t], K, V)
        K, V = torch.cat([K, k], dim=-2), torch.cat([V, v], dim=-2)
        steps.append(o)
    whole = whole_attention(x, layers[-1], h, own), whole_state(x, layers[0], h, decay)
    return worst((torch.stack(steps).numpy(), S.numpy()), [y.numpy() for y in whole])


def whole_attention(x, w, h, own):
    """Causal softmax attention over all tokens at once; `own` weighs a token's own score."""
    q, gate = (h[:, 0] @ w["q"].T).chunk(2, dim=-1)
    q = q.unflatten(-1, (x.q_heads, x.head)).transpose(0, 1)
    k, v = (y.unflatten(-1, (x.kv_heads, x.head)).transpose(0, 1)
            for y in (h[:, 0] @ w["kv"].T).chunk(2, dim=-1))  # fmt: skip
    k, v = (y.repeat_interleave(x.q_heads // x.kv_heads, dim=0) for y in (k, v))
    scores = (q @ k.mT) * x.head**-0.5
    mask = torch.ones_like(scores).tril(-1) + own * torch.eye(len(h), dtype=h.dtype)
    P = scores.exp() * mask
    o = ((P / P.sum(-1, keepdim=True).clamp(min=1e-9)) @ v).transpose(0, 1).flatten(1)
    return ((o * torch.sigmoid(gate)) @ w["out"].T)[:, None]


def whole_state(x, w, h, decay):
    """The last state by the chunk form, from the convolution of the whole sequence."""
    S, window = caches(x, 0, 1, h.dtype, h.dtype)[0]
    rows = torch.cat([window[..., 1:], (h[:, 0] @ w["qkv"].T).T[None]], dim=-1)
    mixed = silu(conv1d(rows, w["conv"], groups=x.channels)[0].T)
    keys = x.key_heads * x.d_k
    q, k = (normalize(y.unflatten(-1, (x.key_heads, x.d_k)), dim=-1).transpose(0, 1)
            .repeat_interleave(x.value_heads // x.key_heads, dim=0)
            for y in mixed[:, : 2 * keys].chunk(2, dim=-1))  # fmt: skip
    v = mixed[:, 2 * keys :].unflatten(-1, (x.value_heads, x.d_v)).transpose(0, 1)
    b, a = (h[:, 0] @ w["ba"].T).T.chunk(2)
    g = -decay * softplus(a)
    return gated_delta_rule.chunkwise(q, k, v, g, torch.sigmoid(b), S[0], chunk_size=4)[1][None]
