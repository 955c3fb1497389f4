"""The Gated DeltaNet layer: what a model puts where attention was (eq-block).

    q, k, v = silu(conv([W_q x, W_k x, W_v x]))     channel by channel
    q, k    = q / norm(q), k / norm(k)              head by head (eq-qk-norm)
    alpha   = exp(-exp(A_log) softplus(W_a x + dt_bias))
    beta    = sigmoid(W_b x), or twice that
    o       = gated delta rule (eq-gdn-recurrence)
    y       = W_o (weight * o / rms(o) * silu(W_g x))

Source: Yang, Kautz, Hatamizadeh, "Gated Delta Networks" (arXiv 2412.06464).
"""

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Unpack

import torch
from torch import nn
from torch.nn.functional import silu

from . import drop_in, layer_validation, layer_weights, validation
from .convolution import causal_conv1d
from .gate_parameters import GateParameters, widened
from .ops import chunk_gated_delta_rule, fused_recurrent_gated_delta_rule
from .types import Backend, OfForward, OfLayer

if TYPE_CHECKING:
    from .distributed import CPContext

DECODING_TOKENS = 8  # with a cache, up to this many tokens per sequence go one by one


@dataclass
class GatedDeltaNetCache:
    """What a layer keeps of the tokens it has seen, for N sequences. Its size does not grow.

    Parameters
    ----------
    conv_state : torch.Tensor, [N, D, W - 1], optional
        The last inputs of the convolution, oldest first; D counts the channels of q, k and v.
        None before the first token.
    recurrent_state : torch.Tensor, [N, HV, K, V], optional
        The memory of each value head, in float32 at least. None before the first token.

    Notes
    -----
    transformers keeps one input more, `conv_states[0]`, `[B, D, W]`, and the same memory,
    `recurrent_states[0]`: `GatedDeltaNetCache(conv_states[0][..., 1:], recurrent_states[0])`.
    flash-linear-attention's layer keeps three convolution states, of q, k and v, `[N, D, W]` each,
    and the memory as `[N, HV, V, K]`: concatenate the three along D and cut off the first input;
    transpose the memory.
    """

    conv_state: torch.Tensor | None = None
    recurrent_state: torch.Tensor | None = None

    def reorder(self, sequences: torch.Tensor) -> None:
        """Keep these sequences, `[M]` integers, in this order; for beams, one may come twice."""
        states = {name: state for name, state in vars(self).items() if state is not None}
        for state in states.values():
            layer_validation.check_sequences(sequences, state)
        for name, state in states.items():
            setattr(self, name, state.index_select(0, sequences))


