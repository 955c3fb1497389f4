"""The gated delta rule for users: flash-linear-attention's two functions, checked and documented.

Both take the ecosystem's layout (`[B, T, H, K]`, state `[N, HV, K, V]`); the rule modules and the
kernels keep the papers' state, `[.., V, K]`. What the two functions share is one short pipeline:
check the arguments, choose a backend, run it. Calls that look alike are checked once (`prepared`).
"""

from functools import partial
from types import EllipsisType
from typing import TYPE_CHECKING, Any, Unpack

import torch
from torch.autograd import forward_ad
from torch.nn.functional import softplus

from . import compiled, compiled_reference, drop_in, reference, validation
from .prepared import RULE, prepared
from .reference import in_dtype
from .types import Backend, OfChunk, OfRecurrent

if TYPE_CHECKING:
    from .distributed import CPContext

NORM_EPSILON = 1e-6  # added to the squared norm, as flash-linear-attention does


def chunk_gated_delta_rule(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, g: torch.Tensor | None, beta: torch.Tensor,
    scale: float | None = None, initial_state: torch.Tensor | None = None,
    output_final_state: bool = False, use_qk_l2norm_in_kernel: bool = False, *,
    cu_seqlens: torch.Tensor | None = None, state_v_first: bool = False,
    use_gate_in_kernel: bool = False, A_log: torch.Tensor | None = None,
    dt_bias: torch.Tensor | None = None, use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False, chunk_size: int = 64, backend: Backend = "auto",
    batch_invariant: bool = False, transpose_state_layout: bool | None = None,
    cu_seqlens_cpu: torch.Tensor | None = None, cp_context: "CPContext | None" = None,
    **foreign: Unpack[OfChunk],
) -> tuple[torch.Tensor, torch.Tensor | Any]:  # fmt: skip
    """Gated delta rule over whole sequences, chunk by chunk: for training and prefill.

    Each value head keeps a state S, `[V, K]`, and for each token does
    `S = exp(g) S (I - beta k k^T) + beta v k^T`, `o = scale S q` (eq-gdn-recurrence), in the
    chunk form (eq-gdn-chunk-delta, eq-gdn-chunk-output, eq-gdn-chunk-state).

    Parameters
    ----------
    q, k : torch.Tensor, [B, T, H, K]
        Queries and keys. The keys' norm should be 1; see `use_qk_l2norm_in_kernel`.
    v : torch.Tensor, [B, T, HV, V]
        Values. HV is a multiple of H; value head h reads key head `h // (HV // H)`.
    g : torch.Tensor, [B, T, HV], or None
        Natural log of the decay, at most 0. `-inf` resets the state, because this rule decays
        before it reads. None: no decay, which is the delta rule (eq-delta-rule-recurrence).
    beta : torch.Tensor, [B, T, HV]
        Write strength, 0 to 1, or up to 2 for negative eigenvalues.
    scale : float, optional
        Factor on q. Default: `K ** -0.5`.
    initial_state : torch.Tensor, [N, HV, K, V], optional
        State before the first token of each of the N sequences. Default: zeros.
    output_final_state : bool
        Whether to return the state after the last token.
    use_qk_l2norm_in_kernel : bool
        Whether to divide each query and key by `sqrt(sum of squares + 1e-6)` first.
    cu_seqlens : torch.Tensor, [N + 1], int32 or int64, optional
        Offsets of N sequences packed along T, from 0 to T; B must be 1. A sequence may be
        empty: its final state is its initial one. On a GPU the values are read, which waits for
        the device, once per tensor and in-place change. While a CUDA graph is captured or
        `torch.compile` traces, they are not read, and so not checked. Compiled or exported code
        that runs the reference reads them when it runs, and then checks them.
    state_v_first : bool
        Whether both states are `[N, HV, V, K]` instead.
    use_gate_in_kernel : bool
        Whether g is raw, and the log-decay is `-exp(A_log) * softplus(g + dt_bias)`.
    A_log, dt_bias : torch.Tensor, [HV]
        The gate's parameters; `dt_bias` may be None.
    use_beta_sigmoid_in_kernel : bool
        Whether beta is raw, and the write strength is `sigmoid(beta)`.
    allow_neg_eigval : bool
        Whether that is `2 * sigmoid(beta)`. Needs `use_beta_sigmoid_in_kernel`.
    chunk_size : int
        Tokens in a chunk. The result does not depend on it; Triton takes 16, 32 or 64.
    backend : {"auto", "reference", "triton"}
        "auto" is Triton for CUDA tensors and the reference for all others, and for float64 on
        any device. Nothing falls back silently: where Triton cannot run, the call raises.
    batch_invariant : bool
        Whether results and gradients of a sequence have the same bits whatever it comes with:
        alone, padded or packed. Without it that holds as well, except on a Hopper GPU for 16-bit
        inputs with K up to 128 where sequences are long and heads few, or where a batch fills the
        GPU, of gradients where a key head has two or four slices of 64 values, and token by
        token (the README has the sizes). What is faster there is then left undone. The reference
        takes the sequences of a batch one by one.
    transpose_state_layout : bool, optional
        The older name of `state_v_first`, which flash-linear-attention still takes.
    cu_seqlens_cpu : torch.Tensor, [N + 1], int32 or int64, optional
        A copy of `cu_seqlens` on the host: its values are believed where reading those would wait.
    cp_context : gdn_ref.distributed.CPContext, optional
        The tokens are this rank's shard of a packed batch, and the call is that of
        `gdn_ref.distributed.chunk_gated_delta_rule`, a collective; it stands for `cu_seqlens`.
    **foreign
        What only flash-linear-attention's and transformers' functions have, where it changes
        nothing here: `gdn_ref.drop_in` lists it.

    Returns
    -------
    o : torch.Tensor, [B, T, HV, V]
        In v's dtype.
    final_state : torch.Tensor, [N, HV, K, V], or None
        float32, or float64 if q, k or v is; None unless `output_final_state`.

    Raises
    ------
    TypeError
        An argument has the wrong Python type, is unknown, or asks for what ours do not do.
    ValueError
        A shape, dtype, device or value is wrong, or Triton cannot run these arguments.
    ImportError
        Triton is needed and not installed.

    Notes
    -----
    The dtypes of the inputs may differ. Norms, gates, decays and states are computed in float32
    (float64 if q, k or v is float64). Gradients reach every floating input; second and forward-mode
    derivatives, and the transforms of `torch.func`, are the reference's alone. With Triton, the
    backward pass computes the chunks' states again instead of keeping them. For 16-bit inputs its
    chunk form holds `v - S k` in float16, and reads S in the inputs' dtype: float16 ends at 65504.

    Inside `torch.compile` and `torch.export` each pass is one operator of the graph, with both
    backends. So one graph takes any number of tokens from two on, with `cu_seqlens` any offsets of
    at least two sequences: pass `dynamic=True`, or `torch.export.Dim("T")` and, for the axis of
    `cu_seqlens`, `torch.export.Dim("N", min=3)`. The reference's backward pass then computes the
    forward pass again, and there is one derivative. Inside transforms of `torch.func`, and of one
    token a sequence, the reference is traced line by line.

    In the chunk form a NaN in k, v, g or beta reaches the outputs of all tokens of its chunk, those
    before it too: the mask multiplies by zero, and 0 x NaN is NaN. Token by token it reaches none
    before its own, and in q nothing but its own in either form.

    References
    ----------
    S. Yang, J. Kautz, A. Hatamizadeh, "Gated Delta Networks", 2024. Names and defaults:
    flash-linear-attention 0.6.0.
    """
    if chunk_size is None:  # which asks for the other form, in the function that both share
        validation.check_chunk_size(chunk_size)
    if transpose_state_layout is not None:
        state_v_first = validation.renamed(state_v_first, transpose_state_layout)
    if foreign:
        packed = cu_seqlens is not None or cp_context is not None
        drop_in.settle("chunk_gated_delta_rule", drop_in.CHUNK, foreign, packed)
    if cp_context is not None:
        validation.check_alone(
            "cp_context", cu_seqlens=cu_seqlens, cu_seqlens_cpu=cu_seqlens_cpu,
            batch_invariant=batch_invariant or None,
        )  # fmt: skip
        return drop_in.on_ranks(
            cp_context, q, k, v, g, beta, scale, initial_state, output_final_state,
            use_qk_l2norm_in_kernel, state_v_first=state_v_first, A_log=A_log, dt_bias=dt_bias,
            use_gate_in_kernel=use_gate_in_kernel, allow_neg_eigval=allow_neg_eigval,
            use_beta_sigmoid_in_kernel=use_beta_sigmoid_in_kernel, chunk_size=chunk_size,
            backend=backend,
        )  # fmt: skip
    if cu_seqlens_cpu is not None:
        drop_in.take_host_copy(cu_seqlens, cu_seqlens_cpu)
    return gated_delta_rule(
        q, k, v, g, beta, scale, initial_state, output_final_state, use_qk_l2norm_in_kernel,
        cu_seqlens, state_v_first, use_gate_in_kernel, A_log, dt_bias, use_beta_sigmoid_in_kernel,
        allow_neg_eigval, chunk_size, backend, batch_invariant,
    )  # fmt: skip


