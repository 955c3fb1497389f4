"""The figure `head-replay` in a browser: its answers and states are the package's."""

import numpy as np
import pytest
from built_book import Visit, in_browser

from gdn_ref.figures import ch21_replay as replay

pytestmark = in_browser
PAGE = "chapters/21_recall.html"
FIGURE = '[data-figure="head-replay"]'
SET = """([n, value]) => {
    const input = document.querySelectorAll('FIGURE input[type=range]')[n];
    input.value = value;
    input.dispatchEvent(new Event('input'));
}""".replace("FIGURE", FIGURE)
SHOWN = """[...document.querySelectorAll('FIGURE .gdn-replay-row > [data-kind=question]')].map(
    (cell) => [cell.lastChild.textContent, cell.classList.contains('gdn-wrong')])""".replace(
    "FIGURE", FIGURE
)
SHADES = """[...document.querySelectorAll('FIGURE .gdn-replay-state rect[width="1"]')].map((cell) =>
    cell.getAttribute('fill-opacity') * (cell.getAttribute('fill').includes('minus') ? -1 : 1))
""".replace("FIGURE", FIGURE)


@pytest.fixture
def page(browser, server):
    with Visit(browser, server) as visit:
        visit.page.goto(server + PAGE)
        yield visit.page
        assert visit.trouble == []


def pick(page, value):
    page.locator(f'{FIGURE} .gdn-choice input[value="{value}"]').last.evaluate("x => x.click()")


@pytest.mark.parametrize("choice", replay.GATES)
def test_answers_of_all_rules(page, choice):
    page.locator(f'{FIGURE} .gdn-choice input[value="{choice}"]').first.evaluate("x => x.click()")
    for rule in replay.RULES:
        pick(page, rule)
        read, states = replay.reads(rule, *replay.gates(choice))
        expected = [replay.answer(x) for x in replay.named(read).argmax(-1)]
        shown = page.evaluate(SHOWN)
        assert [says.replace("–", "none") for says, _ in shown] == expected
        assert [not wrong for _, wrong in shown] == replay.right(rule, choice).tolist()
        if states is not None:
            page.evaluate(SET, [0, 101])
            found = np.reshape(page.evaluate(SHADES), states[100].shape)
            np.testing.assert_allclose(found, states[100] / np.abs(states).max(), atol=0.0051)


def test_a_gate_by_hand(page):
    """What the chapter asks its readers to try."""
    figure = page.locator(FIGURE)
    assert not any(wrong for _, wrong in page.evaluate(SHOWN))
    page.evaluate(SET, [0, 20])
    page.evaluate(SET, [1, 1])
    page.evaluate(SET, [0, 30])
    said = figure.locator(".gdn-readout").inner_text()
    assert "The gated delta rule answers 8 " in said and "but right is none" in said
    assert "8 was noted for i at token 7, before the bar at token 20" in said
    assert sum(wrong for _, wrong in page.evaluate(SHOWN)) == 1
    figure.locator('.gdn-choice input[value="recorded"]').evaluate("x => x.checked = false")
    page.locator(f'{FIGURE} .gdn-choice input[value="recorded"]').evaluate("x => x.click()")
    assert not any(wrong for _, wrong in page.evaluate(SHOWN))


def test_from_the_keyboard(page):
    figure = page.locator(FIGURE)
    figure.get_by_role("button", name="next question").press("Enter")
    read = figure.locator(".gdn-readout")
    assert read.inner_text().startswith("Token 32 of 128")
    assert f"β = {replay.head()['beta'][31]:.3f}" in read.inner_text()  # nothing is forced
    figure.locator("input[type=range]").first.focus()
    page.keyboard.press("ArrowLeft")
    assert "Nothing is asked here." in read.inner_text()
    figure.get_by_role("button", name="question before").press("Enter")
    assert read.inner_text().startswith("Token 30 of 128")
    figure.locator("input[type=range]").nth(1).focus()
    page.keyboard.press("Home")
    assert "α = 0.000" in read.inner_text()
