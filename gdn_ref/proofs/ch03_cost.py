"""Chapter 3: what the three forms cost, counted and as formulas."""

from itertools import product

import numpy as np
import sympy as sp

from .. import linear_attention
from ..chunking import scan_chunks, scan_tokens
from .counting import Traffic, multiplications
from .page import on_page, side
from .registry import verifies
from .token_forms import ones_below

T, C, N, m, n = sp.symbols("T C N d_k d_v", positive=True)
b, b_S, rho = sp.symbols("b b_S rho", positive=True)  # bytes, bytes, FLOPs in the time of a byte
MEAN = 2 * m * n / (m + n)  # the harmonic mean of d_k and d_v
F_RECURRENT = side("eq-flops-recurrent", otherwise=4 * T * m * n, d_k=m, d_v=n)
F_CHUNK = side("eq-flops-chunk", otherwise=4 * T * m * n + 2 * T * C * (m + n), d_k=m, d_v=n)
F_PARALLEL = side("eq-flops-parallel", otherwise=2 * T**2 * (m + n), d_k=m, d_v=n)
BYTES = side("eq-bytes-chunk", otherwise=T * (2 * b_S * m * n / C + 2 * b * (m + n)), d_k=m, d_v=n)


def flops(form, T, d_k, d_v, chunk_size=None):
    """Twice the multiplications of `form`, counted while the package runs it on counting numbers.

    `form` is "recurrent", "chunk" or "parallel". The parallel form starts from the empty memory
    and leaves no state.
    """

    def work(q, k, v, S):
        if form == "parallel":
            (ones_below(T, 0) * (q @ k.T)) @ v  # eq-linear-attention-parallel
        elif form == "chunk":
            scan_chunks(linear_attention.chunk, S, (q, k, v), (), chunk_size)
        else:
            scan_tokens(linear_attention.step, S, (q, k, v))

    return 2 * multiplications(work, (T, d_k), (T, d_k), (T, d_v), (d_v, d_k))


SIZES = [(12, 2, 3), (12, 3, 1), (24, 4, 2)]


@verifies(
    "eq-flops-recurrent",
    method="enumeration",
    covers="counted, 12 and 24 tokens",
    mutants={
        "multiplications only": {"formula": F_RECURRENT / 2},
        "a correction as well": {"formula": 6 * T * m * n},
        "square heads assumed": {"formula": 4 * T * m**2},
    },
)
def recurrent_is_counted(formula=F_RECURRENT):
    """The package's token loop on counting numbers."""
    return [
        flops("recurrent", *size) - formula.subs(dict(zip((T, m, n), size, strict=True)))
        for size in SIZES
    ]


@verifies(
    "eq-flops-parallel",
    method="enumeration",
    covers="counted, 12 and 24 tokens",
    mutants={
        "half the square": {"formula": F_PARALLEL / 2},
        "scores only": {"formula": 2 * T**2 * m},
        "a state as well": {"formula": F_PARALLEL + F_RECURRENT},
    },
)
def parallel_is_counted(formula=F_PARALLEL):
    """The masked product on counting numbers."""
    return [
        flops("parallel", *size) - formula.subs(dict(zip((T, m, n), size, strict=True)))
        for size in SIZES
    ]


@verifies(
    "eq-flops-chunk",
    method="enumeration",
    covers="counted, 12 and 24 tokens, every C that divides 12",
    mutants={
        "the state not read": {"formula": F_CHUNK - 2 * T * m * n},
        "half of each square": {"formula": F_CHUNK - T * C * (m + n)},
        "C squared per token": {"formula": 4 * T * m * n + 2 * T * C**2 * (m + n)},
        "tokens for chunks": {"formula": 4 * T * m * n / C + 2 * T * C * (m + n)},
    },
)
def chunks_are_counted(formula=F_CHUNK):
    """The package's chunk form on counting numbers; C = T without a state is the parallel form."""
    counted = [
        flops("chunk", *size, chunk) - formula.subs({T: size[0], m: size[1], n: size[2], C: chunk})
        for size, chunk in product(SIZES, (1, 2, 3, 4, 6, 12))
    ]
    return [*counted, sp.expand(formula.subs(C, T) - F_RECURRENT - F_PARALLEL)]


@verifies(
    "eq-flops-crossover",
    method="algebra",
    covers="every T, C, d_k, d_v",
    mutants={
        "arithmetic mean": {"mean": (m + n) / 2},
        "half the mean": {"mean": MEAN / 2},
        "chunk without the state": {"chunk": C},
        "the saving T / C": {"saving": T / C},
    },
)
def crossover(mean=MEAN, chunk=C + MEAN, saving=T / (C + MEAN)):
    """The three counts over 2 T (d_k + d_v), and the ratio of the last two."""
    unit = 2 * T * (m + n)
    shares = [F_RECURRENT / unit - mean, F_CHUNK / unit - chunk, F_PARALLEL / unit - T]
    on_page("eq-flops-crossover", F_RECURRENT / mean, F_CHUNK / chunk, F_PARALLEL / T)
    on_page("eq-flops-crossover", saving, of=1)
    return [sp.simplify(x) for x in (*shares, F_PARALLEL / F_CHUNK - saving)]


