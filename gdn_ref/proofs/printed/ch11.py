"""Chapter 11: the chunk form of the gated delta rule, as it is printed."""

from fractions import Fraction
from functools import cache, partial

import numpy as np

from ... import chunking, wy
from ..data import hard_inputs
from . import cases
from .cases import sizes
from .ch08 import INVERSE
from .ch10 import ABOVE
from .check import printed
from .rule import rule, rule_from_zero
from .values import entries
from .world import World

LOOP = "the token loop"

GAMMAS = {
    "divided": [r"\gamma_{r}", r"\gamma_{r - 1}"], "similarity": [r"\mathbf{D}_{\gamma}^{- 1}"],
}  # fmt: skip
for label, gammas in GAMMAS.items():
    no_value = dict.fromkeys(gammas, "the text: no decay is zero")
    printed(f"eq-gdn-{label}", rule, against=LOOP, excluded=cases.RESET, no_value=no_value)
printed("eq-gdn-unrolled eq-gdn-transition", rule_from_zero, against=LOOP)
printed("eq-gdn-writes", rule_from_zero, against=LOOP, equal=ABOVE)
printed(
    "eq-gdn-products",
    rule_from_zero,
    against="products of the factors, token by token",
    defines=True,
)
printed("eq-gdn-interaction", rule, against="gdn_ref.wy.interaction", defines=True)
printed("eq-wy-u eq-gdn-delta-split", rule, against=LOOP)
printed("eq-gdn-w-gated", rule, against=LOOP, equal=INVERSE)
printed("eq-gdn-chunk-delta eq-gdn-chunk-state eq-gdn-chunk-output", rule, against=LOOP)
printed("eq-affine-chunk eq-gdn-ut-transform", rule, against=LOOP)


def products(alpha):
    """Gamma, entry by entry: the decays from token i to token r."""
    n, zero = range(len(alpha)), 0 * alpha[0]
    return np.array([[np.prod(alpha[i + 1 : r + 1]) if i <= r else zero for i in n] for r in n])


@cache
def unit_keys(draw, length=1):
    """Keys of norm one in fractions, neighbours that are equal, overlaps of either sign, strengths
    from 0 to 2."""
    kind = draw.seed % 3
    C = (6, 4, 3)[kind]
    fifths = [(3, 4), (3, 4), (-4, 3), (5, 0), (5, 0), (4, -3), (3, 4)][kind:][:C]
    k = length * np.array([[Fraction(a, 5), Fraction(b, 5)] for a, b in fifths])
    beta = [Fraction(n, 4) for n in ((3, 8, 2, 0, 4, 5), (4, 3, 1, 8), (0, 5, 2))[kind]]
    alpha = [Fraction(int(n), 8) for n in draw.rng.integers(3, 8, size=C)]
    Gamma = products(alpha)
    A = np.array(beta)[:, None] * (k @ k.T) * np.tril(np.ones((C, C), dtype=int), -1)
    letters = {
        r"\mathbf{A}": A, r"\tilde{\mathbf{A}}": A * Gamma, r"\Gamma_": entries(Gamma),
        r"\beta_": entries(np.array(beta, dtype=object)),
    }  # fmt: skip
    return World(letters, {"r": range(1, C + 1), "i": range(1, C + 1)})


LARGER = "weaker, and true: no number exceeds its size"
SAME_BOUND = "the entries of the matrix itself have the same bound, for unit keys"
printed(
    "eq-gdn-inverse",
    unit_keys,
    against="products of decays",
    arithmetic="rational",
    needs={"keys of unit length": partial(unit_keys, length=2)},
    equal={
        r"no power: (\mathbf{I} + \tilde{\mathbf{A}})^{- 1}": SAME_BOUND,
        "sign of 1": SAME_BOUND,
        r"minus what is in |[(\mathbf{I} + \tilde{\mathbf{A}})^{- 1}]_{ri}|": LARGER,
        "> for <": "above the diagonal both sides are zero",
    },
)


def decays(draw):
    """The decays of a chunk, and what is lost at each step."""
    alpha = cases.decays(draw, sizes(draw)[0])
    lost = np.array([alpha[0] * 0 + 1, *(1 - a * a for a in alpha[1:])])
    Gamma = products(alpha)
    return World({r"\boldsymbol{\Gamma}": Gamma, r"\mathbf{D}_\lambda": np.diag(lost)})


printed("eq-decay-gram", decays, against="products of the decays")


# Unit keys, in fifths: where the second and the last token decay alone, A A^T and A^T A are further
# apart than without a decay.
FIFTHS = np.array([[0, 0, 5], [-4, 0, -3], [4, -3, 0], [0, 5, 0]])
STRENGTHS, NEARLY = np.array([1.5, 0.5, 1.5, 1]), np.log([1, 0.01, 1, 0.01])


def systems(draw):
    """The same keys and strengths with decays and without: there the bounds are attained."""
    T, d_k, d_v = sizes(draw)
    _, k, _, g, beta, _ = hard_inputs(T=T, d_k=d_k, d_v=d_v, seed=draw.seed)
    if cases.case(draw) == cases.SINGLE:
        k, beta, g = FIFTHS / 5, STRENGTHS, NEARLY / 8
    A = wy.interaction(k, beta)
    each = [np.log(0.01) * row for row in np.eye(len(g))]  # one token decays, and no other
    gated = [wy.interaction(k, beta, chunking.decay(x)[1]) for x in (8 * g, 0 * g, *each)]
    return World({r"\mathbf{A}": A}, {r"\tilde{\mathbf{A}}": gated})


VALUES = "a matrix and its transpose have the same singular values"
printed(
    "eq-decay-condition",
    systems,
    against="gdn_ref.wy.interaction",
    arithmetic="float64",
    equal={r"\mathbf{A} transposed": VALUES, r"\tilde{\mathbf{A}} transposed": VALUES},
)