def fused_recurrent_gated_delta_rule(
    q: torch.Tensor, k: torch.Tensor, v: torch.Tensor,
    g: torch.Tensor | EllipsisType | None = ..., gk: torch.Tensor | None = None,
    gv: torch.Tensor | None = None, beta: torch.Tensor | EllipsisType = ...,
    scale: float | None = None, initial_state: torch.Tensor | None = None,
    output_final_state: bool = False, use_qk_l2norm_in_kernel: bool = False, *,
    cu_seqlens: torch.Tensor | None = None, state_v_first: bool = False,
    use_gate_in_kernel: bool = False, A_log: torch.Tensor | None = None,
    dt_bias: torch.Tensor | None = None, use_beta_sigmoid_in_kernel: bool = False,
    allow_neg_eigval: bool = False, backend: Backend = "auto", batch_invariant: bool = False,
    transpose_state_layout: bool | None = None, cu_seqlens_cpu: torch.Tensor | None = None,
    **foreign: Unpack[OfRecurrent],
) -> tuple[torch.Tensor, torch.Tensor | Any]:  # fmt: skip
    """Gated delta rule token by token (eq-gdn-recurrence, eq-gdn-step): for decoding.

    The same function as `chunk_gated_delta_rule`: all other parameters, results, errors, notes and
    references are described there. Both backends take one token at a time, and Triton the chunk
    form, at chunk size 64, where a gradient is asked for. To keep states in a pool, see `decode`.
    The order of its arguments is flash-linear-attention's: pass g and beta by keyword.

    Parameters
    ----------
    g : torch.Tensor, [B, T, HV], or None
        As there. It may be left out where `gk` or `gv` is given.
    gk : torch.Tensor, [B, T, HV, K], optional
        Natural log of a decay of each key channel: `S` is multiplied by `exp(gk)` along K before
        it is read, besides by `exp(g)`.
    gv : torch.Tensor, [B, T, HV, V], optional
        The same for each value channel, along V.

    Notes
    -----
    With `gk` or `gv` the reference alone has a gradient: Triton runs, and refuses to go backwards;
    under `torch.compile`, which prepares both passes at once, it refuses at the call.
    """
    if g is ...:
        if gk is None and gv is None:
            raise TypeError("g: expected a torch.Tensor, or None for no decay, got nothing")
        g = None
    if beta is ...:
        raise TypeError(
            "beta: expected a torch.Tensor [B, T, HV], got nothing; torch.ones is what "
            "flash-linear-attention takes then"
        )
    if transpose_state_layout is not None:
        state_v_first = validation.renamed(state_v_first, transpose_state_layout)
    if foreign:
        packed = cu_seqlens is not None
        drop_in.settle("fused_recurrent_gated_delta_rule", drop_in.RECURRENT, foreign, packed)
    if cu_seqlens_cpu is not None:
        drop_in.take_host_copy(cu_seqlens, cu_seqlens_cpu)
    return gated_delta_rule(
        q, k, v, g, beta, scale, initial_state, output_final_state, use_qk_l2norm_in_kernel,
        cu_seqlens, state_v_first, use_gate_in_kernel, A_log, dt_bias, use_beta_sigmoid_in_kernel,
        allow_neg_eigval, None, backend, batch_invariant, gk, gv,
    )  # fmt: skip


