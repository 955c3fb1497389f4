"""The switchboard of a badge: what it shows of each slip, and which ones easy data would hide."""

import json
import re
import sys

import pytest
from built_book import PHONE, SITE, Visit, in_browser
from tiny_book import EXTENSION, Book

sys.path.insert(0, str(EXTENSION))
from gdn_book import signs, slips  # noqa: E402

PAGE = "chapters/11_chunkwise_gated_delta_rule.html"
FOLD = '.gdn-slips[data-of="eq-gdn-chunk-state"]'
SLIPS = {
    "data": ["an empty state", "no decay"],
    "rows": [
        {"form": r"without \gamma_{C}", "place": 2, "right": -1.594, "wrong": -3.5e-7, "off": 1.1,
         "at": "t = 2, entry 5, 3", "hidden": ["no decay"]},
        {"form": r"without \mathbf{S}", "refused": "a sum of shapes () and (3, 4)", "hidden": []},
        {"form": "< for <=", "false": True, "hidden": []},
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    ("tex", "html"),
    [
        (r"\boldsymbol{k}_{i}^{\top} swapped", "<b>k</b><sub>i</sub><sup>⊤</sup> swapped"),
        (r"\tilde{\mathbf{A}} for \mathbf{A}", "<b>A\u0303</b> for <b>A</b>"),
        (r"\frac{C(C - 1)}{2} turned", "(C(C − 1))/2 turned"),
        (r"\hat{\boldsymbol{x}}_{t - 1}", "<b>x\u0302</b><sub>t − 1</sub>"),
        (r"\le for <", "≤ for &lt;"),
        (r"\|\boldsymbol{x}\|^{2}", "‖<b>x</b>‖<sup>2</sup>"),
    ],
)  # fmt: skip
def test_a_form_without_tex(tex, html):
    assert signs.html(tex) == html


def test_numbers_have_signs_and_powers():
    assert [signs.number(x) for x in (3, -0.5, -3.5e-7, 55000.0)] == [
        "3", "−0.5", "−3.5 · 10<sup>−7</sup>", "5.5 · 10<sup>4</sup>"
    ]  # fmt: skip


def test_rows_as_they_are_told():
    assert slips.told_of(SLIPS) == {
        "data": ["an empty state", "no decay"],
        "rows": [
            ["without γ<sub>C</sub> (place 2)", "t = 2, entry 5, 3",
             ["−1.594", "−3.5 · 10<sup>−7</sup>", "1.1"], [1]],
            ["without <b>S</b>", "", ["no value: a sum of shapes a number and 3 × 4"], []],
            ["&lt; for &lt;=", "", ["false"], []],
        ],
    }  # fmt: skip


def test_a_book_has_the_fold_the_rows_and_the_count(tmp_path):
    book = Book(tmp_path)
    book.results["printed"][1]["slips"] = SLIPS
    assert book.build() == (0, "")
    chapter = book.page("11_chunks")
    assert chapter.count('<details class="gdn-slips" data-of="eq-sum">') == 1
    assert chapter.count('<details class="gdn-slips"') == 1  # the other equation has no rows
    rows = (book.root / "html/_static/slips/eq-sum.js").read_text()
    assert rows.startswith('GDN_SLIPS.tell("eq-sum",{"data":["an empty state","no decay"]')
    assert "they hide: an empty state 0 of 3; no decay 1 of 3." in book.page("verification")


@pytest.fixture
def fold(browser, root):
    with Visit(browser, root, viewport=PHONE) as visit:
        visit.open(PAGE)
        found = visit.page.locator(FOLD)
        badge = found.locator("xpath=ancestor::details")
        assert not any("_static/slips/" in url for url in visit.asked)
        badge.locator("> summary").focus()
        visit.page.keyboard.press("Enter")
        found.locator("summary").focus()
        visit.page.keyboard.press("Enter")
        found.locator("tbody tr").first.wait_for()
        yield found
        assert visit.trouble == []


@pytest.mark.browser
class TestInABrowser:
    pytestmark = in_browser

    def test_data_are_chosen_by_the_keyboard_and_leave_what_they_hide(self, fold):
        rows = fold.locator("tbody tr")
        assert rows.count() == fold.locator("tbody tr:visible").count() > 10
        assert f"Each of the {rows.count()} slips fails on random data" in fold.inner_text()
        choices = fold.locator(".gdn-choice label")
        names = choices.all_inner_texts()
        assert names[0] == f"random data: none of {rows.count()}"
        for n, name in enumerate(names[1:], 1):
            data, hides = name.rsplit(": ", 1)
            choices.nth(n - 1).locator("input").focus()
            fold.page.keyboard.press("ArrowRight")
            shown = fold.locator("tbody tr:visible")
            assert shown.count() == int(hides)
            assert all(data in row for row in shown.all_inner_texts())
            assert f"A test with {data} would let {hides} of {rows.count()} slips pass." in (
                fold.locator("[aria-live]").inner_text()
            )

    def test_a_row_has_both_values_and_their_distance(self, fold):
        row = fold.locator("tbody tr").filter(has_text=re.compile("^without γC(?!S)")).first
        _, right, wrong, off, hidden = (cell.inner_text() for cell in row.locator("th, td").all())
        right, wrong, off = (float(x.replace("−", "-")) for x in (right, wrong, off))
        assert right != wrong and off > 0.01
        assert hidden == "an empty state, no decay"

    def test_the_table_is_reached_and_scrolled_by_the_keyboard(self, fold):
        box = fold.locator(".gdn-slips-box")
        assert box.get_attribute("tabindex") == "0"
        box.focus()
        fold.page.keyboard.press("End")
        fold.page.wait_for_function("(box) => box.scrollTop > 0", arg=box.element_handle())
        width = fold.page.evaluate("document.documentElement.scrollWidth")
        assert width <= PHONE["width"]


@pytest.mark.skipif(not (SITE / "_static/slips").is_dir(), reason="no built book")
def test_no_tex_is_left_in_any_row():
    files = sorted((SITE / "_static/slips").glob("eq-*.js"))
    assert len(files) > 290
    for path in files:
        told = re.fullmatch(r'GDN_SLIPS\.tell\("[\w-]+",(.*)\);\n', path.read_text())[1]
        for what, at, cells, hidden in json.loads(told)["rows"]:
            text = " ".join([what, at, *cells])
            assert not re.search(r"[\\{}]", text), (path.name, text)
            assert len(set(hidden)) == len(hidden)
