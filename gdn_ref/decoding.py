"""Decoding: a few tokens a sequence, over a pool of states that is updated in place.

The rule is `gated_delta_rule.step`; the rest is bookkeeping. The reference says it in three
lines: take the states out of their slots, run the tokens, put the states back.
"""

from functools import partial
from math import prod

import torch

from . import compiled, layer_validation, validation
from .ops import asks_gradient, fused_recurrent_gated_delta_rule
from .prepared import DECODE, prepared
from .types import Backend


def decode(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor | None, beta: torch.Tensor,
    pool: torch.Tensor, slot_idx: torch.Tensor | None, *, cu_seqlens: torch.Tensor | None = None,
    scale: float | None = None, use_qk_l2norm_in_kernel: bool = False, state_v_first: bool = False,
    use_gate_in_kernel: bool = False, A_log: torch.Tensor | None = None,
    dt_bias: torch.Tensor | None = None, use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False, backend: Backend = "auto",
) -> torch.Tensor:  # fmt: skip
    """Gated delta rule for the next tokens of N sequences, whose states live in a pool.

    Sequence n keeps its state in `pool[slot_idx[n]]`. For each of its tokens, in order, each
    value head does `S = exp(g) S (I - beta k k^T) + beta v k^T`, `o = scale S q`
    (eq-gdn-recurrence, eq-gdn-step); then the slot holds the new state. Slots that no sequence
    has keep every bit, and so does the slot of a sequence without tokens.

    Parameters
    ----------
    q, k : torch.Tensor, [B, T, H, K]
        Queries and keys of the new tokens. Usually T = 1, with B = N.
    v : torch.Tensor, [B, T, HV, V]
        Values. HV is a multiple of H; value head h reads key head `h // (HV // H)`.
    g : torch.Tensor, [B, T, HV], or None
        Natural log of the decay, at most 0 (`-inf` resets a finite state). None: no decay.
    beta : torch.Tensor, [B, T, HV]
        Write strength, 0 to 1, or up to 2 for negative eigenvalues.
    pool : torch.Tensor, [slots, HV, K, V]
        The states, of any floating dtype, updated in place. They are read into float32 (float64
        if q, k or v is), and rounded to the pool's dtype once a call, after the last token. Each
        slot lies in one piece; slots may lie apart, as in a view of a larger pool.
    slot_idx : torch.Tensor, [N], int32 or int64, or None
        The slot of each sequence, from 0 to slots - 1, no two alike. A negative number is refused
        where it is read: leave sequences that have ended out, or give them no tokens. None:
        sequence n has slot n. On a GPU the values are read, which waits for the device, once per
        tensor and in-place change, and not while a CUDA graph is captured or `torch.compile`
        traces: what the graph reads later is not checked, but there a slot below 0, as engines pad
        with, is left out, with zeros for its outputs.
    cu_seqlens : torch.Tensor, [N + 1], int32 or int64, optional
        Offsets of N sequences packed along T, from 0 to T; B must be 1. Read as `slot_idx` is.
    scale : float, optional
        Factor on q. Default: `K ** -0.5`.
    use_qk_l2norm_in_kernel : bool
        Whether to divide each query and key by `sqrt(sum of squares + 1e-6)` first.
    state_v_first : bool
        Whether the pool is `[slots, HV, V, K]` instead. That is faster with many sequences: with
        256 of them, 32 heads of 128 and float32, an H100 updates it at 97 % of the bandwidth of a
        copy, and the other at 92 % (kernels/bench/NOTES.md, seventeenth step).
    use_gate_in_kernel : bool
        Whether g is raw, and the log-decay is `-exp(A_log) * softplus(g + dt_bias)`.
    A_log, dt_bias : torch.Tensor, [HV]
        The gate's parameters; `dt_bias` may be None.
    use_beta_sigmoid_in_kernel : bool
        Whether beta is raw, and the write strength is `sigmoid(beta)`.
    allow_neg_eigval : bool
        Whether that is `2 * sigmoid(beta)`. Needs `use_beta_sigmoid_in_kernel`.
    backend : {"auto", "reference", "triton"}
        "auto" is Triton for CUDA tensors and the reference for all others, and for float64 (in q,
        k, v or the pool) on any device. Nothing falls back silently.

    Returns
    -------
    o : torch.Tensor, [B, T, HV, V]
        In v's dtype.

    Raises
    ------
    TypeError
        An argument has the wrong Python type, or is unknown.
    ValueError
        A shape, dtype, device or value is wrong, a gradient is asked for, or Triton cannot run
        these arguments. The pool is as it was.
    ImportError
        Triton is needed and not installed.

    Notes
    -----
    There is no gradient, since states are overwritten; `fused_recurrent_gated_delta_rule` has one.
    All but the numbers is checked at the first call of its kind, and remembered.
    The order of sums, and so the last bits, may depend on the number of sequences in the call, but
    not on the slots or on the other sequences' numbers; the same call gives the same bits.

    References
    ----------
    S. Yang, J. Kautz, A. Hatamizadeh, "Gated Delta Networks", 2024.
    """
    tensors = (q, k, v, g, beta, A_log, dt_bias, pool, cu_seqlens, slot_idx)
    options = (
        scale, use_qk_l2norm_in_kernel, state_v_first, use_gate_in_kernel,
        use_beta_sigmoid_in_kernel, allow_neg_eigval, backend,
    )  # fmt: skip
    run = prepared(runner, tensors, DECODE, options)
    if cu_seqlens is not None:
        validation.check_cu_seqlens(cu_seqlens, *q.shape[:2], q.device)
    if slot_idx is not None:
        layer_validation.check_slots(slot_idx, pool)
    return run(*tensors)


