"""What the first page opens with: the counted facts in one line, and four memories that answer."""

from html import escape
from pathlib import Path

from docutils import nodes

from .pages import FromResults

DRAWING = "_static/four-answers.svg"


def connect(app):
    app.add_directive("gdn-counted", Counted)
    app.add_directive("gdn-answers", Answers)
    app.connect("build-finished", draw_answers)


class Counted(FromResults):
    """How many equations are evaluated as printed, altered forms rejected, and checks besides."""

    def show(self):
        pages = [page for page in self.found.printed.values() if page["kind"] == "evaluated"]
        altered = sum(p["mutants"]["by_number"] + p["mutants"]["refused"] for p in pages)
        facts = {
            "numbered equations evaluated as they are printed": len(pages),
            "altered forms of them rejected": altered,
            "further checks": len(self.found.checks),
        }
        items = "".join(f"<li><strong>{n:,}</strong> {what}</li>" for what, n in facts.items())
        return [nodes.raw("", f'<ul class="gdn-counted">{items}</ul>', format="html")]


class Answers(FromResults):
    """The drawing of `ch01_answers.four_answers`; the directive's text is what it shows."""

    has_content = True

    def show(self):
        up = "../" * self.env.docname.count("/")
        alt = escape(" ".join(self.content), quote=True)
        image = f'<img src="{up}{DRAWING}" alt="{alt}">'
        return [nodes.raw("", f'<div class="gdn-drawn">{image}</div>', format="html")]


def draw_answers(app, exception):
    if exception or app.builder.format != "html":
        return
    from gdn_ref.figures.ch01_answers import four_answers

    path = Path(app.outdir) / DRAWING
    path.parent.mkdir(parents=True, exist_ok=True)
    four_answers().savefig(path, format="svg", metadata={"Date": None})
