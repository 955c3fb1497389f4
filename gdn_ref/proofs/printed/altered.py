r"""The altered forms of a printed equation: each is rejected, or there is a reason why it is true.

altered(entry, stated, evaluators, draws)   one edit, two, another term of the same value
"""

from collections import Counter

import numpy as np

from .arithmetic import distance
from .evaluate import Evaluator
from .gaps import Nothing, gap, verdict
from .mutate import mutants
from .pairs import alike, doubles, same_value
from .tree import render
from .values import NotExact, Refused, is_exact

EQUAL = 1e-12  # as far off as an altered form may be that is called equal


def altered(entry, stated, evaluators, draws):
    """What became of one edit at a time, of two, and of other terms of the same value."""
    rejected, found, given = [], {}, (entry, stated, evaluators, draws)
    found["mutants"] = _tried(mutants(stated, evaluators[0]), *given, rejected)
    for kind, edits in (
        ("doubles", doubles(stated, rejected, entry.label)),
        ("alike", alike(stated, evaluators[0])),
    ):
        found[kind] = _tried(edits, *given, [])
        del found[kind]["kinds"]
    used = {same["form"] for tried in found.values() for same in tried["equal"]}
    found["mutants"]["unused"] = sorted(set(entry.equal) - used)
    return found


def _tried(edits, entry, stated, evaluators, draws, rejected):
    """How many altered forms were rejected, and why others are equal; `rejected` gets the first."""
    counts, kinds, equal, survived = Counter(), Counter(), [], []
    worlds = [ev.world for ev in evaluators]
    exact = [ev for draw, ev in zip(draws, evaluators, strict=True) if draw.exact] or evaluators
    for edit, other in edits:
        changed = {n for n, (a, b) in enumerate(zip(stated, other, strict=True)) if a != b}
        found = verdict(other, worlds, only=changed)
        kinds[edit.kind] += 1
        if found != "holds":
            counts[found] += 1
            rejected.append((edit, other))
            continue
        why = (
            _fewer_cases(stated, other, evaluators)
            or _same(edit, exact[-1])
            or (
                edit.what in entry.equal
                and _exactly(other, worlds, draws)
                and entry.equal[edit.what]
            )
            or _not_needed(entry, stated, other)
            or same_value(stated, other, edit, evaluators[0])
        )
        if why:
            equal.append({"form": edit.what, "why": why})
        else:
            survived.append(edit.what)
    return {
        "by_number": counts["number"],
        "refused": counts["refused"],
        "kinds": dict(kinds),
        "equal": equal,
        "survived": survived,
    }


def gap_of(stated, evaluator):
    """How far off they are in this world: 0 where they claim nothing."""
    try:
        return gap(stated, evaluator.world, evaluator)
    except Nothing:
        return 0.0


def _exactly(altered, worlds, draws):
    """Whether an altered form holds exactly, or where no draw is exact, to 1e-12."""
    exact = [world for draw, world in zip(draws, worlds, strict=True) if draw.exact]
    try:
        return max(gap_of(altered, Evaluator(world)) for world in exact or worlds) <= EQUAL
    except (Refused, NotExact):
        return False


def _fewer_cases(stated, altered, evaluators):
    """Why a narrower condition is no slip: the claim is the same, and made of fewer cases."""
    if any(a.claim != b.claim for a, b in zip(stated, altered, strict=True)):
        return ""
    cases = []
    for evaluator in evaluators:
        narrower = Evaluator(evaluator.world)
        try:
            gap_of(altered, narrower)
        except (Refused, NotExact):
            return ""
        cases += [(narrower.cases[n], evaluator.cases[n]) for n in range(len(stated))]
    if not all(a <= b for a, b in cases) or all(a == b for a, b in cases):
        return ""
    return "the same claim, of fewer cases"


def _not_needed(entry, stated, altered):
    """Why another condition is no slip: the claim holds without the one that it stands for."""
    if any(a.claim != b.claim for a, b in zip(stated, altered, strict=True)):
        return ""
    before, after = ([x for s in form for x in s.nodes[1:]] for form in (stated, altered))
    if len(before) != len(after):
        return ""
    changed = [a for a, b in zip(before, after, strict=True) if a != b]
    return entry.equal.get(f"not only where {render(changed[0])}", "") if len(changed) == 1 else ""


def _same(edit, evaluator):
    """Why an edit changes nothing, if the values show it: symmetry, or factors that commute."""
    values = [evaluator.last.get(id(part)) for part in edit.parts]
    if not values or not all(isinstance(x, np.ndarray) for x in values):
        return ""
    x, square = values[0], values[0].shape == values[0].T.shape
    if edit.kind == "transpose" and square and distance(x, x.T) < 1e-14:
        return "a symmetric matrix"
    if not all(map(is_exact, values)):
        return ""
    if edit.kind == "order" and values[0].shape == values[1].shape[::-1]:
        one, other = values[0] @ values[1], values[1] @ values[0]
        return "the two commute" if one.shape == other.shape and np.all(one == other) else ""
    return ""