def gated_delta_rule(
    q, k, v, g, beta, scale, initial_state, output_final_state, use_qk_l2norm_in_kernel,
    cu_seqlens, state_v_first, use_gate_in_kernel, A_log, dt_bias, use_beta_sigmoid_in_kernel,
    allow_neg_eigval, chunk_size, backend, batch_invariant, gk=None, gv=None,
):  # fmt: skip
    """Both public functions; `chunk_size` None asks for the token by token form."""
    tensors = (q, k, v, g, beta, A_log, dt_bias, initial_state, cu_seqlens)
    options = (
        scale, output_final_state, use_qk_l2norm_in_kernel, state_v_first, use_gate_in_kernel,
        use_beta_sigmoid_in_kernel, allow_neg_eigval, chunk_size, backend, batch_invariant,
    )  # fmt: skip
    run = prepared(runner, (*tensors, gk, gv), RULE, options)
    if cu_seqlens is not None:
        validation.check_cu_seqlens(cu_seqlens, *q.shape[:2], q.device)
    o, S = run(*tensors) if gk is None and gv is None else run(*tensors, gk, gv)
    return o, (S if output_final_state else None)


def runner(
    q, k, v, g, beta, A_log, dt_bias, initial_state, cu_seqlens, gk, gv,
    scale, output_final_state, norm, v_first, use_gate_in_kernel, sigmoid, negative, chunk_size,
    backend, batch_invariant,
):  # fmt: skip
    """Check everything but numbers; then the backend, as a function of the tensors.

    Those are nine, and gk and gv only if one of them is there.
    """
    if chunk_size is not None:
        validation.check_chunk_size(chunk_size)
    validation.check_flags(
        output_final_state=output_final_state,
        use_qk_l2norm_in_kernel=norm,
        state_v_first=v_first,
        use_gate_in_kernel=use_gate_in_kernel,
        use_beta_sigmoid_in_kernel=sigmoid,
        allow_neg_eigval=negative,
        batch_invariant=batch_invariant,
    )
    validation.check_scale(scale)
    validation.check_backend(backend)
    validation.check_tensors(q, k, v, g, beta, initial_state, cu_seqlens, v_first, gk, gv)
    validation.check_gate(use_gate_in_kernel, g, A_log, dt_bias, v)
    validation.check_beta_range(negative, sigmoid)
    options = {"scale": q.shape[3] ** -0.5 if scale is None else float(scale)}
    options |= {"norm": norm, "sigmoid": sigmoid, "negative": negative, "v_first": v_first}

    common = torch.promote_types(torch.promote_types(q.dtype, k.dtype), v.dtype)
    if backend == "reference" or (backend == "auto" and (common == torch.float64 or not v.is_cuda)):
        exact = torch.promote_types(common, torch.float32)
        forward = reference.one_by_one if batch_invariant else reference.forward
        if torch.compiler.is_compiling() and not transformed():
            forward = partial(compiled_reference.forward, batch_invariant=batch_invariant)
        return partial(activated, forward, exact, chunk_size, **options)
    gradient = asks_gradient(q, k, v, g, beta, A_log, dt_bias, initial_state, gk, gv)
    if chunk_size is None and gradient and gk is None and gv is None:
        chunk_size = 64
    if torch.compiler.is_compiling():
        if chunk_size is None:
            return partial(compiled.recurrent, **options, batch_invariant=batch_invariant)
        # a program that is exported may run without gradients
        keep = gradient and not torch.compiler.is_exporting()
        forward = compiled.forward_keep if keep else compiled.forward
        forward = partial(forward, batch_invariant=batch_invariant)
        return partial(activated, forward, common, chunk_size, **options)
    validation.check_triton(v.device, common, q.shape[3], v.shape[3], chunk_size or 64)
    validation.check_in_memory(
        q=q, k=k, v=v, g=g, beta=beta, A_log=A_log, dt_bias=dt_bias, initial_state=initial_state,
        gk=gk, gv=gv, cu_seqlens=cu_seqlens,
    )  # fmt: skip
    from .kernels import rule

    tensors = (q, k, v, g, beta, A_log, dt_bias, initial_state, cu_seqlens, gk, gv)
    tensors = tensors[:9] if gk is None and gv is None else tensors
    options["batch_invariant"] = batch_invariant
    return rule.rule_for(tensors, common, gradient, chunk_size, options)


