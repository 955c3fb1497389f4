"""Chapter 13: drift of a stored state, by rule and storage format, against storage in float64."""

import numpy as np
import torch

from .ch13_budget import BITS, size

RULES = {  # name -> (alpha, beta of the write, does it erase)
    "linear attention": (1.0, 0.5, False),
    "delta rule": (1.0, 0.5, True),
    "gated delta rule": (0.999, 0.5, True),
}
FORMATS = {  # name -> (dtype, tokens between two roundings)
    "float32": (torch.float32, 1),
    "float16": (torch.float16, 1),
    "bfloat16": (torch.bfloat16, 1),
    "bfloat16, every 64": (torch.bfloat16, 64),
    "float8_e4m3": (torch.float8_e4m3fn, 1),
    "float8_e5m2": (torch.float8_e5m2, 1),
}


def checkpoints(tokens, a_decade=8):
    """Numbers of tokens at which errors are written down, evenly spaced on a log axis."""
    found, t = [], 64.0
    while round(t) < tokens:
        found.append(round(t))
        t *= 10 ** (1 / a_decade)
    return [*dict.fromkeys(found), tokens]


def drift(tokens, d=32, seed=0):
    """`(checkpoints, errors)`: errors[rule][format] holds a relative error for each checkpoint."""
    random = torch.Generator().manual_seed(seed)
    rules, formats = list(RULES.values()), list(FORMATS.values())
    alpha, beta, erases = (
        torch.tensor([float(x) for x in column]).double()[:, None, None, None]
        for column in zip(*rules, strict=True)
    )
    S = torch.zeros(len(rules), 1 + len(formats), d, d, dtype=torch.float64)  # the first is exact
    at, found = checkpoints(tokens), []
    for start in range(0, tokens, 4096):  # whole blocks: a shorter run begins like a longer one
        k, v = torch.randn(2, 4096, d, generator=random, dtype=torch.float64)
        k = torch.nn.functional.normalize(k, dim=-1)
        for n in range(min(4096, tokens - start)):
            S = alpha * S
            residual = v[n] - erases[..., 0] * (S @ k[n])
            S = torch.addcmul(S, beta * residual[..., None], k[n])
            t = start + n + 1
            for place, (dtype, every) in enumerate(formats, 1):
                if t % every == 0:
                    S[:, place] = S[:, place].to(dtype)
            if t == at[len(found)]:
                exact = S[:, :1]
                off = (S - exact).square().sum((2, 3)) / exact.square().sum((2, 3))
                found.append(off.sqrt())
    errors = torch.stack(found)
    return at, {
        rule: {name: errors[:, r, f].tolist() for f, name in enumerate(FORMATS, 1)}
        for r, rule in enumerate(RULES)
    }


def predicted(rule, name, tokens, d=32):
    """The drift by the book's formulas: eq-drift-adding for the rule that only adds, eq-drift-mean
    for the two that erase."""
    alpha, beta, erases = RULES[rule]
    every = FORMATS[name][1]
    rho, calls = size(BITS[name.split(",")[0].removeprefix("float8_")]), np.asarray(tokens) // every
    if not erases:
        return rho * np.sqrt((calls + 1) / 2)
    shrinks = (alpha**2 * (1 - beta * (2 - beta) / d)) ** every
    return rho * np.sqrt((1 - shrinks**calls) / (1 - shrinks))
