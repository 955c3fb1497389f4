"""What a rank computes by itself: the ordinary rule and its gradients, over some of its pieces."""

import torch

from ..ops import chunk_gated_delta_rule as one_rank
from ..prepared import RULE, prepared


def run(options, tokens, gate, S, cu_seqlens, keep=False):
    """The rule on one rank, from the states `[n, HV, V, K]`: outputs and last states.

    With `keep`, after them what `gradients` can use again, if there is such a thing.
    """
    tensors = (*tokens, gate.get("A_log"), gate.get("dt_bias"), S, cu_seqlens)
    rule = kernels(options, tensors, keep)
    if rule is not None:
        return rule.forward(*tensors)
    return one_rank(
        *tokens, initial_state=S, output_final_state=True, state_v_first=True, **gate, **options,
        cu_seqlens=cu_seqlens,
    )  # fmt: skip


def again(options, tensors, S, cu_seqlens):
    """What `gradients` needs and can be computed before `do` and `dS_out` are known, or None."""
    rule = kernels(options, (*tensors, S, cu_seqlens), True)
    return None if rule is None else rule.again(*tensors, S, cu_seqlens)


def gradients(options, tensors, S, cu_seqlens, do, dS_out, kept=(), again=None):
    """One rank's backward pass: gradients of q, k, v, g, beta, A_log, dt_bias and S."""
    rule = kernels(options, (*tensors, S, cu_seqlens), True)
    if rule is not None:  # its backward pass needs no forward pass
        return rule.backward(do, dS_out, *tensors, S, cu_seqlens, kept=kept, again=again)[:8]
    with torch.enable_grad():
        leaves = [None if x is None else x.detach().requires_grad_() for x in (*tensors, S)]
        *tokens, A_log, dt_bias, S = leaves
        out = one_rank(
            *tokens, initial_state=S, output_final_state=True, state_v_first=True, A_log=A_log,
            dt_bias=dt_bias, cu_seqlens=cu_seqlens, **options,
        )  # fmt: skip
        wanted = [x for x in leaves if x is not None]
        found = torch.autograd.grad(out, wanted, (do, dS_out), allow_unused=True)
        found = (
            torch.zeros_like(x) if dx is None else dx for x, dx in zip(wanted, found, strict=True)
        )
    return [None if x is None else next(found) for x in leaves]


def kernels(options, tensors, gradient):
    """Both passes of the Triton kernels, remembered for tensors like these; None without them."""
    if not has_kernels(options, tensors):
        return None
    q, *_ = tensors
    common = common_dtype(tensors)
    flags = ("use_qk_l2norm_in_kernel", "use_beta_sigmoid_in_kernel", "allow_neg_eigval")
    scale = q.shape[3] ** -0.5 if options["scale"] is None else float(options["scale"])
    given = (common, options["chunk_size"], gradient, scale, *(options[name] for name in flags))
    return prepared(both_passes, (*tensors, None, None), RULE, given)


def has_kernels(options, tensors):
    """Whether the Triton kernels run for q, k, v, .. like these."""
    automatic = options["backend"] == "auto" and tensors[2].is_cuda
    automatic = automatic and common_dtype(tensors) != torch.float64
    return automatic or options["backend"] == "triton"


def common_dtype(tensors):
    """That of q, k and v together."""
    q, k, v, *_ = tensors
    return torch.promote_types(torch.promote_types(q.dtype, k.dtype), v.dtype)


def both_passes(*arguments):
    """For `prepared`."""
    from ..kernels.rule import Rule

    dtype, chunk_size, gradient, scale, norm, sigmoid, negative = arguments[len(RULE) :]
    return Rule(
        arguments[:9], dtype, chunk_size, gradient, scale=scale, v_first=True, norm=norm,
        sigmoid=sigmoid, negative=negative,
    )  # fmt: skip


def spans(pieces):
    """The rows of these pieces as few slices: neighbours make one."""
    found = []
    for p in pieces:
        if found and found[-1].stop == p.begin:
            found[-1] = slice(found[-1].start, p.end)
        else:
            found.append(p.rows)
    return found


def rows(tokens, pieces):
    """The rows of these pieces, one after the other; g may be None."""
    parts = spans(pieces)
    if len(parts) == 1:
        return [None if x is None else x[:, parts[0]] for x in tokens]
    return [None if x is None else torch.cat([x[:, s] for s in parts], dim=1) for x in tokens]


def put(x, pieces, values):
    """Write the rows of these pieces."""
    parts = spans(pieces)
    sizes = [s.stop - s.start for s in parts]
    for s, part in zip(parts, values.split(sizes, dim=1), strict=True):
        x[:, s] = part


def split(x, pieces):
    """`rows`, undone."""
    return x.split([p.end - p.begin for p in pieces], dim=1)


def exact_dtype(q, k, v):
    """That of states and maps."""
    return torch.promote_types(common_dtype((q, k, v)), torch.float32)
