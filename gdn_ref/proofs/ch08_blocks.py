"""Chapter 8: the inverse in blocks, joined in pairs or doubled from single tokens."""

import numpy as np
from sympy import Matrix, eye, symbols

from .ch08_inverses import (
    by_blocks,
    doubling_stages,
    identity,
    join_two,
    one_doubling,
    quarter,
    substitution,
)
from .ch08_system import interaction
from .page import on_page
from .registry import verifies
from .token_forms import first_chunk, modular_tokens, ones_below

# The two diagonal blocks of I + A, of any size, and the block below the diagonal.
upper, lower, below = symbols("upper lower Y", commutative=False)
BELOW = Matrix([[0, 0], [below, 0]])
BLOCKS = {upper: r"\mathbf{X}_e^{-1}", lower: r"\mathbf{X}_l^{-1}", below: r"\mathbf{Y}"}


def real_size():
    """`A` of 64 tokens with random keys of 128 dimensions, modulo 2^61 - 1."""
    x = first_chunk(modular_tokens())
    return interaction(x.K, x.beta)


@verifies(
    "eq-inverse-blocks",
    method="algebra",
    covers="every two block sizes",
    mutants={
        "sign": {"sign": 1},
        "the coupling alone": {"left": 1, "right": 1},
        "the inverses swapped": {"left": upper**-1, "right": lower**-1},
        "the early inverse left out": {"right": 1},
    },
)
def two_blocks(sign=-1, left=lower**-1, right=upper**-1):
    """The inverse of a lower triangular pair of blocks; the symbols do not commute."""
    inverse = Matrix([[upper**-1, 0], [sign * left * below * right, lower**-1]])
    on_page("eq-inverse-blocks", inverse, letters=BLOCKS)
    return (Matrix([[upper, 0], [below, lower]]) * inverse - eye(2)).expand()


@verifies(
    "eq-inverse-blocks",
    method="modular",
    covers="C=64 from blocks of 16, d_k=128",
    mutants={
        "sign": {"sign": 1},
        "blocks of 16 not inverted": {"solved": lambda block: identity(block) + block},
        "blocks of 16 by two terms": {"solved": lambda block: identity(block) - block},
    },
)
def blocks_at_real_size(sign=-1, solved=substitution):
    """Four blocks of 16 solved, then joined to two of 32 and to one of 64: degree at most 192."""
    blocks = [r"\mathbf{X}_e", r"\mathbf{Y}", r"\mathbf{X}_l"]
    on_page("eq-inverse-blocks", lambda at: join_two(*map(at, blocks), sign))
    A = real_size()
    inverse = by_blocks(A, 16, solved, sign)
    return inverse + A @ inverse - np.eye(len(A), dtype=np.int64)


@verifies(
    "eq-inverse-doubling",
    method="algebra",
    covers="every block size b",
    mutants={
        "sign": {"sign": 1},
        "X left out on the left": {"left": eye(2)},
        "X left out on the right": {"right": eye(2)},
        "the block above the diagonal": {"selected": Matrix([[0, below], [0, 0]])},
    },
)
def doubling_step(sign=-1, left=None, right=None, selected=BELOW):
    """If X_b inverts both diagonal blocks, X_2b inverts the block of twice the size.

    Base, b = 1: the diagonal of I + A is 1, so X_1 = I. The symbols do not commute.
    """
    X_b = Matrix([[upper**-1, 0], [0, lower**-1]])
    X_2b = X_b + sign * (X_b if left is None else left) * selected * (
        X_b if right is None else right
    )
    block = Matrix([[upper, 0], [below, lower]])
    X, L = symbols("X L", commutative=False)
    step = X + sign * (X if left is None else 1) * L * (X if right is None else 1)
    letters = {X: r"\mathbf{X}^{(b)}", L: r"\mathbf{A} \odot \mathbf{L}_b"}
    on_page("eq-inverse-doubling", step, letters=letters)
    return (block * X_2b - eye(2)).expand()


@verifies(
    "eq-inverse-doubling",
    method="modular",
    covers="C=64, d_k=128",
    mutants={
        "sign": {"sign": 1},
        "one doubling short": {"last": 16},
        "everything below the diagonal blocks": {
            "selected": lambda C, b: (
                (ones_below(C, -1) > 0) & (np.arange(C)[:, None] // b > np.arange(C) // b)
            )
        },
        "shifted by half a block": {"selected": lambda C, b: np.roll(quarter(C, b), b, axis=0)},
    },
)
def doubling_at_real_size(sign=-1, last=32, selected=quarter):
    """Six doublings, from blocks of one to blocks of 32, give the inverse of I + A.

    The entries of the inverse have degree at most 3 * 63: a wrong one passes with probability
    at most 192 / p, below 1e-16.
    """

    def printed(at):
        X, A, b = at(r"\mathbf{X}^{(b)}"), at(r"\mathbf{A}"), at.scope["b"]
        return one_doubling(X, A, b, sign, selected)

    def doubled(at):
        A = at(r"\mathbf{A}")
        return doubling_stages(A, sign, len(A) // 2, selected)[-1]

    on_page("eq-inverse-doubling", printed)
    on_page("eq-inverse-doubling", doubled, of=1)
    A = real_size()
    X = doubling_stages(A, sign, last, selected)[-1]
    return X + A @ X - np.eye(len(A), dtype=np.int64)
