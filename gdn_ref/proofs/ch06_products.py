"""Checks of chapter 6: two transitions in a row, and many reflections."""

from sympy import cos, expand, sin, symbols, trigsimp

from . import verifies
from .page import on_page
from .words import reduce

beta, beta1, beta2, c, s = symbols("beta beta_1 beta_2 c s")
k1, k1T, k2, k2T = symbols("k_1 k_1^T k_2 k_2^T", commutative=False)
e1, e1T, e2, e2T = symbols("e_1 e_1^T e_2 e_2^T", commutative=False)
theta = symbols("theta", real=True)
PLANE = {e1T * e1: 1, e2T * e2: 1, e1T * e2: 0, e2T * e1: 0}  # e_1, e_2 orthonormal
PAGE = {"theta": r"\theta", "c": r"\boldsymbol{k}_1^\top\boldsymbol{k}_2"} | {
    f"{x}_{i}": tex.replace("i", str(i))
    for x, tex in {"e": r"\boldsymbol{e}_i", "k": r"\boldsymbol{k}_i", "beta": r"\beta_i"}.items()
    for i in (1, 2)
}


def reflection(cosine, sine):
    """I - 2 k k^T for the unit key cosine e_1 + sine e_2."""
    key, keyT = cosine * e1 + sine * e2, cosine * e1T + sine * e2T
    return 1 - 2 * key * keyT


@verifies(
    "eq-reflection-rotation",
    method="algebra",
    covers="every d >= 2, every angle",
    mutants={
        "the angle once": {"turn": theta},
        "the other way round": {"turn": -2 * theta},
        "order swapped": {"swapped": True},
    },
)
def two_reflections(turn=2 * theta, swapped=False):
    """Reflect in e_1, then in the key at angle theta: a turn by 2 theta in their plane."""
    first, second = reflection(1, 0), reflection(cos(theta), sin(theta))
    both = first * second if swapped else second * first  # the right factor acts first
    rotation = 1 + (cos(turn) - 1) * (e1 * e1T + e2 * e2T) + sin(turn) * (e2 * e1T - e1 * e2T)
    word = reduce(both - rotation, PLANE)
    pairs = [left * right for left in (e1, e2) for right in (e1T, e2T)]
    rest = expand(word - sum(word.coeff(pair) * pair for pair in pairs))
    on_page("eq-reflection-rotation", rotation, letters=PAGE)
    return [rest, *(trigsimp(expand(word.coeff(pair), trig=True)) for pair in pairs)]


@verifies(
    "eq-transition-commute",
    method="algebra",
    covers="every d, pair of keys, strengths",
    mutants={
        "always": {"factor": 0},
        "no betas": {"factor": c},
        "no cosine": {"factor": beta1 * beta2},
        "wrong sign": {"factor": -beta1 * beta2 * c},
    },
)
def commutator(factor=beta1 * beta2 * c):
    """P_1 P_2 - P_2 P_1 = beta_1 beta_2 (k_1 . k_2) (k_1 k_2^T - k_2 k_1^T)."""
    P1, P2 = 1 - beta1 * k1 * k1T, 1 - beta2 * k2 * k2T
    claim = factor * (k1 * k2T - k2 * k1T)
    on_page("eq-transition-commute", claim, letters=PAGE)
    return reduce(P1 * P2 - P2 * P1 - claim, {k1T * k2: c, k2T * k1: c})


@verifies(
    "eq-parity",
    method="algebra",
    covers="every state, one more token",
    mutants={
        "projections instead": {"strength": 1},
        "strength 2 on every token": {"on_zero": 2},
    },
    inputs={"a key of length 2": {"norm2": 4}},
)
def parity(strength=2, on_zero=0, norm2=1):
    """S k (-1)^count, after one more bit: the key's answer turns its sign exactly on a 1."""
    S, k, kT = symbols("S k k^T", commutative=False)
    sign = symbols("sign")  # (-1)^count so far, taken out of the state
    residual = []
    for bit, used in ((0, on_zero), (1, strength)):
        word = reduce(sign * S * (1 - used * k * kT) * k, {kT * k: norm2})
        residual.append(expand(word - sign * (-1) ** bit * S * k))
    b = symbols("b")
    letters = {
        sign: lambda at: (-1) ** sum(at(f"b_{{{t}}}") for t in range(1, at.scope["T"])),
        b: "b_T",
        S: r"\mathbf{S}_0",
        k: r"\boldsymbol{k}",
    }
    on_page("eq-parity", sign * (-1) ** b * S * k, letters=letters)
    return residual
