"""Pages show what a cell is for, and begin with their question and a picture (gdn_book.quiet)."""

import ast
import re
import sys
from pathlib import Path

import nbformat
import pytest
from built_book import SITE, Visit, in_browser, needs_site, pages
from docutils import nodes
from docutils.utils import new_document
from tiny_book import CHAPTER, Book

ROOT = Path(__file__).parents[2]
EXTENSION = str(ROOT / "book" / "_ext")
sys.path.insert(0, EXTENSION)
from gdn_book import quiet  # noqa: E402

sys.path.remove(EXTENSION)

NOTEBOOKS = sorted(ROOT.glob("chapters/*.ipynb"))
CHAPTERS = [path for path in pages() if re.match(r"chapters/\d\d_", path)] or ["no chapter"]
LAPTOP = {"width": 1440, "height": 900}
FIGURES = {"ch05", "draw_widget", "piece"}
QUESTION = re.compile(r"## (?P<heading>.+)\n\n> \*[^>\n]*\?\*(\n\n|$)")
each_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
each_chapter = pytest.mark.parametrize("path", CHAPTERS)


@pytest.mark.parametrize(
    "source, kind",
    [
        ("import numpy\nfrom gdn_ref import wy\n\n%config A.b = 1", "imports"),
        ('import os\n\nos.environ["A"] = "1"\n\nimport torch', "imports"),
        ("import os\nprint(os)", None),
        ("os = 1\nimport os", None),
        ("ch05.overwriting()", "drawing"),
        ("ch05.bowl(ch05.rows(3), beta=1)\nch05.overwriting()", "drawing"),
        ("# with sliders\ndraw_widget()", "drawing"),
        ("S = 1\nch05.overwriting(S)", None),
        ("found = ch05.rows(3)", None),
        ("other.overwriting()", None),
        ('print(piece("a.py", "b"))', "listing"),
        ("print(inspect.getsource(f))\nprint(inspect.getsource(g).strip())", "listing"),
        ("print(inspect.getsource(f))\nf(1)", None),
        ("print(1)", None),
        ('prove("eq-a")', "check"),
        ('proved("eq-a", "eq-b")\nproved("eq-c")', "check"),
        ('proved("eq-a")\nprint(1)', None),
        ('report = prove("eq-a")\nprint(report.results[0]["source"])\nreport', "in full"),
        ('report = prove("eq-a")\nreport', None),
        ("not python at all", None),
        ("# nothing", None),
    ],
)
def test_a_cells_source_says_what_it_is_for(source, kind):
    assert quiet.kind(source, FIGURES) == kind


def test_names_of_drawings_are_those_imported_from_the_figures():
    sources = [
        "from gdn_ref.figures import ch01, ch02 as two\nimport numpy",
        "x = 1",
        "from gdn_ref.figures.ch15_source import piece\nfrom gdn_ref.proofs import prove",
    ]
    assert quiet.drawn_by(sources) == {"ch01", "two", "piece"}


def test_a_moving_figure_has_a_number_and_a_caption(tmp_path):
    book = Book(tmp_path)
    for script in ("figure", "bowl"):
        book.write(f"static/figures/{script}.js", "")
    figure = '<div class="gdn-figure" data-figure="bowl"><p>It moves.</p></div>'
    words = "*Figure: a bowl, as $a$ has it.*\n\nSee {numref}`fig-11-bowl`. *Figure it out.*"
    book.write("11_chunks.md", f"{CHAPTER}\n{figure}\n\n{words}\n")
    assert book.build() == (0, "")
    page = book.page("11_chunks")
    caption = re.search(r"<figcaption>.*?</figcaption>", page, re.DOTALL)[0]
    assert "Fig. 11.1" in caption and "A bowl, as " in caption
    assert 'href="#fig-11-bowl"' in page and "<em>Figure it out.</em>" in page


def printed(*parts):
    """What a cell shows of `(text, classes)`, once `OnePrint` has seen it."""
    document = new_document("")
    for text, classes in parts:
        document += nodes.literal_block(text, text, classes=classes.split())
    quiet.OnePrint(document).apply()
    assert all(block.rawsource == block.astext() for block in document)
    return [block.astext() for block in document]


def test_what_a_cell_prints_in_parts_is_one_but_for_what_stands_between():
    out, errors, table = "output stream", "output stream stderr", "output text_plain"
    assert printed(("a", out), ("b\n\n", out), ("c\n\n", out)) == ["ab\n\nc\n"]
    assert printed(("a\n", out), ("t", table), ("b\n", out)) == ["a\n", "t", "b\n"]
    assert printed(("a\n", out), ("b\n", errors), ("t", table), ("t", table)) == [
        *("a\n", "b\n", "t", "t")
    ]