def traffic(tokens, d_k, d_v, chunk_size, token_bytes, state_bytes):
    """Bytes in and out of every call of the package's chunk; the arrays count their numbers."""
    q, k = np.zeros((2, tokens, d_k))
    v, S = np.zeros((tokens, d_v)), np.zeros((d_v, d_k))
    moved = Traffic(linear_attention.chunk)
    scan_chunks(moved, S, (q, k, v), (), chunk_size)
    return token_bytes * moved.rows + state_bytes * (moved.read + moved.written)


@verifies(
    "eq-bytes-chunk",
    method="enumeration",
    covers="counted as what each call takes and returns; 24 tokens, every C that divides 24",
    mutants={
        "the state read, not written": {"formula": BYTES - T * b_S * m * n / C},
        "outputs left out": {"formula": BYTES - T * b * n},
        "one width for both": {"formula": BYTES.subs(b_S, b)},
        "a state for every token": {"formula": BYTES.subs(C, 1)},
    },
)
def bytes_are_counted(formula=BYTES):
    """Each call reads its tokens and a state once, and writes its outputs and a state once.

    So this counts the sizes of the calls' arguments and results, not what a machine moves.
    """
    residuals = []
    for chunk, (width, wide) in product((1, 2, 3, 4, 6, 8, 12, 24), ((2, 4), (4, 4), (2, 8))):
        at = {T: 24, m: 5, n: 3, C: chunk, b: width, b_S: wide}
        residuals.append(traffic(24, 5, 3, chunk, width, wide) - formula.subs(at))
    return residuals


@verifies(
    "eq-arithmetic-intensity",
    method="algebra",
    covers="every T, C, d_k, d_v, b",
    mutants={
        "the same bytes for both": {"wide": b},
        "C FLOPs a byte": {"through_memory": C},
        "grows with d": {"through_memory": (C + MEAN) / b},
        "on chip: as through memory": {"on_chip": C / b},
        "on chip: without the state's work": {"on_chip": 2 * C / b},
    },
)
def intensity(wide=2 * b, through_memory=C / b, on_chip=(C + MEAN) / b):
    """FLOPs over bytes, with a state twice as wide as a token, and with a state that stays."""
    stays = sp.limit(BYTES, b_S, 0)
    on_page("eq-arithmetic-intensity", through_memory)
    on_page("eq-arithmetic-intensity", on_chip, of=1)
    return [
        sp.simplify(F_CHUNK / BYTES.subs(b_S, wide) - through_memory),
        sp.simplify(F_CHUNK / stays - on_chip),
    ]


x, y = sp.symbols("x y", positive=True)
HALF = sp.Rational(1, 2)


@verifies(
    "eq-complete-square",
    method="algebra",
    covers="every x, y and C",
    mutants={
        "y / x without its root": {"power": 1},
        "x / y": {"power": -HALF},
        "the least halved": {"least": 1},
        "the square without its factor": {"factor": 1 / C},
    },
)
def one_part_grows_one_falls(power=HALF, least=2, factor=x / C):
    """Multiplied out."""
    square = (C - (y / x) ** power) ** 2
    on_page("eq-complete-square", x * C + y / C, least * sp.sqrt(x * y) + factor * square)
    return sp.expand(x * C + y / C - least * sp.sqrt(x * y) - factor * square)


BEST = sp.sqrt(rho * b_S * MEAN / 2)
GEOMETRIC = sp.sqrt(m * n)


@verifies(
    "eq-best-chunk-size",
    method="algebra",
    covers="every size, width and machine",
    mutants={
        "no square root": {"best": rho * b_S * MEAN / 2},
        "the token's bytes": {"best": BEST.subs(b_S, b)},
        "arithmetic mean": {"best": sp.sqrt(rho * b_S * (m + n) / 4)},
        "half the excess": {"slope": m + n},
    },
)
def best_chunk_size(best=BEST, slope=2 * (m + n)):
    """The time per token, less its value at the best size, is a square over C: never negative."""
    time = (F_CHUNK + rho * BYTES) / T  # in the time of one FLOP
    excess = time - time.subs(C, best)
    rho_ = {rho: r"\rho"}
    on_page("eq-best-chunk-size", best, letters=rho_)
    least = {"least": lambda at: at(r"\tau(C_\ast)"), "best": lambda at: at(r"C_\ast")}
    above = slope * (C - sp.Symbol("best")) ** 2 / C
    on_page("eq-best-chunk-size", None, sp.Symbol("least") + above, of=1, letters=least)
    return sp.simplify(excess - slope * (C - best) ** 2 / C)


@verifies(
    "eq-chunk-storage",
    method="algebra",
    covers="every C, d_k, d_v",
    mutants={
        "best at the mean": {"best": MEAN},
        "best at half": {"best": sp.sqrt(m * n) / 2},
        "a state for every token": {"stored": m * n + C},
        "all scores": {"stored": m * n / C + T},
    },
)
def storage(best=GEOMETRIC, stored=m * n / C + C):
    """N states and N blocks of scores, over T tokens; the excess over the least is a square."""
    kept = (N * m * n + N * C**2) / (N * C)
    least = 2 * sp.sqrt(m * n)
    on_page("eq-chunk-storage", stored, least + (C - best) ** 2 / C)
    return [
        sp.simplify(kept - stored),
        sp.simplify(stored - least - (C - best) ** 2 / C),
        sp.simplify(stored.subs(C, best) - least),
    ]
