"""Pages show what a cell is for: drawings without the call, imports and checks on one line.

What a cell is, its source says (`kind`); no notebook carries a tag for it.

    imports   imports and settings alone                   one line that opens
    drawing   calls of gdn_ref.figures alone               what they draw, a figure of the page
    listing   prints the source of a function or kernel    that source, as code
    check     prove(...) or proved(...) alone              one line that opens
    in full   a check that also prints its source          the same, open: one in each chapter

All other cells stand as they are, and so do those of pages that are no chapter. The notebook keeps
every cell whole. What a cell prints comes from its process in one part or in several, as time has
it; on a page, parts that follow each other are one.
"""

import ast
import re

from docutils import nodes
from sphinx.transforms import SphinxTransform

from . import tables
from .numbers import chapter_of

MAGIC = re.compile(r"^%.*$", re.MULTILINE)
LISTS = {"inspect.getsource", "piece"}
PROVES = {"prove", "proved"}
FOLDED = {"imports", "check", "in full"}


class fold(nodes.General, nodes.Element):
    """A cell behind one line; `kind`, and the labels of what it checks."""


def connect(app):
    app.add_node(fold, html=(open_fold, close_fold))
    app.add_transform(OnePrint)
    app.add_transform(QuietCells)
    app.add_transform(MovingFigures)
    app.connect("doctree-resolved", name_folds)


def statements(source):
    """The statements of a cell without its magics; None if it is no Python."""
    try:
        return ast.parse(MAGIC.sub("", source)).body
    except SyntaxError:
        return None


def drawn_by(sources):
    """The names that the cells of a notebook import out of `gdn_ref.figures`."""
    names = set()
    for source in sources:
        for node in ast.walk(ast.Module(statements(source) or [], [])):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
                "gdn_ref.figures"
            ):
                names |= {alias.asname or alias.name for alias in node.names}
    return names


def kind(source, figures):
    """What a cell is for, a word of the list above; None for code that is to be read."""
    body = statements(source)
    if not body:
        return None
    if all(_sets_up(node) for node in body):
        return "imports"
    if all(_is_call(node, lambda name: name.split(".")[0] in figures) for node in body):
        return "drawing"
    if all(_is_call(node, lambda name: name == "print") and _lists(node) for node in body):
        return "listing"
    if all(_is_call(node, PROVES.__contains__) for node in body):
        return "check"
    if _proves_in_full(body):
        return "in full"
    return None


def _sets_up(node):
    """An import, or `os.environ[...] = ...` before one."""
    environment = isinstance(node, ast.Assign) and ast.unparse(node.targets[0])
    return isinstance(node, ast.Import | ast.ImportFrom) or (
        bool(environment) and environment.startswith("os.environ")
    )


def _is_call(node, named):
    called = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    return called and named(ast.unparse(node.value.func))


def _lists(node):
    """Does the statement ask for a source?"""
    calls = (n for n in ast.walk(node) if isinstance(n, ast.Call))
    return any(ast.unparse(n.func) in LISTS for n in calls)


def _proves_in_full(body):
    """`report = prove(...)`, its source, and the report."""
    first = body[0]
    return (
        isinstance(first, ast.Assign)
        and isinstance(first.value, ast.Call)
        and ast.unparse(first.value.func) == "prove"
        and "source" in ast.unparse(ast.Module(body[1:], []))
        and all(isinstance(node, ast.Expr) for node in body[1:])
    )


class OnePrint(SphinxTransform):
    """Parts of a stream with nothing between them, and no empty line at the end of the last.

    The option `nb_merge_streams` of myst-nb joins those with something between them, too.
    """

    default_priority = 399  # before the cells are sorted

    def apply(self, **_):
        for part in list(self.document.findall(_is_printed)):
            text, before = part.astext(), part.previous_sibling()
            if _is_printed(before) and before["classes"] == part["classes"]:
                text = before.astext() + text
                part.parent.remove(before)
            part[:] = [nodes.Text(text)]
        for part in self.document.findall(_is_printed):
            part.rawsource = part.astext().rstrip("\n") + "\n"  # the same as its text: highlighted
            part[:] = [nodes.Text(part.rawsource)]


