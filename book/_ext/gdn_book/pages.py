"""The directives of the verification page, filled from the results of the checks."""

from docutils import nodes
from docutils.statemachine import StringList
from sphinx.util.docutils import SphinxDirective

from . import printed, results, slips, tables
from .equations import equation_table


def connect(app):
    app.add_directive("gdn-totals", Totals)
    app.add_directive("gdn-equations", Equations)
    app.add_directive("gdn-methods", Methods)


class FromResults(SphinxDirective):
    """A directive without arguments that shows a part of the results."""

    def run(self):
        self.found = results.of(self.env.app)
        self.env.note_dependency(str(self.found.path))
        return self.show()

    def show(self):
        raise NotImplementedError

    def parse(self, text):
        """The nodes of some Markdown."""
        holder = nodes.container()
        lines = StringList(text.splitlines(), self.get_source_info()[0])
        self.state.nested_parse(lines, self.content_offset, holder)
        return holder.children


class Totals(FromResults):
    """How many equations, checks and mutants; when, and with what."""

    def show(self):
        rejected, mutants = results.rejected(self.found.checks)
        confirmed = sum(entry["passed"] for entry in self.found.errata)
        timed = [*self.found.checks, *self.found.printed.values(), *self.found.sentences]
        seconds = sum(entry.get("seconds", 0) for entry in timed)
        versions = ", ".join(f"{k} {v}" for k, v in self.found.data.get("versions", {}).items())
        words = (
            f"{printed.totals(self.found.printed)} {slips.totals(self.found.printed)} "
            f"{printed.sentence_totals(self.found.sentences)} "
            f"Beside that, {len(self.found.by_label)} equations have {len(self.found.checks)} "
            f"checks of their own, which reject {rejected} of {mutants} mistakes written by hand, "
            f"each once an equation; {confirmed} of {len(self.found.errata)} errata are confirmed. "
            f"All of it takes {seconds:.0f} seconds. "
            f"Run on {self.found.data.get('date', 'no date')} with {versions}."
        )
        return [nodes.container("", *self.parse(words), classes=["gdn-totals"])]


class Methods(FromResults):
    """What each method does, how many checks use it, and how many equations rest on it."""

    def show(self):
        used = [check["method"] for check in self.found.checks]
        best = [checks[0]["method"] for checks in self.found.by_label.values()]
        rows = [
            [results.SHORT.get(method, method), meaning, used.count(method), best.count(method)]
            for method, meaning in self.found.methods.items()
        ]
        head = ["method", "what it is", "checks by it", "equations that rest on it"]
        return [tables.table(head, [[tables.text(cell) for cell in row] for row in rows])]


class Equations(FromResults):
    """One row for each labelled equation, in the order of the book."""

    def show(self):
        self.env.gdn_verification_page = self.env.docname
        return [equation_table()]