def activated(
    forward, dtype, chunk_size, q, k, v, g, beta, A_log, dt_bias, initial_state, cu_seqlens,
    *decays, scale, norm, sigmoid, negative, v_first,
):  # fmt: skip
    """Norm, gate and write strength in PyTorch, then `forward` on vectors of this dtype."""
    exact = torch.promote_types(dtype, torch.float32)
    if norm:
        q, k = unit_rows(in_dtype(q, exact)), unit_rows(in_dtype(k, exact))
    g = None if g is None else in_dtype(g, exact)
    if A_log is not None:
        g = log_decay(g, A_log.to(exact), None if dt_bias is None else dt_bias.to(exact))
    beta = in_dtype(beta, exact)
    if sigmoid:
        beta = (2 if negative else 1) * torch.sigmoid(beta)
    S = None if initial_state is None else in_dtype(initial_state, exact)
    S = S if S is None or v_first else S.mT
    vectors = (in_dtype(x, dtype) for x in (q, k, v))
    o, S, *_ = forward(*vectors, g, beta, scale, S, cu_seqlens, chunk_size, *decays)
    return in_dtype(o, v.dtype), (S if v_first else S.mT).contiguous()


def unit_rows(x):
    """Each row divided by its norm; a zero row stays zero."""
    return x * torch.rsqrt((x * x).sum(-1, keepdim=True) + NORM_EPSILON)


def log_decay(g, A_log, dt_bias):
    """The gate: `-exp(A_log) softplus(g + dt_bias)`, at most 0."""
    return -torch.exp(A_log) * softplus(g if dt_bias is None else g + dt_bias)


def transformed():
    """Whether this is inside a transform of `torch.func` or a level of forward-mode derivatives."""
    return torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0


def asks_gradient(*arguments):
    """Whether autograd will want a derivative of a function of these."""
    backward = torch.is_grad_enabled() and any(
        isinstance(x, torch.Tensor) and x.requires_grad for x in arguments
    )
    return backward or forward_ad._current_level >= 0  # inside a `dual_level`
