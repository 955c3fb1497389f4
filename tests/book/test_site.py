"""The built book in a browser, from a server and from file://: offline, typeset, in reach of all.

`make book` builds the site first. Chromium is driven through Playwright.
"""

import functools
import re
import shutil
import threading
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest

SITE = Path(__file__).parents[2] / "_build" / "html"
CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}

needs_site = pytest.mark.skipif(not SITE.is_dir(), reason="no built book: run `make book` first")
in_browser = [
    pytest.mark.browser,
    pytest.mark.xdist_group("browser"),
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH"),
    needs_site,
]


def pages():
    found = (p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html"))
    own = (p for p in found if not p.startswith("_static/") and p != "index.html")
    return sorted(own) or ["no page"]


def pages_with(text):
    """The pages whose HTML holds `text`."""
    return [p for p in pages() if SITE.is_dir() and text in (SITE / p).read_text()] or ["no page"]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@pytest.fixture(scope="module")
def server():
    """The site on a free port of 127.0.0.1."""
    handler = functools.partial(Quiet, directory=str(SITE))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture(params=["server", "file"])
def root(request):
    """The address of the site: over HTTP, and as files."""
    return request.getfixturevalue("server") if request.param == "server" else SITE.as_uri() + "/"


class Visit:
    """A page in the browser, and everything that went wrong on the way."""

    def __init__(self, browser, root, **context):
        self.context = browser.new_context(**{"viewport": DESK, **context})
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.root, self.trouble = root, []
        self.page.on("request", self.on_request)
        self.page.on("requestfailed", lambda r: self.trouble.append(f"failed: {r.url}"))
        self.page.on("response", self.on_response)
        self.page.on("console", self.on_console)
        self.page.on("pageerror", lambda error: self.trouble.append(f"exception: {error}"))

    def on_request(self, request):
        if not request.url.startswith((self.root, "data:", "blob:")):
            self.trouble.append(f"asks elsewhere: {request.url}")

    def on_response(self, response):
        if response.status >= 400:
            self.trouble.append(f"{response.status}: {response.url}")

    def on_console(self, message):
        if message.type == "error":
            self.trouble.append(f"console: {message.text}")

    def open(self, path):
        self.page.goto(self.root + path, wait_until="load")
        if self.page.evaluate("!!document.querySelector('.math, .amsmath')"):
            self.page.wait_for_function("!!window.MathJax?.startup?.document?.lazyTypesetAll")
            self.page.evaluate(
                "MathJax.startup.promise.then(() => MathJax.startup.document.lazyTypesetAll())"
            )
        return self.page

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.context.close()


UNTYPESET = """() => [...document.querySelectorAll('.math')]
    .filter(e => !e.querySelector('mjx-container') || e.querySelector('mjx-lazy'))
    .map(e => e.textContent.trim().slice(0, 80))"""
WRONG_TEX = """() => [...document.querySelectorAll('[data-mml-node="merror"], mjx-merror')]
    .map(e => (e.getAttribute('data-mjx-error') || '') + ' ' + e.textContent)"""
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


class Links(HTMLParser):
    """The anchors that a page has, and the addresses that it links to."""

    def __init__(self, path):
        super().__init__()
        self.anchors, self.links = set(), set()
        self.feed(path.read_text())

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        self.anchors |= {found[name] for name in ("id", "name") if found.get(name)}
        self.links |= {found[name] for name in ("href", "src") if found.get(name)}


@needs_site
def test_every_link_inside_the_book_leads_somewhere():
    read = {(SITE / path).resolve(): Links(SITE / path) for path in pages()}
    broken = []
    for page, found in read.items():
        for link in found.links:
            address, anchor = urldefrag(link)
            if urlsplit(link).scheme or re.match(r"//", link):
                continue
            target = (page.parent / unquote(urlsplit(address).path)).resolve() if address else page
            lost = anchor and target in read and unquote(anchor) not in read[target].anchors
            if lost or not target.exists():
                broken.append(f"{page.name} -> {link}")
    assert sorted(broken) == []


@needs_site
def test_every_chapter_can_be_downloaded_as_a_notebook():
    chapters = [p for p in pages() if re.match(r"chapters/\d\d_", p)]
    assert chapters
    for path in chapters:
        notebooks = [link for link in Links(SITE / path).links if link.endswith(".ipynb")]
        assert notebooks, f"{path} has no notebook to download"
