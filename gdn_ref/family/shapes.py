"""What shapes the arguments of a rule have: an axis too short would broadcast without a word."""

import numpy as np


def check(keys, values, numbers=None, state=None):
    """Refuse arguments whose shapes do not fit the first key's and the first value's.

    Parameters
    ----------
    keys, values, numbers : dict, name -> array
        Arrays `[..., T, d_k]`, `[..., T, d_v]` and `[..., T]`.
    state : array `[..., d_v, d_k]`, optional

    Returns
    -------
    T, d_k, d_v
    """
    T, d_k = sizes(*next(iter(keys.items())), "[..., T, d_k]")
    _, d_v = sizes(*next(iter(values.items())), "[..., T, d_v]")
    batches = {}
    for name, x in keys.items():
        batches[name] = axes_in_front(name, x, "[..., T, d_k]", T, d_k)
    for name, x in values.items():
        batches[name] = axes_in_front(name, x, "[..., T, d_v]", T, d_v)
    for name, x in (numbers or {}).items():
        batches[name] = axes_in_front(name, x, "[..., T]", T)
    if state is not None:
        batches["S"] = axes_in_front("S", state, "[..., d_v, d_k]", d_v, d_k)
    try:
        np.broadcast_shapes(*batches.values())
    except ValueError:
        found = ", ".join(f"{name} {batch}" for name, batch in batches.items())
        raise ValueError(f"axes in front: expected some that broadcast, got {found}") from None
    return T, d_k, d_v


def axes_in_front(name, x, axes, *expected):
    """The shape of `x` up to its last axes, which have the sizes `expected`."""
    found = shape(x)
    if len(found) < len(expected) or found[len(found) - len(expected) :] != expected:
        wanted = ", ".join(map(str, expected))
        raise ValueError(f"{name}: expected {axes} = [..., {wanted}], got shape {found}")
    return found[: len(found) - len(expected)]


def sizes(name, x, axes):
    """The last two axes of `x`."""
    if len(shape(x)) < 2:
        raise ValueError(f"{name}: expected {axes}, got shape {shape(x)}")
    return shape(x)[-2:]


def shape(x):
    """The shape; that of a number, where there is none."""
    return tuple(getattr(x, "shape", ()))
