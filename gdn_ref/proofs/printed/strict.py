r"""What an evaluator would read past: it is not read.

    strict(tree)    the tree; `NotRead` where a script, a bracket or a relation has no meaning

`\mathbb{E}_{\boldsymbol{v}}` is a mean over something, `\log_2^\ast` and `\mathrm{tril}^\top` are
other functions, `\sum'` leaves a term out, and so does `\sum_{m>0}^{n-1}`. `\mathrm{tr}[x]^2` and
`\mathbb{E}[x]^2` are squares of what stands before. One reader of `a/b\cdot c` divides by c.
"""

from .lexer import NotRead

SCRIPTS = {"log": [["down"]], "max": [[], ["down"]], "min": [[], ["down"]]}  # of functions


def strict(tree):
    """The tree, if all that is written in it has a meaning."""
    for node in tree.walk():
        if not READ.get(node.kind, _all)(node):
            raise NotRead(f"no meaning is known for all of {node.text}")
    return tree


def _all(node):
    return True


def _quotient(node):
    return all(divisor.kind != "product" for divisor in node.parts[1:])


def _apply(node):
    *scripts, argument = node.parts
    return _kinds(scripts) in SCRIPTS.get(node.info, [[]]) and not _goes_on(argument)


def _big(node):
    *scripts, body = node.parts
    if node.info == r"\mathbb{E}":
        return not scripts and not _goes_on(body)
    if _kinds(scripts) != ["down", "up"]:
        return _kinds(scripts) == ["down"]
    low = scripts[0].parts[0]
    return low.kind == "chain" and low.info == ("=",)


def _scripted(node):
    base, *scripts = node.parts
    if base.info == r"\mathbb{R}":
        return _kinds(scripts) == ["up"]
    if base.kind in ("letter", "group"):
        return True  # its value decides
    return all(s.kind != "prime" and s.parts[0].kind != "group" for s in scripts)


def _kinds(scripts):
    return [script.kind for script in scripts]


def _goes_on(node):
    """Whether a power or a factor stands behind square brackets."""
    first = node.parts[0] if node.kind == "product" else node
    behind = first is not node
    if first.kind == "scripted":
        behind |= first.parts[1].kind == "up"
        first = first.parts[0]
    return behind and first.kind == "group" and first.info == "["


READ = {"quotient": _quotient, "apply": _apply, "big": _big, "scripted": _scripted}
