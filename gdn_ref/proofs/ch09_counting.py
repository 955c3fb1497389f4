"""Numbers that count: how many products the forms of the delta rule take, and how many must wait.

The code runs on `Counted` numbers, so nothing is estimated. `Traffic` counts what a chunk takes in
and gives back.
"""

import numpy as np

from .. import delta_rule
from ..chunking import scan_chunks
from .token_forms import rows, solve


class Counted:
    """A number that counts products, and knows how many of them lie behind it in a row."""

    products = 0

    def __init__(self, depth=0):
        self.depth = depth

    def _after(self, other, taken):
        return Counted(max(self.depth, getattr(other, "depth", 0)) + taken)

    def __mul__(self, other):
        Counted.products += 1
        return self._after(other, 1)

    def __add__(self, other):
        return self._after(other, 0)

    def __neg__(self):
        return self

    __rmul__ = __mul__
    __radd__ = __sub__ = __rsub__ = __add__


def numbers(*shape):
    return np.full(shape, Counted(), dtype=object)


def tokens(length, m, n):
    """Queries, keys, values and write strengths."""
    return numbers(length, m), numbers(length, m), numbers(length, n), numbers(length)


def late(S, q, k, v, beta):
    """The chunk form that solves when the state is there (eq-delta-solve)."""
    A = np.tril(rows(beta, k @ k.T), -1)
    E = solve(A, rows(beta, v - k @ S.T))
    return q @ S.T + np.tril(q @ k.T) @ E, S + E.T @ k


def prepare(k, v, beta):
    """What an early chunk form does without the state: W and U."""
    A = np.tril(rows(beta, k @ k.T), -1)
    return solve(A, rows(beta, k)), solve(A, rows(beta, v))


def early(S, q, k, v, beta):
    """The chunk form that solves before the state is there (eq-delta-split)."""
    w, u = prepare(k, v, beta)
    E = u - w @ S.T
    return q @ S.T + np.tril(q @ k.T) @ E, S + E.T @ k


def products(form, length, m, n):
    """How many products `form` takes for a chunk of this length."""
    Counted.products = 0
    form(numbers(n, m), *tokens(length, m, n))
    return Counted.products


def depth(*arrays):
    """The longest row of products behind any entry."""
    return max(x.depth for array in arrays for x in np.ravel(array))


class Traffic:
    """A step or chunk function that adds up what goes in and what comes out."""

    def __init__(self, form):
        self.form, self.moved, self.states = form, 0, 0

    def __call__(self, S, *arguments):
        results = self.form(S, *arguments)
        self.moved += sum(np.size(x) for x in (S, *arguments, *results))
        self.states += np.size(S)
        return results


def traffic(length, chunk, m, n):
    """Numbers moved and numbers in the states received, over `length` tokens."""
    rng = np.random.default_rng(0)
    q, k = rng.normal(size=(2, length, m))
    v, beta = rng.normal(size=(length, n)), rng.uniform(size=length)
    counted = Traffic(delta_rule.chunk)
    scan_chunks(counted, np.zeros((n, m)), (q, k, v), (beta,), chunk)
    return counted
