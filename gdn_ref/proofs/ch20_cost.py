"""Chapter 20: what a hybrid stack keeps, multiplies and moves, counted while it decodes.

The formulas are those of `ch20_model`; the stack that is counted is that of `ch20_stack`. A mutant
is a formula with one plausible slip.
"""

from dataclasses import replace
from functools import cache
from itertools import product

import sympy as sp
import torch

from .. import gated_delta_rule
from . import ch20_model as m
from .ch20_stack import Watch, caches, decode, tensors, weights
from .page import value
from .registry import verifies

DENSE = m.Hybrid(3, 1, 8, 4, 2, 4, 2, 4, 3, 5, 7, 11)
EXPERTS = m.Hybrid(2, 2, 8, 6, 2, 4, 2, 4, 4, 6, 7, 11, gated=0, taps=3, experts=6, chosen=2,
                   shared=3)  # fmt: skip
WIDTHS = ((torch.bfloat16, torch.float32), (torch.float32, torch.float64))  # of rows, of states
CASES = [(x, T, n) for x in (DENSE, EXPERTS) for T in (1, 5) for n in (1, 3)]
COUNTED = "counted, 2 stacks of 4 layers, 1 and 3 sequences of 1 and 5 tokens"
decoded = cache(decode)


def page(label, x, otherwise, of="", b=2, b_S=4, **more):
    """What the formula of the page gives for a stack."""
    return value(label, of, otherwise=otherwise, **m.letters(x, b, b_S), **more)


def kept(x, T, n, attention, *widths):
    """Bytes of the arrays that the layers of one kind keep."""
    layers = caches(x, T, n, *widths)
    layers = layers[x.linear :] if attention else layers[: x.linear]
    return sum(y.nbytes for y in tensors(layers))


