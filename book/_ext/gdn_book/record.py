"""The execution page: how each notebook ran in this build, and with which versions."""

import platform
import re
from datetime import UTC, datetime
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from docutils import nodes
from sphinx.util.docutils import SphinxDirective

from . import tables

GROUP = re.compile(r"# (.+)")
PIN = re.compile(r"([A-Za-z0-9_.-]+)==([^;\s]+)")
VENDORED = re.compile(r"\| `[^|]*\| (?P<name>[\w-]+)[^|]*\| (?P<version>[\d.]+) \|")


class execution_table(nodes.General, nodes.Element):
    """Holds the place of the table until all notebooks have run."""


def connect(app):
    app.add_node(execution_table)
    app.add_directive("gdn-execution", Execution)
    app.add_directive("gdn-versions", Versions)
    app.connect("env-updated", pages_to_write)
    app.connect("doctree-resolved", fill)


class Execution(SphinxDirective):
    """One row for each notebook, from what myst-nb recorded when it ran them."""

    def run(self):
        pages = getattr(self.env, "gdn_execution_pages", set())
        self.env.gdn_execution_pages = pages | {self.env.docname}
        return [execution_table()]


def pages_to_write(app, env):
    """A page with the table is written in every build, also where only a notebook changed."""
    return getattr(env, "gdn_execution_pages", set()) & env.found_docs


def fill(app, doctree, docname):
    runs = _runs(app.env)
    for place in list(doctree.findall(execution_table)):
        rows = [_row(app, docname, page, run) for page, run in runs]
        head = ["notebook", "result", "seconds", "finished (UTC)"]
        place.replace_self([_total(runs), tables.table(head, rows, "gdn-narrow")])


def _runs(env):
    """`(page, what myst-nb recorded)` of each notebook, in the order of the book."""
    recorded = getattr(env, "nb_metadata", {})
    pages = sorted(recorded, key=tables.in_book_order(env))
    return [(page, recorded[page]["exec_data"]) for page in pages if "exec_data" in recorded[page]]


def _total(runs):
    seconds = sum(run["runtime"] or 0 for _, run in runs)
    passed = sum(bool(run["succeeded"]) for _, run in runs)
    words = f"{passed} of {len(runs)} notebooks ran to the end, in {seconds:.0f} seconds together."
    return nodes.paragraph("", "", nodes.strong("", words))


def _row(app, docname, page, run):
    """`method` is how myst-nb ran it: `force` in this build, `cache` for an earlier run."""
    finished = datetime.fromtimestamp(run["mtime"], UTC).strftime("%Y-%m-%d %H:%M")
    result = "ran to the end" if run["succeeded"] else f"stopped: {run['error']}"
    result += "" if run["method"] == "force" else f" ({run['method']})"
    seconds = "-" if run["runtime"] is None else f"{run['runtime']:.1f}"
    cells = [tables.text(words) for words in (result, seconds, finished)]
    return [tables.page(app, docname, page), *cells]


class Versions(SphinxDirective):
    """What is installed where the book is built, by the groups of requirements.txt."""

    def run(self):
        root = Path(self.env.srcdir)
        pins, vendor = root / "requirements.txt", root / "book/_static/vendor/README.md"
        for path in (pins, vendor):
            self.env.note_dependency(str(path))
        rows = [["Python", f"{platform.python_version()}, {platform.system()}", "the machine"]]
        rows += [["gdn_ref", installed("gdn-ref"), "this repository"]]
        needed = []
        for group, name, pinned in pinned_versions(pins.read_text(encoding="utf-8")):
            found = installed(name)
            shown = found if found.split("+")[0] == pinned else f"{found} (pinned: {pinned})"
            if group == "what the above need":
                needed.append(f"{escape(name)} {escape(shown)}")
            else:
                rows.append([name, shown, group])
        for library in VENDORED.finditer(vendor.read_text(encoding="utf-8")):
            rows.append([library["name"], library["version"], "in the pages themselves"])
        cells = [[tables.text(cell) for cell in row] for row in rows]
        fold = (
            f"<details><summary>{len(needed)} packages that these need</summary>"
            f"<p>{', '.join(needed)}</p></details>"
        )
        head = ["what", "version", "part of"]
        return [tables.table(head, cells, "gdn-narrow"), tables.html(fold)]


def pinned_versions(text):
    """`(group, name, version)` for each pin of a requirements file; a comment names a group."""
    group = ""
    for line in text.splitlines():
        if heading := GROUP.fullmatch(line):
            group = heading[1]
        elif pin := PIN.match(line):
            yield group, pin[1], pin[2]


def installed(name):
    """The version that this build imports, or that it has none."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
