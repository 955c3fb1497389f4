r"""Chapter 20: what a hybrid stack keeps, multiplies and moves, counted on stacks that decode.

`H_q`, `H_c`, `d_a` are the heads of attention, `\kappa` the taps, `\chi` the channels. Bytes are
those of tensors, of three dtypes; FLOPs are those that a watched step makes.
"""

import itertools
from fractions import Fraction
from functools import cache
from math import comb

import numpy as np
import torch

from ... import gated_delta_rule
from .. import ch20_model as model
from ..ch20_cost import watched
from ..ch20_stack import caches, decode, tensors, weights
from .check import printed
from .values import Refused, is_number
from .world import World

REAL = [torch.bfloat16, torch.float32, torch.float64]  # in which a stack runs
TYPES = [*REAL, torch.complex128]  # in which a state is read
WIDTHS = [torch.int8, *TYPES]


@cache
def stack(draw, experts=False):
    """A small stack with or without experts, and T tokens."""
    draw = draw.anew()
    head, d_k, d_v, D, ffn, vocab, T = draw.numbers(7, 1, 4)
    q_group, kv_heads, v_group, key_heads, taps, linear, full = draw.numbers(7, 1, 3)
    more = {"experts": draw.one_of(3, 4), "chosen": 2, "shared": ffn + 1} if experts else {}
    return T, model.Hybrid(
        linear + 1, full, D, q_group * kv_heads, kv_heads, head, key_heads, v_group * key_heads,
        d_k, d_v, ffn, vocab, draw.one_of(0, 1), taps=taps + 1, **more
    )  # fmt: skip


def sizes(draw, types=WIDTHS):
    """The letters of the sizes; channels and bytes a number as the stack has them."""
    T, x = stack(draw)
    S, window = kept_by(draw, 1, types=types)[0]
    letters = {
        "L_s": x.linear, "L_a": x.full, "L": x.layers, "D": x.width, "H_q": x.q_heads,
        "H_c": x.kv_heads, "d_a": x.head, "H_k": x.key_heads, "H_v": x.value_heads, "d_k": x.d_k,
        "d_v": x.d_v, r"\theta": x.gated, r"\kappa": x.taps, r"\chi": window.shape[1],
        "b": window.element_size(), "b_S": S.element_size(), "T": T,
    }  # fmt: skip
    return x, letters


def kept_by(draw, T, x=None, types=WIDTHS):
    """What a sequence of T tokens keeps, one list of tensors a layer."""
    draw = draw.anew(1)
    return caches(x or stack(draw.anew(-1))[1], T, 1, draw.one_of(*types), draw.one_of(*types))


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
    return World(letters | {"F": step["flops"], "W": met})


def as_many(draw):
    """The tokens that cost as much to see as the weights that a token met."""
    x, world = stack(draw)[1], token(draw)
    more = decoded(x, world.letters["T"], 1)["flops"] - world.letters["F"]  # one token more to see
    return world.with_letters({"T_F": 2 * world.letters["W"] / more})


@cache
def memories(draw):
    """FLOPs over bytes of one step: a state in and out, rows of a cache read."""
    x, letters = sizes(draw, TYPES)
    (S, _), (K, V) = (kept_by(draw, 5, types=TYPES)[n] for n in (0, -1))
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
    E, k, n = draw.one_of(
        *(
            (E, k, n)
            for E in range(2, 9)
            for k in range(1, E)
            for n in range(1, 7)
            if comb(E, k) ** n < 800
        )
    )
    choices = list(itertools.product(itertools.combinations(range(E), k), repeat=n))
    read = sum(len(set().union(*choice)) for choice in choices)
    return World({"E": E, "k": k, "n": n, "E_n": Fraction(read, len(choices))})


@cache
def steps(draw):
    """The bytes that a step of n sequences touches and makes; E_n as many experts as it read."""
    T, x = stack(draw, experts=True)
    draw = draw.anew(1)
    n, dtype = draw.one_of(*range(1, 8)), draw.one_of(*REAL)
    step, all_weights = decoded(x, T, n, dtype), weights(x)
    expert = sum(y.numel() for y in all_weights["layers"][0]["experts"][0])
    common = sum(y.numel() for y in tensors(all_weights)) - x.layers * x.experts * expert

    @cache
    def cached(T):
        if not is_number(T) or T != int(T) or T < 0:
            raise Refused("no number of tokens")
        return size(*caches(x, int(T), 1, dtype)[x.linear :])

    letters = {
        "B": step["read"] + step["written"], "W_0": common, "W_e": expert,
        "L": x.layers, "b": dtype.itemsize,
        "E_n": Fraction(step["experts"], x.layers), "n": n, "T": T,
        r"M_\text{state}": size(*caches(x, T, 1, dtype)[: x.linear]), r"M_\text{cache}": cached,
    }  # fmt: skip
    return World(letters)


@cache
def recall(draw):
    """Scales at which a softmax leaves at most a weight of epsilon to n - 1 scores that are m
    behind; the least of them by bisection."""
    n, m, epsilon = (
        (5, 17, 3)[draw.seed % 3] + draw.seed // 3,
        draw.number(),
        draw.number(0.02, 0.2),
    )

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

TIED = r"H_k L \theta"  # by the channels, by the layers of both kinds, as 0 or 1

WIDTH = "of the numbers that are added and multiplied, there are so many widths"
FEW = {"few": {"b": WIDTH, "b_S": WIDTH}}
BYTES = "eq-hybrid-cache-bytes eq-hybrid-state-bytes eq-hybrid-crossover"
printed(BYTES, keeps, tied=TIED, **TENSORS, **FEW)
MEMORIES = r"L_a M_\text{cache} M_\text{state} M_\text{everywhere}"  # by the shares
printed("eq-hybrid-share", keeps, tied=f"{TIED} {MEMORIES}", **TENSORS)
printed(
    "eq-hybrid-weights",
    layer_weights,
    tied=TIED,
    against="matrices of a stack",
    few={r"\theta": "a layer has an output gate or has none"},
    **COUNTED,
)
printed("eq-hybrid-flops", token, tied=TIED, **STEP)
printed("eq-hybrid-flops-crossover", as_many, tied=TIED, **STEP)
printed("eq-hybrid-intensity", memories, tied=TIED, **STEP, **FEW)
printed("eq-hybrid-decode-bytes", steps, **STEP, **FEW)
printed("eq-hybrid-experts", experts, against="every choice of the tokens", **COUNTED)
LEAST = r"\frac{1}{m}\ln\frac{(n - 1)(1 - \varepsilon)}{\varepsilon}"
printed(
    "eq-hybrid-recall",
    recall,
    against="the softmax, bisected",
    arithmetic="float64",
    equal={f"{LEAST} for s": "the least scale is not below itself"},
    no_value={
        "m": "a margin",
        r"\frac{(n - 1)(1 - \varepsilon)}{\varepsilon}": "one pair has no rival",
        r"\varepsilon": "a share that is neither all nor nothing",
    },
)
