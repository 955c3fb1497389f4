"""Chapter 13: the size of one rounding, what it costs in a product, and how costs add up."""

from fractions import Fraction
from itertools import product

import numpy as np
import sympy as sp
from sympy import ZZ, ring

from .ch17_rounding import rounded, truncated
from .page import on_page
from .registry import verifies

# One rounding.


@verifies(
    "eq-rounding",
    method="enumeration",
    covers="2, 3, 4 and 8 significant bits, all numbers and midpoints of two octaves, exactly",
    mutants={
        "half of it": {"bound": lambda p: Fraction(1, 2 ** (p + 1))},
        "a little less": {"bound": lambda p: Fraction(1, 2**p + 2)},
        "twice as much, which no number attains": {"bound": lambda p: Fraction(2, 2**p + 1)},
    },
    inputs={"cut off, not rounded": {"fl": truncated}},
)
def no_rounding_is_larger(bound=lambda p: Fraction(1, 2**p + 1), fl=rounded):
    """The largest relative error among all significands and the points halfway between them, where
    errors are largest; just beside these the same number comes out of either neighbour."""
    found = []
    for p in (2, 3, 4, 8):
        numbers = [Fraction(n, 2) for n in range(2**p, 2 ** (p + 2))]
        numbers += [x + Fraction(1, 1000) for x in numbers]
        found.append(max(abs(fl(x, p) - x) / x for x in numbers) - bound(p))
    on_page("eq-rounding", None, lambda at: abs(at("x")) * bound(at("p")))
    return found


m = sp.symbols("m", positive=True)
SIZE = 1 / sp.sqrt(8 * sp.log(2))  # times 2^-p
EVENLY_ON_A_LOG_AXIS = 1 / (m * sp.log(2))


@verifies(
    "eq-rounding-size",
    method="algebra",
    covers="every number of bits: errors evenly between neighbours, sizes evenly on a log axis",
    mutants={
        "sizes spread evenly": {"density": 1},
        "the largest error": {"claim": sp.Integer(1)},
        "without the spread of sizes": {"claim": 1 / sp.sqrt(3)},
        "one bit more": {"claim": SIZE / 2},
    },
)
def root_mean_square(claim=SIZE, density=EVENLY_ON_A_LOG_AXIS):
    """In units of 2^-p: an error spread evenly over plus and minus one has the mean square 1/3, and
    is divided by the significand m, from 1 to 2."""
    error = sp.symbols("e", real=True)
    evenly = sp.integrate(error**2 / 2, (error, -1, 1))
    on_page("eq-rounding-size", claim * 2 ** -sp.Symbol("p"))
    return sp.simplify(sp.integrate(evenly / m**2 * density, (m, 1, 2)) - claim**2)


# Roundings in products.


def symbols_of(*shapes):
    """Matrices with a symbol in each place, and the symbol rho."""
    count = sum(r * c for r, c in shapes)
    rho, *free = ring(["rho", *(f"x{n}" for n in range(count))], ZZ)[1:]
    found, at = [], 0
    for r, c in shapes:
        found.append(np.array(free[at : at + r * c], dtype=object).reshape(r, c))
        at += r * c
    return rho, *found


def squares(M):
    return (M * M).sum()


def columns_cost(X, Y, Z):
    """`sum_i sum_j |x_i|^2 Y_ij^2 |z_j|^2`: columns of X, rows of Z."""
    return (X * X).sum(0) @ (Y * Y) @ (Z * Z).sum(1)


@verifies(
    "eq-rounding-cost",
    method="polynomial",
    covers="X 2 x 2, Y 2 x 3, Z 3 x 2, a symbol in each place; all signs of six roundings",
    mutants={
        "rows of X": {"cost": lambda X, Y, Z: columns_cost(X.T, Y, Z)},
        "Y not squared": {"cost": lambda X, Y, Z: (X * X).sum(0) @ Y @ (Z * Z).sum(1)},
        "Z left out": {"cost": lambda X, Y, Z: ((X * X).sum(0) @ (Y * Y)).sum()},
        "the norms multiplied": {"cost": lambda X, Y, Z: squares(X) * squares(Y) * squares(Z)},
        "the product itself": {"cost": lambda X, Y, Z: squares(X @ Y @ Z)},
    },
    inputs={"roundings that agree": {"alike": True}},
)
def mean_square_of_a_product(cost=columns_cost, alike=False):
    """The mean over all signs: of independent numbers with one mean square nothing else counts in
    the mean of a square."""
    rho, X, Y, Z = symbols_of((2, 2), (2, 3), (3, 2))
    signs = list(product((1, -1), repeat=1 if alike else Y.size))
    total = sum(squares(X @ (np.resize(s, Y.shape) * Y * rho) @ Z) for s in signs)

    def printed(at):
        Y = np.array([[at(f"Y_{{{i},{j}}}") for j in at.range("j")] for i in at.range("i")])
        return at(r"\rho^2") * cost(at(r"\mathbf{X}"), Y, at(r"\mathbf{Z}"))

    on_page("eq-rounding-cost", printed)
    return total - len(signs) * rho**2 * cost(X, Y, Z)


