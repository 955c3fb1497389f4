"""Determinants and ranks by minors, in any arithmetic: only `+ - *` are used."""

from itertools import combinations

import numpy as np

NOTHING = 1e-9  # a minor of floats that is as good as zero


def determinant(M):
    """By the first row; the entries may be polynomials."""
    if len(M) == 1:
        return M[0, 0]
    minors = [np.delete(M[1:], j, axis=1) for j in range(len(M))]
    return sum((-1) ** j * M[0, j] * determinant(minor) for j, minor in enumerate(minors))


def minors(M, order):
    """All minors of this order, one by one."""
    for rows in combinations(range(len(M)), order):
        for columns in combinations(range(M.shape[1]), order):
            yield determinant(M[np.ix_(rows, columns)])


def rank(M):
    """The largest order of a minor that is not zero."""
    small = NOTHING if M.dtype == float else 0
    order = 0
    while any(abs(float(m)) > small if small else m != 0 for m in minors(M, order + 1)):
        order += 1
    return order
