"""Chapter 4: how long a fading memory lasts, what it recalls of a stream, and the gate."""

from itertools import product

import numpy as np
from sympy import (
    Function,
    Rational,
    Symbol,
    diff,
    exp,
    expand,
    expand_log,
    limit,
    log,
    oo,
    simplify,
    sqrt,
    symbols,
)

from .ch02_crosstalk import one_pair_more
from .data import relative_error
from .page import on_page
from .registry import verifies

alpha, u = symbols("alpha u", positive=True)
n, m, d = symbols("n m d", positive=True, integer=True)
rate = symbols("rate", positive=True)  # |g|, so that alpha = exp(-rate)
HALF_LIFE = log(2) / rate


@verifies(
    "eq-half-life",
    method="algebra",
    covers="every decay in (0, 1), every number of tokens",
    mutants={
        "base 2": {"half_life": 1 / rate},
        "1 - alpha for |g|": {"half_life": log(2) / (1 - exp(-rate))},
        "one term too many": {"window": (1 - alpha ** (n + 1)) / (1 - alpha)},
        "without its own write": {"window": alpha * (1 - alpha**n) / (1 - alpha)},
        "1 / |g| as the limit": {"whole": lambda alpha: -1 / log(alpha)},
    },
)
def half_life_and_window(
    half_life=HALF_LIFE,
    window=(1 - alpha**n) / (1 - alpha),
    whole=lambda alpha: 1 / (1 - alpha),
):
    """alpha^n = 1/2 at the half-life; the sum of weights by induction from the empty sum; and its
    limit for many tokens, where alpha = exp(-rate) is below 1."""
    halved = exp(-rate * half_life) - Rational(1, 2)
    base = window.subs(n, 0)
    step = window + alpha**n - window.subs(n, n + 1)
    many = limit(window.subs(alpha, exp(-rate)), n, oo) - whole(exp(-rate))
    on_page("eq-half-life", half_life, letters={rate: "|g|"})
    on_page("eq-half-life", window, window, whole(alpha), of=1, letters={alpha: r"\alpha"})
    return [simplify(halved), simplify(base), simplify(step), simplify(many)]


@verifies(
    "eq-decay-recall",
    method="polynomial",
    covers="3 tokens, d_k = 2 and 3, all values symbols, keys over every +-e_i",
    mutants={
        "1 for 1/d_k": {"share": lambda d_k: Rational(1)},
        "decay not squared": {"power": 1},
        "the token itself counted": {"others": lambda age, n=3: range(n)},
    },
)
def crosstalk_of_a_stream(
    share=lambda d_k: Rational(1, d_k),
    power=2,
    others=lambda age, n=3: [t for t in range(n) if t != age],
):
    """The mean of ||S k_m - alpha^m v_m||^2 over independent keys.

    It is quadratic in every key but k_m, so all that matters of their distribution is the mean of
    k k^T, which is I / d_k for uniform unit keys and for +-e_i alike: the mean is a finite sum.
    """
    values = symbols("v_0:3")
    residual = []
    for d_k in (2, 3):
        units = [(axis, sign) for axis in range(d_k) for sign in (1, -1)]
        for age in range(3):
            total = 0
            for keys in product(units, repeat=3):
                overlap = [s * keys[age][1] * (a == keys[age][0]) for a, s in keys]
                error = sum(alpha**t * overlap[t] * values[t] for t in range(3) if t != age)
                total += expand(error**2)
            mean = total / len(units) ** 3
            claim = share(d_k) * sum(alpha ** (power * t) * values[t] ** 2 for t in others(age))
            residual.append(expand(mean - claim))

    def printed(at):
        ages = np.array(others(at.scope["m"], 10_000))
        return float(share(at("d_k"))) * (at(r"\alpha") ** (power * ages)).sum()

    on_page("eq-decay-recall", printed)
    return residual


@verifies(
    "eq-decay-recall",
    method="algebra",
    covers="independent keys, every number of tokens, d_k, d_v",
    part="the first line: a token adds the square of its weight over d_k, and no mixed term",
    mutants={
        "1 for 1/d_k": {"share": 1},
        "decay not squared": {"squared": alpha**m},
        "mixed terms kept": {"mixed": 1},
    },
    inputs={"keys with a mean": {"mean": Rational(1, 2)}},
)
def tokens_add_up(**changed):
    """Induction over the tokens, as for eq-crosstalk-mean: token m has the weight alpha^m."""
    letters = {alpha: r"\alpha", "others": r"\sum_{j \ne m}\alpha^{2j}"}
    share = changed.get("share", 1 / Symbol("d_k"))
    on_page("eq-decay-recall", share * Symbol("others"), letters=letters)
    return one_pair_more(alpha**m, **changed)


