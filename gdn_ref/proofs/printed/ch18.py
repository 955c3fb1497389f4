r"""Chapter 18: shards of a sequence, the pairs that they send, and what the sending costs.

States, outputs and gradients come from the token loop over all tokens; pairs from the loop over
the tokens of one shard; messages and runs are played on clocks, bytes are counted.
"""

import math
from fractions import Fraction
from functools import cache
from itertools import accumulate, pairwise

import numpy as np

from .. import ch18_exchange as exchange
from .. import ch18_hybrid as hybrid
from .. import ch18_orders as orders
from .cases import DEPENDENT, GENERIC, LONG, LOW, ONE_DIMENSION, SINGLE, UNIT, beyond, case, of_rank
from .check import printed
from .draws import gradient
from .gradients import loss_of
from .rule import eye, run, sequence, vars_of
from .values import columns, entries, listed
from .world import World

LENGTHS = {  # of the shards: uneven, some empty, also the first and the last
    GENERIC: (2, 0, 1, 3), UNIT: (4, 3), DEPENDENT: (0, 1, 3, 1, 0), LONG: (1, 2, 0, 3, 1, 1),
    SINGLE: (0, 1, 0),
}  # fmt: skip


def of_ranks(values):
    """One value a rank, from rank 0; the page writes `S_{(p)}`."""
    return listed(values, 0, "(")


def loop(draw, x, begin, end, S, v):
    """The token loop over some tokens, from a state, with these values: `(states, outputs)`."""
    cut = slice(begin, end)
    if begin == end:
        return S, v[cut, : len(S)]
    found = run(draw, x.q[cut], x.k[cut], v[cut], x.alpha[cut], x.beta[cut], S)
    return found.states[-1], found.outputs.reshape(end - begin, len(S))


@cache
def shards(draw):
    """A sequence on ranks, each with its shard of the tokens."""
    x, lengths = sequence(draw), LENGTHS[case(draw)] + (1, 1, 0) * beyond(draw)
    lengths += (len(x.k) - sum(lengths),) * (draw.easy == LOW)
    b, (T, d_k), d_v = [0, *accumulate(lengths)], x.k.shape, x.v.shape[1]
    one, zero = eye(draw, d_k), 0 * x.S
    dO, dS_last = (of_rank(draw, 1, draw.array(n, d)) for n, d in ((T, d_v), (d_v, d_k)))
    own = [vars_of() for _ in lengths]
    for shard, (begin, end) in zip(own, pairwise(b), strict=True):
        shard.G, shard.O_0 = loop(draw, x, begin, end, zero, x.v)
        shard.F, shard.O_F = loop(draw, x, begin, end, one, 0 * x.k)
        v, S = np.concatenate([x.v, 0 * x.k], axis=1), np.concatenate([zero, one])
        shard.S, shard.O = loop(draw, x, begin, end, S, v)

    def gradient_at(t):
        """Of the state after t tokens, by dual numbers through the rest of the loop."""
        return gradient(
            lambda S: loss_of(x, dO, dS_last, state=S, start=t), x.states[t], draw.exact
        )

    letters = {
        "T": T, "R": len(lengths), "b_": listed(b, 0), "d_k": d_k, "d_v": d_v,
        r"\boldsymbol{q}_": columns(x.q), r"\boldsymbol{k}_": columns(x.k),
        r"\boldsymbol{v}_": columns(x.v), r"\alpha_": entries(x.alpha), r"\beta_": entries(x.beta),
        r"\mathbf{S}_": of_ranks(x.states[t] for t in b),
        r"\mathbf{O}_": of_ranks(x.outputs[s:t] for s, t in pairwise(b)),
        r"\mathbf{F}_": of_ranks(shard.F for shard in own),
        r"\mathbf{G}_": of_ranks(shard.G for shard in own),
        r"\bar{\mathbf{O}}_": of_ranks(shard.O_0 for shard in own),
        r"\hat{\mathbf{Q}}_": of_ranks(shard.O_F for shard in own),
        r"\tilde{\mathbf{S}}_": of_ranks(shard.S for shard in own),
        r"\tilde{\mathbf{O}}_": of_ranks(shard.O for shard in own),
        r"\mathrm{d}\mathbf{O}_": of_ranks(dO[s:t] for s, t in pairwise(b)),
        r"\mathrm{d}\mathbf{S}_": of_ranks(map(gradient_at, b)),
    }  # fmt: skip
    return World(letters, {"p": range(len(lengths)), "j": range(len(lengths))})


