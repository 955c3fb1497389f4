"""Calls that look alike are checked once: what runs them is remembered.

A model makes the same call again and again, with other numbers, and with other lengths. All but
those decides whether a call is right, and how it runs; finding that out takes longer on the host
than small kernels take on a GPU. Of lengths it only matters whether they agree.
"""

import torch
from torch.autograd import forward_ad

MOST_REMEMBERED = 1024
_remembered = {}  # how a call looks -> what runs it

# what a tensor is to a call: which of its axes have another size at each call
TOKENS = "[B, T, ...]"
SEQUENCES = "[N, ...]"
OFFSETS = "[N + 1]"
POOL = "[slots, ...]"
WHOLE = "[...]"

CHUNKS = (*[TOKENS] * 5, SEQUENCES, OFFSETS)  # q, k, v, g, beta, initial_state, cu_seqlens
# with A_log and dt_bias after beta, and gk and gv at the end
RULE = (*[TOKENS] * 5, WHOLE, WHOLE, SEQUENCES, OFFSETS, TOKENS, TOKENS)
DECODE = (*[TOKENS] * 5, WHOLE, WHOLE, POOL, OFFSETS, SEQUENCES)  # cu_seqlens, then slot_idx


def prepared(prepare, tensors, roles, options):
    """`prepare(*tensors, *options)`, or what it returned for a call that looked like this one.

    `prepare` checks everything but numbers and returns a function of the tensors, which must take
    tensors of other lengths, too, and keep none of them. `roles` has one of those above for each
    tensor; right `options` are hashable. While `torch.compile` traces, `torch.func` transforms, or
    derivatives are taken forwards, nothing is remembered.
    """
    transformed = torch._C._are_functorch_transforms_active() or forward_ad._current_level >= 0
    if transformed or torch.compiler.is_compiling():
        return prepare(*tensors, *options)
    try:
        q, k, v, *_ = tensors
        key = (
            prepare, options, *map(type, options),  # True is 1, and only one of them is a switch
            torch.is_grad_enabled(),
            # the old switches set it, too; 16-bit tensors do not ask, for it takes its time
            max(q.itemsize, k.itemsize, v.itemsize) > 2
            and torch.backends.cuda.matmul.fp32_precision,
            *look(tensors, roles),
        )  # fmt: skip
        run = _remembered.get(key)
    except (AttributeError, TypeError, RuntimeError, ValueError, IndexError):  # no tensors
        return prepare(*tensors, *options)
    if run is None:
        run = prepare(*tensors, *options)
        if len(_remembered) >= MOST_REMEMBERED:
            _remembered.pop(list(_remembered)[0], None)  # the oldest
        _remembered[key] = run
    return run


def look(tensors, roles):
    """All about tensors but numbers and lengths: those that look alike pass the same checks.

    The first tensor says what B and T are, `OFFSETS` what N is. Raises if something is no tensor.
    """
    B, T = N, _ = tensors[0].shape[:2]
    offsets = tensors[roles.index(OFFSETS)]
    if offsets is not None:
        N = offsets.shape[0] - 1
    key = [B * T == 0]
    for x, role in zip(tensors, roles, strict=True):
        if x is None:
            key.append(None)
            continue
        shape = x.shape
        if role is TOKENS:
            agrees, shape = shape[0] == B and shape[1] == T, shape[2:]
        elif role is SEQUENCES:
            agrees, shape = shape[0] == N, shape[1:]
        elif role is POOL:
            agrees, shape = shape[0] >= N, shape[1:]
        elif role is OFFSETS:
            agrees, shape = B == 1, len(shape)
        else:
            agrees = True
        lies = None if x.is_contiguous() else strides(x)
        key += (agrees, shape, lies, x.dtype, x.device, x.requires_grad, x.layout, x.is_neg())
    return key


def strides(x):
    """How a tensor lies that is not in one piece: evenly, or as all its strides say."""
    B, T, *_ = x.shape if x.ndim > 1 else (1, 1)
    sequence, *rest = x.stride()
    if T > 1 and (B == 1 or sequence == T * rest[0]):
        return tuple(rest)
    return (B == 1, T == 1, *x.stride())
