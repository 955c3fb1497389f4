"""Chapter 8: the entries of (I + A)^-1 as sums over paths, in closed form, and bounded."""

from functools import cache
from functools import reduce as joined

import numpy as np
from sympy import ZZ, Abs, expand, ring, symbols

from .. import wy
from . import lines
from .ch08_inverses import paths, weight
from .ch08_system import interaction
from .data import hard_inputs, unit
from .modular import join
from .page import on_page
from .registry import verifies
from .token_forms import first_chunk, modular_tokens
from .words import reduce


@cache
def symbolic(C):
    """A strictly lower triangular matrix with a symbol in every place."""
    names = [f"a{n}{m}" for n in range(1, C + 1) for m in range(1, n)]
    entries = iter(ring(names, ZZ)[1:])
    A = np.zeros((C, C), dtype=object)
    for n in range(C):
        for m in range(n):
            A[n, m] = next(entries)
    return A


@verifies(
    "eq-inverse-paths",
    method="polynomial",
    covers="C = 7, all 21 entries of A symbols",
    mutants={
        "positive edges": {"value": lambda A, path: weight(-A, path)},
        "one sign for the path": {
            "value": lambda A, path: weight(-A, path) * (1 if len(path) == 1 else -1)
        },
        "at most two steps": {"chosen": lambda i, r: [p for p in paths(i, r) if len(p) <= 3]},
        "steps backwards too": {"chosen": lambda i, r: paths(min(i, r), max(i, r))},
    },
)
def sums_over_all_paths(value=weight, chosen=paths):
    """Every path listed and multiplied out; the table of sums inverts I + A."""

    def entry(A, r, i):
        return sum(value(A, path) for path in chosen(i, r))

    on_page("eq-inverse-paths", lambda at: entry(at(r"\mathbf{A}"), at("r") - 1, at("i") - 1))
    A = symbolic(7)
    table = np.array([[entry(A, r, i) for i in range(7)] for r in range(7)], dtype=object)
    return table + A @ table - np.eye(7, dtype=int)


beta = symbols("beta")
s, sT, k, kT = symbols("s s^T k k^T", commutative=False)
LEFT = {  # of key i, before token r
    sT: lambda at: joined(
        np.matmul,
        [at(rf"\mathbf{{P}}_{{{l}}}") for l in range(at.scope["i"] + 1, at.scope["r"])],
        at(r"\boldsymbol{k}_i^\top"),
    ),
}


@verifies(
    "eq-inverse-entry",
    method="algebra",
    covers="every r, d_k: one token more",
    part="the step: one token more in between",
    mutants={
        "sign": {"entry": beta * sT * k},
        "beta left out": {"entry": -sT * k},
        "nothing erased": {"factor": 1},
    },
)
def what_is_left_of_a_key(entry=-beta * sT * k, factor=1 - beta * k * kT):
    """s^T = sum of x_j k_j^T, from k_i^T on: adding x_r k_r^T multiplies by a transition.

    x_r is minus A_rj x_j summed over the earlier j, that is -beta_r s^T k_r.
    """
    on_page("eq-inverse-entry", entry, letters=LEFT)
    on_page("eq-inverse-entry", factor, of=1, letters={k: r"\boldsymbol{k}_l", beta: r"\beta_l"})
    return expand(sT + entry * kT - sT * factor)


@verifies(
    "eq-inverse-entry",
    method="modular",
    covers="C=64, d_k=128, every entry",
    mutants={
        "sign": {"sign": 1},
        "the writers' betas": {"strength": lambda beta, t: beta[:t]},
        "no erasing in between": {"erase": False},
        "erased by the writer too": {"by_itself": True},
    },
)
def entries_at_real_size(
    sign=-1, strength=lambda beta, t: beta[t : t + 1], erase=True, by_itself=False
):
    """-beta_r k_i^T (product of the factors strictly between) k_r; degree at most 192.

    Row i of `left` is k_i^T times the factors so far.
    """

    def all_entries(K, beta):
        left, table, one = K[:0], [], np.eye(len(K), dtype=np.int64) + 0 * (K @ K.T)
        for t in range(len(K)):
            key = K[t : t + 1]
            if by_itself:
                left = join([left, key], np.concatenate)
            read = left @ key.T
            entries = sign * (read[:, 0] * strength(beta, t)) if t else read[:, 0]
            table.append(join([entries[:t], one[t, t:]], np.concatenate))
            left = left - (read @ key) * beta[t] if erase else left
            if not by_itself:
                left = join([left, key], np.concatenate)
        return join(table)

    def printed(at):
        x = lines.tokens(at)
        return all_entries(x.K, x.beta)

    on_page("eq-inverse-entry", lambda at: at.once(printed)[at.scope["r"] - 1, at.scope["i"] - 1])
    x = first_chunk(modular_tokens())
    A, X = interaction(x.K, x.beta), all_entries(x.K, x.beta)
    return X + A @ X - np.eye(len(A), dtype=np.int64)


