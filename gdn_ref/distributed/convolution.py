"""The short convolution over tokens that lie on many ranks.

Each piece needs the W - 1 inputs before it. They go along the chain of its sequence as states do. A
piece of at least W - 1 tokens hands on its own last inputs and waits for nobody; a shorter one
hands on some of what it was given. That is all that is exchanged, `(W - 1) D` numbers a border,
and the convolution itself is the ordinary one.
"""

from typing import Any, Literal

import torch
from torch.autograd.function import once_differentiable

from .. import layer_validation, validation
from ..convolution import causal_conv1d as one_rank
from ..types import Backend
from .agreement import agree
from .context import CPContext
from .exchange import ring
from .rule import check_length, look


def causal_conv1d(
    x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None, *,
    cp_context: CPContext, initial_state: torch.Tensor | None = None,
    output_final_state: bool = False, activation: Literal["silu"] | None = "silu",
    backend: Backend = "auto",
) -> tuple[torch.Tensor, torch.Tensor | Any]:  # fmt: skip
    """Causal depthwise convolution of this rank's tokens, as part of the batch. A collective.

    `gdn_ref.causal_conv1d`, where the parameters that are not here are described; `cp_context`
    stands for `cu_seqlens`.

    Parameters
    ----------
    x : torch.Tensor, [1, T, D]
        The tokens of this rank, `cp_context.length` of them, which may be 0.
    cp_context : CPContext
        From `build_cp_context`.
    initial_state : torch.Tensor, [N, D, W - 1], optional
        For all N sequences of the batch; a rank reads those that start on it.

    Returns
    -------
    y : torch.Tensor, [1, T, D]
    final_state : torch.Tensor, [N, D, W - 1], or None
        Of the sequences that end on this rank; the rest is zero.

    Raises
    ------
    TypeError, ValueError, ImportError, RuntimeError
        As the sharded `chunk_gated_delta_rule`, on every rank.

    Notes
    -----
    Gradients of `weight` and `bias` are those of this rank's tokens. No second derivative.
    """
    cp = cp_context

    def check():
        validation.check_flags(output_final_state=output_final_state)
        validation.check_backend(backend)
        layer_validation.check_activation(activation)
        layer_validation.check_convolution(x, weight, bias, None, "initial_state", "N", None)
        check_length("x", x, cp.length, cp.rank)
        if initial_state is not None:
            sizes = {"N": cp.N, "D": x.shape[2], "W - 1": weight.shape[1] - 1}
            validation.check_tensor("initial_state", initial_state, tuple(sizes), sizes, x.device)
        tensors = {"x": x, "weight": weight, "bias": bias, "initial_state": initial_state}
        given = {"output_final_state": output_final_state, "activation": activation}
        given |= {"backend": backend} | {name: look(value) for name, value in tensors.items()}
        return given | {"requires_grad of x": torch.is_grad_enabled() and x.requires_grad}

    agree(cp, "causal_conv1d", check)()
    S, S_out = Halo.apply(cp, x, initial_state, weight.shape[1])
    y, _ = one_rank(
        x, weight, bias, initial_state=S.mT, cu_seqlens=cp.borders("mine", x.device),
        activation=activation, backend=backend,
    )  # fmt: skip
    if not output_final_state:
        return y, None
    ended = [p for p in cp.mine if p.after is None]
    at = torch.tensor([p.sequence for p in ended], dtype=torch.long, device=x.device)
    last = S_out[[p.index for p in ended]].mT
    return y, x.new_zeros(cp.N, x.shape[2], weight.shape[1] - 1).index_copy(0, at, last)


class Halo(torch.autograd.Function):
    """The W - 1 inputs before each piece, and its own last ones, `[pieces, W - 1, D]`."""

    @staticmethod
    def forward(ctx, cp, x, S_first, W):
        S = x.new_zeros(len(cp.mine), W - 1, x.shape[2])
        if S_first is not None:
            S[[p.index for p in cp.fresh]] = S_first[[p.sequence for p in cp.fresh]].mT.to(x.dtype)
        ctx.rest = cp, W, None if S_first is None else S_first.dtype

        def leave(piece, given):
            """The last W - 1 inputs of what came in and the piece."""
            given = S[piece.index] if given is None else given
            return torch.cat([given, x[0, piece.rows]])[piece.end - piece.begin :]

        if W > 1:
            states = ring(cp, leave, S.new_empty(S.shape[1:]), known=long_enough(W))
            for index, given in states.items():
                S[index] = given
        S_out = [leave(p, S[p.index]) for p in cp.mine]
        return S, torch.stack(S_out) if S_out else torch.empty_like(S)

    @staticmethod
    @once_differentiable
    def backward(ctx, dS, dS_out):
        cp, W, first_dtype = ctx.rest
        agree(cp, "backward of causal_conv1d", dict)()
        dS, dS_out = dS.clone(), dS_out.clone()
        dx = dS.new_zeros(1, cp.length, dS.shape[2])

        def leave(piece, given):
            """The gradient of what came in: what the piece read of it, and what it handed on."""
            dS_on = dS_out[piece.index] if given is None else dS_out[piece.index] + given
            passed = max(W - 1 - (piece.end - piece.begin), 0)
            out = dS[piece.index].clone()
            out[W - 1 - passed :] += dS_on[:passed]
            return out

        if W > 1:
            like = dS.new_empty(dS.shape[1:])
            came = ring(cp, leave, like, reverse=True, known=long_enough(W))
            for index, given in came.items():
                dS_out[index] += given
            for p in cp.mine:
                own = min(p.end - p.begin, W - 1)
                dx[0, p.end - own : p.end] += dS_out[p.index, W - 1 - own :]
                dS[p.index] = leave(p, None)
        dS_first = None
        if first_dtype is not None:
            dS_first = dS.new_zeros(cp.N, dS.shape[2], W - 1, dtype=first_dtype)
            dS_first[[p.sequence for p in cp.fresh]] = dS[[p.index for p in cp.fresh]].mT.to(
                first_dtype
            )
        return None, dx, dS_first, None


def long_enough(W):
    """Whether a piece hands on nothing of what it was given."""
    return lambda piece: piece.end - piece.begin >= W - 1
