r"""The formulas inside the sentences: `$...$` with a relation, each evaluated or listed.

    formulas(path)    those of one chapter, each with its cell and line
    judge(path)       what became of each, as a dict that JSON can hold

A formula is evaluated in the world of the nearest labelled equation that gives it a value; near
is where the equation stands or is cited. What has no value there, or states a case (`T = 3C`)
and no fact, stands in `sentences.txt`, chapter and TeX, and is not judged. A formula that
neither holds nor stands there stops the build, so that a change of either kind is noticed. A line
that ends in `where i < r` says for which indices its formula is evaluated, if the words do. What
only sets letters, `C = 64` or `i < r`, claims nothing.
"""

import json
import re
import time
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from .check import PRINTED
from .draws import DRAWS
from .evaluate import Evaluator
from .gaps import PASS, gap, verdict
from .lexer import NotRead
from .mutate import mutants
from .source import fingerprint
from .statements import statements
from .values import NotExact, Refused

LIST = Path(__file__).with_name("sentences.txt")
INLINE = re.compile(r"(?<![\\$\w])\$(?!\s)([^$]+?)(?<!\s)\$(?![\w$])")
RELATION = re.compile(r"=|<|>|\\(le|ge|ne|approx|perp|in)(?![A-Za-z])")
LABEL = re.compile(r"\((eq-[a-z0-9-]+)\)|\{eq\}`(eq-[a-z0-9-]+)`")
REFUSED = (Refused, NotRead, NotExact)
COUNTED = ("evaluated", "listed", "sets", "rejected", "left")


@dataclass(frozen=True)
class Formula:
    """One formula of a sentence: its TeX and its place."""

    tex: str
    notebook: str  # the file's name
    cell: int  # counted from 1
    line: int  # of the cell, counted from 1
    near: tuple  # labels, the nearest first

    @property
    def place(self):
        return f"{self.notebook}, cell {self.cell}, line {self.line}"

    @property
    def chapter(self):
        return self.notebook[:2]


def formulas(path):
    """The formulas with a relation in the sentences of a notebook, in their order."""
    found, labels, line = [], [], 0
    for number, cell in enumerate(json.loads(Path(path).read_text("utf-8"))["cells"], 1):
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            labels += [(line + _line(text, m), m[1] or m[2]) for m in LABEL.finditer(text)]
            for match in INLINE.finditer(_sentences(text)):
                if RELATION.search(match[1]):
                    found.append((" ".join(match[1].split()), number, _line(text, match), line))
        line += text.count("\n") + 1
    return [
        Formula(tex, Path(path).name, number, at + 1, _nearest(labels, above + at))
        for tex, number, at, above in found
    ]


def _line(text, match):
    return text.count("\n", 0, match.start())


def _sentences(text):
    """The text without displays and code; what is left stands on its line."""
    return re.sub(r"\$\$.*?\$\$|`[^`\n]+`", lambda m: _blank(m[0]), text, flags=re.S)


def _blank(text):
    return re.sub(r"[^\n]", " ", text)


def _nearest(labels, line):
    """Every label once, by how far from the line it stands or is cited; the one above first."""
    by_distance = sorted(labels, key=lambda at: (abs(at[0] - line), at[0] > line))
    return tuple(dict.fromkeys(label for _, label in by_distance))


# What a formula is.


def plain_numbers(tex):
    r"""`8{,}385` and `0.25` as the grammar writes them."""
    tex = re.sub(r"(?<=\d)\{,\}(?=\d)", "", tex)
    return re.sub(r"(\d+)\.(\d+)", lambda m: rf"\frac{{{m[1]}{m[2]}}}{{1{'0' * len(m[2])}}}", tex)


def only_sets(stated):
    """Whether letters and numbers alone are related: a case, a size, an index that runs."""
    return not any(_claims(s.claim) for s in stated if s.claim.kind == "chain")


def _claims(chain):
    r"""Two equal letters are a claim, as in `g_t = \alpha_t`, but for bare ones: `i = t`."""
    if not all(map(_is_name, chain.parts)):
        return True
    letters = all(part.kind in ("letter", "scripted") for part in chain.parts)
    return letters and "=" in chain.info and any(map(_is_dressed, chain.parts))


