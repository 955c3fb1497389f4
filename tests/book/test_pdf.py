"""The book on paper: a small PDF made here, and the whole one where `make pdf` has made it."""

import collections
import io
import json
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

<div class="gdn-figure" data-figure="two-w-forms"><p>A picture.</p></div>

*Figure: Drag key $i$ over row $r$ of $\\mathbf{{W}}_{{\\!\\leftarrow}}$, or use the arrow keys.*

<img src="_static/readme.svg" alt="narrow" width="360" height="107">
<img src="_static/readme.svg" alt="wide" width="880" height="262">

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
    """`(reader of the PDF, the HTML that was printed, the site, its one page)` of a small book."""
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
    book = pdf.OnePage(folder / "html", TOC)
    html = book.html("A Book, checked", "Some People", "1.2.3", "2026-01-02")
    out = folder / "book.pdf"
    pages = pdf.print_book(html, out)
    reader = pypdf.PdfReader(out)
    assert pages == len(reader.pages)
    return reader, html, folder / "html", book


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


def faces(reader):
    """The faces of the file, those of a composite face included."""
    return [item for item in objects(reader, "/Subtype") if item.get("/Type") == "/Font"]


def lost_faces(reader):
    """Faces whose outlines are not in the file, or whose letters nobody can search or copy."""
    lost = set()
    for face in faces(reader):
        drawn_here = face["/Subtype"] == "/Type3" or "/DescendantFonts" in face
        if not drawn_here and not any("FontFile" in key for key in face["/FontDescriptor"]):
            lost.add(f"{face['/BaseFont']}: not embedded")
        if face["/Subtype"] != "/CIDFontType2" and "/ToUnicode" not in face:
            lost.add(f"{face.get('/BaseFont', 'Type 3')}: no letters")
    return lost


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

    def test_a_drawing_is_as_large_as_it_was_drawn_or_as_wide_as_the_page(self, printed):
        widths = dict(re.findall(r'alt="(narrow|wide)"[^>]*width: ([\d.]+)cm', printed[1]))
        assert float(widths["narrow"]) <= 360 / 96 * 2.54 and widths["wide"] == "16.60"
        assert float(widths["narrow"]) >= 0.85 * 360 / 96 * 2.54

    def test_a_caption_says_what_is_drawn_and_not_what_to_do(self, printed):
        text = words(printed[0])
        assert "A square’s area is the weight of key" in text and "Drag key" not in text

    def test_a_caption_with_a_formula_that_its_chapter_lacks_is_refused(self, printed, tmp_path):
        (tmp_path / "notes.html").write_text(
            '<head></head><article class="bd-article"><h1>Notes</h1>'
            '<figure id="fig-11-two-w-forms"><div class="gdn-figure"></div><p><em>Drag.</em></p>'
            "</figure></article>"
        )
        with pytest.raises(ValueError, match="fig-11-two-w-forms: expected formulas"):
            type(printed[3])(tmp_path, {"root": "notes"})

    def test_every_moving_figure_has_a_caption_of_its_chapter_s_formulas(self, printed):
        drawn = {"live-state"}
        for path in sorted((ROOT / "chapters").glob("*.ipynb")):
            cells = "".join(
                "".join(cell["source"]) for cell in json.loads(path.read_text())["cells"]
            )
            for name in re.findall(r'data-figure="([\w-]+)', cells):
                drawn.add(name := f"fig-{path.name[:2]}-{name}")
                for tex in printed[3].captions[name].split("$")[1::2]:
                    assert f"${tex}$".replace(" ", "") in cells.replace(" ", ""), (name, tex)
        assert drawn == printed[3].captions.keys()

    def test_faces_are_embedded_and_their_letters_known(self, printed):
        assert faces(printed[0]) and lost_faces(printed[0]) == set()

    def test_no_controls_are_printed(self, printed):
        text = words(printed[0])
        for word in ("Show all", "every chapter", "Search", "Previous", "Copy"):
            assert word not in text

    def test_nothing_is_cut_off(self, printed, browser, tmp_path):
        reader, html, *_ = printed
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


