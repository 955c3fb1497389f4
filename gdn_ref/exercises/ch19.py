"""Exercises of chapter 19: a window, a gate for a half-life, a scale as an eps, two interleaved."""

import numpy as np
import torch

from ..convolution import causal_conv1d
from ..layer_weights import from_qwen3_next, to_qwen3_next
from ..layers import GatedDeltaNet
from . import TOLERANCE, Wrong, exercise


@exercise("19-window")
def window(answer):
    """`answer(S, x)`: the state `[D, W - 1]` after the new inputs x, `[n, D]`."""
    random = torch.Generator().manual_seed(19)
    for W, n in ((4, 1), (4, 3), (4, 7), (2, 2), (4, 2), (3, 0)):
        S = torch.randn(5, W - 1, generator=random, dtype=torch.float64)
        x = torch.randn(n, 5, generator=random, dtype=torch.float64)
        weight = torch.zeros(5, W, dtype=torch.float64)
        right = causal_conv1d(x[None], weight, initial_state=S[None], output_final_state=True)[1]
        found, case = torch.as_tensor(answer(S, x)), f"W = {W}, {n} new inputs"
        if found.shape != S.shape:
            raise Wrong(f"{case}: shape {list(found.shape)}, not {list(S.shape)}")
        if not torch.equal(found, right[0]):
            late = torch.equal(found.flip(1), right[0])
            hint = "the oldest comes first" if late else "which are the last inputs seen?"
            raise Wrong(f"{case}: {hint}")


@exercise("19-half-life")
def half_life(answer):
    """`answer(n, A)`: the dt_bias with which a head forgets half in n tokens at a = 0."""
    for n, A in ((1000.0, 1.0), (64.0, 16.0), (1.0, 0.5), (0.5, 0.1), (40000.0, 0.02)):
        bias = float(answer(n, A))
        found = np.log(2) / (A * np.logaddexp(0, bias))
        if not abs(found / n - 1) < 1e-8:
            state = f"A = {A}: half is gone after {found:.6g} tokens, not {n:g}"
            near = abs(found / n - 1) < 1e-2
            raise Wrong(state + ("; near, but softplus is not exp" if near else ""))


@exercise("19-eps")
def eps(answer):
    """`answer(eps, K)`: the eps without a scale that gives what `eps` gives with K ** -0.5."""
    for old, K in ((1e-6, 128), (1e-5, 96), (1e-3, 2)):
        size, new = np.logspace(-4, 1, 9), float(answer(old, K))
        right = size * K**-0.5 / np.sqrt(size**2 / K + old)
        found = size / np.sqrt(size**2 + new)
        if not np.abs(found / right - 1).max() < TOLERANCE:
            side = "small" if new < old * K else "large"
            raise Wrong(f"eps = {old:g}, K = {K}: {new:.3g} is too {side}; where is the knee?")


@exercise("19-interleaved")
def interleaved(answer):
    """`answer(ba, H)`: the rows of b and those of a in Qwen3-Next's `in_proj_ba`."""
    torch.manual_seed(19)
    for H, HV in ((2, 4), (3, 3), (1, 5), (4, 16)):
        theirs = to_qwen3_next(GatedDeltaNet(6, H, 2, num_v_heads=HV).state_dict(), H)
        ba = theirs["in_proj_ba.weight"]
        ours = from_qwen3_next(theirs, H)
        b, a = answer(ba, H)
        for name, found in (("b", b), ("a", a)):
            right = ours[f"{name}_proj.weight"]
            if found.shape != right.shape:
                raise Wrong(f"H = {H}: {name} has shape {list(found.shape)} of {list(right.shape)}")
            if not torch.equal(found, right):
                raise Wrong(f"{H} key and {HV} value heads: some rows of {name} are another's")
