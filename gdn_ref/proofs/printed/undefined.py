r"""What a display divides by that is zero somewhere, or has no value: its letters are moved.

    undefined(stated, evaluator)   these divisors; the page must say why each of them is not zero

`\frac{\mathbf{S}\,\|\mathbf{S}\|^2}{\|\mathbf{S}\|^2}` is S wherever it has a value, and for an
empty state it has none. A number is put at places from -5/2 to 5/2, an array is scaled by them; a
size is put at one, and at each other size; where all sizes are one numbers are moved again, above
zero. A divisor that changes its sign is zero in between; of a modulus or an even power, what is
inside. A power counts if it is below one in any case. What a condition excludes is not asked. What
is said of one divisor excuses no other. Where the terms of a sum undo one another: see `undone`.
"""

import itertools
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction

import numpy as np

from .evaluate import Evaluator
from .position import cases
from .symbolic import whole_power
from .tree import render
from .undone import undone
from .values import Depends, Family, NotExact, NoValue, Refused, is_number

PLACES = [Fraction(n, 2) for n in range(-5, 6)]
REAL = int | float | Fraction


def undefined(stated, evaluator):
    """The divisors that have no value, or are zero, for some value of a letter, as text."""
    found = {}  # each once, in the order of the display
    letters = evaluator.world.letters
    sized = {letter: x for letter, x in letters.items() if _size(x)}
    smallest = Evaluator(evaluator.world.replaced(dict.fromkeys(sized, 1)))
    for statement in stated:
        least = _least(statement, evaluator.world)
        divisors = [x for node in _nodes(statement) for x in _divisors(node, least)]
        vanishing = set()
        for letter in dict.fromkeys(_letters(divisors, evaluator)):
            places = sorted({1, *sized.values()}) if letter in sized else PLACES
            vanishing |= _vanishing(statement, evaluator, letter, divisors, places)
            if sized and letter not in sized and is_number(letters.get(letter, ())):
                positive = [at for at in PLACES if at > 0]
                vanishing |= _vanishing(statement, smallest, letter, divisors, positive)
        vanishing |= {render(x) for x in divisors if undone(x, statement, evaluator)}
        known = [text for text in map(render, divisors) if text in vanishing]
        found |= dict.fromkeys([*known, *sorted(vanishing)])
    return list(found)


def _size(x):
    return isinstance(x, int | np.integer) and x > 0


def _nodes(statement):
    return (node for root in statement.nodes for node in root.walk())


def _least(statement, world):
    """An evaluator that has seen all cases, and of a number keeps the least value that it had, or
    one that is not whole."""
    least = _Least(world)
    for scope in cases(statement, least):
        for root in statement.nodes:
            with suppress(Refused, NotExact):
                for side in root.parts if root.kind == "chain" else (root,):
                    least.value(side, scope)
    return least


class _Least(Evaluator):
    """A power may be below zero in the first case alone."""

    def value(self, node, scope):
        before, found = self.last.get(id(node)), super().value(node, scope)
        if isinstance(before, REAL) and isinstance(found, REAL):
            self.last[id(node)] = min(before, found, key=lambda x: (_whole(x), x))
        return found


def _whole(x):
    return x.is_integer() if isinstance(x, float) else x.denominator == 1


def _divisors(node, ev):
    """What it divides by, what a logarithm or a root is of, what has a power below one."""
    if node.kind in ("fraction", "quotient"):
        return node.parts[1:]
    if node.kind == "root" or node.kind == "apply" and node.info in ("ln", "log"):
        return node.parts[-1:]
    if node.kind == "scripted" and node.parts[-1].kind == "up":
        power = ev.last.get(id(node.parts[-1].parts[0]))
        if isinstance(power, REAL) and (power < 0 or not _whole(power)):
            return (node,)
    return ()


def _letters(divisors, ev):
    for part in (part for divisor in divisors for part in divisor.walk()):
        if id(part) in ev.names:
            yield ev.names[id(part)]
        elif (text := render(part)) in ev.world.ranges:
            yield text


def _vanishing(statement, ev, letter, divisors, places):
    """The divisors without a value at one of these places, or of another sign at the next."""
    before, found = {}, set()
    for at in places:
        signs = _signs(statement, _Watching(_world(ev.world, letter, at)), divisors, found)
        texts = {id(x): render(x) for x in divisors}
        found |= {
            texts[x] for (case, x), sign in signs.items() if before.get((case, x), sign) != sign
        }
        before = signs
    return found


class _Watching(Evaluator):
    """What has no value says by what it divides."""

    def value(self, node, scope):
        try:
            return super().value(node, scope)
        except NoValue as error:
            if not hasattr(error, "divisors"):
                error.divisors = set(map(render, _divisors(node, self))) or {render(node)}
            raise


def _signs(statement, ev, divisors, without):
    """The sign of each divisor in each case of which something is claimed; `without` gets those
    for which there is no value."""
    claim, runs, found = statement.claim, sorted(ev.free(*statement.nodes)), {}
    for case, values in enumerate(itertools.product(*(ev.world.ranges[x] for x in runs))):
        scope = dict(zip(runs, values, strict=True))
        try:
            if not all(ev.holds(c, scope) for c in (*statement.premises, *statement.conditions)):
                continue
        except (Refused, NotExact):
            continue
        for side in claim.parts if claim.kind == "chain" else (claim,):
            try:
                ev.value(side, scope)
            except NoValue as error:
                without |= error.divisors
            except (Refused, NotExact):
                continue
            found |= {(case, id(x)): _signs_of(x, ev) for x in divisors if id(x) in ev.last}
    return found


def _signs_of(divisor, ev):
    return tuple(_sign(ev.last[id(x)]) for x in _factors(divisor) if id(x) in ev.last)


def _factors(node):
    """Where one of these changes its sign, a product, a modulus or a square is zero."""
    power = whole_power(node) if node.kind == "scripted" else 0
    if node.kind in ("product", "group", "bar") or power and power % 2 == 0:
        return [x for part in node.parts[: 1 if power else None] for x in _factors(part)]
    return [node]


def _sign(x):
    """Of a number, or of a determinant."""
    x = np.linalg.det(x.astype(float)) if np.ndim(x) == 2 and len(x) == len(x.T) else x
    return np.sign(float(x)) if isinstance(x, int | float | Fraction | np.floating) else 0


def _world(world, letter, at):
    """The world with this letter moved, in each outcome, too."""
    outcomes = [
        (weight, letters | {letter: _put(letters[letter], at)} if letter in letters else letters)
        for weight, letters in world.outcomes
    ]
    ranges = world.ranges
    if letter in ranges:
        ranges = ranges | {letter: [_put(x, at) for x in ranges[letter]]}
    found = replace(world, outcomes=outcomes, ranges=ranges)
    if letter not in world.letters:
        return found
    return found.replaced({letter: _put(world.letters[letter], at)})


def _put(value, at):
    """A number at a place, an array scaled by it; an index or a size only where it counts."""
    if isinstance(value, Family):
        return replace(value, at=lambda *indices: _put(value[indices], at))
    if isinstance(value, Depends):
        return Depends(lambda scope: _put(value.given(scope), at))
    if isinstance(value, np.ndarray):
        return value * (at if value.dtype == object else float(at))
    if not is_number(value) or isinstance(value, int | np.integer) and not (_size(at)):
        return value
    return int(at) if isinstance(value, int) else 0 * value + at
