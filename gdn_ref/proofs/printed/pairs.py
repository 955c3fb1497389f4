r"""What one edit alone does not show: two slips at once, and another term of the same value.

    doubles(stated, rejected, label)   two rejected edits together, drawn with a fixed seed
    alike(stated, evaluator)           a term in the place of one that has its value there

A double finds slips that undo each other. A term of the same value finds a coincidence of the
data: where it may stand in every draw, two sizes are always the same, or a size is one number.
"""

from dataclasses import replace
from random import Random
from zlib import crc32

import numpy as np

from . import arithmetic
from . import values as v
from .evaluate import Evaluator
from .gaps import gap
from .mutate import Edit
from .tree import Node, render
from .values import Depends, Family, Multiple, Refused
from .world import LETTERS

PLACES = ("claim", "conditions", "premises")
SILENT = ("group", "cell", "table", "chain", "row", "mark", "up", "down", "slice", "dots")


def doubles(stated, rejected, label):
    """One double for every two edits, each of which is rejected alone; the same at each call."""
    draw, wanted, seen = Random(crc32(label.encode())), (len(rejected) + 1) // 2, {stated}
    for _ in range(20 * wanted):  # some pairs concern one place, others say the same
        if wanted == 0 or len(rejected) < 2:
            return
        (one, a), (other, b) = draw.sample(rejected, 2)
        both = merged(stated, a, b)
        if both is not None and both not in seen:
            seen.add(both)
            wanted -= 1
            yield Edit("double", f"{one.what}; {other.what}"), both


def merged(true, a, b):
    """The statements with both alterations of the true ones, or None where they meet."""
    try:
        return tuple(
            replace(s, **{p: _merge(*(getattr(t, p) for t in (s, x, y))) for p in PLACES})
            for s, x, y in zip(true, a, b, strict=True)
        )
    except _Meet:
        return None


class _Meet(Exception):
    """Two edits of one place."""


def _merge(true, a, b):
    """One value from two alterations of it: nodes and rows of them part by part."""
    if a == true or b == true:
        return b if a == true else a
    if isinstance(true, Node) and a.kind == b.kind == true.kind:
        if isinstance(true.info, tuple) and len(true.info) == len(true.parts):  # a sum's signs
            rows = [tuple(zip(x.info, x.parts, strict=True)) for x in (true, a, b)]
            info, parts = zip(*_merge(*rows), strict=True)
            return replace(true, parts=parts, info=info)
        return replace(
            true, parts=_merge(true.parts, a.parts, b.parts), info=_merge(true.info, a.info, b.info)
        )
    if isinstance(true, tuple):
        for x, y in ((a, b), (b, a)):
            at = _left_out(true, x)
            if at is not None and len(y) > 1 and y[at : at + 1] == true[at : at + 1]:
                return _merge((*true[:at], *true[at + 1 :]), x, (*y[:at], *y[at + 1 :]))
    if isinstance(true, tuple) and len(a) == len(b) == len(true):
        return tuple(map(_merge, true, a, b))
    raise _Meet


def _left_out(true, x):
    """The place of the one item that x lacks, or None."""
    places = (at for at in range(len(true)) if x == (*true[:at], *true[at + 1 :]))
    return next(places, None)


def alike(stated, evaluator):
    """Each term replaced by each other one that has its value in the evaluator's world."""
    pool, seen = {}, {stated}
    for term, value in _terms(stated, evaluator):
        for place in _buckets(value):
            pool.setdefault(place, {}).setdefault(render(term), (term, value))
    for n, statement in enumerate(stated):
        free = evaluator.free(*statement.nodes)
        for place in PLACES:
            for node, put, inside in _places(getattr(statement, place)):
                value = evaluator.last.get(id(node))
                if value is None or node.kind in SILENT:
                    continue
                for other in _others(node, value, pool):
                    if not _runs(other, evaluator) <= free | _runs(node, evaluator):
                        continue  # a letter that nothing binds there
                    new = put(_closed(other) if inside else other)
                    altered = replace(statement, **{place: new})
                    altered = (*stated[:n], altered, *stated[n + 1 :])
                    if altered not in seen:
                        seen.add(altered)
                        what = f"{render(other)} for {render(node)}"
                        yield Edit("value", what, (node, other)), altered


def same_value(stated, altered, edit, evaluator):
    """Why an altered form is true as well, if its text shows it."""
    if edit.kind == "value":
        claims = [statement.claim for statement in stated]
        given = [x for s in altered for x in (*s.conditions, *s.premises)]
        if _said_equal(*map(render, edit.parts), [*claims, *given]):
            return "the display says that the two are equal"
    if edit.kind == "double":
        other = Evaluator(evaluator.world)
        gap(altered, other.world, other)
        last = evaluator.last | other.last
        if all(
            [_sorted(x, last) for x in a.nodes] == [_sorted(x, last) for x in b.nodes]
            for a, b in zip(stated, altered, strict=True)
        ):
            return "the same numbers in another order, or the two sides"
    return ""


