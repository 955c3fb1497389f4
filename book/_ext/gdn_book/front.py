"""The first page's map of chapters and its reading paths, from book/chapters.yml and _toc.yml."""

from functools import cached_property
from html import escape
from pathlib import Path

import yaml
from docutils import nodes
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from .numbers import chapter_of

logger = logging.getLogger(__name__)
PACE = {"words": 200, "equations": 2, "lines of code": 20}  # in a minute


class place(nodes.General, nodes.Element):
    """Holds the place of the map or the paths until all pages are read."""


def connect(app):
    app.add_config_value("gdn_chapters", "book/chapters.yml", "env", types=[str])
    app.add_node(place)
    app.add_directive("gdn-map", Map)
    app.add_directive("gdn-paths", Paths)
    app.connect("doctree-resolved", fill_places)
    app.connect("env-check-consistency", check_plan)


class Map(SphinxDirective):
    """Every chapter, its question, its minutes, and arcs to the chapters that it needs."""

    draw = "map"

    def run(self):
        self.env.note_dependency(str(Path(self.env.srcdir) / self.env.config.gdn_chapters))
        return [place(draw=self.draw)]


class Paths(Map):
    """The reading paths, with the minutes of the chapters that are there."""

    draw = "paths"


class Plan:
    """The chapters of book/chapters.yml, and which of them are written."""

    def __init__(self, app):
        self.env = app.env
        path = Path(app.srcdir) / app.config.gdn_chapters
        data = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
        self.parts, self.paths = data.get("parts", []), data.get("paths", [])

    @cached_property
    def chapters(self):
        return {n: chapter for part in self.parts for n, chapter in part["chapters"].items()}

    @cached_property
    def pages(self):
        """Chapter -> the page that it is, for those that are in the table of contents."""
        listed = self.env.toctree_includes.get(self.env.config.root_doc, [])
        return {chapter_of(page): page for page in listed if chapter_of(page)}

    @cached_property
    def minutes(self):
        return {n: minutes(self.env.get_doctree(page)) for n, page in self.pages.items()}

    def before(self, chapter):
        """All chapters that lead to this one."""
        needs = self.chapters[chapter]["needs"]
        return set(needs).union(*(self.before(n) for n in needs))


def minutes(doctree):
    """How long a page takes to read, at `PACE`; solutions and what cells print are left out."""
    counts = dict.fromkeys(PACE, 0)
    for node in doctree.findall(_is_read):
        if isinstance(node, nodes.paragraph):
            counts["words"] += len(node.astext().split())
        elif isinstance(node, nodes.math_block):
            counts["equations"] += 1
        else:
            counts["lines of code"] += node.astext().count("\n") + 1
    return round(sum(count / PACE[kind] for kind, count in counts.items()))


def _is_read(node):
    if not isinstance(node, nodes.paragraph | nodes.math_block | nodes.literal_block):
        return False
    parent = node.parent
    while parent is not None:
        skipped = {"cell_output", "solution", "tag_solution"} & set(parent.get("classes", ()))
        if skipped or parent.tagname == "solution_node":
            return False
        parent = parent.parent
    return True


def check_plan(app, env):
    """Every chapter of the table of contents is in the plan and needs only earlier ones; a path
    has what its chapters need, or says that it takes it on trust."""
    plan = Plan(app)
    if not plan.chapters:
        return
    for number, page in plan.pages.items():
        if number not in plan.chapters:
            logger.warning("chapter %s is not in %s", number, app.config.gdn_chapters,
                           location=page, type="gdn")  # fmt: skip
    for number, chapter in plan.chapters.items():
        if any(n >= number for n in chapter["needs"]):
            logger.warning("%s: chapter %s needs a later one", app.config.gdn_chapters, number,
                           type="gdn")  # fmt: skip
    for path in plan.paths:
        needed = set().union(*(plan.chapters[n]["needs"] for n in path["chapters"]))
        missing = needed - set(path["chapters"])
        if missing != set(path.get("on trust", [])):
            logger.warning("%s: the path %r lacks chapters %s, on trust: %s",
                           app.config.gdn_chapters, path["reader"], sorted(missing),
                           path.get("on trust", []), type="gdn")  # fmt: skip


