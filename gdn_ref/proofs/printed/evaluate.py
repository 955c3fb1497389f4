r"""The value of a tree: letters from a world, the rest by arithmetic.

A subscript is a part of the name if the world has that name (`d_k`, `\mathbf{D}_\gamma`), and an
index otherwise. Juxtaposition is a product unless the letter on the left is a function.
"""

import math
from functools import reduce

import numpy as np

from . import values as v
from .blocks import joined
from .claims import Claims, runs_through_indices
from .functions import FUNCTIONS, ordered
from .lexer import NotRead
from .sums import ONE, Sums
from .tree import Node, render
from .values import Depends, Multiple, Refused

BUILTIN = {
    "e": math.e, r"\mathbf{I}": Multiple(1), r"\mathbf{0}": Multiple(0),
    r"\boldsymbol{0}": Multiple(0), r"\infty": math.inf,
}  # fmt: skip
PLAIN = ("letter", "number", "mark", "slice", "dots")  # found sooner than looked up
TRANSPOSE = Node("up", (Node("mark", (), r"\top"),))


class Evaluator(Claims, Sums):
    """Values in one world.

    On the way it notes, by node, the last value and, for a letter, its key in the world and how
    many indices it took: what the mutants need to know.
    """

    def __init__(self, world):
        self.world, self.last, self.names, self.known = world, {}, {}, {}
        self.cases = {}  # by statement: the cases of which something was claimed
        self.fixed, self.followed = {}, 0  # values that no running letter changes, and how often
        # a value followed from one that its term does not mention

    def note(self, node, key, value, indices=0):
        self.names[id(node)] = key
        self.known[key] = indices, value

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

    # Letters and their scripts.

    def do_number(self, node, scope):
        return int(node.info)

    def do_letter(self, node, scope):
        return self.named(node, scope)

    def do_mark(self, node, scope):
        raise Refused(f"a mark {node.info} that belongs to no known name")

    def do_dots(self, node, scope):
        raise Refused("dots between what does not run")

    def do_scripted(self, node, scope):
        base, *scripts = node.parts
        if base.info == r"\mathbb{R}":
            return self.value(scripts[0].parts[0], scope)
        if base.kind == "letter":
            return self.named(node, scope)
        if base.kind == "norm":
            return self.norm(base, scripts, scope)
        if base.kind == "group" and base.info == "[" and runs_through_indices(scripts):
            return self.matrix_of(base.parts[0], scripts, scope)
        value = self.value(base, scope)
        if base.kind == "group" and v.is_number(value) and scripts[0].kind == "down":
            value = np.array([[value]])  # of one entry
        return self.with_scripts(value, scripts, scope)

    def named(self, node, scope):
        """A letter with the longest part of its scripts that the world knows as its name."""
        for text, rest in node.names:
            if text in scope:
                return self.with_scripts(scope[text], rest, scope)
            for kind, mark in (("down", "_"), ("up", "^")):
                script = next((s for s in rest if s.kind == kind and s != TRANSPOSE), None)
                family = self.world.letters.get(text + mark) if script else None
                if family is not None:
                    indices = self.indices(script.parts[0], scope)
                    found = family[indices]
                    self.note(node, text + mark, found, len(indices))
                    rest = [s for s in rest if s is not script]
                    return self.with_scripts(found, rest, scope)
            found = self.world.letters.get(text, BUILTIN.get(text))
            if found is not None:
                if text in self.world.letters:
                    self.note(node, text, found)
                return self.with_scripts(found, rest, scope)
        raise Refused(f"no value for {render(node)}")

    def indices(self, node, scope):
        """`ri` are two indices, `t - 1` and `2b` one."""
        if node.kind == "group":
            return self.indices(node.parts[0], scope)
        if node.kind == "product" and all(p.kind in ("letter", "scripted") for p in node.parts):
            return [self.value(p, scope) for p in node.parts]
        if node.kind == "tuple":
            return [self.value(p, scope) for p in node.parts]
        return [self.value(node, scope)]

    def do_slice(self, node, scope):
        found = [self.value(p, scope) for p in node.parts]
        start = found.pop(0) if node.info[0] else None
        return slice(start, found.pop(0) if node.info[1] else None)

    def with_scripts(self, value, scripts, scope):
        for script in scripts:
            inside = script.parts[0] if script.parts else None
            if isinstance(value, Depends):
                value = self.given(value, scope)
            if script.kind == "prime":
                raise Refused("a prime on what is no letter")
            if script.kind == "down":
                if not isinstance(value, np.ndarray):
                    raise Refused("an index on what has no entries")
                index = self.indices(inside, scope)
                flat = value[:, 0] if len(index) == 1 and value.shape[1] == 1 else value
                value = v.entries(flat).at(*index)
            elif script == TRANSPOSE:
                value = value.T if isinstance(value, np.ndarray) else value
                if not (isinstance(value, np.ndarray | Multiple) or v.is_number(value)):
                    raise Refused("a transpose of what is no matrix")
            else:
                value = v.power(value, self.value(inside, scope))
        return value

    def norm(self, base, scripts, scope):
        x = self.value(base.parts[0], scope)
        down = next((render(s.parts[0]) for s in scripts if s.kind == "down"), "F")
        up = next((s for s in scripts if s.kind == "up"), None)
        if down == "2":
            if np.ndim(x) != 2:
                raise Refused("a norm of what is no matrix")
            size = v.power(float(np.linalg.norm(np.asarray(x, float), 2)), 1)
            return v.power(size, self.value(up.parts[0], scope)) if up else size
        if down != "F":
            raise Refused(f"no norm {down}")
        n = self.value(up.parts[0], scope) if up else 1
        square = v.squared_norm(x)
        return square if n == 2 else v.power(v.root(square), n)

    def matrix_of(self, body, scripts, scope):
        """`[x_ij]_{i,j=0}^{m}`: the matrix of these entries."""
        pair, low = scripts[0].parts[0].parts
        bounds = self.value(low, scope), self.value(scripts[1].parts[0], scope)
        run = range(bounds[0], bounds[1] + 1)
        names = [render(p) for p in pair.parts]
        if not 0 < len(run) < 40:
            raise Refused(f"a matrix of {len(run)} rows")
        rows = [[self.value(body, scope | {names[0]: i, names[1]: j}) for j in run] for i in run]
        return np.array(rows)

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
            v.plus, [v.times(-1 if s == "-" else 1, self.value(p, scope)) for s, p in terms]
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
        return reduce(v.times, factors)

    def applied(self, function, node, scope):
        """A function of a group; what is written on the group's bracket is done afterwards."""
        group, scripts = (node.parts[0], node.parts[1:]) if node.kind == "scripted" else (node, ())
        argument = self.value(group, scope)
        argument = argument if isinstance(argument, tuple) else (argument,)
        found = v.called(function, *argument)
        return self.with_scripts(v.plain(found), scripts, scope)

    def do_hadamard(self, node, scope):
        return reduce(v.entrywise, [self.value(p, scope) for p in node.parts])

    def do_fraction(self, node, scope):
        return reduce(v.divided, [self.value(p, scope) for p in node.parts])

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
        return v.root(self.value(node.parts[0], scope))

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
            if any(v.distance(found[0], other) > 1e-9 for other in found[1:]):
                raise Refused("two cases apply, and differ")
            return found[0]
        blocks = [[self.value(cell, scope) for cell in row.parts] for row in node.parts]
        return joined(blocks)

    def do_cell(self, node, scope):
        return self.value(node.parts[0], scope) if node.parts else Multiple(0)

    # Functions.

    def do_apply(self, node, scope):
        *scripts, argument = node.parts
        base = next((s for s in scripts if s.kind == "down"), None)
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
