r"""The values of letters with their scripts, from a world.

A subscript is a part of the name if the world has that name (`d_k`, `\mathbf{D}_\gamma`), and an
index otherwise.
"""

import math

import numpy as np

from . import arithmetic
from . import values as v
from .claims import runs_through_indices
from .tree import Node, bracket, render
from .values import Depends, Multiple, Refused

BUILTIN = {
    "e": math.e, r"\mathbf{I}": Multiple(1), r"\mathbf{0}": Multiple(0),
    r"\boldsymbol{0}": Multiple(0), r"\infty": math.inf,
}  # fmt: skip

TRANSPOSE = Node("up", (Node("mark", (), r"\top"),))


class Letters:
    """The nodes that are letters, numbers, or have scripts, for an evaluator."""

    def note(self, node, key, value, indices=0):
        self.names[id(node)] = key
        self.known[key] = indices, value

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
            if [script.kind for script in scripts] != ["up"]:
                raise Refused("a set of matrices that has more than a shape")
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
                    if bracket(script.parts[0]) != family.bracket:
                        raise Refused(f"other brackets at {render(node)}")
                    indices = self.indices(script.parts[0], scope)
                    found = family[indices]
                    self.note(node, text + mark, found, len(indices))
                    rest = [s for s in rest if s is not script]
                    if TRANSPOSE in rest and len(indices) > 1 and v.is_number(found):
                        raise Refused(f"the transpose of an entry: {render(node)}")
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
        matrix = isinstance(value, np.ndarray) and 1 not in value.shape
        if len(scripts) > 1 and matrix and any(script.kind == "down" for script in scripts):
            raise Refused("an entry and a power of one matrix, without brackets")
        for script in scripts:
            inside = script.parts[0] if script.parts else None
            if isinstance(value, Depends):
                value = self.given(value, scope)
            if script.kind == "prime":
                raise Refused("a prime on what is no letter")
            if bracket(inside):
                raise Refused("an index or a power in brackets")
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
                value = arithmetic.power(value, self.value(inside, scope))
        return value

    def norm(self, base, scripts, scope):
        x = self.value(base.parts[0], scope)
        down = next((render(s.parts[0]) for s in scripts if s.kind == "down"), "F")
        up = next((s for s in scripts if s.kind == "up"), None)
        if down == "2":
            if np.ndim(x) != 2:
                raise Refused("a norm of what is no matrix")
            size = arithmetic.power(float(np.linalg.norm(arithmetic.real(x), 2)), 1)
            return arithmetic.power(size, self.value(up.parts[0], scope)) if up else size
        if down != "F":
            raise Refused(f"no norm {down}")
        n = self.value(up.parts[0], scope) if up else 1
        square = arithmetic.squared_norm(x)
        return square if n == 2 else arithmetic.power(arithmetic.root(square), n)

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
