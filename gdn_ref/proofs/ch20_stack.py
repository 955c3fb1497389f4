"""Chapter 20: a hybrid stack that decodes one token and is watched while it does.

`decode` runs both mixers and the experts on random weights. A `Watch` sees every operation: the
products, and which of the weights, caches and states were touched. Norms and residuals around the
layers cost no products of matrices and are left out.
"""

from contextlib import contextmanager, nullcontext

import torch
from torch.nn.functional import conv1d, normalize, silu, softplus
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from .. import gated_delta_rule

PRODUCTS = (torch.ops.aten.mul.Tensor, torch.ops.aten.addcmul.default)
ROWS = torch.bfloat16  # weights and cached rows; states are float32


class Watch(TorchDispatchMode):
    """Counts FLOPs, and the bytes of the `held` tensors that an operation reads."""

    def __init__(self, held):
        super().__init__()
        self.held = {x.untyped_storage()._cdata: x.nbytes for x in held}
        self.touched, self.flops, self.elementwise = set(), 0, False

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for x in (y for a in args for y in (a if isinstance(a, list | tuple) else [a])):
            if isinstance(x, torch.Tensor):
                self.touched |= {x.untyped_storage()._cdata} & self.held.keys()
        packet = function._overloadpacket
        if packet in flop_registry:
            self.flops += flop_registry[packet](*args, **(kwargs or {}), out_val=out)
        elif self.elementwise and function in PRODUCTS:
            self.flops += 2 * out.numel()
        return out

    @contextmanager
    def numbers(self):
        """Inside, products of numbers count too: decay, correction and write."""
        self.elementwise = True
        yield
        self.elementwise = False

    @property
    def read(self):
        return sum(self.held[storage] for storage in self.touched)


def tensors(tree):
    """All tensors of nested lists and dictionaries."""
    if isinstance(tree, torch.Tensor):
        return [tree]
    parts = tree.values() if isinstance(tree, dict) else tree
    return [x for part in parts for x in tensors(part)]


def weights(x, dtype=ROWS, seed=0):
    """Random weights of the stack: one dictionary a layer, and the unembedding."""
    random = torch.Generator().manual_seed(seed)

    def matrix(*shape):
        return (torch.randn(*shape, generator=random) / shape[-1] ** 0.5).to(dtype)

    values, queries = x.value_heads * x.d_v, x.q_heads * x.head
    layers = []
    for n in range(x.layers):
        if n < x.linear:
            w = {"qkv": matrix(x.channels, x.width), "z": matrix(values, x.width)}
            w |= {"ba": matrix(2 * x.value_heads, x.width), "out": matrix(x.width, values)}
            w |= {"conv": matrix(x.channels, 1, x.taps)}
        else:
            w = {"q": matrix((1 + x.gated) * queries, x.width), "out": matrix(x.width, queries)}
            w |= {"kv": matrix(2 * x.kv_heads * x.head, x.width)}
        w["experts"] = [
            [matrix(2 * x.ffn, x.width), matrix(x.width, x.ffn)] for _ in range(x.experts or 1)
        ]
        if x.experts:
            w["router"] = matrix(x.experts + 1, x.width)
            w["shared"] = [matrix(2 * x.shared, x.width), matrix(x.width, x.shared)]
        layers.append(w)
    return {"layers": layers, "unembedding": matrix(x.vocab, x.width)}


def caches(x, T, n, dtype=ROWS, states=torch.float32):
    """What n sequences of T tokens keep: for each layer a state and its window, or rows."""
    random = torch.Generator().manual_seed(1)
    kept = []
    for layer in range(x.layers):
        if layer < x.linear:
            S = torch.randn(n, x.value_heads, x.d_v, x.d_k, generator=random).to(states)
            window = torch.randn(n, x.channels, x.taps, generator=random).to(dtype)
            kept.append([S, window])
        else:
            shape = (n, x.kv_heads, T, x.head)
            kept.append([torch.randn(shape, generator=random).to(dtype) for _ in range(2)])
    return kept


