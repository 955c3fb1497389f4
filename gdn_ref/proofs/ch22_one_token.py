"""Checks of chapter 22: what one token does again and again, and what it makes of two items."""

from itertools import permutations as pairs_of

import numpy as np
import sympy as sp
from sympy import QQ, ring

from . import verifies
from .page import TOKEN, on_page
from .words import reduce

alpha, beta, r = sp.symbols("alpha beta r")  # r stands for (1 - beta)^n
k, kT = sp.symbols("k k^T", commutative=False)
S, T, C, F, G, P = sp.symbols("S T C F G P", commutative=False)
b = sp.symbols("b", real=True)
HALF, QUARTER = sp.Rational(1, 2), sp.Rational(1, 4)
CONTRAST = (1 - sp.exp(-b)) / (1 + sp.exp(-b))

ITEMS = {
    "the whole strength": {"share": lambda beta: beta},
    "the share kept and the share taken exchanged": {"share": lambda beta: 1 - beta / 2},
    "the other item with the wrong sign": {"sign": -1},
}


@verifies(
    "eq-swap-strength",
    method="polynomial",
    covers="five items, each pair of them; every strength and all contents are symbols",
    mutants=ITEMS,
)
def two_items(share=lambda beta: beta / 2, sign=1):
    """The token loop on a row, `s - beta (s k) k^T` with `k = (e_i - e_j) / sqrt 2`, so that
    `k k^T` is half of an integer matrix. All other items stay."""

    def mixed(strength, own, other):
        taken = share(strength)
        return (1 - taken) * own + sign * taken * other

    d = 5
    _, strength, *row = ring(["beta", *(f"s{i}" for i in range(d))], QQ)
    found = []
    for i, j in pairs_of(range(d), 2):
        e = np.zeros(d, dtype=object)
        e[i], e[j] = 1, -1
        after = [s - strength / 2 * (row[i] - row[j]) * x for s, x in zip(row, e, strict=True)]
        claim = list(row)
        claim[i], claim[j] = mixed(strength, row[i], row[j]), mixed(strength, row[j], row[i])
        found += [x - y for x, y in zip(after, claim, strict=True)]
    for of, letters in enumerate(((r"\beta", "s_i", "s_j"), (r"\beta", "s_j", "s_i"))):
        on_page("eq-swap-strength", lambda at, x=letters: mixed(*map(at, x)), of=of)
    return found


def power(of_alpha, eigenvalue):
    """`alpha^n (I + ((1 - beta)^n - 1) k k^T)`, from the two powers."""
    return of_alpha * (1 + (eigenvalue - 1) * k * kT)


@verifies(
    "eq-transition-power",
    method="algebra",
    covers="every d, every n by induction, every decay and strength",
    mutants={
        "1 + beta": {"sign": 1},
        "the decay once": {"decays": 0},
        "one power fewer along the key": {"first": 1 / (1 - beta)},
        "nothing across the key": {"claim": lambda a, x: a * x * k * kT},
    },
    inputs={"a key of length 2": {"norm2": 4}},
)
def powers(sign=-1, decays=1, first=1, claim=power, norm2=1):
    """From n to n + 1 tokens, and n = 0. `a` stands for `alpha^n`, `r` for `(1 - beta)^n`."""
    a, rules = sp.symbols("a"), {kT * k: norm2}
    factor = alpha * (1 - beta * k * kT)
    step = claim(a * alpha**decays, r * (1 + sign * beta)) - claim(a, r) * factor
    n, letters = sp.Symbol("n"), {k: r"\boldsymbol{k}", alpha: r"\alpha", beta: r"\beta"}
    on_page("eq-transition-power", claim(alpha**n, (1 + sign * beta) ** n), letters=letters)
    return [reduce(step, rules), reduce(claim(1, first) - 1, rules)]


