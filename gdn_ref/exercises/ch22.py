"""Exercises of chapter 22: half a swap, steps, a round trip, alternate keys, a reach."""

import math

import numpy as np

from ..experiments import permutations
from . import TOLERANCE, Wrong, exercise


@exercise("22-share")
def share(answer):
    """`answer(keep)`: the strength at which a box keeps this share of its own content."""
    for keep in (0.0, 0.25, 0.5, 0.9, 1.0):
        beta = float(answer(keep))
        k = np.array([1.0, -1.0, 0.0]) / math.sqrt(2)
        row = np.array([1.0, 0.0, 0.0])
        kept = (row - beta * (row @ k) * k)[0]
        if abs((1 - beta) - keep) < TOLERANCE < abs(kept - keep):
            raise Wrong("that share is of the read along the key, of which a box is only a part")
        if not abs(kept - keep) <= TOLERANCE:
            raise Wrong(f"keep = {keep}: with strength {beta:.3f} the box keeps {kept:.3f}")


@exercise("22-steps")
def steps(answer):
    """`answer(p)`: the fewest steps for the permutation that takes box i to box p[i]."""
    rng = np.random.default_rng(22)
    cases = [*permutations.all_of(4), *(tuple(map(int, rng.permutation(9))) for _ in range(40))]
    for p in cases:
        found = answer(p)
        if found != int(found) or found < 0:
            raise Wrong(f"expected a number of steps, got {found}")
        right = permutations.fewest_steps(p)
        if found < right:
            raise Wrong(f"{p}: {int(found)} steps are too few")
        if found > right:
            count = len(permutations.cycles(p))
            more = "; it has more than one cycle" if count > 1 else ""
            raise Wrong(f"{p}: fewer than {int(found)} steps do{more}")


@exercise("22-round-trip")
def round_trip(keys):
    """`keys`, 3 x 4: unit keys of three reflections that take `(w, x, y, z)` to `(z, w, x, y)`."""
    keys = np.asarray(keys, dtype=float)
    if keys.shape != (3, 4):
        raise Wrong(f"expected three keys of four entries, got shape {keys.shape}")
    lengths = np.linalg.norm(keys, axis=1)
    if not np.abs(lengths - 1).max() <= TOLERANCE:
        raise Wrong(f"the keys have lengths {lengths.round(3)}; they should be of length 1")
    rows = {"the first step first": keys, "the last": keys[::-1]}
    found = {}
    for name, order in rows.items():
        state = np.eye(4)
        for k in order:
            state = state - 2 * np.outer(state @ k, k)
        found[name] = state
    right = permutations.matrix((1, 2, 3, 0))
    if np.abs(found["the first step first"] - right).max() <= TOLERANCE:
        return
    if np.abs(found["the last"] - right).max() <= TOLERANCE:
        raise Wrong("these are the right swaps in the reverse order")
    row = np.arange(1, 5) @ found["the first step first"]
    raise Wrong(f"(1, 2, 3, 4) becomes {row.round(2)}")


@exercise("22-alternate")
def alternate(answer):
    """`answer(x, place, m)`: a unit key of the plane for the token x at this place, from 1."""
    rng = np.random.default_rng(22)
    for m in (3, 5, 8):
        for count in (2, 6):
            word, turned = rng.integers(m, size=count), np.eye(2)
            for place, x in enumerate(map(int, word), 1):
                k = np.asarray(answer(x, place, m), dtype=float)
                if k.shape != (2,):
                    raise Wrong(f"expected a key of two entries, got shape {k.shape}")
                if not abs(np.linalg.norm(k) - 1) <= TOLERANCE:
                    raise Wrong(f"expected a key of length 1, got {np.linalg.norm(k):.3f}")
                turned = turned - 2 * np.outer(turned @ k, k)
            angle = 2 * math.pi * int(word.sum()) / m
            right = np.array([[math.cos(angle), math.sin(angle)],
                              [-math.sin(angle), math.cos(angle)]])  # fmt: skip
            if np.abs(turned - right.T).max() <= 1e-7 < np.abs(turned - right).max():
                raise Wrong(f"m = {m}: the row turns the other way round")
            if not np.abs(turned - right).max() <= 1e-7:
                raise Wrong(
                    f"m = {m}, tokens {word.tolist()}: the row does not end where it should"
                )


@exercise("22-reach")
def reach(answer):
    """`answer(n, left)`: the logit with which the share `left` remains after n reflections."""
    for n, left in ((1, 0.5), (51, 0.5), (1000, 0.9), (10_000, 0.99)):
        b = float(answer(n, left))
        remains = ((1 - math.exp(-b)) / (1 + math.exp(-b))) ** n if b > 0 else 0.0
        wrong_unit = (1 / (1 + math.exp(-b))) ** n
        if abs(wrong_unit - left) < 1e-6 < abs(remains - left):
            raise Wrong("that is for the sigmoid itself; what is multiplied is the strength less 1")
        if not abs(remains - left) <= 1e-6:
            raise Wrong(
                f"n = {n}, left = {left}: with the logit {b:.3f} the share is {remains:.4f}"
            )
