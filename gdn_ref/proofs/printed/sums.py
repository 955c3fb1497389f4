r"""Sums, products and expectations, and rows with dots: `X_1 X_2 \cdots X_r`."""

import itertools
from dataclasses import replace
from functools import reduce

from . import arithmetic
from .functions import whole
from .tree import Node, render
from .values import Multiple, Refused

ONE, ZERO = Node("letter", (), r"\mathbf{I}"), Node("letter", (), r"\mathbf{0}")


class Sums:
    """What an evaluator does with letters that run. It has `world`, `value` and `holds`."""

    def do_big(self, node, scope):
        *scripts, body = node.parts
        if node.info == r"\mathbb{E}":
            return self.mean(body, scope)
        condition = next((s.parts[0] for s in scripts if s.kind == "down"), None)
        upper = next((s.parts[0] for s in scripts if s.kind == "up"), None)
        if condition is None:
            raise Refused("a sum over nothing")
        found = [self.value(body, scope | case) for case in self.bound(condition, upper, scope)]
        if node.info == r"\sum":
            return reduce(arithmetic.plus, found) if found else Multiple(0)
        return reduce(arithmetic.times, found) if found else Multiple(1)

    def bound(self, condition, upper, scope):
        """The values of the letters that a sum binds: those that run and are not given yet."""
        if upper is not None:
            letter, low = condition.parts
            if render(letter) in {*scope, *self.world.letters}:
                raise Refused(f"a sum over {render(letter)}, which is given already")
            low, high = (whole(self.value(p, scope)) for p in (low, upper))
            return [{render(letter): i} for i in range(low, high + 1)]
        if condition.kind == "chain" and condition.info == (r"\to",):  # over the paths of a world
            ends = [self.value(p, scope) for p in condition.parts]
            return self.world.letters["paths"](*ends)
        inside = (render(n) for n in condition.walk() if n.kind in ("letter", "scripted"))
        names = [n for n in dict.fromkeys(inside) if n in self.world.ranges and n not in scope]
        if not names:
            raise Refused("a sum that binds no letter")
        two = condition.kind == "chain" and len(condition.parts) == 2
        if two and condition.parts[0].mentions.isdisjoint(names):
            raise Refused(f"a sum over what is given: {render(condition)}")
        runs = itertools.product(*(self.world.ranges[n] for n in names))
        cases = [dict(zip(names, case, strict=True)) for case in runs]
        if condition.kind != "chain":
            return cases
        return [case for case in cases if self.holds(condition, scope | case)]

    def mean(self, body, scope, exponent=1):
        if not self.world.outcomes:
            raise Refused("an expectation where nothing is random")
        parts = []
        for weight, letters in self.world.outcomes:
            inner = type(self)(self.world.replaced(letters))
            value = arithmetic.power(inner.value(body, scope), exponent)
            parts.append(arithmetic.times(weight, value))
            self.followed += inner.followed
            for mine, theirs in ((self.last, inner.last), (self.names, inner.names)):
                mine.update(theirs)
            self.known.update(inner.known)
        return reduce(arithmetic.plus, parts)

    def without_dots(self, signed, scope, sign=False):
        """`X_1 X_2 ... X_r` written out: the letters on both sides of the dots, by their index."""
        at = next((i for i, (_, p) in enumerate(signed) if p.kind == "dots"), None)
        if at is None:
            return signed
        letters = [_indexed(p) for _, p in signed]
        if at == 0 or at + 1 == len(signed) or letters[at - 1] is None or letters[at + 1] is None:
            raise Refused("dots between what does not run")
        first, last = at - 1, at + 1
        while first and letters[first - 1] and letters[first - 1][0] == letters[at - 1][0]:
            first -= 1
        while (
            last + 1 < len(signed)
            and letters[last + 1]
            and letters[last + 1][0] == letters[at + 1][0]
        ):
            last += 1
        if letters[first][0] != letters[last][0]:
            raise Refused("dots between two letters")
        if len({sign for sign, _ in signed[first : last + 1]}) > 1:
            raise Refused("dots between terms of two signs")
        before = [whole(self.value(letters[i][1], scope)) for i in range(first, at)]
        after = [whole(self.value(letters[i][1], scope)) for i in range(at + 1, last + 1)]
        steps = {b - a for run in (before, after) for a, b in itertools.pairwise(run)} or {1}
        if len(steps) > 1 or not steps <= {1, -1}:
            raise Refused("dots that do not count by one")
        step = steps.pop()
        if (after[-1] - before[0]) * step < -1:  # `X_r \cdots X_1` is no row without members
            raise Refused("dots that count the other way")
        run = range(before[0], after[-1] + step, step)
        middle = [(signed[first][0], letters[first][2](i)) for i in run]
        if not middle:
            middle = [("+", ZERO)] if sign else [("", ONE)]
        return [*signed[:first], *middle, *signed[last + 1 :]]


def _indexed(node):
    """A letter with one index: what it is without it, the index, and how to put another."""
    if node.kind != "scripted" or node.parts[0].kind != "letter":
        return None
    place = next((i for i, s in enumerate(node.parts) if s.kind == "down"), None)
    if place is None:
        return None
    index = node.parts[place].parts[0]

    def put(number):
        new = Node("number", (), str(number))
        script = Node("down", (replace(index, parts=(new,)) if index.kind == "group" else new,))
        return replace(node, parts=(*node.parts[:place], script, *node.parts[place + 1 :]))

    return put("i"), index, put
