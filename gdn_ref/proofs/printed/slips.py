r"""The slips of a printed equation one by one: what each gives, and which test data would hide it.

slips(entry, stated, evaluators, draws)   a row for each altered form that is rejected

A row has the right value and the wrong one in one draw, at the entry that is furthest off, and the
properties of `cases.EASY` under which the altered form comes out true although the same draw
without the property rejects it: a test on such data would let the slip pass.
"""

from collections import Counter

import numpy as np

from .arithmetic import difference, sized
from .cases import EASY
from .draws import EQUAL_SIZES, Draw
from .evaluate import Evaluator
from .gaps import FAIL, PASS, PLAINLY_FALSE, Nothing, gap, relations, sides_of
from .mutate import mutants
from .values import Multiple, NotExact, Refused

SHOWN = 1  # the draw of an example, where keys have length one and no two sizes are equal


def slips(entry, stated, evaluators, draws):
    """`{"data": properties, "rows": rows}`; a property is left out if the equation has no such
    data, is false on them, or has the same values with it and without."""
    seeds = {  # evaluators of their own, which keep what no altered form changes
        draw.seed: Evaluator(ev.world)
        for draw, ev in zip(draws, evaluators, strict=True)
        if not draw.exact
    }
    first = seeds.pop(SHOWN)
    easy = list(_easy(entry, stated, first.world))
    rows, places = [], Counter()
    for edit, other in mutants(stated, evaluators[0]):
        places[edit.what] += 1
        changed = {n for n, (a, b) in enumerate(zip(stated, other, strict=True)) if a != b}
        row = {"form": edit.what, "place": places[edit.what]}
        if found := _example(stated, other, changed, first):
            hidden = [name for name, ev in easy if _holds(other, ev, changed)]
            rows.append(row | found | {"hidden": hidden})
            continue
        for ev in [seeds[seed] for seed in sorted(seeds)[:2]]:  # true there, false elsewhere
            if found := _example(stated, other, changed, ev):
                rows.append(row | found | {"hidden": []})
                break
    for row in rows:
        if places[row["form"]] == 1:
            del row["place"]
    return {"data": [name for name, _ in easy], "rows": rows}


def _easy(entry, stated, plain):
    """The properties, each with an evaluator."""
    before = _values(stated, Evaluator(plain))
    for name in (EQUAL_SIZES,) if entry.arithmetic in ("counted", "rational") else EASY:
        try:
            ev = Evaluator(entry.world(Draw(False, SHOWN, name)))
            if not _alike(before, _values(stated, ev)) and gap(stated, ev.world, ev) <= PASS:
                yield name, ev
        except Exception:  # no such data: no sizes that are equal, no four keys in two dimensions
            continue


def _values(stated, ev):
    """The values of all sides, over all cases."""
    return [
        side
        for number, statement in enumerate(stated)
        for _, sides in sides_of(statement, number, stated, ev)
        for side in sides
    ]


def _alike(before, after):
    try:
        return all(difference(a, b)[0] == 0 for a, b in zip(before, after, strict=True))
    except (Refused, ValueError):  # of other shapes, or of other cases
        return False


def _holds(other, ev, changed):
    try:
        return gap(other, ev.world, ev, only=changed) <= PASS
    except (Refused, NotExact):
        return False


def _example(stated, other, changed, ev):
    """What an altered form gives: the right value and the wrong one, or why it has none, or that
    it is false; nothing if it is true in this world."""
    try:
        for number in sorted(changed):
            for scope, sides in sides_of(other[number], number, other, ev):
                names = relations(other[number].claim)
                for n, (relation, a, b) in enumerate(zip(names, sides, sides[1:], strict=False)):
                    if relation != "=":
                        continue
                    apart, size = difference(a, b)
                    if size > 1e-300 and apart > PLAINLY_FALSE * size:
                        before, after = (_parts(form[number].claim) for form in (stated, other))
                        if before[n] != after[n]:  # the left side is the altered one
                            a, b = ev.value(before[n], scope), a
                        return _shown(a, b, scope)
        return {"false": True} if gap(other, ev.world, ev, only=changed) > FAIL else None
    except Nothing:
        return {"refused": "nothing is claimed"}
    except (Refused, NotExact) as error:
        return {"refused": str(error)}


def _parts(claim):
    """The sides of a claim; None for the value that a side alone is held to."""
    return claim.parts if claim.kind == "chain" else (None, claim)


def _shown(right, wrong, scope):
    """Both values at the entry that is furthest off, and how far off all of it is."""
    try:
        both = [_array(x, y) for x, y in ((right, wrong), (wrong, right))]
        apart = np.abs(both[1] - both[0])
        if both[0].shape != both[1].shape:
            return {"false": True}
    except (TypeError, ValueError, Refused):  # no numbers, or of two shapes
        return {"false": True}
    at = [f"{letter} = {value}" for letter, value in scope.items() if isinstance(value, int)]
    place = np.unravel_index(int(apart.argmax()), apart.shape)
    places = [str(n + 1) for n, size in zip(place, apart.shape, strict=True) if size > 1]
    at += [f"entry {', '.join(places)}"] if places else []
    size = np.linalg.norm(both[0])
    return {
        **{name: _number(x[place]) for name, x in zip(("right", "wrong"), both, strict=True)},
        "at": ", ".join(at),
        "off": _number(np.linalg.norm(apart) / size, 2) if size else None,
    }


def _array(x, beside):
    if isinstance(x, Multiple):
        matrix = isinstance(beside, np.ndarray)
        x = (np.zeros_like(beside) if x.c == 0 else sized(x, beside)) if matrix else x.c
    return np.atleast_1d(np.asarray(x, dtype=float))


def _number(x, digits=4):
    """A number as it is shown: whole ones whole, others to a few digits."""
    return int(x) if x == int(x) and abs(x) < 2**53 else float(f"{x:.{digits}g}")