@verifies(
    "eq-error-budget",
    method="polynomial",
    covers="two stages of four and of two roundings, a symbol in each place; all signs",
    mutants={
        "the size not squared": {
            "joined": lambda costs, rhos: sum(r * c for r, c in zip(rhos, costs, strict=True))
        },
        "the first stage alone": {"joined": lambda costs, rhos: rhos[0] ** 2 * costs[0]},
        "one size for all": {"joined": lambda costs, rhos: rhos[0] ** 2 * sum(costs)},
    },
    inputs={"stages that round alike": {"alike": True}},
)
def stages_add_up(
    joined=lambda costs, rhos: sum(r**2 * c for r, c in zip(rhos, costs, strict=True)), alike=False
):
    """The mean square of a sum of two stages' errors, each with its own size of rounding."""
    rho, X, Y, Z, X2, Y2, more = symbols_of((1, 2), (2, 2), (2, 2), (1, 2), (2, 1), (1, 1))
    sizes, Z2 = (rho, more[0, 0]), np.array([[1, 2]])
    total, count = 0, 4 if alike else 6
    for signs in product((1, -1), repeat=count):
        one, two = np.reshape(signs[:4], (2, 2)), np.reshape((signs + signs)[-2:], (2, 1))
        error = X @ (one * Y * sizes[0]) @ Z + X2 @ (two * Y2 * sizes[1]) @ Z2
        total = total + squares(error)
    costs = columns_cost(X, Y, Z), columns_cost(X2, Y2, Z2)

    def printed(at):
        costs = [at(rf"\kappa_{{{s}}}^2") for s in at.range("s")]
        return joined(costs, [at(rf"\rho_{{{s}}}") for s in at.range("s")])

    on_page("eq-error-budget", printed)
    return total - 2**count * joined(costs, sizes)


# Drift of a memory that only adds.


@verifies(
    "eq-drift-adding",
    method="polynomial",
    covers="1 to 5 calls, all signs of writes and roundings; symbols for both sizes",
    mutants={
        "like the last call's": {"claim": lambda rho, J: (2 * rho**2, 2)},
        "every call's alike": {"claim": lambda rho, J: (2 * rho**2 * J, 2)},
        "without the last": {"claim": lambda rho, J: (rho**2 * (J - 1), 2)},
        "in a straight line": {"claim": lambda rho, J: (rho**2 * (J + 1) ** 2, 2)},
    },
)
def adding_never_forgets(claim=lambda rho, J: (rho**2 * (J + 1), 2)):
    """Mean square of the error over that of the state, each over all signs; the claim is a
    numerator and a denominator. The state after j writes has the mean square j w^2, and the
    rounding of call j is rho times its root."""
    rho, w, *roundings = ring("rho, w, r1:6", ZZ)[1:]
    found = []
    for J in range(1, 6):
        state = error = 0
        for signs in product((1, -1), repeat=J):
            state = state + sum(sign * w for sign in signs) ** 2
            error = error + sum(s * r for s, r in zip(signs, roundings, strict=False)) ** 2
        found.append(error - 2**J * sum(r**2 for r in roundings[:J]))
        found.append(state - 2**J * J * w**2)
        error = sum(rho**2 * j * w**2 for j in range(1, J + 1))
        above, below = claim(rho, J)
        found.append(below * error - above * J * w**2)

    def printed(at):
        above, below = claim(at(r"\rho"), at("J"))
        return above / below

    on_page("eq-drift-adding", printed)
    return found