def _is_printed(node):
    return isinstance(node, nodes.literal_block) and "stream" in node["classes"]


class QuietCells(SphinxTransform):
    """Each code cell, as soon as the notebook is read."""

    default_priority = 400  # before the domains note what has a number

    def apply(self, **_):
        if chapter_of(self.env.docname) is None:
            return
        cells = [(cell, _source(cell)) for cell in self.document.findall(_is_cell)]
        cells = [(cell, source) for cell, source in cells if source is not None]
        figures = drawn_by(source for _, source in cells)
        for cell, source in cells:
            if {"tag_exercise", "tag_solution"} & set(cell["classes"]):
                continue
            found = kind(source, figures)
            if found in FOLDED:
                labels = re.findall(r"eq-[\w-]+", source)
                _wrap(cell, fold("", kind=found, labels=labels))
            elif found == "drawing":
                _without_input(cell, "gdn-drawn")
            elif found == "listing":
                _without_input(cell, "cell", "gdn-listing")
                for printed in cell.findall(nodes.literal_block):
                    printed["language"] = "python"


def _is_cell(node):
    return isinstance(node, nodes.container) and node.get("nb_element") == "cell_code"


def _source(cell):
    part = cell.children[0] if cell.children else None
    if part is None or part.get("nb_element") != "cell_code_source":
        return None
    return part.astext()


def _without_input(cell, *classes):
    """What the cell shows; nothing at all if its output is left out, too."""
    del cell[0]
    cell["classes"] = list(classes)
    cell.attributes.pop("hide_mode", None)
    if not cell.children:
        cell.parent.remove(cell)


def _wrap(cell, around):
    cell.attributes.pop("hide_mode", None)
    cell.replace_self(around)
    around += cell


class MovingFigures(SphinxTransform):
    """`<div class="gdn-figure" ...>` and the paragraph `*Figure: ...*` below it are a figure with
    a caption and a number, like those that stand still: `fig-06-householder-2d` in chapter 6."""

    default_priority = 401
    host = re.compile(r'<div class="gdn-figure" data-figure="([\w-]+)"')

    def apply(self, **_):
        chapter = chapter_of(self.env.docname)
        if chapter is None:
            return
        for raw in list(self.document.findall(nodes.raw)):
            name = self.host.match(raw.astext().lstrip())
            below = raw.next_node(descend=False, siblings=True) if name else None
            words = _caption(below)
            if not words:
                continue
            figure = nodes.figure("", raw.deepcopy(), classes=["gdn-moving"])
            figure += nodes.caption("", "", *words)
            figure["names"].append(f"fig-{chapter:02}-{name[1]}")
            self.document.note_explicit_target(figure)
            raw.replace_self(figure)
            below.parent.remove(below)


def _caption(paragraph):
    """The words of a paragraph `*Figure: ...*` without the first; None for any other node."""
    if not isinstance(paragraph, nodes.paragraph) or len(paragraph) != 1:
        return None
    words = paragraph[0].children
    if not isinstance(paragraph[0], nodes.emphasis) or not words[0].startswith("Figure: "):
        return None
    first = words[0].removeprefix("Figure: ")
    return [nodes.Text(first[0].upper() + first[1:]), *(word.deepcopy() for word in words[1:])]


def open_fold(self, node):
    is_open = " open" if node["kind"] == "in full" else ""
    classes = "gdn-imports" if node["kind"] == "imports" else "gdn-proved"
    self.body.append(
        f'<details class="gdn-fold {classes}"{is_open}><summary>{node["says"]}</summary>'
    )


def close_fold(self, node):
    self.body.append("</details>")


def name_folds(app, doctree, docname):
    """The line of each fold: a check names its equations by their numbers."""
    for node in doctree.findall(fold):
        numbers = dict.fromkeys(
            tables.equation(app, docname, label).astext() for label in node["labels"]
        )
        node["says"] = {
            "imports": "Imports",
            "check": f"checked here: {', '.join(numbers)}",
            "in full": f"checked here, in full: {', '.join(numbers)}",
        }[node["kind"]]
