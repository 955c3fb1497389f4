"""The short convolution without a tolerance: its numbers are whole, so nothing is rounded.

Weights and inputs go from -5 to 5; a sum stays below 2^10, one over all tokens below 2^11. SiLU is
off: it makes no whole numbers of whole ones, and has its tests in `test_causal_conv`.
"""

import numpy as np
import pytest
import torch
from exact_cases import EVERYWHERE, ONCE, same

from gdn_ref import causal_conv1d, causal_conv1d_update

pytest.importorskip("triton")
pytestmark = pytest.mark.usefixtures("unwritten_memory_is_nan", "fenced")


def convolved(x, weight, bias, S):
    """Outputs and last state of one sequence, `[T, D]` and `[D, W - 1]`, in whole numbers."""
    W = weight.shape[1]
    inputs = np.concatenate([S.T, x])
    y = [bias + (inputs[t : t + W].T * weight).sum(1) for t in range(len(x))]
    return np.array(y, np.int64).reshape(x.shape), inputs[len(x) :].T


def of_convolution(W, D, lengths):
    random = np.random.default_rng(W)
    shapes = {"x": (sum(lengths), D), "weight": (D, W), "bias": (D,)}
    shapes |= {"initial_state": (len(lengths), D, W - 1)}
    shapes |= {"dy": shapes["x"], "dS": shapes["initial_state"]}
    x = {name: random.integers(-5, 6, shape) for name, shape in shapes.items()}
    ends = np.cumsum([0, *lengths])
    y, S = zip(*(
        convolved(x["x"][a:b], x["weight"], x["bias"], x["initial_state"][n])
        for n, (a, b) in enumerate(zip(ends, ends[1:], strict=False))
    ), strict=True)  # fmt: skip
    return x, torch.from_numpy(ends), np.concatenate(y), np.stack(S)


def whole(x, device, dtype):
    return torch.from_numpy(x).to(device, dtype)


@EVERYWHERE
def test_convolution_and_its_gradients(device, dtype, W=4):
    x, ends, y, S = of_convolution(W, 131, (0, 19, 1, 12))
    names = ("x", "weight", "bias", "initial_state")
    leaves = {name: whole(x[name], device, dtype).requires_grad_() for name in names}
    given = leaves | {"x": leaves["x"][None]}
    found = causal_conv1d(**given, cu_seqlens=ends.to(device), output_final_state=True,
                          activation=None, backend="triton")  # fmt: skip
    same(found[0][0], torch.from_numpy(y), dtype)
    same(found[1], torch.from_numpy(S), dtype)
    d = whole(x["dy"], device, dtype)[None], whole(x["dS"], device, dtype)
    gradients = torch.autograd.grad(found, list(leaves.values()), d)
    exact = {name: np.zeros_like(x[name]) for name in names}
    exact["bias"] = x["dy"].sum(0)
    for n, (a, b) in enumerate(zip(ends[:-1], ends[1:], strict=True)):
        inputs = np.concatenate([x["initial_state"][n].T, x["x"][a:b]])
        dinputs = 0 * inputs
        dinputs[b - a :] = x["dS"][n].T
        for t in range(b - a):
            dinputs[t : t + W] += x["weight"].T * x["dy"][a + t]
            exact["weight"] += inputs[t : t + W].T * x["dy"][a + t][:, None]
        exact["initial_state"][n], exact["x"][a:b] = dinputs[: W - 1].T, dinputs[W - 1 :]
    for right, gradient in zip(exact.values(), gradients, strict=True):
        same(gradient, torch.from_numpy(right), dtype)


@ONCE
def test_a_state_that_reaches_the_second_tile(device, dtype):
    x, ends, y, S = of_convolution(18, 5, (19,))
    given = {n: whole(x[n], device, dtype) for n in ("weight", "bias", "initial_state")}
    found = causal_conv1d(whole(x["x"], device, dtype)[None], **given, output_final_state=True,
                          activation=None, backend="triton")  # fmt: skip
    same(found[0][0], torch.from_numpy(y), dtype)
    same(found[1], torch.from_numpy(S), dtype)


@EVERYWHERE
def test_a_step_of_the_convolution(device, dtype, W=4):
    x, ends, y, S = of_convolution(W, 261, (2, 0, 1, 4))
    slots = torch.tensor([5, 0, 3, 6], device=device)
    pool = torch.full((7, *S.shape[1:]), torch.nan, device=device)
    pool[slots] = whole(x["initial_state"], device, torch.float32)
    given = {name: whole(x[name], device, dtype) for name in ("weight", "bias")}
    found = causal_conv1d_update(
        whole(x["x"], device, dtype)[None], pool, **given, slot_idx=slots,
        cu_seqlens=ends.to(device), activation=None, backend="triton",
    )  # fmt: skip
    same(found[0], torch.from_numpy(y), dtype)
    same(pool[slots], torch.from_numpy(S), torch.float32)
    assert pool[[1, 2, 4]].isnan().all()
