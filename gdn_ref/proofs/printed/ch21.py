r"""Chapter 21: weights, scores, the share that is named, floors, later keys, bits and order.

Weights come from the token loop with one-hot values, means from every case: of values from all
plus and minus basis vectors, of keys from the cubature of `ch21_stream`, of codes from all lists.
"""

from collections import Counter
from fractions import Fraction
from functools import cache, partial
from itertools import combinations, product

import numpy as np

from ..ch21_bits import all_right, shows
from ..ch21_floors import tight
from ..ch21_recall import DENSITY, Z, normal, relative_crosstalk, units, weights_of
from ..ch21_stream import cubature
from .cases import hardly_kept, of_rank, strength
from .check import printed
from .rule import eye, orthonormal, sequence, turned
from .values import Depends, Family, Refused, columns, entries, listed
from .world import World


@cache
def reads(draw):
    """Pairs from the empty state under the gated rule, and queries that are no keys; the same loop
    with one-hot values for the weights."""
    x, more = sequence(draw), draw.anew(3)
    n, q = len(x.k), more.array(*x.k.shape)
    alpha, beta = more.between(0.5, 1, n), more.between(0.3, 1.7, n)
    alpha, one = hardly_kept(draw, alpha), eye(draw, n)

    def state(values):
        S = 0 * values.T @ x.k
        for k, v, a, b in zip(x.k, values, alpha, beta, strict=True):
            S = a * S
            S = S + b * np.outer(v - S @ k, k)
        return S

    weights = q @ state(one).T
    left = [weights[j] - weights[j, j] * one[j] for j in range(n)]
    crosstalk = [np.sum(e * e) / weights[j, j] ** 2 for j, e in enumerate(left)]
    letters = {
        r"\mathbf{S}": state(x.v), r"\boldsymbol{q}_": columns(q), r"\Omega_": entries(weights),
        r"\boldsymbol{v}_": columns(x.v), "x_": listed(crosstalk), "n": n,
    }  # fmt: skip
    return World(letters, {"i": range(1, n + 1), "j": range(1, n + 1)})


# pairs and d_v, few enough for all values
FEW = [(6, 1), (2, 3), (3, 2), (2, 4), (2, 5), (1, 6), (2, 2), (2, 1)]


@cache
def scored(draw):
    """All plus and minus basis vectors as values and as the rival that was not written. In every
    other draw each of these has a basis of its own, so that fourth moments differ."""
    n, d_v = FEW[draw.seed % len(FEW)]
    rng = draw.anew().rng
    drawn = rng.choice(np.arange(1, 90), size=(n, n), replace=False)
    drawn = drawn * rng.choice([-1, 1], size=(n, n))
    weights = np.vectorize(lambda x: Fraction(int(x), 50), otypes=[object])(drawn)
    bases = [units(d_v).astype(int).astype(object) * Fraction(1)]
    for _ in range(n):
        bases.append(turned(bases[-1]) if draw.seed % 2 else bases[0])
    scores = Counter()
    for *values, rival in product(*bases):
        read = weights @ np.array(values)
        own = tuple(row @ v for row, v in zip(read, values, strict=True))
        scores[own, tuple(read @ rival)] += 1
    outcomes = [
        (Fraction(count, scores.total()), {"s_": listed(own), "s'_": listed(rival)})
        for (own, rival), count in scores.items()
    ]
    letters = {"d_v": d_v, r"\Omega_": entries(weights)}
    return World(letters, {"i": range(1, n + 1), "j": range(1, n + 1)}, outcomes)


