r"""The worlds of linear attention: tokens run one by one, alone, in chunks, or fading.

The states and outputs come from the package's token loops. The arithmetic of an exact draw has no
logarithm, so there the fading loop is the same line with the decay itself.
"""

from functools import cache
from itertools import accumulate

import numpy as np

from ... import chunking, linear_attention, scalar_decay
from . import cases
from .rule import vars_of
from .values import Depends, columns, entries, listed
from .world import World


def inputs(draw, T=None, d_k=None, d_v=None):
    """`q, k, v, S` of a draw: its case of `cases`, or these sizes; a state that is not empty."""
    draw = draw.anew()
    if T is None:
        T, d_k, d_v = cases.sizes(draw)
        k = cases.keys(draw, T, d_k)
        q = cases.queries(draw, k)
        if cases.case(draw) == cases.LONG:
            k[8] = 0 * k[8]  # writes nothing
    else:
        q, k = draw.array(T, d_k), draw.array(T, d_k)
        k = cases.orthonormal(k) if draw.easy == cases.ORTHONORMAL else k
    v = cases.values(draw, T, d_v)
    if draw.easy == cases.RESET:
        v[-1] = 0 * v[-1]
    return q, k, v, cases.state(draw, d_v, d_k)


def undecayed(draw, *sizes):
    """The same where nothing decays: in the place of a reset values of zero, but for the last two,
    which cancel; and queries that do."""
    q, k, v, S = inputs(draw, *sizes)
    if draw.easy == cases.RESET:
        v[:-2], v[-1], k[-1] = 0 * v[:-2], -v[-2], k[-2]
        q[:-2], q[-1] = 0 * q[:-2], -q[-2]
    return q, k, v, S


def run(q, k, v, S, step=linear_attention.step, more=()):
    """The states and outputs of a token loop; `more` are further inputs of each step."""
    states, outputs = [S], []
    for token in zip(q, k, v, *more, strict=True):
        o, S = step(states[-1], *token)
        states.append(S)
        outputs.append(o)
    return states, np.array(outputs)


def tokens(x, ranges="tijm"):
    """The letters of any run: `x` has q, k, v, states, outputs, and may have more."""
    T = len(x.k)
    letters = {
        "T": T, "d_k": x.k.shape[1], "d_v": x.v.shape[1],
        r"\mathbf{Q}": x.q, r"\mathbf{K}": x.k, r"\mathbf{V}": x.v, r"\mathbf{O}": x.outputs,
        r"\mathbf{M}": np.tril(np.ones((T, T), dtype=int)), r"\mathbf{S}_": listed(x.states, 0),
        r"\boldsymbol{q}_": columns(x.q), r"\boldsymbol{k}_": columns(x.k),
        r"\boldsymbol{v}_": columns(x.v), r"\boldsymbol{o}_": columns(x.outputs),
    }  # fmt: skip
    return World(letters, ranges={letter: range(1, T + 1) for letter in ranges})


@cache
def linear(draw, empty=False):
    """Linear attention, from a state that is not empty or is."""
    q, k, v, S = undecayed(draw)
    states, outputs = run(q, k, v, 0 * S if empty else S)
    return tokens(vars_of(q=q, k=k, v=v, states=states, outputs=outputs))


def from_nothing(draw):
    """Linear attention from the empty state."""
    return linear(draw, empty=True)


CHUNKS = {  # how long they are: all the same, the last one shorter, or any
    cases.GENERIC: (2, 1, 4), cases.UNIT: (3, 3, 3, 3, 3, 1), cases.DEPENDENT: (1, 5),
    cases.LONG: (4, 4), cases.SINGLE: (1,),
}  # fmt: skip


