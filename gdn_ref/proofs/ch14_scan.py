"""Chapter 14: the FLOPs of the two kernels, counted, and what follows for a card."""

from itertools import product

import numpy as np
import sympy as sp

from .ch14_designs import FLOOR, TWO, C, H_k, H_v, T, b, d_k, d_v
from .ch14_kernels import outputs, scan, states
from .counting import multiplications
from .page import on_page, side
from .registry import definition, verifies

s, n, rho, d, r = sp.symbols("s n rho d r", positive=True)

definition(
    "eq-four-limits",
    "A model: four times, of which none can be undercut; their largest stands for a forward pass.",
)

SCAN = side(
    "eq-flops-scan",
    r"F_\text{two}",
    otherwise=T * H_v * (6 * d_k * d_v + 4 * C * d_v + 2 * s * C * d_k),
)
THREE = side(
    "eq-flops-scan",
    r"F_\text{three}",
    otherwise=T * H_v * (6 * d_k * d_v + 4 * C * d_v + 4 * C * d_k),
)
SIZES = list(product((1, 2), (1, 2), (2, 3), (2, 4), (1, 2)))  # H_k, C, d_k, d_v, slices


def scan_flops(h_k, c, m_, n_, slices, group=2, chunks_=2):
    """The scan on counting numbers, one slice of the values after the other."""
    tokens, h_v, part = c * chunks_, h_k * group, n_ // slices

    def work(q, k, v, UT, S):
        for j in range(slices):
            own = slice(j * part, (j + 1) * part)
            scan(q, k, v[..., own], np.zeros((h_v, tokens)), UT, S[:, own], C=c)

    shapes = (h_k, tokens, m_), (h_k, tokens, m_), (h_v, tokens, n_), (h_v, tokens, c)
    return 2 * multiplications(work, *shapes, (h_v, n_, m_))


def three_flops(h_k, c, m_, n_, group=2, chunks_=2):
    """W and U, then the states and the outputs of the design with three kernels."""
    tokens, h_v = c * chunks_, h_k * group

    def work(q, k, v, UT, W, E, S, H):
        for n_chunk in range(chunks_):
            own = slice(n_chunk * c, (n_chunk + 1) * c)
            UT[:, own] @ W[:, own], UT[:, own] @ v[:, own]
        states(k, W, v, np.zeros((h_v, tokens)), S, C=c)
        outputs(q, k, E, H, np.zeros((h_v, tokens)), C=c)

    keys, values = (h_k, tokens, m_), (h_v, tokens, n_)
    shapes = keys, keys, values, (h_v, tokens, c), (h_v, tokens, m_), values
    return 2 * multiplications(work, *shapes, (h_v, n_, m_), (h_v, chunks_, n_, m_))


@verifies(
    "eq-flops-scan",
    method="enumeration",
    covers="counted, 2 chunks of 1 and 2 tokens, 1 and 2 slices",
    mutants={
        "scores computed once": {"claim": SCAN.subs(s, 1)},
        "everything for each slice": {"claim": s * SCAN.subs(s, 1)},
        "scores for each key head": {"claim": SCAN - T * (H_v - H_k) * 2 * s * C * d_k},
        "the solve left out": {"claim": SCAN - 2 * T * H_v * C * d_v},
        "linear attention": {"claim": SCAN - 2 * T * H_v * d_k * d_v},
        "three kernels without W": {"three": THREE - 2 * T * H_v * C * d_k},
    },
)
def scan_is_counted(claim=SCAN, three=THREE):
    """K S, Q S and the update: 6; UT times the residual and scores times E: 4; the scores: 2 s.

    Three kernels: the scores once, and UT times K.
    """
    residuals = []
    for h_k, c, m_, n_, slices in SIZES:
        at = {T: 2 * c, C: c, d_k: m_, d_v: n_, H_k: h_k, H_v: 2 * h_k, s: slices}
        residuals.append(scan_flops(h_k, c, m_, n_, slices) - claim.subs(at))
        residuals.append(three_flops(h_k, c, m_, n_) - three.subs(at))
    return residuals


OVERLAP = side("eq-shared-keys", otherwise=T * H_k * d_k * (C + n))


@verifies(
    "eq-shared-keys",
    method="enumeration",
    covers="counted, 1 to 3 key heads, up to 4 blocks of 1 to 3 tokens",
    mutants={
        "for each value head": {"claim": OVERLAP * H_v / H_k},
        "the whole square": {"claim": 2 * T * H_k * C * d_k},
        "strictly below": {"claim": T * H_k * d_k * (C - n)},
    },
)
def overlaps_are_counted(claim=OVERLAP):
    """Blocks of n tokens on and below the diagonal of K K^T, once for each key head."""
    residuals = []
    for h_k, blocks, size, m_ in product((1, 3), (1, 2, 4), (1, 3), (1, 2)):

        def work(k, size=size):
            for head in k:
                rows = head.reshape(-1, size, head.shape[-1])
                [late @ early.T for a, late in enumerate(rows) for early in rows[: a + 1]]

        c = blocks * size
        at = {T: c, C: c, n: size, d_k: m_, H_k: h_k, H_v: 2 * h_k}
        residuals.append(2 * multiplications(work, (h_k, c, m_)) - claim.subs(at))
    return residuals


@verifies(
    "eq-recompute-scores",
    method="algebra",
    covers="every T, C, d_k, d_v, s, b, rho",
    mutants={
        "grows with C": {"most": 1 + b * rho / C},
        "written, not read": {"most": 1 + b * rho / (2 * d_k)},
        "with the first slice": {"most": b * rho / d_k},
    },
)
def recomputing_breaks_even(most=1 + b * rho / d_k):
    """At the limit, the FLOPs of s - 1 more score blocks take as long as moving one block twice."""
    again = SCAN - SCAN.subs(s, 1)
    moved = 2 * b * T * H_v * C
    on_page("eq-recompute-scores", None, most, letters={rho: r"\rho"})
    return sp.simplify((again - rho * moved).subs(s, most))


INTENSITY = side(
    "eq-scan-intensity",
    otherwise=(6 * d + 4 * C + 2 * s * C) / (2 * b * (1 + 1 / r) + (b * C + 4) / d),
)


@verifies(
    "eq-scan-intensity",
    method="algebra",
    covers="every C, s, b, d = d_k = d_v and r = H_v / H_k, long sequences",
    mutants={
        "keys not shared": {"claim": INTENSITY.subs(r, 1)},
        "no UT transform": {"claim": (6 * d + 4 * C + 2 * s * C) / (2 * b * (1 + 1 / r) + 4 / d)},
        "linear attention": {"claim": INTENSITY * (4 * d + 2 * C) / (6 * d + 4 * C + 2 * s * C)},
    },
)
def intensity_of_the_scan(claim=INTENSITY):
    """FLOPs of the scan over its own bytes: all of both kernels', less those of the first."""
    first = b * T * H_k * d_k + 8 * T * H_v + 4 * T * H_v + b * T * H_v * C
    own = FLOOR + TWO - first - 8 * H_v * d_k * d_v
    sizes = {d_k: d, d_v: d, H_v: r * H_k}
    return sp.simplify((SCAN / own).subs(sizes) - claim)
