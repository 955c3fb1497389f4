"""The pages of the built book (`visited`): a visit on a desk, one on a phone, one to its files.

The tests of a page share its three visits, for the visits are what takes the time: each test says
what it needs of the page (mode, folds, width), and none relies on the tests before it. Of several
processes, each takes a page at a time (processes.py).
"""

import pytest
from built_book import PHONE, SITE, Visit, in_browser, pages_with, visited
from hands import (
    changes,
    controls,
    drags_by_finger,
    drags_by_mouse,
    figures,
    handles,
    name,
    presses_of_keys,
)
from wcag import ALL_BUT_COLOURS, COLOURS, CONTRAST, needs_axe, violations

pytestmark = in_browser

BACKGROUND = "getComputedStyle(document.body).backgroundColor"
WATCH = """window.shift = 0;
new PerformanceObserver((list) => {
    const inContents = ({node}) => (node?.closest ? node : node?.parentElement)
        ?.closest('.bd-sidebar-secondary');  // it opens where the reader is
    for (const entry of list.getEntries())
        if (!entry.sources.length || !entry.sources.every(inContents)) window.shift += entry.value;
}).observe({type: 'layout-shift', buffered: true});"""
UNSEEN = """() => [...document.querySelectorAll('.math')].filter(e => e.checkVisibility())
    .filter(e => !(e.querySelector('svg')?.getBBox().width > 0)).map(e => e.dataset.tex)"""
TORN = """() => [...document.querySelectorAll('.gdn-together')]
    .filter(e => {
        const tops = [...e.getClientRects()].map(box => box.top);
        return Math.max(...tops) - Math.min(...tops) > 8;  // on two lines
    }).map(e => e.textContent)"""
UNBADGED = """() => [...document.querySelectorAll('div.math[id^="equation-"]')]
    .filter(e => !e.nextElementSibling?.matches('details.gdn-badge')).map(e => e.id)"""
WITHOUT_ALT = """() => [...document.querySelectorAll('img')]
    .filter(e => !e.alt.trim() || e.alt.includes('_images/')).map(e => e.getAttribute('src'))"""
WITHOUT_SIZE = """() => [...document.querySelectorAll('.bd-article img[src$=".svg"]:not([height])')]
    .map(e => e.getAttribute('src'))"""
# What a finger has to hit: 24 pixels each way, as WCAG 2.2 asks (2.5.8).
TOO_SMALL = """() => [...document.querySelectorAll(
        '.gdn-figure :is(.gdn-handle, input, button, select, [role=button])')]
    .map(e => [e, (e.closest('.gdn-choice label') ?? e).getBoundingClientRect()])
    .filter(([, box]) => Math.min(box.width, box.height) < 24)
    .map(([e]) => e.outerHTML.slice(0, 120))"""
SHRUNK = """() => [...document.querySelectorAll('.gdn-still')].filter(box => {
        const width = +box.querySelector('img').getAttribute('width');
        return box.scrollWidth < width || (box.clientWidth < width && box.tabIndex !== 0);
    }).map(box => box.innerHTML.slice(0, 120))"""
# What scrolls without a shadow at the side where it goes on.
WITHOUT_CUE = """() => [...document.querySelectorAll(
        'article :is(pre, .gdn-scroll, .gdn-still, .pst-scrollable-table-container)')]
    .filter(e => e.scrollWidth > e.clientWidth + 1)
    .filter(e => !getComputedStyle(e).backgroundAttachment.includes('local'))
    .map(e => e.outerHTML.slice(0, 120))"""
# The height of each moving figure, and of what is in it.
HEIGHTS = """() => [...document.querySelectorAll('.gdn-figure')].map(f => [f.dataset.figure,
    f.getBoundingClientRect().height, f.firstElementChild.getBoundingClientRect().height])"""
TOO_WIDE = """() => [...document.querySelectorAll('body *')].filter(e => {
        const box = e.getBoundingClientRect();
        return box.width && box.right > innerWidth + 1 && !e.closest('math')
            && !e.parentElement.closest('svg');
    }).slice(0, 5).map(e => e.outerHTML.slice(0, 120))"""


SLOW = {"offline": False, "latency": 50, "downloadThroughput": 2e5, "uploadThroughput": 2e5}
LAPTOP = {"width": 1440, "height": 900}


def heaviest(number):
    """The longest chapters, as files."""
    chapters = [path for path in pages_with("") if path.startswith("chapters/")]
    return sorted(chapters, key=lambda path: -(SITE / path).stat().st_size)[:number]


def on_each(paths):
    return pytest.mark.parametrize("path", paths, indirect=True)


every_page = on_each(visited())
read_pages = on_each([p for p in visited() if p.startswith(("book/", "chapters/"))])
pages_with_badges = on_each(pages_with("gdn-badge"))
pages_with_figures = on_each(pages_with('class="gdn-figure"'))


@pytest.fixture(scope="module")
def path(request):
    return request.param


