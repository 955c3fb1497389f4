"""Chapter 1: attention as a memory, and its three forms (its costs are in ch01_cost)."""

from itertools import combinations
from math import prod

import numpy as np
import sympy as sp

from .. import linear_attention
from .data import hard_inputs, relative_error
from .page import on_page
from .registry import definition, verifies
from .symbols import entries, no_tokens, stacked
from .token_forms import ones_below

definition(
    "eq-softmax-attention",
    "Causal softmax attention: the value read at token t, a weighted mean of the cached values.",
)
definition(
    "eq-feature-map",
    "The exchange of the exponential of a product for a product of feature vectors.",
)
definition(
    "eq-linear-attention",
    "Causal linear attention: the value read at token t, a weighted sum of the past values.",
)
definition(
    "eq-linear-attention-recurrence",
    "The memory of linear attention, token by token: write one outer product, then read.",
)

t, d_k, d_v = sp.symbols("t d_k d_v", positive=True, integer=True)


@verifies(
    "eq-no-finite-feature-map",
    method="polynomial",
    covers="any base for e, up to 5 tokens",
    mutants={
        "without exponential": {"score": lambda x, i, j: sp.Integer(i * j)},
        "factors summed": {"factor": lambda x, i, j: x**j + x**i},
        "factors of the other sign": {"factor": lambda x, i, j: x**i - x**j},
    },
    inputs={"a key twice": {"keys": lambda m: [0, *range(m - 1)]}},
)
def no_finite_feature_map(
    keys=range, score=lambda x, i, j: x ** (i * j), factor=lambda x, i, j: x**j - x**i
):
    """The scores `e^(ij)` of m queries and m keys have a determinant that is a product of
    differences, so m of them are independent for every m: no D features are enough."""
    x = sp.Symbol("x")
    residuals = []
    for m in range(2, 6):
        scores = sp.Matrix(m, m, lambda i, j, m=m: score(x, i, list(keys(m))[j]))
        differences = sp.prod(factor(x, i, j) for i, j in combinations(range(m), 2))
        residuals.append(sp.expand(scores.det(method="berkowitz") - differences))

    def printed(at):
        pairs = combinations(range(at.scope["m"]), 2)
        return prod((factor(at("e"), i, j) for i, j in pairs), start=1)

    on_page("eq-no-finite-feature-map", printed)
    return residuals


@verifies(
    "eq-reordering",
    method="polynomial",
    covers="T = 4, d_k = 3, d_v = 2",
    mutants={
        "under a causal mask": {"mask": lambda: ones_below(4, 0)},
        "keys and queries swapped": {"swap": True},
    },
)
def reordering(mask=lambda: 1, swap=False):
    """Without a mask, keys and values may be multiplied first."""
    Q, K, V = entries("q", 4, 3), entries("k", 4, 3), entries("v", 4, 2)
    right = K @ (Q.T @ V) if swap else Q @ (K.T @ V)

    def last_first(Q, K, V):
        return K @ (Q.T @ V) if swap else Q @ (K.T @ V)

    on_page("eq-reordering", lambda at: last_first(*(at(rf"\mathbf{{{x}}}") for x in "QKV")))
    return sp.Matrix((mask() * (Q @ K.T)) @ V - right).expand()


def matrix(name, rows, columns):
    return sp.MatrixSymbol(name, rows, columns)


# t - 1 tokens, stacked in K and V, then the token t itself; u, w are a token after it
before, K, V = matrix("S_0", d_v, d_k), matrix("K", t - 1, d_k), matrix("V", t - 1, d_v)
q, k, v = matrix("q", d_k, 1), matrix("k", d_k, 1), matrix("v", d_v, 1)
u, w = matrix("u", d_k, 1), matrix("w", d_v, 1)
NOTHING, UNSEEN = sp.ZeroMatrix(d_v, d_k), sp.ZeroMatrix(1, d_v)