def linear_mixer(x, w, h, S, window, watch=None):
    """Gated DeltaNet, one token: its output, and the new state and window."""
    window = torch.cat([window[..., 1:], (h @ w["qkv"].T)[..., None]], dim=-1)
    mixed = silu(conv1d(window, w["conv"], groups=x.channels)[..., 0]).to(S.dtype)
    sizes = [x.key_heads * x.d_k] * 2 + [x.value_heads * x.d_v]
    q, k, v = (y.unflatten(-1, (-1, d)) for y, d in
               zip(mixed.split(sizes, dim=-1), (x.d_k, x.d_k, x.d_v), strict=True))  # fmt: skip
    group = x.value_heads // x.key_heads
    q, k = (normalize(y, dim=-1).repeat_interleave(group, dim=-2) for y in (q, k))
    b, a = (h @ w["ba"].T).to(S.dtype).chunk(2, dim=-1)
    with watch.numbers() if watch else nullcontext():
        o, S = gated_delta_rule.step(S, q, k, v, -softplus(a), torch.sigmoid(b))
    gate = silu(h @ w["z"].T)
    return (normalize(o, dim=-1).flatten(-2).to(h.dtype) * gate) @ w["out"].T, [S, window]


def full_mixer(x, w, h, K, V):
    """Softmax attention, one token: its output, and the new rows of the cache."""
    q, *gate = (h @ w["q"].T).chunk(1 + x.gated, dim=-1)
    q = q.unflatten(-1, (x.kv_heads, -1, x.head))  # [n, kv_heads, group, head]
    k, v = (y.unflatten(-1, (x.kv_heads, 1, x.head)) for y in (h @ w["kv"].T).chunk(2, dim=-1))
    scores = torch.cat([q @ K.mT, q @ k.mT], dim=-1) * x.head**-0.5
    past, own = torch.softmax(scores, dim=-1).split([K.shape[-2], 1], dim=-1)
    o = (past @ V + own @ v).flatten(1)
    return (o * torch.sigmoid(gate[0]) if gate else o) @ w["out"].T, [k, v]


def mlp(h, up, down):
    gate, value = (h @ up.T).chunk(2, dim=-1)
    return (silu(gate) * value) @ down.T


def feed_forward(x, w, h):
    """The dense layer, or each token's experts and the shared one; also how many were read."""
    if not x.experts:
        return mlp(h, *w["experts"][0]), 0
    scores = h @ w["router"].T
    gate = torch.sigmoid(scores[:, -1:])
    chosen = scores[:, :-1].topk(x.chosen, dim=-1).indices
    out = gate * mlp(h, *w["shared"])
    for expert in (used := chosen.unique().tolist()):
        takes = (chosen == expert).any(dim=-1)
        out[takes] = out[takes] + mlp(h[takes], *w["experts"][expert])
    return out, len(used)


def decode(x, T, n, dtype=ROWS):
    """One step of n sequences of T tokens, watched: FLOPs, bytes, and experts read in all."""
    w, kept = weights(x, dtype), caches(x, T, n, dtype)
    h = torch.randn(n, x.width, generator=torch.Generator().manual_seed(2)).to(dtype)
    watch, new, experts = Watch([*tensors(w), *tensors(kept)]), [], 0
    with watch:
        for layer, cache in zip(w["layers"], kept, strict=True):
            if "conv" in layer:
                h, after = linear_mixer(x, layer, h, *cache, watch)
            else:
                h, after = full_mixer(x, layer, h, *cache)
            h, used = feed_forward(x, layer, h)
            new, experts = [*new, *after], experts + used
        h @ w["unembedding"].T
    written = sum(y.nbytes for y in new)
    return {"flops": watch.flops, "read": watch.read, "written": written, "experts": experts}
