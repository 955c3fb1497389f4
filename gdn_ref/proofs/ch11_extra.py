"""Ten slips in the chunk form, by name: those that circulate in print, and their neighbours.

Nine are mutants of `ch11_mutants`; one, the read of the undecayed state, changes two lines. The
chapter measures them, its figures draw them, and its exercises hide them.
"""

import numpy as np

from ..chunking import scan_chunks
from ..gated_delta_rule import recurrent
from .ch11_mutants import MUTANTS, gamma_before
from .ch11_survivors import easy_tokens
from .data import relative_error
from .modular import join
from .token_forms import FORM, Chunk, chunkwise, recurrence, rows, solve, strict


def Gamma_before(x):
    """`Gamma_{r-1,i}`: the decay from token i to the token before r."""
    return join([x.Gamma[:1] * 0, x.Gamma[:-1]], np.concatenate)


_OUTPUT, _STATE = MUTANTS["eq-gdn-chunk-output"], MUTANTS["eq-gdn-chunk-state"]
_DELTA = MUTANTS["eq-gdn-delta-split"]

SLIPS = {  # name -> the lines of `FORM` that it replaces
    "output: mask M": _OUTPUT["M for Gamma"],
    "W: gated solve, rows scaled": _DELTA["gated solve on raw K, rows scaled after"],
    "state: minus sign": _STATE["sign of the writes"],
    "read: undecayed state": {
        "A_gated": lambda x: strict(rows(x.beta, Gamma_before(x) * (x.K @ x.K.T))),
        "W_left": lambda x: solve(x.A_gated, rows(x.beta * gamma_before(x), x.K)),
    },
    "output: strict Gamma": _OUTPUT["strict Gamma"],
    "output: Q not decayed": _OUTPUT["Q unscaled"],
    "W: not decayed": _DELTA["W unscaled"],
    "state: not decayed": _STATE["state not decayed"],
    "write: K not decayed": _STATE["K unscaled"],
    "delta: U alone": _DELTA["no W S^T"],
}


def chunk_with(slip=None):
    """The chunk form `chunk(S, q, k, v, g, beta) -> (O, S)` in float64, with `slip` in it."""
    form = FORM if slip is None else FORM | SLIPS[slip]

    def chunk(S, q, k, v, g, beta):
        x = Chunk(form, S=S, Q=q, K=k, V=v, alpha=np.exp(g), beta=beta)
        return x.O, x.S_next

    return chunk


def error(slip, inputs, chunk_size=16):
    """The error of a slip against the recurrence, on `q, k, v, g, beta, S`: of the outputs or of
    the last state, whichever is larger."""
    q, k, v, g, beta, S = inputs
    O, last = scan_chunks(chunk_with(slip), S, (q, k, v), (g, beta), chunk_size)
    right, right_last = recurrent(*inputs)
    return max(relative_error(O, right), relative_error(last, right_last))


def errors_by_data():
    """Name of the inputs -> slip -> its error, on hard inputs and on easy ones."""
    return {
        name: {slip: _error_on(tokens, FORM | change) for slip, change in SLIPS.items()}
        for name, tokens in easy_tokens().items()
    }


def _error_on(tokens, form):
    O, _, S = chunkwise(tokens, form)
    right, _, right_S = recurrence(tokens)
    return max(relative_error(O, right), relative_error(S, right_S))
