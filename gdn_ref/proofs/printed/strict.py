r"""What an evaluator would read past: it is not read.

    strict(tree)    the tree; `NotRead` where a script, a bracket or a relation has no meaning

`\mathrm{Var}_i` is a variance over something, `\sum_{m>0}^{n-1}` leaves a term out. The grammar
knows no prime on a sum and no power of a function's name. `\mathrm{tr}[x]^2` and
`\mathbb{E}[x]^2` are squares of what stands before, and `[x]` alone is a whole number to some. One
reader of `a/b\cdot c` divides by c, one of `\ln x\,y`, or of `\ln x\,(y)`, takes the logarithm of
both, one of `\ln2\,x` does not, and `\exp2(x)` is a power of two. One of `\ln x/y`, or of
`\prod_ix_i/y`, divides inside. `2\tfrac12` is two and a half. What is read is `\sin2\theta\,(x)`.
"""

from itertools import pairwise

from .lexer import NotRead

SCRIPTS = {"log": [["down"]], "max": [[], ["down"]], "min": [[], ["down"]]}  # of functions
ANGLES = ("sin", "cos")
CLOSED = ("group", "norm", "bar", "floor", "ceil", "root")


def strict(tree):
    """The tree, if all that is written in it has a meaning."""
    for node in tree.walk():
        if not _read(node):
            raise NotRead(f"no meaning is known for all of {node.text}")
    return tree


def _read(node):
    """Whether all of this node is; its parts are asked by themselves."""
    indexed = node.kind in ("down", "up") or _kinds(node.parts[1:2]) == ["down"]
    if not indexed and any(map(_in_square_brackets, node.parts)):
        return False
    return READ.get(node.kind, lambda node: True)(node)


def _in_square_brackets(node):
    """One thing: two are an interval."""
    return node.kind == "group" and node.info == "[" and node.parts[0].kind != "tuple"


def _quotient(node):
    return _entrywise(node) and all(divisor.kind != "product" for divisor in node.parts[1:])


def _entrywise(node):
    """Before an operator stands no sum and no function without brackets: of what would they be?"""
    return not any(map(_is_open, node.parts[:-1]))


def _is_open(node):
    last = node.parts[-1] if node.kind == "product" else node
    return last.kind == "big" or _is_bare(last)


def _product(node):
    """What an angle's function of a bare letter stands before is brackets, or it would be its
    argument; others stand before nothing. A fraction of numbers behind a number is a part of it."""
    pairs = list(pairwise(node.parts))
    return all(x.kind == "group" and f.info in ANGLES for f, x in pairs if _is_bare(f)) and not any(
        a.kind == "number" and _is_numeral(b) for a, b in pairs
    )


def _is_numeral(node):
    return node.kind == "fraction" and _kinds(node.parts) == ["number", "number"]


def _is_bare(node):
    argument = node.parts[-1] if node.kind == "apply" else node
    base = argument.parts[0] if argument.kind == "scripted" else argument
    return node.kind == "apply" and base.kind not in CLOSED


def _apply(node):
    times = node.parts[-1] if node.parts[-1].kind == "product" else None  # `2\theta`
    if times is not None and (node.info not in ANGLES or times.parts[-1].kind != "letter"):
        return False
    return _kinds(node.parts[:-1]) in SCRIPTS.get(node.info, [[]])


def _big(node):
    scripts = node.parts[:-1]
    if _kinds(scripts) == ["down", "up"]:
        return scripts[0].parts[0].info == ("=",)
    return _kinds(scripts) == ["down"] or node.info == r"\mathbb{E}"


def _remainder(node):
    return len(node.parts) == 2 and _quotient(node)


def _scripted(node):
    base, *scripts = node.parts
    if max(map(_kinds(scripts).count, ("up", "down"))) > 1:
        return False  # TeX does not set it
    if base.info == r"\mathbb{R}":
        return _kinds(scripts) == ["up"]
    if base.kind in ("letter", "group"):
        return True  # its value decides
    return all(s.kind != "prime" and s.parts[0].kind != "group" for s in scripts)


def _kinds(nodes):
    return [node.kind for node in nodes]


READ = {
    "quotient": _quotient, "remainder": _remainder, "product": _product, "apply": _apply,
    "mixed": lambda node: False, "hadamard": _entrywise, "big": _big, "scripted": _scripted,
}  # fmt: skip
