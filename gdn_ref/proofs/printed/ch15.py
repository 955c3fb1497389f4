"""Chapter 15: what the forward kernels compute, and where things lie."""

from fractions import Fraction
from functools import cache
from itertools import accumulate
from math import inf, log2

import numpy as np

from ... import gated_delta_rule
from ..ch15_layout import held
from ..data import hard_inputs
from .arithmetic import inverse
from .cases import EMPTY, LOW, case, of_rank, sizes
from .check import printed
from .rule import rule
from .values import Depends, Family, Refused, columns, entries, listed
from .world import World

LOOP = "the token loop"


def memory(draw):
    """An array [tokens, H, K] as it lies in memory: the place of each of its elements."""
    T, H, K = draw.sizes(3, 3, 7)
    place = np.arange((T + 6) * H * K).reshape(T + 6, H, K)
    letters = {"H": H, "K": K, r"\mathrm{place}": lambda t, h, d: int(place[t, h, d])}
    s, h, d = (sorted({0, draw.seed % n, n - 1 - draw.seed % 2}) for n in (6, H, K))
    return World(letters, {"s": s, "r": range(T), "h": h, "d": d})


printed(
    "eq-tile-address",
    memory,
    against="an array in memory",
    arithmetic="counted",
    words="(sH+h)K is the base HK is the stride",
)


