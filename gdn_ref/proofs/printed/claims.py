"""Whether a condition holds, and of which letters a claim is made."""

from . import arithmetic
from .blocks import overlap
from .functions import ordered
from .tree import render
from .values import Refused

RELATIONS = {
    "<": lambda a, b: a < b, r"\le": lambda a, b: a <= b, ">": lambda a, b: a > b,
    r"\ge": lambda a, b: a >= b, r"\ne": lambda a, b: a != b,
}  # fmt: skip


class Claims:
    """What an evaluator does with relations. It has `world` and `value`."""

    def holds(self, node, scope, tolerance=1e-9):
        """Whether a condition holds."""
        if node.kind == "cell":
            node = node.parts[0]
        if node.kind != "chain":
            raise Refused("a condition that is no relation")
        sides = [self.value(p, scope) for p in node.parts]
        for relation, a, b in zip(node.info, sides, sides[1:], strict=False):
            if relation in ("=", r"\ne"):
                true = (arithmetic.distance(a, b) <= tolerance) == (relation == "=")
            elif relation == r"\perp":
                each = b if isinstance(b, tuple) else (b,)
                true = all(overlap(a, x) <= tolerance for x in each)
            elif relation in RELATIONS:
                true = RELATIONS[relation](ordered(a), ordered(b))
            else:
                raise Refused(f"no condition is made by {relation}")
            if not true:
                return False
        return True

    def free(self, *nodes):
        """The running letters that stand outside of all sums: a claim is made for each value."""
        found = set()
        for node in nodes:
            if node.kind in ("letter", "scripted"):
                text = render(node)
                if text in self.world.ranges:
                    found.add(text)
                    continue
                if text in self.world.letters:
                    continue
                if node.kind == "scripted" and node.parts[0].kind == "letter":
                    found |= self.free(*self._scripts_left(node))
                    found |= {render(node.parts[0])} & set(self.world.ranges)
                    continue
            if node.kind == "big" and node.info != r"\mathbb{E}":
                continue
            if node.kind == "apply" and node.info in ("max", "min") and len(node.parts) > 1:
                continue
            if node.kind == "scripted" and node.parts[0].kind == "group" and (
                node.parts[0].info == "[" and runs_through_indices(node.parts[1:])
            ):  # fmt: skip
                found |= self.free(*node.parts[1].parts[0].parts[1:], *node.parts[2:])
                continue
            found |= self.free(*node.parts)
        return found

    def _scripts_left(self, node):
        """The scripts of a letter that are no part of its name."""
        for text, rest in node.names:
            if {text, text + "_", text + "^"} & set(self.world.letters):
                return rest
        return [s for s in node.parts[1:] if s.kind != "prime"]


def runs_through_indices(scripts):
    """Whether `_{i,j=0}^{m}` stands there: two letters that run from one number."""
    return (
        len(scripts) == 2
        and scripts[0].kind == "down"
        and scripts[0].parts[0].kind == "chain"
        and scripts[0].parts[0].parts[0].kind == "tuple"
    )
