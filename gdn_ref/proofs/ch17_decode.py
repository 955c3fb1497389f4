"""Chapter 17: a sequence that goes on, the bytes of its next tokens, two programs on a slot."""

from itertools import product

import numpy as np
import sympy as sp

from .ch14_kernels import Memory, heads, shared
from .counting import multiplications
from .page import on_page, side, value
from .registry import verifies


def decode(q, k, v, g, beta, S):
    """The tokens of one sequence, one by one: each key head's row is read once."""
    group, outputs = len(v) // len(k), []
    q, k = shared(q, group), shared(k, group)
    for t in range(v.shape[1]):
        S = np.exp(g[:, t])[:, None, None] * S
        read = (S @ k[:, t, :, None])[..., 0]
        delta = beta[:, t, None] * (v[:, t] - read)
        S = S + delta[:, :, None] * k[:, t, None, :]
        outputs.append((S @ q[:, t, :, None])[..., 0])
    return {"o": np.stack(outputs, axis=1), "S_last": S}


class Pool(Memory):
    """A memory whose states have `b_S` bytes a number."""

    def __init__(self, b, b_S, **arrays):
        super().__init__(b, **arrays)
        self.b_S = b_S

    def bytes(self, name, array):
        return array.size * self.b_S if name in ("S", "S_last") else super().bytes(name, array)


def counted(N, n, H_k, H_v, d_k, d_v, b, b_S, copies=1):
    """Bytes that a call for n tokens of N sequences moves; `copies` of each query and key."""
    arrays = heads(T=n, H_k=H_k, H_v=H_v, d_k=d_k, d_v=d_v)
    arrays |= {name: shared(arrays[name], copies) for name in ("q", "k")}
    memory = Pool(b, b_S, **arrays)
    for _ in range(N):
        memory.run(decode)
    return sum(memory.moved.values())


def call_bytes(N, n, H_k, H_v, d_k, d_v, b, b_S, moves=2, small=8):
    """The claim: states in and out, and what each token brings and takes (eq-decode-bytes)."""
    token = 2 * b * (H_k * d_k + H_v * d_v) + small * H_v
    return N * (moves * b_S * H_v * d_k * d_v + n * token)


SIZES = [(*x, d_k, d_v, 2, b_S) for x in product((1, 3), (1, 4), (2,), (2, 6))
         for d_k, d_v in ((3, 5), (4, 2)) for b_S in (2, 4)]  # fmt: skip
LETTERS = ("N", "n", "H_k", "H_v", "d_k", "d_v", "b", "b_S")
COUNTED = "counted as what a call takes and returns; 1 and 3 sequences, 1 and 4 tokens"


n, r, b, b_S, d_k, d_v, H_k, H_v = sp.symbols("n r b b_S d_k d_v H_k H_v", positive=True)
SPARED = side("eq-grouped-bytes", otherwise=2 * b * (H_v - H_k) * d_k)


def named(sizes):
    return dict(zip(LETTERS, sizes, strict=True))


@verifies(
    "eq-decode-bytes",
    method="enumeration",
    covers=COUNTED,
    mutants={
        "the state is only read": {"claim": lambda *x: call_bytes(*x, moves=1)},
        "the state for every token": {
            "claim": lambda N, n, *x: n * call_bytes(N, 1, *x) + (n == 1) * N
        },
        "a query and key for each value head": {
            "claim": lambda N, n, H_k, H_v, *x: call_bytes(N, n, H_v, H_v, *x)
        },
        "no gates": {"claim": lambda *x: call_bytes(*x, small=0)},
    },
)
def a_call_is_counted(claim=call_bytes):
    """What the call moves, against the formula."""
    found = [(x, counted(*x)) for x in SIZES]
    return [
        moved - formula
        for x, moved in found
        for formula in (claim(*x), value("eq-decode-bytes", otherwise=moved, **named(x)))
    ]


