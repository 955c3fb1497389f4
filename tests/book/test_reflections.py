"""The figure `reflections` in a browser: its points are the package's, wherever its keys stand."""

import re

import numpy as np
import pytest
from built_book import Visit, in_browser

from gdn_ref.figures import ch07_reflections as figure

pytestmark = in_browser
PAGE = "chapters/07_wy_representation.html"
FIGURE = '[data-figure="reflections"]'
SET = """([name, value]) => {
    const label = [...document.querySelectorAll('FIGURE .gdn-slider')]
        .find(e => e.innerText.startsWith(name));
    const input = label.querySelector('input');
    input.value = value;
    input.dispatchEvent(new Event('input'));
}""".replace("FIGURE", FIGURE)
POINTS = """[...document.querySelectorAll('FIGURE svg > circle[cx]:not([r="148"])')]
    .map(c => [Number(c.getAttribute('cx')), Number(c.getAttribute('cy'))])""".replace(
    "FIGURE", FIGURE
)


@pytest.fixture
def page(browser, server):
    with Visit(browser, server) as visit:
        visit.page.goto(server + PAGE)
        visit.page.locator(FIGURE).scroll_into_view_if_needed()
        yield visit.page
        assert visit.trouble == []


def choose(page, words):
    option = page.locator(f"{FIGURE} .gdn-choice label").filter(has_text=words)
    option.locator("input").evaluate("input => input.click()")


def said(page):
    return page.locator(f"{FIGURE} .gdn-readout").inner_text()


def pixels(rows, turn=30, tilt=18):
    return [200, 160] + 148 * figure.seen(rows, turn, tilt) * [1, -1]


@pytest.mark.parametrize(("taken", "beta"), [(0, 2.0), (1, 1.0), (3, 2.0), (6, 1.3)])
def test_points_are_where_the_package_puts_them(page, taken, beta):
    page.evaluate(SET, ["keys applied", taken])
    page.evaluate(SET, ["β", beta])
    K = figure.on_sphere(figure.KEYS)[:taken]
    strengths = np.full(taken, beta)
    before, after, rings = np.split(np.array(page.evaluate(POINTS)), 3)
    rows = figure.screw()
    np.testing.assert_allclose(before, pixels(rows), atol=0.006)
    expected = figure.step_by_step(rows, K, strengths)[-1]
    np.testing.assert_allclose(after, pixels(expected), atol=0.006)
    np.testing.assert_allclose(rings, pixels(figure.at_once(rows, K, strengths)), atol=0.006)


def test_the_distance_is_rounding_until_the_sum_is_forgotten(page):
    page.evaluate(SET, ["keys applied", 6])
    off = re.search(r"off by (\d) · 10⁻¹⁶ at most", said(page))
    assert off, said(page)
    choose(page, "without the sum")
    before, after, rings = np.split(np.array(page.evaluate(POINTS)), 3)
    K, rows = figure.on_sphere(figure.KEYS), figure.screw()
    slip = rows - (rows @ (2 * K).T) @ K
    np.testing.assert_allclose(rings, pixels(slip), atol=0.006)
    gap = np.linalg.norm(slip - figure.step_by_step(rows, K, np.full(6, 2.0))[-1], axis=1).max()
    assert f"off by {gap:.2f} at most" in said(page)


def test_it_says_what_is_kept(page):
    assert "Determinant −1.00: every length is kept" in said(page)
    assert "the screw turns the other way" in said(page)
    page.evaluate(SET, ["keys applied", 2])
    assert "Determinant 1.00: every length is kept, the rows lie in space." in said(page)
    choose(page, "k₁")
    page.evaluate(SET, ["β", 1])
    assert "Determinant 0.00" in said(page) and "the rows lie in a plane" in said(page)
    page.evaluate(SET, ["keys applied", 6])
    assert "the rows lie in a plane" in said(page)


def test_a_key_moves_by_keyboard_and_by_pointer_and_stays_on_the_sphere(page):
    key = page.locator(f'{FIGURE} [aria-label="key 1"]')
    before = key.get_attribute("aria-valuetext")
    key.focus()
    page.keyboard.press("Shift+ArrowLeft")
    assert key.get_attribute("aria-valuetext") != before
    box = key.bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 600, box["y"], steps=5)  # far outside: to the rim
    page.mouse.up()
    x, y = map(float, re.findall(r"-?[\d.]+", key.get_attribute("transform")))
    assert abs(np.hypot(x - 200, y - 160) - 148) < 0.2
    assert "10⁻¹⁶" in said(page) and "every length is kept" in said(page)


def test_play_applies_one_key_after_the_other_and_stops_at_the_last(page):
    page.evaluate(SET, ["keys applied", 4])
    play = page.locator(f"{FIGURE} button").first
    play.click()
    assert "5 of 6 keys applied" in said(page) and play.inner_text() == "Pause"
    page.wait_for_function(
        f"document.querySelector('{FIGURE} .gdn-readout').innerText.startsWith('6 of 6')"
    )
    assert play.inner_text() == "Play"
