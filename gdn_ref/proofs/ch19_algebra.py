"""Chapter 19: what computer algebra says of the block's formulas; no arrays and no torch."""

import sympy as sp

from .page import on_page
from .registry import verifies

D = sp.Symbol("d", positive=True)


@verifies(
    "eq-conv-backward",
    method="algebra",
    covers="every z",
    part="the slope of the activation",
    mutants={
        "the sigmoid alone": {"claim": lambda z, s: s},
        "sign of the second term": {"claim": lambda z, s: s * (1 - z * (1 - s))},
    },
)
def slope_of_silu(claim=lambda z, s: s * (1 + z * (1 - s))):
    """The derivative of z sigma(z)."""
    z = sp.Symbol("z", real=True)
    s = 1 / (1 + sp.exp(-z))
    slope = sp.Symbol("dy") * claim(z, sp.Symbol("s"))
    letters = {"dy": r"\mathrm dy_t", "s": "s_t", "z": "z_t"}
    on_page("eq-conv-backward", s, letters=letters)
    on_page("eq-conv-backward", slope, of=1, letters=letters)
    return sp.simplify(sp.diff(z * s, z) - claim(z, s))


@verifies(
    "eq-gate-start",
    method="algebra",
    covers="every range and rate",
    part="the integral behind the closed form",
    mutants={"A from zero": {"start": 0}, "not divided by Delta": {"power": 0}},
)
def integral_over_delta(start=1, power=1):
    """The share of A below rate / Delta, averaged over the logarithm of Delta from low to high."""
    x, rate, a0, a1, low, high = sp.symbols("x rho A_0 A_1 l u", positive=True)
    share = sp.expand((rate / x - start * a0) / x**power)
    found = sum(sp.integrate(term, (x, low, high)) for term in sp.Add.make_args(share))
    claim = rate * (1 / low - 1 / high) - a0 * sp.log(high / low)
    whole = sp.log(low / sp.Symbol("D")) + claim / (a1 - a0)
    letters = {rate: r"\rho", "D": r"\Delta_0"}
    on_page("eq-gate-start", whole, letters=letters)
    return sp.simplify(sp.expand_log(found - claim, force=True))


@verifies(
    "eq-norm-scale",
    method="algebra",
    covers="every output, every size, every positive factor",
    mutants={
        "eps stays": {"power": 0},
        "eps over c": {"power": 1},
        "eps times c squared": {"power": -2},
    },
)
def factor_moves_to_eps(power=2):
    """Squares of an entry of both sides; both entries have the sign of o."""
    o, m, c, eps = sp.symbols("o m c epsilon", positive=True)  # entry, mean square
    scaled = (c * o) ** 2 / (c**2 * m + eps)
    scaled_back = sp.Symbol("o") / sp.sqrt(m + eps / c**power)
    mean = lambda at: (at(r"\boldsymbol o") ** 2).mean()
    letters = {m: mean, "o": r"\boldsymbol o", eps: r"\varepsilon"}
    on_page("eq-norm-scale", scaled_back, letters=letters)
    return sp.simplify(scaled - o**2 / (m + eps / c**power))


@verifies(
    "eq-norm-gradient",
    method="algebra",
    covers="every size, entries on and off the diagonal of the Jacobian",
    part="the norm without its weight and gate",
    mutants={"norm held fixed": {"pull": 0}, "sum, not mean": {"pull": D}, "sign": {"pull": -1}},
)
def jacobian_of_the_norm(pull=1):
    """The derivatives of two entries of n by one entry of o, less (I - n n^T / d) / r."""
    o, other, rest, eps = sp.symbols("o p R epsilon", positive=True)  # R: the other squares / d
    r = sp.sqrt(o**2 / D + rest + eps)
    on = sp.diff(o / r, o) - (1 - pull * (o / r) ** 2 / D) / r
    off = sp.diff(other / r, o) + pull * o * other / r**3 / D
    n, dn, along = sp.symbols("n dn n_dn")
    letters = {n: r"\boldsymbol n", dn: r"\mathrm d\boldsymbol n", "r": "r", D: "d_v"}
    letters |= {along: r"\boldsymbol n^\top\mathrm d\boldsymbol n"}
    on_page("eq-norm-gradient", (dn - pull * along / D * n) / sp.Symbol("r"), letters=letters)
    return [sp.simplify(on), sp.simplify(off)]