def _said_equal(a, b, chains):
    """Whether equations, one after the other, lead from one term to another."""
    known, reached = {a}, set()
    while known != reached:
        reached = set(known)
        for x, y in (pair for chain in chains for pair in _equal_terms(chain)):
            known |= {x, y} if {x, y} & known else set()
    return b in known


def _equal_terms(chain):
    """What an equation says is equal: its sides, and their terms if both are tuples."""
    if chain.kind != "chain":
        return
    for sign, a, b in zip(chain.info, chain.parts, chain.parts[1:], strict=False):
        if sign != "=":
            continue
        yield render(a), render(b)
        if a.kind == b.kind == "tuple" and len(a.parts) == len(b.parts):
            yield from ((render(x), render(y)) for x, y in zip(a.parts, b.parts, strict=True))


def _sorted(node, last):
    """The text of a node where numbers that are multiplied, or added, stand in their order."""
    parts = [_sorted(part, last) for part in node.parts]
    if node.kind == "chain" and set(node.info) == {"="}:
        return f"equal{sorted(parts)}"
    if node.kind in ("sum", "product") and all(
        id(part) in last and v.shape_of(last[id(part)]) == () for part in node.parts
    ):
        signs = node.info if node.kind == "sum" else ("",) * len(parts)
        return f"{node.kind}{sorted(zip(signs, parts, strict=True))}"
    return f"{node.kind}{node.info}{parts}"


def _runs(node, evaluator):
    return {text for part in node.walk() if (text := render(part)) in evaluator.world.ranges}


def _terms(stated, evaluator):
    """The terms of the display, and the other letters of its world, with their values."""
    for statement in stated:
        for root in statement.nodes:
            for node in root.walk():
                if node.kind not in SILENT and id(node) in evaluator.last:
                    yield node, evaluator.last[id(node)]
    for key, value in evaluator.world.letters.items():
        if not (isinstance(value, Family | Depends) or callable(value) or _words(key)):
            yield LETTERS[key], v.plain(value)


def _words(key):
    """The name of a side without a relation, which is a part of the world alone."""
    return "\\" not in key and len(key.split("_")[0].rstrip("'")) > 1


def _buckets(value):
    """Under what a value is found: its shape, and its size to six digits, rounded up or down."""
    if isinstance(value, tuple | slice | Family | Multiple) or callable(value):
        return
    try:
        size = float(np.linalg.norm(np.asarray(value, dtype=float)))
    except (TypeError, ValueError):
        return  # no real numbers
    if np.isfinite(size):
        exponent = 0 if size == 0 else int(np.floor(np.log10(size)))
        digits = size * 10.0 ** (6 - exponent)
        for rounded in {int(np.floor(digits)), int(np.ceil(digits))}:
            yield v.shape_of(value), exponent, rounded


def _others(node, value, pool):
    found = {}
    for place in _buckets(value):
        found |= pool.get(place, {})
    if v.counts(value) and value >= 0 and node.kind != "number":
        numeral = Node("number", (), str(int(value)))
        found.setdefault(numeral.info, (numeral, int(value)))
    for text, (other, its) in found.items():
        if text != render(node) and other not in node.walk() and node not in other.walk():
            try:
                same = arithmetic.distance(value, its) < 1e-9
            except Refused:
                same = False
            if same:
                yield other


def _closed(node):
    """The term as it may stand anywhere."""
    return Node("group", (node,), "(") if node.kind in ("sum", "big", "product") else node


BRACKETED = ("chain", "group", "norm", "bar", "floor", "ceil", "root", "fraction", "cell", "tuple")
BRACKETED += ("up", "down")


def _places(whole, inside=False):
    """`(node, put, inside)`: every node in a claim, or in a row of conditions, how to replace it,
    and whether it stands beside others, where a sum needs brackets."""
    if not isinstance(whole, tuple):
        yield whole, lambda new: new, inside
    for i, part in enumerate(whole if isinstance(whole, tuple) else whole.parts):

        def put_part(new, i=i):
            if isinstance(whole, tuple):
                return (*whole[:i], new, *whole[i + 1 :])
            return replace(whole, parts=(*whole.parts[:i], new, *whole.parts[i + 1 :]))

        beside = not isinstance(whole, tuple) and whole.kind not in BRACKETED
        for node, put, within in _places(part, beside):
            yield node, lambda new, put=put, put_part=put_part: put_part(put(new)), within
