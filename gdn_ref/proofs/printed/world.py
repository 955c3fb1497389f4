r"""What the letters of the page mean: a world.

The keys of a `World` are TeX as it stands on the page; a key that ends in `_` (or `^`) is a family
with subscripts (superscripts).
"""

from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache

from .lexer import tokens
from .tree import Node, parse, render


@cache
def named(key):
    """The letter that a key of a world names, as a tree."""
    key = key.rstrip("_^")
    if len(key) > 1 and key.isalpha() or " " in key and "\\" not in key:
        return Node("letter", (), key)  # words
    found = tokens(key)
    return Node("letter", (), found[0].text) if len(found) == 1 else parse(found)


LETTERS: dict[str, Node] = {}  # the letters of all worlds, by their canonical keys


@cache
def canonical(key):
    """A key of a world in the one way that `render` writes it."""
    if key in LETTERS:
        return key
    text = render(named(key)) + key[len(key.rstrip("_^")) :]
    LETTERS[text] = named(key)
    return text


@dataclass
class World:
    """What the letters of some equations mean.

    letters   TeX: value
    ranges    TeX of an index, or of any letter that runs: the values it runs through
    outcomes  for expectations: `(probability, letters)` of each case, whose sum is the mean
    near      how close an inequality has to come at its closest, relative to its larger side;
              inf: it need not come close
    about     how close an approximation has to be in each case
    before    a letter that counts tokens from zero, before the first one: at zero nothing is
              claimed that needs a token 0
    """

    letters: dict
    ranges: dict = field(default_factory=dict)
    outcomes: list = field(default_factory=list)
    near: float = 1e-9
    about: float = 1e-9
    before: str = ""

    def __post_init__(self):
        self.letters = {canonical(key): value for key, value in self.letters.items()}
        self.ranges = {canonical(key): list(values) for key, values in self.ranges.items()}
        self.outcomes = [
            (weight, {canonical(key): value for key, value in letters.items()})
            for weight, letters in self.outcomes
        ]

    def with_letters(self, letters):
        """This world with more letters, or with other meanings."""
        more = {canonical(key): value for key, value in letters.items()}
        return replace(self, letters=self.letters | more)

    def from_zero(self, letter):
        """This world with a letter that counts tokens from before the first one. It begins with
        the first, or what has a value at zero alone would have one."""
        first, *others = self.ranges[letter]
        return replace(self, ranges=self.ranges | {letter: [first, 0, *others]}, before=letter)

    def replaced(self, letters):
        """The same with other values of some letters, whose keys are canonical."""
        world = copy(self)
        world.letters = self.letters | letters
        return world