def packed(draw):
    """Sequences of many lengths, packed, in chunks of C; in two of three draws some are empty."""
    C, count = ((3, 30), (16, 20), (4, 25), (5, 15), (2, 28), (7, 22))[draw.seed % 6]
    least, most = ((0, 3 * C), (1, 7 * C), (0, 3 * C))[draw.seed % 3]
    lengths = [int(n) for n in draw.rng.integers(least, most, size=count)]
    lengths[draw.seed % 5] *= least
    begins = [0, *accumulate(lengths)]
    slots = {}
    for n, b in enumerate(begins[:-1]):
        slots |= {(n, j): b // C + n + j for j in range(-(-lengths[n] // C))}

    letters = {
        "C": C, "L_": entries(lengths, 0), "b_": entries(begins, 0),
        r"\mathrm{slot}": lambda n, j: slots.get((n, j), -1),  # there is no such chunk
    }  # fmt: skip
    return World(letters, {"n": range(count), "j": range(7)})


printed(
    "eq-chunk-slot", packed, against="slots of packed sequences", arithmetic="counted", defines=True
)
printed("eq-slot-room", packed, against="packed sequences", arithmetic="counted", anything="C")


@cache
def padded(draw):
    """A token that is missing, that is zero; others lack some of what makes it do nothing."""
    T, (_, d_k, d_v) = 16 + case(draw), sizes(draw)
    missing, decays_only, writes_nothing, keeps = case(draw) + np.array([2, 4, 6, 8])
    equal, opposed = case(draw) + np.array([10, 9])
    no_key, no_value, strong = case(draw) + np.array([11, 13, 15])  # do nothing, too
    erases, unwritten = case(draw) + np.array([12, 14])  # a key without a value, and the reverse
    k, v, g, beta = draw.array(T, d_k), draw.array(T, d_v), draw.array(T), draw.array(T)
    alpha = draw.array(T)  # any decays; where the logarithm is zero, one
    for x, tokens in (
        (k, [missing, decays_only, keeps, equal, opposed, no_key, strong, unwritten]),
        (v, [missing, decays_only, keeps, equal, opposed, no_value, strong, erases]),
        (g, [missing, writes_nothing, no_key, no_value, strong, erases, unwritten]),
        (beta, [missing, writes_nothing, keeps, no_key, no_value]),
    ):  # fmt: skip
        x[tokens] = 0 * x[tokens]
    g[equal], g[opposed] = beta[equal], -beta[opposed]
    alpha[g == 0] = 0 * alpha[0] + 1
    kept = draw.array(d_v) * (draw.easy != EMPTY)  # the first token writes again what decays
    v[0] = ((1 - alpha[0]) / beta[0] + alpha[0] * (k[0] @ k[0])) * kept
    states, deltas = [np.outer(kept, k[0])], []
    for t in range(T):
        deltas.append(beta[t] * (v[t] - alpha[t] * states[-1] @ k[t]))
        states.append(alpha[t] * states[-1] + np.outer(deltas[-1], k[t]))
    letters = {
        r"\boldsymbol{k}_": columns(k), r"\boldsymbol{v}_": columns(v), "g_": entries(g),
        r"\beta_": entries(beta), r"\boldsymbol{\delta}_": columns(deltas),
        r"\mathbf{S}_": listed(states, 0),
    }  # fmt: skip
    return World(letters, {"t": range(1, T + 1)})


STRENGTH = "without a write strength nothing is written, whatever the key and the value"
ZERO = r"\boldsymbol{0}"
printed(
    "eq-padding-token",
    padded,
    against=LOOP,
    equal={
        rf"not only where \boldsymbol{{k}}_{{t}} = {ZERO}": STRENGTH,
        rf"not only where \boldsymbol{{v}}_{{t}} = {ZERO}": STRENGTH,
        r"\boldsymbol{\delta}_{t} for \boldsymbol{v}_{t}": STRENGTH,
        r"\boldsymbol{v}_{t} for \boldsymbol{\delta}_{t}": "the premise says so",
        r"not only where g_{t} = \beta_{t} = 0": "a zero key and value have no correction",
        r"\beta_{t} for g_{t}": "a zero key and value have no correction",
        r"g_{t} for \beta_{t}": "a zero key and value write nothing, whatever the strength",
    },
)


def whole_decays(draw):
    """Decays that are powers of two, far below 2^-160 among them, and zero; each draw begins with
    another of them."""
    powers = np.roll([0, -3, -200, -inf, -1, -159, -170, -2], 1 + draw.seed).tolist()
    clamped = [max(p, -160) for p in powers]
    n = range(1, len(powers) + 1)

    def Gamma(r, i):
        total = sum(powers[i + 1 : r + 1])
        return Fraction(0) if r < i or total == -inf else Fraction(2) ** total

    table = np.array([[Gamma(r, i) for i in range(len(n))] for r in range(len(n))], dtype=object)
    letters = {
        "g_": entries([p / log2(np.e) for p in powers]), r"\Gamma_": entries(table),
        r"\hat{c}_": listed(accumulate(clamped)),
    }  # fmt: skip
    return World(letters, {"r": n, "i": n})


printed(
    "eq-decay-base-two",
    whole_decays,
    against="exact powers of two",
    arithmetic="float64",
    equal={r"\hat{c}_{r} - \hat{c}_{i} for 0": "decays add up to nothing above zero"},
)

printed("eq-transposed-delta eq-transposed-state eq-transposed-output", rule, against=LOOP)


def chunk_of(S, Q, K, V, g, beta):
    """The package's chunk, which refuses what does not fit."""
    if np.ndim(S) != 2:
        raise Refused("a state that is no matrix")
    try:
        return gated_delta_rule.chunk(S, Q, K, V, g, beta)
    except ValueError as error:
        raise Refused(str(error)) from None


def slices(draw):
    """Some rows of the values, and what the whole chunk computes for them."""
    T, d_k, d_v, *J = ((6, 4, 3, 0, 2), (5, 3, 4, 0, 1, 3), (7, 2, 5, 1, 4))[draw.seed % 3]
    q, k, v, g, beta, S = hard_inputs(T=T, d_k=d_k, d_v=d_v, seed=draw.seed)
    q, k, v, S = (of_rank(draw, n, x) for n, x in ((1, q), (3, k), (2, v), (1, S)))
    O, S_next = gated_delta_rule.recurrent(q, k, v, g, beta, S)
    letters = {
        r"\mathbf{Q}": q, r"\mathbf{K}": k, r"\mathbf{V}_{:J}": v[:, J], "g": g, r"\beta": beta,
        r"\mathbf{S}_{J:}": S[J], r"\mathbf{O}_{:J}": O[:, J], r"\mathbf{S}'_{J:}": S_next[J],
        r"\mathrm{chunk}": chunk_of,
    }  # fmt: skip
    return World(letters)


printed("eq-value-slices", slices, against=LOOP, arithmetic="float64")


def layout(draw):
    """Which block and column of a row the registers of each lane hold, by the layout's bits."""

    def block(at):
        (found,) = {int(held(register, at["l"])[0]) for register in range(2)}
        return found

    def column(at):
        return int(held(at["m"], at["l"])[1])

    letters = {"block": Depends(block), "column": Depends(column)}
    return World(letters, {"m": range(2), "l": range(32)})


printed(
    "eq-thread-layout",
    layout,
    against="the layout's bits",
    arithmetic="counted",
    few={"m": "a lane holds two registers", "block": "a row has four blocks"},
)


@cache
def blocks(draw):
    """A unit lower triangular matrix in three blocks or six, and its inverse."""
    n, count = ((4, 3), (2, 6), (3, 3))[draw.seed % 3]
    A = of_rank(draw, 1, draw.array(n * count, n * count))
    A = A * np.tril(np.ones(A.shape, dtype=int), -1)
    X = inverse(A + np.eye(n * count, dtype=object if draw.exact else float))

    def of(matrix):
        return Family(lambda a, b: matrix[n * (a - 1) : n * a, n * (b - 1) : n * b])

    run = range(1, count + 1)
    letters = {r"\mathbf{A}_": of(A), r"\mathbf{X}_": of(X)}
    return World(letters, {"a": run, "b": run, "e": run})


printed("eq-inverse-row", blocks, against="the inverse of the whole matrix")


def scan_of(S, K, V, g, beta):
    """The last state of the token loop, for as many rows as there are."""
    try:
        return gated_delta_rule.recurrent(K, K, V, g, beta, S)[1]
    except ValueError as error:
        raise Refused(str(error)) from None


def more_rows(draw):
    """The map of a segment, state by state: G is what an empty state becomes, F by its basis."""
    T, d_k, d_v = ((6, 4, 3), (5, 3, 4), (7, 2, 5))[draw.seed % 3]
    _, k, v, g, beta, _ = hard_inputs(T=T, d_k=d_k, d_v=d_v, seed=draw.seed)
    k, v = (of_rank(draw, n, x) for n, x in ((1, k), (2, v)))
    if draw.easy == LOW:  # and a full step
        beta[0] = 1 / (k[0] @ k[0])
    G = scan_of(np.zeros((d_v, d_k)), k, v, g, beta)
    F = np.vstack([scan_of(np.eye(d_k)[i : i + 1], k, 0 * v[:, :1], g, beta) for i in range(d_k)])
    letters = {
        r"\mathbf{K}": k, r"\mathbf{V}": v, "g": g, r"\beta": beta, r"\mathbf{G}": G,
        r"\mathbf{F}": F, r"\mathbf{0}_{d_v\times d_k}": np.zeros((d_v, d_k)),
        r"\mathbf{0}_{T\times d_k}": np.zeros((T, d_k)), r"\mathrm{scan}": scan_of,
    }  # fmt: skip
    return World(letters)


printed("eq-segment-rows", more_rows, against="the token loop, row by row", arithmetic="float64")


def next_keys(draw):
    """The rule's chunk, and any keys that come after it."""
    world = rule(draw)
    d_k = world.letters["d_{k}"]
    return world.with_letters({r"\mathbf{K}'": of_rank(draw, 1, draw.array(d_k + 1, d_k))})


printed("eq-read-ahead", next_keys, against=LOOP, anything=r"\mathbf{K}'")