@verifies(
    "eq-linear-attention-state",
    method="algebra",
    covers="every t, d_k, d_v",
    mutants={
        "initial state forgotten": {"start": NOTHING},
        "token t not yet written": {"written": NOTHING},
        "token t + 1 written as well": {"written": v * k.T + w * u.T},
        "the past overwritten": {"past": NOTHING},
    },
)
def state_is_a_sum(start=before, past=V.T * K, written=v * k.T):
    """Base, no token: S_0. Step: if the state before token t is `S_0 + V^T K` over the first t - 1
    tokens, then the state after it is that sum with one row more in V and in K.
    """
    base = no_tokens((start + past).subs(t, t + 1), t) - before
    recurrence = (before + V.T * K) + v * k.T
    grown = before + stacked(lambda V, K: V.T * K, (V, v.T), (K, k.T))
    on_page("eq-linear-attention-state", start + past + written, letters={before: r"\mathbf{S}_0"})
    return [base, recurrence - grown, grown - (start + past + written)]


@verifies(
    "eq-linear-attention-parallel",
    method="algebra",
    covers="every row t, d_k, d_v",
    part="the first line, the outputs",
    mutants={
        "strict mask": {"own": UNSEEN},
        "mask one token late": {"future": q.T * u * w.T},
        "initial state forgotten": {"start": UNSEEN},
        "key in place of the query": {"start": k.T * before.T},
    },
)
def parallel_row(start=q.T * before.T, own=q.T * k * v.T, future=UNSEEN):
    """Row t of the masked product is the token's read-out `(S_t q_t)^T`."""
    S = before + V.T * K + v * k.T
    row = start + (q.T * K.T) * V + own + future
    on_page("eq-linear-attention-parallel", row, row=True, letters={before: r"\mathbf{S}_0"})
    return sp.expand((S * q).T - row)


def whole(at):
    """Q, K, V and the first state of the page."""
    return [at(rf"\mathbf{{{x}}}") for x in ("Q", "K", "V", "S}_{0")]


@verifies(
    "eq-linear-attention-parallel",
    method="polynomial",
    covers="package code, T = 4, d_k = 3, d_v = 2",
    mutants={
        "strict mask": {"mask": lambda T: ones_below(T, -1)},
        "mask one token late": {"mask": lambda T: ones_below(T, 1)},
        "no mask": {"mask": lambda T: ones_below(T, T)},
        "mask transposed": {"mask": lambda T: ones_below(T, 0).T},
        "initial state forgotten": {"start": 0},
    },
)
def parallel_equals_recurrent(mask=lambda T: ones_below(T, 0), start=1):
    """The masked product against `linear_attention.recurrent`, run on symbols."""

    def outputs(Q, K, V, S):
        return start * (Q @ S.T) + (mask(len(Q)) * (Q @ K.T)) @ V

    def last(Q, K, V, S):
        return start * S + V.T @ K

    on_page("eq-linear-attention-parallel", lambda at: outputs(*whole(at)))
    on_page("eq-linear-attention-parallel", lambda at: last(*whole(at)), of=1)
    tokens = [entries(*of) for of in (("q", 4, 3), ("k", 4, 3), ("v", 4, 2), ("s", 2, 3))]
    sides = zip((outputs(*tokens), last(*tokens)), linear_attention.recurrent(*tokens), strict=True)
    return [sp.Matrix(ours - loop).expand() for ours, loop in sides]


@verifies(
    "eq-linear-attention-parallel",
    method="float64",
    covers="package code, T = 50, 6 heads",
    mutants={
        "initial state forgotten": {"start": 0.0},
        "values one token late": {"late": 1},
    },
)
def forms_in_code(start=1.0, late=0):
    """The three functions of the package agree, on a state that is not empty."""
    Q, K, V, _, _, S = hard_inputs(batch=(2, 3))
    O, last = linear_attention.recurrent(Q, K, V, S)
    shifted = np.concatenate([np.zeros_like(V[..., :late, :]), V[..., : V.shape[-2] - late, :]], -2)
    errors = []
    for form in (linear_attention.parallel, linear_attention.chunkwise):
        o, end = form(Q, K, shifted, start * S)
        errors += [relative_error(o, O), relative_error(end, last)]
        for of in (0, 1):
            printed = lambda at, form=form, of=of: form(*whole(at))[of]
            on_page("eq-linear-attention-parallel", printed, of=of, floats=True)
    return max(errors)