@verifies(
    "eq-repeat-step",
    method="algebra",
    covers="every shape, every n by induction; any transition and any write",
    mutants={
        "the transition on the left": {"last": lambda change: F * change},
        "one power more": {"first": F},
        "the state itself": {"first": None},
    },
)
def repeated(last=lambda change: change * F, first=1):
    """The next change is the last one through the transition; the first is itself."""
    before, now = T * F + G, S * F + G  # the token, on the states T and S
    step = sp.expand((now - before) - last(S - T))
    change = S - T
    base = (S if first is None else change * first) - change

    def printed(at):
        power = C * first
        for _ in range(at("n")):
            power = last(power)
        return at.value(power, {C: r"\mathbf{S}_1-\mathbf{S}_0", F: r"\mathbf{F}"})

    on_page("eq-repeat-step", printed)
    return [step, sp.expand(base)]


@verifies(
    "eq-empty-start",
    method="algebra",
    covers="every shape, key and strength",
    mutants={
        "the state without its place": {"place": 0},
        "the place added": {"place": -C},
        "the transition on the left": {"left": True},
        "values of the other sign": {"value": -C * k},
        "the product without the identity": {"unrolled": lambda P: C * P},
    },
)
def empty_start(place=C, left=False, value=None, unrolled=lambda P: C * (1 - P)):
    """The delta rule with the value `C k`, against the same state seen from the place C. From the
    product of all transitions so far to that with one more, and nothing from none of them."""
    value = C * k if value is None else value
    factor = 1 - beta * k * kT
    after = S * factor + beta * value * kT
    seen = factor * (S - place) if left else (S - place) * factor
    step = after.subs(S, unrolled(P)) - unrolled(P * factor)
    letters = TOKEN | {"C": r"\mathbf{C}", "P": r"\mathbf{P}^{t-1}"}
    on_page("eq-empty-start", after - place, seen, letters=letters)
    on_page("eq-empty-start", unrolled(P * factor), of=1, letters=letters)
    return [reduce(word, {}) for word in (after - place - seen, step, unrolled(1))]


@verifies(
    "eq-doubled-sigmoid",
    method="algebra",
    covers="every real number",
    mutants={
        "twice the logit": {"claim": CONTRAST.subs(b, 2 * b)},
        "the other sign": {"claim": -CONTRAST},
        "a sigmoid that is not doubled": {"reach": 1},
    },
)
def doubled_sigmoid(claim=CONTRAST, reach=2):
    """`beta - 1` for `beta = 2 sigma(b)`."""
    on_page("eq-doubled-sigmoid", claim)
    return sp.simplify(reach / (1 + sp.exp(-b)) - 1 - claim)


@verifies(
    "eq-tracking-life",
    method="algebra",
    covers="every positive logit; the bound by its derivative in exp(-b), which is not negative",
    mutants={
        "a quarter is left": {"left": QUARTER},
        "the logarithm of the strength": {"of": lambda rho: 1 + rho},
        "twice the bound": {"bound": 1},
        "half the bound": {"bound": 4},
    },
)
def tracking_life(left=HALF, of=lambda rho: rho, bound=2):
    """`rho^n` is one half. With x for `exp(-b)`, below 1: `-ln rho` and `2 x` agree at 0, and what
    the first grows faster by is `2 x^2 / (1 - x^2)`."""
    x, rest = sp.symbols("x", positive=True), sp.symbols("rho", positive=True)
    n = sp.log(left) / sp.log(of(rest))
    life = sp.expand_log(sp.simplify(n * sp.log(rest) - sp.log(HALF)))
    minus_log, least = -sp.log((1 - x) / (1 + x)), bound * x
    faster = sp.simplify(sp.diff(minus_log - least, x) - 2 * x**2 / (1 - x**2))
    letters = {x: r"\exp(-b)", rest: r"\rho"}
    on_page("eq-tracking-life", n, n, -sp.log(left) / least, letters=letters)
    return [life, minus_log.subs(x, 0), faster]
