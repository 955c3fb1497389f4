"""The kernel's inverse of I + A: small blocks first, then pairs of blocks, up to the chunk."""

import numpy as np
from sympy import Matrix, eye, symbols

from .modular import join
from .registry import verifies
from .token_forms import FORM, first_chunk, modular_tokens, ones_below, rows, solve

# The two diagonal blocks of I + A, of any size b, and the block below the diagonal.
upper, lower, below = symbols("X Z Y", commutative=False)
BELOW = Matrix([[0, 0], [below, 0]])


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
    return (Matrix([[upper, 0], [below, lower]]) * inverse - eye(2)).expand()


@verifies(
    "eq-inverse-blocks",
    method="modular",
    covers="C=64 from blocks of 16, d_k=128",
    mutants={
        "sign": {"sign": 1},
        "one joining short": {"sizes": (16,)},
        "blocks of 16 left as they are": {"solved": lambda block: block},
    },
)
def blocks_at_real_size(sign=-1, sizes=(16, 32), solved=None):
    """Four blocks of 16 solved, then joined to two of 32 and to one of 64: degree at most 192."""
    x = first_chunk(modular_tokens(), FORM)
    A, C = x.A_gated, len(x.A_gated)
    unit = np.eye(16, dtype=np.int64)
    blocks = [A[b : b + 16, b : b + 16] for b in range(0, C, 16)]
    blocks = [solve(b, unit + 0 * b) if solved is None else solved(b + unit) for b in blocks]
    for n in sizes:
        pairs = []
        for p in range(0, C, 2 * n):
            early, late = blocks[p // n], blocks[p // n + 1]
            corner = sign * (late @ A[p + n : p + 2 * n, p : p + n] @ early)
            upper_rows = join([early, 0 * early], np.concatenate, axis=1)
            lower_rows = join([corner, late], np.concatenate, axis=1)
            pairs.append(join([upper_rows, lower_rows], np.concatenate))
        blocks = pairs
    if len(blocks) > 1:
        return A
    return blocks[0] + A @ blocks[0] - np.eye(C, dtype=np.int64)


@verifies(
    "eq-ut-transform",
    method="modular",
    covers="C=64, d_k=128, d_v=96, two chunks",
    mutants={
        "beta on the rows": {"place": lambda T, beta: rows(beta, T)},
        "beta left out": {"place": lambda T, beta: T},
        "the ungated A": {"matrix": lambda x: x.A},
    },
)
def transform_of_the_residual(place=lambda T, beta: rows(beta, T.T).T, matrix=lambda x: x.A_gated):
    """UT times V is U~, and UT times the residual V - diag(gamma) K S^T is E."""
    x = first_chunk(modular_tokens(), FORM)
    unit = np.eye(len(x.A), dtype=np.int64) + 0 * x.A
    UT = place(solve(matrix(x), unit), x.beta)
    return [UT @ x.V - x.U, UT @ (x.V - rows(x.gamma, x.K @ x.S.T)) - x.E]


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
