"""Noise in the place of a letter: an equation that still holds claims nothing of it."""

from dataclasses import replace

from .draws import Draw
from .evaluate import Evaluator
from .gaps import gap, verdict
from .tree import render
from .values import Depends, Family, Multiple


def noise(stated, evaluators, draws):
    """How many letters fail when they are noise, and which do not."""
    letters = sorted(set().union(*(ev.known for ev in evaluators)))
    held = set()
    for letter in letters:
        if verdict(stated, _all_noisy(draws, evaluators, letter)) == "holds":
            held.add(letter.rstrip("_^"))
    return len(letters) - len(held), held


def idle(entry, stated, evaluators, draws):
    """The statements that hold whatever stands for their letters, but for declared identities."""
    for n, statement in enumerate(stated):
        alone = Evaluator(evaluators[0].world)
        gap(stated, alone.world, alone, only={n})
        if alone.known and {x.rstrip("_^") for x in alone.known} <= set(entry.anything):
            continue  # an identity
        noisy = (_all_noisy(draws, evaluators, letter) for letter in alone.known)
        if all(verdict(stated, worlds, only={n}) == "holds" for worlds in noisy):
            yield render(statement.claim)


def _all_noisy(draws, evaluators, letter):
    """The worlds that have this letter, with noise in its place."""
    return [
        _noisy(draw, ev.world, letter)
        for draw, ev in zip(draws, evaluators, strict=True)
        if letter in ev.known
    ]


def _noisy(draw, world, letter):
    """The world with noise in the place of a letter, and in each outcome that has a value of it."""
    outcomes = [
        (weight, values | {letter: _other(Draw(draw.exact, draw.seed + n), values[letter])})
        if letter in values
        else (weight, values)
        for n, (weight, values) in enumerate(world.outcomes)
    ]
    world = replace(world, outcomes=outcomes)
    if letter not in world.letters:
        return world
    return world.replaced({letter: _other(draw, world.letters[letter])})


def _other(draw, value):
    """Noise in the place of a letter."""
    draw = Draw(draw.exact, draw.seed + 17)
    if isinstance(value, Family):
        made = {}

        def at(*indices):
            old = value[indices]
            key = tuple(str(i) for i in indices)
            return made.setdefault(key, _other(Draw(draw.exact, draw.seed + len(made)), old))

        return replace(value, at=at)
    if isinstance(value, Depends):
        return Depends(lambda scope: draw.other(value.given(scope)))
    if isinstance(value, Multiple):
        return Multiple(draw.other(value.c))
    if callable(value):
        return lambda *args: draw.other(value(*args))
    return draw.other(value)
