"""What a chapter prints, for a check that counts: it has no formula of its own to count against.

A page that prints another formula turns the check red. Where chapters and figures have a function
for the formula, the check holds both to what it counts.
"""

from functools import cache


def value(label, of="", *, otherwise, **sizes):
    """The number that this side gives for sizes by their names: `otherwise` as in `side`."""
    found = side(label, of, otherwise=None)
    if found is None:
        return otherwise
    return found.subs({letter: sizes[str(letter)] for letter in found.free_symbols})


@cache
def side(label, of="", at=1, *, otherwise, **letters):
    """The side of `label` that is equal to `of`, or that stands alone, as an expression.

    `at` counts the sides of a longer chain: 2 is a bound behind an equation.

    `otherwise` stands for it where there are no chapters or nothing to read them with, as in an
    installed package and in a browser.
    """
    try:
        from .printed import formula

        found = formula.side(label, of, at, **letters)
    except ModuleNotFoundError:
        return otherwise
    return otherwise if found is None else found
