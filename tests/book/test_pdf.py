"""The book on paper: a small PDF made here, and the whole one where `make pdf` has made it."""

import io
import re
import shutil
import sys
from pathlib import Path

import pytest
from tiny_book import CHAPTER, CONF, INDEX, Book

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium")
WHOLE = ROOT / "_build" / "gdn-book.pdf"
pypdf = pytest.importorskip("pypdf", reason="pypdf is not installed: run `make env`")

THEME = f"""
html_theme = "sphinx_book_theme"
html_static_path = [{str(ROOT / "book" / "_static")!r}]
html_css_files = ["gdn.css", ("print.css", {{"media": "print"}})]
html_js_files = [("print.js", {{"defer": "defer"}})]
extensions += ["sphinx_copybutton", "sphinx_togglebutton"]
"""
END_OF_LINE = "THE-END-OF-A-LONG-LINE"
WIDE = " + ".join(rf"\mathbf{{S}}_{{{i}}}" for i in range(60))
CHAPTER = f"""{CHAPTER}
## Wide things and a figure

```python
long_line = "{"x" * 150} {END_OF_LINE}"
```

$$ {WIDE} $$

<div class="gdn-figure" data-figure="householder-2d"></div>

```{{admonition}} Solution
:class: solution dropdown
:name: first-solution
The answer is two.
```

See {{ref}}`the notes <second>`.
"""
NOTES = """# Notes on $\\alpha$

## A section

Some words.

(second)=
## A second section

See the [chapter](11_chunks.md) and [another site](https://example.org/).
"""
TOC = {"root": "index", "parts": [{"caption": "The only part", "chapters": []}]}
TOC["parts"][0]["chapters"] = [{"file": name} for name in ("11_chunks", "notes", "verification")]


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """`(reader of the PDF, the HTML that was printed, the site)` of a book of four pages."""
    if CHROMIUM is None:
        pytest.skip("no chromium on the PATH")
    folder = tmp_path_factory.mktemp("book")
    book = Book(folder)
    book.write("conf.py", CONF.replace('html_theme = "basic"\n', "") + THEME)
    book.write("index.md", INDEX.replace("api\n", "api\nnotes\n"))
    book.write("11_chunks.md", CHAPTER)
    book.write("notes.md", NOTES)
    code, warnings = book.build()
    assert code == 0, warnings

    sys.path.insert(0, str(ROOT / "book" / "_ext"))
    try:
        from gdn_book import pdf
    finally:
        sys.path.pop(0)
    html = pdf.OnePage(folder / "html", TOC).html(
        "A Book, checked", "Some People", "1.2.3", "2026-01-02"
    )
    out = folder / "book.pdf"
    pages = pdf.print_book(html, out)
    reader = pypdf.PdfReader(out)
    assert pages == len(reader.pages)
    return reader, html, folder / "html"


@pytest.fixture(scope="module")
def browser(printed, browser):
    """The browser of the tests, after the one that prints: Playwright drives one at a time."""
    return browser


def titles(outline):
    """The outline as nested lists of titles."""
    return [titles(entry) if isinstance(entry, list) else entry.title for entry in outline]


def words(reader, *pages):
    chosen = [reader.pages[number] for number in pages] if pages else reader.pages
    return " ".join(" ".join(page.extract_text() for page in chosen).split())


def places(reader):
    """Name -> page number, counted from 1, of everything that a link leads to."""
    return {
        name.removeprefix("/"): reader.get_destination_page_number(place) + 1
        for name, place in reader.named_destinations.items()
    }


def links(reader):
    """Each link's target: the name of a place in the book, or an address."""
    for page in reader.pages:
        for annotation in page.get("/Annots", []):
            target = annotation.get_object()
            yield str(target.get("/Dest") or target["/A"].get("/URI") or target["/A"]["/D"])


def objects(reader, key):
    """Every object of the file that has the key."""
    found = map(reader.get_object, range(1, reader.trailer["/Size"]))
    return [item for item in found if isinstance(item, dict) and key in item]


def pictures(reader):
    """The sizes in pixels of all bitmaps, also those in patterns and masks."""
    images = [item for item in objects(reader, "/Subtype") if item["/Subtype"] == "/Image"]
    return [(image["/Width"], image["/Height"]) for image in images]


def alternatives(reader):
    """What a screen reader says of each figure and formula."""
    return [item["/Alt"] for item in objects(reader, "/Alt")]