@verifies(
    "eq-grouped-bytes",
    method="enumeration",
    covers=COUNTED,
    mutants={
        "keys alone": {"claim": SPARED / 2},
        "all of them": {"claim": SPARED.subs(H_k, 0)},
        "once a call": {"claim": SPARED / n},
    },
)
def sharing_is_counted(claim=SPARED):
    """Bytes with a copy of each query and key for every value head, minus those without."""
    residuals = []
    for x in SIZES:
        at = named(x)
        saved = counted(*x, copies=at["H_v"] // at["H_k"]) - counted(*x)
        formula = claim.subs({letter: at[str(letter)] for letter in claim.free_symbols})
        residuals.append(saved - at["N"] * at["n"] * formula)
    return residuals


TOKEN = 2 * b * (d_k / r + d_v) + 8
ROOF = side("eq-decode-intensity", at=2, otherwise=4 * n / b_S)
INTENSITY = side(
    "eq-decode-intensity", otherwise=8 * n * d_k * d_v / (2 * b_S * d_k * d_v + n * TOKEN)
)


def token_flops(d_k, d_v):
    """The products of one token and value head, on numbers that count; beta is left out."""

    def step(S, k, v, q, alpha):
        S = S * alpha[0]
        delta = v - S @ k
        return (S + delta[:, None] * k[None, :]) @ q

    return 2 * multiplications(step, (d_v, d_k), (d_k,), (d_v,), (d_k,), (1,))


@verifies(
    "eq-decode-intensity",
    method="algebra",
    covers="every size",
    part="the inequality, and that nothing less bounds it",
    mutants={
        "below 2 n / b_S": {"roof": ROOF / 2},
        "the roof of one token": {"roof": ROOF / n},
        "twice the roof": {"roof": 2 * ROOF},
    },
)
def below_the_roof(roof=ROOF):
    """What the roof is more by is positive; and it is met where a token brings nothing."""
    above = (roof - INTENSITY).together().factor()
    return [int(not above.is_positive), sp.simplify(INTENSITY.subs(TOKEN, 0) - roof)]


@verifies(
    "eq-decode-intensity",
    method="enumeration",
    covers="counted, three sizes of heads, 4 tokens",
    part="the quotient",
    mutants={
        "without the decay": {"claim": INTENSITY * sp.Rational(6, 8)},
        "the state is only read": {
            "claim": 8 * n * d_k * d_v / (b_S * d_k * d_v + n * TOKEN),
        },
    },
)
def flops_over_bytes(claim=INTENSITY):
    """Counted FLOPs over counted bytes."""
    residuals = []
    for heads_k, group, width_k, width_v in ((2, 1, 3, 5), (2, 3, 4, 2), (1, 2, 4, 4)):
        heads_v = heads_k * group
        moved = counted(1, 4, heads_k, heads_v, width_k, width_v, 2, 4)
        flops = 4 * heads_v * token_flops(width_k, width_v)
        values = {n: 4, r: group, b: 2, b_S: 4, d_k: width_k, d_v: width_v}
        residuals.append(sp.Rational(flops, moved) - claim.subs(values))
    return residuals


S, F1, F2, G1, G2 = sp.symbols("S F_1 F_2 G_1 G_2", commutative=False)


@verifies(
    "eq-slot-race",
    method="algebra",
    covers="every size, any two sets of tokens",
    mutants={
        "the first's change as it was": {"claim": (S * F1 + G1) - S},
        "the first's write alone": {"claim": G1 * F2},
        "as if the first had won": {"winner": S * F1 + G1},
    },
)
def the_first_is_lost(
    claim=((S * F1 + G1) - S) * F2,
    winner=S * F2 + G2,
):
    """One after the other, minus what is left if both read first."""
    both = (S * F1 + G1) * F2 + G2
    names = {f"{x}_{n}": rf"\mathbf{{{x}}}_{n}" for x in "FG" for n in (1, 2)}
    on_page("eq-slot-race", claim, letters=names)
    return sp.expand(both - winner - claim)
