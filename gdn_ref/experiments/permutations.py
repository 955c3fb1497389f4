"""Permutations, the swaps that make them, and the tokens that make the swaps: whole numbers only.

A permutation is a tuple: what lies in box i comes to box `permutation[i]`. A swap of boxes i and j
is one step of the delta rule with the key `e_i - e_j`, of squared length 2, and the strength 1: the
same transition as for the unit key with strength 2, in whole numbers (eq-swap-strength).
"""

from itertools import permutations

import numpy as np


def cycles(permutation):
    """The cycles of two boxes or more, as lists: each box, then where its content comes."""
    left, found = set(range(len(permutation))), []
    while left:
        i, cycle = min(left), []
        while i in left:
            left.remove(i)
            cycle.append(i)
            i = permutation[i]
        if len(cycle) > 1:
            found.append(cycle)
    return found


def moved(permutation):
    """How many boxes change their content."""
    return sum(map(len, cycles(permutation)))


def fewest_steps(permutation):
    """Boxes that change less cycles (eq-permutation-steps)."""
    return moved(permutation) - len(cycles(permutation))


def swaps_of(permutation):
    """That many swaps (i, j) which make it, one after the other."""
    return [(cycle[0], box) for cycle in cycles(permutation) for box in cycle[1:]]


def matrix(permutation):
    """`Pi`, integers: the row `s Pi` has in box `permutation[i]` what `s` had in box i."""
    found = np.zeros((len(permutation),) * 2, dtype=int)
    found[range(len(permutation)), list(permutation)] = 1
    return found


def all_of(count):
    """Every permutation of so many boxes, the one that moves nothing first."""
    return list(permutations(range(count)))


def after(first, then):
    """The permutation that applies one and then another."""
    return tuple(then[i] for i in first)


def keys_of(permutation, steps):
    """The keys of a token that applies it, `[steps, d]`, integers; steps it does not need are 0.

    Raises
    ------
    ValueError
        It needs more steps.
    """
    swaps = swaps_of(permutation)
    if len(swaps) > steps:
        raise ValueError(f"steps: expected at least {len(swaps)} for {permutation}, got {steps}")
    keys = np.zeros((steps, len(permutation)), dtype=int)
    for key, (i, j) in zip(keys, swaps, strict=False):
        key[i], key[j] = 1, -1
    return keys