class GatedRMSNorm(nn.Module):
    """`weight * x / sqrt(mean(x^2) + eps) * silu(gate)` over the last axis, in float32 at least."""

    def __init__(
        self, size: int, eps: float = 1e-5, device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:  # fmt: skip
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.empty(size, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        nn.init.ones_(self.weight)

    def extra_repr(self) -> str:
        return f"{len(self.weight)}, eps={self.eps}"

    def forward(self, x: torch.Tensor, gate: torch.Tensor) -> torch.Tensor:
        exact = torch.promote_types(x.dtype, torch.float32)
        y = x.to(exact)
        y = y * torch.rsqrt((y * y).mean(-1, keepdim=True) + self.eps)
        return (self.weight.to(exact) * y * silu(gate.to(exact))).to(x.dtype)  # eq-gated-norm


class GatedDeltaNet(GateParameters):
    """A Gated DeltaNet layer, for training, prefill and decoding.

    Parameters
    ----------
    hidden_size : int
        Size of a token in and out.
    num_heads, head_dim : int
        Key heads H, and the size K of a query and a key.
    num_v_heads : int, optional
        Value heads HV, a multiple of H; value head h reads key head `h // (HV // H)`. Default: H.
    head_v_dim : int, optional
        Size V of a value. Default: `2 * head_dim`, as in flash-linear-attention.
    expand_v : float, optional
        The same as a multiple of `head_dim`.
    conv_size : int
        Width W of the short convolution.
    conv_bias : bool
        Whether the convolution has a bias.
    allow_neg_eigval : bool
        Whether beta reaches from 0 to 2 instead of 0 to 1.
    norm_eps : float
        Added to the mean square in the output norm.
    backend : {"auto", "reference", "triton"}
        Who runs the convolution and the rule; see `chunk_gated_delta_rule`.
    device, dtype : optional
        Of the parameters. `A_log` and `dt_bias` are float32 at least, for they pass through `exp`,
        and stay so when the layer, or a model with it, is cast to 16 bits.
    **foreign
        What only flash-linear-attention's layer has, with the values that ask for nothing else:
        `gdn_ref.drop_in` lists it.

    Raises
    ------
    TypeError, ValueError
        A size is not a positive integer, HV no multiple of H, or another argument wrong or unknown.

    Notes
    -----
    Weights, with D = 2 H K + HV V channels, those of q, k and v in this order:

    - `q_proj`, `k_proj`, `v_proj`, `g_proj`, linear without bias: tokens to queries, keys, values
      and output gates;
    - `a_proj`, `b_proj`, linear without bias: tokens to one number per value head each, decay and
      write strength before their activations;
    - `conv1d`: weight `[D, 1, W]`, bias `[D]` or None;
    - `A_log`, `dt_bias`, `[HV]`: the gate. `exp(A_log)` starts uniform in (0.01, 16) and
      `softplus(dt_bias)` log-uniform in (0.001, 0.1): where `W_a x = 0`, a head loses half its
      memory within 0.4 to 69,000 tokens. Leave both out of weight decay: their `_no_weight_decay`
      is True, as in Mamba and flash-linear-attention, in copies and after `load_state_dict` too;
    - `o_norm`: one weight per value dimension, shared by the heads, 1 at the start;
    - `o_proj`, linear without bias: all heads' outputs back to a token.

    Linear layers and the convolution start as PyTorch starts them; a model may do otherwise.

    Departures from the paper: the query is scaled by `K ** -0.5`, which the output norm undoes but
    for its eps; the norms of q and k add 1e-6 under the root; there may be more value heads than
    key heads, as in Qwen3-Next; beta may reach 2 (Grazzi et al., arXiv 2411.12537). The gate's
    parameters are Mamba-2's, to which the paper refers.
    """

    def __init__(
        self, hidden_size: int, num_heads: int, head_dim: int, *, num_v_heads: int | None = None,
        head_v_dim: int | None = None, conv_size: int = 4, conv_bias: bool = False,
        allow_neg_eigval: bool = False, norm_eps: float = 1e-5, backend: Backend = "auto",
        device: torch.device | str | None = None, dtype: torch.dtype | None = None,
        expand_v: float | None = None, **foreign: Unpack[OfLayer],
    ) -> None:  # fmt: skip
        super().__init__()
        drop_in.settle("GatedDeltaNet", drop_in.LAYER, foreign)
        layer_validation.check_sizes(
            hidden_size=hidden_size, num_heads=num_heads, head_dim=head_dim, conv_size=conv_size
        )
        num_v_heads = num_heads if num_v_heads is None else num_v_heads
        head_v_dim = layer_validation.value_dim(head_dim, head_v_dim, expand_v)
        layer_validation.check_sizes(num_v_heads=num_v_heads, head_v_dim=head_v_dim)
        layer_validation.check_layer(num_heads, num_v_heads, norm_eps, dtype)
        validation.check_flags(conv_bias=conv_bias, allow_neg_eigval=allow_neg_eigval)
        validation.check_backend(backend)
        self.hidden_size, self.num_heads, self.num_v_heads = hidden_size, num_heads, num_v_heads
        self.head_dim, self.head_v_dim = head_dim, head_v_dim
        self.allow_neg_eigval, self.backend = allow_neg_eigval, backend

        made = {"device": device, "dtype": dtype}
        keys, values = num_heads * head_dim, num_v_heads * head_v_dim
        self.channels = [keys, keys, values]
        D = sum(self.channels)
        self.q_proj = nn.Linear(hidden_size, keys, bias=False, **made)
        self.k_proj = nn.Linear(hidden_size, keys, bias=False, **made)
        self.v_proj = nn.Linear(hidden_size, values, bias=False, **made)
        self.g_proj = nn.Linear(hidden_size, values, bias=False, **made)
        self.a_proj = nn.Linear(hidden_size, num_v_heads, bias=False, **made)
        self.b_proj = nn.Linear(hidden_size, num_v_heads, bias=False, **made)
        self.conv1d = nn.Conv1d(D, D, conv_size, groups=D, bias=conv_bias, **made)
        made["dtype"] = widened(dtype or torch.get_default_dtype())
        self.A_log = nn.Parameter(torch.empty(num_v_heads, **made))
        self.dt_bias = nn.Parameter(torch.empty(num_v_heads, **made))
        self.o_norm = GatedRMSNorm(head_v_dim, norm_eps, device, dtype)
        self.o_proj = nn.Linear(values, hidden_size, bias=False, device=device, dtype=dtype)
        self.keep_gate()
        self.reset_parameters()

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Draw `A_log` and `dt_bias` afresh (eq-gate-start)."""
        self.A_log.uniform_(0.01, 16).log_()
        dt = self.dt_bias.uniform_(math.log(1e-3), math.log(1e-1)).exp_()
        self.dt_bias.copy_(torch.log(torch.expm1(dt)))  # the inverse of softplus

    def extra_repr(self) -> str:
        shown = (
            "num_heads",
            "head_dim",
            "num_v_heads",
            "head_v_dim",
            "allow_neg_eigval",
            "backend",
        )
        return ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)

    @classmethod
    def from_fla(cls, layer: nn.Module, backend: Backend = "auto") -> "GatedDeltaNet":
        """A layer of flash-linear-attention 0.6.0 as one of ours: its sizes, options and weights.

        Parameters
        ----------
        layer : fla.layers.GatedDeltaNet
            It stays as it is: the weights are copied, to tensors of the type of `q_proj.weight`.
        backend : {"auto", "reference", "triton"}
            See the class.

        Raises
        ------
        TypeError
            It is another module, or has no output gate, no convolution, or a sigmoid as its gate.
        """
        ours = cls(**layer_weights.options_of_fla(layer), backend=backend)
        ours.load_state_dict(layer_weights.from_fla(layer))
        return ours.train(layer.training)

    def forward(
        self, x: torch.Tensor, cache: GatedDeltaNetCache | None = None,
        cu_seqlens: torch.Tensor | None = None, attention_mask: torch.Tensor | None = None,
        cp_context: "CPContext | None" = None, **foreign: Unpack[OfForward],
    ) -> torch.Tensor:  # fmt: skip
        """The layer's output for the tokens `x`, after those that `cache` has seen.

        Parameters
        ----------
        x : torch.Tensor, [B, T, hidden_size]
        cache : GatedDeltaNetCache, optional
            Read and moved on: any number of tokens per call, one or many. An empty one starts.
        cu_seqlens : torch.Tensor, [N + 1], int32 or int64, optional
            Offsets of N sequences packed along T; B must be 1.
        attention_mask : torch.Tensor, [B, T], optional
            0 for padding, which stands left of a sequence's tokens, and 1 for a token. Padding
            changes nothing, and its output is zero. Without a cache padding may stand right too.
            Once a cache holds tokens there must be none: pack with `cu_seqlens` instead.
        cp_context : gdn_ref.distributed.CPContext, optional
            `x` is this rank's shard of a packed batch, and the call a collective; then all
            arguments between must be None.
        **foreign
            Of flash-linear-attention's layers: `use_cache=False` and the like, as for the class.

        Returns
        -------
        y : torch.Tensor, [B, T, hidden_size]

        Raises
        ------
        TypeError, ValueError, ImportError
            As `chunk_gated_delta_rule`; the cache is then as it was.
        """
        if foreign:
            drop_in.settle("GatedDeltaNet.forward", drop_in.FORWARD, foreign)
        if cache is not None and not isinstance(cache, GatedDeltaNetCache):
            raise TypeError(f"cache: expected a GatedDeltaNetCache, got {type(cache).__name__}")
        if cp_context is not None:
            validation.check_alone(
                "cp_context", cache=cache, cu_seqlens=cu_seqlens, attention_mask=attention_mask
            )
        past = GatedDeltaNetCache() if cache is None else cache
        N = layer_validation.check_inputs(self, x, past, cu_seqlens, attention_mask)
        if attention_mask is not None:
            token = attention_mask[..., None].bool()
            x = torch.where(token, x, 0.0)
        decay, beta = self.a_proj(x), self.b_proj(x)  # before their activations
        if attention_mask is not None:
            beta = torch.where(token, beta, -math.inf)  # writes nothing, whatever the conv's bias

        ragged = {"cu_seqlens": cu_seqlens, "output_final_state": cache is not None}
        convolve, rule = causal_conv1d, chunk_gated_delta_rule
        if cp_context is not None:
            from . import distributed

            convolve, rule = distributed.causal_conv1d, distributed.chunk_gated_delta_rule
            ragged = {"cp_context": cp_context}
        qkv = torch.cat([self.q_proj(x), self.k_proj(x), self.v_proj(x)], dim=-1)
        qkv, conv_state = convolve(
            qkv, self.conv1d.weight.squeeze(1), self.conv1d.bias,
            initial_state=past.conv_state, backend=self.backend, **ragged,
        )  # fmt: skip
        q, k, v = qkv.split(self.channels, dim=-1)

        if cache is not None and x.shape[0] * x.shape[1] <= DECODING_TOKENS * N:
            rule = fused_recurrent_gated_delta_rule
        o, recurrent_state = rule(
            heads(q, self.head_dim), heads(k, self.head_dim), heads(v, self.head_v_dim),
            g=decay, beta=beta, initial_state=past.recurrent_state, backend=self.backend,
            use_qk_l2norm_in_kernel=True, use_beta_sigmoid_in_kernel=True,
            allow_neg_eigval=self.allow_neg_eigval, use_gate_in_kernel=True, A_log=self.A_log,
            dt_bias=self.dt_bias, **ragged,
        )  # fmt: skip
        y = self.o_proj(self.o_norm(o, heads(self.g_proj(x), self.head_v_dim)).flatten(2))
        if cache is not None:
            cache.conv_state, cache.recurrent_state = conv_state, recurrent_state
        return y

    if TYPE_CHECKING:  # else a checker takes any arguments, as of any module of torch.nn

        def __call__(
            self, x: torch.Tensor, cache: GatedDeltaNetCache | None = None,
            cu_seqlens: torch.Tensor | None = None, attention_mask: torch.Tensor | None = None,
            cp_context: "CPContext | None" = None, **foreign: Unpack[OfForward],
        ) -> torch.Tensor: ...  # fmt: skip


def heads(x, size):
    """`[B, T, H size]` as `[B, T, H, size]`."""
    return x.unflatten(-1, (-1, size))
