"""Checks of chapter 21: what random keys that come later make of one read, token by token."""

from functools import cache
from itertools import product

import sympy as sp

from .page import on_page
from .registry import verifies


def cubature(d):
    """`[(weight, k k^T)]`: a few unit vectors with the means of a uniform one, up to degree 5.

    The basis vectors, and the corners of a cube; a check below compares the means. Either sign of
    a key gives the same `k k^T`.
    """
    one = sp.eye(d)
    axes = [(sp.Rational(2, d * (d + 2)), one[:, i] * one[i, :]) for i in range(d)]
    corners = [sp.Matrix((1, *signs)) for signs in product((1, -1), repeat=d - 1)]
    weight = sp.Rational(d, (d + 2) * len(corners))
    return axes + [(weight, s * s.T / d) for s in corners]


def uniform_moment(powers, d):
    """The mean of a product of powers of the entries of a uniform unit vector, by gammas."""
    if any(p % 2 for p in powers):
        return sp.Integer(0)
    half = sp.Rational(1, 2)
    top = sp.gamma(d * half) * sp.prod(sp.gamma((p + 1) * half) for p in powers)
    return sp.simplify(top / (sp.pi ** (d * half) * sp.gamma((sum(powers) + d) * half)))


def step_shares(alpha, beta, d):
    """`a` and `b` of the page."""
    a = alpha**2 * (1 - 2 * beta / d + 2 * beta**2 / (d * (d + 2)))
    return a, alpha**2 * beta**2 / (d * (d + 2))


alpha, beta = sp.symbols("alpha beta")


@cache
def mean_after_a_key(d):
    """A row X, a vector y, and the mean of `||X F y||^2` over the cubature."""
    X = sp.Matrix(1, d, sp.symbols(f"x_:{d}"))
    y = sp.Matrix(d, 1, sp.symbols(f"y_:{d}"))
    total = 0
    for weight, kk in cubature(d):
        after = X * (y - beta * kk * y) * alpha
        total += weight * (after.T * after)[0]
    return X, y, sp.expand(total)


@verifies(
    "eq-recall-step",
    method="polynomial",
    covers="d_k = 2, 3 and 4, every X of one row, so of any, every y, gates as symbols",
    mutants={
        "the fourth moment of independent entries": {
            "shares": lambda a, b, d: (a**2 * (1 - 2 * b / d + b**2 / d**2), a**2 * b**2 / d**2)
        },
        "one 2 forgotten": {
            "shares": lambda a, b, d: (
                a**2 * (1 - 2 * b / d + b**2 / (d * (d + 2))),
                a**2 * b**2 / (d * (d + 2)),
            )
        },
        "d_k for d_k + 2": {
            "shares": lambda a, b, d: (
                a**2 * (1 - 2 * b / d + 2 * b**2 / d**2), a**2 * b**2 / d**2,
            )
        },
        "alpha not squared": {
            "shares": lambda a, b, d: tuple(x / a for x in step_shares(a, b, d))
        },
        "nothing spreads": {"read": lambda a, b, seen, size: a * seen},
        "the shares exchanged": {"read": lambda a, b, seen, size: b * seen + a * size},
    },
)  # fmt: skip
def one_more_key(shares=step_shares, read=lambda a, b, seen, size: a * seen + b * size):
    """The mean of `||X F y||^2` over the cubature, against the two shares."""
    left = []
    for d in (2, 3, 4):
        X, y, total = mean_after_a_key(d)
        seen, size = ((X * y).T * (X * y))[0], sum(x**2 for x in X) * (y.T * y)[0]
        left.append(total - sp.expand(read(*shares(alpha, beta, d), seen, size)))
    squares = r"\|\mathbf{X}\boldsymbol{y}\|^2", r"\|\mathbf{X}\|^2"

    def printed(at):
        a, b = shares(at(r"\alpha"), at(r"\beta"), at("d_k"))
        return read(a, b, *map(at, squares)), a, b

    for n in range(3):
        on_page("eq-recall-step", lambda at, n=n: printed(at)[n], of=n)
    return left


