"""Chapter 14: the chain of states, cut into segments: its length, its bytes, its FLOPs."""

from itertools import product

import numpy as np
import sympy as sp

from .. import affine
from .ch14_designs import FLOOR, TWO, C, H_k, H_v, T, b, d_k, d_v
from .ch14_kernels import Memory, chunks, decays, heads, scan, shared, transform
from .counting import depth, known, multiplications, numbers
from .data import worst
from .page import side
from .registry import verifies

s, m, N = sp.symbols("s m N", positive=True)
ONE_CHAIN = side("eq-scan-chain", "one chain", otherwise=3 * N)
CUT = side("eq-scan-chain", "segments", otherwise=6 * m + N / m - 2)
BEST = side("eq-best-segment", r"m_\ast", otherwise=sp.sqrt(N / 6))
LEAST = side("eq-best-segment", 1, otherwise=2 * sp.sqrt(6 * N) - 2)


def chain(tokens, c, segment=None, h=1, m_=2, n_=2):
    """The longest row of products that wait for each other, decays not counted."""
    k, v, UT = numbers(h, tokens, m_), numbers(h, tokens, n_), numbers(h, tokens, c)
    c_sum, S = np.zeros((h, tokens)), numbers(h, n_, m_)
    if segment is None:
        found = scan(k, k, v, c_sum, UT, S, C=c)
        return depth(*found.values())
    maps = segment_maps(k, v, c_sum, UT, S, C=c, length=segment, known=known)["maps"]
    starts = join(maps, S)["starts"]
    ends = []
    for j in range(tokens // segment):
        own = slice(j * segment, (j + 1) * segment)
        parts = (x[:, own] for x in (k, k, v, c_sum, UT))
        ends += scan(*parts, starts[:, j], C=c).values()
    return depth(*ends)


def segment_maps(k, v, c, UT, S, *, C, length, known=np.asarray):
    """The map of each segment that has a successor: G above F, the rows of one chain of states.

    The first segment starts from S and needs no F.
    """
    group, d_v = len(v) // len(k), v.shape[-1]
    k, found = shared(k, group), []
    for j in range(v.shape[1] // length):
        own = slice(j * length, (j + 1) * length)
        first = S
        if j:
            first = known(np.eye(d_v + k.shape[-1])[:, d_v:])
            first = np.broadcast_to(first, (len(v), *first.shape))
        rows = first.shape[1]
        values = np.concatenate([v[:, own], 0 * v[:, own, :1].repeat(rows - d_v, -1)], axis=-1)
        found.append(last_state(k[:, own], values, c[:, own], UT[:, own], first, C))
    return {"maps": np.concatenate(found, axis=1)}


def last_state(k, v, c, UT, S, C):
    """The chain of states alone, without outputs; as many rows as `S` has."""
    k, v, c, UT = (chunks(x, C) for x in (k, v, c, UT))
    for j in range(c.shape[1]):
        gamma, _, to_end = decays(c[:, j])
        delta = UT[:, j] @ (v[:, j] - gamma * (k[:, j] @ S.mT))
        S = gamma[:, -1:] * S + (to_end * delta).mT @ k[:, j]
    return S


def join(maps, S, compose=affine.compose):
    """The state before each segment, one composition after the other (eq-affine-compose)."""
    n_, m_ = S.shape[1:]
    starts = [S, maps[:, :n_]] if maps.shape[1] else [S]
    for at in range(n_, maps.shape[1], n_ + m_):
        F, G = maps[:, at + n_ : at + n_ + m_], maps[:, at : at + n_]
        starts.append(compose((F, starts[-1]), (F, G))[1])
    return {"starts": np.stack(starts, axis=1)}


@verifies(
    "eq-scan-chain",
    method="enumeration",
    covers="counted, 4 to 12 chunks, 2 to 6 segments",
    mutants={
        "two products a chunk": {"plain": ONE_CHAIN - N},
        "outputs in the chain": {"plain": ONE_CHAIN + N},
        "segments without maps": {"cut": 3 * m + N / m},
        "maps composed for free": {"cut": 6 * m},
        "one more composition": {"cut": CUT + 1},
    },
)
def chain_is_counted(plain=ONE_CHAIN, cut=CUT):
    """Read, solve, write; with segments first all maps, then a row of compositions, then again."""
    residuals = []
    for links, segment in ((4, 2), (6, 2), (6, 3), (12, 2), (12, 4)):
        at = {N: links, m: segment}
        tokens, size = 2 * links, 2 * segment
        residuals.append(chain(tokens, 2) - plain.subs(at))
        residuals.append(chain(tokens, 2, size) - cut.subs(at))
    return residuals


@verifies(
    "eq-best-segment",
    method="algebra",
    covers="every N",
    mutants={
        "as many as chunks in each": {"best": sp.sqrt(N)},
        "no maps": {"best": sp.sqrt(N / 3)},
        "half": {"least": LEAST / 2 - 1},
    },
)
def best_segment(best=BEST, least=LEAST):
    """The chain exceeds its least by a square."""
    excess = CUT - least
    return [
        sp.simplify(excess - (sp.sqrt(6 * m) - sp.sqrt(N / m)) ** 2),
        sp.simplify(excess.subs(m, best)),
    ]


MAP_FLOPS = side("eq-segment-flops", otherwise=(4 * d_k + 2 * C) * (d_v + d_k))
MAP_BYTES = 8 * H_v * d_k * ((2 * s - 1) * d_v + (s - 2) * d_k) + 4 * H_v * d_k * d_v
TOKEN_BYTES = T * (1 - 1 / s) * (b * H_k * d_k + H_v * (b * d_v + b * C + 4))
MORE = side("eq-segment-bytes", otherwise=MAP_BYTES + TOKEN_BYTES, sigma=s)


def segmented(inputs, width, c, segment, compose=affine.compose):
    """The forward pass in segments, and the bytes it moves."""
    memory = Memory(width, **inputs)
    memory.run(transform, C=c)
    tokens = inputs["v"].shape[1]
    memory.run(segment_maps, tokens=tokens - segment, C=c, length=segment)
    memory.run(join, compose=compose)
    starts, found = memory.arrays["starts"], []
    moved = memory.bytes("starts", starts)
    for j in range(tokens // segment):
        own = slice(j * segment, (j + 1) * segment)
        parts = {x: memory.arrays[x][:, own] for x in ("q", "k", "v", "c", "UT")}
        found.append(scan(**parts, S=starts[:, j], C=c))
        moved += sum(memory.bytes(x, y) for x, y in (*parts.items(), ("o", found[-1]["o"])))
    S_last = found[-1]["S_last"]
    memory.moved["scan"] = moved + memory.bytes("S_last", S_last)
    return np.concatenate([x["o"] for x in found], axis=1), S_last, memory.moved


@verifies(
    "eq-segment-bytes",
    method="enumeration",
    covers="counted as what each kernel takes and returns; 12 tokens, 2 to 6 segments, C 1 and 2",
    mutants={
        "maps stay on the chip": {"more": MORE - MAP_BYTES},
        "F of the first segment too": {"more": MORE + 8 * H_v * d_k**2},
        "the last segment mapped": {"more": MORE + TOKEN_BYTES / (s - 1)},
        "no second reading": {"more": MORE - TOKEN_BYTES},
    },
)
def segment_bytes(more=MORE):
    """What segments move more than the two kernels do."""
    residuals = []
    for h_k, c, segment, n_ in product((1, 2), (1, 2), (2, 4, 6), (2, 3)):
        inputs = heads(12, h_k, 4, 3, n_)
        moved = sum(segmented(inputs, 2, c, segment)[2].values())
        at = {T: 12, C: c, b: 2, d_k: 3, d_v: n_, H_k: h_k, H_v: 4, s: 12 // segment}
        residuals.append(moved - (FLOOR + TWO + more).subs(at))
    return residuals


@verifies(
    "eq-segment-bytes",
    method="float64",
    covers="2 key and 4 value heads, 24 tokens, 2 to 6 segments",
    part="no bytes: the segments that are counted give what one scan gives",
    mutants={
        "G alone": {"compose": lambda first, then: then},
        "no write of the segment": {"compose": lambda first, then: (then[0], first[1] @ then[0])},
    },
)
def segments_are_exact(compose=affine.compose):
    """Segments give what the scan gives; nothing is cut off."""
    inputs = heads(24, 2, 4, 6, 5)
    c = transform(inputs["k"], inputs["g"], inputs["beta"], C=4)
    right = scan(*(inputs[x] for x in "qkv"), **c, S=inputs["S"], C=4)
    errors = []
    for segment in (4, 8, 12):
        O, S, _ = segmented(inputs, 2, 4, segment, compose)
        errors.append(worst((O, S), (right["o"], right["S_last"])))
    return max(errors)


@verifies(
    "eq-segment-flops",
    method="enumeration",
    covers="counted, 2 chunks of 1 to 3 tokens",
    mutants={
        "G only": {"claim": (4 * d_k + 2 * C) * d_v},
        "three products with the state": {"claim": (6 * d_k + 2 * C) * (d_v + d_k)},
        "no solve": {"claim": 4 * d_k * (d_v + d_k)},
    },
)
def map_flops(claim=MAP_FLOPS):
    """F and G together are d_v + d_k rows of the chain of states, without outputs."""
    residuals = []
    for c, m_, n_ in product((1, 2, 3), (1, 2), (1, 3)):
        shapes = (1, 2 * c, m_), (1, 2 * c, n_ + m_), (1, 2 * c, c), (1, n_ + m_, m_)

        def work(k, v, UT, S, c=c):
            last_state(k, v, np.zeros((1, 2 * c)), UT, S, c)

        found = 2 * multiplications(work, *shapes)
        residuals.append(found - 2 * c * claim.subs({C: c, d_k: m_, d_v: n_}))
    return residuals
