"""Chapter 16: gradients of strengths and decays from row sums, products and rectangles."""

import numpy as np
from sympy import symbols

from .. import backward, wy
from ..chunking import decay
from . import lines, modular
from .data import hard_inputs, logs, relative_error
from .page import on_page
from .registry import verifies


def small(size=5, keys=3, values=2, seed=0):
    """Random elements modulo p: q, k, dO, Z, E, S, dS', and weights beta, gamma and Gamma."""
    rng = np.random.default_rng(seed)

    def draw(*shape):
        return modular.random(rng, *shape)

    Gamma = draw(size, size)
    lower = modular.Mod(np.tril(Gamma.residues))
    tall = [draw(size, width) for width in (keys, keys, values, values, values)]
    return *tall, draw(values, keys), draw(values, keys), draw(size, 1), draw(size, 1), lower


def sums(x):
    """Row sums, as a product."""
    return x @ np.ones((x.shape[1], 1), dtype=np.int64)


def strict(x):
    return modular.Mod(np.tril(x.residues, -1))


@verifies(
    "eq-strength-row-sums",
    method="modular",
    covers="C = 5, d_k = 3, d_v = 2",
    mutants={
        "the diagonal kept": {"lower": lambda x: modular.Mod(np.tril(x.residues))},
        "columns in place of rows": {"turn": lambda x: x.T},
    },
)
def what_was_written_by_row_sums(lower=strict, turn=lambda x: x):
    """<z_r, row r of tril(Gamma . K K^T, -1) E> from two matrices that are there already."""
    _, k, _, Z, E, *_, Gamma = small()
    written = strict(Gamma * (k @ k.T)) @ E
    Y = lower(Gamma * (Z @ E.T))
    products = lambda at: turn(at(r"\mathbf{Y} \odot \mathbf{K}\mathbf{K}^\top"))
    on_page("eq-strength-row-sums", lambda at: np.atleast_2d(products(at)).sum(1)[at.n - 1])
    return (sums(Z * written) != sums(turn(Y * (k @ k.T)))).astype(int)


@verifies(
    "eq-reads-by-products",
    method="modular",
    covers="C = 5, d_k = 3, d_v = 2, a second head that adds to the first",
    mutants={
        "without the difference": {"before": 0},
        "beta forgotten": {"beta_too": False},
    },
)
def reads_are_seen_in_the_gradients(before=1, beta_too=True):
    """a_s and b_i of eq-grad-crossing, off dQ and dK before and after a head adds to them."""

    def asked(q, after, earlier):
        return sums(q * after) - sums(q * earlier) * before

    def read(dO, S, q):
        return sums(dO * (q @ S.T))

    def printed(at):
        row = lambda tex: at(tex).T
        q, *dq = (row(rf"{x}") for x in (
            r"\boldsymbol{q}_s", r"\mathrm{d}\boldsymbol{q}_s^{\text{after}}",
            r"\mathrm{d}\boldsymbol{q}_s^{\text{before}}",
        ))  # fmt: skip
        dO = at(r"\gamma_s") * row(r"\mathrm{d}\boldsymbol{o}_s")
        return read(dO, at(r"\mathbf{S}"), q), asked(q, *dq)

    for n in (0, 1):
        sides = [None, None]
        sides[n] = lambda at, n=n: np.ravel(printed(at)[n])[0]
        on_page("eq-reads-by-products", *sides)
    q, k, dO, Z, E, S_0, dS, beta, gamma, _ = small()
    dq, dk, *_ = small(seed=1)  # what the head before has left
    dv = beta * Z if beta_too else Z
    dq_next, dk_reads = dq + (gamma * dO) @ S_0, -((gamma * dv) @ S_0)
    dk_next = dk + dk_reads + (gamma * E) @ dS
    a = asked(q, dq_next, dq) + sums(k * dk_reads)
    b = sums(k * dk_next) - sums(k * dk) * before - sums(k * dk_reads)
    right_a = read(gamma * dO, S_0, q) - sums(gamma * (beta * Z) * (k @ S_0.T))
    right_b = sums(gamma * E * (k @ dS.T))
    return [(a != right_a).astype(int), (b != right_b).astype(int)]


