"""Chapter 7: a product of factors as a sum of outer products, and what follows from it."""

from functools import cache

import numpy as np
from sympy import MatrixSymbol, ZeroMatrix

from . import lines
from .ch07_unroll import products, token_loop
from .modular import P as PRIME
from .modular import join
from .page import on_page
from .registry import verifies
from .symbols import (
    FACTOR,
    WRITE,
    I_k,
    K,
    U,
    W,
    beta,
    d_k,
    d_v,
    k,
    no_tokens,
    r,
    stacked,
    u_new,
    v,
    w_new,
)
from .token_forms import modular_tokens, polynomial_tokens, strict


@cache
def real_size():
    """64 tokens modulo p, their `W` and `U`, `P` and `H`, and every state."""
    x = modular_tokens(number_of_chunks=1)
    tokens = x.K, x.V, x.beta
    return x, recursion(*tokens), products(*tokens), token_loop(x)


def recursion(K, V, beta):
    """`W` and `U` row by row, as the theorem writes them, in any arithmetic."""
    W, U = K[:1] * beta[:1, None], V[:1] * beta[:1, None]
    for t in range(1, len(K)):
        seen = K[t : t + 1] @ K[:t].T  # k_i^T k_t for the earlier tokens i
        W = join([W, (K[t : t + 1] - seen @ W) * beta[t]], np.concatenate)
        U = join([U, (V[t : t + 1] - seen @ U) * beta[t]], np.concatenate)
    return W, U


@verifies(
    "eq-wy-product",
    method="algebra",
    covers="every r, d_k",
    mutants={
        "beta left out of w": {"w": k - W.T * K * k},
        "w without the earlier tokens": {"w": beta * k},
        "earlier tokens added": {"w": beta * (k + W.T * K * k)},
        "W and K swapped": {"w": beta * (k - K.T * W * k)},
        "newest factor on the left": {"last": lambda P: FACTOR * P},
    },
)
def one_more_factor(w=w_new, last=lambda P: P * FACTOR):
    """Base, r = 0: I. Step: I - W^T K, times one factor, loses one outer product."""
    P = I_k - W.T * K
    on_page("eq-wy-product", P - w * k.T)
    on_page("eq-wy-product", w, of=1)
    return [no_tokens(P) - I_k, last(P) - (P - w * k.T)]


@verifies(
    "eq-wy-product",
    method="modular",
    covers="64 tokens, d_k=128",
    mutants={
        "w without the earlier tokens": {"rows": lambda x, W: x.K * x.beta[:, None]},
        "earlier keys for earlier w": {
            "rows": lambda x, W: (x.K - strict(x.K @ x.K.T) @ x.K) * x.beta[:, None]
        },
    },
)
def product_at_real_size(rows=lambda x, W: W):
    """I - W^T K from the recursion against 64 factors: degree at most 192."""

    def product(x, W):
        return np.eye(x.K.shape[1], dtype=np.int64) - rows(x, W).T @ x.K

    def of_page(at):
        x = lines.so_far(at)
        return x, recursion(x.K, x.V, x.beta)[0]

    on_page("eq-wy-product", lambda at: product(*of_page(at)))
    on_page("eq-wy-product", lambda at: rows(*of_page(at))[-1:].T, of=1)
    x, (W, _), (P, _), _ = real_size()
    return product(x, W) - P


@verifies(
    "eq-wy-sum",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "beta left out of u": {"u": v - U.T * K * k},
        "u without the earlier tokens": {"u": beta * v},
        "earlier tokens added": {"u": beta * (v + U.T * K * k)},
        "earlier writes left alone": {"last": lambda H: H},
    },
)
def one_more_write(u=u_new, last=lambda H: H * FACTOR):
    """Base, r = 0: nothing. Step: U^T K, times one factor, plus one write."""
    H = U.T * K
    on_page("eq-wy-sum", H + u * k.T)
    on_page("eq-wy-sum", u, of=1)
    return [no_tokens(H) - ZeroMatrix(d_v, d_k), last(H) + WRITE - (H + u * k.T)]


@verifies(
    "eq-wy-sum",
    method="modular",
    covers="64 tokens, d_k=128, d_v=96",
    mutants={
        "beta left out of the value": {"rows": lambda x, U: x.V + U - x.V * x.beta[:, None]},
        "u without the earlier tokens": {"rows": lambda x, U: x.V * x.beta[:, None]},
    },
)
def writes_at_real_size(rows=lambda x, U: U):
    """U^T K from the recursion against the writes of 64 tokens: degree at most 193."""

    def of_page(at):
        x = lines.so_far(at)
        return rows(x, recursion(x.K, x.V, x.beta)[1])

    on_page("eq-wy-sum", lambda at: of_page(at).T @ lines.so_far(at).K)
    on_page("eq-wy-sum", lambda at: of_page(at)[-1:].T, of=1)
    x, (_, U), (_, H), _ = real_size()
    return rows(x, U).T @ x.K - H


