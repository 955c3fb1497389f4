"""State tracking: which rule learns to follow a permutation, and over how many tokens.

    python -m gdn_ref.experiments.state_tracking --json book/_data/bench/state_tracking_h100.json

Each token names a permutation; after every token the model says what all so far make together.
`--reduced` trains fewer and smaller models for fewer steps, on a CPU in half a minute.
"""

import itertools
from functools import cache

import numpy as np

from .training import IGNORED


@cache
def group(name):
    """`(elements, tokens)`: all permutations of a task as tuples, and the indices of its tokens.

    `Z5` are the five rotations of five items, `S5` all 120 permutations of them, and `S5 swaps` the
    same elements with the ten swaps and the identity as tokens.
    """
    kind, count, swaps = name[0], int(name[1]), name.endswith(" swaps")
    items = tuple(range(count))
    if kind == "Z":
        elements = [items[i:] + items[:i] for i in items]
    else:
        elements = list(itertools.permutations(items))
    tokens = [i for i, p in enumerate(elements) if not swaps or moved(p) <= 2]
    return elements, tokens


def moved(permutation):
    """How many items it moves."""
    return sum(i != p for i, p in enumerate(permutation))


@cache
def table(name):
    """`[elements, tokens]`: the element that one element and then one token make together."""
    elements, tokens = group(name)
    number = {p: i for i, p in enumerate(elements)}
    return np.array([[number[after(s, elements[x])] for x in tokens] for s in elements])


def after(first, then):
    """The permutation that applies one and then another: item i comes to `then[first[i]]`."""
    return tuple(then[i] for i in first)


def words(rng, name, batch, length, last=None):
    """Random tokens and the products so far; with `last`, only that many answers are wanted."""
    products = table(name)
    tokens = rng.integers(0, products.shape[1], size=(batch, length))
    answers, state = np.empty_like(tokens), np.full(batch, group(name)[0].index(identity(name)))
    for t in range(length):
        state = answers[:, t] = products[state, tokens[:, t]]
    if last is not None:
        answers[:, :-last] = IGNORED
    return tokens, answers


def identity(name):
    """The permutation that moves nothing."""
    return tuple(range(int(name[1])))
