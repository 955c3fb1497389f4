"""The figure `chunk-microscope` in a browser: its numbers are the package's, at every step."""

import re

import numpy as np
import pytest
from built_book import Visit, in_browser

from gdn_ref.figures import ch15_microscope as microscope

pytestmark = in_browser
PAGE = "chapters/15_forward_kernel.html"
FIGURE = '[data-figure="chunk-microscope"]'
SET = """(values) => document.querySelectorAll('FIGURE input[type=range]').forEach((input, n) => {
    input.value = values[n];
    input.dispatchEvent(new Event('input'));
})""".replace("FIGURE", FIGURE)


@pytest.fixture(scope="module")
def page(browser, server):
    with Visit(browser, server) as visit:
        visit.page.goto(server + PAGE)
        yield visit.page
        assert visit.trouble == []


def said(page):
    """`row, column, number` at the cursor; None for a number that is not there yet."""
    text = page.locator(f"{FIGURE} .gdn-handle").get_attribute("aria-valuetext")
    found = re.fullmatch(r"row (\d+), column (\d+): (.*)", text)
    number = None if found[3] == "not yet computed" else float(found[3].replace("\u2212", "-"))
    return int(found[1]) - 1, int(found[2]) - 1, number


def click(page, r, i):
    box = page.locator(f"{FIGURE} .gdn-scope-matrix svg").bounding_box()
    page.mouse.click(*(box[x] + box["width"] * (n + 1.5) / 66 for x, n in (("x", i), ("y", r))))


@pytest.mark.parametrize("place", [(0.8, 0.95), (0.0, 1.0), (0.95, 0.5)])
def test_numbers(page, place):
    found, rng = microscope.numbers(*microscope.chunk(*place)), np.random.default_rng(15)
    for step in range(microscope.STEPS):
        page.evaluate(SET, [step + 1, *place])
        page.locator(FIGURE).scroll_into_view_if_needed()
        there = microscope.filled(step)
        for _ in range(3):
            click(page, *np.sort(rng.integers(64, size=2))[::-1])
            r, i, number = said(page)
            assert (number is not None) == there[r, i], (step, r, i)
            if number is not None:
                assert abs(number - found[microscope.part_of(step)][r, i]) < 5.01e-5, (step, r, i)


def test_what_a_step_says(page):
    figure, (a, e) = page.locator(FIGURE), microscope.ORDER[1]
    page.evaluate(SET, [19, 0.95, 0.95])
    title = figure.locator(".gdn-scope-title").inner_text()
    assert title == "Step 19 of 26, block (3, 1): 3 products of blocks, 6 of 32 HMMA."
    assert "0.007, in A it is 0.135" in figure.locator(".gdn-readout").inner_text()
    assert (a, e) == (2, 0)
    code = figure.locator(".gdn-scope-code").inner_text()
    assert "X = mma_v2(T_ee, A_a[e], zero)" in code and "12 HMMA" in code
    assert figure.locator(".gdn-scope-term a").get_attribute("href").endswith("eq-inverse-row")
    page.evaluate(SET, [17, 0.95, 0.95])
    title = figure.locator(".gdn-scope-title").inner_text()
    assert "from the 15 rows above: 30 of 240 FFMA" in title


def test_from_the_keyboard(page):
    figure = page.locator(FIGURE)
    page.evaluate(SET, [5, 0.8, 0.95])
    figure.locator("input[type=range]").first.focus()
    page.keyboard.press("ArrowRight")
    assert "Step 6 of 26" in figure.locator(".gdn-scope-title").inner_text()
    figure.get_by_role("button", name="one step on").press("Enter")
    assert "Step 7 of 26" in figure.locator(".gdn-scope-title").inner_text()
    figure.locator('.gdn-scope-row button[data-part="E"]').press("Enter")
    assert "Step 26 of 26" in figure.locator(".gdn-scope-title").inner_text()
    before = said(page)
    figure.locator(".gdn-handle").focus()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Shift+ArrowLeft")
    assert said(page)[:2] == (max(0, before[0] - 1), max(0, before[1] - 5))
