r"""Chapter 20: what a hybrid stack keeps, multiplies and moves, counted on stacks that decode.

`H_q`, `H_c`, `d_a` are the heads of attention, `\kappa` the taps, `\chi` the channels. Bytes are
those of tensors, of three dtypes; FLOPs are those that a watched step makes.
"""

import itertools
from fractions import Fraction
from functools import cache

import numpy as np
import torch

from ... import gated_delta_rule
from .. import ch20_model as model
from ..ch20_cost import watched
from ..ch20_stack import caches, decode, tensors, weights
from .check import printed
from .values import Refused, is_number
from .world import World

# linear and full layers, D, H_q, H_c, d_a, H_k, H_v, d_k, d_v, feed-forward width, vocabulary
STACKS = [
    model.Hybrid(2, 1, 8, 4, 2, 5, 2, 6, 3, 7, 9, 11),
    model.Hybrid(1, 2, 9, 6, 3, 4, 1, 5, 7, 2, 8, 5, 0, taps=3, experts=4, chosen=2, shared=3),
    model.Hybrid(1, 3, 7, 4, 1, 6, 2, 4, 5, 8, 3, 5, taps=2, experts=3, chosen=2, shared=4),
]  # fmt: skip
ROWS = [torch.bfloat16, torch.float64, torch.float32]
STATES = [torch.float32, torch.float32, torch.bfloat16]


def sizes(draw):
    """The letters of the sizes; channels and bytes a number as the stack has them."""
    x = STACKS[draw.seed]
    S, window = kept_by(draw, 1)[0]
    letters = {
        "L_s": x.linear, "L_a": x.full, "L": x.layers, "D": x.width, "H_q": x.q_heads,
        "H_c": x.kv_heads, "d_a": x.head, "H_k": x.key_heads, "H_v": x.value_heads, "d_k": x.d_k,
        "d_v": x.d_v, r"\theta": x.gated, r"\kappa": x.taps, r"\chi": window.shape[1],
        "b": window.element_size(), "b_S": S.element_size(), "T": (5, 4, 3)[draw.seed],
    }  # fmt: skip
    return x, letters


def kept_by(draw, T, x=None):
    """What a sequence of T tokens keeps, one list of tensors a layer."""
    return caches(x or STACKS[draw.seed], T, 1, ROWS[draw.seed], STATES[draw.seed])


def size(*trees):
    return sum(y.nbytes for y in tensors(trees))


@cache
def keeps(draw):
    """Bytes of the tensors that stacks keep which differ in the share of attention alone."""
    x, letters = sizes(draw)
    T, L = letters["T"], x.layers

    def whole(full, T):
        return size(*kept_by(draw, T, model.with_share(x, full)))

    # bytes are linear in T; where those of two shares are the same
    more, fewer = ([whole(full, 0), whole(full, 1) - whole(full, 0)] for full in (L - 1, 1))
    found = {
        r"M_\text{cache}": size(*kept_by(draw, T)[x.linear :]),
        r"M_\text{state}": size(*kept_by(draw, T)[: x.linear]),
        r"M_\text{everywhere}": whole(L, T), r"\varphi": Fraction(x.full, L),
        "T_0": Fraction(fewer[0] - more[0], more[1] - fewer[1]),
    }  # fmt: skip
    return World(letters | found)


@cache
def layer_weights(draw):
    """Entries of the matrices of a layer of either kind, without its feed-forward part."""
    x, letters = sizes(draw)
    layers = weights(x)["layers"]
    found = [
        sum(y.numel() for name, w in layer.items() for y in tensors(w) if name not in FORWARD)
        for layer in (layers[0], layers[-1])
    ]
    return World(letters | {"W_s": found[0], "W_a": found[1]})


FORWARD = ("experts", "shared", "router")
decoded = cache(decode)


@cache
def token(draw):
    """A decoded token that sees T tokens: its FLOPs, and the weights that it met."""
    x, letters = sizes(draw)
    T = letters["T"]
    step = decoded(x, T - 1, 1)
    met = Fraction(step["read"] - size(*caches(x, T - 1, 1)), 2)  # entries in bfloat16
    more = decoded(x, T, 1)["flops"] - step["flops"]  # one token more to see
    return World(letters | {"F": step["flops"], "W": met, "T_F": 2 * met / more})


