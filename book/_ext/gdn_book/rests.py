"""Which equation rests on which: `book/rests.yml`, a map of it all, and a line in each badge.

The map has a column for each chapter and in it its equations, in the order of the page. It is whole
without a script; `rests-map.js` lights up what an equation rests on, and what rests on it.
"""

from functools import cache
from graphlib import CycleError, TopologicalSorter
from html import escape
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from . import tables
from .numbers import chapter_of

logger = logging.getLogger(__name__)
WIDE, HIGH, BOX = 36, 19, (31, 13)  # a column, a row, the box of an equation


class rests(nodes.General, nodes.Element):
    """Holds the place of the map until the equations have their numbers."""


def connect(app):
    app.add_config_value("gdn_rests", "book/rests.yml", "env", types=[str])
    app.add_node(rests)
    app.add_directive("gdn-rests", Rests)
    app.connect("doctree-resolved", fill)
    app.connect("env-check-consistency", check)
    app.connect("html-page-context", load_script)


class Rests(SphinxDirective):
    """The map, and the same as a list."""

    def run(self):
        self.env.note_dependency(str(Path(self.env.srcdir) / self.env.config.gdn_rests))
        self.env.gdn_rests_page = self.env.docname
        return [rests()]


def of(app):
    """Label -> the labels that it rests on; nothing for a book without the file."""
    return _read(Path(app.srcdir) / app.config.gdn_rests)


@cache
def _read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}


def turned(below):
    """Label -> the labels that rest on it."""
    above = {label: [] for label in below}
    for label, needed in below.items():
        for one in needed:
            above.setdefault(one, []).append(label)
    return above


def all_from(label, edges):
    """Everything that is reached from a label, the label itself left out."""
    found, open_ = set(), list(edges[label])
    while open_:
        one = open_.pop()
        if one not in found:
            found.add(one)
            open_ += edges[one]
    return found


def longest_chain(below):
    """The labels of a chain that is as long as any, from where it begins to its end."""
    chains = {}
    for label in TopologicalSorter(below).static_order():
        chains[label] = max((chains[one] for one in below[label]), key=len, default=[]) + [label]
    return max(chains.values(), key=len)


def check(app, env):
    """Every labelled equation of a chapter is in the file, and nothing else; there is no circle."""
    below, where = of(app), app.config.gdn_rests
    if not below:
        return
    equations = env.get_domain("math").equations
    printed = {label for label, (page, _) in equations.items() if chapter_of(page)}
    known = set(below).union(*below.values())
    for label in sorted(printed - set(below)):
        logger.warning("%s does not say what %s rests on", where, label, type="gdn")
    for label in sorted(known - printed):
        logger.warning("%s: no chapter has %s", where, label, type="gdn")
    try:
        TopologicalSorter(below).prepare()
    except CycleError as error:
        logger.warning("%s goes in a circle: %s", where, " <- ".join(error.args[1]), type="gdn")


def load_script(app, pagename, templatename, context, doctree):
    if 'class="gdn-rests"' in context.get("body", ""):
        app.add_js_file("rests-map.js", defer="defer")


def fill(app, doctree, docname):
    for place in list(doctree.findall(rests)):
        below = of(app)
        text = _facts(app, docname, below) + _map(app, docname, below) + _list(app, docname, below)
        place.replace_self(nodes.raw("", text, format="html"))


def links(app, docname, labels):
    """Links to equations by their numbers, in the order of the book, as HTML."""
    known = [label for label in labels if label in app.env.get_domain("math").equations]
    found = [_link(app, docname, label) for label in sorted(known, key=_order(app))]
    return ", ".join(f'<a href="{escape(uri)}">({number})</a>' for number, uri in found)


def _order(app):
    """Sort key of labels: chapter, place on the page."""
    equations, page = app.env.get_domain("math").equations, tables.in_book_order(app.env)
    return lambda label: (page(equations[label][0]), equations[label][1])


def _link(app, docname, label):
    """`(number, address)` of an equation, seen from a page."""
    node = tables.equation(app, docname, label)
    address = node["refuri"] if node.get("refuri") else f"#{node['refid']}"
    return node.astext().strip("()"), address


