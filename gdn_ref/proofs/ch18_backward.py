"""Chapter 18: what a shard asks of the state before it, and any partition, backwards.

The gradients that must come out are those of the token loop over all tokens, walked backwards.
"""

from dataclasses import replace

import numpy as np

from .. import backward, gated_delta_rule
from .ch12_form import modular_loss, reversed_loop
from .ch18_shards import (
    BORDERS,
    LENGTHS,
    SIZES,
    on_rank,
    part,
    residues,
    shards,
    states,
    tokens,
    unrolled,
)
from .data import hard_inputs, worst
from .page import on_page
from .registry import verifies


def state_gradients():
    """The loss of all tokens: gradients of the state before each shard and of the last state."""
    x, found = tokens(), []
    loss, S = modular_loss(x), states()
    for n, begin in enumerate((0, *(end for _, end in BORDERS))):
        later = replace(loss, dO=loss.dO[begin:])
        own = part(x, begin, 24, S[n])
        found.append(reversed_loop(own, later)["dS"] if begin < 24 else loss.dS)
    return loss, found


@verifies(
    "eq-shard-backward",
    method="modular",
    covers=SIZES,
    mutants={
        "F not transposed": {"claim": lambda dS, dO, x: dS @ x.F + dO.T @ x.O_F},
        "no outputs": {"claim": lambda dS, dO, x: dS @ x.F.T},
        "what comes from the right is dropped": {"claim": lambda dS, dO, x: dO.T @ x.O_F},
        "a query reads before its own token": {"made": {"late": 1}},
    },
)
def gradients_follow(claim=lambda dS, dO, x: dS @ x.F.T + dO.T @ x.O_F, made=None):
    """The gradient of the state before each shard from that of the state after it."""
    loss, dS = state_gradients()
    pairs = zip(BORDERS, dS, dS[1:], shards(**(made or {})), strict=False)
    asked = lambda at: (at(r"\mathrm{d}\mathbf{S}_{(p+1)}"), at(r"\mathrm{d}\mathbf{O}_{(p)}"))
    on_page("eq-shard-backward", lambda at: claim(*asked(at), on_rank(at, "p")))
    return residues(
        (before, claim(after, loss.dO[slice(*border)], x)) for border, before, after, x in pairs
    )


def package_gradients(S_given=True, dS_given=True):
    """Gradients of every input: the shards' own backward passes, beside that of all tokens."""
    *x, S0 = hard_inputs(sum(LENGTHS), d_k=5, d_v=4)
    rng = np.random.default_rng(1)
    dO, dS_last = rng.normal(size=x[2].shape), rng.normal(size=S0.shape)
    whole = backward.gradients(*x, S0, dO, dS_last)
    S = [S0]
    for border in BORDERS:
        own = [a[slice(*border)] for a in x]
        S.append(gated_delta_rule.recurrent(*own, S[-1])[1] if len(own[0]) else S[-1])
    parts, dS = [], dS_last
    for n, border in reversed(list(enumerate(BORDERS))):
        own = [a[slice(*border)] for a in x]
        if not len(own[0]):
            continue
        given = S[n] if S_given else 0 * S[n], dO[slice(*border)], dS if dS_given else 0 * dS
        *found, dS = backward.gradients(*own, *given)
        parts.insert(0, found)
    joined = [np.concatenate(found) for found in zip(*parts, strict=True)]
    return [*joined, dS], whole


@verifies(
    "eq-shard-backward",
    method="float64",
    covers="gdn_ref.backward, " + SIZES.replace("8, d_v=6", "5, d_v=4"),
    part="with it each shard's own backward pass gives the gradients of all inputs",
    mutants={
        "shards start from zero": {"S_given": False},
        "nothing comes from the right": {"dS_given": False},
    },
)
def every_gradient(**given):
    """Shard by shard, from the last to the first, against all tokens at once."""
    return worst(*package_gradients(**given))


def unrolled_back(dS, dO, found, skip=0):
    """`dS_R (F_p ... F_R-1)^T + sum dO_j^T O_F_j (F_p ... F_j-1)^T`: a chain of maps as well, from
    the last shard down."""
    maps = [replace(x, F=x.F.T, G=d.T @ x.O_F) for d, x in zip(dO, found, strict=True)]
    return unrolled(dS, maps[::-1], skip)


@verifies(
    "eq-shard-backward-unrolled",
    method="modular",
    covers=SIZES,
    mutants={
        "the last state's gradient lost": {"claim": lambda dS, *x: unrolled_back(dS * 0, *x)},
        "the last outputs lost": {"claim": lambda *x: unrolled_back(*x, skip=2)},
        "the first shard on the right": {
            "claim": lambda dS, dO, x: unrolled_back(dS, dO[::-1], x[::-1])
        },
    },
)
def any_partition_backward(claim=unrolled_back):
    """The gradient of the state before each shard from all shards that follow."""
    loss, dS = state_gradients()
    dO, found = [loss.dO[slice(*border)] for border in BORDERS], shards()

    def printed(at):
        later = range(at.scope["p"], at("R"))
        dO = [at(rf"\mathrm{{d}}\mathbf{{O}}_{{({j})}}") for j in later]
        return claim(at(r"\mathrm{d}\mathbf{S}_{(R)}"), dO, [on_rank(at, j) for j in later])

    on_page("eq-shard-backward-unrolled", printed)
    return residues((dS[p], claim(dS[-1], dO[p:], found[p:])) for p in range(len(found) + 1))