def largest(draw):
    """One normal score and N - 1 others: how likely it is the largest, by the law of the largest
    other one."""
    mean, own, other = draw.anew().rng.uniform((0.4, 0.3, 0.4), (1.4, 1.0, 0.9))
    mean = mean * (1, 1, -1)[draw.seed % 3]  # below zero, too: a read may point the wrong way
    N = (5, 2, 9)[draw.seed % 3] + draw.seed // 3
    density = (N - 1) * DENSITY * normal(Z) ** (N - 2)
    letters = {
        "P": float(density @ normal((mean - other * Z) / own)), "N": N, r"\lambda": mean,
        r"\sigma": own, r"\tau": other, r"\Phi": lambda x: float(normal(x)),
    }  # fmt: skip
    return World(letters, outcomes=[(w, {"z": z}) for w, z in zip(DENSITY, Z, strict=True)])


def in_two_widths(of):
    """A family that depends on the width in force."""
    return Family(lambda j: Depends(lambda at: listed(of[at["d_{k}"]])[(j,)]))


def random_weights(rng, n, d):
    """Of a run of the gated rule, with queries that are no keys."""
    k, q = rng.normal(size=(2, n, d))
    k /= np.linalg.norm(k, axis=1, keepdims=True)
    return weights_of(q, k, -rng.uniform(0, 0.3, n), rng.uniform(0.3, 1.7, n))


def spread(weights, draw):
    """The relative crosstalk of each read, the largest first, so that the last is below the mean;
    in every other draw the largest is the last."""
    return np.sort(relative_crosstalk(weights))[:: 1 if draw.seed % 2 else -1]


