"""The five steps of chapter 10 in their right order, and in three orders that are not the rule.

Each is a `step(S, q, k, v, g, beta) -> (o, S)`, so that `chunking.scan_tokens` runs it.
"""

import numpy as np

from .. import gated_delta_rule
from ..chunking import matvec, outer, scan_tokens
from .data import relative_error


def read_then_decay(S, q, k, v, g, beta):
    """The old answer is read before the state has faded."""
    delta = beta[..., None] * (v - matvec(S, k))
    S = np.exp(g)[..., None, None] * S + outer(delta, k)
    return matvec(S, q), S


def write_then_decay(S, q, k, v, g, beta):
    """Read, correct and write come first; the decay then takes the new write as well."""
    delta = beta[..., None] * (v - matvec(S, k))
    S = np.exp(g)[..., None, None] * (S + outer(delta, k))
    return matvec(S, q), S


def output_then_write(S, q, k, v, g, beta):
    """The query sees the faded state, but not the token's own write."""
    before = np.exp(g)[..., None, None] * S
    _, S = gated_delta_rule.step(S, q, k, v, g, beta)
    return matvec(before, q), S


ORDERS = {
    "the rule": gated_delta_rule.step,
    "read, then decay": read_then_decay,
    "write, then decay": write_then_decay,
    "output, then write": output_then_write,
}


def run(order, q, k, v, g, beta, S):
    """The outputs and the last state of a sequence, token by token in this order."""
    return scan_tokens(ORDERS[order], S, (q, k, v), (g, beta))


def error(order, inputs):
    """The relative error of the outputs against the rule, on `q, k, v, g, beta, S`."""
    return relative_error(run(order, *inputs)[0], gated_delta_rule.recurrent(*inputs)[0])
