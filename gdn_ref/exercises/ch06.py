"""Exercises of chapter 6: a spectrum, a long key, a quarter turn, order, parity."""

from itertools import product

import numpy as np

from .. import delta_rule
from . import TOLERANCE, Wrong, exercise
from .traced import largest, operations


def transition(k, beta):
    return np.eye(len(k)) - beta * np.outer(k, k)


def close(a, b):
    return np.linalg.norm(np.asarray(a) - np.asarray(b)) < TOLERANCE


@exercise("06-eigenvalues")
def eigenvalues(answer):
    """The three eigenvalues for k = (1, 2, 2), beta = 0.5, alpha = 0.9, in any order."""
    found = np.sort(np.asarray(answer, dtype=float).ravel())
    if found.size != 3:
        raise Wrong(f"a 3 x 3 matrix has three eigenvalues, counted often enough; got {found.size}")
    right = np.sort(np.linalg.eigvalsh(0.9 * transition(np.array([1.0, 2.0, 2.0]), 0.5)))
    if close(found, right):
        return
    if close(0.9 * found, right):
        raise Wrong("that is the spectrum without the gate; alpha multiplies every eigenvalue")
    if np.sum(np.abs(found - right[-1]) < TOLERANCE) != 2:
        raise Wrong("what happens to a vector orthogonal to k? there are two such directions")
    raise Wrong("two are right; for the third, which power of the key's length comes in?")


@exercise("06-erase")
def erase(answer):
    """`answer(k)` is the strength at which only the new value is left at k."""
    rng = np.random.default_rng(0)
    for size, length in ((4, 2.0), (4, 1.0), (3, 0.5), (6, 7.0)):
        k = rng.normal(size=size)
        k *= length / np.linalg.norm(k)
        state, value, beta = rng.normal(size=(2, size)), rng.normal(size=2), answer(k)
        if not np.isscalar(beta) and np.shape(beta) != ():
            raise Wrong(f"beta is one number; yours has shape {np.shape(beta)}")
        read, _ = delta_rule.step(state, k, k, value, np.asarray(float(beta)))
        if not close(read, value):
            left = (1 - float(beta) * length**2) * 100
            raise Wrong(f"for a key of length {length:g}, {left:.0f} % of the old answer is left")


@exercise("06-quarter-turn")
def quarter_turn(answer):
    """Two unit keys whose reflections, first then second, turn the plane by +90 degrees."""
    first, second = (np.asarray(key, dtype=float) for key in answer)
    for name, key in (("first", first), ("second", second)):
        if key.shape != (2,):
            raise Wrong(f"the {name} key should have two entries, it has shape {key.shape}")
        if abs(np.linalg.norm(key) - 1) > 1e-6:
            raise Wrong(f"the {name} key has length {np.linalg.norm(key):.8g}, not 1")
    both = transition(second, 2.0) @ transition(first, 2.0)
    turn = np.degrees(np.arctan2(both[1, 0], both[0, 0]))
    if abs(turn - 90) > 1e-4:
        raise Wrong(
            f"together they turn by {turn:.6g} degrees (positive is counter-clockwise);"
            " how does the turn depend on the angle between the keys, and on their order?"
        )


@exercise("06-commute")
def commute(answer):
    """`answer(k1, beta1, k2, beta2)` is True exactly if the two transitions commute."""
    a, b = np.array([1.0, 2.0, 0.5]), np.array([0.3, -1.0, 2.0])
    orthogonal = b - (a @ b) / (a @ a) * a
    cases = {
        "two keys at an odd angle": (a, 0.7, b, 1.2),
        "two projections at an odd angle": (a / np.linalg.norm(a), 1.0, b / np.linalg.norm(b), 1.0),
        "the same key twice": (a, 0.7, a, 1.2),
        "opposite keys": (a, 0.7, -2 * a, 1.2),
        "orthogonal keys": (a, 0.7, orthogonal, 1.2),
        "a token of strength 0": (a, 0.0, b, 1.2),
        "a second token of strength 0": (a, 0.7, b, 0.0),
        "short keys at an odd angle": (0.1 * a, 0.7, 0.1 * b, 1.2),
        "keys with five entries": (np.append(a, [0.5, 1.0]), 0.7, np.append(b, [1.0, 0.0]), 1.2),
    }
    for name, (k1, beta1, k2, beta2) in cases.items():
        one, two = transition(k1, beta1), transition(k2, beta2)
        truth = bool(np.linalg.norm(one @ two - two @ one) < TOLERANCE)
        if bool(answer(k1, beta1, k2, beta2)) != truth:
            raise Wrong(f"{name}: the two products {'are' if truth else 'are not'} equal")
    wide = np.ones(50) / 8
    if largest(operations(answer, wide, 0.7, np.arange(50) / 200, 1.2)) >= 50 * 50:
        raise Wrong("right, but with a matrix: of keys with 50 entries it makes 50 x 50 numbers")


@exercise("06-parity")
def parity(answer):
    """`answer(bit)` gives the key and the strength of the token for this bit."""
    for bit in (0, 1):
        key, beta = answer(bit)
        if np.shape(key) != (2,) or abs(np.linalg.norm(key) - 1) > TOLERANCE:
            raise Wrong(f"for bit {bit} the key should be a unit vector with two entries")
        if not 0 <= beta <= 2:
            raise Wrong(f"for bit {bit} the strength is {beta}, outside 0 to 2")
    for length in range(1, 7):
        for bits in product((0, 1), repeat=length):
            state = np.array([[1.0, 0.0]])
            for bit in bits:
                state = state @ transition(*answer(bit))
            if abs(state[0, 0] - (-1) ** sum(bits)) > TOLERANCE:
                text = "".join(map(str, bits))
                raise Wrong(f"after the bits {text} the memory says {state[0, 0]:.3g}")
