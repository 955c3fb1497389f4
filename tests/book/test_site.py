"""The built book in a browser, from a server and from file://: offline, typeset, in reach of all.

`make book` builds the site first. Chromium is driven through Playwright.
"""

import functools

import pytest
from built_book import PHONE, Visit, in_browser, pages, pages_with

UNTYPESET = """() => [...document.querySelectorAll('.math')]
    .filter(e => !e.querySelector('mjx-container') || e.querySelector('mjx-lazy'))
    .map(e => e.textContent.trim().slice(0, 80))"""
WRONG_TEX = """() => [...document.querySelectorAll('[data-mml-node="merror"], mjx-merror')]
    .map(e => (e.getAttribute('data-mjx-error') || '') + ' ' + e.textContent)"""
NOT_IN_THE_FONT = """() => [...document.querySelectorAll('mjx-container svg text')]
    .map(e => e.textContent)"""
UNBADGED = """() => [...document.querySelectorAll('div.math[id^="equation-"]')]
    .filter(e => !e.nextElementSibling?.matches('details.gdn-badge')).map(e => e.id)"""
WITHOUT_ALT = """() => [...document.querySelectorAll('img')]
    .filter(e => !e.alt.trim() || e.alt.includes('_images/')).map(e => e.getAttribute('src'))"""
TOO_WIDE = """() => [...document.querySelectorAll('main *')].filter(e => {
        const box = e.getBoundingClientRect();
        return box.width && box.right > innerWidth + 1 && !e.closest('svg, pre, .math, table');
    }).slice(0, 5).map(e => e.outerHTML.slice(0, 120))"""


@pytest.mark.parametrize("path", pages())
class TestEveryPage:
    pytestmark = in_browser

    def test_is_offline_and_without_errors(self, browser, root, path):
        with Visit(browser, root) as visit:
            page = visit.open(path)
            page.wait_for_timeout(100)
            assert visit.trouble == []
            assert page.evaluate(UNTYPESET) == []
            assert page.evaluate(WRONG_TEX) == []
            assert page.evaluate(NOT_IN_THE_FONT) == []  # book/_static/vendor/README.md
            assert page.evaluate(UNBADGED) == []
            assert page.evaluate(WITHOUT_ALT) == []

    def test_does_not_scroll_sideways_on_a_phone(self, browser, server, path):
        with Visit(browser, server, viewport=PHONE, color_scheme="dark") as visit:
            page = visit.open(path)
            page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
            width = page.evaluate("document.documentElement.scrollWidth")
            assert width <= PHONE["width"], page.evaluate(TOO_WIDE)
            assert visit.trouble == []


class TestReading:
    pytestmark = in_browser

    def test_the_address_of_the_site_leads_to_the_first_page(self, browser, root):
        with Visit(browser, root) as visit:
            visit.page.goto(root + "index.html")
            visit.page.wait_for_url("**/book/intro.html")
            assert visit.trouble == []

    def test_search_finds_householder(self, browser, root):
        with Visit(browser, root) as visit:
            visit.page.goto(root + "search.html?q=Householder")
            hits = visit.page.locator("#search-results li a")
            hits.first.wait_for(timeout=10_000)
            assert any("chapters/06" in hit.get_attribute("href") for hit in hits.all())
            assert visit.trouble == []

    @pytest.mark.parametrize("path", pages_with("gdn-badge"))
    def test_a_badge_opens_from_the_keyboard(self, browser, server, path):
        with Visit(browser, server) as visit:
            page = visit.open(path)
            badge = page.locator("details.gdn-badge").first
            badge.locator("summary").focus()
            page.keyboard.press("Enter")
            assert badge.get_attribute("open") is not None
            assert badge.locator(".gdn-badge-body").inner_text().strip()


@pytest.mark.parametrize("path", pages_with('class="gdn-figure"'))
class TestMovingFigures:
    """Each figure answers to the mouse, to touch and to the keyboard: its readout changes."""

    pytestmark = in_browser

    def test_mouse(self, browser, root, path):
        with Visit(browser, root) as visit:
            for figure, handle in self.handles(visit.open(path)):
                assert self.changes(figure, self.mouse_drags(visit, handle)), self.name(handle)
            assert visit.trouble == []

    def test_touch(self, browser, server, path):
        with Visit(browser, server, viewport=PHONE, has_touch=True) as visit:
            for figure, handle in self.handles(visit.open(path)):
                assert self.changes(figure, self.touch_drags(visit, handle)), self.name(handle)

    def test_keyboard(self, browser, root, path):
        with Visit(browser, root) as visit:
            page = visit.open(path)
            for figure in page.locator(".gdn-figure").all():
                controls = figure.locator(".gdn-handle, input, button, select").all()
                assert controls, f"{figure.get_attribute('data-figure')} has no control"
                for control in controls:
                    assert self.changes(figure, self.key_presses(page, control)), self.name(control)

    def handles(self, page):
        """Each figure with each of its handles; a figure without handles has sliders instead."""
        for figure in page.locator(".gdn-figure").all():
            assert figure.locator("svg, canvas").count(), figure.get_attribute("data-figure")
            for handle in figure.locator(".gdn-handle").all():
                handle.scroll_into_view_if_needed()
                yield figure, handle

    def changes(self, figure, actions):
        """Does the readout change after any of the actions?"""
        readout = figure.locator(".gdn-readout")
        before = readout.all_inner_texts()
        assert any(text.strip() for text in before), "the readout is empty"
        for act in actions:
            act()
            if readout.all_inner_texts() != before:
                return True
        return False

    def name(self, control):
        return control.evaluate("e => e.outerHTML.slice(0, 160)")

    def centre(self, handle):
        box = handle.bounding_box()
        return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2

    def mouse_drags(self, visit, handle):
        def drag(dx, dy):
            x, y = self.centre(handle)
            visit.page.mouse.move(x, y)
            visit.page.mouse.down()
            visit.page.mouse.move(x + dx, y + dy, steps=4)
            visit.page.mouse.up()

        return [lambda: drag(35, 25), lambda: drag(-35, -25)]

    def touch_drags(self, visit, handle):
        session = visit.context.new_cdp_session(visit.page)

        def touch(kind, *points):
            touches = [{"x": x, "y": y} for x, y in points]
            session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

        def drag(dx, dy):
            x, y = self.centre(handle)
            touch("touchStart", (x, y))
            touch("touchMove", (x + dx / 2, y + dy / 2))
            touch("touchMove", (x + dx, y + dy))
            touch("touchEnd")

        return [lambda: drag(30, 20), lambda: drag(-30, -20)]

    def key_presses(self, page, control):
        def press(key):
            control.focus()
            page.keyboard.press(key)

        tag = control.evaluate("e => e.tagName")
        keys = ["Enter"] if tag == "BUTTON" else ["ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown"]
        return [functools.partial(press, key) for key in keys for _ in range(3)]