@needs_site
@each_chapter
def test_no_two_parts_of_what_a_cell_prints_follow_each_other_and_none_ends_empty(path):
    text = (SITE / path).read_text(encoding="utf-8")
    part = r'<div class="output stream [^>]*><div class="highlight"><pre>((?:(?!</pre>).)*)</pre>'
    shown = [found[1] for found in re.finditer(part, text, re.DOTALL)]
    assert shown and not any(content.endswith("\n\n") for content in shown)
    assert not re.search(rf'{part}\s*</div>\s*</div>\s*<div class="output stream ', text, re.DOTALL)


def cells(path):
    """The code cells of a chapter that are no exercise: `(source, kind)`."""
    found = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]
    figures = quiet.drawn_by(c.source for c in found)
    own = (c for c in found if not {"exercise", "solution"} & set(c.metadata.get("tags", [])))
    return [(c.source, quiet.kind(c.source, figures)) for c in own]


def opening(path):
    """What stands between the imports and the next cell with code."""
    title, imports, first = nbformat.read(path, as_version=4).cells[:3]
    assert title.source.startswith("# ") and imports.cell_type == "code"
    return first.source


@each_notebook
def test_a_chapter_opens_with_a_question_in_the_readers_words(path):
    """Under a heading of its own, as a quotation; and no note stands alone beside it."""
    assert QUESTION.match(opening(path))
    assert "{margin}" not in opening(path)


def test_the_first_headings_of_chapters_differ():
    headings = [QUESTION.match(opening(path))["heading"] for path in NOTEBOOKS]
    assert len(set(headings)) == len(NOTEBOOKS) and "A question" not in headings


@each_notebook
def test_a_chapter_shows_one_check_in_full(path):
    assert [kind for _, kind in cells(path)].count("in full") == 1


@each_notebook
def test_checks_and_imports_have_cells_of_their_own(path):
    """Else the fold would hide what is to be read, or the page show what is not."""
    for source, kind in cells(path):
        calls = {ast.unparse(n.func) for n in ast.walk(ast.parse(quiet.MAGIC.sub("", source)))
                 if isinstance(n, ast.Call)}  # fmt: skip
        assert kind in ("check", "in full") or not calls & quiet.PROVES, source
        assert (
            source.startswith("from gdn_ref.family")
            or kind == "imports"
            or not re.match(r"import |from ", source)
        ), source


@each_notebook
def test_no_sentence_stands_for_a_cell_that_the_page_leaves_out(path):
    assert "draws the same figure" not in path.read_text(encoding="utf-8")


@needs_site
@each_chapter
def test_every_figure_has_a_number_and_a_caption(path):
    text = (SITE / path).read_text(encoding="utf-8")
    article = text[text.index("<article") : text.index("</article>")]
    figures = re.findall(r"<figure.*?</figure>", article, re.DOTALL)
    assert all('class="caption-number"' in figure for figure in figures)
    assert len(re.findall('class="gdn-figure"', article)) == len(
        [figure for figure in figures if "gdn-figure" in figure]
    )


CELLS = """() => {
    const article = document.querySelector("article.bd-article");
    const shown = [...article.querySelectorAll("div.cell")].filter((cell) =>
        cell.checkVisibility() && !cell.closest(".toggle-hidden")
        && !cell.parentElement.closest("div.cell"));
    const height = (node) => node.getBoundingClientRect().height;
    return shown.map(height).reduce((a, b) => a + b, 0) / height(article);
}"""
FIRST = """() => {
    const top = (node) => node.getBoundingClientRect().top + scrollY;
    const article = document.querySelector("article.bd-article");
    const question = article.querySelector("blockquote");
    return [question, article.querySelector("figure")].map(top);
}"""


@each_chapter
class TestOnALaptop:
    pytestmark = in_browser

    @pytest.fixture
    def page(self, browser, server, path):
        with Visit(browser, server, viewport=LAPTOP) as visit:
            yield visit.open(path)

    def test_a_chapter_opens_with_its_question_and_a_picture(self, page):
        question, figure = page.evaluate(FIRST)
        assert question < figure < LAPTOP["height"] - 60

    def test_code_and_what_it_prints_take_less_than_30_per_cent(self, page):
        assert page.evaluate(CELLS) < 0.30

    def test_folds_open_and_show_the_code(self, page):
        for fold in page.locator("details.gdn-fold").all():
            assert fold.locator("summary").inner_text().strip()
            fold.evaluate("fold => { fold.open = true; }")
            assert fold.locator("div.cell_input").is_visible()
