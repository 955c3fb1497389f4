"""Chapter 18: a shard of the tokens as a pair (F, G), and any partition of the tokens.

Modulo 2^61 - 1 the pairs are products of one factor a token, and what they must give comes from
the token loop over all tokens.
"""

from dataclasses import dataclass, replace
from functools import cache
from itertools import accumulate, pairwise
from types import SimpleNamespace

import numpy as np

from . import modular
from .modular import join
from .page import on_page
from .registry import verifies
from .token_forms import modular_tokens, recurrence

LENGTHS = (9, 0, 14, 1, 0)  # of the shards: one rank holds most tokens, two hold none
BORDERS = list(pairwise(accumulate(LENGTHS, initial=0)))
SIZES = "shards of 9, 0, 14, 1 and 0 tokens, d_k=8, d_v=6"


@cache
def tokens():
    return modular_tokens(C=sum(LENGTHS), d_k=8, d_v=6, number_of_chunks=1, seed=18)


def part(x, begin, end, S):
    cut = {name: getattr(x, name)[begin:end] for name in ("Q", "K", "V", "alpha", "beta")}
    return replace(x, S=S, **cut)


def states():
    """The state before each shard, and after the last: by the token loop over all tokens."""
    x = tokens()
    return [
        recurrence(part(x, 0, end, x.S))[2] if end else x.S
        for end in (0, *(end for _, end in BORDERS))
    ]


@dataclass(frozen=True)
class Shard:
    """`S -> S F + G` and `O = O_0 + O_F S^T`, token by token."""

    F: object
    G: object
    O_0: object
    O_F: object


def pairs_so_far(x, tokens, decay=True, write=True):
    """F and G of none of these tokens, of the first, of two and so on (eq-shard-map)."""
    eye = np.eye(x.K.shape[1], dtype=np.int64)
    found = [(eye + 0 * (x.K.T @ x.K), 0 * (x.V.T @ x.K))]
    for t in tokens:
        k, v = x.K[t : t + 1], x.V[t : t + 1]
        factor = eye - k.T @ k * x.beta[t]
        factor = factor * x.alpha[t] if decay else factor
        F, G = (M @ factor for M in found[-1])
        found.append((F, G + v.T @ k * x.beta[t] if write else G))
    return found


def shard(begin, end, order=1, decay=True, late=0, write=True):
    """The pair of the tokens from `begin` to `end`, and what their queries read."""
    x, own = tokens(), range(begin, end)[::order]
    found = pairs_so_far(x, own, decay, write)
    O_0 = [found[n][1] @ x.Q[t] for n, t in enumerate(own, 1)]
    O_F = [found[n - late][0] @ x.Q[t] for n, t in enumerate(own, 1)]
    empty = x.V[:0], x.Q[:0]
    outputs = (join(o) if o else no for o, no in zip((O_0, O_F), empty, strict=True))
    return Shard(*found[-1], *outputs)


def shards(**changes):
    return [shard(*border, **changes) for border in BORDERS]


def on_rank(at, p):
    """A rank's pairs, as the page calls them."""
    names = {"F": r"\mathbf{F}", "G": r"\mathbf{G}", "O_0": r"\bar{\mathbf{O}}",
             "O_F": r"\hat{\mathbf{Q}}"}  # fmt: skip
    return Shard(**{name: at(rf"{tex}_{{({p})}}") for name, tex in names.items()})


def outputs():
    O = recurrence(tokens())[0]
    return [O[slice(*border)] for border in BORDERS]


def residues(pairs):
    return [(a - b).residues for a, b in pairs]


@verifies(
    "eq-shard-map",
    method="modular",
    covers=SIZES,
    mutants={
        "the last token on the left": {"pairs": lambda: shards(order=-1)},
        "no decay": {"pairs": lambda: shards(decay=False)},
        "the first token left out": {
            "pairs": lambda: [shard(min(a + 1, b), b) for a, b in BORDERS]
        },
        "one token of the next shard": {
            "pairs": lambda: [shard(a, min(b + 1, 24)) for a, b in BORDERS]
        },
        "nothing is written": {"pairs": lambda: shards(write=False)},
    },
)
def pairs_are_what_the_loop_does(pairs=shards):
    """F is what the loop makes of the identity, with nothing to write; G what it makes of zero."""

    def printed(at):
        T = range(1, at("T") + 1)
        k, v = (np.hstack([at(rf"\boldsymbol{{{x}}}_{{{t}}}") for t in T]).T for x in "kv")
        alpha, beta = ([at(rf"\{x}_{{{t}}}") for t in T] for x in ("alpha", "beta"))
        x = SimpleNamespace(K=k, V=v, alpha=alpha, beta=beta)
        return pairs_so_far(x, range(at("b_p"), at("b_{p+1}")))[-1]

    for of in (0, 1):
        on_page("eq-shard-map", lambda at, of=of: printed(at)[of], of=of)
    x, residuals = tokens(), []
    eye = modular.Mod(np.eye(8, dtype=np.uint64))
    for border, pair in zip(BORDERS, pairs(), strict=True):
        if border[0] < border[1]:
            own = part(x, *border, x.S * 0)
            loop = replace(own, S=eye, V=own.K * 0)
            residuals += [(recurrence(loop)[2], pair.F), (recurrence(own)[2], pair.G)]
    return residues(residuals)


