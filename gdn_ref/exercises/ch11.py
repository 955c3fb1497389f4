"""Checkers for chapter 11: the chunkwise gated delta rule in full."""

import numpy as np

from .. import affine, wy
from ..chunking import decay
from ..proofs import ch11_extra as slips
from ..proofs.data import hard_inputs, relative_error, worst
from . import Wrong, exercise
from .traced import operations, takes_part

_SUSPECTS = {  # the functions of "11-suspects"
    "ada": None,
    "ben": "W: gated solve, rows scaled",
    "cleo": None,
    "dan": "output: strict Gamma",
    "eve": "read: undecayed state",
    "finn": "write: K not decayed",
}


def suspects():
    """Name -> a chunk form `chunk(S, q, k, v, g, beta) -> (O, S)`, some of them wrong."""
    return {name: slips.chunk_with(slip) for name, slip in _SUSPECTS.items()}


@exercise("11-one-solve")
def _one_solve(chunk_delta):
    q, k, v, g, beta, S = hard_inputs(T=20)
    delta = chunk_delta(S, k, v, g, beta)
    if np.shape(delta) != v.shape:
        raise Wrong(f"expected one delta per token, shape {v.shape}, got {np.shape(delta)}")
    if relative_error(delta, _deltas(k, v, g, beta, S)) < 1e-10:
        log = operations(chunk_delta, S, k, v, g, beta)
        for name, array in _without_a_state(k, v, g, beta).items():
            if takes_part(log, array):
                raise Wrong(
                    f"right, but by way of {name}; the state is at hand, so what needs a solve?"
                )
        return
    if relative_error(delta, _deltas(k, v, g, beta, 0 * S)) < 1e-10:
        raise Wrong("these are the deltas of an empty state; the old state is read as well")
    if relative_error(delta, _deltas(k, v, 0 * g, beta, S)) < 1e-10:
        raise Wrong("these are the deltas of the rule without decay")
    if not relative_error(delta[0], _deltas(k, v, g, beta, S)[0]) <= 1e-10:
        raise Wrong("the first delta is off already: what does token 1 read, and with what decay?")
    raise Wrong(
        "the first delta is right, later ones are not: how does token r see the write of "
        "token i, and what has happened to it on the way?"
    )


@exercise("11-suspects")
def _find_suspects(names):
    names = names if isinstance(names, str) else list(names)
    if isinstance(names, str) or not all(name in _SUSPECTS for name in names):
        raise Wrong(f"expected a set of names out of {sorted(_SUSPECTS)}")
    wrong = {name for name, slip in _SUSPECTS.items() if slip is not None}
    if set(names) - wrong:
        raise Wrong(
            "you accuse someone who is right on every input; compare with the recurrence by "
            "relative error, in float64"
        )
    if wrong - set(names):
        raise Wrong(
            "you accuse nobody wrongly, but you miss someone; does your data have a state, "
            "several chunks, decay, correlated keys?"
        )


@exercise("11-revealing-data")
def _revealing_data(data):
    q, k, v, g, beta, S = (np.asarray(x, dtype=np.float64) for x in data)
    T = len(k)
    if not T <= 16:
        raise Wrong(f"at most 16 tokens, got {T}")
    if np.abs(np.linalg.norm(k, axis=-1) - 1).max() > 1e-9:
        raise Wrong("the keys must have unit norm")
    if not ((g <= 0).all() and (beta >= 0).all() and (beta <= 1).all()):
        raise Wrong("g is at most 0 and beta between 0 and 1")
    error = slips.error("W: gated solve, rows scaled", (q, k, v, g, beta, S), chunk_size=T)
    if not S.any():
        raise Wrong("W multiplies the old state, and yours is empty")
    if not error >= 0.1:
        raise Wrong(
            f"the wrong W gives an error of {error:.1e}, less than 0.1; its weights are "
            "off by Gamma, and only on other keys: what makes both of these matter?"
        )


@exercise("11-join")
def _join(join):
    rng = np.random.default_rng(0)
    first, then = ((rng.normal(size=(3, 3)), rng.normal(size=(2, 3))) for _ in range(2))
    joined = join(first, then)
    if joined is None or len(joined) != 2:
        raise Wrong("expected a pair (F, G)")
    F, G = joined
    if np.shape(F) != (3, 3) or np.shape(G) != (2, 3):
        raise Wrong(f"expected shapes (3, 3) and (2, 3), got {np.shape(F)} and {np.shape(G)}")
    if not worst((F, G), affine.compose(first, then)) <= 1e-12:
        if worst((F, G), affine.compose(then, first)) < 1e-12:
            raise Wrong("this runs the second map first")
        raise Wrong("one map after the other gives another state; write out both steps on one S")


def _without_a_state(k, v, g, beta):
    """W in both of its forms and U~: what a kernel solves for before it has a state."""
    gamma, Gamma = decay(g)
    W = wy.w(k, beta)
    return {"W": W, "W with its decays": gamma[:, None] * W, "U~": wy.u(k, v, beta, Gamma)}


def _deltas(k, v, g, beta, S):
    """The deltas of the token recurrence, one row a token."""
    rows = []
    for t in range(len(k)):
        S = np.exp(g[t]) * S
        rows.append(beta[t] * (v[t] - S @ k[t]))
        S = S + np.outer(rows[-1], k[t])
    return np.array(rows)
