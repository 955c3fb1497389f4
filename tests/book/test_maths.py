"""Formulas are set by the build: what a page holds of them, what fails, and how they are shown."""

import re
import sys
from types import SimpleNamespace

import pytest
from built_book import SITE, Visit, in_browser, needs_site, pages
from tiny_book import CHAPTER, EXTENSION, Book

sys.path.insert(0, str(EXTENSION))
from gdn_book import maths  # noqa: E402

sys.path.remove(str(EXTENSION))

RAW = re.compile(
    r'class="[^"]*\bmath notranslate[^>]*>(?:\s*<span class="eqno.*?</span>)?\s*\\', re.S
)


def one(tex, display=False):
    found, signs = maths.typeset([(tex, display)])
    return found[tex, display], signs


def setter(*formulas):
    """An application that knows these formulas."""
    return SimpleNamespace(gdn_formulas=maths.typeset(list(formulas))[0])


def inline(tex):
    return f'<span class="math notranslate nohighlight">\\({tex}\\)</span>'


class TestFormulas:
    def test_a_sign_is_one_element_at_its_place(self):
        found, signs = one(r"\mathbf{S}_t")
        assert re.sub(r"^<svg[^>]*>|</svg>$", "", found["svg"]) == (
            "<use href=#B-1D412 /><use href=#I-1D461s x=672 y=150 />"
        )
        assert set(signs) == {"B-1D412", "I-1D461s"}

    def test_outlines_are_upside_down_and_of_their_size(self):
        """A minus: the font has it from 230 to 270 above the line; a script is 0.707 of that."""
        _, signs = one("-_{-}")
        assert signs == {
            "N-2212": "m84-237t0-13t14-20h581q15 8 15 20t-15 20h-581q-14-7-14-20z",
            "N-2212s": "m59-168t0-9t10-14h411q11 6 11 14t-11 14h-411q-10-5-10-14z",
        }

    def test_mathml_has_the_structure_and_no_layout(self):
        found, _ = one(r"\frac{1}{\mathbf{S}}")
        assert found["math"] == (
            '<math><mfrac><mn>1</mn><mi mathvariant="bold">S</mi></mfrac></math>'
        )

    def test_the_same_formulas_give_the_same_bytes(self):
        formulas = [(r"\alpha_t\,\mathbf{K}", False), (r"\sum_{i=1}^n \frac{a}{b}", True)]
        assert maths.typeset(formulas) == maths.typeset(formulas)
        assert maths.typeset(formulas[:1])[0].items() <= maths.typeset(formulas)[0].items()

    @pytest.mark.parametrize(
        ("tex", "why"),
        [(r"\frac{1}", "Missing argument"), (r"\nosuch", "Undefined"), ("好", "font")],
    )
    def test_a_wrong_one_says_why(self, tex, why):
        found, _ = one(tex)
        assert why in found["error"]

    @pytest.mark.parametrize(
        ("around", "kept"),
        [
            ("see ({}, b)", "see [({},] b)"),
            ('<a href="#">{}</a>, b', '[<a href="#">{}</a>,] b'),
            ("<a>{}, and</a> b", "<a>[{},] and</a> b"),
            ("{}’s own", "[{}’s] own"),
            ("x {} y", "x {} y"),
            ("<em>x {}</em>, y", "<em>x {}</em>, y"),
        ],
    )
    def test_punctuation_stays_beside_it(self, around, kept):
        app = setter(("a", False))
        alone = maths.with_formulas(app, inline("a"))
        kept = kept.replace("[", '<span class="gdn-together">').replace("]", "</span>")
        assert maths.with_formulas(app, around.format(inline("a"))) == kept.format(alone)


def test_a_page_has_its_formulas_and_their_signs_once(tmp_path):
    book = Book(tmp_path)
    book.write("11_chunks.md", CHAPTER + "\nAnd $x < y$, in words.\n")
    assert book.build() == (0, "")
    page = book.page("11_chunks")
    assert not RAW.search(page) and 'data-tex="x &lt; y"' in page
    assert 'id="equation-eq-sum" data-tex="1 + 1 = 2">\n<span class="eqno">(11.2)' in page
    ids = re.findall(r"<path id=([\w-]+)", page)
    assert set(ids) == set(maths.signs(page)) and len(ids) == len(set(ids))


@pytest.mark.parametrize("tex", [r"\frac{1}", r"\nosuch{a}"])
def test_a_wrong_formula_fails_the_build_and_is_named(tmp_path, tex):
    book = Book(tmp_path)
    book.write("11_chunks.md", f"{CHAPTER}\nAnd ${tex}$.\n")
    code, warnings = book.build()
    assert code != 0 and "11_chunks" in warnings and f"in the formula {tex}" in warnings


@needs_site
class TestSite:
    @pytest.fixture(scope="class")
    def texts(self):
        return {path: (SITE / path).read_text(encoding="utf-8") for path in pages()}

    def test_every_formula_is_set(self, texts):
        assert [path for path, text in texts.items() if RAW.search(text)] == []
        assert sum(text.count("data-tex=") for text in texts.values()) > 5000

    def test_every_sign_has_its_outline(self, texts):
        for path, text in texts.items():
            assert set(maths.signs(text)) == set(maths.outlines(SITE / path)), path


IN_SIGHT = """() => {
    const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    const {top, bottom} = found.getBoundingClientRect();
    const seen = [];
    for (const y of [top + 2, Math.min(bottom, innerHeight) - 2]) {
        const shown = document.elementFromPoint(innerWidth / 2, y);
        seen.push(top >= 0 && (found.contains(shown) || shown?.contains(found) || false));
    }
    return seen;
}"""
EQUATIONS = [
    f"{path}#{name}"
    for path in pages()
    if path.startswith("chapters/")
    for name in re.findall(r'<div[^>]* id="(equation-[\w-]+)"', (SITE / path).read_text("utf-8"))
] or ["no page"]  # fmt: skip


class TestDeepLinks:
    """Every link to an equation, opened as a reader who comes from elsewhere opens it."""

    pytestmark = in_browser

    @pytest.fixture(scope="class")
    def visit(self, browser, server):
        with Visit(browser, server) as visit:
            yield visit

    @pytest.mark.parametrize("link", EQUATIONS)
    def test_lands_in_sight(self, visit, link):
        visit.page.goto("about:blank")
        visit.page.goto(visit.root + link, wait_until="load")
        visit.page.wait_for_timeout(150)
        assert visit.page.evaluate(IN_SIGHT) == [True, True]


WITHOUT_DEPTH = """() => [...document.querySelectorAll("span.math > svg:not([style])")]
    .map((drawing) => getComputedStyle(drawing).verticalAlign)"""


class TestOnTheLine:
    """A formula without depth, as of one capital letter, has no style of its own to lower it."""

    pytestmark = in_browser

    def test_a_formula_without_depth_stands_on_the_line(self, browser, server):
        with Visit(browser, server) as visit:
            visit.page.goto(visit.root + "chapters/11_chunkwise_gated_delta_rule.html")
            found = visit.page.evaluate(WITHOUT_DEPTH)
        assert len(found) > 10
        assert set(found) == {"baseline"}
