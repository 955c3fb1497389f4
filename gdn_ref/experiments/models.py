"""Small models whose mixers are chosen by name: embedding, blocks of mixer and MLP, readout.

Every mixer is the shipped layer or made of its parts: the same projections, short convolution, unit
keys, output norm and gate. Only what happens between tokens differs, so a difference between two
models is a difference between two rules.

==============  =====================================================================
name            S_t =
==============  =====================================================================
`attention`     none: a softmax over all tokens so far
`linear`        S_{t-1} + beta v k^T
`decay`         alpha S_{t-1} + beta v k^T, Mamba-2's recurrence
`delta`         S_{t-1} (I - beta k k^T) + beta v k^T, beta to 1
`gated`         alpha S_{t-1} (I - beta k k^T) + beta v k^T, beta to 1 (eq-gdn-recurrence)
`delta-2`       the same as `delta` with beta to 2; so `gated-2`
`delta-2x3`     DeltaProduct: three steps of `delta-2` per token; so `gated-2x3`, `delta-1x3`
==============  =====================================================================
"""

import math
import re

import torch
from torch import nn
from torch.nn.functional import scaled_dot_product_attention

from .. import scalar_decay
from ..convolution import causal_conv1d
from ..layers import GatedDeltaNet, heads
from ..ops import chunk_gated_delta_rule, log_decay, unit_rows

ADDITIVE = ("attention", "linear", "decay")
NAMED = re.compile(r"(delta|gated)(?:-([12])(?:x([1-9]))?)?")


class Model(nn.Module):
    """Tokens to logits.

    Parameters
    ----------
    vocabulary, outputs : int
        Numbers of tokens and of answers.
    mixers : sequence of str
        One name per block, of the table above; a hybrid names several kinds.
    hidden_size : int
    num_heads, head_dim : int
        Heads H and the size d_k of a key; d_v is `head_v_dim`, and d_k by default.
    conv_size : int
        Width of the short convolution; 1 leaves the tokens apart.
    mlp : int
        Width of each block's MLP as a multiple of `hidden_size`; 0 for none.
    half_life : float, optional
        Tokens in which a fresh head that decays forgets half; by default as the layer draws it.

    Raises
    ------
    ValueError
        A mixer has a name that is not in the table.
    """

    def __init__(
        self, vocabulary, outputs, mixers, *, hidden_size=64, num_heads=2, head_dim=16,
        head_v_dim=None, conv_size=4, mlp=2, half_life=None,
    ):  # fmt: skip
        super().__init__()
        sizes = {"hidden_size": hidden_size, "num_heads": num_heads, "head_dim": head_dim}
        sizes |= {"head_v_dim": head_v_dim or head_dim, "conv_size": conv_size}
        self.embedding = nn.Embedding(vocabulary, hidden_size)
        self.blocks = nn.ModuleList(Block(name, mlp, sizes) for name in mixers)
        self.norm = nn.RMSNorm(hidden_size)
        self.readout = nn.Linear(hidden_size, outputs)
        for block in self.blocks if half_life else ():
            start_with(block.mixer, half_life)

    def forward(self, tokens):
        """`[B, T]` integers to `[B, T, outputs]`."""
        x = self.embedding(tokens)
        for block in self.blocks:
            x = block(x)
        return self.readout(self.norm(x))


class Block(nn.Module):
    """Mixer and MLP, each behind a norm and beside a residual."""

    def __init__(self, name, mlp, sizes):
        super().__init__()
        D = sizes["hidden_size"]
        self.before_mixer, self.mixer = nn.RMSNorm(D), mixer(name, **sizes)
        self.mlp = None
        if mlp:
            inner = nn.Linear(D, mlp * D), nn.GELU(), nn.Linear(mlp * D, D)
            self.mlp = nn.Sequential(nn.RMSNorm(D), *inner)

    def forward(self, x):
        x = x + self.mixer(self.before_mixer(x))
        return x if self.mlp is None else x + self.mlp(x)


def mixer(name, **sizes):
    """The mixer of this name: a `GatedDeltaNet`, or one with another rule in it."""
    if name in ADDITIVE:
        return Additive(name, **sizes)
    named = NAMED.fullmatch(name)
    if named is None:
        known = ", ".join(ADDITIVE)
        raise ValueError(f"mixers: expected {known}, delta or gated, -2 and x3, got {name!r}")
    rule, reach, steps = named.groups()
    sizes["allow_neg_eigval"] = reach == "2"
    layer = DeltaProduct(int(steps), **sizes) if steps else GatedDeltaNet(**sizes)
    if rule == "delta":
        forget_nothing(layer)
    return layer