def badge(app, docname, label):
    """What an equation rests on and what rests on it, as rows of its badge's list."""
    below = of(app)
    if label not in below:
        return ""
    rows = [("Rests on", below[label]), ("Used by", turned(below)[label])]
    shown = "".join(
        f"<dt>{name}</dt><dd>{links(app, docname, labels)}</dd>" for name, labels in rows if labels
    )
    page = getattr(app.env, "gdn_rests_page", None)
    if page is None:
        return f"<dl>{shown}</dl>" if shown else ""
    address = app.builder.get_relative_uri(docname, page)
    return (
        f'<dl>{shown}<dt>All of it</dt><dd><a href="{escape(address)}#{label}">on the map</a>'
        "</dd></dl>"
    )


def _facts(app, docname, below):
    """How many, where it begins, the longest way, and what most depends on."""
    chain, above = longest_chain(below), turned(below)
    starts = sum(not needed for needed in below.values())
    most = max(below, key=lambda label: len(all_from(label, above)))
    return (
        f"<p>The map has {len(below)} equations and {sum(map(len, below.values()))} lines; "
        f"{starts} equations rest on no other. The longest chain has {len(chain)} equations, from "
        f"{links(app, docname, chain[:1])} to {links(app, docname, chain[-1:])}. On "
        f"{links(app, docname, [most])} rest {len(all_from(most, above))}, directly or through "
        "others, and on no equation more.</p>"
    )


def _map(app, docname, below):
    equations = app.env.get_domain("math").equations
    columns = {}
    for label in sorted(below, key=_order(app)):
        columns.setdefault(chapter_of(equations[label][0]), []).append(label)
    at = {
        label: (column * WIDE, (row + 1) * HIGH)
        for column, labels in enumerate(columns.values())
        for row, label in enumerate(labels)
    }
    heads = "".join(
        f'<text class="gdn-head" x="{column * WIDE + BOX[0] / 2}" y="10">{chapter}</text>'
        for column, chapter in enumerate(columns)
    )
    lines = "".join(
        f'<path data-from="{one}" data-to="{label}" d="{_line(at[one], at[label])}"/>'
        for label, needed in below.items()
        for one in needed
    )
    boxes = "".join(_box(app, docname, label, *at[label]) for label in at)
    width = WIDE * len(columns) - WIDE + BOX[0]
    height = HIGH * (1 + max(map(len, columns.values())))
    return (
        '<div class="gdn-rests"><div class="gdn-rests-choice"><form hidden><label>Equation '
        '<select name="equation"><option value="">choose, here or on the map</option></select>'
        "</label></form></div>"
        f'<div class="gdn-scroll" tabindex="0" role="region" aria-label="The map">'
        f'<svg viewBox="-1 0 {width + 2} {height}" style="min-width: {width * 0.85:.0f}px" '
        f'aria-hidden="true">{heads}<g class="gdn-lines">{lines}</g>{boxes}</svg></div>'
        '<div class="gdn-rests-says" aria-live="polite"></div></div>'
    )


def _line(start, end):
    """From the right side of one box to the left side of another; within a column a bow."""
    (x, y), (u, v) = start, end
    y, v = y + BOX[1] / 2, v + BOX[1] / 2
    if x == u:
        return f"M{x} {y}C{x - 5} {y} {u - 5} {v} {u} {v}"
    x += BOX[0]
    bend = max(4, (u - x) / 3)
    return f"M{x} {y}C{x + bend:.0f} {y} {u - bend:.0f} {v} {u} {v}"


def _box(app, docname, label, x, y):
    number, address = _link(app, docname, label)
    return (
        f'<g id="{label}" data-label="{label}" data-href="{escape(address)}" '
        f'transform="translate({x} {y})">'
        f'<rect width="{BOX[0]}" height="{BOX[1]}" rx="2"/>'
        f'<text x="{BOX[0] / 2}" y="{BOX[1] - 3.4}">{number}</text></g>'
    )


def _list(app, docname, below):
    """The same for those who see no map, folded."""
    equations, order = app.env.get_domain("math").equations, _order(app)
    rows, last = [], None
    for label in sorted(below, key=order):
        if (page := equations[label][0]) != last:
            rows.append(f"<dt>Chapter {chapter_of(page)}</dt>")
            last = page
        needed = links(app, docname, below[label]) or "nothing here"
        rows.append(f"<dd>{links(app, docname, [label])} rests on {needed}</dd>")
    return (
        '<details class="gdn-rests-list"><summary>The same as a list</summary>'
        f"<dl>{''.join(rows)}</dl></details>"
    )
