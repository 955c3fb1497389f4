"""The printed equation is what is evaluated: the TeX of the chapters, parsed and computed.

`lexer` and `tree` read the notation, `evaluate` computes it in a `World` that says what each
letter means, `mutate` alters it and `pairs` makes two edits at once, `check` holds it to the world
and counts what was rejected. The modules `chNN` say, label by label, which world an equation is
evaluated in; `cases` says what the draws of a world have together. `formula` gives a printed side
to a check that counts, and `tied` compares what the other checks have with what is printed.
"""

from .check import PRINTED, READ, load, printed, read, run
from .draws import Draw, gradient
from .source import displays
from .values import Depends, Family, Multiple, Refused, columns, entries, listed
from .world import World

__all__ = [
    "PRINTED", "READ", "Depends", "Draw", "Family", "Multiple", "Refused", "World", "columns",
    "displays", "entries", "gradient", "listed", "load", "printed", "read", "run",
]  # fmt: skip
