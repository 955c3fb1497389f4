r"""Chapter 14: bytes and FLOPs of three designs, counted while they compute; chains by their depth.

Each world is a run of counted code at small sizes, drawn from fixed seeds; long sequences are
differences of two runs.
"""

from fractions import Fraction
from functools import cache

import numpy as np

from ...figures import ch14_model
from ..ch14_kernels import DESIGNS, Memory, heads, run, scan, transform
from ..ch14_scan import scan_flops, three_flops
from ..ch14_segments import chain, last_state, segmented
from ..counting import multiplications
from .arithmetic import inverse
from .check import printed
from .values import listed
from .world import World


def sizes(draw, parts=1):
    """The letters of small sizes; s slices of values, and `parts` segments of whole chunks."""
    draw = draw.anew()
    H_k, group, s, wide, N = draw.numbers(5, 1, 3)
    d_k, C, b = draw.numbers(3, 1, 5)
    (b,) = draw.widths(b)
    letters = {"H_k": H_k, "H_v": H_k * group, "d_k": d_k, "d_v": s * wide, "C": C, "b": b, "s": s}
    return letters | {"T": C * N * parts}


def inputs(x, **changed):
    return heads(**{name: (x | changed)[name] for name in ("T", "H_k", "H_v", "d_k", "d_v")})


def moved(x, design):
    """Bytes that a design's kernels read and write."""
    return sum(run(DESIGNS[design], x["b"], x["C"], inputs(x)).moved.values())


def flops(x, chunks=None, slices=None):
    """Products of the scan, twice; of as many chunks."""
    chunks, group = chunks or x["T"] // x["C"], x["H_v"] // x["H_k"]
    return scan_flops(x["H_k"], x["C"], x["d_k"], x["d_v"], slices or x["s"], group, chunks)