@verifies(
    "eq-wy-matrix",
    method="algebra",
    covers="every r, d_k, d_v",
    mutants={
        "W and K swapped": {"product": lambda W, K: K.T * W},
        "the new key for the new w": {"row": k.T},
        "the new row missing": {"row": ZeroMatrix(1, d_k)},
    },
)
def sum_as_a_product(product=lambda W, K: W.T * K, row=w_new.T):
    """Base, r = 0: nothing. Step: a row below W and one below K add one outer product."""
    grown = stacked(product, (W, row), (K, k.T))
    base = no_tokens(product(W, K)) - ZeroMatrix(d_k, d_k)
    on_page("eq-wy-matrix", I_k - product(W, K) - row.T * k.T)
    return [base, grown - (W.T * K + w_new * k.T)]


@verifies(
    "eq-wy-matrix",
    method="polynomial",
    covers="r=4, d_k=d_v=3",
    mutants={
        "W and K swapped": {"P_of": lambda W, K: K.T @ W},
        "U and K swapped": {"H_of": lambda U, K: K.T @ U},
    },
)
def both_products_in_full(P_of=lambda W, K: W.T @ K, H_of=lambda U, K: U.T @ K):
    """Every entry a symbol: I - W^T K and U^T K against four factors multiplied out."""

    def sums(x):
        W, U = recursion(x.K, x.V, x.beta)
        return np.eye(x.K.shape[1], dtype=np.int64) - P_of(W, x.K), H_of(U, x.K)

    for of in (0, 1):
        on_page("eq-wy-matrix", lambda at, of=of: sums(lines.tokens(at))[of], of=of)
    x = polynomial_tokens()
    P, H = products(x.K, x.V, x.beta)
    residual = [ours - loop for ours, loop in zip(sums(x), (P, H), strict=True)]
    return int(any((part != 0).any() for part in residual))


@verifies(
    "eq-wy-rank",
    method="algebra",
    covers="every r, d_k",
    part="what is orthogonal to all keys stays",
    mutants={
        "orthogonal to W instead": {"unseen": W},
        "the product turned round": {"P": I_k - K.T * W},
    },
)
def nothing_else_changes(unseen=K, P=I_k - W.T * K):
    """A y orthogonal to all r keys, K y = 0, stays: P y = y. So the change has rank r at most."""
    y = MatrixSymbol("y", d_k, 1)
    so_far = {"W": lambda at: at(r"\mathbf{W}")[: at.n], "K": lambda at: at(r"\mathbf{K}")[: at.n]}
    on_page("eq-wy-rank", P * y, y, of=1, letters=so_far | {y: r"\boldsymbol{y}"})
    return ((P - I_k) * y).expand().subs(unseen * y, ZeroMatrix(r, 1))


def rank(matrix):
    """Rank modulo 2^61 - 1, by elimination in exact integers."""
    rows, found = [[int(x) for x in row] for row in matrix.residues], 0
    for column in range(len(rows[0])):
        pivot = next((n for n in range(found, len(rows)) if rows[n][column]), None)
        if pivot is None:
            continue
        rows[found], rows[pivot] = rows[pivot], rows[found]
        scale = pow(rows[found][column], PRIME - 2, PRIME)
        for n in range(found + 1, len(rows)):
            factor = rows[n][column] * scale % PRIME
            if factor:
                pairs = zip(rows[n], rows[found], strict=True)
                rows[n] = [(a - factor * b) % PRIME for a, b in pairs]
        found += 1
    return found


@verifies(
    "eq-wy-rank",
    method="modular",
    covers="r = 1 to 12, d_k=16, independent keys",
    mutants={
        "doubles with each token": {"claim": lambda r: min(16, 2**r - 1)},
        "P itself": {"of": lambda P: P},
        "a rank less": {"claim": lambda r: r - 1},
    },
    inputs={
        "a strength of zero": {"strengths": lambda b: b * (np.arange(len(b)) != 1)},
        "a key that comes back": {"keys": lambda K: join([K[:6], K[:6]], np.concatenate)},
    },
    part="the bound is attained: the rank is r for keys and strengths in general position",
)
def rank_of_the_change(
    claim=lambda r: r,
    of=lambda P: np.eye(P.shape[0], dtype=np.int64) - P,
    strengths=lambda b: b,
    keys=lambda K: K,
):
    """Rank of I - P^r for random keys and strengths, which are independent and not zero."""
    measured = lambda at: int(np.linalg.matrix_rank(of(at(r"\mathbf{P}^r"))))
    on_page("eq-wy-rank", measured, lambda at: claim(at.scope["r"]), floats=True)
    x = modular_tokens(C=12, d_k=16, d_v=2, number_of_chunks=1)
    K, b = keys(x.K), strengths(x.beta)
    return [rank(of(products(K[:n], x.V[:n], b[:n])[0])) - claim(n) for n in range(1, 13)]
