"""How tensors lie in memory."""

from math import prod

import torch

from .memory import contiguous, in_dtype


def laid_out(S):
    """`S` in float32, copied if need be, and whether it lies as `[V, K]`, not as `[K, V]`."""
    if S is None:
        return None, True
    S = in_dtype(S, torch.float32)
    if S.is_contiguous():
        return S, True
    return (S, False) if S.mT.is_contiguous() else (contiguous(S), True)


def state_layout(K, V, v_first):
    """How a state lies in memory, as the kernels' constants."""
    return {"S_v": K, "S_k": 1} if v_first else {"S_v": 1, "S_k": V}


def width_of_token(x):
    """Numbers of a token of `x`, `[B, T, ...]`."""
    return prod(x.shape[2:])


def stride_of_tokens(x):
    """Elements from token to token of `x`, `[B, T, ...]`; None if it has to be copied first.

    Queries, keys and values cut from one wide row per token are taken as they lie.
    """
    B, T, *inner = x.shape
    if x.is_contiguous():
        return prod(inner)
    sequence, token, *strides = x.stride()
    even = B == 1 or T == 1 or sequence == T * token
    if not even or strides != [inner[-1], 1][-len(inner) :]:
        return None
    step = sequence if T == 1 else token
    return step if step < 2**31 else None