def _is_dressed(node):
    return node.kind == "scripted" or "{" in node.info


def _is_name(node):
    if node.kind in ("tuple", "group", "fraction", "sum") and node.parts:
        return all(_is_name(p) for p in node.parts) and (node.kind != "sum" or len(node.parts) == 1)
    if node.kind == "scripted":  # a power is no name
        base, *scripts = node.parts
        return base.kind == "letter" and not any(s.kind == "up" for s in scripts)
    return node.kind in ("letter", "number", "dots")


@cache
def drawn(world, draw):
    """A world of a label in one draw."""
    return world(draw.anew())


def worlds(entry):
    """Two worlds of a label: where there are two arithmetics, one in each. Neither is of a single
    token."""
    draws = [draw for draw in DRAWS[entry.arithmetic] if draw.seed < 2]
    return (drawn(entry.world, draw) for draw in draws[:: len(draws) // 2])


def evaluated(formula, stated):
    """`(label, how far off)` in the world of the nearest label that gives the formula a value."""
    tried, why = set(), "no equation is near"
    for label in formula.near:
        entry = PRINTED.get(label)
        if entry is None or (entry.world, entry.arithmetic) in tried:
            continue
        tried.add((entry.world, entry.arithmetic))
        try:
            return label, max(gap(stated, world) for world in worlds(entry))
        except (*REFUSED, ValueError) as error:  # a world's own function, of another shape
            why = str(error)
    raise Refused(why)


def altered(label, stated):
    """How many altered forms are rejected, and how many hold as well."""
    world = next(worlds(PRINTED[label]))
    evaluator = Evaluator(world)
    gap(stated, world, evaluator)
    found = Counter(verdict(other, [world]) for _, other in mutants(stated, evaluator))
    return found["number"] + found["refused"], found["holds"]


# What became of each.


@cache
def listed():
    """`{(chapter, TeX): where}` of `sentences.txt`; `where` is empty if it is not evaluated."""
    found = {}
    for line in LIST.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            chapter, text = line.split(" ", 1)
            tex, _, where = text.partition(" where ")
            found[chapter, tex] = where
    return found


def judge(path):
    """What became of the formulas in the sentences of one chapter."""
    start, found, chapter = time.process_time(), formulas(path), Path(path).name[:2]
    result = {
        "notebook": Path(path).name, "fingerprint": _all_of(found), "problems": [],
        **dict.fromkeys(COUNTED, 0),
    }  # fmt: skip
    needed = set()
    for formula in found:
        key = chapter, formula.tex
        where = listed().get(key)
        kind, why, counts = _judged(formula, where)
        if where or kind == "open":
            needed.add(key)
        if kind == "open" and where == "":
            kind = "listed"
        if kind == "open":
            result["problems"].append(f"{formula.place}: ${formula.tex}$ {why}")
        else:
            result[kind] += 1
        for name, n in counts.items():
            result[name] += n
    result["problems"] += [
        f"{result['notebook']}: sentences.txt lists ${tex}$, which is gone or is evaluated"
        for at, tex in sorted(listed().keys() - needed)
        if at == chapter
    ]
    return result | {"seconds": time.process_time() - start}


def _judged(formula, where):
    """`(kind, why, counts)` of one formula; "open" is what the list must have."""
    try:
        condition = rf" \quad ({where})" if where else ""
        stated = statements(plain_numbers(formula.tex) + condition)
        if only_sets(stated):
            return "sets", "", {}
        label, off = evaluated(formula, stated)
    except REFUSED as error:
        return "open", f"has no value: {error}", {}
    if not off <= PASS:
        return "open", f"is false in the world of {label}: off by {off:.1e}", {}
    rejected, left = altered(label, stated)
    if not rejected:
        return "open", f"holds in the world of {label}, and so does every altered form", {}
    return "evaluated", "", {"rejected": rejected, "left": left}


def _all_of(found):
    return fingerprint(" ".join(formula.tex for formula in found))


def fingerprint_of(path):
    """A fingerprint of all formulas in a chapter's sentences."""
    return _all_of(formulas(path))