@cache
def floors(draw):
    """Keys that are as good as any, in two widths, and a run of the gated rule in a third; keys
    that come twice; one faint key, of which the others take no notice; and orthonormal keys in more
    dimensions than there are keys."""
    n, widths = ((5, (2, 3)), (7, (3, 5)), (6, (1, 4)))[draw.seed % 3]
    n += draw.seed // 3
    of = {d: relative_crosstalk(K @ K.T) for d in widths for K in [tight(n, d)]}
    of[n - 1] = spread(random_weights(draw.anew().rng, n, n - 1), draw)
    of[n + 2] = relative_crosstalk(np.eye(n))
    twice = np.eye(n - 3)[np.arange(n) // 2 % (n - 3)]
    of.setdefault(n - 3, relative_crosstalk(twice @ twice.T))
    faint = np.concatenate([tight(n - 1, 2), [[0.01, 0.01]]])
    of.setdefault(2, np.roll(relative_crosstalk(faint @ faint.T), draw.seed - 1))
    return World({"n": n, "x_": in_two_widths(of)}, {"d_k": list(of), "j": range(1, n + 1)})


TABLES = [  # N_k, n, and widths
    (5, 3, (2, 3)), (7, 2, (3, 4)), (6, 4, (1, 3)), (9, 5, (2, 4)), (8, 6, (3, 5)), (10, 7, (4, 2)),
    (7, 3, (3, 4)), (6, 2, (2, 3)), (7, 4, (1, 3)), (8, 3, (2, 5)),
]  # fmt: skip


@cache
def tables(draw):
    """Every choice of n symbols, from tables that are as good as any, from another, and from one
    of orthonormal keys in more dimensions than there are symbols."""
    N, n, widths = TABLES[draw.seed % len(TABLES)]
    rng = draw.anew().rng
    Q, other = rng.normal(size=(2, N, N - 1))
    of = {d: K @ K.T for d in widths for K in [tight(N, d)]}
    of |= {N - 1: Q @ other.T, N + 2: np.eye(N)}
    chosen = list(combinations(range(N), n))
    outcomes = []
    for c in chosen:
        x = {d: spread(W[np.ix_(c, c)], draw) for d, W in of.items()}
        outcomes.append((1 / len(chosen), {"x_": in_two_widths(x)}))
    return World({"n": n, "N_k": N}, {"d_k": list(of), "j": range(1, n + 1)}, outcomes)


def projectors(draw, d):
    """`(weight, k k^T)` of the cubature, in the arithmetic of the draw; in two of three draws the
    keys are turned, which keeps fourth moments and changes the sixth."""
    one = 1 + 0 * draw.number()
    turn = orthonormal(draw.anew(6), d) if draw.seed % 3 else eye(draw, d)

    def number(x):
        return one * int(x.p) / int(x.q) if draw.exact else int(x.p) / int(x.q)

    for weight, kk in cubature(d):
        rows = [[number(kk[r, c]) for c in range(d)] for r in range(d)]
        kk = np.array(rows, dtype=object if draw.exact else float)
        yield number(weight), turn @ kk @ turn.T


@cache
def one_step(draw, length=1, of_y=1):
    """A state X of any kind, a unit vector y, and one more key of the cubature."""
    draw = draw.anew()
    d, rows = (3, 2, 4)[draw.seed % 3] + draw.seed // 3, (2, 4, 1)[draw.seed % 3]
    X, alpha, beta = of_rank(draw, 1, draw.array(rows, d)), draw.number(), strength(draw)
    if draw.exact:
        y = of_y * unit_vector(draw, d)
    else:
        y = draw.array(d)
        y = of_y * y / np.linalg.norm(y)
    letters = {
        r"\mathbf{X}": X, r"\boldsymbol{y}": y[:, None], r"\alpha": alpha, r"\beta": beta,
        "d_k": d,
    }  # fmt: skip
    outcomes, a, b = [], 0, 0
    one = eye(draw, d)
    for weight, kk in projectors(draw, d):
        F = alpha * (one - beta * length * kk)
        outcomes.append((weight, {r"\mathbf{F}": F}))
    # the shares, from two states: one that y does not see, and the one that sees y alone
    seen, side = np.outer(one[0], one[0]), np.outer(one[0], one[1])
    for weight, kk in projectors(draw, d):
        F = alpha * (one - beta * length * kk)
        b = b + weight * np.sum((side @ F[:, 0]) ** 2)
        a = a + weight * np.sum((seen @ F[:, 0]) ** 2)
    return World(letters | {"a": a - b, "b": b}, outcomes=outcomes)


def unit_vector(draw, d):
    from .cases import on_the_sphere

    return on_the_sphere(draw.array(1, d - 1))[0]


LATER = [  # d_k, the pair, and how many tokens after it
    (2, 3, 1), (3, 2, 1), (2, 1, 3), (4, 1, 1), (2, 1, 6), (3, 1, 2), (5, 1, 1), (2, 6, 1),
    (3, 3, 1), (6, 1, 1), (2, 4, 1), (7, 1, 1), (2, 5, 2), (2, 1, 4), (4, 2, 1),
]  # fmt: skip


@cache
def later(draw):
    """Every sequence of keys of the cubature: means of the weight of pair j, of its square, and of
    the squared length of the read with orthonormal values."""
    draw = draw.anew()
    d, j, most = LATER[draw.seed % len(LATER)]
    alpha, beta = draw.number(), draw.number()
    one, zero = eye(draw, d), 0 * alpha
    mean, square, length = ([zero] * (most + 1) for _ in range(3))
    nu = [zero] * (j + most + 1)
    weights, kk = (np.array(x) for x in zip(*projectors(draw, d), strict=True))
    for t in range(1, j + most + 1):
        choices = np.indices((len(kk),) * t).reshape(t, -1)
        share, after = np.prod(weights[choices], axis=0), one
        asked = kk[choices[j - 1]] if t >= j else 0
        for place in reversed(range(t)):  # `after` is what the later keys leave of a write
            key = kk[choices[place]]
            write = beta**2 * (key @ after @ np.swapaxes(after, -1, -2))
            nu[t] = nu[t] + share @ trace(write)
            if t >= j:
                part = share @ trace(beta**2 * key @ after @ asked @ np.swapaxes(after, -1, -2))
                length[t - j] = length[t - j] + part
                if place == j - 1:
                    square[t - j] = part
                    mean[t - j] = beta * (share @ trace(after @ asked))
            after = alpha * ((one - beta * key) @ after)
    shares = one_shares(draw, alpha, beta, d)
    letters = {
        "d_k": d, "j": j, r"\alpha": alpha, r"\beta": beta, "a": shares[0], "b": shares[1],
        r"\rho": shares[2], r"\lambda_": listed(mean, 0), r"\zeta_": listed(square, 0),
        r"\xi_": listed(length, 0), r"\nu_": listed(nu, 0),
    }  # fmt: skip
    return World(letters, {"m": range(1, most + 1), "t": range(1, j + most + 1)})


def trace(x):
    return np.trace(x, axis1=-2, axis2=-1)


def one_shares(draw, alpha, beta, d):
    """a, b and rho of one step, from the cubature."""
    one, a, b, rho = eye(draw, d), 0, 0, 0
    for weight, kk in projectors(draw, d):
        F = alpha * (one - beta * kk)
        a, b = a + weight * F[0, 0] ** 2, b + weight * F[1, 0] ** 2
        rho = rho + weight * np.sum(F[0] ** 2)
    return a - b, b, rho


LISTS = [(2, 3), (1, 4), (3, 2), (4, 2), (2, 5), (5, 2), (1, 6), (6, 2), (1, 7), (3, 3)]  # n, N


def codes(draw):
    """Lists of values, kept in B bits and read back; some have more states than there are lists,
    and the last names one list whatever its bits."""
    n, N = LISTS[draw.seed % len(LISTS)]
    shares = {B: all_right(n, N, 2**B) for B in (1, 2, 3, 4, 5, 6)} | {7: all_right(n, N, 1)}
    return World({"n": n, "N": N, "P": Depends(lambda at: shares[at["B"]])}, {"B": list(shares)})


def unordered(draw):
    """Names written twice in every order, and the answers of a readout that knows the order where
    it shows: the best guess elsewhere, and for the most names a poor one, which answers the first
    value where both are equal."""
    N, sizes = 2 + draw.seed, (3, 4 + draw.seed, 6 + 2 * draw.seed)
    known, right = {}, {}
    for n in sizes:
        told = list(shows(n))
        known[n] = Fraction(sum(told), len(told))
        good = 0
        for tell, (old, new) in product(told, product(range(N), repeat=2)):
            guess = 0 if old == new and n == sizes[-1] else max(old, new)
            good += tell or guess == new
        right[n] = Fraction(good, len(told) * N**2)
    letters = {"N": N, "f_": by_count(known), "P_": by_count(right)}
    return World(letters, {"n": sizes})


def by_count(found):
    """Values under the index n, for some n."""

    def at(n):
        if n not in found:
            raise Refused(f"no names as many as {n}")
        return found[n]

    return Family(at)


LOOP = "the token loop with one-hot values"
FLOAT = {"arithmetic": "float64"}
OWN = {r"\Omega_{jj}^{2}": "relative to the weight of the pair itself"}
printed("eq-recall-weights", reads, against=LOOP, no_value=OWN)
printed(
    "eq-recall-scores",
    scored,
    against="all plus and minus basis vectors as values",
    arithmetic="rational",
)
printed(
    "eq-recall-named",
    largest,
    against="the law of the largest other score",
    equal={r"sign of \sigma z": "z is as likely as its negative"},
    no_value={r"\tau": "the other scores are spread"},
    **FLOAT,
)
printed("eq-recall-floor", floors, against="weights of the token loop", **FLOAT)
printed(
    "eq-recall-vocabulary",
    tables,
    against="every choice of symbols",
    no_value={"N_{k} - 1": "more symbols than one"},
    **FLOAT,
)
KEYS = "every key of a cubature of degree 5"
printed(
    "eq-recall-step",
    one_step,
    against=KEYS,
    anything=r"\mathbf{X}",
    needs={"y of length 1": partial(one_step, of_y=2), "a unit key": partial(one_step, length=2)},
)
printed("eq-recall-delta", later, against=KEYS)
printed("eq-recall-bits", codes, against="codes of all lists of values", **FLOAT)
printed("eq-recall-order", unordered, against="every two values in every order of writes", **FLOAT)
