"""How far printed statements are from holding in a world, over all cases that they speak of."""

import itertools
import math
from dataclasses import dataclass

from . import arithmetic
from . import values as v
from .evaluate import Evaluator
from .functions import ordered
from .tree import render
from .values import Depends, NoIndex, NotExact, Refused

PASS, FAIL = 1e-9, 1e-6  # a true form is at most this far off, a rejected one at least this
TIGHT = 1e-9  # how close `<=` has to come, relative to its larger side; `<`: as the world says
ORDERS = ("<", ">", r"\le", r"\ge")
ROUNDED = 1e-12  # closer than this, relative to the larger, two numbers are equal
PLAINLY_FALSE = 1e-3  # one case this far off settles it: cancellation does not reach that far


class Nothing(Refused):
    """No case satisfies the conditions: nothing is claimed in this world."""


def gap(stated, world, evaluator=None, only=None):
    """How far the statements are from holding in this world, at their worst: 0 if they do.

    A claim is made for every value of its free indices; an inequality has to come close once.
    `only` are the numbers of some statements, if the others do not count.
    """
    ev = evaluator or Evaluator(world)
    worst, empty = 0.0, None
    for number, statement in enumerate(stated):
        if only is not None and number not in only:
            continue
        try:
            worst = max(worst, _gap_of(statement, number, stated, ev))
        except Nothing as found:
            empty = found
        if worst > FAIL:
            return worst
    if empty is not None:
        raise empty
    return worst


def verdict(altered, worlds, only=None):
    """What rejects an altered form: its "number" in some world, or that it is "refused".

    It is refused if it has no value, or claims nothing, in all worlds, or in all but one while in
    some it has none: what is true of one size alone, or of one token, has no value for the others.
    """
    held, refused = 0, False
    for world in worlds:
        try:
            if gap(altered, world, only=only) > FAIL:
                return "number"
            held += 1
        except (Nothing, NotExact):
            pass
        except Refused:
            refused = True
    return "holds" if held > refused else "refused"


def _gap_of(statement, number, stated, ev):
    claimed = relations(statement.claim)
    tallies = [_Tally(relation, nearness(relation, ev.world)) for relation in claimed]
    for _, sides in sides_of(statement, number, stated, ev):
        for tally, a, b in zip(tallies, sides, sides[1:], strict=False):
            tally.add(a, b)
            if tally.off:
                return tally.off
    gaps = [tally.gap() for tally in tallies if tally.seen]
    if not ev.cases[number] and max(gaps, default=0) <= FAIL:
        raise Nothing("no index satisfies the conditions: nothing is claimed")
    return max(gaps)


def nearness(relation, world):
    """How close two sides have to come: once for a bound, always for an approximation."""
    anywhere = dict.fromkeys(ORDERS, math.inf) if world.near == math.inf else {}
    near = {"<": world.near, ">": world.near, r"\approx": world.about} | anywhere
    return near.get(relation, TIGHT)


def relations(claim):
    """The relations between the sides of a claim; a side alone is asked to be equal."""
    return claim.info if claim.kind == "chain" else ("=",)


def sides_of(statement, number, stated, ev):
    """`(values of the running letters, values of the sides)`, for each case spoken of."""
    claim = statement.claim
    chain = claim.kind == "chain"
    if chain and any(map(_same_text, claim.info, claim.parts, claim.parts[1:])):
        raise Refused("both sides are the same: nothing is claimed")
    ev.cases[number] = set()  # the numbers of the cases of which all is claimed
    runs = sorted(ev.free(*statement.nodes))
    for case in itertools.product(*(enumerate(ev.world.ranges[letter]) for letter in runs)):
        scope = {letter: value for letter, (_, value) in zip(runs, case, strict=True)}
        try:
            if not all(ev.holds(c, scope) for c in statement.premises):
                continue
            met = all(ev.holds(c, scope) for c in statement.conditions)
            if not met and not statement.last_only:
                continue
            if chain:
                sides = [ev.value(part, scope) for part in claim.parts[: None if met else -1]]
            else:
                asked = asked_for(statement, number, stated, ev.world, scope)
                sides = [asked, ev.value(claim, scope)]
        except NoIndex:
            if scope.get(ev.world.before) == 0:
                continue  # of a token 0, which there is not
            raise
        if met:
            ev.cases[number].add(
                tuple((letter, n) for letter, (n, _) in zip(runs, case, strict=True))
            )
        yield scope, sides


def _same_text(relation, a, b):
    return render(a) == render(b)


@dataclass
class _Tally:
    """One relation over all its cases. `off` is set by a case that settles it."""

    relation: str
    near: float
    off: float = 0.0
    apart: float = 0.0  # Frobenius norms over all cases, of the difference and of a side
    size: float = 0.0
    slack: float = math.inf
    seen: bool = False

    def add(self, a, b):
        self.seen = True
        if self.relation in ("<", r"\le"):
            self.order(ordered(a), ordered(b))
        elif self.relation in (">", r"\ge"):
            self.order(ordered(b), ordered(a))
        elif self.relation == r"\in":
            shape = b if isinstance(b, tuple) else (b, 1)
            of = a if isinstance(a, tuple) else (a,)
            self.off = float(any(v.shape_of(x) != shape for x in of))
        elif self.relation == r"\approx":
            a, b = (float(ordered(x)) for x in (a, b))  # exact numbers too are near one another
            self.off = float(arithmetic.distance(a, b) > self.near)
        elif self.relation == "=":
            apart, size = arithmetic.difference(a, b)
            self.apart, self.size = math.hypot(self.apart, apart), math.hypot(self.size, size)
            if size > 1e-300 and apart / size > PLAINLY_FALSE:
                self.off = apart / size
        else:
            raise Refused(f"no claim is made by {self.relation}")

    def order(self, low, high):
        slack = float((high - low) / (max(abs(low), abs(high)) or 1))
        true = slack > ROUNDED if self.relation in "<>" else slack >= -ROUNDED
        self.off = float(not true)
        self.slack = min(self.slack, abs(slack))

    def gap(self):
        if self.relation in ORDERS and self.slack > self.near:
            return 1.0  # true, but never close: a larger bound would pass, too
        return self.apart / self.size if self.size > 1e-300 else 0.0


def asked_for(statement, number, stated, world, scope):
    """The value that a side without a relation must have: of its words, or of the equation."""
    name = statement.words or "value"
    alike = [
        i for i, s in enumerate(stated) if s.claim.kind != "chain" and s.words == statement.words
    ]
    key = f"{name} {alike.index(number) + 1}" if len(alike) > 1 else name
    if key not in world.letters:
        raise Refused(f"no value {key!r} for a side without a relation")
    found = world.letters[key]
    return found.given(scope) if isinstance(found, Depends) else found
