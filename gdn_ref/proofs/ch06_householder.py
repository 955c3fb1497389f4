"""Checks of chapter 6: the geometry of I - beta k k^T.

"Algebra" here is a calculus of words: letters that do not commute stand for matrices and vectors
of any size, and a rule says what a row times a column is, for example k^T k = n. A word identity
so proved holds for every d_k and d_v. The number 1 in a word is the identity matrix.
"""

from sympy import Matrix, Rational, Symbol, expand, eye, sqrt, symbols

from . import definition, verifies
from .page import on_page
from .symbols import letters
from .words import reduce

alpha, beta, n, d = symbols("alpha beta n d")  # n is ||k||^2
k, kT = symbols("k k^T", commutative=False)
y, S, v = symbols("y S v", commutative=False)  # y is orthogonal to k
P = 1 - beta * k * kT
F = alpha * P
lam = alpha * (1 - beta * n)
KEY = {kT * k: n, kT * y: 0}
PAGE = {
    alpha: r"\alpha", beta: r"\beta", n: r"\|\boldsymbol{k}\|^2", k: r"\boldsymbol{k}",
    S: r"\mathbf{S}",
}  # fmt: skip

definition(
    "eq-transition",
    "The factor by which one token multiplies the state from the right, without and with decay.",
)


@verifies(
    "eq-transition-rows",
    method="algebra",
    covers="every d_k, d_v",
    part="the first line",
    mutants={
        "from the left": {"erased": beta * k * kT * S},
        "no beta": {"erased": S * k * kT},
        "key and answer swapped": {"erased": beta * k * (S * k)},
    },
)
def erased_answer(erased=beta * (S * k) * kT):
    """S P = S - beta (S k) k^T."""
    on_page("eq-transition-rows", S - erased, letters=PAGE)
    return expand(S * P - (S - erased))


def row(state, i):
    return state[i : i + 1, :]


def loses_its_component(state, key, beta, i):
    """Row i loses beta times its component along the key."""
    return row(state, i) - beta * (row(state, i) @ key)[0, 0] * key.T


@verifies(
    "eq-transition-rows",
    method="polynomial",
    covers="d_v = d_k = 3",
    part="the second line, row by row",
    mutants={
        "acts on the columns": {
            "claim": lambda s, key, beta, i: row(s, i) - beta * key[i, 0] * (key.T @ s)
        },
        "no beta": {"claim": lambda s, key, beta, i: loses_its_component(s, key, 1, i)},
        "key and answer swapped": {
            "claim": lambda s, key, beta, i: row(s, i) - beta * key[i, 0] * (s @ key).T
        },
    },
)
def rows(claim=loses_its_component):
    """The same, row by row; a square state on purpose, so that the wrong side runs too."""
    key, state = letters("k", 3), letters("s", 3, 3)
    of_page = [PAGE[S], PAGE[k], PAGE[beta]]
    on_page("eq-transition-rows", lambda at: claim(*map(at, of_page), at.scope["i"] - 1).T, of=1)
    claims = Matrix.vstack(*(claim(state, key, beta, i) for i in range(3)))
    return (state * (eye(3) - beta * key * key.T) - claims).expand()


@verifies(
    "eq-transition-cases",
    method="algebra",
    covers="every d, unit key",
    mutants={
        "1 and 2 swapped": {"projection": 2, "reflection": 1},
        "identity at 0.1": {"identity": Rational(1, 10)},
        "reflection at 1.9": {"reflection": Rational(19, 10)},
    },
    inputs={"a key of length 2": {"norm2": 4}},
)
def cases(identity=0, projection=1, reflection=2, norm2=1):
    """Identity; P P = P with P k = 0; P P = 1 with P k = -k."""
    at = {kT * k: norm2}
    P0, P1, P2 = (P.subs(beta, b) for b in (identity, projection, reflection))
    claims = [P0 - 1, P1 * P1 - P1, P1 * k, P2 * P2 - 1, P2 * k + k]
    sides = [(P0, 1), (P1 * P1, P1), (P1 * k, 0), (P2 * P2, 1), (P2 * k, -k)]
    for number, (left, right) in enumerate(sides):
        on_page("eq-transition-cases", left, right, of=number, letters=PAGE)
    return [reduce(word, at) for word in claims]