@verifies(
    "eq-hybrid-cache-bytes",
    method="enumeration",
    covers=COUNTED,
    mutants={
        "every layer caches": {"claim": lambda x, T: m.cache_bytes(m.with_share(x, x.layers), T)},
        "every query head caches": {
            "claim": lambda x, T: m.cache_bytes(x, T) * x.q_heads // x.kv_heads
        },
        "keys only": {"claim": lambda x, T: m.cache_bytes(x, T) // 2},
    },
)
def caches_are_counted(claim=m.cache_bytes):
    """Keys and values of the attention layers, for every sequence."""
    return [
        kept(x, T, n, True) - n * formula
        for x, T, n in CASES
        for formula in (claim(x, T), page("eq-hybrid-cache-bytes", x, m.cache_bytes(x, T), T=T))
    ]


@verifies(
    "eq-hybrid-state-bytes",
    method="enumeration",
    covers=COUNTED,
    mutants={
        "no window": {"claim": lambda x, b, b_S: b_S * x.linear * x.value_heads * x.d_k * x.d_v},
        "states in two bytes": {"claim": lambda x, b, b_S: m.state_bytes(x, b, 2)},
        "heads of keys": {
            "claim": lambda x, **of: m.state_bytes(replace(x, value_heads=x.key_heads), **of)
        },
        "every layer has one": {"claim": lambda x, **of: m.state_bytes(m.with_share(x, 0), **of)},
    },
)
def states_are_counted(claim=m.state_bytes):
    """States and windows of the other layers: whatever the context is."""
    return [
        kept(x, T, n, False, *widths) - n * formula
        for x, T, n in CASES
        for widths in WIDTHS
        for b, b_S in [[width.itemsize for width in widths]]
        for formula in (
            claim(x, b=b, b_S=b_S),
            page("eq-hybrid-state-bytes", x, m.state_bytes(x, b, b_S), b=b, b_S=b_S),
        )
    ]


@verifies(
    "eq-hybrid-weights",
    method="enumeration",
    covers="counted, both kinds of layer of 2 stacks",
    mutants={
        "no output gate in attention": {
            "full": lambda x: m.full_weights(x) - x.gated * x.width * x.head * x.q_heads
        },
        "a key and value for each query head": {
            "full": lambda x: m.full_weights(x) + 2 * x.width * x.head * (x.q_heads - x.kv_heads)
        },
        "no output gate in Gated DeltaNet": {
            "linear": lambda x: m.linear_weights(x) - x.width * x.value_heads * x.d_v
        },
        "one gate for both strengths": {
            "linear": lambda x: m.linear_weights(x) - x.width * x.value_heads
        },
    },
)
def weights_are_counted(full=m.full_weights, linear=m.linear_weights):
    """Entries of the matrices of one layer of either kind, without its feed-forward part."""
    residuals = []
    for x in (DENSE, EXPERTS):
        layers = weights(x)["layers"]
        for layer, claim, of in ((layers[0], linear, "W_s"), (layers[-1], full, "W_a")):
            mixer = {k: y for k, y in layer.items() if k not in ("experts", "shared", "router")}
            found = sum(y.numel() for y in tensors(mixer))
            residuals += [found - claim(x), found - page("eq-hybrid-weights", x, found, of)]
    return residuals


@verifies(
    "eq-hybrid-flops",
    method="enumeration",
    covers=COUNTED,
    mutants={
        "one FLOP a weight": {"claim": lambda x, T: m.token_flops(x, T) - m.active_weights(x)},
        "all experts": {
            "claim": lambda x, T: (
                m.token_flops(x, T)
                + 2 * x.layers * (x.experts - x.chosen) * m.expert_weights(x)
                + 2 * (x.experts == 0)
            )
        },
        "scores only": {"claim": lambda x, T: m.token_flops(x, T) - m.attention_flops(x, T) // 2},
        "the token does not see itself": {"claim": lambda x, T: m.token_flops(x, T - 1)},
        "states without decay": {
            "claim": lambda x, T: m.token_flops(x, T) - 2 * x.linear * x.value_heads * x.d_v * x.d_k
        },
    },
)
def flops_are_counted(claim=m.token_flops):
    """The products of one step: T earlier tokens and the token itself."""
    residuals = []
    for x, T, n in CASES:
        each = sp.Rational(decoded(x, T, n)["flops"], n)
        formula = page("eq-hybrid-flops", x, each, T=T + 1, W=m.active_weights(x))
        residuals += [each - claim(x, T + 1), each - formula]
    return residuals


@verifies(
    "eq-hybrid-decode-bytes",
    method="enumeration",
    covers=COUNTED,
    mutants={
        "states only read": {"twice": 1},
        "weights for each sequence": {"once": lambda n: n},
        "every expert": {"read": lambda x, experts: x.experts},
        "the new row is not written": {"rows": 0},
    },
)
def decoding_is_counted(
    twice=2, rows=1, once=lambda n: 1, read=lambda x, experts: sp.Rational(experts, x.layers)
):
    """Every weight, cache and state that an operation touches, and all that is kept anew."""
    residuals = []
    for (x, T, n), dtype in product(CASES, (torch.bfloat16, torch.float32)):
        found, b = decoded(x, T, n, dtype), dtype.itemsize
        weights_ = once(n) * m.weight_bytes(x, n, b, read=read(x, found["experts"]))
        claim = weights_ + n * (twice * m.state_bytes(x, b) + m.cache_bytes(x, T + rows, b))
        moved = found["read"] + found["written"]
        more = {
            "n": n, "T": T, "E_n": sp.Rational(found["experts"], x.layers),
            "W_0": m.common_weights(x), "W_e": m.expert_weights(x),
            "M_state": m.state_bytes(x, b), "M_cache": m.cache_bytes(x, 1, b),  # linear in T
        }  # fmt: skip
        printed = page("eq-hybrid-decode-bytes", x, moved, b=b, **more)
        residuals += [moved - claim, moved - printed]
    return residuals


def watched(held, work):
    """FLOPs of `work` and the bytes of `held` that it reads."""
    watch = Watch(held)
    with watch, watch.numbers():
        work()
    return watch.flops, watch.read


@verifies(
    "eq-hybrid-intensity",
    method="enumeration",
    covers="counted, 2 stacks, 5 tokens",
    mutants={
        "a state is only read": {"state": lambda x: 2 * (4 + sp.Rational(1, x.d_k)) / 4},
        "every query head has rows": {"cached": lambda x: sp.Integer(1)},
        "a state for each key head": {
            "state": lambda x: (4 + sp.Rational(1, x.d_k)) * x.value_heads / x.key_heads / 4
        },
    },
)
def memories_are_counted(
    state=lambda x: (4 + sp.Rational(1, x.d_k)) / 4,
    cached=lambda x: sp.Rational(2 * x.q_heads, 2 * x.kv_heads),
):
    """FLOPs over bytes of one step: float32 states in and out, bfloat16 rows read."""
    residuals = []
    for x in (DENSE, EXPERTS):
        (S, _), (K, V) = (caches(x, 5, 1)[n] for n in (0, -1))
        random = torch.Generator().manual_seed(4)
        q, k, v = (torch.randn(1, x.value_heads, d, generator=random) for d in
                   (x.d_k, x.d_k, x.d_v))  # fmt: skip
        ones = torch.ones(1, x.value_heads)
        step = (S, q, k, v, -ones, ones)
        flops, read = watched([S], lambda step=step: gated_delta_rule.step(*step))
        found = sp.Rational(flops, read + S.nbytes)
        residuals += [found - state(x), found - page("eq-hybrid-intensity", x, found, "I_s")]
        query = torch.randn(1, x.kv_heads, x.q_heads // x.kv_heads, x.head).to(K.dtype)
        flops, read = watched([K, V], lambda q=query, K=K, V=V: (q @ K.mT) @ V)
        found = sp.Rational(flops, read)
        residuals += [found - cached(x), found - page("eq-hybrid-intensity", x, found, "I_a")]
    return residuals
