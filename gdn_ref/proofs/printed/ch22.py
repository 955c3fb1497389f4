r"""Chapter 22: repeated tokens, swaps, an empty start and two reflections, as they are printed.

States come from the token loop, transitions are what it makes of the identity, ranks and products
of permutations are counted.
"""

from functools import cache, partial

import numpy as np

from ...experiments import permutations
from .cases import of_rank, sizes, state, strength
from .check import printed
from .rule import eye, inputs, orthonormal, run, step
from .values import Depends, columns, entries, listed
from .world import World

LOOP, MAP = "the token loop", "what the token loop makes of the identity"


def transition(draw, k, alpha, beta):
    """What one token without a value makes of the identity."""
    return step(draw, eye(draw, len(k)), k, 0 * k, alpha, beta)


@cache
def two_items(draw):
    """A row of six items, and the same after a token whose key is the difference of two of them:
    `e_i - e_j` with half the strength is what the unit key is with the whole."""
    draw = draw.anew()
    s, beta, one = draw.array(6), strength(draw), eye(draw, 6)

    def after(at):
        k = one[at["i"] - 1] - one[at["j"] - 1]
        return step(draw, s[None], k, 0 * s[:1], 1 + 0 * beta, beta / 2)[0]

    letters = {"s_": entries(s), r"\beta": beta}
    for n in "ij":
        letters[f"s'_{n}"] = Depends(lambda at, n=n: after(at)[at[n] - 1])
    return World(letters, {"i": range(1, 7), "j": range(1, 7)})


@cache
def repeated(draw, length=1):
    """One token again and again: the state after each, and its transition. It decays little: in
    float64 the fifth change of a state that keeps a thousandth is lost in its roundings."""
    draw, (_, d_k, d_v) = draw.anew(), sizes(draw)
    k, v, S = length * orthonormal(draw, d_k)[0], draw.array(d_v), state(draw, d_v, d_k)
    alpha, beta, T = draw.between(0.5, 0.95, 1)[0], strength(draw), 7
    x = run(draw, [k] * T, [k] * T, [v] * T, [alpha] * T, [beta] * T, S)
    return World({
        r"\mathbf{S}_": listed(x.states, 0), r"\mathbf{F}": transition(draw, k, alpha, beta),
        r"\boldsymbol{k}": k[:, None], r"\alpha": alpha, r"\beta": beta,
    }, {"n": range(T - 1)})  # fmt: skip


@cache
def empty_start(draw):
    """The delta rule from nothing, with values that are one matrix times the keys."""
    q, k, v, alpha, beta, S = inputs(draw.anew(), decay=False)
    C = of_rank(draw, 2, draw.anew(5).array(*S.shape))
    x = run(draw, q, k, k @ C.T, alpha, beta, 0 * S)
    letters = {
        r"\mathbf{S}_": listed(x.states, 0), r"\mathbf{P}_": listed(x.factors), r"\mathbf{C}": C,
        r"\mathbf{P}^": listed(x.P, 0), r"\boldsymbol{v}_": columns(x.v),
        r"\boldsymbol{k}_": columns(x.k), r"\beta_": entries(x.beta),
    }  # fmt: skip
    return World(letters, {"t": range(1, len(k) + 1)})


def all_permutations(draw):
    """Permutations as matrices, items that move and cycles: all of a few items, some of more."""
    found, rng = [*permutations.all_of(3 + draw.seed % 3)], draw.anew().rng
    found += [tuple(map(int, rng.permutation(n))) for n in (7, 8, 9)]
    found += [tuple(n ^ 1 for n in range(2 * swaps)) for swaps in (3, 4, 6)]
    matrices = [permutations.matrix(p) for p in found]

    def of(count):
        return Depends(lambda at: count([int(row.argmax()) for row in at[r"\boldsymbol{\Pi}"]]))

    letters = {
        "m": of(permutations.moved), "c": of(lambda p: len(permutations.cycles(p))),
    }  # fmt: skip
    return World(letters, {r"\boldsymbol{\Pi}": matrices})


def two_mirrors(draw, apart=1):
    """Reflections whose unit keys stand at an angle of pi / m, in two dimensions and in more; for
    one step they are one key and its negative."""
    draw = draw.anew()
    e = orthonormal(draw, 2 + draw.seed % 3)

    def second(at):
        angle = apart * np.pi / at["m"]
        return transition(draw, np.cos(angle) * e[0] + np.sin(angle) * e[1], 1.0, 2.0)

    first = transition(draw, e[0], 1.0, 2.0)
    letters = {r"\mathbf{P}_1": first, r"\mathbf{P}_2": Depends(second)}
    return World(letters, {"m": range(1, 8)})


def doubled(draw):
    """A strength of twice a sigmoid, of a number of either sign."""
    b = draw.anew().rng.uniform(0.5, 3) * (1, -1, 1)[draw.seed % 3]
    beta = 2 * float(1 / (1 + np.exp(-b)))
    return World({"b": b, r"\beta": beta, r"\rho": beta - 1})


@cache
def strong(draw):
    """Strengths of twice a sigmoid, weak ones too, and after how many tokens one half is left: by
    bisection."""
    strength = lambda at: 2 * float(1 / (1 + np.exp(-at["b"])))

    @cache
    def half(rho, high):
        low = 0.0
        for _ in range(200):
            n = (low + high) / 2
            low, high = (n, high) if rho**n > 0.5 else (low, n)
        return n

    letters = {
        r"\beta": Depends(strength), r"\rho": Depends(lambda at: strength(at) - 1),
        "n": Depends(lambda at: half(strength(at) - 1, np.exp(at["b"]))),
        r"\sigma": lambda z: 1 / (1 + np.exp(-z)),
    }  # fmt: skip
    b = draw.anew().rng.uniform((0.3, 1, 5, 9.7), (1, 3, 8, 10.3))
    return World(letters, {"b": b}, near=1e-8)


printed("eq-swap-strength", two_items, against=LOOP)
printed("eq-transition-power", repeated, against=MAP,
        needs={"a key of unit length": partial(repeated, length=2)})  # fmt: skip
NONE = "both sides are zero: a state less itself"
printed("eq-repeat-step", repeated, against=LOOP, equal={
    r"\mathbf{S}_{0} for \mathbf{S}_{1}; \mathbf{S}_{n} for \mathbf{S}_{n + 1}": NONE,
    r"\mathbf{S}_{n} for \mathbf{S}_{n + 1}; \mathbf{S}_{1} for \mathbf{S}_{0}": NONE,
})  # fmt: skip
printed("eq-empty-start", empty_start, against=LOOP)
printed("eq-permutation-steps", all_permutations, against="cycles, counted", arithmetic="counted")
printed("eq-count-modulo", two_mirrors, against=MAP, arithmetic="float64",
        equal={r"\mathbf{P}_{1} and \mathbf{P}_{2} swapped": "it turns the other way round"},
        needs={"keys at an angle of pi / m": partial(two_mirrors, apart=0.7)})  # fmt: skip
FLOAT = {"arithmetic": "float64"}
printed("eq-doubled-sigmoid", doubled, against="the doubled sigmoid of the layer", **FLOAT)
printed(
    "eq-tracking-life",
    strong,
    against="bisection",
    no_value={r"- \ln\rho": "a share that is not all", r"\rho": "a share that is not nothing"},
    **FLOAT,
)