@verifies(
    "eq-recall-step",
    method="algebra",
    covers="d_k = 2 to 5, every product of four entries",
    mutants={"axes and corners alike": {"weights": lambda w, d: sp.Rational(1, d + 2 ** (d - 1))}},
    part="the cubature has the means of uniform unit vectors",
)
def means_of_the_cubature(weights=lambda w, d: w):
    left = []
    for d in (2, 3, 4, 5):
        for i, j, m, n in ((0, 0, 0, 0), (0, 0, 1, 1), (0, 1, 0, 1), (0, 0, 0, 1), (1, 1, 1, 1)):
            powers = [(i, j, m, n).count(place) for place in range(d)]
            mean = sum(weights(w, d) * kk[i, j] * kk[m, n] for w, kk in cubature(d))
            left.append(sp.simplify(mean - uniform_moment(powers, d)))
    return left


def forms(alpha, beta, d, j, most):
    """`lambda_m, zeta_m, xi_m` for m = 0 to `most`, of the pair that token j wrote."""
    a, b = step_shares(alpha, beta, d)
    rho = alpha**2 * (1 - beta * (2 - beta) / d)
    nu = [0]
    for _ in range(j + most):
        nu.append(rho * nu[-1] + beta**2)
    rows = [(beta, beta**2, beta**2 + (1 - beta) ** 2 * alpha**2 * nu[j - 1] / d)]
    for m in range(1, most + 1):
        _, zeta, xi = rows[-1]
        rows.append((
            beta * alpha**m * (1 - beta / d) ** m,
            a * zeta + b * rho ** (m - 1) * beta**2,
            a * xi + b * nu[j + m - 1] + beta**2 / d,
        ))  # fmt: skip
    return rows


@cache
def counted(alpha, beta, d, j, most):
    """The same, over every sequence of keys of the cubature, token by token.

    Weights are kept as vectors: `z_i` is what the state holds of value i, so that the read at y has
    the weight `z_i^T y`. Only `z z^T` and the like occur, so `k k^T` is enough of a key.
    """
    keys = cubature(d)
    rows = [[sp.Integer(0)] * 3 for _ in range(most + 1)]
    for choice in product(keys, repeat=j + most):
        weight = sp.prod(w for w, _ in choice)
        projectors = [kk for _, kk in choice]
        own = projectors[j - 1]
        for m in range(most + 1):
            last = j + m
            total = sp.Integer(0)
            for i in range(last):
                product_of = sp.eye(d)
                for t in range(i + 1, last):
                    product_of = product_of * alpha * (sp.eye(d) - beta * projectors[t])
                # (beta k_i^T M k_j)^2 = beta^2 tr(k_i k_i^T M k_j k_j^T M^T)
                square = beta**2 * (projectors[i] * product_of * own * product_of.T).trace()
                total += square
                if i == j - 1:
                    rows[m][0] += weight * beta * (product_of * own).trace()
                    rows[m][1] += weight * square
            rows[m][2] += weight * total
    return rows


@verifies(
    "eq-recall-delta",
    method="polynomial",
    covers="d_k = 2, pairs 1 and 2 of up to 4, every sequence of keys of the cubature; "
    "rational gates",
    mutants={
        "no other pair before it": {"first": True},
        "as if each write kept its length": {"kept": 1},
        "no later writes": {"later": 0},
    },
)
def later_tokens(first=False, kept=None, later=1):
    """Means over all keys by the token loop, against the recursion, exactly."""

    def claims(alpha, beta, d, j, most):
        found = forms(alpha, beta, d, 1 if first else j, most)
        if kept is not None:
            a, _ = step_shares(alpha, beta, d)
            found = [(x, a**m * beta**2, xi) for m, (x, _, xi) in enumerate(found)]
        return found if later else [(x, z, z) for x, z, _ in found]

    left, letters = [], (r"\alpha", r"\beta", "d_k", "j")
    for j, most in ((1, 2), (2, 2)):
        gates = sp.Rational(9, 10), sp.Rational(3, 5)
        pairs = zip(claims(*gates, 2, j, most), counted(*gates, 2, j, most), strict=True)
        left += [sp.nsimplify(x - y) for pair in pairs for x, y in zip(*pair, strict=True)]
    for n in range(3):
        on_page("eq-recall-delta", lambda at, n=n: claims(*map(at, letters), at("m"))[-1][n], of=n)
    for n in (1, 2):  # with no pair after it
        on_page("eq-recall-delta", lambda at, n=n: claims(*map(at, letters), 0)[0][n], of=n + 2)
    return left