@verifies(
    "eq-transition-eigenvalues",
    method="algebra",
    covers="every d, every key",
    mutants={
        "norm not squared": {"along": alpha * (1 - beta * sqrt(n))},
        "not decayed along k": {"along": 1 - beta * n},
        "not decayed across k": {"across": 1},
        "wrong sign": {"along": alpha * (1 + beta * n)},
        "the key's eigenvalue twice": {"times": 2},
    },
)
def eigenvalues(along=lam, across=alpha, times=1):
    """Two eigenspaces, the quadratic they force, and the trace, which counts how often."""
    quadratic = reduce((F - across) * (F - along), KEY)
    trace = alpha * d - alpha * beta * n  # tr I = d, tr k k^T = k^T k
    counted = (d - times) * across + times * along
    apart = [reduce(F * y - across * y, KEY), reduce(F * k - along * k, KEY)]
    x = symbols("lambda")
    claim = (x - across) ** (d - times) * (x - along) ** times
    on_page("eq-transition-eigenvalues", claim, letters=PAGE | {x: r"\lambda"})
    return [*apart, quadratic, expand(trace - counted)]


@verifies(
    "eq-transition-eigenvalues",
    method="polynomial",
    covers="d = 2, 3, 4",
    mutants={
        "all eigenvalues alpha": {"along": lambda norm2: alpha},
        "norm forgotten": {"along": lambda norm2: alpha * (1 - beta)},
    },
)
def characteristic_polynomial(along=lambda norm2: alpha * (1 - beta * norm2)):
    """det(z - F) = (z - alpha)^(d - 1) (z - alpha (1 - beta ||k||^2))."""
    z, residual = Symbol("z"), []
    printed = (z - alpha) ** (d - 1) * (z - along(n))
    on_page("eq-transition-eigenvalues", printed, letters=PAGE | {z: r"\lambda"})
    for size in (2, 3, 4):
        key = letters("k", size)
        full = alpha * (eye(size) - beta * key * key.T)
        claim = (z - alpha) ** (size - 1) * (z - along(key.dot(key)))
        residual.append(expand(full.charpoly(z).as_expr() - claim))
    return residual


@verifies(
    "eq-transition-determinant",
    method="algebra",
    covers="every d, every key",
    part="without decay",
    mutants={
        "norm forgotten": {"corner": 1 - beta},
        "wrong sign": {"corner": 1 + beta * n},
    },
)
def determinant(corner=1 - beta * n):
    """Unit triangular factors (determinant 1) turn diag(P, 1) with a border into 1 - beta n."""
    left = Matrix([[1, 0], [kT, 1]])
    bordered = Matrix([[P, -beta * k], [0, 1]])
    right = Matrix([[1, 0], [-kT, 1]])
    triangular = (left * bordered * right).applyfunc(lambda word: reduce(word, KEY))
    on_page("eq-transition-determinant", alpha**d * corner, letters=PAGE)
    return list(triangular - Matrix([[1, -beta * k], [0, corner]]))


@verifies(
    "eq-transition-determinant",
    method="polynomial",
    covers="d = 2, 3, 4",
    mutants={
        "alpha once": {"power": lambda size: 1},
        "alpha d - 1 times": {"power": lambda size: size - 1},
    },
)
def determinant_in_full(power=lambda size: size):
    """det F = alpha^d (1 - beta ||k||^2), every entry a symbol."""
    residual = []
    on_page("eq-transition-determinant", alpha ** power(d) * (1 - beta * n), letters=PAGE)
    for size in (2, 3, 4):
        key = letters("k", size)
        full = alpha * (eye(size) - beta * key * key.T)
        residual.append(
            expand(full.det(method="berkowitz") - alpha ** power(size) * (1 - beta * key.dot(key)))
        )
    return residual


@verifies(
    "eq-transition-inverse",
    method="algebra",
    covers="every d, beta ||k||^2 != 1",
    mutants={"wrong sign": {"factor": -beta / (1 - beta * n)}, "no denominator": {"factor": beta}},
)
def inverse(factor=beta / (1 - beta * n)):
    """P (I + factor k k^T) = I; only the letters k and k^T are words, the fraction is a scalar."""
    on_page("eq-transition-inverse", 1 + factor * k * kT, letters=PAGE)
    return reduce(P * (1 + factor * k * kT), KEY).coeff(k * kT).together()