def forget_nothing(layer):
    """`exp(A_log) = 0`, for good: alpha is 1, and the layer a DeltaNet."""
    nn.init.constant_(layer.A_log, -math.inf)
    for unused in (layer.A_log, layer.dt_bias, layer.a_proj.weight):
        unused.requires_grad_(False)


def start_with(layer, half_life):
    """Each fresh head forgets half in so many tokens, where `W_a x` is 0 (eq-half-life)."""
    if layer.A_log.requires_grad:
        nn.init.zeros_(layer.A_log)
        nn.init.constant_(layer.dt_bias, math.log(math.expm1(math.log(2) / half_life)))


class Additive(GatedDeltaNet):
    """The layer with a rule that erases nothing, or with softmax attention."""

    def __init__(self, name, **sizes):
        super().__init__(**sizes)
        self.name = name
        unused = {"attention": ["A_log", "dt_bias", "a_proj.weight", "b_proj.weight"]}
        unused["linear"] = unused["attention"][:3]
        for parameter in unused.get(name, ()):
            self.get_parameter(parameter).requires_grad_(False)

    def forward(self, x):
        qkv = torch.cat([self.q_proj(x), self.k_proj(x), self.v_proj(x)], dim=-1)
        qkv, _ = causal_conv1d(qkv, self.conv1d.weight.squeeze(1), self.conv1d.bias)
        q, k, v = qkv.split(self.channels, dim=-1)
        sizes = (self.head_dim, self.head_dim, self.head_v_dim)
        q, k, v = (heads(y, n).transpose(1, 2) for y, n in zip((q, k, v), sizes, strict=True))
        if self.name == "attention":
            o = scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            g = log_decay(self.a_proj(x), self.A_log, self.dt_bias).transpose(1, 2)
            g = g if self.name == "decay" else torch.zeros_like(g)
            v = torch.sigmoid(self.b_proj(x)).transpose(1, 2)[..., None] * v
            q = unit_rows(q) * self.head_dim**-0.5
            o, _ = scalar_decay.chunkwise(q, unit_rows(k), v, g)  # eq-scalar-decay-chunk
        o = self.o_norm(o.transpose(1, 2), heads(self.g_proj(x), self.head_v_dim))
        return self.o_proj(o.flatten(2))


class DeltaProduct(GatedDeltaNet):
    """The layer with several steps per token, each with a key, a value and a strength of its own.

    One token becomes `steps` tokens of the rule: the first of them decays, the last is asked
    (`gdn_ref.family.delta_product`).
    """

    def __init__(self, steps, **sizes):
        super().__init__(**sizes)
        self.steps = n = steps
        D, (keys, _, values) = self.hidden_size, self.channels
        self.channels = [keys, n * keys, n * values]
        self.k_proj = nn.Linear(D, n * keys, bias=False)
        self.v_proj = nn.Linear(D, n * values, bias=False)
        self.b_proj = nn.Linear(D, n * self.num_v_heads, bias=False)
        D = sum(self.channels)
        self.conv1d = nn.Conv1d(D, D, self.conv1d.kernel_size[0], groups=D, bias=False)

    def forward(self, x):
        B, T, n = *x.shape[:2], self.steps
        qkv = torch.cat([self.q_proj(x), self.k_proj(x), self.v_proj(x)], dim=-1)
        qkv, _ = causal_conv1d(qkv, self.conv1d.weight.squeeze(1), self.conv1d.bias)
        q, k, v = qkv.split(self.channels, dim=-1)
        k, v = (heads(y.reshape(B, n * T, -1), y.shape[-1] // n // self.num_heads) for y in (k, v))
        g = log_decay(self.a_proj(x), self.A_log, self.dt_bias)
        g = torch.stack([g, *[torch.zeros_like(g)] * (n - 1)], dim=2).flatten(1, 2)
        q = heads(q, self.head_dim)
        q = torch.stack([*[torch.zeros_like(q)] * (n - 1), q], dim=2).flatten(1, 2)
        o, _ = chunk_gated_delta_rule(
            q, k, v, g, self.b_proj(x).reshape(B, n * T, -1), use_qk_l2norm_in_kernel=True,
            use_beta_sigmoid_in_kernel=True, allow_neg_eigval=self.allow_neg_eigval,
        )  # fmt: skip
        o = self.o_norm(o[:, n - 1 :: n], heads(self.g_proj(x), self.head_v_dim))
        return self.o_proj(o.flatten(2))