@pytest.fixture(scope="module")
def desk(browser, server, path):
    """The page on a wide screen, in light mode, as it loads."""
    with arrival(browser, server, path, color_scheme="light") as visit:
        yield visit


@pytest.fixture(scope="module")
def phone(browser, server, path):
    """The page on a small screen in dark mode, touched instead of clicked, as it loads."""
    with arrival(
        browser, server, path, color_scheme="dark", viewport=PHONE, has_touch=True
    ) as visit:
        yield visit


@pytest.fixture(scope="module")
def files(browser, path):
    """The page opened from its file, by a reader who wants little motion."""
    with arrival(browser, SITE.as_uri() + "/", path, reduced_motion="reduce") as visit:
        yield visit


def arrival(browser, root, path, **context):
    visit = Visit(browser, root, **context)
    visit.page.add_init_script(WATCH)
    visit.page.goto(root + path, wait_until="load")
    return visit


@read_pages
@pytest.mark.parametrize("where", ["desk", "phone"])
def test_nothing_moves(request, where, path):
    page = request.getfixturevalue(where).page
    page.wait_for_timeout(800)
    for _ in range(20):
        page.mouse.wheel(0, 400)
        page.wait_for_timeout(60)
    assert page.evaluate("window.shift") < 0.02


@pytest.mark.parametrize("name", ["book/intro.html", *heaviest(2)])
@pytest.mark.parametrize("viewport", [PHONE, LAPTOP], ids=["phone", "laptop"])
def test_nothing_moves_on_a_slow_machine(browser, server, name, viewport):
    """At 1.6 Mbit/s, with a processor that is four times slower."""
    with Visit(browser, server, viewport=viewport) as visit:
        slow = visit.context.new_cdp_session(visit.page)
        slow.send("Emulation.setCPUThrottlingRate", {"rate": 4})
        slow.send("Network.enable")
        slow.send("Network.emulateNetworkConditions", SLOW)
        visit.page.add_init_script(WATCH)
        visit.page.goto(server + name, wait_until="load", timeout=60_000)
        visit.page.wait_for_timeout(2000)
        assert visit.page.evaluate("window.shift") < 0.02


@pytest.mark.parametrize("name", ["book/intro.html", *heaviest(1)])
@pytest.mark.parametrize("face", ["text-regular", "text-italic", "text-semibold"])
def test_nothing_moves_when_a_face_comes_late(browser, server, name, face):
    """The faces of the reader's machine that stand in for ours are as wide (gdn.css)."""
    late = []
    with Visit(browser, server, viewport=PHONE) as visit:
        visit.page.add_init_script(WATCH)
        visit.page.route(f"**/{face}.woff2", lambda request: late.append(request))
        visit.page.goto(server + name, wait_until="domcontentloaded")
        visit.page.wait_for_timeout(800)
        assert late and visit.page.evaluate("window.shift") < 0.02
        for request in late:
            request.continue_()
        loaded = "[...performance.getEntriesByType('resource')].some(e => e.name.includes('%s'))"
        visit.page.wait_for_function(loaded % face)
        visit.page.wait_for_timeout(500)
        assert visit.page.evaluate("window.shift") < 0.02


@read_pages
def test_weighs_less_than_900_kilobytes(desk):
    """As a server that does not compress sends it; pictures and figures' data are not counted,
    nor among the requests, which are fewer than 20."""
    names = {url.removeprefix(desk.root).partition("?")[0] for url in desk.asked}
    weights = {
        name: (SITE / name).stat().st_size
        for name in names
        if not name.startswith(("_images/", "_static/figures/", "data:", "blob:"))
    }
    assert len(weights) < 20
    assert sum(weights.values()) < 9e5, sorted(weights.items(), key=lambda w: -w[1])[:5]


@every_page
@pytest.mark.parametrize("where", ["desk", "files"])
def test_shows_formulas_badges_and_descriptions(request, where, path):
    visit = request.getfixturevalue(where)
    for fault in (UNSEEN, TORN, UNBADGED, WITHOUT_ALT, WITHOUT_SIZE):
        assert visit.page.evaluate(fault) == []


@pages_with_badges
def test_a_badge_opens_from_the_keyboard(desk):
    badge = desk.page.locator("details.gdn-badge").first
    badge.evaluate("badge => { badge.open = false; }")
    badge.locator("> summary").focus()
    desk.page.keyboard.press("Enter")
    assert badge.get_attribute("open") is not None
    assert badge.locator(".gdn-badge-body").inner_text().strip()


@every_page
@needs_axe
class TestWCAG:
    def test_has_no_violation_of_aa(self, desk):
        desk.unfold()
        desk.mode("light")
        assert violations(desk.page) == []

    def test_has_none_of_colours_in_the_dark(self, desk):
        desk.unfold()
        desk.mode("dark")
        assert violations(desk.page, COLOURS) == []

    def test_has_none_on_a_phone(self, phone):
        phone.unfold()
        assert violations(phone.page, ALL_BUT_COLOURS) == []


