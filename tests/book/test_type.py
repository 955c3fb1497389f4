"""The faces and the measure: what pages and drawings are set in, and how long a line is."""

import ast
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from built_book import SITE, Visit, in_browser, needs_site, pages

ROOT = Path(__file__).parents[2]
FACES = ROOT / "gdn_ref" / "figures" / "type"
FIGURES = sorted((ROOT / "gdn_ref" / "figures").glob("*.py"))
CHAPTERS = [path for path in pages() if re.match(r"chapters/\d\d_", path)] or ["no chapter"]
BOXES = """() => [...document.querySelectorAll('section > :is(.exercise, .solution.toggle-hidden)')]
    .filter(e => e.matches('.solution') || !e.querySelector('.math, pre, table, img'))
    .map(e => e.getBoundingClientRect().right)"""
LINE = """() => [...document.querySelectorAll('article section > p')]
    .filter((p) => !p.querySelector('.math, code') && p.clientHeight > 60)
    .map((p) => [p.textContent.length,
                 p.clientHeight / parseFloat(getComputedStyle(p).lineHeight)])"""
NARROWER = """() => {
    for (const folded of document.querySelectorAll('.toggle-hidden'))
        folded.classList.remove('toggle-hidden');
    return [...document.querySelectorAll('article pre')].filter((pre) =>
        pre.checkVisibility() && pre.scrollWidth > pre.clientWidth + 1
        && pre.textContent.split('\\n').every((line) => line.length <= 100))
        .map((pre) => pre.textContent);
}"""


def letters(face):
    from fontTools.ttLib import TTFont

    return set(TTFont(FACES / face).getBestCmap())


class Text(HTMLParser):
    """What a page shows as text: no script, and no formula, which is drawn."""

    SILENT = {"script", "style", "math", "title"}

    def __init__(self):
        super().__init__()
        self.silent, self.found = 0, set()

    def handle_starttag(self, tag, attributes):
        self.silent += tag in self.SILENT

    def handle_endtag(self, tag):
        self.silent -= tag in self.SILENT

    def handle_data(self, data):
        if not self.silent:
            self.found.update(data)


@needs_site
@pytest.mark.parametrize("face", sorted(path.name for path in FACES.glob("*.ttf")))
def test_each_face_has_every_letter_of_the_pages(face):
    known = letters(face)
    for path in pages():
        text = Text()
        text.feed((SITE / path).read_text(encoding="utf-8"))
        assert {c for c in text.found if c > " " and ord(c) not in known} == set(), path


@pytest.mark.parametrize(
    "path", sorted((ROOT / "book/_static").rglob("[!m]*.js")), ids=lambda p: p.stem
)
def test_a_face_has_every_letter_of_the_scripts(path):
    text = re.sub(r"^\s*//.*$", "", path.read_text(encoding="utf-8"), flags=re.M)
    signs = {c for c in text if ord(c) > 126} | {
        chr(int(code, 16)) for code in re.findall(r"\\u([0-9a-f]{4})", text)
    }
    signs -= {"\u200b"}  # it has no width, and no face has to draw it
    assert {c for c in signs if ord(c) not in letters("text-regular.ttf")} == set()


def test_both_kinds_of_a_face_have_the_same_letters():
    from fontTools.ttLib import TTFont

    for path in FACES.glob("*.ttf"):
        other = ROOT / "book/_static/vendor/type" / f"{path.stem}.woff2"
        assert other.is_file()
        assert TTFont(path)["name"].getDebugName(1) in ("GDN Text", "GDN Mono")


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_whatever_draws_is_styled(path):
    """Else what is written after `figure()` would be in the face that matplotlib prefers."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.FunctionDef) or path.stem == "style":
            continue
        calls = {ast.unparse(n.func) for n in ast.walk(node) if isinstance(n, ast.Call)}
        assert "figure" not in calls or "styled" in map(ast.unparse, node.decorator_list), node.name


@needs_site
def test_drawings_are_set_in_the_face_of_the_pages():
    """Letters are outlines, named after the face: the book's, and TeX's for formulas."""
    for path in (SITE / "_images").glob("*.svg"):
        named = re.findall(r'<path id="([A-Za-z]+)[\w-]*-[0-9a-f]+"', path.read_text("utf-8"))
        assert {name for name in named if not name.startswith(("GDN", "Cm"))} == set(), path.name


@pytest.fixture(scope="module", params=CHAPTERS)
def visit(request, browser, server):
    with Visit(browser, server, viewport={"width": 1440, "height": 900}) as visit:
        visit.open(request.param)
        visit.page.evaluate("document.fonts.ready.then(() => 0)")
        yield visit


class TestAPage:
    pytestmark = in_browser

    def test_its_faces_come_from_the_site(self, visit):
        fonts = [url for url in visit.asked if url.partition("?")[0].endswith((".woff2", ".ttf"))]
        assert {url.rpartition("/")[2] for url in fonts} >= {
            "text-regular.woff2",
            "mono-regular.woff2",
        }
        assert all(url.startswith(visit.root) for url in fonts) and visit.trouble == []
        family = "getComputedStyle(document.querySelector('article p')).fontFamily"
        assert visit.page.evaluate(family).startswith('"GDN Text"')
        loaded = "[...document.fonts].filter((f) => f.status === 'loaded').map((f) => f.family)"
        assert {"GDN Text", "GDN Mono"} <= {n.strip('"') for n in visit.page.evaluate(loaded)}

    def test_folded_solutions_line_up_with_their_exercises(self, visit):
        """A box that holds nothing but sentences is as wide as any other one of these."""
        ends = visit.page.evaluate(BOXES)
        assert len({round(x) for x in ends}) <= 1, ends

    def test_a_line_of_prose_has_60_to_80_letters(self, visit):
        """On average over paragraphs of three lines and more, the last line counting half."""
        found = visit.page.evaluate(LINE)
        length = sum(n for n, _ in found) / sum(lines - 0.5 for _, lines in found)
        assert found and 60 < length < 80

    def test_code_of_100_letters_does_not_scroll(self, visit):
        assert visit.page.evaluate(NARROWER) == []


GRADED = """() => {
    const exercise = document.querySelector("div.exercise");
    exercise.classList.add("medium", "paper");
    const title = exercise.querySelector(".admonition-title");
    return getComputedStyle(title, "::after").content;
}"""


@pytest.mark.parametrize("path", CHAPTERS[:1])
class TestAGrade:
    pytestmark = in_browser

    def test_is_seen_as_dots_and_heard_as_words(self, browser, server, path):
        with Visit(browser, server) as visit:
            content = visit.open(path).evaluate(GRADED)
            assert "pen and paper" in content and "●●○" in content
            heard = visit.page.locator("div.exercise").first.aria_snapshot()
            assert "medium, with pen and paper" in heard and "●" not in heard


@pytest.mark.parametrize("path", [path for path in CHAPTERS if path.startswith("chapters/08")])
class TestTheContents:
    pytestmark = in_browser

    @pytest.mark.parametrize("equation", range(1, 12, 2))
    def test_mark_the_section_of_an_equation_that_is_asked_for(
        self, browser, server, path, equation
    ):
        with Visit(browser, server) as visit:
            page = visit.open(path)
            formula = page.locator("div.math[id^='equation-']").nth(equation)
            section = formula.evaluate("f => f.closest('section:has(> h2), section:has(> h3)').id")
            visit.open(f"{path}#{formula.get_attribute('id')}")
            page.wait_for_timeout(400)
            marked = page.locator("#pst-page-toc-nav a[aria-current]")
            assert marked.evaluate_all("all => all.map((a) => a.hash)") == [f"#{section}"]
