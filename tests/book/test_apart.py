"""The figure `equation-apart` in a browser: wherever its sliders stand, its numbers are right."""

import numpy as np
import pytest
from built_book import Visit, in_browser

from gdn_ref.figures import ch11_apart

pytestmark = in_browser
PAGE = "chapters/11_chunkwise_gated_delta_rule.html"
FIGURE = '[data-figure="equation-apart"]'
SET = """(values) => document.querySelectorAll('FIGURE input[type=range]').forEach((input, n) => {
    input.value = values[n];
    input.dispatchEvent(new Event('input'));
})""".replace("FIGURE", FIGURE)
SHOWN = """[...document.querySelectorAll('.gdn-apart-matrix tr')].map(row =>
    [...row.cells].map(cell => Number(cell.textContent.replace('\u2212', '-'))))"""


@pytest.fixture(scope="module")
def page(browser, server):
    with Visit(browser, server) as visit:
        visit.page.goto(server + PAGE)
        yield visit.page
        assert visit.trouble == []


@pytest.mark.parametrize("place", [(0.9, 0.8, 50), (0.35, 1.7, 15), (1, 2, 90)])
def test_numbers(page, place):
    page.evaluate(SET, list(place))
    found, seen = ch11_apart.numbers(*place), set()
    figure = page.locator(FIGURE)
    for equation in figure.locator(".gdn-choice input").all():
        equation.evaluate("input => input.click()")
        for letter in figure.locator(".gdn-apart-line button").all():
            letter.click()
            key = letter.get_attribute("data-part")
            np.testing.assert_allclose(page.evaluate(SHOWN), found[key], atol=0.00501)
            seen.add(key)
    assert seen == set(found)


def test_a_letter_from_the_keyboard_says_what_it_is(page):
    figure = page.locator(FIGURE)
    figure.locator(".gdn-choice input").first.evaluate("input => input.click()")
    letter = figure.locator('.gdn-apart-line button[data-part="A"]')
    letter.focus()
    page.keyboard.press("Enter")
    assert letter.get_attribute("aria-pressed") == "true"
    assert "how much token r reads" in figure.locator(".gdn-apart-words").inner_text()
    assert "wy.interaction" in figure.locator(".gdn-apart-code").inner_text()
    link = figure.locator(".gdn-apart-words a")
    assert link.get_attribute("href").endswith("#equation-eq-gdn-interaction")
