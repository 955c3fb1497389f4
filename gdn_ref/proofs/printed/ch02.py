"""Chapter 2: what a read returns, and what a matrix can hold, as it is printed."""

from functools import partial

from . import ch02_worlds as worlds
from .check import printed
from .memory import linear

LOOP = "gdn_ref.linear_attention.step, token by token"
LENGTH = "keys of unit length"


def longer(world):
    return {LENGTH: partial(world, length=2)}


SYMMETRIC = "the overlap of two keys is symmetric"

printed("eq-gram-recall", worlds.written, against=LOOP)
printed(
    "eq-crosstalk",
    worlds.written,
    against=LOOP,
    equal={r"\rho_{ji} for \rho_{ij}": SYMMETRIC},
)
printed(
    "eq-crosstalk-bound",
    worlds.bounded,
    against="errors of the loop's reads; at one key all other values are parallel",
    arithmetic="rational",
    needs=longer(worlds.bounded),
    equal={r"\rho_{ji}^{2} for \rho_{ij}^{2}": SYMMETRIC},
)
printed(
    "eq-crosstalk-mean",
    worlds.averaged,
    against="the loop's errors for all +-e_i as keys",
    needs=longer(worlds.averaged)
    | {"no preferred direction of the keys": partial(worlds.averaged, isotropic=False)},
)
printed(
    "eq-welch-bound",
    worlds.spread,
    against="overlaps of unit keys",
    needs=longer(worlds.spread),
    equal={r"\rho_{ji}^{2} for \rho_{ij}^{2}": SYMMETRIC},
)
printed(
    "eq-effective-width",
    worlds.preferring,
    against="sums over all draws of two keys",
    needs=longer(worlds.preferring),
)
printed(
    "eq-best-scale",
    worlds.numbers,
    against="both sides multiplied out",
    anything=r"\lambda x",
    no_value={"1 + x": "a size of crosstalk: not negative"},
    equal={r"sign of \lambda; sign of \lambda": "the identity at the negative of lambda"},
)
printed(
    "eq-recall-rank",
    worlds.answerable,
    against="ranks by elimination, of keys and of values that a state returns",
    needs={
        "values that a state returns": partial(worlds.answerable, returned=False),
        "one value for one key": partial(worlds.answerable, returned=False, twice=True),
    },
    equal={r"\mathbf{K} for \mathbf{V}": "the columns of K beside themselves have its rank"},
)
printed(
    "eq-least-squares-memory",
    worlds.least_squares,
    against="NumPy's least squares",
    arithmetic="float64",
)
printed(
    "eq-least-squares-error",
    worlds.lost,
    against="NumPy's least squares, for all +-e_i as values",
    arithmetic="float64",
)
printed(
    "eq-retrieval-margin",
    worlds.margins,
    against="the loop's margins for all +-e_i as keys and values",
    needs=longer(worlds.margins),
    arithmetic="rational",
    equal={"1 for m": "the mean of a constant"},
)
printed(
    "eq-margin-parts",
    worlds.one_margin,
    against=LOOP,
    needs={
        LENGTH: partial(worlds.one_margin, of_keys=2),
        "values of unit length": partial(worlds.one_margin, of_values=2),
    },
    equal={r"\rho_{ji} for \rho_{ij}": SYMMETRIC},
)
printed(
    "eq-margin-pairs",
    worlds.full,
    against="the two rules of thumb before it, by bisection",
    no_value={r"2\ln N": "one value has no rival"},
    arithmetic="float64",
)
printed("eq-overwrite", linear, against=LOOP)
