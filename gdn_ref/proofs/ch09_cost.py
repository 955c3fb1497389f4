"""Chapter 9: what the forms of the delta rule cost, counted while the code runs.

Every claim is compared with the counts for a range of small sizes.
"""

from itertools import product

import numpy as np
import sympy as sp

from .. import delta_rule
from ..chunking import scan_chunks
from .ch05_cost import multiplications_of_a_step
from .counting import Traffic, depth, multiplications, numbers
from .page import side
from .registry import verifies
from .token_forms import ones_below, rows, solve, strict

C, T, d_k, d_v, d = sp.symbols("C T d_k d_v d", positive=True)
LOOP = side("eq-delta-flops-recurrent", otherwise=T * (6 * d_k * d_v + 2 * d_v))
LATE = side(
    "eq-delta-flops-chunk",
    r"\mathrm{FLOPs}_{\text{late}}",
    otherwise=6 * C * d_k * d_v + C**2 * (4 * d_k + 2) + C * (3 * C + 1) * d_v,
)
EARLY = side(
    "eq-delta-flops-chunk",
    r"\mathrm{FLOPs}_{\text{early}}",
    otherwise=LATE + C * (C + 1) * d_k,
    FLOPs_late=LATE,
)
WAITS = {
    words: side("eq-delta-depth", words, otherwise=otherwise)
    for words, otherwise in (
        ("token loop", 3 * T + 1),
        ("solved late", T + 2 * T / C),
        ("solved early", 2 * T / C + C + 1),
    )
}
STATES = side("eq-delta-memory", r"n_\text{loop}", otherwise=T * d_k * d_v)
KEPT = side("eq-delta-memory", r"n_\text{chunks}", otherwise=T * (d_k * d_v / C + C))
SAVING = side("eq-delta-saving", otherwise=2 * d * (T + 1) / (6 * d**2 + 7 * C * d + 2 * C + d))
SHORT = side("eq-delta-saving", at=2, otherwise=SAVING)  # the same, divided by 2 d
SIZES = list(product((1, 2, 3, 5), (1, 2, 3), (1, 2, 4)))  # C, d_k, d_v


def tokens(length, m, n):
    """Queries, keys, values and write strengths."""
    return numbers(length, m), numbers(length, m), numbers(length, n), numbers(length)


def late(S, q, k, v, beta):
    """The chunk form that solves when the state is there (eq-delta-solve)."""
    A = strict(rows(beta, k @ k.T))
    E = solve(A, rows(beta, v - k @ S.T))
    return q @ S.T + (ones_below(len(q), 0) * (q @ k.T)) @ E, S + E.T @ k


def prepare(k, v, beta):
    """What an early chunk form does without the state: W and U."""
    A = strict(rows(beta, k @ k.T))
    return solve(A, rows(beta, k)), solve(A, rows(beta, v))


def early(S, q, k, v, beta):
    """The chunk form that solves before the state is there (eq-delta-split)."""
    w, u = prepare(k, v, beta)
    E = u - w @ S.T
    return q @ S.T + (ones_below(len(q), 0) * (q @ k.T)) @ E, S + E.T @ k


def products(form, length, m, n):
    """How many products `form` takes for a chunk of this length."""
    return multiplications(lambda S: form(S, *tokens(length, m, n)), (n, m))


@verifies(
    "eq-delta-flops-recurrent",
    method="enumeration",
    covers="gdn_ref.delta_rule.step, counted, d_k and d_v to 4",
    mutants={
        "linear attention": {"claim": 4 * T * d_k * d_v},
        "beta forgotten": {"claim": LOOP - 2 * T * d_v},
        "a dense transition": {"claim": T * (2 * d_v * d_k**2 + 4 * d_k * d_v)},
    },
)
def one_token(claim=LOOP):
    """Read, scale, write, read out."""
    return [
        2 * multiplications_of_a_step(n, m) - claim.subs({T: 1, d_k: m, d_v: n})
        for m, n in product((1, 2, 3, 4), repeat=2)
    ]


@verifies(
    "eq-delta-flops-chunk",
    method="enumeration",
    covers="counted, C to 5, d_k to 3, d_v to 4",
    mutants={
        "linear attention": {"claim": 4 * C * d_k * d_v + 2 * C**2 * (d_k + d_v)},
        "the solve left out": {"claim": LATE - C * (C - 1) * d_v},
        "one product with the state missed": {"claim": LATE - 2 * C * d_k * d_v},
        "a full inverse": {"claim": LATE + C**3},
        "early as cheap as late": {"early_claim": LATE},
        "early without beta": {"early_claim": EARLY - 2 * C * d_k},
    },
)
def one_chunk(claim=LATE, early_claim=EARLY):
    """Late: K K^T, its scaling, K S^T, scaling, solve, Q S^T, Q K^T, scores E, E^T K."""
    residuals = []
    for c, m, n in SIZES:
        at = {C: c, d_k: m, d_v: n}
        residuals.append(2 * products(late, c, m, n) - claim.subs(at))
        residuals.append(2 * products(early, c, m, n) - early_claim.subs(at))
    return residuals


def run(form, chunks, length, m, n):
    """The depth of a run of chunks, each handing on its state.

    For the early form nothing before the first state is used in turn: W and U of every chunk
    have the depth they would have if all were prepared at once.
    """
    S, outputs = numbers(n, m), []
    for _ in range(chunks):
        O, S = form(S, *tokens(length, m, n))
        outputs.append(O)
    return depth(S, *outputs)


