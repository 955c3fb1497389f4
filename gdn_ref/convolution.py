"""The short causal convolution in front of the rule: each channel mixes its last W inputs.

    y_t = act(bias + sum_i weight_i x_{t - W + 1 + i}),  i = 0 .. W - 1    (eq-causal-conv)

Every channel has its own W weights, and the last of them meets the token itself. `x` and `y` are
`[B, T, D]`, as in flash-linear-attention. The state is `[N, D, W - 1]`: the last W - 1 inputs of
each sequence, the oldest first, for no output reads further back.

Their names and ours:

- flash-linear-attention keeps `[N, D, W]`, and transformers `[B, D, W]`: one input more, the
  oldest, which the next token no longer reads. `ours = theirs[..., 1:]`, and
  `theirs = torch.nn.functional.pad(ours, (1, 0))`.
- The package causal-conv1d and transformers' functions take `[B, D, T]`: transpose `x` and `y`.
- All three leave `z` as it is unless told; ours applies `silu`: pass `activation=None` for theirs.
- A depthwise `torch.nn.Conv1d` has its weight as `[D, 1, W]`: ours is `conv.weight.squeeze(1)`.
"""

from functools import partial
from typing import Any, Literal

import torch
from torch.nn.functional import silu

from . import layer_validation, validation
from .ops import asks_gradient
from .types import Backend


def causal_conv1d(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, *,
    initial_state: torch.Tensor | None = None, output_final_state: bool = False,
    cu_seqlens: torch.Tensor | None = None, activation: Literal["silu"] | None = "silu",
    backend: Backend = "auto",
) -> tuple[torch.Tensor, torch.Tensor | Any]:  # fmt: skip
    """Causal depthwise convolution over whole sequences, padded or packed.

    Parameters
    ----------
    x : torch.Tensor, [B, T, D]
        Inputs: B sequences of T tokens, D channels.
    weight : torch.Tensor, [D, W]
        The weights of each channel; the last one multiplies the token itself.
    bias : torch.Tensor, [D], optional
    initial_state : torch.Tensor, [N, D, W - 1], optional
        The inputs before the first token of each sequence, oldest first. Default: zeros.
    output_final_state : bool
        Whether to return the state after the last token.
    cu_seqlens : torch.Tensor, [N + 1], int32 or int64, optional
        Offsets of N sequences packed along T, from 0 to T; B must be 1. No sequence sees another.
        A sequence may be empty: its final state is its initial one.
    activation : {"silu", None}
    backend : {"auto", "reference", "triton"}
        "auto" is Triton for CUDA tensors, except float64, and the reference for all others.
        Inside `torch.compile` it is the reference, which the compiler fuses into one kernel.

    Returns
    -------
    y : torch.Tensor, [B, T, D]
        In x's dtype.
    final_state : torch.Tensor, [N, D, W - 1], or None
        In x's dtype; None unless `output_final_state`.

    Raises
    ------
    TypeError, ValueError, ImportError
        As `chunk_gated_delta_rule`.

    Notes
    -----
    Computed in float32 (float64 if x is float64). Gradients reach every tensor; second derivatives,
    the reference's alone.
    """
    validation.check_flags(output_final_state=output_final_state)
    layer_validation.check_activation(activation)
    layer_validation.check_convolution(
        x, weight, bias, initial_state, "initial_state", "N", cu_seqlens
    )
    arguments = (x, weight, bias, initial_state, cu_seqlens, activation)
    tensors = {"x": x, "weight": weight, "bias": bias, "initial_state": initial_state}
    tensors["cu_seqlens"] = cu_seqlens
    run = TritonConvolution.apply if wants_triton(backend, **tensors) else reference
    y, S = run(*arguments)
    return y, (S.to(x.dtype).contiguous() if output_final_state else None)


