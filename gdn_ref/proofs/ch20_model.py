"""Chapter 20: sizes of a hybrid stack, and the formulas of its cost. `ch20_cost` counts them.

Plain arithmetic, so a size may be a number, an array or a symbol. `T` is the context in tokens,
`n` the sequences decoded side by side; `b` bytes for a weight and a cached number, `b_S` for a
number of a state.
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Hybrid:
    """A stack of `linear` Gated DeltaNet layers and `full` attention layers.

    `experts` 0 is a dense stack, whose feed-forward layer has width `ffn`. Otherwise each token
    takes `chosen` experts of width `ffn` and one shared expert of width `shared`.
    """

    linear: int
    full: int
    width: int  # D
    q_heads: int
    kv_heads: int
    head: int  # d_h
    key_heads: int
    value_heads: int
    d_k: int
    d_v: int
    ffn: int
    vocab: int
    gated: int = 1  # whether attention has an output gate, as wide as its queries
    taps: int = 4  # of the convolution
    experts: int = 0
    chosen: int = 0
    shared: int = 0

    @property
    def layers(self):
        return self.linear + self.full

    @property
    def channels(self):
        """What the convolution sees: queries, keys and values."""
        return 2 * self.key_heads * self.d_k + self.value_heads * self.d_v


def letters(x, b=2, b_S=4):
    """The letters of the page for these sizes."""
    return {
        "L_s": x.linear, "L_a": x.full, "L": x.layers, "D": x.width, "H_q": x.q_heads,
        "H_c": x.kv_heads, "d_a": x.head, "H_k": x.key_heads, "H_v": x.value_heads, "d_k": x.d_k,
        "d_v": x.d_v, "theta": x.gated, "kappa": x.taps, "chi": x.channels, "b": b, "b_S": b_S,
    }  # fmt: skip


def with_share(x, full):
    """The same stack with `full` attention layers, the others Gated DeltaNet."""
    return replace(x, linear=x.layers - full, full=full)


def row_bytes(x, b=2):
    """What one attention layer caches for one token."""
    return 2 * x.kv_heads * x.head * b


def cache_bytes(x, T, b=2):
    """Keys and values of T tokens, one sequence (eq-hybrid-cache-bytes)."""
    return x.full * row_bytes(x, b) * T


def layer_state_bytes(x, b=2, b_S=4):
    """What one Gated DeltaNet layer keeps: states, and the last inputs of its convolution."""
    return b_S * x.value_heads * x.d_k * x.d_v + b * x.taps * x.channels


def state_bytes(x, b=2, b_S=4):
    """All states of one sequence, at any length (eq-hybrid-state-bytes)."""
    return x.linear * layer_state_bytes(x, b, b_S)


def kept_bytes(x, T, b=2, b_S=4):
    """Everything that one sequence keeps."""
    return cache_bytes(x, T, b) + state_bytes(x, b, b_S)


def crossover(x, b=2, b_S=4):
    """The context at which a layer of either kind keeps as much (eq-hybrid-crossover)."""
    return layer_state_bytes(x, b, b_S) / row_bytes(x, b)


def linear_weights(x):
    """Matrix entries of a Gated DeltaNet layer, its convolution included (eq-hybrid-weights)."""
    values = x.value_heads * x.d_v
    inputs = x.width * (x.channels + values + 2 * x.value_heads)
    return inputs + x.taps * x.channels + values * x.width


def full_weights(x):
    """Matrix entries of an attention layer (eq-hybrid-weights)."""
    return x.width * x.head * ((2 + x.gated) * x.q_heads + 2 * x.kv_heads)


def expert_weights(x):
    """Matrix entries of one expert, or of the dense feed-forward layer."""
    return 3 * x.width * x.ffn


def common_weights(x):
    """Matrix entries that every token uses: all but the experts and the embedding."""
    mixers = x.linear * linear_weights(x) + x.full * full_weights(x)
    if not x.experts:
        return mixers + x.layers * expert_weights(x) + x.width * x.vocab
    router = x.width * (x.experts + 1) + 3 * x.width * x.shared
    return mixers + x.layers * router + x.width * x.vocab


def active_weights(x):
    """Matrix entries that one token is multiplied with."""
    return common_weights(x) + x.layers * x.chosen * expert_weights(x)


def total_weights(x):
    """All matrix entries, the embedding included."""
    return common_weights(x) + x.layers * x.experts * expert_weights(x) + x.width * x.vocab


def step_flops(x):
    """One token of all states: decay, read, correct, write, read out."""
    return 2 * x.linear * x.value_heads * x.d_v * (4 * x.d_k + 1)


def attention_flops(x, T):
    """Scores and weighted values of one token that sees T tokens, itself included."""
    return 4 * x.full * x.q_heads * x.head * T


def token_flops(x, T):
    """One token in a context of T (eq-hybrid-flops)."""
    return 2 * active_weights(x) + step_flops(x) + attention_flops(x, T)


def flops_crossover(x):
    """The context at which attention costs as much as the weights (eq-hybrid-flops-crossover)."""
    return active_weights(x) / (2 * x.full * x.q_heads * x.head)


def experts_read(x, n):
    """Experts of a layer that n tokens choose, if all choices are equally likely; the mean.

    (eq-hybrid-experts)
    """
    return x.experts * (1 - (1 - x.chosen / x.experts) ** n) if x.experts else 0


def weight_bytes(x, n, b=2, read=None):
    """Weights that a step of n sequences reads; `read` experts a layer."""
    read = experts_read(x, n) if read is None else read
    return b * (common_weights(x) + x.layers * read * expert_weights(x))


def decode_bytes(x, T, n, b=2, b_S=4, read=None):
    """One step: weights once, states in and out, T tokens read, one written.

    (eq-hybrid-decode-bytes)
    """
    kept = 2 * state_bytes(x, b, b_S) + cache_bytes(x, T + 1, b)
    return weight_bytes(x, n, b, read) + n * kept
