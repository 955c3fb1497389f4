"""The gated delta rule over sequences whose tokens lie on many ranks, forward and backward.

What comes to a piece of a sequence from the left is one state, S_in. Everything is affine in it:

    S_out = S_in F + G            O = O_0 + O_F S_in^T

Each rank finds all four without knowing S_in, in two runs of the ordinary rule. The first, from the
empty state, is its share of the work: O_0 and G. The second has zeros for values, and the identity
for a first state: what the rule makes of its rows is F, and row t of its outputs is what a query
reads of S_in, F_t q_t. It ends, head by head, where decay has left nothing of S_in (`felt`), and
has many blocks side by side (`response`).

So all ranks run at the same time, then states go along the chain (`exchange`), then a product puts
right those outputs that feel S_in. Backward O_F serves again. With dS_out the gradient of what a
piece hands on,

    dS_in = dS_out F^T + dO^T O_F,

another chain of affine maps, whose maps cost one product. When it has run, each rank knows S_in and
dS_out, and one ordinary backward pass over all its pieces gives every other gradient. That is why
this is one function of autograd and no composition of collectives: a composition would learn dS_out
only after the rank to the right has gone backwards, and the ranks would run one after the other.

Which pieces pay: those that a state enters, at most one a shard. A piece that begins its sequence
has no use for O_F and F. `NOTES.md` in this folder of the repository sets other orders of work
against this one.
"""

from functools import partial
from typing import Any, Literal

import torch
from torch.autograd.function import once_differentiable

from .. import validation
from ..prepared import RULE, prepared
from ..types import Backend
from . import launched, response
from .agreement import agree, checked, tell
from .context import CPContext
from .exchange import incoming, leaving
from .heads import by_heads
from .local import again, exact_dtype, gradients, has_kernels, run
from .relay import Relay
from .response import Beside

PARALLEL = ("sequence", "relay", "heads")


def chunk_gated_delta_rule(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor | None, beta: torch.Tensor,
    scale: float | None = None, initial_state: torch.Tensor | None = None,
    output_final_state: bool = False, use_qk_l2norm_in_kernel: bool = False, *,
    cp_context: CPContext, state_v_first: bool = False, use_gate_in_kernel: bool = False,
    A_log: torch.Tensor | None = None, dt_bias: torch.Tensor | None = None,
    use_beta_sigmoid_in_kernel: bool = False, allow_neg_eigval: bool = False, chunk_size: int = 64,
    backend: Backend = "auto", parallel: Literal["sequence", "relay", "heads"] = "sequence",
) -> tuple[torch.Tensor, torch.Tensor | Any]:  # fmt: skip
    """Gated delta rule over a packed batch whose tokens lie on many ranks. A collective.

    `gdn_ref.chunk_gated_delta_rule` of this rank's tokens, as part of the whole batch; all
    parameters that are not here are described there. `cp_context` stands for `cu_seqlens`.

    Parameters
    ----------
    q, k, v, beta : torch.Tensor, [1, T, ...]
        The tokens of this rank, `cp_context.length` of them, which may be 0.
    g : torch.Tensor, [1, T, HV], or None
        Theirs, too; None on every rank, or on none.
    initial_state : torch.Tensor, [N, HV, K, V], optional
        For all N sequences of the batch. A rank reads those of the sequences that start on it,
        `cp_context.starts_here()`, and has a gradient for these alone: the rest is zero.
    cp_context : CPContext
        From `build_cp_context`.
    parallel : {"sequence", "relay", "heads"}
        "sequence": each rank runs its own tokens at once, then states go round (this module).
        "relay": states go round first, a few heads at a time (`relay`), and no rank computes more
        than its share. "heads": tokens go round ("Ulysses", an all-to-all there and one back), and
        each rank computes all tokens of its part of the heads; H is then a multiple of the ranks.

    Returns
    -------
    o : torch.Tensor, [1, T, HV, V]
        Of this rank's tokens.
    final_state : torch.Tensor, [N, HV, K, V], or None
        Of the sequences that end on this rank, `cp_context.ends_here()`; the rest is zero, so that
        the sum over ranks has all.

    Raises
    ------
    TypeError, ValueError, ImportError
        As there, and then on every rank; also if the arguments are not the same on all of them.
    RuntimeError
        A rank did not come within the context's `timeout_s`, or has ended.

    Notes
    -----
    Backward is a collective too: every rank must go backwards. There is no second derivative.
    Gradients of `A_log` and `dt_bias` are those of this rank's tokens: sum them over the ranks, as
    those of any weight. With 16-bit inputs O_F is kept in 16 bits; states and maps never are.
    """
    flags = {
        "use_qk_l2norm_in_kernel": use_qk_l2norm_in_kernel,
        "use_gate_in_kernel": use_gate_in_kernel,
        "use_beta_sigmoid_in_kernel": use_beta_sigmoid_in_kernel,
        "allow_neg_eigval": allow_neg_eigval,
    }
    options = {"scale": scale, **flags, "chunk_size": chunk_size, "backend": backend}
    tensors = {"q": q, "k": k, "v": v, "g": g, "beta": beta, "A_log": A_log, "dt_bias": dt_bias}

    def check():
        shapes = [getattr(x, "shape", None) for x in (q, initial_state)]
        cp = cp_context.length, cp_context.N, cp_context.rank, cp_context.ranks
        others = (output_final_state, state_v_first, parallel, cp, *shapes)
        given = (*tensors.values(), initial_state, None)
        return prepared(checked_call, given, RULE[:9], (tuple(options), *options.values(), *others))

    given, error = checked(check)
    ask = partial(tell, cp_context, "chunk_gated_delta_rule", given, error)
    if error is not None or parallel != "sequence":  # which exchanges first
        ask()()
    S = initial_state if initial_state is None or state_v_first else initial_state.mT
    if parallel == "sequence" and not torch.is_grad_enabled():
        gate = {"A_log": A_log, "dt_bias": dt_bias}
        o, S, *_ = forward(ask, cp_context, options, False, (q, k, v, g, beta), gate, S)
    elif parallel == "sequence":
        o, S = Sharded.apply(ask, cp_context, options, *tensors.values(), S)
    else:
        order = Relay.apply if parallel == "relay" else by_heads
        o, S = order(cp_context, options, *tensors.values(), S)
    return o, (S if state_v_first else S.mT).contiguous() if output_final_state else None


