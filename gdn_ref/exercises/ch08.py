"""Exercises of chapter 8: sums over paths, joining blocks, what T contains, keys that break."""

import numpy as np

from .. import wy
from ..proofs.ch08_inverses import powers
from ..proofs.data import hard_inputs, relative_error, unit
from . import TOLERANCE, Wrong, exercise


def random_interaction(C, seed):
    return np.tril(np.random.default_rng(seed).normal(size=(C, C)), -1)


@exercise("08-paths")
def path_sum(answer):
    """`answer(A, i, r)` is entry (r, i) of the inverse of I + A, tokens counted from 0."""
    A = random_interaction(6, 8)
    X = np.linalg.inv(np.eye(6) + A)
    for token in (0, 3):
        if abs(answer(A, token, token) - 1) > TOLERANCE:
            raise Wrong("from a token to itself there is one path: the one without a step")
    if abs(answer(A, 4, 1)) > TOLERANCE:
        raise Wrong("edges lead to later tokens only: there is no path from 5 back to 2")
    if abs(answer(A, 2, 3) - X[3, 2]) > TOLERANCE:
        raise Wrong("between neighbours there is a single edge; which sign does it carry?")
    for i in range(6):
        for r in range(i + 2, 6):
            found = answer(A, i, r)
            if abs(found - X[r, i]) < TOLERANCE:
                continue
            if abs(found + A[r, i]) < TOLERANCE:
                raise Wrong("that is the direct edge alone; what about the tokens in between?")
            raise Wrong(
                f"from token {i + 1} to token {r + 1} the paths add up to another number; "
                "split them by their last edge, and check the sign of every step"
            )


@exercise("08-join")
def join(answer):
    """`answer(early, coupling, late)`: the inverse of a pair from the inverses of its blocks."""
    for sizes in ((2, 2), (3, 2), (1, 4)):
        n, C = sizes[0], sum(sizes)
        A = random_interaction(C, C + n)
        X = np.linalg.inv(np.eye(C) + A)
        found = np.asarray(answer(X[:n, :n], A[n:, :n], X[n:, n:]))
        name = f"blocks of {sizes[0]} and {sizes[1]} tokens"
        if found.shape != (C, C):
            raise Wrong(f"{name}: the pair has {C} rows and columns, yours is {found.shape}")
        if np.abs(found[:n] - X[:n]).max() > TOLERANCE:
            raise Wrong(f"{name}: the early rows need nothing from the late block")
        if np.abs(found[n:, n:] - X[n:, n:]).max() > TOLERANCE:
            raise Wrong(f"{name}: the lower right corner is known already")
        corner = found[n:, :n]
        if np.abs(corner + X[n:, :n]).max() < TOLERANCE:
            raise Wrong(f"{name}: the corner has the right size and the wrong sign")
        if np.abs(corner - X[n:, :n]).max() > TOLERANCE:
            raise Wrong(
                f"{name}: a path from the early to the late block crosses over once; "
                "what may it do before, and after?"
            )


@exercise("08-recover")
def recover(answer):
    """`answer(T)` gives back the strengths and A from T = (I + A)^-1 B."""
    _, K, _, _, beta, _ = hard_inputs(T=9)
    A = wy.interaction(K, beta)
    T = wy.solve(A, np.diag(beta))
    found = answer(T)
    if not isinstance(found, tuple | list) or len(found) != 2:
        raise Wrong("two things are asked for: the strengths and the matrix A")
    strengths, matrix = (np.asarray(x, dtype=float) for x in found)
    if strengths.shape != beta.shape:
        raise Wrong(f"one strength a token: expected shape {beta.shape}, got {strengths.shape}")
    if np.abs(strengths - beta).max() > TOLERANCE:
        raise Wrong("the strengths are not right; what stands on the diagonal of the inverse?")
    if matrix.shape != A.shape or np.abs(matrix - A).max() > TOLERANCE:
        if np.abs(matrix - wy.solve(A, np.eye(9))).max() < TOLERANCE:
            raise Wrong("that is (I + A)^-1; one inversion is left")
        if np.abs(matrix - np.linalg.inv(T)).max() < TOLERANCE:
            raise Wrong("that is the inverse of T, in which B is still hidden")
        raise Wrong("the strengths are right, A is not; put yours back into eq-ut-transform")


@exercise("08-breaking-keys")
def breaking_keys(answer):
    """`(K, beta)`: legal tokens on which the sum of powers fails and substitution does not."""
    K, beta = (np.asarray(x, dtype=float) for x in answer)
    if K.ndim != 2 or len(K) > 64 or beta.shape != (len(K),):
        raise Wrong("give K with one row a token, at most 64 of them, and one strength a row")
    if not np.abs(K - unit(K)).max() <= 1e-6:  # nor if a number is not finite
        raise Wrong("every key should have length 1")
    if beta.min() < 0 or beta.max() > 1:
        raise Wrong("every strength should lie between 0 and 1")
    if np.abs(np.tril(K @ K.T, -1)).max() > 0.5 + 1e-6:
        raise Wrong("no two keys may have a cosine above 0.5, nor below -0.5")
    A = wy.interaction(K, beta).astype("float32")
    right = wy.solve(A.astype(float), np.eye(len(K)))
    error = relative_error(powers(A), right)
    if error <= 1:  # beyond the range of float32 it is NaN, and that is off, too
        raise Wrong(
            f"in float32 the sum of powers is off by {error:.0e} of the whole here, less than 1; "
            "which sign of the overlaps lets the powers add up, and how large may they be?"
        )