MARGIN = 16 / 25.4 * 72  # points above and below the text
COLUMN = {"width": 627, "height": 900}  # between the margins of A4, 166 mm
INSTRUCTION = re.compile(
    r"\b(drag|press|click|slide|hover|pick an?|arrow keys|move over|move the [\w ]*slider)\b", re.I
)
TOO_WIDE = """() => [...document.querySelectorAll('body *')].filter(e => {
        const box = e.getBoundingClientRect();
        return box.width && box.right > innerWidth + 1 && !e.closest('math, svg svg, use');
    }).slice(0, 5).map(e => e.outerHTML.slice(0, 120))"""


@pytest.fixture(scope="module")
def reader():
    return pypdf.PdfReader(WHOLE)


class Read:
    """What is on the pages of a PDF: their words, how far down these reach, how large they are."""

    def __init__(self, reader):
        self.sizes = collections.Counter()
        self.words, self.filled = zip(*map(self._page, reader.pages), strict=True)

    def _page(self, page):
        lowest = top = float(page.mediabox.height) - MARGIN

        def see(text, position, matrix, face, size):
            nonlocal lowest
            height = position[1] * matrix[4] + position[3] * matrix[5] + position[5]
            if text.strip() and height > MARGIN:  # not the number of the page
                lowest = min(lowest, height)
                self.sizes[round(abs(size * matrix[3] * position[3]), 1)] += len(text.strip())

        text = " ".join(page.extract_text(visitor_text=see).split())
        return text, (top - lowest) / (top - MARGIN)


@pytest.fixture(scope="module")
def read(reader):
    return Read(reader)


@pytest.mark.skipif(not WHOLE.is_file(), reason="no printed book: run `make pdf` first")
class TestWholeBook:
    def test_the_outline_has_every_chapter_of_the_contents(self, reader):
        chapters = sorted((ROOT / "_build" / "html" / "chapters").glob("[0-9]*.html"))
        assert chapters
        outline = str(titles(reader.outline))
        for chapter in chapters:
            assert f"'{int(chapter.name[:2])}. " in outline, chapter.name

    def test_it_has_fewer_than_400_pages_and_less_than_25_megabytes(self, reader):
        assert len(reader.pages) < 400
        assert WHOLE.stat().st_size < 25e6

    def test_faces_are_embedded_and_their_letters_known(self, reader):
        assert faces(reader) and lost_faces(reader) == set()

    def test_no_caption_tells_to_move_something(self, read):
        captions = re.findall(r"Fig\. \d+\.\d+ (.{20,600}?\.) ", " ".join(read.words))
        assert len(captions) > 150
        assert [caption for caption in captions if INSTRUCTION.search(caption)] == []

    def test_the_text_has_9_5_points_and_only_indices_have_less_than_7(self, read):
        """Chromium makes a whole book smaller if one thing in it is wider than the page."""
        assert read.sizes.most_common(1)[0][0] == 9.5
        small = sum(letters for size, letters in read.sizes.items() if size < 7)
        assert small < 0.005 * read.sizes.total()

    def test_only_the_end_of_a_chapter_leaves_half_a_page_empty(self, reader, read):
        last = {number - 1 for name, number in places(reader).items() if "--" not in name}
        half = [page for page, share in enumerate(read.filled, 1) if share < 0.5]
        inside = [page for page in half if page not in {1, len(read.words), *last}]
        assert len(inside) <= 0.02 * len(read.words), inside

    def test_every_link_inside_leads_somewhere(self, reader):
        where = places(reader).keys()
        lost = {x for x in links(reader) if ":" not in x and x.removeprefix("/") not in where}
        assert lost == set()

    def test_pictures_are_the_cells_of_heat_maps(self, reader):
        """Figures are vectors; only what Matplotlib draws as an image is one, and it is small."""
        assert [size for size in pictures(reader) if max(size) > 700] == []

    def test_formulas_say_their_tex(self, reader):
        assert sum("\\" in text for text in alternatives(reader)) > 1000
