"""The kernel's inverse of I + A: small blocks first, then pairs of blocks, up to the chunk."""

import numpy as np
from sympy import Matrix, eye, symbols

from .registry import verifies
from .token_forms import FORM, first_chunk, modular_tokens, ones_below

# The two diagonal blocks of I + A, of any size b, and the block below the diagonal.
upper, lower, below = symbols("X Z Y", commutative=False)
BELOW = Matrix([[0, 0], [below, 0]])


@verifies(
    "eq-inverse-doubling",
    method="algebra",
    covers="every block size b",
    mutants={
        "sign": {"sign": 1},
        "T left out on the left": {"left": eye(2)},
        "T left out on the right": {"right": eye(2)},
        "the block above the diagonal": {"selected": Matrix([[0, below], [0, 0]])},
    },
)
def doubling_step(sign=-1, left=None, right=None, selected=BELOW):
    """If T_b inverts both diagonal blocks, T_2b inverts the block of twice the size.

    Base, b = 1: the diagonal of I + A is 1, so T_1 = I. The symbols do not commute.
    """
    T_b = Matrix([[upper**-1, 0], [0, lower**-1]])
    T_2b = T_b + sign * (T_b if left is None else left) * selected * (
        T_b if right is None else right
    )
    block = Matrix([[upper, 0], [below, lower]])
    return (block * T_2b - eye(2)).expand()


def quarter(C, b):
    """`L_b`: in each diagonal block of size 2b, ones in its lower-left b x b quarter."""
    row, column = np.indices((C, C))
    same_pair = row // (2 * b) == column // (2 * b)
    return (same_pair & (row // b > column // b)).astype(np.int64)


@verifies(
    "eq-inverse-doubling",
    method="modular",
    covers="C=64, d_k=128",
    mutants={
        "sign": {"sign": 1},
        "one doubling short": {"last": 16},
        "everything below the diagonal blocks": {
            "selected": lambda C, b: (
                ones_below(C, -1) * (np.arange(C)[:, None] // b > np.arange(C) // b)
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
    A = first_chunk(modular_tokens(), FORM).A
    C = len(A)
    T, b = np.eye(C, dtype=np.int64) + 0 * A, 1
    while b <= last:
        T = T + sign * (T @ (A * selected(C, b)) @ T)
        b = 2 * b
    return T + A @ T - np.eye(C, dtype=np.int64)
