r"""Letters that a sum binds in one statement, and that another statement of the display is made of.

`\sum_{i \ne j}` is a sum over i where j is given, and over both where it is not. Beside an equation
for each j, an equation in which j stands under sums alone may be meant either way: it is not read.
"""

from .lexer import NotRead
from .tree import render


def unambiguous(stated, ev):
    """Raise `NotRead` where a letter is given in one statement and bound with another in one."""
    given = [ev.free(*statement.nodes) for statement in stated]
    for number, statement in enumerate(stated):
        others = set().union(*given[:number], *given[number + 1 :]) - given[number]
        for root in statement.nodes:
            for letters in _bound_together(root, given[number], set(ev.world.ranges)):
                if found := sorted(letters & others):
                    raise NotRead(f"a sum over {', '.join(sorted(letters))}: is {found[0]} given?")


def _bound_together(node, known, running):
    """The letters that one sum, product or extremum binds by a relation, if they are several."""
    under = next((part for part in node.parts[:1] if part.kind == "down"), None)
    if node.kind in ("big", "apply") and under is not None and len(node.parts) < 3:
        condition = under.parts[0]
        letters = {render(x) for x in condition.walk()} & running - known
        if condition.kind == "chain" and len(letters) > 1:
            yield letters
        known = known | letters
    for part in node.parts:
        yield from _bound_together(part, known, running)