def fill_places(app, doctree, docname):
    for node in list(doctree.findall(place)):
        draw = {"map": _map, "paths": _paths}[node["draw"]]
        text = draw(app, docname, Plan(app)) if app.builder.format == "html" else ""
        node.replace_self(nodes.raw("", text, format="html"))


def _title(app, docname, plan, number):
    """A chapter's number and name, a link if the chapter is written."""
    name = escape(plan.chapters[number]["title"])
    text = f'<span class="gdn-number">{number:02}</span> {name}'
    if number not in plan.pages:
        return f'<span class="gdn-planned">{text}</span>'
    uri = app.builder.get_relative_uri(docname, plan.pages[number])
    return f'<a href="{escape(uri)}">{text}</a>'


def _map(app, docname, plan):
    rows, at = [], {}
    for part in plan.parts:
        rows.append(f'<li class="gdn-part">{escape(part["name"])}</li>')
        for number, chapter in part["chapters"].items():
            at[number] = len(rows) + 0.5
            needs = " and ".join(f"{n:02}" for n in chapter["needs"])
            notes = [f"after {needs}"] if needs else ["start here"]
            notes.append(f"{plan.minutes[number]} min" if number in plan.pages else "planned")
            rows.append(
                f'<li data-chapter="{number}" data-needs="{" ".join(map(str, chapter["needs"]))}">'
                f'<span class="gdn-dot"></span><span>{_title(app, docname, plan, number)} '
                f'<span class="gdn-asks">{escape(chapter["asks"])}</span></span>'
                f'<span class="gdn-note">{"<br>".join(notes)}</span></li>'
            )
    arcs = "".join(
        f'<path data-from="{n}" data-to="{number}" d="{_arc(at[n], at[number])}"/>'
        for number, chapter in plan.chapters.items()
        for n in chapter["needs"]
    )
    return (
        f'<div class="gdn-map"><svg viewBox="0 0 100 {len(rows)}" preserveAspectRatio="none" '
        f'aria-hidden="true" style="--gdn-rows: {len(rows)}">{arcs}</svg>'
        f"<ol>{''.join(rows)}</ol></div>"
        '<p class="gdn-map-says" aria-live="polite"></p>'
    )


def _arc(start, end):
    """From row to row: straight between neighbours, else a bow to the left, wider the longer."""
    if end - start <= 1:
        return f"M88 {start}V{end}"
    far = 88 - min(84, 10 * (end - start))
    return f"M88 {start}C{far} {start} {far} {end} 88 {end}"


def _paths(app, docname, plan):
    cards = []
    for path in plan.paths:
        written = [n for n in path["chapters"] if n in plan.pages]
        hours = sum(plan.minutes[n] for n in written) / 60
        chips = "".join(f"<li>{_chip(app, docname, plan, n)}</li>" for n in path["chapters"])
        chosen = " ".join(map(str, path["chapters"]))
        more = len(path["chapters"]) - len(written)
        trusted = " and ".join(f"{n:02}" for n in path.get("on trust", []))
        cards.append(
            f'<section class="gdn-path"><h3>{escape(path["reader"])}</h3>'
            f"<p>{escape(path['why'][0].upper() + path['why'][1:])}. "
            f"<strong>{hours:.1f} hours</strong> for {len(written)} chapters"
            f"{f', {more} more planned' if more else ''}"
            f"{f'; {trusted} on trust' if trusted else ''}.</p>"
            f'<ol class="gdn-chips">{chips}</ol>'
            f'<button type="button" class="gdn-button" aria-pressed="false" '
            f'data-path="{chosen}">Show on the map</button></section>'
        )
    *most, last = (f"{amount} {kind}" for kind, amount in PACE.items())
    pace = f"{', '.join(most)} or {last}"
    return (
        f'<div class="gdn-paths">{"".join(cards)}</div><p class="gdn-small">Times are counted when '
        f"the book is built, at a pace of {pace} to the minute. Exercises take as long as they "
        "take and are not counted beyond their text.</p>"
    )


def _chip(app, docname, plan, number):
    name = escape(plan.chapters[number]["title"])
    if number not in plan.pages:
        return f'<span class="gdn-planned" title="{name}, planned">{number:02}</span>'
    uri = app.builder.get_relative_uri(docname, plan.pages[number])
    return f'<a href="{escape(uri)}" aria-label="{number:02} {name}" title="{name}">{number:02}</a>'
