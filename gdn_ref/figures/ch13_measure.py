"""Chapter 13, measured: ways to an inverse in few bits, forms of the decay, records of an H100."""

from functools import cache

import numpy as np
import torch

from ..proofs.ch08_inverses import quarter
from ..proofs.data import hard_inputs, relative_error
from ..wy import interaction
from .ch13_budget import KERNEL, budget, rounded, state_costs, tokens, total
from .ch14_model import record
from .table import Table


def joined(A, bits, first=16):
    """`(I + A)^-1`: diagonal blocks of `first` tokens exactly, then joined in pairs by products
    whose operands have so many bits (eq-inverse-blocks, or eq-inverse-doubling from one token)."""
    C = len(A)
    inside = np.arange(C) // first
    X = np.linalg.inv(np.eye(C) + np.where(inside[:, None] == inside, A, 0))
    while first < C:
        low = rounded(X, bits)
        crossing = rounded(rounded(A * quarter(C, first), bits) @ low, bits)
        X = X - low @ crossing
        first *= 2
    return X


def squared(A, bits):
    """The same by `(I - A)(I + A^2)(I + A^4) ...` (eq-neumann), operands of so many bits."""
    X, power, reach = np.eye(len(A)) - A, A, 1
    while 2 * reach < len(A):
        low = rounded(power, bits)
        power, reach = low @ low, 2 * reach
        X = X + rounded(X, bits) @ rounded(power, bits)
    return X


WAYS = {  # name -> (function, bits)
    "squarings, tf32": (squared, 11),
    "blocks of 16, bfloat16": (joined, 8),
    "doubling, bfloat16": (lambda A, bits: joined(A, bits, 1), 8),
    "blocks of 16, tf32": (joined, 11),
    "blocks of 16, float32": (joined, 24),
}


def inverse_errors(cosine, beta=None, C=64, seeds=(0, 1, 2)):
    """Relative error of the inverse by each way, a mean; `beta` None spreads it from 0 to 2."""
    found = dict.fromkeys(WAYS, 0.0)
    for seed in seeds:
        _, k, _, _, strength, _ = hard_inputs(C, 128, cosine=cosine, seed=seed)
        A = interaction(k, strength if beta is None else np.full(C, beta))
        right = np.linalg.inv(np.eye(C) + A)
        for name, (way, bits) in WAYS.items():
            found[name] += relative_error(way(A, bits), right) / len(seeds)
    return found


FORMS = {  # the decay between two tokens, from cumulative sums c [C]
    "ratio": lambda c: c.exp()[:, None] / c.exp()[None, :],
    "two factors": lambda c: (
        (c - c[len(c) // 2]).exp()[:, None] * (c[len(c) // 2] - c).exp()[None, :]
    ),
    "exp, then mask": lambda c: (c[:, None] - c[None, :]).exp(),
    "mask, then exp": lambda c: torch.where(
        torch.ones(len(c), len(c)).tril().bool(), c[:, None] - c[None, :], -torch.inf
    ).exp(),
}


def is_safe(form, g, dtype, C=64):
    """Are values and gradients finite on and below the diagonal, every token decaying by `g`?"""
    g = torch.full((C,), g, requires_grad=True)
    c = g.cumsum(0).to(dtype)
    Gamma = torch.where(torch.ones(C, C).tril().bool(), FORMS[form](c), 0)
    Gamma.float().sum().backward()
    return bool(Gamma.isfinite().all() and g.grad.isfinite().all())


def fails_from(form, dtype, C=64, strongest=200.0):
    """The log-decay a token from which on a form is not safe; None if it is at `strongest` too."""
    if is_safe(form, -strongest, dtype, C):
        return None
    low, high = 0.0, strongest
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if is_safe(form, -middle, dtype, C) else (low, middle)
    return -high


def precision_rows():
    return record("precision_h100")["rows"]


@cache
def compared(names=("bfloat16", "float16")):
    """`(row of the record, {format: (predicted, recorded)})` of the last state's error."""
    found = []
    for row in precision_rows():
        costs = state_costs(tokens(row["cosine"], row["beta"], row["alpha"]))
        errors = {n: x["gdn_ref"]["state"] for n, x in row["errors"].items()}
        found.append((row, {n: (total(budget(costs, KERNEL[n])), errors[n]) for n in names}))
    return found


def recorded(cosine, beta, alpha):
    """The errors of one setting, by format and way."""
    for row in precision_rows():
        if (row["cosine"], row["beta"], row["alpha"]) == (cosine, beta, alpha):
            return row["errors"]
    raise ValueError(f"setting: no row of the record has {cosine}, {beta}, {alpha}")


def table(errors, what, names=("bfloat16", "float16", "tf32", "float32")):
    """The errors of one setting, a row for each way, a column for each format."""
    ways = errors[names[0]]
    rows = [(way, *(f"{errors[name][way][what]:.1e}" for name in names)) for way in ways]
    return Table(("way", *names), rows)