@verifies(
    "eq-shard-state",
    method="modular",
    covers=SIZES,
    mutants={
        "F on the left": {"state": lambda S, x: S @ x.F.T + x.G},
        "F before the state's own": {"state": lambda S, x: (S + x.G) @ x.F},
        "G alone": {"state": lambda S, x: x.G},
        "outputs from zero": {"output": lambda S, x: x.O_0},
        "a query reads before its own token": {"made": {"late": 1}},
        "sign": {"output": lambda S, x: x.O_0 - x.O_F @ S.T},
    },
)
def shards_follow(
    state=lambda S, x: S @ x.F + x.G, output=lambda S, x: x.O_0 + x.O_F @ S.T, made=None
):
    """The state after each shard and the outputs in it, from the state before it."""
    S, found = states(), shards(**(made or {}))
    after = zip(S[1:], map(state, S, found), strict=True)
    within = zip(outputs(), map(output, S, found), strict=True)
    on_page("eq-shard-state", lambda at: state(at(r"\mathbf{S}_{(p)}"), on_rank(at, "p")))
    on_page("eq-shard-state", lambda at: output(at(r"\mathbf{S}_{(p)}"), on_rank(at, "p")), of=1)
    return residues([*after, *within])


def tall(x, values=0, start=1):
    """A run with d_k more rows: zeros for their values, the identity for their state."""
    T, d_k = len(x.alpha), x.K.shape[1]
    eye = modular.Mod(start * np.eye(d_k, dtype=np.uint64))
    V = join([x.V, modular.Mod(np.full((T, d_k), values, dtype=np.uint64))], _beside)
    return recurrence(replace(x, V=V, S=join([x.S * 0 + 0, eye], np.concatenate)))[::2]


def _beside(arrays, axis=0):
    return np.concatenate(arrays, axis=1)


@verifies(
    "eq-shard-rows",
    method="modular",
    covers=SIZES,
    mutants={
        "the rows start from zero": {"given": {"start": 0}},
        "the rows are written": {"given": {"values": 1}},
        "F above G": {"swap": True},
    },
)
def one_run_finds_all_four(given=None, swap=False):
    """The ordinary rule over [V 0] from (0; I), for each shard that has tokens."""

    def stacked(x):
        """The four, as the state and the outputs of one run."""
        above, below = (x.F, x.G) if swap else (x.G, x.F)
        return join([above, below], np.concatenate), join([x.O_0, x.O_F], _beside)

    for of in (0, 1):
        on_page("eq-shard-rows", lambda at, of=of: stacked(on_rank(at, "p"))[of], of=of)
    x, residuals = tokens(), []
    for border, pair in zip(BORDERS, shards(), strict=True):
        if border[0] == border[1]:
            continue
        o, S = tall(part(x, *border, x.S * 0), **(given or {}))
        residuals += zip((S, o), stacked(pair), strict=True)
    return residues(residuals)


def unrolled(S, found, skip=0, travel=True):
    """`S_0 F_0 ... F_p-1 + sum G_j F_j+1 ... F_p-1`."""
    total, pending = S, []
    for x in found:
        total = total @ x.F
        pending = [G @ x.F if travel else G for G in pending] + [x.G]
    for G in pending[skip:]:
        total = total + G
    return total


@verifies(
    "eq-shard-unrolled",
    method="modular",
    covers=SIZES,
    mutants={
        "the first state lost": {"claim": lambda S, x: unrolled(S * 0, x)},
        "the first write lost": {"claim": lambda S, x: unrolled(S, x, skip=1)},
        "writes do not travel": {"claim": lambda S, x: unrolled(S, x, travel=False)},
        "the last shard on the left": {"claim": lambda S, x: unrolled(S, x[::-1])},
    },
)
def any_partition(claim=unrolled):
    """The state before each shard from the pairs of all shards before it."""
    S, found = states(), shards()
    before = lambda at: [on_rank(at, j) for j in range(at.scope["p"])]
    on_page("eq-shard-unrolled", lambda at: claim(at(r"\mathbf{S}_{(0)}"), before(at)))
    return residues((S[p], claim(S[0], found[:p])) for p in range(len(found) + 1))