def forward(ask, cp, options, keep, tokens, gate, S_first):
    """Outputs, last states of all sequences, and what `backward` needs if something is to `keep`.

    That is the states before the pieces, what is found of them (`Response`), and what `run` keeps.
    States are `[N, HV, V, K]`.
    """
    q, k, v, *_ = tokens
    sizes, exact = (len(cp.mine), *v.shape[2:], k.shape[3]), exact_dtype(q, k, v)
    S = None  # before each piece
    if S_first is not None:
        S = v.new_zeros(sizes, dtype=exact)
        for places, sequences in cp.runs("fresh"):
            S[places] = S_first[sequences].to(exact)
    beside, found = Beside(v.device) if cp.entered else None, None
    o, S_out, *kept = run(options, tokens, gate, S, cp.borders("mine", v.device), keep)
    if cp.entered:
        by = launched if has_kernels(options, tokens) else response
        with beside:
            bounds = by.Bounds(options, tokens, gate, cp, exact)
    agreed = ask()  # while the device is busy
    if S is None:
        S = v.new_zeros(sizes, dtype=exact)
    maps = {p.index: (None, S_out[p.index]) for p in cp.fresh}
    if cp.entered:
        with beside:
            found = by.respond(options, tokens, bounds, exact)
        beside.join()
        F = found.F.split(v.shape[2])
        maps |= {p.index: (F_p, S_out[p.index]) for p, F_p in zip(cp.entered, F, strict=True)}
    agreed()
    states = incoming(cp, maps, S.new_empty(sizes[1:]))
    for p in cp.entered:
        S[p.index] = states[p.index]
        F, G = maps[p.index]
        G.baddbmm_(states[p.index], F)  # S F + G, in S_out
    if found:
        found.correct(o, S)  # O_0 + O_F S^T
    S_last = S.new_zeros(cp.N, *sizes[1:])
    for places, sequences in cp.runs("ended"):
        S_last[sequences] = S_out[places]
    return o, S_last, S, found, kept