@verifies(
    "eq-inverse-bound",
    method="algebra",
    covers="every d_k, unit keys: one token more",
    mutants={"once for twice": {"lost": beta * (1 - beta)}, "no 2": {"lost": -(beta**2)}},
    inputs={"key of length 2": {"norm2": 4}},
    part="what is left of a key never grows, for beta in [0, 2]",
)
def what_is_left_never_grows(lost=beta * (2 - beta), norm2=1):
    """||P s||^2 = ||s||^2 - beta (2 - beta) (s^T k)^2: no longer than before for beta in [0, 2].

    So ||s|| <= ||k_i|| = 1, and |X_ri| = beta_r |s^T k_r| <= beta_r by Cauchy and Schwarz.
    """
    c, m = symbols("c m")  # s^T k and ||s||^2
    P = 1 - beta * k * kT
    rules = {kT * k: norm2, sT * k: c, kT * s: c, sT * s: m}
    on_page("eq-inverse-bound", Abs(-beta * sT * k), beta, letters=LEFT)
    return expand(reduce(sT * P * P * s, rules) - (m - lost * c**2))


@verifies(
    "eq-inverse-bound",
    method="float64",
    covers="C=64, keys of 7 mean cosines; reached by identical ones",
    mutants={
        "half as much": {"bound": lambda beta: beta[:, None] / 2},
        "the writer's beta": {"bound": lambda beta: beta[None, :] + 0 * beta[:, None]},
        "twice as much": {"bound": lambda beta: 2 * beta[:, None]},
    },
    inputs={
        "strengths up to 2.5": {"strongest": 2.5},
        "keys of length 1.2": {"length": 1.2},
    },
)
def no_entry_above_its_strength(bound=lambda beta: beta[:, None], strongest=2.0, length=1.0):
    """How far an entry below the diagonal exceeds its bound, or stays below it at the worst."""

    def printed(at, n):
        x, place = lines.tokens(at), (at.scope["r"] - 1, at.scope["i"] - 1)
        X = wy.solve(wy.interaction(x.K, x.beta), np.eye(len(x.K)))
        return (abs(X), np.broadcast_to(bound(x.beta), X.shape))[n][place]

    on_page("eq-inverse-bound", *(lambda at, n=n: printed(at, n) for n in (0, 1)), floats=True)
    worst = 0.0
    for cosine in (0, 0.25, 0.5, 0.75, 0.9, 0.99, 1):
        _, K, _, _, strength, _ = hard_inputs(T=64, d_k=16, cosine=cosine)
        worst = max(worst, share_of_bound(length * K, strength * strongest / 2, bound))
    identical = length * unit(np.ones((64, 16)))
    reached = share_of_bound(identical, np.full(64, strongest), bound)
    return max(worst - 1, abs(reached - 1), 0.0)


def share_of_bound(K, strength, bound):
    """The largest |X_ri| below the diagonal, in parts of its bound."""
    X = wy.solve(wy.interaction(K, strength), np.eye(len(K)))
    return np.max(np.abs(np.tril(X, -1)) / (bound(strength) + 1e-300))


C, b = symbols("C b", positive=True)
BOUND = C * (1 + b**2 * (C - 1) / 2)


@verifies(
    "eq-condition-bound",
    method="algebra",
    covers="every C, strengths up to b",
    part="the sum of squares, given a bound on each entry",
    mutants={
        "the whole square filled": {"pairs": C * (C - 1)},
        "entries not squared": {"entry": b},
        "for b = 1": {"at_two": C * (C + 1) / 2},
    },
)
def squares_added(pairs=C * (C - 1) / 2, entry=b**2, at_two=C * (2 * C - 1)):
    """C ones on the diagonal, and below it pairs of tokens with at most b^2 each.

    That bounds the squared Frobenius norm of I + A and, by eq-inverse-bound, of its inverse; the
    product of the two norms bounds the condition number.
    """
    on_page("eq-condition-bound", None, BOUND, at_two)
    return [expand(C + pairs * entry - BOUND), expand(BOUND.subs(b, 2) - at_two)]


@verifies(
    "eq-condition-bound",
    method="float64",
    covers="C = 4 to 64, mean cosines 0 to 1, strengths up to 0.5, 1 and 2",
    mutants={
        "linear in C": {"bound": lambda C, b: C * (1 + b**2)},
        "its square root": {"bound": lambda C, b: np.sqrt(C * (1 + b**2 * (C - 1) / 2))},
    },
    inputs={"strengths up to 3": {"beyond": 1.5}},
)
def condition_numbers(bound=lambda C, b: C * (1 + b**2 * (C - 1) / 2), beyond=1.0):
    """The part by which a condition number exceeds its bound: none."""
    on_page("eq-condition-bound", None, lambda at: bound(at("C"), at("b")), None)
    worst = 0.0
    for size in (4, 16, 64):
        for cosine in (0, 0.5, 0.9, 1):
            _, K, _, _, strength, _ = hard_inputs(T=size, d_k=16, cosine=cosine)
            for b in (0.5, 1.0, 2.0):
                for used in (b * strength / 2, np.full(size, b)):
                    A = wy.interaction(K, beyond * used)
                    worst = max(worst, np.linalg.cond(np.eye(size) + A) / bound(size, b))
    return max(worst - 1, 0.0)
