r"""The value of a tree: letters from a world, the rest by arithmetic.

Juxtaposition is a product unless the letter on the left is a function.
"""

import math
from functools import reduce

import numpy as np

from . import arithmetic
from . import values as v
from .blocks import joined
from .claims import Claims
from .functions import FUNCTIONS, ordered
from .letters import Letters
from .lexer import NotRead
from .sums import ONE, Sums
from .tree import is_argument, render
from .values import Depends, Multiple, Refused

PLAIN = ("letter", "number", "mark", "slice", "dots")  # found sooner than looked up


class Evaluator(Letters, Claims, Sums):
    """Values in one world.

    On the way it notes, by node, the last value and, for a letter, its key in the world and how
    many indices it took: what the mutants need to know.
    """

    def __init__(self, world):
        self.world, self.last, self.names, self.known = world, {}, {}, {}
        self.cases = {}  # by statement: the cases of which something was claimed
        self.fixed, self.followed = {}, 0  # values that no running letter changes, and how often
        # a value followed from one that its term does not mention

    @property
    def kinds(self):
        """By letter, what another one must share that may stand in its place."""
        return {
            key: (key[-1:] in "_^", indices, callable(value), v.shape_of(value))
            for key, (indices, value) in self.known.items()
        }

    def value(self, node, scope):
        fixed = scope and node.kind not in PLAIN and node.mentions.isdisjoint(scope)
        if fixed and id(node) in self.fixed:
            return self.fixed[id(node)][0]
        followed = self.followed
        try:
            found = getattr(self, f"do_{node.kind}")(node, scope)
            found = found if node.kind in ("letter", "scripted") else v.plain(found)
        except OverflowError:
            raise Refused("a number too large") from None
        if isinstance(found, Depends):
            found = self.given(found, scope)
        self.last[id(node)] = found
        if fixed and followed == self.followed:
            self.fixed[id(node)] = found, node  # the node too, for its id is its own while it is
        return found

    def given(self, value, scope):
        self.followed += 1
        return value.given(scope)

    # Arithmetic.

    def do_group(self, node, scope):
        return self.value(node.parts[0], scope)

    def do_tuple(self, node, scope):
        parts = self.without_dots([("", p) for p in node.parts], scope)
        return tuple(self.value(p, scope) for _, p in parts if p is not ONE)

    def do_sum(self, node, scope):
        signed = list(zip(node.info, node.parts, strict=True))
        terms = [(s, p) for s, p in self.without_dots(signed, scope, sign=True)]
        return reduce(
            arithmetic.plus,
            [arithmetic.times(-1 if s == "-" else 1, self.value(p, scope)) for s, p in terms],
        )

    def do_product(self, node, scope):
        parts = [p for _, p in self.without_dots([("", p) for p in node.parts], scope)]
        factors, i = [], 0
        while i < len(parts):
            value, part = self.value(parts[i], scope), parts[i]
            while callable(value):
                i += 1
                if i == len(parts):
                    raise Refused(f"{render(part)} without its argument")
                value = self.applied(value, parts[i], scope)
            factors.append(value)
            i += 1
        return reduce(arithmetic.times, factors)

    def applied(self, function, node, scope):
        """A function of a group; what is written on the group's bracket is done afterwards."""
        if not is_argument(node):
            raise Refused(f"a function of {render(node)}, which has no brackets")
        group, scripts = (node.parts[0], node.parts[1:]) if node.kind == "scripted" else (node, ())
        argument = self.value(group, scope)
        argument = argument if isinstance(argument, tuple) else (argument,)
        found = v.called(function, *argument)
        return self.with_scripts(v.plain(found), scripts, scope)

    def do_hadamard(self, node, scope):
        return reduce(arithmetic.entrywise, [self.value(p, scope) for p in node.parts])

    def do_fraction(self, node, scope):
        return reduce(arithmetic.divided, [self.value(p, scope) for p in node.parts])

    do_quotient = do_fraction

    def do_remainder(self, node, scope):
        a, b = (self.value(p, scope) for p in node.parts)
        return a % b

    def do_times(self, node, scope):
        return tuple(self.value(p, scope) for p in node.parts)

    def do_binomial(self, node, scope):
        n, k = (ordered(self.value(p, scope)) for p in node.parts)
        if n != int(n) or k != int(k) or n < 0 or k < 0:
            raise Refused("a binomial of what does not count")
        return math.comb(int(n), int(k))

    def do_root(self, node, scope):
        return arithmetic.root(self.value(node.parts[0], scope))

    def do_norm(self, node, scope):
        return self.norm(node, [], scope)

    def do_bar(self, node, scope):
        return abs(ordered(self.value(node.parts[0], scope)))

    def do_floor(self, node, scope):
        return math.floor(ordered(self.value(node.parts[0], scope)))

    def do_ceil(self, node, scope):
        return math.ceil(ordered(self.value(node.parts[0], scope)))

    def do_inner(self, node, scope):
        a, b = (self.value(p, scope) for p in node.parts)
        if isinstance(a, Multiple) or isinstance(b, Multiple):
            raise Refused("an inner product with what has no size")
        if v.shape_of(a) != v.shape_of(b):
            raise Refused(f"an inner product of shapes {v.shape_of(a)} and {v.shape_of(b)}")
        return np.sum(a * b)

    def do_table(self, node, scope):
        if node.info == "cases":
            rows = [row.parts for row in node.parts]
            found = [self.value(x, scope) for x, condition in rows if self.holds(condition, scope)]
            if not found:
                raise Refused("no case applies")
            if any(arithmetic.distance(found[0], other) > 1e-9 for other in found[1:]):
                raise Refused("two cases apply, and differ")
            return found[0]
        blocks = [[self.value(cell, scope) for cell in row.parts] for row in node.parts]
        return joined(blocks)

    def do_cell(self, node, scope):
        return self.value(node.parts[0], scope) if node.parts else Multiple(0)

    # Functions.

    def do_apply(self, node, scope):
        base, argument = (None, *node.parts)[-2:]
        if node.info in ("max", "min") and base is not None:
            cases = self.bound(base.parts[0], None, scope)
            return {"max": max, "min": min}[node.info](
                self.value(argument, scope | c) for c in cases
            )
        if node.info == "Var":
            return self.mean(argument, scope, 2) - self.mean(argument, scope) ** 2
        group, after = argument, ()
        head = argument.parts[0] if argument.kind == "scripted" else None
        if head is not None and head.kind == "group" and head.info == "(":
            group, after = head, argument.parts[1:]
        given = self.value(group, scope)
        given = given if isinstance(given, tuple) else (given,)
        if base is not None:
            given = (*given, self.value(base.parts[0], scope))
        if node.info not in FUNCTIONS:
            raise NotRead(f"no function {node.info}")
        try:
            found = v.called(FUNCTIONS[node.info], *given)
        except OverflowError as error:
            raise Refused(str(error)) from None
        except (ValueError, ZeroDivisionError) as error:
            raise v.NoValue(str(error)) from None
        return self.with_scripts(v.plain(found), after, scope)

    def do_chain(self, node, scope):
        raise Refused("a relation where a value is expected")