def scans(draw):
    """FLOPs of two designs. K K^T in blocks of n tokens, none above the diagonal."""
    x = sizes(draw)
    n = draw.one_of(*(n for n in range(1, x["C"] + 1) if x["C"] % n == 0))
    group, chunks = x["H_v"] // x["H_k"], x["T"] // x["C"]
    three = three_flops(x["H_k"], x["C"], x["d_k"], x["d_v"], group, chunks)

    def overlaps(k):
        for chunk in k.reshape(-1, x["C"] // n, n, x["d_k"]):
            [late @ early.T for a, late in enumerate(chunk) for early in chunk[: a + 1]]

    shared = 2 * multiplications(overlaps, (x["H_k"], x["T"], x["d_k"]))
    found = {r"F_\text{two}": flops(x), r"F_\text{three}": three, "F_{KK}": shared}
    return World(x | found | {"n": n})


def bytes_beyond(design):
    """The bytes of the floor, and what a design moves more."""

    def world(draw):
        x = sizes(draw)
        floor = moved(x, "floor")
        return World(x | {r"B_\text{floor}": floor, "value": moved(x, design) - floor})

    return world


@cache
def break_even(draw):
    r"""Numbers of slices for which computing the scores again is no slower than storing them.

    FLOPs are counted, a block of scores goes out and in. `\rho` is such that two, three, four,
    six or twelve slices are just as slow.
    """
    (d_k, C, b), more = draw.numbers(3, 1, 3), draw.one_of(1, 2, 3, 5, 11)
    (b,) = draw.widths(b)
    rho = Fraction(more * d_k) / b
    x = {"H_k": 1, "H_v": 1, "d_k": d_k, "d_v": 12, "C": C, "T": C}
    stored = 2 * b * np.zeros((x["H_v"], x["T"], x["C"])).size
    again = {s: flops(x, slices=s) - flops(x, slices=1) for s in (1, 2, 3, 4, 6, 12)}
    letters = {"b": b, "C": C, "d_k": d_k, r"\rho": rho}
    return World(letters, {"s": [s for s in again if again[s] <= rho * stored]})


def intensity(draw):
    """What one chunk more costs the scan: FLOPs over its own bytes, d = d_k = d_v."""
    x, draw = sizes(draw), draw.anew(1)
    (s, wide), group = draw.numbers(2, 1, 3), x["H_v"] // x["H_k"]
    d = s * wide
    x |= {"s": s, "d_k": d, "d_v": d, "H_k": 1, "H_v": group}

    def own(chunks):
        given = inputs(x, T=x["C"] * chunks)
        memory = Memory(
            x["b"], **given, **transform(given["k"], given["g"], given["beta"], C=x["C"])
        )
        memory.run(scan, C=x["C"])
        return memory.moved["scan"]

    found = Fraction(flops(x, 3) - flops(x, 2), own(3) - own(2))
    letters = {name: x[name] for name in "Cbs"}
    return World(letters | {"d": d, "r": group, r"I_\text{scan}": found})


def chains(draw):
    """Products that wait for each other, by the depth that the numbers know."""
    m, parts = draw.sizes(2, 2, 6)
    N = m * parts
    one, cut = chain(2 * N, 2), chain(2 * N, 2, 2 * m)
    return World({"one chain": one, "segments": cut, "N": N, "m": m})


@cache
def shortest(draw):
    """The length of segments with the shortest chain, a whole number or not: a part of the depth
    grows with it, a part falls, a part stays, as three lengths that divide N tell."""
    N = 6 * (draw.seed + 2)
    lengths = np.array([1.0, 2.0, 3.0])
    depths = [chain(N, 1, int(m), m_=1, n_=1) for m in lengths]
    grows, falls, stays = np.linalg.solve(
        np.stack([lengths, 1 / lengths, 1 + 0 * lengths], 1), depths
    )
    least = 2 * np.sqrt(grows * falls) + stays
    return World({"N": N, r"m_\ast": float(np.sqrt(falls / grows)), "value": float(least)})


def map_flops(draw):
    """Products of the map of a segment, for each of its tokens."""
    x = sizes(draw)
    C, d_k, rows = x["C"], x["d_k"], x["d_v"] + x["d_k"]

    def work(k, v, UT, S):
        last_state(k, v, np.zeros((1, 2 * C)), UT, S, C)

    found = 2 * multiplications(
        work, (1, 2 * C, d_k), (1, 2 * C, rows), (1, 2 * C, C), (1, rows, d_k)
    )
    return World(x | {"value": Fraction(found, 2 * C)})


def segment_bytes(draw):
    """Bytes of the scan in segments, less those of the scan in one piece."""
    parts = 2 + draw.seed % 6
    x = sizes(draw, parts)
    cut = sum(segmented(inputs(x), x["b"], x["C"], x["T"] // parts)[2].values())
    return World(x | {"value": cut - moved(x, "two"), r"\sigma": parts})


def shares(draw):
    """The shares for which all programs end together: the solution of these linear equations."""
    P, eta = (5, 3, 1)[draw.seed % 3] + draw.seed // 3, draw.number(0.2, 0.8)
    rows = np.zeros((P, P), dtype=object if draw.exact else float)  # unknowns a_1 .. a_{P-1}, t
    right = np.zeros((P, 1), dtype=rows.dtype)
    for p in range(P):  # eta a_p + a_{p+1} - a_p = t
        rows[p, P - 1] = rows[p, P - 1] - 1
        if p:
            rows[p, p - 1] = eta - 1
        if p + 1 < P:
            rows[p, p] = rows[p, p] + 1
        else:
            right[p] = -1
    *a, t = (inverse(rows) @ right)[:, 0]
    letters = {
        "a_": listed([0 * eta, *a, 0 * eta + 1], 0),
        "t": t,
        r"\eta": eta,
        "x": 1 - eta,
        "P": P,
    }
    return World(letters, {"p": range(P + 1)})


def limits(draw):
    """The limits that the package's model has, from its own counts."""
    batch, length, heads, group = (int(draw.rng.integers(1, n)) for n in (6, 200, 9, 4))
    width = draw.one_of(64, 128)
    x = ch14_model.shape(f"B{batch} T{256 * length} H{heads}/{group * heads} D{width}")
    w, link, host = ch14_model.BANDWIDTH * draw.number(), draw.number(), draw.number()
    found = ch14_model.limits(x, link=link, bandwidth=w, n=1)
    letters = {
        rf"t_\text{{{limit}}}": us for limit, us in found.items()
    } | {
        "B": float(ch14_model.two_kernel_bytes(x)), "w": w / 1e6,
        "F": float(ch14_model.scan_flops(x) + ch14_model.overlap_flops(x)),
        r"\pi": ch14_model.PEAK / 1e6, "L": int(ch14_model.links(x)), r"\tau": link,
        r"t_\text{host}": host, "value": host,
    }  # fmt: skip
    return World(letters)


COUNTED = {"arithmetic": "counted"}
BYTES = COUNTED | {"against": "bytes, counted while the kernels run"}
FLOPS = COUNTED | {"against": "products, counted while the kernels run"}
DEPTH = COUNTED | {"against": "the depth of numbers that know their products"}

printed("eq-flops-scan eq-shared-keys", scans, **FLOPS)
printed("eq-floor-bytes eq-bytes-two-kernels", bytes_beyond("two"), **BYTES)
printed("eq-bytes-three-kernels", bytes_beyond("three"), **BYTES)
printed("eq-recompute-scores", break_even, **FLOPS)
printed("eq-scan-intensity", intensity, against="counted FLOPs over counted bytes", **COUNTED)
printed("eq-scan-chain", chains, **DEPTH)
printed("eq-best-segment", shortest, **DEPTH)
printed("eq-segment-flops", map_flops, **FLOPS)
printed("eq-segment-bytes", segment_bytes, **BYTES)
printed(
    "eq-share-of-chunks",
    shares,
    against="linear equations: all programs end together",
    no_value={"1 - x^{P}": "x = 1 - eta, and eta is positive"},
)
printed(
    "eq-four-limits",
    limits,
    against="gdn_ref.figures.ch14_model.limits",
    arithmetic="float64",
    defines=True,
    no_value=dict.fromkeys(["w", r"\pi"], "what a device can do"),
    equal=dict.fromkeys(
        [rf"{ch14_model.PEAK // 10**6:.0f} for \pi"],
        "the model is of one device, of which this is the number",
    ),
)