def causal_conv1d_update(
    x: torch.Tensor, pool: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, *,
    slot_idx: torch.Tensor | None = None, cu_seqlens: torch.Tensor | None = None,
    activation: Literal["silu"] | None = "silu", backend: Backend = "auto",
) -> torch.Tensor:  # fmt: skip
    """Causal depthwise convolution of one or a few new tokens per sequence: for decoding.

    Each sequence continues from its slot of a pool of states, which is updated in place. Slots
    that are not addressed keep every bit.

    Parameters
    ----------
    x : torch.Tensor, [B, T, D]
        T new tokens of B sequences, or `[1, T, D]` with `cu_seqlens`.
    pool : torch.Tensor, [slots, D, W - 1], contiguous
        States, oldest input first. Its dtype may differ from x's.
    weight, bias, activation, backend
        As for `causal_conv1d`.
    slot_idx : torch.Tensor, [N], int32 or int64, optional
        The slot of each sequence, no two the same. Default: sequence n has slot n. On a GPU the
        values are read, which waits for the device, once per tensor and in-place change, and
        not while a CUDA graph is captured; there a slot below 0 is left out, with zeros for y.
    cu_seqlens : torch.Tensor, [N + 1], int32 or int64, optional
        Offsets of N sequences packed along T, from 0 to T; B must be 1.

    Returns
    -------
    y : torch.Tensor, [B, T, D]
        In x's dtype. There are no gradients: under `torch.enable_grad`, inputs that ask for one
        are refused.

    Raises
    ------
    TypeError, ValueError, ImportError
        As `chunk_gated_delta_rule`, and before the pool changes.
    """
    layer_validation.check_activation(activation)
    N = layer_validation.check_convolution(x, weight, bias, pool, "pool", "slots", cu_seqlens)
    if not pool.is_contiguous():
        raise ValueError(f"pool: expected a contiguous tensor, got strides {pool.stride()}")
    tensors = {"x": x, "pool": pool, "weight": weight, "bias": bias}
    for name, tensor in tensors.items():
        if asks_gradient(tensor):
            raise ValueError(f"{name}: expected no gradient to be asked for (use torch.no_grad)")
    layer_validation.check_slot_idx(slot_idx, N, pool)
    if slot_idx is not None:
        layer_validation.check_slots(slot_idx, pool)
    if wants_triton(backend, **tensors, slot_idx=slot_idx, cu_seqlens=cu_seqlens):
        from .kernels.conv.forward import convolve_pool

        return convolve_pool(x, pool, weight, bias, slot_idx, cu_seqlens, activation == "silu")
    slots = slice(0, N) if slot_idx is None else slot_idx.long()
    y, S = reference(x, weight, bias, pool[slots], cu_seqlens, activation)
    pool[slots] = S.to(pool.dtype)
    return y


def reference(x, weight, bias, initial_state, cu_seqlens, activation):
    """W shifted copies of the inputs, each with its weight, summed. Returns `(y, state)`.

    `y` has x's dtype; the state, `[N, D, W - 1]`, is in float32 at least.
    """
    W = weight.shape[1]
    S = initial_state
    if S is None:
        N = x.shape[0] if cu_seqlens is None else cu_seqlens.shape[0] - 1
        S = x.new_zeros(N, x.shape[2], W - 1)
    exact = torch.promote_types(torch.promote_types(x.dtype, S.dtype), torch.float32)
    shifted, S = shift(x.to(exact), S.to(exact), cu_seqlens, W)
    # eq-causal-conv
    y = sum(w * x_i for w, x_i in zip(weight.to(exact).unbind(1), shifted, strict=True))
    y = y if bias is None else y + bias.to(exact)
    return (y if activation is None else silu(y)).to(x.dtype), S


def shift(x, S, cu_seqlens, W):
    """The inputs W - 1, .., 1 and 0 tokens back, each `[B, T, D]`; and the last W - 1 inputs."""
    T = x.shape[1]
    if cu_seqlens is None:
        rows = torch.cat([S.mT, x], dim=1)
        return [rows[:, i : i + T] for i in range(W)], rows[:, T:].mT  # eq-conv-state

    begin, end = cu_seqlens[:-1].long(), cu_seqlens[1:].long()
    rows = torch.cat([S.mT.flatten(0, 1), x[0]])  # W - 1 inputs of each state, then all tokens

    def take(n, t):
        """Input t of sequence n, which lies in its state if t is before the first token."""
        kept, token = (n + 1) * (W - 1) + t - begin[n], begin.shape[0] * (W - 1) + t
        return rows[torch.where(t < begin[n], kept, token)]

    token = torch.arange(T, device=x.device)
    n = torch.bucketize(token, end, right=True)
    every = torch.arange(begin.shape[0], device=x.device)[:, None]
    last = end[:, None] + torch.arange(1 - W, 0, device=x.device)
    return [take(n, token + i)[None] for i in range(1 - W, 1)], take(every, last).mT


class TritonConvolution(torch.autograd.Function):
    """The kernels both ways; same arguments and results as `reference`."""

    @staticmethod
    def forward(ctx, x, weight, bias, initial_state, cu_seqlens, activation):
        from .kernels.conv.forward import convolve

        ctx.save_for_backward(x, weight, bias, initial_state, cu_seqlens)
        ctx.activation = activation
        return convolve(x, weight, bias, initial_state, cu_seqlens, activation == "silu")

    @staticmethod
    def backward(ctx, dy, dS):
        from .kernels.conv.backward import convolve_backward
        from .kernels.host.autograd import Once

        backward = partial(convolve_backward, silu=ctx.activation == "silu")
        tensors = dy, dS, *ctx.saved_tensors
        if torch.is_grad_enabled():  # create_graph=True
            return *Once.apply(backward, *tensors), None, None
        return *backward(*tensors), None, None


def wants_triton(backend, x, **others):
    """Whether the kernels run this call; refuses what they cannot run."""
    validation.check_backend(backend)
    compiling = torch.compiler.is_compiling()
    if backend == "auto":
        backend = "triton" if x.is_cuda and x.dtype != torch.float64 and not compiling else backend
    if backend == "triton" and compiling:
        raise ValueError("backend: expected 'auto' or 'reference' while compiling, got 'triton'")
    if backend == "triton":
        validation.check_triton(x.device, x.dtype, 1, 1, 64)
        validation.check_in_memory(x=x, **others)
    return backend == "triton"
