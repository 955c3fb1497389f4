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
]
PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}

needs_site = pytest.mark.skipif(not SITE.is_dir(), reason="no built book: run `make book` first")


def in_browser_of(group):
    """Marks of tests that drive a browser; those of one group follow each other in one process."""
    return [
        pytest.mark.browser,
        pytest.mark.xdist_group(group),
        pytest.mark.skipif(CHROMIUM is None, reason="no chromium on the PATH"),
        needs_site,
    ]


in_browser = in_browser_of("browser")


def pages():
    found = (p.relative_to(SITE).as_posix() for p in SITE.rglob("*.html"))
    own = (p for p in found if not p.startswith(("_static/", "lite/")) and p != "index.html")
    return sorted(own) or ["no page"]


def pages_with(text):
    """The pages whose HTML holds `text`."""
    return [p for p in pages() if SITE.is_dir() and text in (SITE / p).read_text()] or ["no page"]


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