def runner(
    q, k, v, g, beta, A_log, dt_bias, pool, cu_seqlens, slot_idx,
    scale, norm, state_v_first, use_gate_in_kernel, sigmoid, negative, backend,
):  # fmt: skip
    """Check everything but the numbers in `slot_idx`; then the backend, as a function of tensors.

    A loop that decodes makes the same call again and again, with other numbers: it pays for this
    once.
    """
    validation.check_flags(
        use_qk_l2norm_in_kernel=norm,
        state_v_first=state_v_first,
        use_gate_in_kernel=use_gate_in_kernel,
        use_beta_sigmoid_in_kernel=sigmoid,
        allow_neg_eigval=negative,
    )
    validation.check_scale(scale)
    validation.check_backend(backend)
    validation.check_tensors(q, k, v, g, beta, None, cu_seqlens, False)
    validation.check_gate(use_gate_in_kernel, g, A_log, dt_bias, v)
    validation.check_beta_range(negative, sigmoid)
    check_pool(pool, q, v, state_v_first)
    N = q.shape[0] if cu_seqlens is None else cu_seqlens.shape[0] - 1
    layer_validation.check_slot_idx(slot_idx, N, pool)
    if asks_gradient(q, k, v, g, beta, pool, A_log, dt_bias):
        raise ValueError(
            "decode: expected no gradient to be asked for, got an input that requires one: call it "
            "under torch.no_grad(), or use fused_recurrent_gated_delta_rule"
        )
    options = {"state_v_first": state_v_first, "norm": norm}
    options |= {"sigmoid": sigmoid, "negative": negative}

    common = torch.promote_types(torch.promote_types(q.dtype, k.dtype), v.dtype)
    exact = torch.float64 in (common, pool.dtype)
    if backend == "reference" or (backend == "auto" and (exact or not v.is_cuda)):
        return partial(decode_reference, scale=scale, **options)
    options["scale"] = q.shape[3] ** -0.5 if scale is None else float(scale)
    if torch.compiler.is_compiling():
        return partial(compiled.decode, **options)
    for dtype in {common, q.dtype, k.dtype, v.dtype, pool.dtype}:
        validation.check_triton(v.device, dtype, q.shape[3], v.shape[3], 64)
    validation.check_in_memory(
        q=q, k=k, v=v, g=g, beta=beta, A_log=A_log, dt_bias=dt_bias, pool=pool,
        cu_seqlens=cu_seqlens, slot_idx=slot_idx,
    )  # fmt: skip
    from .kernels.decode.launches import Decode

    return Decode(q, k, v, g, beta, A_log, dt_bias, pool, cu_seqlens, slot_idx, **options)


def decode_reference(
    q, k, v, g, beta, A_log, dt_bias, pool, cu_seqlens, slot_idx,
    scale, state_v_first, norm, sigmoid, negative,
):  # fmt: skip
    """Take the states out of their slots, run the tokens one by one, put the states back."""
    locked = not torch.compiler.is_compiling() and pool.is_inference()
    if locked and not torch.is_inference_mode_enabled():  # PyTorch would refuse it later
        raise ValueError(
            "pool: expected a tensor that may be written to, got one made under "
            "torch.inference_mode(), outside of it: call decode under it, or pass pool.clone()"
        )
    N = q.shape[0] if cu_seqlens is None else cu_seqlens.shape[0] - 1
    slots = torch.arange(N, device=q.device) if slot_idx is None else slot_idx.long()
    before = pool[slots]
    o, states = fused_recurrent_gated_delta_rule(
        q, k, v, g=g, beta=beta, scale=scale, initial_state=before, output_final_state=True,
        use_qk_l2norm_in_kernel=norm, cu_seqlens=cu_seqlens, state_v_first=state_v_first,
        use_gate_in_kernel=A_log is not None, A_log=A_log, dt_bias=dt_bias,
        use_beta_sigmoid_in_kernel=sigmoid, allow_neg_eigval=negative, backend="reference",
    )  # fmt: skip
    if cu_seqlens is not None:  # a sequence without tokens keeps its slot, to the bit
        moved = (cu_seqlens.diff() > 0)[:, None, None, None]
        states = torch.where(moved, states.to(pool.dtype), before)
    if q.shape[1] > 0:
        pool[slots] = states.to(pool.dtype)
    return o


def check_pool(pool, q, v, state_v_first):
    """States of the right shape, each in one piece, no two of them in the same memory."""
    axes = ("slots", "HV", "V", "K") if state_v_first else ("slots", "HV", "K", "V")
    sizes = {"HV": v.shape[2], "K": q.shape[3], "V": v.shape[3]}
    validation.check_tensor("pool", pool, axes, sizes, q.device)
    if pool.is_contiguous():
        return
    inner, strides = pool.shape[1:], pool.stride()
    in_one_piece = (prod(inner[1:]), inner[2], 1)
    if strides[1:] != in_one_piece or strides[0] < prod(inner):
        raise ValueError(
            f"pool: expected slots apart, each in one piece, strides [>= {prod(inner)}, "
            f"{', '.join(map(str, in_one_piece))}], got {list(strides)}"
        )
