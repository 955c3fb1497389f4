r"""Whether the fractions of a display are in lowest terms.

    reducible(stated, ev)   each fraction, or product with one, whose top and bottom share a factor;
                            each power of a logarithm, `2^{\log_2 x}`

`\frac{(R-1)^2}{R-1}` is `R - 1` wherever it has a value, and for one rank it has none. No number
shows that where no draw is at the border, so it is read off the formula.
"""

import itertools
from math import prod

import sympy as sp

from . import values as v
from .letters import TRANSPOSE
from .symbolic import whole_power
from .tree import Node, render


def reducible(stated, ev):
    """What could be reduced, as text."""
    for node in (n for statement in stated for root in statement.nodes for n in root.walk()):
        fraction = _divides(node) or node.kind == "product" and any(map(_divides, node.parts))
        if fraction and sp.gcd(*_ratio(node, ev)).free_symbols:
            yield render(node)
        if any(
            p.kind == "apply" and p.info in ("ln", "log") for x in _raised(node) for p in x.walk()
        ):
            yield render(node)


def _raised(node):
    """What stands in an exponent."""
    if node.kind == "apply" and node.info == "exp":
        return node.parts[-1:]
    return node.parts if node.kind == "up" else ()


def _divides(node):
    return node.kind in ("fraction", "quotient") or _exponent(node) < 0


def _exponent(node):
    """The power that is the last script, if it is a whole number, of either sign; 0 if not."""
    last = node.parts[-1] if node.kind == "scripted" else None
    inside = last.parts[0] if last is not None and last.kind == "up" else None
    if inside is not None and inside.kind == "sum" and inside.info == ("-",):
        return -whole_power(Node("scripted", (node, Node("up", inside.parts))))
    return whole_power(node) if inside is not None else 0


def _ratio(node, ev):
    """Top and bottom, neither of them reduced; a letter stands for what is no number."""
    if node.kind == "number":
        return sp.Integer(node.info), sp.Integer(1)
    if node.kind == "group" or node.kind == "chain" and len(node.parts) == 1:
        return _ratio(node.parts[0], ev)
    if not any(part.kind == "dots" for part in node.parts):
        if node.kind in ("fraction", "quotient"):
            (top, below), *others = (_ratio(part, ev) for part in node.parts)
            return top * prod(b for _, b in others), below * prod(t for t, _ in others)
        if node.kind == "product":
            tops, bottoms = zip(*(_ratio(part, ev) for part in _factors(node, ev)), strict=True)
            return prod(tops), prod(bottoms)
        if node.kind == "sum":
            return _added(node, [_ratio(part, ev) for part in node.parts])
    if (power := _exponent(node)) and _is_number(node, ev):
        rest = node.parts[:-1]
        top, bottom = _ratio(rest[0] if len(rest) == 1 else _of(rest), ev)[
            :: 1 if power > 0 else -1
        ]
        return top ** abs(power), bottom ** abs(power)
    return _power(node) or (_letter(node), sp.Integer(1))


def _of(parts):
    return Node("scripted", parts)


def _added(node, ratios):
    bottom = sp.lcm_list([b for _, b in ratios])
    tops = (t * sp.cancel(bottom / b) for t, b in ratios)
    return sp.Add(*(t if s == "+" else -t for s, t in zip(node.info, tops, strict=True))), bottom


def _power(node):
    """`x^{n + 1}` is x times `x^n`."""
    last = node.parts[-1] if node.kind == "scripted" else None
    inside = last.parts[0] if last is not None and last.kind == "up" else None
    if inside is None or inside.kind != "sum" or inside.parts[-1].kind != "number":
        return None
    if inside.info[-1] == "-":
        return None
    base = node.parts[0] if len(node.parts) == 2 else _of(node.parts[:-1])
    rest = Node("sum", inside.parts[:-1], inside.info[:-1])
    times = int(inside.parts[-1].info)
    return _letter(base) ** times * sp.Symbol(f"{render(base)}^{render(rest)}"), sp.Integer(1)


def _factors(node, ev):
    """The numbers of a product, and what else stands there as one: an inner product is a number."""
    for number, run in itertools.groupby(node.parts, lambda p: _is_number(p, ev)):
        run = tuple(run)
        yield from run if number else (run[0],) if len(run) == 1 else (Node("inner", run),)


def _is_number(node, ev):
    return id(node) in ev.last and v.is_number(ev.last[id(node)])


def _letter(node):
    """One letter; `x^T y` and `y^T x` are the same."""
    if node.kind == "inner" and len(node.parts) == 2:
        return sp.Symbol(" ".join(sorted(map(_straight, node.parts))))
    return sp.Symbol(render(node) if node.kind != "inner" else " ".join(map(render, node.parts)))


def _straight(node):
    if node.kind == "scripted" and node.parts[-1] == TRANSPOSE:
        return render(node.parts[0] if len(node.parts) == 2 else _of(node.parts[:-1]))
    return render(node)