class Sharded(torch.autograd.Function):
    """Both passes."""

    @staticmethod
    def forward(ctx, ask, cp, options, *given):
        *tokens, A_log, dt_bias, S_first = given
        gate = {"A_log": A_log, "dt_bias": dt_bias}
        keep = any(ctx.needs_input_grad)
        o, S_last, S, found, kept = forward(ask, cp, options, keep, tokens, gate, S_first)
        answer = found.tensors if found else ()
        ctx.cp, ctx.options, ctx.answers = cp, options, len(answer)
        ctx.found = found and found.holding(*(None for _ in answer))
        ctx.save_for_backward(*given, S, *answer, *kept[:2])  # its states are not those of S
        return o, S_last

    @staticmethod
    @once_differentiable
    def backward(ctx, do, dS_last):
        cp, options = ctx.cp, ctx.options
        *tensors, S_first, S = ctx.saved_tensors[:9]
        answer, kept = ctx.saved_tensors[9 : 9 + ctx.answers], ctx.saved_tensors[9 + ctx.answers :]
        borders = cp.borders("mine", S.device)
        known = again(options, tensors, S, borders)  # the device has work while the host exchanges
        agreed = agree(cp, "backward of chunk_gated_delta_rule", dict)

        maps, HV = {}, S.shape[1]
        if cp.entered:
            found = ctx.found.holding(*answer)
            M = found.product(do, S.dtype)  # dO^T O_F
            for p, F_p, M_p in zip(cp.entered, found.F.split(HV), M.split(HV), strict=True):
                map_ = F_p.mT, M_p
                maps[p.index] = map_ if p.after else (None, leaving(map_, dS_last[p.sequence]))
        agreed()
        came = incoming(cp, maps, S.new_empty(S.shape[1:]), reverse=True)
        dS_out = torch.zeros_like(S)  # of the state after each piece
        for places, sequences in cp.runs("ended"):
            dS_out[places] = dS_last[sequences]
        for index, dS in came.items():
            dS_out[index] = dS
        *grads, dS = gradients(options, tensors, S, borders, do, dS_out, kept, known)
        dS_first = None
        if S_first is not None:
            dS_first = torch.zeros_like(S_first)
            for places, sequences in cp.runs("fresh"):
                dS_first[sequences] = dS[places].to(S_first.dtype)
        return None, None, None, *grads, dS_first


def look(x):
    """What must be the same on every rank of a tensor: all but its tokens."""
    if not isinstance(x, torch.Tensor):
        return x
    return str(x.dtype), list(x.shape[2:] if x.ndim > 2 else x.shape)


def checked_call(q, k, v, g, beta, A_log, dt_bias, initial_state, _, names, *given):
    """All that one rank can see for itself; what must be the same on every rank, by name."""
    *given, output_final_state, v_first, parallel, (length, N, rank, ranks), _, _ = given
    options = dict(zip(names, given, strict=True))
    flags = {name: x for name, x in options.items() if name.startswith(("use_", "allow"))}
    validation.check_flags(output_final_state=output_final_state, state_v_first=v_first, **flags)
    validation.check_chunk_size(options["chunk_size"])
    validation.check_scale(options["scale"])
    validation.check_backend(options["backend"])
    validation.check_tensors(q, k, v, g, beta, None, None, v_first)
    check_length("q", q, length, rank)
    if initial_state is not None:
        sizes = {"N": N, "HV": v.shape[2], "K": q.shape[3], "V": v.shape[3]}
        axes = ("N", "HV", "V", "K") if v_first else ("N", "HV", "K", "V")
        validation.check_tensor("initial_state", initial_state, axes, sizes, q.device)
    if parallel not in PARALLEL:
        raise ValueError(f"parallel: expected one of {', '.join(PARALLEL)}, got {parallel!r}")
    if parallel == "heads" and q.shape[2] % ranks:
        raise ValueError(
            f"q: expected H a multiple of the {ranks} ranks with parallel='heads', "
            f"got H = {q.shape[2]}"
        )
    validation.check_gate(options["use_gate_in_kernel"], g, A_log, dt_bias, v)
    validation.check_beta_range(options["allow_neg_eigval"], options["use_beta_sigmoid_in_kernel"])
    if options["backend"] == "triton":
        common = torch.promote_types(torch.promote_types(q.dtype, k.dtype), v.dtype)
        K, V = q.shape[3], v.shape[3]
        validation.check_triton(q.device, common, K, max(K, V), options["chunk_size"])
    tensors = {"q": q, "k": k, "v": v, "g": g, "beta": beta, "A_log": A_log, "dt_bias": dt_bias}
    tensors["initial_state"] = initial_state
    gradient = torch.is_grad_enabled() and any(
        x is not None and x.requires_grad for x in tensors.values()
    )
    shared = {"parallel": parallel, "output_final_state": output_final_state}
    shared |= {name: look(x) for name, x in tensors.items()}
    return {**options, **shared, "requires_grad of any argument": gradient}


def check_length(name, x, length, rank):
    """All tokens of this rank, as one row of a batch."""
    if x.shape[:2] != (1, length):
        raise ValueError(
            f"{name}: expected B = 1 and T = {length}, the tokens of rank {rank} in cp_context, "
            f"got shape {list(x.shape)}"
        )