def felt(draw):
    """Products of a shard's first factors, and how much each factor can stretch a vector, across
    its key, too, where keys have one dimension: there no bound is close."""
    x, flat = sequence(draw), draw.easy == ONE_DIMENSION
    most = [
        a * max(np.linalg.norm(factor, 2), flat)
        for a, factor in zip(x.alpha, x.factors, strict=True)
    ]  # fmt: skip
    letters = {
        r"\mathbf{F}^": listed(x.F, 0), r"\boldsymbol{k}_": columns(x.k),
        r"\beta_": entries(x.beta), "g_": entries(np.log(x.alpha)),
        r"\bar c_": entries(np.cumsum(np.log(most))),
    }  # fmt: skip
    return World(letters, {"t": range(1, len(x.k) + 1)}, near=math.inf if flat else 1e-9)


def partition(draw):
    """The same, also for what the last rank hands on."""
    world = shards(draw)
    return World(world.letters, world.ranges | {"p": range(world.letters["R"] + 1)})


@cache
def messages(draw):
    """Clocks of the last rank, by three exchanges."""
    R = 2 + draw.seed % 16
    ell, w, state, F = (Fraction(n) for n in draw.sizes(4, 1, 60))
    times = {
        rf"t_\text{{{how}}}": exchange.exchange_time(how, R, ell, w, state, F)
        for how in exchange.EXCHANGES
    }
    return World(times | {"R": R, r"\ell": ell, "w": w, "B_S": state, "B_F": F})


@cache
def sent(draw):
    """Bytes that the busiest rank sends in a forward pass."""
    R, group, d_k, d_v, H_c, d_a, more = draw.numbers(7, 1, 4)
    R, b = R + 1, draw.one_of(*exchange.DTYPES)
    H_k, T = R * draw.one_of(1, 2, 3), R * (1 + draw.one_of(2, 5, 8) * more)
    H_v = H_k * group
    found = {
        "ring": exchange.most_bytes("ring", R, H_v, d_k, d_v),
        "gathered pairs": exchange.most_bytes("all_gather", R, H_v, d_k, d_v),
        "heads": exchange.heads_bytes(R, T, H_k, H_v, d_k, d_v, b),
        "ring attention": exchange.ring_attention_bytes(R, T, H_c, d_a, b),
    }
    letters = {
        "R": R, "T": T, "b": b, "H_k": H_k, "H_v": H_v, "d_k": d_k, "d_v": d_v, "H_c": H_c,
        "d_a": d_a,
    }  # fmt: skip
    return World(found | letters)


@cache
def tree(draw):
    """Bytes that each rank sends in a tree."""
    R, d_k, d_v = draw.sizes(3, 2, 24)
    found = exchange.rank_bytes("tree", R, 1, d_k, d_v)
    letters = {"R": R, "B_S": 4 * d_k * d_v, "B_F": 4 * d_k**2, "B_": of_ranks(found)}
    return World(letters, {"p": range(R)})


@cache
def causal(draw):
    """Pairs of a query and a key in each of m equal shards."""
    m, size = draw.numbers(2, 1, 9)
    found = hybrid.shard_work(m * size, m)
    return World({"T": m * size, "m": m, "a_": of_ranks(found)}, {"i": range(m)})


