"""Chapter 5: what one token does to the answers, its own key's and all others.

The letters of a word do not commute, and have rules such as k^T k = n for what a row times a
column is.
"""

import numpy as np
from sympy import Symbol, expand, sqrt, symbols

from gdn_ref import delta_rule

from .ch05_step import package_step
from .data import relative_error
from .page import TOKEN, on_page
from .registry import verifies
from .symbols import beta, letters
from .words import reduce

n = symbols("n", positive=True)  # ||k||^2
kT, old, key, value, y = symbols("k^T S k v y", commutative=False)


@verifies(
    "eq-delta-spill",
    method="algebra",
    covers="every d_k, d_v, key and question",
    mutants={
        "the value spills": {"spilled": value},
        "the old answer spills": {"spilled": old * key},
        "as for a unit key": {"overlap": kT * y / n},
    },
)
def spill(spilled=value - old * key, overlap=kT * y):
    """S_t y - S_{t-1} y for any y."""
    after = old + beta * (value - old * key) * kT
    on_page("eq-delta-spill", beta * spilled * overlap, letters=TOKEN)
    return expand(after * y - old * y - beta * spilled * overlap)


across = Symbol("y_across", commutative=False)
KEY = {kT * key: n, kT * across: 0}


@verifies(
    "eq-erase-and-write",
    method="algebra",
    covers="every d_k, d_v, every key",
    mutants={
        "unit key assumed": {"keep": 1 - beta, "write": beta},
        "nothing erased": {"keep": 1},
        "other directions fade too": {"elsewhere": 1 - beta * n},
    },
)
def erase_and_write(keep=1 - beta * n, write=beta * n, elsewhere=1):
    """After the token, reading at k blends old and new; reading at right angles is as before."""
    after = old * (1 - beta * key * kT) + beta * value * kT
    at_key = reduce(after * key, KEY) - keep * old * key - write * value
    at_right_angles = reduce(after * across, KEY) - elsewhere * old * across
    on_page("eq-erase-and-write", keep * old * key + write * value, letters=TOKEN)
    on_page("eq-erase-and-write", elsewhere * old * across, of=1, letters=TOKEN)
    return [expand(at_key), expand(at_right_angles)]


@verifies(
    "eq-erase-and-write",
    method="float64",
    covers="delta_rule.step, keys of any length",
    part="the first line, the read at the key",
    mutants={"unit key assumed": {"power": 0}, "norm not squared": {"power": 1}},
)
def erase_and_write_in_code(power=2):
    """The package's step, read back with its own key as the query."""
    rng = np.random.default_rng(6)
    state, key, value = rng.normal(size=(7, 12)), rng.normal(size=12), rng.normal(size=7)
    strength = np.asarray(0.7)
    read, _ = delta_rule.step(state, key, key, value, strength)
    share = strength * np.linalg.norm(key) ** power
    on_page("eq-erase-and-write", lambda at: package_step(at)[0], floats=True)
    return relative_error(read, (1 - share) * (state @ key) + share * value)


@verifies(
    "eq-residual",
    method="algebra",
    covers="every d_k, d_v, every key",
    part="the first line",
    mutants={
        "unit key assumed": {"ratio": 1 - beta},
        "norm not squared": {"ratio": 1 - beta * sqrt(n)},
        "nothing left": {"ratio": 0},
    },
)
def residual(ratio=1 - beta * n):
    """What is left of the error at the token's own key."""
    after = old + beta * (value - old * key) * kT
    on_page("eq-residual", ratio * (value - old * key), letters=TOKEN)
    return expand(reduce(value - after * key, KEY) - ratio * (value - old * key))


@verifies(
    "eq-residual",
    method="polynomial",
    covers="the loss of one row, d_k = 2; the rows add up",
    part="the second line, the loss",
    mutants={
        "falls like the residual": {"power": 1},
        "unit key assumed": {"size": lambda key: 1},
    },
)
def loss_after_a_step(power=2, size=lambda key: (key.T @ key)[0, 0]):
    """The loss is multiplied by (1 - beta ||k||^2)^2, whatever the state and the value."""
    state, key, value = letters("s", 1, 2), letters("k", 2), letters("v", 1)
    error = value - state * key
    left = value - (state + beta * error * key.T) * key

    def printed(at):
        share = 1 - at(TOKEN["beta"]) * size(at(TOKEN["k"]))
        return share**power * at(r"\mathcal{L}_t(\mathbf{S}_{t-1})")

    on_page("eq-residual", printed, of=1)
    return expand(left.dot(left) - (1 - beta * size(key)) ** power * error.dot(error))