@pytest.mark.browser
class TestSmallBook:
    def test_the_cover_has_title_version_and_date(self, printed):
        cover = words(printed[0], 0)
        for part in (
            "A Book",
            "checked",
            "Some People",
            "Version 1.2.3",
            "2026-01-02",
            "2 of 2 labelled equations",
        ):
            assert part in cover

    def test_the_outline_nests_parts_chapters_and_sections(self, printed):
        outline = titles(printed[0].outline)
        part = outline[outline.index("The only part") + 1]
        assert part[0] == "11. Chunks" and part[1] == ["11.1. Wide things and a figure"]
        assert part[2] == "Notes on α" and part[3] == ["A section", "A second section"]
        assert outline[-2] == "Solutions to the exercises" and outline[-1] == ["11. Chunks"]

    def test_the_contents_name_the_page_of_each_chapter(self, printed):
        reader = printed[0]
        contents, where = words(reader, 1), places(reader)
        for name, title in {"11_chunks": "11. Chunks", "notes": "Notes on α"}.items():
            assert re.search(rf"{re.escape(title)} ?{where[name]}\b", contents), contents
            assert title in words(reader, where[name] - 1)

    def test_every_link_leads_somewhere(self, printed):
        found, where = list(links(printed[0])), places(printed[0])
        outside = {target for target in found if ":" in target}
        assert outside == {"https://example.org/"}
        inside = {target.removeprefix("/") for target in found} - outside
        assert inside <= where.keys() and "notes--second" in inside
        assert "11_chunks--equation-eq-sum" in inside  # a reference to an equation

    def test_equations_keep_their_numbers_and_badges(self, printed):
        text = words(printed[0])
        assert "(11.1)" in text and "(11.2)" in text
        assert "evaluated as printed against a count: whole numbers" in text

    def test_solutions_are_at_the_end_and_the_exercise_names_the_page(self, printed):
        reader = printed[0]
        page = places(reader)["11_chunks--first-solution"]
        assert page == len(reader.pages) and "The answer is two." in words(reader, page - 1)
        where = places(reader)
        chapter = words(reader, *range(where["11_chunks"] - 1, where["notes"] - 1))
        assert f"Solution: page {page}" in chapter and "The answer" not in chapter

    def test_the_table_of_equations_names_the_mutants(self, printed):
        page = places(printed[0])["verification"]
        text = words(printed[0], *range(page - 1, len(printed[0].pages)))
        assert "Rejects: off by <one>" in text and "2 of 2" in text

    def test_formulas_and_figures_are_vectors(self, printed):
        assert pictures(printed[0]) == []
        assert "1 + 1 = 2" in alternatives(printed[0])  # and can be read aloud

    def test_no_controls_are_printed(self, printed):
        text = words(printed[0])
        for word in ("Show all", "every chapter", "Search", "Previous", "Copy"):
            assert word not in text

    def test_nothing_is_cut_off(self, printed, browser, tmp_path):
        reader, html, _ = printed
        assert END_OF_LINE in words(reader)
        (tmp_path / "book.html").write_text(html)
        page = browser.new_page(viewport=COLUMN)
        page.emulate_media(media="print")
        page.goto((tmp_path / "book.html").as_uri())
        assert page.evaluate(TOO_WIDE) == []


@pytest.mark.browser
class TestOnePage:
    """A page of the site, printed from the browser in dark mode."""

    @pytest.fixture
    def page(self, printed, browser):
        page = browser.new_page(color_scheme="dark")
        page.goto((printed[2] / "11_chunks.html").as_uri())
        page.wait_for_function("document.documentElement.dataset.theme === 'dark'")
        return page

    def test_it_holds_the_chapter_and_nothing_else(self, page):
        reader = pypdf.PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True)))
        text = words(reader)
        for part in ("11. Chunks", "(11.2)", END_OF_LINE, "The answer is two."):
            assert part in text
        for part in ("Search", "Verification", "Contents", "Click to show"):
            assert part not in text
        assert pictures(reader) == []

    def test_it_is_light_while_it_prints(self, page):
        theme = "document.documentElement.dataset.theme"
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate(theme) == "light"
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.evaluate(theme) == "dark"

    def test_it_fits_the_paper(self, page):
        page.set_viewport_size(COLUMN)
        page.emulate_media(media="print", color_scheme="dark")
        assert page.evaluate(TOO_WIDE) == []


COLUMN = {"width": 635, "height": 900}  # the text on A4, 168 mm wide
TOO_WIDE = """() => [...document.querySelectorAll('body *')].filter(e => {
        const box = e.getBoundingClientRect();
        return box.width && box.right > innerWidth + 1 && !e.closest('math, svg svg, use');
    }).slice(0, 5).map(e => e.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def reader():
    return pypdf.PdfReader(WHOLE)


@pytest.mark.skipif(not WHOLE.is_file(), reason="no printed book: run `make pdf` first")
class TestWholeBook:
    def test_the_outline_has_every_chapter_of_the_contents(self, reader):
        chapters = sorted((ROOT / "_build" / "html" / "chapters").glob("[0-9]*.html"))
        assert chapters
        outline = str(titles(reader.outline))
        for chapter in chapters:
            assert f"'{int(chapter.name[:2])}. " in outline, chapter.name

    def test_every_link_inside_leads_somewhere(self, reader):
        where = places(reader).keys()
        lost = {x for x in links(reader) if ":" not in x and x.removeprefix("/") not in where}
        assert lost == set()

    def test_pictures_are_the_cells_of_heat_maps(self, reader):
        """Figures are vectors; only what Matplotlib draws as an image is one, and it is small."""
        assert [size for size in pictures(reader) if max(size) > 700] == []

    def test_formulas_say_their_tex(self, reader):
        assert sum("\\" in text for text in alternatives(reader)) > 1000
