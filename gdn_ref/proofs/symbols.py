"""The symbols of the induction steps: matrices of symbolic size.

An induction step adds one token to the r tokens that are already there. Those are stacked, row by
row, in `K`, `V`, `W`, `U`, `E`; what is added is in small letters. Nothing is expanded into
entries, so a step holds for every r, d_k and d_v; r may be 0, and `no_tokens` evaluates the base
there. `entries` makes small matrices of symbols for the checks that do expand.
"""

import numpy as np
from sympy import (
    BlockMatrix,
    Expr,
    Identity,
    Integer,
    MatMul,
    Matrix,
    MatrixBase,
    MatrixExpr,
    MatrixSymbol,
    ZeroMatrix,
    block_collapse,
    nextprime,
    symbols,
)


class Diagonal(MatrixSymbol):
    """A diagonal matrix, which is its own transpose."""

    def _eval_transpose(self):
        return self


r = symbols("r", integer=True, nonnegative=True)
d_k, d_v = symbols("d_k d_v", integer=True, positive=True)

alpha, beta = symbols("alpha beta")  # decay and write strength of the token that is added
gamma = symbols("gamma")  # decay from the state before the chunk to the last of the r tokens

S = MatrixSymbol("S", d_v, d_k)  # the state before the chunk
K = MatrixSymbol("K", r, d_k)
V = MatrixSymbol("V", r, d_v)
W = MatrixSymbol("W", r, d_k)
U = MatrixSymbol("U", r, d_v)
E = MatrixSymbol("E", r, d_v)

k = MatrixSymbol("k", d_k, 1)
q = MatrixSymbol("q", d_k, 1)
v = MatrixSymbol("v", d_v, 1)

# Row r of Gamma as a diagonal matrix: the decay from each of the r tokens to the last of them.
# For the next token every entry takes one factor alpha.
D = Diagonal("D", r, r)

I_k = Identity(d_k)
I_r = Identity(r)

FACTOR = I_k - beta * k * k.T  # what one token of the delta rule does to a state
WRITE = beta * v * k.T  # what it adds
w_new = beta * (k - W.T * K * k)  # its row of W (eq-wy-product)
u_new = beta * (v - U.T * K * k)  # and of U (eq-wy-sum)


def stacked(work, *pairs):
    """`work` on matrices of one row more: each pair is the rows so far and the row below them."""
    return block_collapse(work(*(BlockMatrix([[above], [row]]) for above, row in pairs)))


def no_tokens(claim, size=r):
    """The claim for `size` = 0, where nothing is stacked: products over no token are zero, and
    nothing has decayed since the chunk began."""

    def over_nothing(word):
        return isinstance(word, MatMul) and any(0 in x.shape for x in word.args if x.is_Matrix)

    at_zero = claim.subs({size: 0, gamma: 1})
    return at_zero.replace(over_nothing, lambda word: ZeroMatrix(*word.shape)).doit()


def entries(name, rows, columns=1):
    """A matrix of independent symbols, as a NumPy array: the package's code runs on it."""
    return np.array(symbols(f"{name}_:{rows}_:{columns}"), dtype=object).reshape(rows, columns)


def letters(name, rows, columns=1):
    """The same as a sympy matrix."""
    return Matrix(entries(name, rows, columns))


def nonzero_somewhere(expression):
    """Whether an expression, or an entry of a matrix, is a number other than zero at one point.

    Then it is not zero, and there is no need to simplify it. The point suits what is assumed of
    each letter: another prime number each.
    """
    if isinstance(expression, MatrixBase):
        return any(map(nonzero_somewhere, expression))
    if not isinstance(expression, Expr) or isinstance(expression, MatrixExpr):
        return False
    point, value = {}, 2
    for letter in sorted(expression.free_symbols, key=str):
        point[letter] = value = Integer(nextprime(value))
        if any(getattr(value, f"is_{x}") is not holds for x, holds in letter.assumptions0.items()):
            return False
    value = expression.xreplace(point)
    return value.is_comparable and value != 0
