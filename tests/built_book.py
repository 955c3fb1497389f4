"""The built book for the tests that drive it: where it is, a server for it, a browser, a visit."""

import functools
import shutil
import threading
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

SITE = Path(__file__).parents[1] / "_build" / "html"
CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    # The address bar of each window is two more pages with scripts, half a second of CPU. The list
    # replaces Playwright's own, of which the second half, what asks other hosts, is kept.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,WebUIOmniboxFullPopup,"
    "AimEnabled,MediaRouter,NetworkTimeServiceQuerying,OptimizationHints,PreconnectToSearch",
]
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
PAPER = {"width": 635, "height": 900}  # the text on A4, 168 mm wide

needs_site = pytest.mark.skipif(not SITE.is_dir(), reason="no built book: run `make book` first")


in_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH"),
    needs_site,
]


def pages():
    found = (p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html"))
    own = (p for p in found if not p.startswith(("_static/", "lite/")) and p != "index.html")
    return sorted(own) or ["no page"]


MADE_OF_FILES = ("_modules/", "checks/", "formal/")


def visited():
    """Pages to visit: all that somebody wrote; of those made of files, the extremes of a folder."""
    every = pages()
    chosen = [p for p in every if not p.startswith(MADE_OF_FILES)]
    for folder in MADE_OF_FILES:
        made = [p for p in every if p.startswith(folder)]
        made.sort(key=lambda p: (SITE / p).stat().st_size)
        chosen += dict.fromkeys(made[:1] + made[-1:])
    return chosen


def pages_with(text):
    """The pages to visit whose HTML holds `text`."""
    return [p for p in visited() if SITE.is_dir() and text in (SITE / p).read_text()] or ["no page"]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        pass


@contextmanager
def served(folder):
    """The folder on a free port of 127.0.0.1; gives the address."""
    handler = functools.partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{http.server_port}/"
        http.shutdown()


class Visit:
    """A page in the browser, and everything that went wrong on the way."""

    def __init__(self, browser, root, **context):
        self.context = browser.new_context(**{"viewport": DESK, **context})
        self.page = self.context.new_page()
        self.page.set_default_timeout(15_000)
        self.root, self.asked, self.trouble = root, [], []
        self.page.on("request", self.on_request)
        self.page.on("requestfailed", self.on_failure)
        self.page.on("response", self.on_response)
        self.page.on("console", self.on_console)
        self.page.on("pageerror", lambda error: self.trouble.append(f"exception: {error}"))

    def on_request(self, request):
        self.asked.append(request.url)
        if not request.url.startswith((self.root, "data:", "blob:")):
            self.trouble.append(f"asks elsewhere: {request.url}")

    def on_failure(self, request):
        if request.failure != "net::ERR_ABORTED":  # what a page asked for when it was left
            self.trouble.append(f"failed: {request.url}")

    def on_response(self, response):
        if response.status >= 400:
            self.trouble.append(f"{response.status}: {response.url}")

    def on_console(self, message):
        if message.type == "error":
            self.trouble.append(f"console: {message.text}")

    def open(self, path):
        self.page.goto(self.root + path, wait_until="load")
        return self.page

    def unfold(self):
        """Open every fold of the page; what is then wider than its place scrolls in it."""
        self.page.evaluate(
            "document.querySelectorAll('details').forEach((d) => { d.open = true; })"
        )
        self.page.wait_for_timeout(300)  # scroll.js takes half of that, or longer if others work
        self.page.wait_for_function(
            """() => [...document.querySelectorAll(
                "article :is(pre, div[class*='scroll'], .gdn-still)")].every(
                (x) => x.scrollWidth <= x.clientWidth || x.hasAttribute("tabindex"))"""
        )

    def mode(self, mode):
        """The reader's system goes light or dark, and the page with it."""
        self.page.emulate_media(color_scheme=mode)
        self.wears(mode)

    def wears(self, mode):
        """Wait for the mode, and for colours that pass into each other."""
        self.page.wait_for_function(f"document.documentElement.dataset.theme === '{mode}'")
        self.page.evaluate("""() => Promise.race([
            Promise.allSettled(document.getAnimations()
                .filter((one) => one instanceof CSSTransition).map((one) => one.finished)),
            new Promise((later) => setTimeout(later, 2000)),  // one that paints nothing never ends
        ])""")

    @contextmanager
    def on_paper(self):
        """The page while a reader who sees it in the dark prints it; then as on the screen."""
        self.mode("dark")
        size = self.page.viewport_size
        self.page.set_viewport_size(PAPER)
        self.page.emulate_media(media="print")
        self.page.evaluate("dispatchEvent(new Event('beforeprint'))")
        self.wears("light")
        try:
            yield self.page
        finally:
            self.page.emulate_media(media="screen")
            self.page.set_viewport_size(size)
            self.page.evaluate("dispatchEvent(new Event('afterprint'))")
        self.wears("dark")

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self.context.close()