@verifies(
    "eq-decay-recall",
    method="algebra",
    covers="every age m, every number of tokens",
    part="the second line: the sum over all tokens but one",
    mutants={
        "decay not squared": {"power": 1},
        "the token itself counted": {"own": 0},
        "the token's weight not squared": {"own": alpha**m},
    },
)
def sum_of_the_others(power=2, own=alpha ** (2 * m)):
    """sum_{j<n} alpha^2j by induction, and without j = m from n = m + 1 on; then its limit."""

    def whole(n):
        return (1 - alpha ** (power * n)) / (1 - alpha**power)

    def others(n):
        return whole(n) - own

    base, step = whole(0), whole(n) + alpha ** (2 * n) - whole(n + 1)
    start = others(m + 1) - whole(m)
    last = limit(exp(-power * rate * n), n, oo)  # alpha = exp(-rate)
    endless = (1 - last) / (1 - alpha**power) - own - (1 / (1 - alpha**2) - alpha ** (2 * m))
    all_but_one = (1 / (1 - alpha**2) - own) / d
    on_page("eq-decay-recall", all_but_one, letters={alpha: r"\alpha", d: "d_k"})
    return [simplify(part) for part in (base, step, start, endless)]


@verifies(
    "eq-best-decay",
    method="algebra",
    covers="every age m",
    mutants={
        "m for the square": {"best": (m / (m + 1)) ** 2},
        "(m - 1) / m": {"best": (m - 1) / m},
        "half-life m": {"best": 2 ** (-2 / m)},
    },
)
def best_decay(best=m / (m + 1)):
    """The ratio is d x / (1 - x) with x = u^m (1 - u), u = alpha^2: it grows with x, and x'
    changes its sign once, from plus to minus, at the best u."""
    x = u**m * (1 - u)
    ratio = Function("x")(u)
    grows = diff(d * ratio / (1 - ratio), u) - d * diff(ratio, u) / (1 - ratio) ** 2
    # x' = u^(m-1) (m + 1) (best - u)
    slope = diff(x, u) - u ** (m - 1) * (m + 1) * (best - u)
    on_page("eq-best-decay", sqrt(best))
    return [simplify(grows), simplify(slope)]


a, bias, A_log = symbols("a dt_bias A_log", real=True)
GATE = {a: "x_t", bias: 0, A_log: r"\ln A"}  # x_t is a + dt_bias
A = exp(A_log)


def softplus(x):
    return log(1 + exp(x))


def sigmoid(x):
    return 1 / (1 + exp(-x))


SLOPE = -A * sigmoid(a + bias)


@verifies(
    "eq-decay-gate",
    method="algebra",
    covers="every a, dt_bias and A_log",
    mutants={
        "A_log left out": {"power": 1},
        "sign of the projection": {"inside": a + bias},
        "A_log for exp(A_log)": {"power": A_log},
    },
)
def gate_as_a_power(power=A, inside=-(a + bias)):
    """The logarithms of both sides of exp(-exp(A_log) softplus(x)) = sigmoid(-x)^exp(A_log)."""
    g = -A * softplus(a + bias)
    on_page("eq-decay-gate", g, letters=GATE)
    on_page("eq-decay-gate", exp(g), exp(g), sigmoid(inside) ** power, of=1, letters=GATE)
    return simplify(expand_log(g - power * log(sigmoid(inside)), force=True))


@verifies(
    "eq-decay-gate",
    method="float64",
    covers="a + dt_bias from -30 to 30, exp(A_log) from 0.01 to 16",
    mutants={
        "exp(-softplus), without A_log": {"power": lambda A_log: 1.0},
        "2^ for exp": {"power": lambda A_log: 2**A_log},
    },
)
def gate_in_numbers(power=np.exp):
    """The same in floating point, softplus by `logaddexp`, as libraries compute it."""
    x = np.linspace(-30, 30, 61)[:, None]
    logs = np.log(np.geomspace(0.01, 16, 9))
    gate = np.exp(-np.exp(logs) * np.logaddexp(0, x))

    def printed(at):
        return (1 / (1 + np.exp(at("x_t")))) ** power(np.log(at("A")))

    on_page("eq-decay-gate", printed, of=1)
    return relative_error((1 / (1 + np.exp(x))) ** power(logs), gate)


@verifies(
    "eq-gate-gradient",
    method="algebra",
    covers="every a, dt_bias and A_log",
    mutants={
        "1 for g": {"by_A_log": lambda g: 1},
        "by A, not by its logarithm": {"by_A_log": lambda g: g / A},
        "softplus for its derivative": {"by_a": -A * softplus(a + bias)},
        "sign of the sigmoid": {"by_a": -A * sigmoid(-(a + bias))},
    },
)
def gradient_of_the_gate(by_A_log=lambda g: g, by_a=SLOPE):
    """The derivatives of g = -exp(A_log) softplus(a + dt_bias)."""
    g = -A * softplus(a + bias)
    parts = (diff(g, A_log) - by_A_log(g), diff(g, a) - by_a, diff(g, bias) - by_a)
    on_page("eq-gate-gradient", by_A_log(g), letters=GATE)
    on_page("eq-gate-gradient", by_a, of=1, letters=GATE)
    return [simplify(part) for part in parts]
