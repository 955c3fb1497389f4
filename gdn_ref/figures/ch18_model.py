"""Chapter 18's formulas as functions: what ranks send, how long it takes, what is computed again.

The formulas are those that `gdn_ref.proofs.ch18_*` count. Times are in seconds; `T` is the number
of tokens of one sequence and `R` that of ranks. Latency and bandwidth are assumptions, the same as
in `gdn_ref.distributed.cost`; the time of a token on one card is recorded.
"""

import math
from dataclasses import dataclass

from . import ch14_model

LATENCY, BANDWIDTH = 10e-6, 200e9  # of a link between two ranks: assumed
LONG = "B1 T32768 H16/32 D128"  # the recorded shape that gives the time of a token
GROUPS = 16  # of heads, in the relay


@dataclass(frozen=True)
class Layer:
    """Heads of one layer: keys, values, and of an attention layer that it is compared with."""

    H_k: int = 16
    H_v: int = 32
    d_k: int = 128
    d_v: int = 128
    H_c: int = 2  # heads whose keys and values attention keeps
    d_a: int = 256
    b: int = 2

    @property
    def state(self):
        return 4 * self.H_v * self.d_k * self.d_v

    @property
    def F(self):
        return 4 * self.H_v * self.d_k**2

    def sent(self, R, T):
        """Bytes that the busiest rank sends in a forward pass (eq-exchange-bytes)."""
        rows = self.b * (2 * self.H_k * self.d_k + 2 * self.H_v * self.d_v) + 8 * self.H_v
        return {
            "ring": self.state,
            "tree": max(self.tree(R, p) for p in range(R)),
            "all-gather": (R - 1) * (self.state + self.F),
            "heads": (R - 1) * T / R**2 * rows,
            "ring attention": (R - 1) / R * 2 * self.b * T * self.H_c * self.d_a,
        }

    def tree(self, R, p):
        """Bytes that rank p sends in the tree (eq-tree-bytes)."""
        return self.state * rounds(R - p) + self.F * rounds(min(p + 1, R - p))

    def halo(self, W=4):
        """Bytes of the inputs that the convolution needs from before a border (eq-halo-bytes)."""
        return self.b * (W - 1) * (2 * self.H_k * self.d_k + self.H_v * self.d_v)

    def again(self, C=64):
        """FLOPs a token and value head that a rank does beyond its share (eq-shard-flops)."""
        return 6 * self.d_k**2 + 4 * C * self.d_k + 2 * self.d_k * self.d_v

    def forward(self, C=64):
        """FLOPs a token and value head of the forward pass: keys with keys, and the scan."""
        return 6 * self.d_k * self.d_v + 4 * C * self.d_v + 4 * C * self.d_k

    def backward(self, C=64):
        """And of the backward pass, two slices of values (eq-backward-flops)."""
        return 18 * self.d_k * self.d_v + 12 * C * self.d_v + 14 * C * self.d_k


def rounds(R):
    return math.ceil(math.log2(R))


def exchange_times(R, state, F, latency=LATENCY, bandwidth=BANDWIDTH):
    """Until the last rank has its state (eq-exchange-times)."""
    return {
        "ring": (R - 1) * (latency + state / bandwidth),
        "all-gather": rounds(R) * latency + (R - 1) * (state + F) / bandwidth,
        "tree": rounds(R) * (latency + state / bandwidth)
        + max(rounds(R) - 1, 0) * F / bandwidth,
    }  # fmt: skip


def causal_work(T, m):
    """Pairs of a query and a key in each of m equal shards (eq-causal-work)."""
    return [T * (T * (2 * i + 1) / m + 1) / (2 * m) for i in range(m)]


def relay_speedup(R, n=GROUPS):
    """eq-relay-speedup"""
    return R * n / (n + R - 1)


def shard_speedups(R, x):
    """Of equal shards, and of the best ones (eq-shard-speedup); one rank alone is one card."""
    return (R / (1 + x), (R + x) / (1 + x)) if R > 1 else (1.0, 1.0)


def token_seconds():
    """One card's recorded time of a token, 16 key and 32 value heads of 128."""
    return ch14_model.steps("call", LONG)[-1][2] * 1e-6 / ch14_model.shape(LONG).tokens


def beyond_flops(layer=None, backward=False, C=64):
    """x by FLOPs: what a rank does beyond its share, in shares."""
    layer = layer or Layer()
    if not backward:
        return layer.again(C) / layer.forward(C)
    more = layer.again(C) + 2 * layer.d_k * layer.d_v  # and dO^T O_F
    return more / (layer.forward(C) + layer.backward(C))


def beyond_bytes(layer=None, C=64):
    """x by bytes, at least: O_F out and in, and O in and out again, over those of two kernels."""
    layer = layer or Layer()
    x = ch14_model.Shape((2**20,), layer.H_k, layer.H_v, layer.d_k, layer.d_v)
    own = ch14_model.two_kernel_bytes(x, C, layer.b) / x.tokens / layer.H_v
    return 2 * layer.b * (layer.d_k + layer.d_v) / own


def recorded_relay(R=2):
    """The relay's speed-up if its groups take the recorded time of 8 heads: four groups of 32."""
    few = ch14_model.steps("call", "B1 T32768 H2/8 D128")[-1][2]
    all_heads = ch14_model.steps("call", LONG)[-1][2]
    return R * all_heads / ((4 + R - 1) * few)


def forward_time(R, T, order, exchange="ring", x=None, layer=None):
    """Model of a forward pass on R cards: the runs, and the exchange between them."""
    layer, one = layer or Layer(), T * token_seconds()
    if R == 1:
        return one
    if order == "heads":
        return one / R + rounds(R) * LATENCY + layer.sent(R, T)["heads"] / BANDWIDTH
    if order == "relay":  # a state in GROUPS messages, each behind the run of its heads
        return one / relay_speedup(R) + (R - 1) * (LATENCY + layer.state / GROUPS / BANDWIDTH)
    x = beyond_flops(layer) if x is None else x
    return one * (1 + x) / R + exchange_times(R, layer.state, layer.F)[exchange]
