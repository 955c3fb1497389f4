"""Exercises of chapter 5: clear one key, two keys in turn, a faulty step, two tokens at once."""

import numpy as np

from .. import delta_rule
from . import TOLERANCE, Wrong, exercise


def far(a, b):
    return not np.linalg.norm(np.asarray(a, dtype=float) - np.asarray(b)) <= TOLERANCE


@exercise("05-clear")
def clear(answer):
    """`answer(S, k)` gives the value and the strength of a token that clears one key."""
    rng = np.random.default_rng(0)
    for length in (1.0, 2.0, 0.5):
        S, k, q = rng.normal(size=(3, 5)), rng.normal(size=5), rng.normal(size=5)
        k *= length / np.linalg.norm(k)
        across = q - (q @ k) / (k @ k) * k
        v, beta = answer(S, k)
        if np.shape(v) != (3,) or np.shape(beta) != ():
            raise Wrong("return a value with one entry a row of S, and one number")
        if not np.isfinite([*v, beta]).all():
            raise Wrong("a number of your token is not finite")
        _, after = delta_rule.step(S, k, k, np.asarray(v, dtype=float), np.asarray(float(beta)))
        if far(after @ across, S @ across):
            raise Wrong("an answer across the key has changed; how large are your numbers?")
        left = np.linalg.norm(after @ k) / np.linalg.norm(S @ k)
        if left > TOLERANCE:
            raise Wrong(f"for a key of length {length:g}, {left:.0%} of the answer's size is left")


@exercise("05-rounds")
def rounds(answer):
    """`answer(cosine)` is the factor by which a round of two writes shrinks the error at k_2."""
    for degrees in (90, 60, 30, 120, 10):
        cosine = np.cos(np.radians(degrees))
        keys = np.array([[1.0, 0.0], [cosine, np.sin(np.radians(degrees))]])
        S, values = np.array([[0.3, -0.8]]), np.array([[0.7], [0.4]])
        errors = []
        for _ in range(3):  # the first round only brings token 2 on its line
            S = np.array(S)
            for k, v in zip(keys, values, strict=True):
                errors.append((values[1] - S @ keys[1]).item())
                _, S = delta_rule.step(S, k, k, v, np.asarray(1.0))
        right = errors[5] / errors[3] if abs(errors[3]) > TOLERANCE else 0.0
        found = float(answer(cosine))
        if abs(found - right) > 1e-7:
            how = "too large" if abs(found) > abs(right) else "too small or of the wrong sign"
            raise Wrong(
                f"with keys {degrees}° apart (cosine {cosine:.3f}) your {found:.3f} is {how};"
                " follow one error: how much of it does each of the two writes spill over?"
            )


@exercise("05-faulty")
def faulty(answer):
    """`answer(S, q, k, v, beta)` is one step: `(o, S)`."""
    rng = np.random.default_rng(1)
    S, k, v = rng.normal(size=(3, 5)), rng.normal(size=5), rng.normal(size=3)
    unit = k / np.linalg.norm(k)
    cases = {
        "q = k": (unit, unit, 0.7),
        "another q": (rng.normal(size=5), unit, 0.7),
        "a key of length 2": (rng.normal(size=5), 2 * unit, 0.1),
    }
    for name, (q, k, beta) in cases.items():
        o, after = answer(S, q, k, v, beta)
        right_o, right = delta_rule.step(S, q, k, v, np.asarray(beta))
        if np.shape(after) != S.shape or np.shape(o) != (3,):
            raise Wrong("return the output and the new memory, in this order")
        if far(after, right):
            raise Wrong(
                f"with {name} the new memory is off: its error at k should be"
                f" {1 - beta * (k @ k):.0%} of the old one; the query only reads, and nothing is"
                " rescaled"
            )
        if far(o, right_o):
            raise Wrong(f"with {name} the memory is right, the output is not: when is it read?")


@exercise("05-two-at-once")
def two_at_once(answer):
    """`answer(R, G, beta)` gives both corrections from the errors before either token."""
    rng = np.random.default_rng(2)
    for cosine in (0.0, 0.5, -0.9):
        S, V, beta = rng.normal(size=(3, 2)), rng.normal(size=(2, 3)), rng.uniform(0.2, 1.8, 2)
        K = np.array([[1.5, 0.0], [cosine, np.sqrt(1 - cosine**2)]])
        R = V - K @ S.T
        _, middle = delta_rule.step(S, K[0], K[0], V[0], beta[0])
        right = np.stack([beta[0] * R[0], beta[1] * (V[1] - middle @ K[1])])
        found = np.asarray(answer(R, K @ K.T, beta), dtype=float)
        if found.shape != (2, 3):
            raise Wrong(f"return one row a token, shape (2, 3); yours is {found.shape}")
        if far(found[0], right[0]):
            raise Wrong("the first correction: nothing comes before this token")
        if far(found[1], right[1]):
            raise Wrong(
                f"the second correction, keys with cosine {cosine:g}: the first token has changed"
                " what the memory says at the second key; by how much?"
            )