@cache
def chunks(draw):
    """Linear attention over chunks, of one token and of more; S_[n] is what the loop hands to
    chunk n."""
    lengths, (T, d_k, d_v) = CHUNKS[cases.case(draw)], cases.sizes(draw)
    lengths = (T,) if draw.easy in (cases.ONE_CHUNK, cases.ONE_TOKEN) else lengths
    q, k, v, S = undecayed(draw, sum(lengths), d_k, d_v)
    states, outputs = run(q, k, v, S)
    cuts = [0, *accumulate(lengths)]
    parts = [slice(a, b) for a, b in zip(cuts, cuts[1:], strict=False)]
    masks = [np.tril(np.ones((b - a,) * 2, int)) for a, b in zip(cuts, cuts[1:], strict=False)]
    letters = {
        r"\mathbf{S}_0": S, r"\mathbf{S}_": listed([states[cut] for cut in cuts], bracket="["),
        r"\mathbf{M}": Depends(lambda at: masks[at["n"] - 1]),
    }  # fmt: skip
    for letter, rows in {"Q": q, "K": k, "V": v, "O": outputs}.items():
        letters[rf"\mathbf{{{letter}}}_"] = listed([rows[part] for part in parts])
    return World(letters, ranges={letter: range(1, len(parts) + 1) for letter in "nm"})


def decays(draw, reset=None):
    """Decays in (0, 1], one a token; the token `reset`, counted from 1, has the decay zero."""
    alpha = cases.decays(draw.anew(1), cases.sizes(draw)[0])
    if reset is not None:
        alpha[reset - 1] = alpha[reset - 1] * 0
    return alpha


def faded(draw, q, k, v, alpha, S):
    """States and outputs of the fading loop."""
    if not draw.exact:
        with np.errstate(divide="ignore"):  # a decay of 0
            return run(q, k, v, S, scalar_decay.step, (np.log(alpha),))

    def step(S, q, k, v, alpha):
        S = alpha * S + np.outer(v, k)
        return S @ q, S

    return run(q, k, v, S, step, (alpha,))


def weights(draw, alpha):
    """`gamma`, from r = 0, and `Gamma`, by the loop: what is left of a first state, of each write.

    Write i is a one in entry i of an empty state, so row r of Gamma is the state after token r.
    """
    T = len(alpha)
    one, zero = np.eye(T, dtype=alpha.dtype), np.zeros((T, 1), dtype=alpha.dtype)
    first, _ = faded(draw, zero, zero, zero, alpha, one[:1, :1])
    written, _ = faded(draw, one, one, zero + 1, alpha, zero.T)
    if draw.exact:
        return np.ravel(first), np.concatenate(written[1:])
    with np.errstate(divide="ignore"):
        gamma, Gamma = chunking.decay(np.log(alpha))
    return np.append(np.ravel(first)[:1], gamma), Gamma  # the package's, where it has them


@cache
def fading(draw, empty=False, reset=None):
    """Linear attention with one decay a token."""
    q, k, v, S = inputs(draw)
    alpha, S = decays(draw, reset), 0 * S if empty else S
    states, outputs = faded(draw, q, k, v, alpha, S)
    gamma, Gamma = weights(draw, alpha)
    world = tokens(vars_of(q=q, k=k, v=v, states=states, outputs=outputs))
    del world.letters["T"]  # a run has C tokens
    T = len(k)
    letters = world.letters | {
        "C": T, r"\mathbf{S}": S, r"\mathbf{S}'": states[-1], r"\alpha_": entries(alpha),
        r"\gamma_": entries(gamma, 0), r"\Gamma_": entries(Gamma), r"\boldsymbol{\Gamma}": Gamma,
        r"\mathbf{D}_\gamma": np.diag(gamma[1:]), r"\mathbf{D}_\rightarrow": np.diag(Gamma[-1]),
        r"\mathbf{N}": np.diag(alpha[1:], -1) if T > 1 else 0 * alpha[:, None],
    }  # fmt: skip
    runs = {letter: range(1, T + 1) for letter in "tij"} | {"r": range(T + 1)}
    return World(letters, ranges=runs)


def faded_from_nothing(draw):
    """The fading memory from the empty state."""
    return fading(draw, empty=True)