@cache
def memories(draw):
    """FLOPs over bytes of one step: a state in and out, rows of a cache read."""
    x, letters = sizes(draw)
    (S, _), (K, V) = (kept_by(draw, 5)[n] for n in (0, -1))
    q, k, v = (torch.ones(1, x.value_heads, d, dtype=S.dtype) for d in (x.d_k, x.d_k, x.d_v))
    one = torch.ones(1, x.value_heads, dtype=S.dtype)
    flops, read = watched([S], lambda: gated_delta_rule.step(S, q, k, v, -one, one))
    found = {"I_s": Fraction(flops, read + S.nbytes)}
    query = torch.ones(1, x.kv_heads, x.q_heads // x.kv_heads, x.head, dtype=K.dtype)
    found["I_a"] = Fraction(*watched([K, V], lambda: (query @ K.mT) @ V))
    return World(letters | found)


@cache
def experts(draw):
    """The mean number of different experts, over all choices of n tokens."""
    E, k, n = ((5, 2, 3), (4, 3, 2), (6, 1, 3))[draw.seed]
    choices = list(itertools.product(itertools.combinations(range(E), k), repeat=n))
    read = sum(len(set().union(*choice)) for choice in choices)
    return World({"E": E, "k": k, "n": n, "E_n": Fraction(read, len(choices))})


@cache
def steps(draw):
    """The bytes that a step of n sequences touches and makes; E_n as many experts as it read."""
    x = (STACKS[1], STACKS[2], STACKS[1])[draw.seed]  # with experts
    n, T = ((2, 5), (4, 3), (3, 7))[draw.seed]
    step, all_weights = decoded(x, T, n), weights(x)
    expert = sum(y.numel() for y in all_weights["layers"][0]["experts"][0])
    common = sum(y.numel() for y in tensors(all_weights)) - x.layers * x.experts * expert

    def cached(T):
        if not is_number(T) or T != int(T) or T < 0:
            raise Refused("no number of tokens")
        return size(*caches(x, int(T), 1)[x.linear :])

    letters = {
        "B": step["read"] + step["written"], "W_0": common, "W_e": expert, "L": x.layers, "b": 2,
        "E_n": Fraction(step["experts"], x.layers), "n": n, "T": T,
        r"M_\text{state}": size(*caches(x, T, 1)[: x.linear]), r"M_\text{cache}": cached,
    }  # fmt: skip
    return World(letters)


@cache
def recall(draw):
    """Scales at which a softmax leaves at most a weight of epsilon to n - 1 scores that are m
    behind; the least of them by bisection."""
    n, m, epsilon = (5, 17, 3)[draw.seed], draw.number(), draw.number(0.02, 0.2)

    def wrong(s):
        weights = np.exp(s * np.array([0.0] + [-m] * (n - 1)))
        return 1 - weights[0] / weights.sum()

    low, high = 0.0, 1000.0 / m
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if wrong(middle) > epsilon else (low, middle)
    scales = [s for s in (*np.linspace(0, 3 * high, 10), high) if wrong(s) <= epsilon]
    letters = {r"s_\varepsilon": high, "m": m, "n": n, r"\varepsilon": epsilon}
    return World(letters, {"s": scales})


COUNTED = {"arithmetic": "counted"}
TENSORS = COUNTED | {"against": "bytes of the tensors that a stack keeps"}
STEP = COUNTED | {"against": "a step of a stack, watched"}

printed("eq-hybrid-cache-bytes eq-hybrid-state-bytes", keeps, **TENSORS)
printed("eq-hybrid-crossover eq-hybrid-share", keeps, **TENSORS)
printed("eq-hybrid-weights", layer_weights, against="matrices of a stack", **COUNTED)
printed("eq-hybrid-flops eq-hybrid-flops-crossover", token, **STEP)
printed("eq-hybrid-intensity", memories, **STEP)
printed("eq-hybrid-decode-bytes", steps, **STEP)
printed("eq-hybrid-experts", experts, against="every choice of the tokens", **COUNTED)
printed("eq-hybrid-recall", recall, against="the softmax, bisected", arithmetic="float64")