@every_page
def test_does_not_scroll_sideways_on_a_phone(phone):
    phone.unfold()
    width = phone.page.evaluate("document.documentElement.scrollWidth")
    assert width <= PHONE["width"], phone.page.evaluate(TOO_WIDE)


@every_page
def test_drawings_can_be_read_on_a_phone(phone):
    """They keep their size, and what is wider than the screen scrolls, by the keyboard, too."""
    phone.page.wait_for_timeout(300)
    assert phone.page.evaluate(SHRUNK) == []


@read_pages
def test_what_scrolls_on_a_phone_shows_that_it_goes_on(phone):
    phone.unfold()
    phone.page.wait_for_function(f"!({WITHOUT_CUE})().length")  # scroll.js marks what scrolls


@every_page
@needs_axe
def test_prints_on_white_within_the_paper(files):
    with files.on_paper() as page:
        assert page.evaluate(BACKGROUND) in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")
        assert not page.locator(".gdn-slider:visible, .gdn-button:visible").count()
        assert page.evaluate(TOO_WIDE) == []
        assert violations(page, CONTRAST) == []
    assert files.page.evaluate(BACKGROUND) not in ("rgb(255, 255, 255)", "rgba(0, 0, 0, 0)")


@pages_with_figures
class TestMovingFigures:
    """Each figure answers to the mouse, to touch and to the keyboard: its readout changes."""

    @pytest.mark.parametrize("where", ["desk", "files"])
    def test_do_not_move_on_their_own(self, request, where, path):
        drawn = "() => [...document.querySelectorAll('.gdn-figure')].map((f) => f.innerHTML)"
        visit = request.getfixturevalue(where)
        before = visit.page.evaluate(drawn)
        visit.page.wait_for_timeout(1500)
        assert visit.page.evaluate(drawn) == before
        if where == "files":
            assert visit.page.evaluate("document.getAnimations().length") == 0

    def test_say_what_they_show(self, desk):
        for figure in figures(desk.page):
            live = figure.locator("[aria-live]:not([aria-live=off])")
            assert live.count() == 1, figure.get_attribute("data-figure")
            for handle in figure.locator("[role=slider]").all():
                assert handle.get_attribute("aria-label")
                assert handle.get_attribute("aria-valuetext")
            for slider in figure.locator(".gdn-slider").all():
                says = slider.locator("input").get_attribute("aria-valuetext")
                assert says == slider.locator("output").inner_text() != ""

    @pytest.mark.parametrize("where", ["desk", "phone"])
    def test_hold_their_place(self, request, where, path):
        for figure, place, taken in request.getfixturevalue(where).page.evaluate(HEIGHTS):
            assert taken <= place + 0.5 and place < taken + 80, figure

    def test_hold_no_more_than_their_place_where_the_page_is_widest(self, desk):
        size = desk.page.viewport_size
        desk.page.set_viewport_size(LAPTOP)
        desk.page.wait_for_timeout(200)
        heights = desk.page.evaluate(HEIGHTS)
        desk.page.set_viewport_size(size)
        for figure, place, taken in heights:
            assert taken <= place + 0.5 and place < taken + 48, figure

    def test_fit_on_a_laptop_with_their_controls(self, desk):
        assert max(taken for _, _, taken in desk.page.evaluate(HEIGHTS)) <= 800

    def test_fit_on_a_phone_with_their_controls(self, phone):
        assert max(taken for _, _, taken in phone.page.evaluate(HEIGHTS)) <= PHONE["height"]

    def test_are_large_enough_for_a_finger(self, phone):
        assert phone.page.evaluate(TOO_SMALL) == []

    def test_show_where_the_keyboard_is(self, desk):
        desk.page.keyboard.press("Tab")
        for _, control in controls(desk.page):
            control.focus()
            ring = control.evaluate(
                "e => [getComputedStyle(e).outlineStyle, parseFloat(getComputedStyle(e)"
                ".outlineWidth), getComputedStyle(e).boxShadow]"
            )
            assert (ring[0] != "none" and ring[1] >= 1) or ring[2] != "none", name(control)

    @pytest.mark.parametrize("where", ["desk", "files"])
    def test_mouse(self, request, where, path):
        visit = request.getfixturevalue(where)
        for figure, handle in handles(visit.page):
            assert changes(figure, drags_by_mouse(visit, handle)), name(handle)

    def test_touch(self, phone):
        for figure, handle in handles(phone.page):
            assert changes(figure, drags_by_finger(phone, handle)), name(handle)

    @pytest.mark.parametrize("where", ["desk", "files"])
    def test_keyboard(self, request, where, path):
        visit = request.getfixturevalue(where)
        visit.open(path)  # again: a dragged figure may be where a slider changes no number
        for figure, control in controls(visit.page):
            assert changes(figure, presses_of_keys(visit, control)), name(control)


@every_page
@pytest.mark.parametrize("where", ["desk", "phone", "files"])
def test_asks_nobody_and_logs_no_error(request, where, path):
    """The last test: on all that the others did in the visit, too."""
    visit = request.getfixturevalue(where)
    visit.page.wait_for_timeout(100)
    assert visit.trouble == []