@cache
def zigzag(draw):
    """The same for two shards a rank; more such shards follow, which no rank has."""
    R, size = draw.sizes(2, 1, 12)
    T, a = 2 * R * size, hybrid.shard_work(4 * R * size, 4 * R)
    return World({"T": T, "R": R, "a_": of_ranks(a)}, {"p": range(R)})


def steps(draw):
    """Messages one after the other and rounds for two shards a rank."""
    R = (4, 7, 1, 33, 2, 9, 24, 16)[draw.seed % 8]
    ring, rounds = hybrid.steps_of(R)
    return World({"R": R, "messages of the ring": ring, "rounds of the tree": rounds})


def halo(draw):
    """Bytes that the convolution sends over a border, queries, keys and values together."""
    H_k, H_v, d_k, d_v, W = draw.numbers(5, 1, 6)
    b = draw.one_of(*hybrid.DTYPES)
    letters = {"b": b, "W": W + 1, "H_k": H_k, "H_v": H_v, "d_k": d_k, "d_v": d_v}
    return World(letters | {"value": hybrid.halo_bytes(b, W + 1, 2 * H_k * d_k + H_v * d_v)})


def rows(draw):
    """FLOPs a token and value head of d_k rows more, counted."""
    C, d_k, d_v = draw.numbers(3, 1, 5)
    return World({"C": C, "d_k": d_k, "d_v": d_v, "value": orders.row_flops(C, d_k, d_v)})


def relay(draw):
    """One card's time over that of the last rank."""
    R, n = draw.numbers(2, 1, 7)
    return World({"R": R, "n": n, r"\text{speed-up}": 1 / orders.relay_time(R, n)})


def unequal(draw):
    """The same for equal shards, and for the best ones among all."""
    R, top, bottom = draw.numbers(3, 1, 4)
    R, x = R + 1, Fraction(top, bottom)
    equal, best = orders.shard_times(R, x, (R * bottom + top) * R)
    return World({"R": R, "x": x, "equal shards": 1 / equal, "best shards": 1 / best})


FIVE = {"b": "torch has numbers of five widths"}
LOOP, CLOCKS = "the token loop over all tokens", {"arithmetic": "counted"}
printed("eq-shard-map eq-shard-state eq-shard-rows eq-shard-backward", shards, against=LOOP)
printed("eq-shard-unrolled eq-shard-backward-unrolled", partition, against=LOOP)
MINUS = r"minus what is in |1 - \beta_{s}\|\boldsymbol{k}_{s}\|^{2}|"
printed(
    "eq-shard-felt",
    felt,
    against="singular values, by NumPy",
    arithmetic="float64",
    equal={MINUS: "at least -1 for strengths that are not negative: below 1, the 1 counts"},
)
printed(
    "eq-exchange-times",
    messages,
    against="messages on clocks",
    no_value={"w": "a link has some bandwidth"},
    **CLOCKS,
)
BELOW = {"(R - p)": "of the ranks p below R; the others are asked, too"}
printed("eq-tree-bytes", tree, against="bytes, counted", no_value=BELOW, **CLOCKS)
printed("eq-exchange-bytes", sent, against="bytes, counted", few=FIVE, **CLOCKS)
printed("eq-causal-work", causal, against="pairs, counted", **CLOCKS)
printed("eq-zigzag-work", zigzag, against="pairs, counted", tied="a_{(p)}", **CLOCKS)
printed("eq-zigzag-steps", steps, against="messages, counted", **CLOCKS)
printed("eq-halo-bytes", halo, against="bytes, counted", few=FIVE, **CLOCKS)
printed("eq-shard-flops", rows, against="products, counted", **CLOCKS)
printed("eq-relay-speedup", relay, against="runs on clocks", **CLOCKS)
SHARE = {"1 + x": "a ratio of two times"}
printed("eq-shard-speedup", unequal, against="runs on clocks", no_value=SHARE, **CLOCKS)
