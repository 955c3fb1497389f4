"""Chapter 17, measured: what it costs to round a state to its pool's dtype at every call."""

import torch

from gdn_ref import decode


def state_drift(dtype, tokens=4096, tokens_a_call=1, alpha=0.999, beta=0.02, d=64, heads=4, seed=0):
    """Relative Frobenius error of the state after each call, against a pool in float64.

    Unrelated unit keys, standard normal values, the same decay and write strength for every token:
    a memory that keeps about `1 / (1 - alpha)` tokens, so that rounding errors add up. Both pools
    see the same float32 numbers; one computes in float32 and is rounded to `dtype` once a call.

    Returns
    -------
    errors : list of float, one a call
    """
    random = torch.Generator().manual_seed(seed)
    size = (1, tokens, heads, d)
    k, v = (torch.randn(size, generator=random) for _ in range(2))
    k = torch.nn.functional.normalize(k, dim=-1)
    g, beta = torch.full(size[:3], alpha).log(), torch.full(size[:3], beta)
    rounded, exact = (torch.zeros(1, heads, d, d, dtype=x) for x in (dtype, torch.float64))
    errors = []
    for begin in range(0, tokens, tokens_a_call):
        x = [a[:, begin : begin + tokens_a_call] for a in (k, k, v, g, beta)]
        decode(*x, rounded, None)
        decode(*(a.double() for a in x), exact, None)
        errors.append(((rounded.double() - exact).norm() / exact.norm()).item())
    return errors