@verifies(
    "eq-delta-depth",
    method="enumeration",
    covers="counted, up to 4 chunks of up to 6 tokens",
    mutants={
        "three waits a chunk": {"split": WAITS["solved early"] + T / C},
        "no solve": {"split": WAITS["solved early"] - C},
        "the solve in every chunk": {"split": WAITS["solved late"]},
        "the loop waits once a token": {"loop": T + 1},
        "a late solve as shallow": {"solve": WAITS["solved early"]},
    },
)
def waits(split=WAITS["solved early"], solve=WAITS["solved late"], loop=WAITS["token loop"]):
    """The depth of a product is one more than that of what it multiplies; sums are free."""
    residuals = []
    for chunks, length in product((1, 2, 4), (2, 3, 6)):
        at = {T: chunks * length, C: length}
        residuals.append(run(early, chunks, length, 2, 2) - split.subs(at))
        residuals.append(run(late, chunks, length, 2, 2) - solve.subs(at))
        o, S = None, numbers(2, 2)
        for _ in range(chunks * length):
            o, S = delta_rule.step(S, numbers(2), numbers(2), numbers(2), numbers())
        residuals.append(depth(o, S) - loop.subs(at))
    return residuals


BYTES = side("eq-delta-bytes", otherwise=2 * d_k * d_v * T / C + T * (2 * d_k + 2 * d_v + 1))


def traffic(length, chunk, m, n):
    """What the chunks of `length` tokens take in and give back."""
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, length, m))
    v, beta = rng.normal(size=(length, n)), rng.uniform(size=length)
    moved = Traffic(delta_rule.chunk)
    scan_chunks(moved, np.zeros((n, m)), (q, k, v), (beta,), chunk)
    return moved


@verifies(
    "eq-delta-bytes",
    method="enumeration",
    covers="counted as what each gdn_ref.delta_rule.chunk takes and returns; T = 12, C = 1 to 12",
    mutants={
        "state read, not written": {"claim": BYTES - d_k * d_v * T / C},
        "state moved once": {"claim": BYTES - 2 * d_k * d_v * (T / C - 1)},
        "outputs forgotten": {"claim": BYTES - T * d_v},
    },
)
def moved(claim=BYTES):
    """The sizes of what each chunk takes and returns, each once."""
    residuals = []
    for c, m, n in product((1, 2, 3, 4, 6, 12), (1, 3), (2, 4)):
        found = traffic(12, c, m, n)
        total = found.rows + found.read + found.written
        residuals.append(total - claim.subs({T: 12, C: c, d_k: m, d_v: n}))
    return residuals


@verifies(
    "eq-delta-memory",
    method="enumeration",
    covers="counted as what each chunk takes; T = 12, C = 1 to 12",
    part="the states that chunks receive",
    mutants={
        "a state a token": {"states": STATES},
        "the token loop keeps vectors": {"loop": T * (d_k + d_v)},
        "vectors for states": {"states": T / C * (d_k + d_v)},
    },
)
def states_kept(states=KEPT - T * C, loop=STATES):
    """The numbers in the states that chunks receive; in the loop every token is a chunk."""
    return [
        traffic(12, c, m, n).read - claim.subs({T: 12, C: c, d_k: m, d_v: n})
        for claim, lengths in ((states, (1, 2, 3, 4, 6, 12)), (loop, (1,)))
        for c, m, n in product(lengths, (1, 3), (2, 4))
    ]


BEST = sp.sqrt(d_k * d_v)
LEAST = side("eq-delta-memory", r"n_\text{chunks}", 2, otherwise=2 * T * BEST)


@verifies(
    "eq-delta-memory",
    method="algebra",
    covers="every T, C, d_k, d_v",
    part="the least over all C",
    mutants={
        "C = d_k": {"best": d_k},
        "the least is half": {"least": LEAST / 2},
        "an inverse of C^2 a token": {"kept": T * (d_k * d_v / C + C**2)},
    },
)
def least_kept(kept=KEPT, best=BEST, least=LEAST):
    """States and inverses exceed the least by a square, which is zero at the best C."""
    square = T * (best / sp.sqrt(C) - sp.sqrt(C)) ** 2
    return [sp.expand(kept - least - square), sp.simplify(kept.subs(C, best) - least)]


@verifies(
    "eq-delta-saving",
    method="enumeration",
    covers="counted, T = 12, C = 1 to 12, d to 4",
    mutants={
        "T / C": {"claim": T / C},
        "T / (C + d)": {"claim": T / (C + d)},
        "the whole square": {"claim": SAVING * 2 * T / (T + 1)},
        "the recurrence's cost": {"claim": (T + 1) / (3 * d)},
    },
)
def saving(claim=SAVING):
    """Causal softmax takes t (d + d) products for token t; the chunks take what `late` counts."""
    residuals = [SAVING - SHORT]
    for c, n in product((1, 2, 3, 4, 6, 12), (1, 2, 4)):
        softmax = sum(t * 2 * n for t in range(1, 13))
        ratio = sp.Rational(softmax, 12 // c * products(late, c, n, n))
        residuals.append(sp.simplify(ratio - claim.subs({T: 12, C: c, d: n})))
    return residuals
