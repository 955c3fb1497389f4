"""Checkers for chapter 2: a budget of pairs, spread keys, corrected values, a mean, a rewrite."""

import numpy as np

from .. import linear_attention
from ..proofs.data import hard_inputs, relative_error
from . import TOLERANCE, Wrong, exercise


def array_of(answer, shape, what):
    found = np.asarray(answer, dtype=float)
    if found.shape != shape:
        raise Wrong(f"expected {what} of shape {shape}, got {found.shape}")
    if not np.isfinite(found).all():
        raise Wrong(f"some of the {what} are not finite")
    return found


@exercise("02-pairs")
def pairs(answer):
    """`answer(d_k, length)`: most pairs whose root mean squared error is at most `length`."""
    for d_k, length in ((128, 1.0), (128, 0.5), (64, 2.0), (256, 0.25), (128, 0.05), (100, 0.33)):
        found = answer(d_k, length)
        if found is None or int(found) != found:
            raise Wrong(f"expected a whole number of pairs, got {found!r}")
        if found < 1:
            raise Wrong(f"d_k = {d_k}, length {length}: a single pair has no crosstalk at all")
        if (found - 1) / d_k > length**2 + TOLERANCE:
            raise Wrong(
                f"d_k = {d_k}: with {found} pairs the error is {((found - 1) / d_k) ** 0.5:.3f} "
                f"long, more than {length}; is the formula about lengths or about squares?"
            )
        if found / d_k <= length**2:
            raise Wrong(f"d_k = {d_k}, length {length}: there is room for more than {found} pairs")


@exercise("02-spread")
def spread(answer):
    """Eight unit keys in four dimensions, no two parallel, with the least crosstalk of all."""
    K = array_of(answer, (8, 4), "keys")
    if np.abs(np.linalg.norm(K, axis=1) - 1).max() > 1e-6:
        raise Wrong("the keys should have length one")
    overlaps = np.abs(K @ K.T - np.eye(8))
    if overlaps.max() > 1 - 1e-6:
        raise Wrong("two of the keys are equal or opposite, so they share one place in the memory")
    crosstalk = np.sum(overlaps**2) / 8
    if crosstalk > 1 + 1e-6:
        raise Wrong(
            f"a read gets {crosstalk:.3f} of crosstalk on average, and the floor is 1; what must "
            "K^T K be for equality?"
        )


@exercise("02-corrected-values")
def corrected_values(answer):
    """`answer(K, V)`: what linear attention has to store so that it returns V."""
    for n, d_k, d_v in ((5, 8, 3), (12, 12, 4), (1, 4, 2)):
        _, K, V, *_ = hard_inputs(T=n, d_k=d_k, d_v=d_v)
        U = array_of(answer(K, V), V.shape, "values")
        _, S = linear_attention.recurrent(K, K, U)
        if not relative_error(K @ S.T, V) <= 1e-7:
            if relative_error(U, V) < TOLERANCE and n > 1:
                raise Wrong("these are the values themselves, and they come back with crosstalk")
            first = int(np.argmax(np.abs(K @ S.T - V).max(axis=1) > 1e-7)) + 1
            raise Wrong(
                f"{n} keys in {d_k} dimensions: the read at key {first} is not its value; which "
                "matrix stands between the stored values and the reads?"
            )


@exercise("02-centre")
def centre(answer):
    """`answer(X)`: unit keys of the positive features only, nearly as wide as the head."""
    rng = np.random.default_rng(2)
    for n, d_k in ((2000, 32), (4000, 64)):
        X = np.maximum(rng.normal(size=(n, d_k)) + 0.3, 0)
        X[-1] = (1 + 1e-9 * rng.normal(size=d_k)) * X[0]  # the same features but for a billionth
        K = array_of(answer(X), (n, d_k), "keys")
        if np.abs(np.linalg.norm(K, axis=1) - 1).max() > 1e-6:
            raise Wrong("the keys should have length one")
        width = 1 / np.sum((K.T @ K / n) ** 2)
        if width < 0.9 * d_k:
            raise Wrong(
                f"with {n} keys in {d_k} dimensions the effective width is {width:.1f}; what do "
                "all keys have in common?"
            )
        if np.abs(K[-1] - K[0]).max() > 1e-3:
            raise Wrong("the first token and the last have the same features, and other keys")


@exercise("02-overwrite")
def overwrite(answer):
    """`answer(S, k, v)`: the state after the write, for a unit key."""
    for seed in range(3):
        _, K, V, _, _, S = hard_inputs(T=4, d_k=6, d_v=3, seed=seed)
        k, v = K[0], V[0]
        new = array_of(answer(S, k, v), S.shape, "state")
        if not relative_error(new @ k, v) <= TOLERANCE:
            if relative_error(new @ k, S @ k + v) < TOLERANCE:
                raise Wrong("the read at k is the old answer plus the new value")
            raise Wrong("the read at k is not v")
        across = np.linalg.qr(np.column_stack([k, np.eye(6)]))[0][:, 1:]
        if not relative_error(new @ across, S @ across) <= TOLERANCE:
            raise Wrong("the read at k is right, but reads at keys orthogonal to k have changed")