def crossings_by_sums(J, a, b, old, early=lambda i, t: i < t, arrived=1, left=1):
    """dg as the Hopper kernel finds it: what leaves tokens before t, less what arrives there."""
    t = np.arange(len(J))[:, None]
    J = np.tril(J, -1)
    leaves = J.sum(axis=0) - arrived * J.sum(axis=1) + left * b
    return np.where(early(t.T, t), leaves, a).sum(axis=1) + old


@verifies(
    "eq-crossing-sums",
    method="polynomial",
    covers="C = 6, every entry a symbol",
    mutants={
        "the token itself before itself": {"early": lambda i, t: i <= t},
        "what arrives forgotten": {"arrived": 0},
        "the next state left out": {"left": 0},
    },
)
def rectangles_by_row_and_column_sums(n=6, **changes):
    """Two sums of J a token, added up, against the sum over what crosses."""
    J = np.array(symbols(f"J:{n}:{n}")).reshape(n, n)
    a, b, old = np.array(symbols(f"a:{n}")), np.array(symbols(f"b:{n}")), symbols("old")
    found, t = crossings_by_sums(J, a, b, old, **changes), range(n)
    right = [sum(J[s, i] for s in t for i in t if s >= r > i) + sum(a[r:]) + sum(b[:r]) + old
             for r in t]  # fmt: skip

    def printed(at):
        t = range(1, len(at(r"\mathbf{K}")) + 1)
        J = np.array([[at(f"J_{{{s},{i}}}") for i in t] for s in t])
        a, b = (np.array([at(f"{x}_{{{i}}}") for i in t]) for x in "ab")
        last = at(r"\gamma_C \langle \mathbf{S}, \mathrm{d}\mathbf{S}'\rangle")
        return crossings_by_sums(J, a, b, last, **changes)

    on_page("eq-crossing-sums", lambda at: at.once(printed)[at.scope["r"] - 1])
    return [(x - y).expand() for x, y in zip(found, right, strict=True)]


@verifies(
    "eq-crossing-sums",
    method="float64",
    covers="64 tokens by the kernel's lines, against backward.gradients",
    mutants={"J turned round": {"turn": lambda J: J.T}},
)
def the_kernel_uses_it(turn=lambda J: J):

    def printed(at):
        x = lines.tokens(at)
        chunk = x.S, x.Q, x.K, x.V, logs(x.alpha), x.beta, x.dO, x.dS_next
        return crossings_of_the_kernel(*chunk, turn)

    on_page("eq-crossing-sums", lambda at: at.once(printed)[at.scope["r"] - 1], floats=True)
    q, k, v, g, beta, S_0 = hard_inputs(T=64)
    _, _, dO, _, _, dS = hard_inputs(T=64, seed=1)
    chunk = S_0, q, k, v, g, beta, dO, dS
    return relative_error(crossings_of_the_kernel(*chunk, turn), backward.chunk(*chunk)[4])


def crossings_of_the_kernel(S_0, q, k, v, g, beta, dO, dS, turn):
    """dg by the kernel's lines."""
    gamma, Gamma = decay(g)
    gamma, B = gamma[:, None], beta[:, None]
    A = wy.interaction(k, beta, Gamma)
    E = wy.solve(A, B * (v - gamma * (k @ S_0.T)))
    to_end = Gamma[-1][:, None]
    Z = wy.solve_transposed(A, (Gamma * (q @ k.T)).T @ dO + to_end * (k @ dS.T))
    J = Gamma * (dO @ E.T) * (q @ k.T) - np.tril(B * Gamma * (Z @ E.T), -1) * (k @ k.T)
    a = (gamma * (q * (dO @ S_0) - B * (k * (Z @ S_0)))).sum(-1)
    b = (to_end * k * (E @ dS)).sum(-1)
    return crossings_by_sums(turn(J), a, b, gamma[-1, 0] * (S_0 * dS).sum())
